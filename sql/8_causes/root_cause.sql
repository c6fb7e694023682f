-- One row per root cause. Repetitions of one kind in one place, at most storm_gap_ms apart, are one root cause.
-- Reads: process_trouble, process_ending, coordinator_outage, group_outage, broker_absence, removed_member, setting, worker_setting, event
-- Reads: generation, join_round, cluster_broker, process_life, clock_offset, filtered_log, rule_coordinator_unavailable, rule_poll_timeout
-- Reads: rule_offsets_topic_unsatisfiable, rule_generation_reset, rule_rebalance_storm, rule_duplicate_declaration, rule_sink_group_shared
-- Reads: rule_group_id_collision, rule_static_member_fenced, rule_clock_skew, fact_line
-- Grain: incident_id
-- A cause follows from views, even if no rule reports its effects. A configuration that a rule reports is a cause by itself.
-- A client checks its session before its polls, so a client that was paused for longer than both reports the expired session. A poll
-- timeout alone therefore shows a process that runs. A KIP-848 client does not check its session, and other libraries have their own order.
CREATE OR REPLACE TEMPORARY VIEW root_cause (
  incident_id   COMMENT 'Stable id of the incident',
  cause         COMMENT 'Cause, in a closed vocabulary',
  alternatives  COMMENT 'Possible causes, if the lines do not decide',
  kafka_cluster COMMENT 'Kafka cluster id; NULL: none',
  group_ids     COMMENT 'Affected groups',
  worker_group_id COMMENT 'Group of the workers with which members of sinks were lost; NULL: none, or the process is known',
  sink_members  COMMENT 'Number of these members of sinks',
  subject       COMMENT 'Process, broker, group, connector or group.instance.id where it began',
  process_ids   COMMENT 'Processes where it began',
  times         COMMENT 'How often it happened',
  parts         COMMENT 'Each time: process, process run, lost members, and its bounds',
  from_lo_ms    COMMENT 'Began at this time at the earliest (reference clock); NULL: always',
  from_hi_ms    COMMENT 'Began at this time at the latest',
  to_lo_ms      COMMENT 'Ended at this time at the earliest; NULL: still open, or always',
  to_hi_ms      COMMENT 'Ended at this time at the latest',
  witness
)
AS
WITH outage AS (
  SELECT r.kafka_cluster, r.group_id, r.code, r.from_ms, coalesce(g.first_lost_ms, r.from_ms) AS from_hi_ms, r.to_ms, g.reference_process_id,
    r.facts.processes AS processes, r.facts.broker_id AS broker_id, r.facts.new_broker_id AS new_broker_id, r.facts.session_ms AS session_ms,
    r.facts.missed_by AS missed_by, transform(filter(r.proof, p -> p.event_id IS NOT NULL), p -> p.event_id) AS witness
  FROM rule_coordinator_unavailable r
  LEFT JOIN (SELECT kafka_cluster, group_id, from_ms, max(first_lost_ms) AS first_lost_ms, max(reference_process_id) AS reference_process_id
    FROM group_outage
    GROUP BY kafka_cluster, group_id, from_ms) g
    ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.from_ms = r.from_ms
), broker_end AS (
  SELECT e.process_id, e.instance, e.how, e.is_deployment, e.from_lo_ms, e.from_hi_ms, e.to_lo_ms, e.to_hi_ms, e.reference_process_id, e.witness,
    max(c.kafka_cluster) AS kafka_cluster, max(c.broker_id) AS broker_id
  FROM process_ending e JOIN cluster_broker c ON c.process_id = e.process_id WHERE e.is_broker
  GROUP BY e.process_id, e.instance, e.how, e.is_deployment, e.from_lo_ms, e.from_hi_ms, e.to_lo_ms, e.to_hi_ms, e.reference_process_id, e.witness
), lost_coordinator AS (
  -- Members that lost a coordinator, including those that found it again before they lost their membership.
  SELECT kafka_cluster, group_id, broker_id, reference_process_id, lost_lo_ms, found_hi_ms FROM coordinator_outage
  WHERE was_member AND found_hi_ms IS NOT NULL
), affected_group AS (
  SELECT b.process_id, b.instance, o.group_id, true AS is_affected,
    CASE WHEN o.code IN ('broker_down', 'only_broker_down', 'only_replica_down') AND o.from_hi_ms >= b.from_lo_ms THEN o.from_hi_ms END AS lost_ms
  FROM broker_end b
  JOIN outage o ON o.kafka_cluster = b.kafka_cluster AND o.broker_id = b.broker_id
    AND o.from_ms <= b.to_hi_ms + broker_noticed_ms AND coalesce(o.to_ms, o.from_ms) >= b.from_lo_ms - broker_noticed_ms
  UNION ALL
  SELECT b.process_id, b.instance, l.group_id, false, NULL FROM broker_end b
  JOIN lost_coordinator l ON l.kafka_cluster = b.kafka_cluster AND l.broker_id = b.broker_id AND l.reference_process_id = b.reference_process_id
    AND l.lost_lo_ms BETWEEN b.from_lo_ms - broker_noticed_ms AND b.to_hi_ms
  UNION ALL
  -- Members that it removed when it was back, because they had not been able to reach it.
  SELECT b.process_id, b.instance, m.group_id, true, NULL FROM broker_end b
  JOIN removed_member m ON m.broker = b.process_id AND m.how = 'session' AND m.reference_process_id = b.reference_process_id
    AND m.removed_hi_ms >= b.to_lo_ms AND m.removed_lo_ms <= b.to_hi_ms + coalesce(m.session_ms, session_longest_ms) + heartbeat_late_ms
), broker_effect AS (
  SELECT process_id, instance, array_sort(collect_set(group_id)) AS group_ids, bool_or(is_affected) AS is_affected, min(lost_ms) AS lost_ms
  FROM affected_group GROUP BY process_id, instance
), broker_down AS (
  SELECT b.process_id, b.instance, b.kafka_cluster, b.broker_id, b.from_lo_ms, b.to_lo_ms, b.to_hi_ms, b.witness,
    -- If members cannot reach it until it is back, they lost it when it died. Its own log does not show that moment.
    CASE WHEN b.how IN ('died', 'failed') THEN least(b.from_hi_ms, e.lost_ms) ELSE b.from_hi_ms END AS from_hi_ms,
    coalesce(e.group_ids, CAST(array() AS ARRAY<STRING>)) AS group_ids, b.how = 'unknown' AND NOT coalesce(e.is_affected, false) AS is_unsure
  FROM broker_end b LEFT JOIN broker_effect e ON e.process_id = b.process_id AND e.instance = b.instance
  WHERE b.how IN ('died', 'failed', 'unknown') OR b.how IN ('stopped', 'starting') AND e.is_affected AND NOT coalesce(b.is_deployment, false)
), unexplained_outage AS (
  -- Outages that neither the end of a broker's run nor the trouble of a single process explains.
  SELECT o.* FROM outage o
  LEFT ANTI JOIN broker_end b ON b.kafka_cluster = o.kafka_cluster AND b.broker_id = o.broker_id
    AND o.from_ms <= b.to_hi_ms + broker_noticed_ms AND coalesce(o.to_ms, o.from_ms) >= b.from_lo_ms - broker_noticed_ms
  LEFT ANTI JOIN process_trouble t ON size(o.processes) = 1 AND t.process_id = o.processes[0]
    AND t.from_lo_ms <= coalesce(o.to_ms, o.from_ms) + heartbeat_late_ms AND coalesce(t.to_hi_ms, o.from_ms) >= o.from_ms - heartbeat_late_ms
  WHERE o.code NOT IN ('offsets_topic_impossible', 'not_named', 'not_stored')
), outage_with_live_broker AS (
  -- Brokers whose logs continue through the outage.
  SELECT DISTINCT o.group_id, o.kafka_cluster, o.from_ms FROM unexplained_outage o
  JOIN cluster_broker b ON b.kafka_cluster = o.kafka_cluster AND b.broker_id = o.broker_id AND b.process_id IS NOT NULL
  JOIN broker_absence l ON l.how <> 'reported' AND l.process_id = b.process_id AND l.from_lo_ms > coalesce(o.to_ms, o.from_ms)
), outage_cause AS (
  SELECT o.*,
    CASE WHEN o.code IN ('broker_down', 'only_broker_down', 'only_replica_down') THEN 'broker_down'
      WHEN o.code = 'moved' AND a.from_ms IS NOT NULL THEN 'coordinator_moved'
      ELSE 'unknown' END AS cause,
    CASE WHEN o.code IN ('broker_down', 'only_broker_down', 'only_replica_down') THEN CAST(array() AS ARRAY<STRING>)
      WHEN o.code IN ('moved', 'connections_failed', 'no_broker_reachable') AND a.from_ms IS NULL
        AND o.missed_by IS NOT NULL THEN array('broker_cut_off', 'broker_down')
      WHEN o.code = 'unreachable_broker' AND o.missed_by IS NULL THEN array('broker_down', 'member_cut_off')
      WHEN o.code = 'unreachable_broker' THEN array('broker_down', 'broker_cut_off')
      WHEN o.code = 'moved' AND a.from_ms IS NULL THEN array('broker_down', 'coordinator_moved')
      WHEN o.code IN ('member_unanswered', 'one_member') THEN array('member_cut_off', 'process_paused')
      WHEN o.code IN ('connections_failed', 'no_broker_reachable') AND a.from_ms IS NULL THEN array('broker_down', 'member_cut_off')
      ELSE CAST(array() AS ARRAY<STRING>) END AS alternatives
  FROM unexplained_outage o
  LEFT JOIN outage_with_live_broker a ON a.kafka_cluster = o.kafka_cluster AND a.group_id <=> o.group_id AND a.from_ms = o.from_ms
), other_lost_group AS (
  SELECT j.kafka_cluster, j.group_id, j.broker_id, j.from_ms, collect_set(l.group_id) AS group_ids, max(l.found_hi_ms) AS to_ms
  FROM outage_cause j
  JOIN lost_coordinator l ON l.kafka_cluster = j.kafka_cluster AND l.broker_id = j.broker_id AND l.reference_process_id = j.reference_process_id
    AND l.lost_lo_ms BETWEEN j.from_ms - broker_noticed_ms AND j.to_ms
  WHERE j.cause = 'broker_down' OR array_contains(j.alternatives, 'broker_down')
  GROUP BY j.kafka_cluster, j.group_id, j.broker_id, j.from_ms
), coordinator_trouble AS (
  -- Trouble of a single member counts as that process's trouble. A broker that restarted cleanly counts as down if a group lost it as its
  -- coordinator, but not if brokers restarted one after another, which is a deployment.
  SELECT d.kafka_cluster, d.group_ids,
    concat('broker ', d.broker_id) AS subject, d.broker_id, d.process_id, d.instance,
    CASE WHEN d.is_unsure THEN 'unknown' ELSE 'broker_down' END AS cause,
    CASE WHEN d.is_unsure THEN array('lines_missing', 'process_killed') ELSE CAST(array() AS ARRAY<STRING>) END AS alternatives, d.from_lo_ms,
    d.from_hi_ms, d.to_lo_ms, d.to_hi_ms, d.witness
  FROM broker_down d
  UNION ALL
  -- A broker that the controller no longer heard from. Without the broker's log it is unknown why.
  SELECT f.kafka_cluster, CAST(array() AS ARRAY<STRING>), concat('broker ', f.broker_id), f.broker_id, NULL, NULL, 'unknown',
    array('broker_cut_off', 'broker_down'), f.at_ms - o.hi_ms, f.at_ms - o.lo_ms, NULL, NULL, array(f.event_id)
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  LEFT ANTI JOIN cluster_broker b ON b.kafka_cluster = f.kafka_cluster AND b.broker_id = f.broker_id AND b.process_id IS NOT NULL
  LEFT ANTI JOIN outage_cause j ON j.kafka_cluster = f.kafka_cluster AND j.broker_id = f.broker_id
    AND f.at_ms - o.lo_ms >= j.from_ms - coordinator_settled_ms AND f.at_ms - o.hi_ms <= coalesce(j.to_ms, j.from_ms) + coordinator_settled_ms
  WHERE f.event = 'broker_fenced'
  UNION ALL
  -- An outage of one broker is one trouble, however many groups it affected.
  SELECT j.kafka_cluster,
    array_sort(array_union(collect_set(j.group_id), flatten(collect_list(coalesce(a.group_ids, CAST(array() AS ARRAY<STRING>)))))) AS group_ids,
    CASE WHEN size(j.processes) = 1 AND j.cause = 'unknown' THEN j.processes[0]
      ELSE coalesce(concat('broker ', j.broker_id), CASE WHEN size(j.processes) = 1 THEN j.processes[0] END, min(j.group_id)) END AS subject,
    j.broker_id, CASE WHEN size(j.processes) = 1 THEN j.processes[0] END AS process_id, CAST(NULL AS INT) AS instance, j.cause, j.alternatives,
    -- A member that was paused or cut off notices it up to one session later.
    min(j.from_ms - CASE WHEN array_contains(j.alternatives, 'member_cut_off') THEN coalesce(j.session_ms, session_longest_ms) + heartbeat_late_ms
      ELSE 0L END) AS from_lo_ms,
    max(j.from_hi_ms) AS from_hi_ms,
    -- The last failed connection to a broker does not show that it came back, because perhaps no client tried again.
    CASE WHEN NOT bool_or(j.to_ms IS NULL OR j.code = 'unreachable_broker') THEN max(j.from_ms) END AS to_lo_ms,
    CASE WHEN NOT bool_or(j.to_ms IS NULL OR j.code = 'unreachable_broker') THEN greatest(max(j.to_ms), max(a.to_ms)) END AS to_hi_ms,
    slice(array_distinct(flatten(sort_array(collect_list(j.witness)))), 1, 16) AS witness
  FROM outage_cause j
  LEFT JOIN other_lost_group a ON a.kafka_cluster = j.kafka_cluster AND a.group_id <=> j.group_id AND a.broker_id = j.broker_id
    AND a.from_ms = j.from_ms
  GROUP BY j.kafka_cluster, j.cause, j.alternatives, j.broker_id, CASE WHEN j.broker_id IS NULL THEN j.group_id END, j.processes,
    j.from_ms DIV storm_gap_ms
), session_limit AS (
  SELECT process_id, max(session_ms) AS session_ms
  FROM (
    SELECT process_id, session_ms FROM worker_setting
    UNION ALL
    SELECT process_id, try_cast(value AS BIGINT) FROM setting WHERE component = 'ConsumerConfig' AND key = 'session.timeout.ms'
  )
  GROUP BY process_id
), broker_assigned_group AS (
  SELECT kafka_cluster, group_id, bool_or(seen_by_broker) AS seen_by_broker FROM generation
  WHERE group_protocol <> 'classic' GROUP BY kafka_cluster, group_id
), poll_timeout_line AS (
  SELECT event_id, try_cast(nullif(regexp_extract(message, 'exceeded by ([0-9]+) ?ms', 1), '') AS BIGINT) AS over_ms FROM event
  WHERE event = 'poll_timeout'
), poll_timeout_leave AS (
  SELECT kafka_cluster, group_id, facts.process_id AS process_id, facts.instance AS instance, facts.member_id AS member_id,
    facts.limit_ms AS limit_ms, facts.left_at_ms AS left_ms, from_ms, to_ms, proof[0].event_id AS event_id
  FROM rule_poll_timeout
), slow_poll AS (
  SELECT l.kafka_cluster, l.group_id, l.process_id, l.instance, l.member_id, l.from_ms, l.to_ms, l.event_id,
    s.seen_by_broker OR s.group_id IS NULL AND coalesce(m.session_ms < l.limit_ms, true) AND coalesce(e.over_ms <= heartbeat_late_ms, true)
      AS is_running
  FROM poll_timeout_leave l LEFT JOIN session_limit m ON m.process_id = l.process_id
  LEFT JOIN broker_assigned_group s ON s.kafka_cluster = l.kafka_cluster AND s.group_id = l.group_id
  LEFT JOIN poll_timeout_line e ON e.event_id = l.event_id
  -- While its coordinator was down, or its process was paused or cut off, the timeout is an effect of that.
  LEFT ANTI JOIN coordinator_outage o ON o.process_id = l.process_id AND o.instance = l.instance AND o.group_id = l.group_id
    AND o.was_member AND o.lost_ms <= l.left_ms AND coalesce(o.found_ms, l.left_ms) + outage_untroubled_ms >= l.left_ms
  LEFT ANTI JOIN process_trouble t ON t.process_id = l.process_id AND t.instance = l.instance AND t.cause <> 'poll_too_slow'
    AND t.from_lo_ms <= l.to_ms AND coalesce(t.to_hi_ms, l.from_ms) + outage_untroubled_ms >= l.from_ms
), last_metadata AS (
  -- The last moment at which a group's metadata existed.
  SELECT kafka_cluster, group_id, incarnation, max(unix_millis(coalesce(assigned_ts, stabilized_ts, first_joined_ts))) AS at_ms
  FROM generation GROUP BY kafka_cluster, group_id, incarnation
), configuration_start AS (
  -- A broker's configuration applies since its start. If the broker ran before its log begins, that moment is unknown.
  SELECT b.kafka_cluster, CASE WHEN min(l.instance) > 0 THEN min(l.first_ms - o.hi_ms) END AS at_ms
  FROM cluster_broker b JOIN process_life l ON l.process_id = b.process_id
  JOIN clock_offset o ON o.process_id = b.process_id AND o.is_island_reference
  GROUP BY b.kafka_cluster
), first_use_of_static_id AS (
  -- The first use of a static member's id by each process.
  SELECT j.kafka_cluster, j.group_id, j.group_instance_id, j.process_id,
    min(coalesce(j.joining_first_ms, j.joined_ms, j.synced_ms) - o.hi_ms) AS at_ms
  FROM join_round j JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference WHERE j.group_instance_id IS NOT NULL
  GROUP BY j.kafka_cluster, j.group_id, j.group_instance_id, j.process_id
), shared_static_id AS (
  -- The sharing begins when the second process uses the id, which the first learns later.
  SELECT r.kafka_cluster, r.group_id, r.subject, r.facts.process_id AS process_id, r.from_ms, r.to_ms, r.proof, max(u.at_ms) AS since_ms
  FROM rule_static_member_fenced r
  LEFT JOIN first_use_of_static_id u ON u.kafka_cluster = r.kafka_cluster AND u.group_id = r.group_id AND u.group_instance_id = r.subject
    AND u.at_ms <= r.from_ms
  WHERE size(r.facts.users) > 1 GROUP BY r.kafka_cluster, r.group_id, r.subject, r.facts.process_id, r.from_ms, r.to_ms, r.proof
), proved_cause AS (
  -- What a rule proves directly: a configuration, a clock, lost metadata, a connector that keeps changing.
  SELECT 'offsets_topic_impossible' AS cause, r.kafka_cluster, r.facts.group_ids AS group_ids, r.subject,
    CAST(NULL AS STRING) AS process_id, least(b.at_ms, r.from_ms) AS since_ms, r.from_ms, r.to_ms, r.proof
  FROM rule_offsets_topic_unsatisfiable r LEFT JOIN configuration_start b ON b.kafka_cluster = r.kafka_cluster
  UNION ALL
  SELECT 'offsets_lost', r.kafka_cluster, array(r.group_id), '__consumer_offsets', r.facts.broker_process_id, coalesce(a.at_ms, r.from_ms),
    r.from_ms, r.to_ms, r.proof
  FROM rule_generation_reset r
  LEFT JOIN last_metadata a ON a.kafka_cluster = r.kafka_cluster AND a.group_id = r.group_id AND a.incarnation = r.facts.incarnation - 1
  WHERE r.code = 'metadata_lost'
  UNION ALL
  SELECT 'connector_churn', kafka_cluster, array(group_id), subject, NULL, from_ms, from_ms, to_ms, proof FROM rule_rebalance_storm
  WHERE code = 'connector_changes'
  UNION ALL
  SELECT 'duplicate_declaration', kafka_cluster, array(facts.place, facts.other_place), subject, NULL, from_ms, from_ms, to_ms, proof
  FROM rule_duplicate_declaration
  UNION ALL
  -- A sink's name determines its group: two Connect clusters that declare it share the data.
  SELECT 'duplicate_declaration', kafka_cluster, transform(facts.clusters, c -> c.worker_group_id), subject, NULL, from_ms, from_ms, to_ms, proof
  FROM rule_sink_group_shared
  UNION ALL
  SELECT 'group_id_collision', kafka_cluster, array(group_id), subject, NULL, from_ms, from_ms, to_ms, proof FROM rule_group_id_collision
  WHERE severity <> 'note'
  UNION ALL
  SELECT 'static_id_shared', kafka_cluster, array(group_id), subject, process_id, coalesce(since_ms, from_ms), from_ms, to_ms, proof
  FROM shared_static_id
  UNION ALL
  SELECT 'clock_wrong', kafka_cluster, NULL, subject, facts.process_id, from_ms, from_ms, to_ms, proof FROM rule_clock_skew
  WHERE code NOT IN ('daylight_saving', 'another_log', 'parts_out_of_order', 'lines_repeated', 'lines_doubled', 'lines_sorted', 'wrong_time')
), any_cause AS (
  SELECT cause, alternatives, kafka_cluster, group_ids, process_id AS subject, of_group_id, process_id, instance, member_ids,
    from_lo_ms, from_hi_ms, to_lo_ms, to_hi_ms, witness
  FROM process_trouble
  UNION ALL
  SELECT cause, alternatives, kafka_cluster, group_ids, subject, NULL, process_id, instance, array(), from_lo_ms, from_hi_ms,
    to_lo_ms, to_hi_ms, witness
  FROM coordinator_trouble
  UNION ALL
  SELECT CASE WHEN r.is_deployment THEN 'deployment' ELSE 'process_restarted' END, array(), r.kafka_cluster,
    array_compact(array(r.group_id)), CASE WHEN NOT r.is_deployment THEN r.process_id ELSE coalesce(r.group_id, 'brokers') END, NULL,
    r.process_id, r.instance, array(), r.from_lo_ms, r.from_hi_ms, r.to_lo_ms, r.to_hi_ms, r.witness
  FROM process_ending r LEFT ANTI JOIN coordinator_trouble c ON c.process_id = r.process_id AND c.instance = r.instance
  WHERE r.is_deployment IS NOT NULL
  UNION ALL
  SELECT CASE WHEN is_running THEN 'poll_too_slow' ELSE 'unknown' END,
    CASE WHEN NOT coalesce(is_running, false) THEN array('poll_too_slow', 'process_paused') ELSE array() END, kafka_cluster,
    array_compact(array(group_id)), process_id, NULL, process_id, instance, array_compact(array(member_id)), from_ms, to_ms, from_ms, to_ms,
    array(event_id)
  FROM slow_poll
  UNION ALL
  -- Spark does not plan a union that repeats a column of an inner union: it takes both for one.
  SELECT cause, array(), kafka_cluster, array_sort(array_distinct(array_compact(coalesce(group_ids, array())))), subject, NULL, process_id,
    NULL, array(), since_ms, from_ms, to_ms, to_ms + 0L, transform(filter(proof, p -> p.event_id IS NOT NULL), p -> p.event_id)
  FROM proved_cause
), cause_with_chain AS (
  -- Two clusters that declare many connectors twice are one cause. So are removals without any other evidence, if the members are of one group, or
  -- are members of sinks that were lost with the same worker.
  SELECT *, concat_ws('|', cause, array_join(alternatives, ','), coalesce(kafka_cluster, '-'), CASE
    WHEN cause = 'duplicate_declaration' AND size(group_ids) > 1 THEN array_join(group_ids, ',')
      WHEN subject IS NULL THEN coalesce(of_group_id, array_join(group_ids, ',')) ELSE subject END) AS chain
  FROM any_cause c
  -- In what order these happened in its process is unknown.
  LEFT ANTI JOIN filtered_log u ON u.process_id = c.process_id AND u.why = 'unordered'
), cause_with_previous AS (
  SELECT *, max(coalesce(to_hi_ms, from_hi_ms)) OVER (PARTITION BY chain ORDER BY from_lo_ms, process_id, instance, witness
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_ms
  FROM cause_with_chain
), cause_in_chain AS (
  SELECT *, count_if(coalesce(from_lo_ms - last_ms > storm_gap_ms, false)) OVER (PARTITION BY chain
    ORDER BY from_lo_ms, process_id, instance, witness ROWS UNBOUNDED PRECEDING) AS nth
  FROM cause_with_previous
)
SELECT left(sha2(concat_ws('|', chain, CAST(nth AS STRING), CAST(min(from_lo_ms) AS STRING)), 256), 12) AS incident_id, max(cause) AS cause,
  max(alternatives) AS alternatives, max(kafka_cluster) AS kafka_cluster, array_sort(array_distinct(flatten(collect_list(group_ids)))) AS group_ids,
  max(CASE WHEN of_group_id IS NOT NULL AND NOT array_contains(group_ids, of_group_id) THEN of_group_id END) AS worker_group_id,
  count_if(of_group_id IS NOT NULL AND NOT array_contains(group_ids, of_group_id)) AS sink_members,
  coalesce(array_join(slice(array_sort(collect_set(subject)), 1, 10), ', '), '') AS subject, array_sort(collect_set(process_id)) AS process_ids,
  count(*) AS times, sort_array(collect_list(struct(from_lo_ms, from_hi_ms, to_lo_ms, to_hi_ms, process_id, instance, member_ids))) AS parts,
  min(from_lo_ms) AS from_lo_ms, min(from_hi_ms) AS from_hi_ms,
  max_by(to_lo_ms, struct(from_lo_ms IS NOT NULL, from_lo_ms, process_id, instance)) AS to_lo_ms,
  max_by(to_hi_ms, struct(from_lo_ms IS NOT NULL, from_lo_ms, process_id, instance)) AS to_hi_ms,
  slice(array_distinct(flatten(sort_array(collect_list(witness)))), 1, 24) AS witness
FROM cause_in_chain GROUP BY chain, nth

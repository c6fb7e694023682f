-- One row per trouble of a broker or a group's coordinator: a broker that went down, a coordinator that moved, an unexplained outage.
-- Reads: rule_coordinator_unavailable, group_outage, coordinator_outage, process_ending, process_trouble, cluster_broker
-- Reads: broker_absence, removed_member
-- Grain: trouble_id
-- Trouble of a single member counts as that process's trouble. A broker that restarted cleanly counts as down if a group lost it as its
-- coordinator, but not if brokers restarted one after another, which is a deployment.
CREATE OR REPLACE TEMPORARY VIEW coordinator_trouble (
  trouble_id    COMMENT 'Stable id',
  kafka_cluster,
  group_ids     COMMENT 'Groups that lost it',
  subject       COMMENT 'Broker or process where it began',
  broker_id     COMMENT 'Broker id; NULL: unknown',
  process_id    COMMENT 'Process where it began; NULL: its log is missing',
  instance,
  cause         COMMENT 'broker_down, coordinator_moved, member_cut_off or unknown',
  alternatives  COMMENT 'Possible causes, if the lines do not decide',
  from_lo_ms    COMMENT 'Began at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Began at this time at the latest',
  to_lo_ms      COMMENT 'Ended at this time at the earliest; NULL: still open, or unknown',
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
    coalesce(e.group_ids, CAST(array() AS ARRAY<STRING>)) AS group_ids
  FROM broker_end b LEFT JOIN broker_effect e ON e.process_id = b.process_id AND e.instance = b.instance
  WHERE b.how IN ('died', 'failed') OR b.how IN ('stopped', 'starting', 'unknown') AND e.is_affected AND NOT coalesce(b.is_deployment, false)
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
)
SELECT left(sha2(concat_ws('|', 'down', d.process_id, d.instance), 256), 12) AS trouble_id, d.kafka_cluster, d.group_ids,
  concat('broker ', d.broker_id) AS subject, d.broker_id, d.process_id, d.instance, 'broker_down' AS cause,
  CAST(array() AS ARRAY<STRING>) AS alternatives, d.from_lo_ms, d.from_hi_ms, d.to_lo_ms, d.to_hi_ms, d.witness
FROM broker_down d
UNION ALL
-- An outage of one broker is one trouble, however many groups it affected.
SELECT left(sha2(concat_ws('|', 'outage', j.kafka_cluster, j.cause, j.broker_id, CASE WHEN j.broker_id IS NULL THEN j.group_id END,
    CASE WHEN size(j.processes) = 1 THEN j.processes[0] END, min(j.from_ms)), 256), 12) AS trouble_id,
  j.kafka_cluster,
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

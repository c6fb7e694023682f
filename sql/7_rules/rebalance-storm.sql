-- One row per cause that made a group rebalance again and again.
-- Reads: generation, member_generation, member, fact_line, clock_offset, process_life, member_setting
-- The cause is a member or a connector. Rounds without any change are one storm, whichever member asked for them. A group that rebalances
-- continuously for none of these causes is a storm with an unknown cause. A member is identified by its process and client, by its
-- group.instance.id, or by its client id and host. A member known only by its id can never return.
WITH group_round AS (
  SELECT kafka_cluster, group_id, incarnation, generation,
    unix_millis(coalesce(stabilized_ts, first_joined_ts, last_synced_ts, prepared_ts)) AS at_ms, trigger, trigger_member_id, witness[0] AS event_id,
    -- Older coordinators print no member count, only the reason of the rebalance.
    CASE WHEN is_count_told OR NOT trigger_inferred AND trigger IN ('leader_rejoined', 'member_rejoined', 'member_metadata_changed', 'other')
      THEN member_count END AS member_count
  FROM generation
), member_name AS (
  SELECT kafka_cluster, group_id, member_id, left_client, left_broker, task,
    coalesce(concat(process_id, CASE WHEN task IS NOT NULL THEN concat(' (task ', task, ')') ELSE '' END), group_instance_id, CASE
      WHEN client_host IS NOT NULL THEN concat(client_id, ' at ', client_host) END, member_id) AS place
  FROM member
), membership AS (
  SELECT n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task, min(r.at_ms) AS at_ms, max(r.at_ms) AS last_ms,
    min_by(r.event_id, struct(r.at_ms IS NOT NULL, r.at_ms, r.event_id)) AS event_id
  FROM member_generation g JOIN member_name n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.member_id = g.member_id
  JOIN group_round r ON r.kafka_cluster = g.kafka_cluster AND r.group_id = g.group_id AND r.incarnation = g.incarnation
    AND r.generation = g.generation
  GROUP BY n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task
  UNION ALL
  -- Only the coordinator's log is available: the member that triggered the rebalance by joining.
  SELECT n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task, r.at_ms, r.at_ms AS last_ms, r.event_id
  FROM group_round r
  JOIN member_name n ON n.kafka_cluster = r.kafka_cluster AND n.group_id = r.group_id AND n.member_id = r.trigger_member_id
  LEFT ANTI JOIN member_generation g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.member_id = r.trigger_member_id
  WHERE r.trigger = 'member_joined'
), membership_edge AS (
  SELECT kafka_cluster, group_id, place, member_id, task, at_ms, 0 AS is_end, event_id, CAST(NULL AS STRING) AS ended FROM membership
  UNION ALL
  SELECT kafka_cluster, group_id, place, member_id, task, last_ms AS at_ms, 1 AS is_end, event_id,
    coalesce(nullif(left_client, 'unknown'), nullif(left_broker, 'unknown'), 'gone')
  FROM membership
), edge_with_previous AS (
  -- Several consumers of one process join one after the other, which is no return: one of them must have ended since the last join.
  SELECT *, lag(is_end) OVER w AS after_end, lag(ended) OVER w AS last_ended FROM membership_edge
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, place ORDER BY at_ms, is_end, member_id)
), reporting_worker AS (
  -- All workers read the changes, so only the worker with the most lines counts.
  SELECT f.kafka_cluster, f.worker_group_id AS group_id, f.process_id,
    row_number() OVER (PARTITION BY f.kafka_cluster, f.worker_group_id ORDER BY count(*) DESC, f.process_id) AS nth
  FROM fact_line f
  WHERE f.worker_group_id IS NOT NULL AND f.event IN ('connector_config_updated', 'connector_config_removed', 'connector_target_state_changed')
  GROUP BY f.kafka_cluster, f.worker_group_id, f.process_id
), round_signature AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, count(*) AS seen, bool_and(g.state = 'synced' AND g.assigned IS NOT NULL) AS whole,
    coalesce(max(size(g.revoked)), 0) > 0 AS revokes,
    sha2(array_join(array_sort(collect_list(concat_ws('|', coalesce(n.place, g.member_id), array_join(array_sort(g.assigned), ',')))), ';'),
      256) AS sign
  FROM member_generation g
  LEFT JOIN member_name n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.member_id = g.member_id
  GROUP BY g.kafka_cluster, g.group_id, g.incarnation, g.generation
), unchanged_round AS (
  -- There must be no other members: if no line prints their number, others may have come and gone. Partitions that are revoked in one round are gone,
  -- or assigned to another member, in the next.
  SELECT r.*, s.sign = lag(s.sign) OVER w AND s.whole AND lag(s.whole) OVER w AND s.seen = r.member_count AND lag(s.seen = r.member_count)
    OVER w AND r.generation = lag(r.generation) OVER w + 1 AND NOT lag(s.revokes) OVER w AS same, lag(r.at_ms) OVER w AS last_ms
  FROM group_round r
  JOIN round_signature s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.incarnation = r.incarnation
    AND s.generation = r.generation
  WINDOW w AS (PARTITION BY r.kafka_cluster, r.group_id, r.incarnation ORDER BY r.generation)
), connector_change AS (
  SELECT f.kafka_cluster, w.group_id, f.connector, f.event, f.at_ms - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms, f.event_id
  FROM fact_line f JOIN reporting_worker w ON w.kafka_cluster = f.kafka_cluster AND w.process_id = f.process_id AND w.nth = 1
  JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('connector_config_updated', 'connector_config_removed', 'connector_target_state_changed') AND f.connector IS NOT NULL
), storm_round AS (
  -- One cause made the group rebalance again: a member that returned, a connector that changed again, or a round without a change.
  SELECT kafka_cluster, group_id, 'returning' AS kind, place AS subject, at_ms, last_ended AS how, event_id FROM edge_with_previous
  -- A sink task's consumer that its worker stops and starts is not the cause; the worker's group is. If no line shows its end, it may be one.
  WHERE is_end = 0 AND after_end = 1 AND place <> member_id AND NOT (task IS NOT NULL AND last_ended IN ('left', 'gone'))
  UNION ALL
  SELECT kafka_cluster, group_id, 'connector' AS kind, connector AS subject, at_ms,
    CASE event WHEN 'connector_config_updated' THEN 'updated' WHEN 'connector_config_removed' THEN 'removed' ELSE 'state' END AS how, event_id
  FROM connector_change
  UNION ALL
  SELECT i.kafka_cluster, i.group_id, 'idle' AS kind, coalesce(n.place, i.trigger_member_id, 'nobody known') AS subject, i.at_ms, i.trigger AS how,
    i.event_id
  FROM unchanged_round i
  LEFT JOIN member_name n ON n.kafka_cluster = i.kafka_cluster AND n.group_id = i.group_id AND n.member_id = i.trigger_member_id
  LEFT ANTI JOIN connector_change c ON c.kafka_cluster = i.kafka_cluster AND c.group_id = i.group_id
    AND c.at_ms <= i.at_ms AND c.at_ms >= i.last_ms - storm_change_ms
  WHERE i.same
), repeated_round AS (
  SELECT *, CASE WHEN kind = 'idle' THEN 'idle' ELSE subject END AS chain FROM storm_round
), round_with_previous AS (
  SELECT *, lag(at_ms) OVER (PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY at_ms, event_id) AS last_ms FROM repeated_round
), round_in_storm AS (
  SELECT *, count_if(last_ms IS NULL OR at_ms - last_ms > storm_gap_ms) OVER (
      PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS nth
  FROM round_with_previous
), explained_storm AS (
  SELECT kafka_cluster, group_id, kind, chain, nth, mode(subject, true) AS subject, mode(how, true) AS how, count(*) AS returns,
    min(at_ms) AS from_ms, max(at_ms) AS to_ms, min(at_ms) - storm_start_ms AS started_from_ms,
    count_if(how = 'removed') AS removed, count_if(how = 'updated') AS updated, count_if(how = 'state') AS state_changes,
    slice(sort_array(collect_list(struct(at_ms, event_id))), 1, 8) AS lines
  FROM round_in_storm GROUP BY kafka_cluster, group_id, kind, chain, nth
  HAVING count(*) >= CASE kind WHEN 'returning' THEN storm_returns WHEN 'connector' THEN storm_changes ELSE storm_idle_rounds END
), timed_generation AS (
  SELECT kafka_cluster, group_id, incarnation, generation, duration_ms, trigger, protocol_type,
    CASE WHEN is_count_told THEN member_count END AS counted_members,
    rebalance_mode = 'cooperative' OR asked_why IN ('partitions_to_revoke', 'followup') AS is_cooperative,
    element_at(witness, 1) AS event_id, unix_millis(coalesce(stabilized_ts, first_joined_ts, last_synced_ts, prepared_ts)) AS at_ms
  FROM generation
), generation_run AS (
  -- A member's log may have only some of the generations; their numbers show how many there were.
  SELECT *, count_if(NOT coalesce(at_ms - last_ms BETWEEN 0 AND storm_pace_ms * (generation - last_generation), false))
    OVER (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation ROWS UNBOUNDED PRECEDING) AS nth
  FROM (
    SELECT *, lag(at_ms) OVER in_order AS last_ms, lag(generation) OVER in_order AS last_generation
    FROM timed_generation WHERE at_ms IS NOT NULL
    WINDOW in_order AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
  )
), unexplained_storm AS (
  SELECT kafka_cluster, group_id, concat(incarnation, ' ', nth) AS chain, max(generation) - min(generation) AS returns, min(at_ms) AS from_ms,
    max(at_ms) AS to_ms, filter(array(min(struct(at_ms, event_id)), max(struct(at_ms, event_id))), x -> x.event_id IS NOT NULL) AS lines
  FROM generation_run GROUP BY kafka_cluster, group_id, incarnation, nth
  HAVING max(generation) - min(generation) >= storm_pace_generations + coalesce(max(counted_members), 0)
      * CASE WHEN bool_or(is_cooperative) THEN storm_pace_per_cooperative ELSE storm_pace_per_member END
    -- If their number is unknown, the members of a new group may all still be joining.
    AND (max(counted_members) IS NOT NULL
      OR min(generation) > storm_pace_generations AND max(at_ms) - min(at_ms) <= storm_fast_ms * (max(generation) - min(generation)))
), any_storm AS (
  SELECT * FROM explained_storm
  UNION ALL
  SELECT u.kafka_cluster, u.group_id, 'pace' AS kind, u.chain, CAST(1 AS BIGINT) AS nth, u.group_id AS subject,
    CAST(NULL AS STRING) AS how, u.returns, u.from_ms, u.to_ms, u.from_ms - storm_start_ms AS started_from_ms, CAST(0 AS BIGINT) AS removed,
    CAST(0 AS BIGINT) AS updated, CAST(0 AS BIGINT) AS state_changes, u.lines
  FROM unexplained_storm u
  LEFT ANTI JOIN explained_storm s ON s.kafka_cluster = u.kafka_cluster AND s.group_id = u.group_id AND s.from_ms <= u.to_ms + storm_edge_ms
    AND s.to_ms >= u.from_ms - storm_edge_ms
), storm_generation AS (
  SELECT s.kafka_cluster, s.group_id, s.kind, s.chain, s.nth, t.incarnation, t.generation, t.duration_ms, t.trigger, t.protocol_type
  FROM any_storm s
  JOIN timed_generation t ON t.kafka_cluster = s.kafka_cluster AND t.group_id = s.group_id
    AND t.at_ms BETWEEN s.from_ms - storm_edge_ms AND s.to_ms + storm_edge_ms
), storm_cost AS (
  SELECT kafka_cluster, group_id, kind, chain, nth, count(*) AS generations, max(duration_ms) AS longest_ms, sum(duration_ms) AS sum_ms,
    mode(trigger, true) AS trigger, max(protocol_type) AS protocol_type
  FROM storm_generation GROUP BY kafka_cluster, group_id, kind, chain, nth
), storm_pause AS (
  SELECT w.kafka_cluster, w.group_id, w.kind, w.chain, w.nth,
    CASE WHEN bool_and(coalesce(g.is_pause_known, true)) THEN max(g.paused_ms) END AS paused_ms, sum(size(g.revoked)) AS revoked
  FROM storm_generation w
  JOIN member_generation g ON g.kafka_cluster = w.kafka_cluster AND g.group_id = w.group_id
    AND g.incarnation = w.incarnation AND g.generation = w.generation
  GROUP BY w.kafka_cluster, w.group_id, w.kind, w.chain, w.nth
), storm_with_code AS (
  SELECT s.*,
    CASE WHEN s.kind = 'connector' THEN 'connector_changes'
      WHEN s.kind = 'idle' THEN 'nothing_changes'
      WHEN s.kind = 'pace' THEN 'cause_unknown'
      -- A silence that ends with a new start was a crash.
      WHEN size(filter(p.starts_ms, x -> x BETWEEN s.started_from_ms AND s.to_ms)) >= s.returns THEN 'restarts'
      WHEN s.how = 'poll_timeout' THEN 'polls_too_late'
      WHEN s.how = 'expired' THEN 'falls_silent'
      WHEN s.how = 'left' THEN 'leaves'
      WHEN s.how = 'fenced' THEN 'is_fenced'
      ELSE 'is_gone' END AS code
  FROM any_storm s
  LEFT JOIN (SELECT process_id, collect_list(start_ms) AS starts_ms FROM process_life GROUP BY process_id) p ON p.process_id = s.subject
)
SELECT 'warning' AS severity, 'proved' AS verdict, s.kafka_cluster, s.group_id, s.subject, s.from_ms, s.to_ms, s.code,
  struct(s.returns, s.to_ms - s.from_ms AS span_ms, s.how, s.updated, s.removed, s.state_changes,
    CASE WHEN s.kind = 'pace' THEN s.returns ELSE c.generations END AS generations, c.trigger,
    CASE WHEN s.kind <> 'pace' OR c.generations >= s.returns THEN c.sum_ms END AS rounds_ms, c.longest_ms, m.paused_ms, m.revoked,
    coalesce(c.protocol_type = 'connect', false) AS is_connect, d.value_ms AS delay_ms) AS facts,
  transform(s.lines, l -> named_struct('role', CASE s.kind WHEN 'returning' THEN 'returns' WHEN 'connector' THEN 'the connector changes'
    WHEN 'pace' THEN 'a generation' ELSE 'nothing changes' END, 'event_id', l.event_id)) AS proof
FROM storm_with_code s
LEFT JOIN storm_cost c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.kind = s.kind AND c.chain = s.chain AND c.nth = s.nth
LEFT JOIN storm_pause m ON m.kafka_cluster = s.kafka_cluster AND m.group_id = s.group_id AND m.kind = s.kind AND m.chain = s.chain AND m.nth = s.nth
LEFT JOIN member_setting d ON d.kafka_cluster = s.kafka_cluster AND d.group_id = s.group_id AND d.value_how = 'group'
  AND d.setting = 'scheduled.rebalance.max.delay.ms'

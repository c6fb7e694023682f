-- One row per rebalance that waited for a member that did not rejoin.
-- Reads: generation, member, fact_line, worker_setting, setting
WITH waiting_generation AS (
  SELECT g.*, m.process_id, m.client_id, m.task FROM generation g
  LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.waited_for_member_id
  WHERE g.waited_why IN ('expired', 'not_rejoined', 'pending_expired') AND g.join_ms >= ghost_wait_ms
), expired_member AS (
  SELECT kafka_cluster, group_id, process_id, at_ms, event_id, explode(coalesce(members, array(member_id))) AS member_id FROM fact_line
  WHERE event = 'member_expired'
), first_removal AS (
  SELECT kafka_cluster, group_id, member_id, min(at_ms) AS at_ms, min_by(event_id, struct(at_ms IS NOT NULL, at_ms, event_id)) AS event_id
  FROM expired_member GROUP BY kafka_cluster, group_id, member_id
), other_removals AS (
  -- Other members that were removed while it waited.
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, array_sort(collect_set(f.member_id)) AS others
  FROM waiting_generation g
  JOIN expired_member f ON f.kafka_cluster = g.kafka_cluster AND f.group_id = g.group_id AND f.process_id = g.coordinator
    AND f.member_id <> g.waited_for_member_id AND f.at_ms BETWEEN unix_millis(g.prepared_ts) AND unix_millis(g.stabilized_ts)
  GROUP BY g.kafka_cluster, g.group_id, g.incarnation, g.generation
)
SELECT CASE WHEN g.join_ms >= ghost_wait_long_ms THEN 'warning' ELSE 'note' END AS severity, 'proved' AS verdict, g.kafka_cluster, g.group_id,
  concat('generation ', g.generation) AS subject, unix_millis(g.prepared_ts) AS from_ms, unix_millis(g.stabilized_ts) AS to_ms,
  CASE WHEN g.protocol_type = 'connect' THEN 'worker' ELSE 'consumer' END AS code,
  struct(g.incarnation, g.generation, g.process_id, g.waited_for_member_id AS member_id, g.task, g.waited_why AS why, g.trigger,
    unix_millis(g.prepared_ts) AS began_at_ms, g.join_ms AS waited_ms, e.at_ms AS removed_at_ms,
    coalesce(w.session_ms, try_cast(s.value AS BIGINT)) AS session_ms, w.rebalance_ms,
    coalesce(o.others, CAST(array() AS ARRAY<STRING>)) AS others) AS facts,
  concat(transform(slice(g.witness, 1, 3), x -> named_struct('role', 'the rebalance', 'event_id', x)),
    array(named_struct('role', 'the coordinator gives up on the member', 'event_id', e.event_id))) AS proof
FROM waiting_generation g
LEFT JOIN first_removal e ON e.kafka_cluster = g.kafka_cluster AND e.group_id = g.group_id AND e.member_id = g.waited_for_member_id
LEFT JOIN worker_setting w ON w.process_id = g.process_id AND g.protocol_type = 'connect'
LEFT JOIN setting s ON s.process_id = g.process_id AND s.component = 'ConsumerConfig' AND s.client_id = g.client_id AND s.key = 'session.timeout.ms'
LEFT JOIN other_removals o ON o.kafka_cluster = g.kafka_cluster AND o.group_id = g.group_id AND o.incarnation = g.incarnation
  AND o.generation = g.generation

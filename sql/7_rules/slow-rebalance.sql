-- One row per rebalance that waited a long time for members that eventually joined, or that was still running when the logs ended.
-- Reads: generation, broker_generation, rebalance_blame, member, member_generation, group_outage, open_rebalance, clock_offset, fact_line
-- A member that asked so late that the rebalance would have been slow even without the last one also held it up. Other rules report the
-- remaining cases: rebalance-waits-for-ghost a member that does not come, coordinator-unavailable a missing coordinator. A group that
-- gathers its first members waits on purpose.
WITH idle_members AS (
  SELECT kafka_cluster, group_id, incarnation, generation, max(paused_ms) AS stood_ms,
    count(DISTINCT CASE WHEN paused_ms >= slow_rebalance_ms THEN member_id END) AS stood_count
  FROM member_generation
  -- A member that came from an earlier generation shows that the group was not empty before.
  WHERE paused_ms IS NOT NULL OR NOT is_pause_known GROUP BY kafka_cluster, group_id, incarnation, generation
), join_request AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.member_id, g.process_id, g.task, k.clock_id,
    unix_millis(g.joining_ts) - k.ahead_ms AS at_ms, g.witness[0] AS event_id
  FROM member_generation g JOIN clock_offset k ON k.process_id = g.process_id AND k.is_island_reference WHERE g.joining_ts IS NOT NULL
), late_members AS (
  SELECT b.kafka_cluster, b.group_id, b.incarnation, b.generation,
    array_sort(collect_set(concat_ws(' ', o.process_id, o.task))) AS names, array_sort(collect_set(o.event_id)) AS event_ids
  FROM rebalance_blame b
  JOIN join_request l ON l.kafka_cluster = b.kafka_cluster AND l.group_id = b.group_id AND l.incarnation = b.incarnation
    AND l.generation = b.generation AND l.member_id = b.member_id
  JOIN join_request o ON o.kafka_cluster = b.kafka_cluster AND o.group_id = b.group_id AND o.incarnation = b.incarnation
    AND o.generation = b.generation AND o.member_id <> b.member_id AND o.clock_id = l.clock_id
    AND o.at_ms BETWEEN l.at_ms - b.ms + slow_rebalance_ms AND l.at_ms
  WHERE b.part = 'waiting' AND b.ms >= slow_rebalance_ms AND (o.process_id <> l.process_id OR NOT o.task <=> l.task)
  GROUP BY b.kafka_cluster, b.group_id, b.incarnation, b.generation
), slow_generation AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.protocol_type, g.rebalance_mode, g.trigger, g.coordinator,
    unix_millis(b.from_ts) AS from_ms, unix_millis(b.to_ts) AS to_ms, b.ms, b.member_id, b.process_id, b.setting, b.value_ms,
    b.witness, m.task, s.stood_ms, s.stood_count, t.names AS late_names, coalesce(t.event_ids, array()) AS late_ids,
    coalesce(x.is_silent, false) AS is_silent, CASE WHEN x.is_silent AND x.expired_how = 'rebalance_timeout' THEN x.expired_member END
      AS late_member_id, CASE WHEN x.is_silent THEN x.expired_id END AS expired_id
  FROM generation g
  JOIN rebalance_blame b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id AND b.incarnation = g.incarnation
    AND b.generation = g.generation AND b.part = 'waiting' AND b.ms >= slow_rebalance_ms
  LEFT JOIN member m ON m.kafka_cluster = b.kafka_cluster AND m.group_id = b.group_id AND m.member_id = b.member_id
  LEFT JOIN idle_members s ON s.kafka_cluster = g.kafka_cluster AND s.group_id = g.group_id AND s.incarnation = g.incarnation
    AND s.generation = g.generation
  LEFT JOIN late_members t ON t.kafka_cluster = g.kafka_cluster AND t.group_id = g.group_id AND t.incarnation = g.incarnation
    AND t.generation = g.generation
  LEFT JOIN clock_offset k ON k.process_id = g.coordinator AND k.is_island_reference
  LEFT JOIN broker_generation x ON x.kafka_cluster = g.kafka_cluster AND x.group_id = g.group_id AND x.incarnation = g.incarnation
    AND x.generation = g.generation
  LEFT ANTI JOIN group_outage o ON g.coordinator IS NULL AND o.kafka_cluster = g.kafka_cluster AND o.group_id = g.group_id
    AND o.from_ms <= unix_millis(b.to_ts) AND coalesce(o.to_ms >= unix_millis(b.from_ts), true)
  WHERE g.group_protocol = 'classic' AND coalesce(g.waited_why, '') NOT IN ('expired', 'not_rejoined', 'pending_expired')
    AND coalesce(b.setting, '') <> 'group.initial.rebalance.delay.ms' AND (g.coordinator IS NOT NULL OR s.generation IS NOT NULL)
    -- The coordinator's clock stepped, perhaps during the rebalance.
    AND coalesce(b.ms < k.step.least_ms, true)
), finding_row AS (
  SELECT kafka_cluster, group_id, concat('generation ', generation) AS subject, from_ms, to_ms,
    CASE WHEN rebalance_mode = 'cooperative' THEN 'cooperative' ELSE 'eager' END AS code, rebalance_mode, protocol_type, incarnation, generation,
    CAST(NULL AS BIGINT) AS last_generation, process_id, member_id, task, late_names AS late, is_silent, late_member_id, trigger,
    CAST(NULL AS STRING) AS reason, from_ms AS began_ms, ms AS waited_ms,
    coalesce(setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms'), false) AS is_busy, setting, value_ms,
    CASE WHEN stood_count > 0 THEN stood_ms END AS stood_ms, CASE WHEN stood_count > 0 THEN stood_count END AS stood_count,
    CAST(NULL AS ARRAY<STRING>) AS asked, CAST(NULL AS ARRAY<STRING>) AS awaited, CAST(NULL AS BOOLEAN) AS is_given_up,
    CAST(NULL AS BOOLEAN) AS close_timed_out,
    transform(array_distinct(witness || late_ids || array_compact(array(expired_id))),
      x -> named_struct('role', CASE WHEN array_contains(late_ids, x) THEN 'also joins late' WHEN x <=> expired_id THEN 'the member is removed'
      ELSE 'the rebalance' END, 'event_id', x)) AS proof
  FROM slow_generation
  UNION ALL
  SELECT r.kafka_cluster, r.group_id, 'the last rebalance', from_ms, to_ms, 'unfinished' AS code, rebalance_mode, protocol_type, incarnation,
    NULL AS generation, last_generation, CASE WHEN size(awaited) = 1 AND size(awaited_processes) = 1 THEN awaited_processes[0] END,
    member_id, NULL AS task, NULL AS late, NULL AS is_silent, NULL AS late_member_id, NULL AS trigger, reason, began_ms, lasted_ms,
    NULL AS is_busy, NULL AS setting, NULL AS value_ms, NULL AS stood_ms, NULL AS stood_count, asked, awaited, is_given_up,
    is_given_up AND c.group_id IS NOT NULL,
    transform(witness, x -> named_struct('role', 'the rebalance', 'event_id', x)) AS proof
  FROM open_rebalance r
  LEFT JOIN (SELECT DISTINCT kafka_cluster, group_id FROM fact_line WHERE event = 'close_timed_out') c ON c.kafka_cluster = r.kafka_cluster
    AND c.group_id = r.group_id
  -- Any log may end in the middle of a rebalance. A group whose members all stop rebalances until the last one has left.
  WHERE coalesce(lasted_ms >= open_rebalance_ms, true) AND (size(asked) + size(awaited) > 0 OR NOT has_member_logs OR lasted_ms >= slow_rebalance_ms)
)
SELECT CASE WHEN waited_ms >= slow_rebalance_long_ms AND NOT coalesce(rebalance_mode = 'cooperative', false) THEN 'warning'
    ELSE 'note' END AS severity,
  'proved' AS verdict, kafka_cluster, group_id, subject, from_ms, to_ms, code,
  struct(incarnation, generation, last_generation, coalesce(protocol_type = 'connect', false) AS is_connect,
    coalesce(rebalance_mode = 'eager', false) AS is_eager, process_id, member_id, task, late, is_silent, late_member_id, trigger, reason,
    began_ms AS began_at_ms, to_ms AS ended_at_ms, waited_ms, is_busy, setting, value_ms, stood_ms, stood_count, asked, awaited,
    is_given_up, close_timed_out) AS facts,
  proof
FROM finding_row

-- One row for each period in which tasks that had been running had no owner.
-- Reads: unowned, clock_offset, join_round, member_setting, process_life, generation, member
WITH unowned_time AS (
  -- The time without an owner is certain, so it begins and ends with lines of the two owners.
  SELECT kafka_cluster, group_id, resource, unix_millis(from_hi) AS from_ms, unix_millis(to_lo) AS to_ms, certain_ms AS unowned_ms,
    previous_process_id AS before_process, next_process_id AS after_process,
    array(named_struct('role', 'ended', 'event_id', witness[0]), named_struct('role', 'started again', 'event_id', witness[1])) AS proof
  FROM unowned WHERE resource_kind = 'task' AND group_id IS NOT NULL AND certain_ms >= unassigned_ms
), joint_gap AS (
  SELECT kafka_cluster, group_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(unowned_ms) AS unowned_ms,
    array_sort(collect_set(resource)) AS tasks, array_sort(collect_set(before_process)) AS before_processes,
    array_sort(collect_set(after_process)) AS after_processes, slice(array_distinct(flatten(sort_array(collect_list(proof)))), 1, 20) AS proof
  FROM unowned_time GROUP BY kafka_cluster, group_id, to_ms DIV unassigned_together_ms
), scheduled_delay AS (
  SELECT t.kafka_cluster, t.group_id, t.to_ms, max(j.delay_ms) AS delay_ms,
    max_by(j.worker_assigned_id, struct(j.delay_ms IS NOT NULL, j.delay_ms, j.worker_assigned_id)) AS event_id
  FROM joint_gap t JOIN join_round j ON j.kafka_cluster = t.kafka_cluster AND j.group_id = t.group_id AND j.delay_ms > 0
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
    AND j.worker_assigned_ms - o.hi_ms BETWEEN t.from_ms - delay_before_ms AND t.to_ms
  GROUP BY t.kafka_cluster, t.group_id, t.to_ms
), shutdown_gap AS (
  -- All previous owners had printed that they stop, and were not back before others had the tasks.
  SELECT t.kafka_cluster, t.group_id, t.to_ms
  FROM (SELECT kafka_cluster, group_id, to_ms, from_ms, explode(before_processes) AS process_id FROM joint_gap) t
  LEFT JOIN (
    SELECT l.process_id, l.ending_ms - o.hi_ms AS ending_ms, l.next_start_ms - o.lo_ms AS next_ms
    FROM process_life l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference WHERE l.ending_ms IS NOT NULL
  ) l ON l.process_id = t.process_id AND l.ending_ms BETWEEN t.from_ms - outage_back_ms AND t.from_ms + outage_untroubled_ms
    AND coalesce(l.next_ms > t.to_ms, true)
  GROUP BY t.kafka_cluster, t.group_id, t.to_ms
  HAVING bool_and(l.process_id IS NOT NULL)
), leader_without_log AS (
  -- Only its log shows to whom it gave the tasks.
  SELECT DISTINCT g.kafka_cluster, g.group_id FROM generation g
  JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.leader_member_id
  WHERE m.process_id IS NULL
)
SELECT CASE WHEN t.unowned_ms >= unassigned_long_ms THEN 'warning' ELSE 'note' END AS severity,
  CASE WHEN n.group_id IS NULL THEN 'proved' ELSE 'undecided' END AS verdict, t.kafka_cluster, t.group_id,
  array_join(slice(t.tasks, 1, 10), ', ') AS subject, t.from_ms, t.to_ms,
  CASE WHEN d.delay_ms IS NOT NULL THEN 'scheduled_delay' ELSE 'no_delay_printed' END AS code,
  struct(t.tasks, t.before_processes, t.after_processes, t.from_ms AS ended_at_ms, t.to_ms AS began_at_ms, t.unowned_ms, d.delay_ms,
    m.value_ms AS most_delay_ms, h.to_ms IS NOT NULL AS is_shut_down, n.group_id IS NOT NULL AS is_leader_unlogged) AS facts,
  concat(t.proof, array(named_struct('role', 'assignment with a rebalance delay', 'event_id', d.event_id))) AS proof
FROM joint_gap t LEFT JOIN scheduled_delay d ON d.kafka_cluster = t.kafka_cluster AND d.group_id = t.group_id AND d.to_ms = t.to_ms
LEFT JOIN shutdown_gap h ON h.kafka_cluster = t.kafka_cluster AND h.group_id = t.group_id AND h.to_ms = t.to_ms
LEFT JOIN leader_without_log n ON n.kafka_cluster = t.kafka_cluster AND n.group_id = t.group_id
LEFT JOIN member_setting m ON m.kafka_cluster = t.kafka_cluster AND m.group_id = t.group_id AND m.value_how = 'group'
  AND m.setting = 'scheduled.rebalance.max.delay.ms'

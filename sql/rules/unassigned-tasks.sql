-- One row per stretch of time in which tasks that had run had no owner.
-- Reads: ownership, clock_offset, join_round, generation
WITH run AS (
  SELECT kafka_cluster, group_id, resource, process_id, reference_process_id, start_hi, start_lo, witness, generation, ownership_id,
    max(coalesce(stop_hi, TIMESTAMP'9999-01-01')) OVER w AS owned_until,
    max_by(struct(witness, process_id, generation), struct(coalesce(stop_hi, TIMESTAMP'9999-01-01'), witness)) OVER w AS before
  FROM ownership
  WHERE resource_kind = 'task' AND group_id IS NOT NULL
  WINDOW w AS (
    PARTITION BY kafka_cluster, group_id, resource, reference_process_id ORDER BY coalesce(start_lo, start_hi)
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), hidden AS (
  -- A member whose log is not here may have had them.
  SELECT DISTINCT r.ownership_id
  FROM run r
  JOIN generation n ON n.kafka_cluster = r.kafka_cluster AND n.group_id = r.group_id AND n.member_count > n.seen_by_members
    AND n.generation > r.before.generation AND n.generation < r.generation
), gap AS (
  SELECT kafka_cluster, group_id, resource, unix_millis(owned_until) AS from_ms, unix_millis(start_lo) AS to_ms,
    unix_millis(start_lo) - unix_millis(owned_until) AS unowned_ms, before.process_id AS before_process, process_id AS after_process,
    array(named_struct('role', 'ended', 'event_id', element_at(before.witness, -1)),
      named_struct('role', 'started again', 'event_id', witness[0])) AS proof
  FROM run r
  LEFT ANTI JOIN hidden h ON h.ownership_id = r.ownership_id
  WHERE owned_until < start_lo AND unix_millis(start_lo) - unix_millis(owned_until) >= unassigned_ms
), together AS (
  SELECT kafka_cluster, group_id, min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(unowned_ms) AS unowned_ms,
    array_sort(collect_set(resource)) AS tasks, array_sort(collect_set(before_process)) AS before_processes,
    array_sort(collect_set(after_process)) AS after_processes,
    slice(array_distinct(flatten(array_sort(collect_list(proof)))), 1, 20) AS proof
  FROM gap
  GROUP BY kafka_cluster, group_id, to_ms DIV unassigned_together_ms
), delay AS (
  SELECT t.kafka_cluster, t.group_id, t.to_ms, max(j.delay_ms) AS delay_ms,
    max_by(j.worker_assigned_id, struct(j.delay_ms, j.worker_assigned_id)) AS event_id
  FROM together t
  JOIN join_round j ON j.kafka_cluster = t.kafka_cluster AND j.group_id = t.group_id AND j.delay_ms > 0
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
    AND j.worker_assigned_ms - o.hi_ms BETWEEN t.from_ms - delay_before_ms AND t.to_ms
  GROUP BY t.kafka_cluster, t.group_id, t.to_ms
)
SELECT
  CASE WHEN t.unowned_ms >= unassigned_long_ms THEN 'warning' ELSE 'note' END AS severity,
  'proved' AS verdict,
  t.kafka_cluster AS kafka_cluster,
  t.group_id AS group_id,
  array_join(slice(t.tasks, 1, 10), ', ') AS subject,
  t.from_ms AS from_ms,
  t.to_ms AS to_ms,
  CASE WHEN d.delay_ms IS NOT NULL THEN 'scheduled_delay' ELSE 'no_delay_printed' END AS code,
  named_struct(
    'tasks', t.tasks,
    'before_processes', t.before_processes,
    'after_processes', t.after_processes,
    'ended_at_ms', t.from_ms,
    'began_at_ms', t.to_ms,
    'unowned_ms', t.unowned_ms,
    'delay_ms', d.delay_ms
  ) AS facts,
  concat(t.proof, array(named_struct('role', 'assignment with a rebalance delay', 'event_id', d.event_id))) AS proof
FROM together t
LEFT JOIN delay d ON d.kafka_cluster = t.kafka_cluster AND d.group_id = t.group_id AND d.to_ms = t.to_ms

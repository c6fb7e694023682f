-- One row per worker whose assigned tasks do not work: tasks failed or never started, the herder died, or a sink task has no partitions.
-- Reads: fact_line, task_line, process_life, worker_group, worker_duty, join_round, clock_offset, log_hole
WITH clock_lead AS (
  -- How far each process's clock is ahead of its island's reference clock.
  SELECT process_id, (lo_ms + hi_ms) DIV 2 AS ahead_ms FROM clock_offset WHERE is_island_reference
), failure_line AS (
  SELECT
    f.kafka_cluster, f.process_id, f.instance, f.task, f.connector, f.event, f.said, f.root_error, f.message, f.at_ms, f.stream_pos,
    f.event_id, w.group_id,
    k.ahead_ms, f.at_ms - k.ahead_ms AS reference_ms
  FROM fact_line f
  JOIN clock_lead k ON k.process_id = f.process_id
  LEFT JOIN worker_group w ON w.process_id = f.process_id AND w.instance = f.instance
  WHERE f.event IN ('task_failed', 'task_start_failed', 'task_init_failed', 'connector_start_failed', 'connector_failed', 'herder_failed')
), resource_failure AS (
  SELECT f.*, coalesce(f.task, f.connector) AS resource, coalesce(regexp_replace(f.task, '-[0-9]+$', ''), f.connector) AS of_connector
  FROM failure_line f
  JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  WHERE f.event <> 'herder_failed' AND (l.stopping_ms IS NULL OR f.at_ms < l.stopping_ms)
), later_start AS (
  SELECT f.event_id, min(t.at_ms - f.ahead_ms) AS reference_ms
  FROM resource_failure f
  JOIN task_line t ON t.process_id = f.process_id AND t.instance = f.instance AND t.resource = f.resource
    AND t.kind = 'start' AND t.stream_pos > f.stream_pos
  GROUP BY f.event_id
), failed_resources AS (
  SELECT
    f.kafka_cluster, f.group_id, f.process_id, f.of_connector AS connector,
    array_sort(collect_set(f.resource)) AS resources, array_sort(collect_set(f.task)) AS tasks,
    count(*) AS times, count(a.reference_ms) AS restarts, min(f.reference_ms) AS from_ms,
    CASE WHEN count(a.reference_ms) = count(*) THEN max(a.reference_ms) END AS to_ms,
    min_by(struct(coalesce(f.said, f.message) AS said, f.root_error AS root, coalesce(f.root_error, f.said) AS error),
      struct(f.at_ms IS NOT NULL, f.at_ms, f.event_id)) AS first,
    slice(array_sort(collect_list(f.event_id)), 1, 8) AS event_ids
  FROM resource_failure f
  LEFT JOIN later_start a ON a.event_id = f.event_id
  GROUP BY f.kafka_cluster, f.group_id, f.process_id, f.of_connector
), unstarted_tasks AS (
  SELECT
    d.kafka_cluster, d.group_id, d.process_id, array_sort(collect_set(d.task)) AS tasks,
    min(d.assigned_ms - k.ahead_ms) AS from_ms, max(d.until_ms - d.assigned_ms) AS waited_ms,
    slice(array_sort(collect_set(d.event_id)), 1, 4) AS event_ids
  FROM worker_duty d
  JOIN clock_lead k ON k.process_id = d.process_id
  LEFT ANTI JOIN resource_failure f ON f.process_id = d.process_id AND f.instance = d.instance AND f.task = d.task
  LEFT ANTI JOIN fact_line h ON h.process_id = d.process_id AND h.instance = d.instance AND h.event = 'herder_failed'
  -- If lines are missing, those of the start may be among them.
  LEFT ANTI JOIN log_hole o ON o.process_id = d.process_id AND o.instance = d.instance
  WHERE NOT d.started AND d.until_ms - d.assigned_ms >= not_started_ms
  GROUP BY d.kafka_cluster, d.group_id, d.process_id
), last_sink_assignment AS (
  -- The last assignment of a sink task's consumer.
  SELECT
    j.kafka_cluster, j.group_id, j.process_id, j.task,
    max_by(size(coalesce(j.assigned, j.given)), struct(j.round, j.synced_id)) AS partitions,
    max_by(j.synced_id, struct(j.round, j.synced_id)) AS event_id,
    max_by(j.synced_ms - k.ahead_ms, struct(j.round, j.synced_id)) AS reference_ms
  FROM join_round j
  JOIN clock_lead k ON k.process_id = j.process_id
  WHERE j.task IS NOT NULL AND j.synced_ms IS NOT NULL AND NOT j.is_worker
  GROUP BY j.kafka_cluster, j.group_id, j.process_id, j.task
), idle_sink_tasks AS (
  -- If another worker has the task by now, only that worker's assignment counts.
  SELECT
    b.kafka_cluster, b.group_id, array_sort(collect_list(b.task)) AS tasks, min(b.reference_ms) AS from_ms,
    slice(array_sort(collect_list(b.event_id)), 1, 6) AS event_ids
  FROM last_sink_assignment b
  WHERE b.partitions = 0
    AND b.reference_ms = (
      SELECT max(c.reference_ms) FROM last_sink_assignment c
      WHERE c.group_id = b.group_id AND c.task = b.task AND c.kafka_cluster = b.kafka_cluster)
  GROUP BY b.kafka_cluster, b.group_id
), finding_row AS (
  SELECT
    CASE WHEN to_ms IS NULL THEN 'critical' ELSE 'warning' END AS severity, kafka_cluster, group_id,
    array_join(slice(resources, 1, 10), ', ') AS subject, from_ms, to_ms,
    CASE WHEN to_ms IS NULL THEN 'failed' ELSE 'failed_and_restarted' END AS code,
    process_id, CAST(NULL AS INT) AS instance, connector, tasks, array_contains(resources, connector) AS connector_failed, times, restarts,
    first.said AS said, first.root AS root_error,
    -- Without the package names of the class.
    regexp_replace(first.error, '^([a-z0-9_]+[.])+', '') AS error, CAST(NULL AS BIGINT) AS waited_ms, 'fails' AS line_role, event_ids
  FROM failed_resources
  UNION ALL
  SELECT
    'critical' AS severity, kafka_cluster, group_id,
    process_id AS subject, reference_ms AS from_ms, NULL AS to_ms, 'herder_died' AS code,
    process_id, instance, NULL AS connector, NULL AS tasks, false AS connector_failed, NULL AS times, NULL AS restarts, message AS said,
    NULL AS root_error, NULL AS error, NULL AS waited_ms, 'the herder dies' AS line_role, array(event_id) AS event_ids
  FROM failure_line
  WHERE event = 'herder_failed'
  UNION ALL
  SELECT
    'warning' AS severity, kafka_cluster, group_id,
    array_join(slice(tasks, 1, 10), ', ') AS subject, from_ms, NULL AS to_ms, 'never_started' AS code,
    process_id, NULL AS instance, NULL AS connector, tasks, false AS connector_failed, NULL AS times, NULL AS restarts,
    NULL AS said, NULL AS root_error, NULL AS error, waited_ms, 'assigned' AS line_role, event_ids
  FROM unstarted_tasks
  UNION ALL
  SELECT
    'note' AS severity, kafka_cluster, group_id,
    array_join(slice(tasks, 1, 10), ', ') AS subject, from_ms, NULL AS to_ms, 'no_partitions' AS code,
    NULL AS process_id, NULL AS instance, NULL AS connector, tasks, false AS connector_failed, NULL AS times, NULL AS restarts,
    NULL AS said, NULL AS root_error, NULL AS error, NULL AS waited_ms, 'last assignment, empty' AS line_role, event_ids
  FROM idle_sink_tasks
)
SELECT
  severity AS severity,
  'proved' AS verdict,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  subject AS subject,
  from_ms AS from_ms,
  to_ms AS to_ms,
  code AS code,
  named_struct(
    'process_id', process_id,
    'instance', instance,
    'connector', connector,
    'tasks', tasks,
    'connector_failed', connector_failed,
    'times', times,
    'restarts', restarts,
    'said', said,
    'root_error', root_error,
    'error', error,
    'waited_ms', waited_ms
  ) AS facts,
  transform(event_ids, e -> named_struct('role', line_role, 'event_id', e)) AS proof
FROM finding_row

-- One row per worker whose assigned tasks do not work: tasks failed or never started, the herder died, or a sink task has no partitions.
-- Reads: task_failure, unstarted_task, fact_line, join_round, clock_offset
WITH clock_lead AS (
  -- How far each process's clock is ahead of its island's reference clock.
  SELECT process_id, (lo_ms + hi_ms) DIV 2 AS ahead_ms FROM clock_offset WHERE is_island_reference
), herder_failure AS (
  SELECT f.kafka_cluster, f.worker_group_id AS group_id, f.process_id, f.instance, f.event_id, f.at_ms - k.ahead_ms AS reference_ms,
    coalesce(regexp_replace(f.said, '^([a-z0-9_]+[.])+', ''), f.root_error, f.message) AS said,
    CASE WHEN f.root_error <> f.said THEN regexp_replace(f.root_error, '^([a-z0-9_]+[.])+', '') END AS root_error,
    a.process_id IS NOT NULL AS had_work
  FROM fact_line f JOIN clock_lead k ON k.process_id = f.process_id
  LEFT JOIN (SELECT DISTINCT process_id, instance FROM join_round WHERE is_worker AND worker_assigned_ms IS NOT NULL) a ON a.process_id = f.process_id
    AND a.instance = f.instance
  -- A herder that dies while its worker is stopped had nothing left to do.
  LEFT ANTI JOIN fact_line s ON s.process_id = f.process_id AND s.instance = f.instance AND s.event = 'process_stopping'
    AND s.stream_pos < f.stream_pos
  WHERE f.event = 'herder_failed'
), resource_failure AS (
  SELECT f.*, unix_millis(f.failed_ts) - k.ahead_ms AS reference_ms,
    -- One that another owner had already did not stop.
    CASE WHEN f.ran_again = 'already_elsewhere' THEN unix_millis(f.failed_ts) - k.ahead_ms
      ELSE coalesce(unix_millis(f.deleted_lo), unix_millis(f.next_ts) - n.ahead_ms) END AS ended_reference_ms,
    f.ran_again IS NOT NULL OR f.deleted_id IS NOT NULL AS is_over
  FROM task_failure f JOIN clock_lead k ON k.process_id = f.process_id
  LEFT JOIN clock_lead n ON n.process_id = f.next_process_id
), failed_resources AS (
  SELECT kafka_cluster, group_id, process_id, connector, array_sort(collect_set(resource)) AS resources,
    array_sort(collect_set(CASE WHEN resource_kind = 'task' THEN resource END)) AS tasks, count(*) AS times, count(ran_again) AS restarts,
    min(reference_ms) AS from_ms, max(reference_ms) AS last_ms,
    CASE WHEN bool_and(is_over) THEN coalesce(max(ended_reference_ms), max(reference_ms)) END AS to_ms,
    count(deleted_id) AS deletions, max(unix_millis(deleted_lo)) AS deleted_ms,
    array_sort(collect_set(next_process_id)) AS next_workers, array_sort(collect_set(CASE WHEN NOT is_over THEN resource END)) AS still_failed,
    min(CASE WHEN NOT is_over THEN reference_ms END) AS still_from_ms, min(CASE WHEN NOT is_over THEN watched_ms END) AS watched_ms,
    bool_or(NOT is_over AND why_unknown IN ('lines_missing', 'other_clock', 'no_times')) AS is_uncertain,
    bool_and(coalesce(ran_again = 'already_elsewhere', false)) AS is_elsewhere, max(idle_certain_ms) AS idle_ms,
    max(idle_possible_ms) AS idle_possible_ms, array_sort(collect_set(restart_how)) AS restart_how,
    array_sort(collect_set(restart_client)) AS restart_clients,
    -- What is still to be repaired comes first.
    min_by(struct(coalesce(exception, message) AS said, exception, innermost AS error, before_said, before_ms),
      struct(is_over, failed_ts IS NOT NULL, failed_ts, event_id)) AS first,
    CAST(min_by(instance, struct(failed_ts IS NOT NULL, failed_ts, event_id)) AS INT) AS instance,
    slice(array_sort(collect_set(innermost)), 1, 4) AS errors,
    slice(filter(flatten(transform(sort_array(collect_list(struct(coalesce(reference_ms, 0L) AS at_ms, event_id, before_id, next_start_id,
      deleted_id))),
      x -> array(named_struct('role', 'comes before', 'event_id', x.before_id), named_struct('role', 'fails', 'event_id', x.event_id),
      named_struct('role', 'starts again', 'event_id', x.next_start_id), named_struct('role', 'deleted', 'event_id',
      x.deleted_id)))), x -> x.event_id IS NOT NULL), 1, 12) AS proof
  FROM resource_failure GROUP BY kafka_cluster, group_id, process_id, connector
), last_sink_assignment AS (
  -- The last assignment of a sink task's consumer.
  SELECT j.kafka_cluster, j.group_id, j.process_id, j.task, max_by(size(coalesce(j.assigned, j.given)), struct(j.round, j.synced_id)) AS partitions,
    max_by(j.synced_id, struct(j.round, j.synced_id)) AS event_id, max_by(j.synced_ms - k.ahead_ms, struct(j.round, j.synced_id)) AS reference_ms
  FROM join_round j JOIN clock_lead k ON k.process_id = j.process_id
  WHERE j.task IS NOT NULL AND j.synced_ms IS NOT NULL AND NOT j.is_worker GROUP BY j.kafka_cluster, j.group_id, j.process_id, j.task
), idle_sink_tasks AS (
  -- If another worker has the task by now, only that worker's assignment counts.
  SELECT b.kafka_cluster, b.group_id, array_sort(collect_list(b.task)) AS tasks, min(b.reference_ms) AS from_ms,
    slice(array_sort(collect_list(b.event_id)), 1, 6) AS event_ids
  FROM last_sink_assignment b
  WHERE b.partitions = 0
    AND b.reference_ms = (
      SELECT max(c.reference_ms) FROM last_sink_assignment c
      WHERE c.group_id = b.group_id AND c.task = b.task AND c.kafka_cluster = b.kafka_cluster)
  GROUP BY b.kafka_cluster, b.group_id
), finding_row AS (
  SELECT CASE WHEN to_ms IS NULL THEN 'critical' ELSE 'warning' END AS severity, kafka_cluster, group_id, resources AS subjects, from_ms,
    to_ms, CASE WHEN to_ms IS NULL THEN 'failed' WHEN restarts = 0 AND deletions > 0 THEN 'failed_and_deleted' ELSE 'failed_and_restarted' END
      AS code, process_id, instance,
    connector, tasks, first.said AS said, CAST(NULL AS BIGINT) AS waited_ms, proof
  FROM failed_resources
  UNION ALL
  SELECT 'critical', kafka_cluster, group_id, array(process_id), reference_ms, NULL, 'herder_died' AS code, process_id, instance, NULL,
    NULL, said, NULL, array(named_struct('role', 'the herder dies', 'event_id', event_id)) AS proof
  FROM herder_failure
  UNION ALL
  SELECT 'warning', kafka_cluster, group_id, tasks, from_ms, NULL, 'never_started' AS code, process_id, NULL, NULL, tasks, NULL, waited_ms,
    transform(event_ids, e -> named_struct('role', 'assigned', 'event_id', e)) AS proof
  FROM unstarted_task
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, tasks, from_ms, NULL, 'no_partitions' AS code, NULL, NULL, NULL, tasks, NULL, NULL,
    transform(event_ids, e -> named_struct('role', 'last assignment, empty', 'event_id', e)) AS proof
  FROM idle_sink_tasks
)
SELECT r.severity, 'proved' AS verdict, r.kafka_cluster, r.group_id, array_join(slice(r.subjects, 1, 10), ', ') AS subject, r.from_ms, r.to_ms,
  r.code,
  struct(
    r.process_id, r.instance, r.connector, r.tasks, coalesce(array_contains(f.resources, f.connector), false) AS connector_failed, f.times,
    f.restarts, r.said, coalesce(f.first.error, h.root_error) AS root_error, h.had_work,
    -- Without the package names of the class. An exception without a message says little without the one that it caused.
    nullif(concat_ws(' in ', regexp_replace(f.first.error, '^([a-z0-9_]+[.])+', ''), CASE WHEN f.first.error NOT LIKE '%: %'
      AND f.first.exception <> f.first.error THEN regexp_replace(f.first.exception, '^([a-z0-9_]+[.])+', '') END), '') AS error,
    CASE WHEN f.first.exception <> f.first.error THEN f.first.exception END AS outer_error, size(f.errors) AS error_count,
    f.first.before_said AS before_said, f.first.before_ms AS before_ms, r.from_ms AS failed_at_ms, f.last_ms AS last_failed_at_ms,
    f.next_workers, f.next_workers = array(f.process_id) AS is_same_worker, f.is_elsewhere, f.still_failed,
    f.still_from_ms AS still_failed_at_ms, f.watched_ms, f.is_uncertain, f.idle_ms, f.idle_possible_ms, f.restart_how, f.restart_clients,
    f.deleted_ms AS deleted_at_ms,
    r.waited_ms
  ) AS facts, r.proof
FROM finding_row r
LEFT JOIN failed_resources f ON f.kafka_cluster <=> r.kafka_cluster AND f.group_id <=> r.group_id AND f.process_id = r.process_id
  AND f.connector = r.connector
LEFT JOIN herder_failure h ON r.code = 'herder_died' AND h.event_id = get(r.proof, 0).event_id

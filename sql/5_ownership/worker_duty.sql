-- One row per task that was assigned to a worker, with the answer to whether it ran there.
-- Reads: client_event, join_round, holding, process_life, clock_setback
-- Grain: event_id, task
CREATE OR REPLACE TEMPORARY VIEW worker_duty (
  kafka_cluster,
  group_id      COMMENT 'Group of the Connect worker',
  process_id    COMMENT 'Worker',
  instance,
  task          COMMENT 'Task',
  assigned_ms   COMMENT 'Assigned, by the worker''s clock (milliseconds since 1970)',
  until_ms      COMMENT 'Next assignment, or the end of the log, by the worker''s clock',
  started COMMENT 'True if its thread existed after the assignment and before the next one; NULL: none seems to, but the clock was set back',
  event_id      COMMENT 'The assignment'
)
AS
WITH worker_assignment AS (
  SELECT j.kafka_cluster, j.group_id, j.process_id, j.instance,
    -- Tasks are recognised by their place in the line, because a connector may have the name of a task, `orders-1`.
    e.assigned_tasks, j.worker_assigned_ms AS at_ms, j.worker_assigned_id AS event_id,
    coalesce(lead(j.worker_assigned_ms) OVER (PARTITION BY j.process_id, j.instance, j.group_id, j.client ORDER BY j.round),
      l.stopping_ms, l.last_ms) AS until_ms
  FROM join_round j JOIN process_life l ON l.process_id = j.process_id AND l.instance = j.instance
  JOIN client_event e ON e.event_id = j.worker_assigned_id
  WHERE j.is_worker AND j.worker_assigned_ms IS NOT NULL
), assigned_task AS (
  SELECT kafka_cluster, group_id, process_id, instance, at_ms, until_ms, event_id, explode(assigned_tasks) AS task FROM worker_assignment
), task_span AS (
  SELECT process_id, resource, start_lo_ms, start_hi_ms, stop_asked_ms, stop_hi_ms AS stop_ms FROM holding WHERE resource_kind = 'task'
)
SELECT t.kafka_cluster, t.group_id, t.process_id, t.instance, t.task, t.at_ms AS assigned_ms, t.until_ms,
  -- By a clock that was set back, a running task seems to have started after the end of its assignment.
  CASE WHEN bool_or(coalesce(r.start_lo_ms, r.start_hi_ms) <= t.until_ms AND (r.stop_ms IS NULL OR r.stop_ms >= t.at_ms)
      AND (r.stop_asked_ms IS NULL OR r.stop_asked_ms >= t.at_ms)) THEN true
    WHEN max(s.process_id) IS NULL THEN false END AS started,
  t.event_id
FROM assigned_task t LEFT JOIN task_span r ON r.process_id = t.process_id AND r.resource = t.task
LEFT JOIN (SELECT DISTINCT process_id FROM clock_setback) s ON s.process_id = t.process_id
GROUP BY t.kafka_cluster, t.group_id, t.process_id, t.instance, t.task, t.at_ms, t.until_ms, t.event_id

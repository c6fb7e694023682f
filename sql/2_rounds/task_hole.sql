-- One row per place where the order of a task's lines is impossible in a Connect worker: lines of the worker are missing.
-- Reads: task_line, client_event
-- Grain: process_id, instance, event_id, why
-- A worker refuses to start a task that it already runs, so a second start without a stop request in between is a gap. It forgets a task
-- after waiting for its end, so a second stop request is a gap too. So are commits of a task whose producer was closed cleanly, clean
-- closing of clients whose task was neither asked to stop nor failed, scheduled commits of a task that was abandoned (the stop request ends
-- them), and a working task that was never started, in a log that begins with its worker.
CREATE OR REPLACE TEMPORARY VIEW task_hole (
  process_id COMMENT 'Worker',
  instance   COMMENT 'Which run of the process',
  from_pos   COMMENT 'Last position that is certainly before it',
  to_pos     COMMENT 'First position that is certainly after it',
  is_wide    COMMENT 'True if a whole stretch may be missing; false if a single missing line explains it',
  why        COMMENT 'started_twice, stopped_twice, worked_after_closing, closed_unasked, committed_after_stop or worked_unstarted',
  event_id   COMMENT 'First line that is certainly after it'
)
COMMENT 'One row per place where the order of a task''s lines is impossible in a Connect worker.'
AS
WITH one_herder_line AS (
  -- The connectors of MirrorMaker's driver have the same names in all of its herders, so their tasks cannot be distinguished.
  SELECT t.*
  FROM task_line t
  LEFT ANTI JOIN (SELECT process_id, instance FROM client_event WHERE is_worker GROUP BY process_id, instance
    HAVING count(DISTINCT group_id) > 1) m ON m.process_id = t.process_id AND m.instance = t.instance
  WHERE t.resource_kind = 'task'
), task_run AS (
  SELECT process_id, instance, resource, life, max(stream_pos) AS last_pos,
    min(stream_pos) FILTER (WHERE kind = 'start') AS start_pos, min_by(event_id, stream_pos) FILTER (WHERE kind = 'start') AS start_id,
    bool_or(kind IN ('stop', 'failed', 'failed_stop', 'stopped', 'orphan_failed', 'closing', 'closed', 'leaving')) AS is_ended
  FROM one_herder_line
  GROUP BY process_id, instance, resource, life
), consecutive_runs AS (
  SELECT process_id, instance, start_pos, start_id,
    lag(last_pos) OVER w AS last_pos, lag(is_ended) OVER w AS was_ended, lag(life) OVER w AS last_life
  FROM task_run
  WINDOW w AS (PARTITION BY process_id, instance, resource ORDER BY life)
), line_with_history AS (
  -- Each line with the earlier lines of the same run of its task.
  SELECT process_id, instance, kind, event, app_kind, timeout_ms, by_schedule, life, stream_pos, event_id,
    max(CASE WHEN kind = 'stop' THEN stream_pos END) OVER before AS stop_pos,
    max(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER before AS closing_pos,
    max(CASE WHEN kind IN ('start', 'sign') THEN stream_pos END) OVER before AS sign_pos,
    max(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER before AS failed_stop_pos,
    max(CASE WHEN event = 'task_started' THEN stream_pos END) OVER before AS started_pos,
    max(CASE WHEN kind IN ('stop', 'failed', 'orphan_failed') THEN stream_pos END) OVER before AS ordered_pos,
    max(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER (PARTITION BY process_id, instance, resource
      ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS given_up_pos
  FROM one_herder_line
  WINDOW before AS (PARTITION BY process_id, instance, resource, life ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), unstarted_task AS (
  SELECT t.process_id, t.instance, t.resource, min(t.stream_pos) AS to_pos, min_by(t.event_id, t.stream_pos) AS event_id
  FROM one_herder_line t
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance FROM one_herder_line WHERE kind = 'start') s
    ON s.process_id = t.process_id AND s.instance = t.instance
  WHERE t.life = 0 AND t.instance > 0 AND t.kind IN ('sign', 'stop', 'leaving', 'closing')
    AND NOT t.by_schedule
  GROUP BY t.process_id, t.instance, t.resource
), gap AS (
  SELECT process_id, instance, last_pos AS from_pos, start_pos AS to_pos, false AS is_wide, 'started_twice' AS why, start_id AS event_id
  FROM consecutive_runs
  WHERE last_life > 0 AND NOT was_ended AND start_pos IS NOT NULL
  UNION ALL
  -- A thread prints its start only once.
  SELECT process_id, instance, started_pos, stream_pos, true, 'started_twice', event_id
  FROM line_with_history
  WHERE event = 'task_started' AND started_pos IS NOT NULL AND given_up_pos IS NULL
  UNION ALL
  SELECT process_id, instance, stop_pos, stream_pos, true, 'stopped_twice', event_id
  FROM line_with_history
  WHERE kind = 'stop' AND stop_pos IS NOT NULL
  UNION ALL
  SELECT process_id, instance, closing_pos, stream_pos, true, 'worked_after_closing', event_id
  FROM line_with_history
  WHERE event = 'task_committing' AND closing_pos IS NOT NULL
  UNION ALL
  -- An abandoned task may close its clients at any time, even during a later run of the same task.
  SELECT process_id, instance, sign_pos, stream_pos, false, 'closed_unasked', event_id
  FROM line_with_history
  WHERE (kind = 'closing' AND timeout_ms > 0 OR kind = 'closed' AND app_kind IN ('kafka.consumer', 'kafka.producer'))
    AND life > 0 AND ordered_pos IS NULL AND given_up_pos IS NULL AND sign_pos IS NOT NULL
  UNION ALL
  SELECT process_id, instance, failed_stop_pos, stream_pos, true, 'committed_after_stop', event_id
  FROM line_with_history
  WHERE event = 'task_committing' AND by_schedule AND failed_stop_pos IS NOT NULL
  UNION ALL
  -- At the last assignment without it, the task did not exist yet.
  SELECT u.process_id, u.instance, coalesce(max(a.stream_pos), 0), u.to_pos, true, 'worked_unstarted', u.event_id
  FROM unstarted_task u
  LEFT JOIN client_event a ON a.process_id = u.process_id AND a.instance = u.instance AND a.event = 'worker_assigned'
    AND a.stream_pos < u.to_pos
    AND NOT array_contains(coalesce(a.assigned_tasks, array()), u.resource)
  GROUP BY u.process_id, u.instance, u.resource, u.to_pos, u.event_id
)
SELECT
  process_id AS process_id,
  instance AS instance,
  from_pos AS from_pos,
  to_pos AS to_pos,
  is_wide AS is_wide,
  why AS why,
  event_id AS event_id
FROM gap

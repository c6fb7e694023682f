-- One row per place where the order of lines about tasks or partitions is impossible in one process: lines of the process are missing.
-- Reads: task_line, client_event, owned_list
-- Grain: process_id, instance, event_id, why, is_wide
-- A worker refuses to start a task that it already runs, so a second start without a stop request in between is a gap. It forgets a task after
-- waiting for its end, so a second stop request is a gap too. So are commits of a task whose producer was closed cleanly, clean closing of clients
-- whose task was neither asked to stop nor failed, scheduled commits of a task that was abandoned (the stop request ends them), and a working task
-- that was never started, in a log that begins with its worker. So is a list of partitions that a consumer revokes, or owns, and that contradicts the
-- lines before it.
CREATE OR REPLACE TEMPORARY VIEW work_hole (
  process_id, instance,
  from_pos COMMENT 'Last position that is certainly before it',
  to_pos   COMMENT 'First position that is certainly after it',
  is_wide  COMMENT 'True if a whole stretch may be missing; false if a single missing line explains it',
  why      COMMENT 'started_twice, stopped_twice, worked_after_closing, closed_unasked, committed_after_stop, worked_unstarted or lists_differ',
  event_id COMMENT 'First line that is certainly after it'
)
AS
WITH one_herder_line AS (
  -- The connectors of MirrorMaker's driver have the same names in all of its herders, so their tasks cannot be distinguished.
  SELECT t.* FROM task_line t
  LEFT ANTI JOIN (SELECT process_id, instance FROM client_event WHERE is_worker GROUP BY process_id, instance
    HAVING count(DISTINCT group_id) > 1) m ON m.process_id = t.process_id AND m.instance = t.instance
  WHERE t.resource_kind = 'task'
), task_run AS (
  SELECT process_id, instance, resource, life, max(stream_pos) AS last_pos, min(stream_pos) FILTER (WHERE kind = 'start') AS start_pos,
    min_by(event_id, stream_pos) FILTER (WHERE kind = 'start') AS start_id,
    bool_or(kind IN ('stop', 'failed', 'failed_stop', 'stopped', 'orphan_failed', 'closing', 'closed', 'leaving')) AS is_ended
  FROM one_herder_line GROUP BY process_id, instance, resource, life
), consecutive_runs AS (
  SELECT process_id, instance, start_pos, start_id, lag(last_pos) OVER w AS last_pos, lag(is_ended) OVER w AS was_ended, lag(life) OVER w AS last_life
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
  WHERE t.life = 0 AND t.instance > 0 AND t.kind IN ('sign', 'stop', 'leaving', 'closing') AND NOT t.by_schedule
  GROUP BY t.process_id, t.instance, t.resource
), assignment_line AS (
  -- An eager consumer's complete lists, its assignments, and the answers to its syncs.
  SELECT process_id, instance, client, stream_pos, event_id, 'list' AS kind, partitions, CAST(NULL AS BIGINT) AS next_pos FROM owned_list
  WHERE is_eager AND is_last
  UNION ALL
  SELECT process_id, instance, client, stream_pos, event_id, 'given', partitions, CAST(NULL AS BIGINT) FROM client_event
  WHERE event = 'partitions_assigned' AND partitions IS NOT NULL
  UNION ALL
  SELECT process_id, instance, client, stream_pos, event_id, 'synced', CAST(NULL AS ARRAY<STRING>), next_pos
  FROM (
    SELECT process_id, instance, client, stream_pos, event_id, event,
      lead(stream_pos) OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos) AS next_pos
    FROM client_event WHERE NOT is_worker
  )
  WHERE event = 'synced'
), line_with_previous AS (
  -- The partitions that it owns according to the lines before: its last assignment, or none after it revoked all.
  SELECT process_id, instance, stream_pos, event_id, kind, partitions,
    lag(CASE WHEN kind <> 'synced' THEN struct(stream_pos, kind, CASE WHEN kind = 'list' THEN array() ELSE partitions END AS partitions)
      END) IGNORE NULLS OVER in_order AS owned,
    lag(CASE WHEN kind = 'synced' THEN struct(stream_pos, next_pos) END) IGNORE NULLS OVER in_order AS synced
  FROM assignment_line
  WINDOW in_order AS (PARTITION BY process_id, instance, client ORDER BY stream_pos)
), mismatched_list AS (
  -- An eager consumer prints its assignment right after its generation. If the assignment is missing, it belongs there.
  SELECT process_id, instance, event_id, stream_pos, owned.stream_pos AS owned_pos, owned.kind = 'list' AS gave_up,
    CASE WHEN synced.stream_pos > owned.stream_pos THEN synced.stream_pos END AS synced_pos, synced.next_pos AS next_pos
  FROM line_with_previous
  WHERE kind = 'list' AND (size(array_except(partitions, owned.partitions)) > 0 OR size(array_except(owned.partitions, partitions)) > 0)
), member_line AS (
  SELECT process_id, instance, event, stream_pos, event_id, size(partitions) AS partition_count, min(stream_pos) OVER so_far AS first_pos,
    max(CASE WHEN event IN ('generation_reset', 'member_fenced') THEN stream_pos END) OVER so_far AS reset_pos,
    max(CASE WHEN event IN ('joined', 'synced', 'partitions_assigned', 'partitions_lost') THEN stream_pos END) OVER so_far AS settled_pos,
    max(CASE WHEN event IN ('joined', 'synced', 'partitions_assigned') THEN stream_pos END) OVER so_far AS got_pos
  FROM client_event WHERE NOT is_worker
  WINDOW so_far AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT process_id, instance, last_pos AS from_pos, start_pos AS to_pos, false AS is_wide, 'started_twice' AS why, start_id AS event_id
FROM consecutive_runs WHERE last_life > 0 AND NOT was_ended AND start_pos IS NOT NULL
UNION ALL
-- A thread prints its start only once.
SELECT process_id, instance, started_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'started_twice' AS why, event_id
FROM line_with_history WHERE event = 'task_started' AND started_pos IS NOT NULL AND given_up_pos IS NULL
UNION ALL
SELECT process_id, instance, stop_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'stopped_twice' AS why, event_id
FROM line_with_history WHERE kind = 'stop' AND stop_pos IS NOT NULL
UNION ALL
SELECT process_id, instance, closing_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'worked_after_closing' AS why, event_id
FROM line_with_history WHERE event = 'task_committing' AND closing_pos IS NOT NULL
UNION ALL
-- An abandoned task may close its clients at any time, even during a later run of the same task.
SELECT process_id, instance, sign_pos AS from_pos, stream_pos AS to_pos, false AS is_wide, 'closed_unasked' AS why, event_id
FROM line_with_history
WHERE (kind = 'closing' AND timeout_ms > 0 OR kind = 'closed' AND app_kind IN ('kafka.consumer', 'kafka.producer'))
  AND life > 0 AND ordered_pos IS NULL AND given_up_pos IS NULL AND sign_pos IS NOT NULL
UNION ALL
SELECT process_id, instance, failed_stop_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'committed_after_stop' AS why, event_id
FROM line_with_history WHERE event = 'task_committing' AND by_schedule AND failed_stop_pos IS NOT NULL
UNION ALL
-- At the last assignment without it, the task did not exist yet.
SELECT u.process_id, u.instance, coalesce(max(a.stream_pos), 0) AS from_pos, u.to_pos, true AS is_wide, 'worked_unstarted' AS why, u.event_id
FROM unstarted_task u
LEFT JOIN client_event a ON a.process_id = u.process_id AND a.instance = u.instance AND a.event = 'worker_assigned'
  AND a.stream_pos < u.to_pos AND NOT array_contains(coalesce(a.assigned_tasks, array()), u.resource)
GROUP BY u.process_id, u.instance, u.resource, u.to_pos, u.event_id
UNION ALL
SELECT process_id, instance, CASE WHEN gave_up THEN coalesce(synced_pos, owned_pos) ELSE owned_pos END AS from_pos,
  CASE WHEN synced_pos IS NOT NULL THEN least(next_pos, stream_pos) ELSE stream_pos END AS to_pos, NOT gave_up OR synced_pos IS NULL AS is_wide,
  'lists_differ' AS why, event_id
FROM mismatched_list
UNION ALL
-- A consumer that lost its membership prints its partitions as lost, not as revoked, unless it joined again.
SELECT process_id, instance, reset_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'lists_differ' AS why, event_id FROM member_line
WHERE event = 'partitions_revoked' AND partition_count > 0 AND reset_pos > settled_pos
UNION ALL
-- It revokes partitions that were never assigned to it, in a generation that it never joined.
SELECT process_id, instance, first_pos AS from_pos, stream_pos AS to_pos, true AS is_wide, 'lists_differ' AS why, event_id FROM member_line
WHERE event IN ('partitions_revoked', 'partitions_lost') AND partition_count > 0 AND got_pos IS NULL AND first_pos IS NOT NULL AND instance > 0

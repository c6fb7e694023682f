-- One row per moment at which all tasks of one connector, and so all consumers of its group, had certainly stopped in one worker.
-- Reads: task_life
-- Grain: process_id, instance, connector, stream_pos
-- Up to 2.2 a sink's consumers are not named after a task, and up to 2.6 they close without a line. A statement about all of them holds for
-- each.
CREATE OR REPLACE TEMPORARY VIEW sink_stopped (
  process_id COMMENT 'Worker',
  instance   COMMENT 'Which run of the process',
  connector  COMMENT 'Connector',
  group_id   COMMENT 'Group of its consumers, if it is a sink and the default name is not overridden',
  stream_pos COMMENT 'Position of the line',
  at_ms      COMMENT 'Its time, by the worker''s clock (milliseconds since 1970)',
  event_id   COMMENT 'Its event'
)
COMMENT 'One row per moment at which all tasks of one connector had certainly stopped in one worker.'
AS
WITH task_run AS (
  SELECT process_id, instance, regexp_extract(task, '^(.*)-[0-9]+$', 1) AS connector, from_pos, ended FROM task_life
), task_count_change AS (
  SELECT process_id, instance, connector, from_pos AS stream_pos, 1 AS more, CAST(NULL AS BIGINT) AS at_ms,
    CAST(NULL AS STRING) AS event_id FROM task_run
  UNION ALL
  SELECT process_id, instance, connector, ended.pos, -1, ended.at_ms, ended.event_id FROM task_run WHERE ended IS NOT NULL
), open_task_count AS (
  SELECT *, sum(more) OVER (PARTITION BY process_id, instance, connector ORDER BY stream_pos RANGE UNBOUNDED PRECEDING) AS open
  FROM task_count_change
)
SELECT DISTINCT process_id, instance, connector, concat('connect-', connector) AS group_id, stream_pos, at_ms, event_id
FROM open_task_count
WHERE open = 0 AND more = -1

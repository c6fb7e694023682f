-- One row per moment at which all tasks of one connector had surely stopped in one worker, and with them all consumers of its group there.
-- Reads: task_line
-- Grain: process_id, instance, connector, stream_pos
-- Up to 2.2 a sink's consumers bear no task's name, and up to 2.6 they are closed without a line. What holds for all of them holds for each.
CREATE OR REPLACE TEMPORARY VIEW sink_stopped (
  process_id COMMENT 'Worker',
  instance   COMMENT 'Which life of the process',
  connector  COMMENT 'Connector',
  group_id   COMMENT 'Group of its consumers, when it is a sink and the default name is not overridden',
  stream_pos COMMENT 'Position of the line',
  ts         COMMENT 'Its time, by the worker''s clock',
  event_id   COMMENT 'Its event'
)
COMMENT 'One row per moment at which all tasks of one connector had surely stopped in one worker.'
AS
WITH life AS (
  SELECT process_id, instance, regexp_extract(resource, '^(.*)-[0-9]+$', 1) AS connector, min(stream_pos) AS from_pos,
    -- A thread that was given up on goes on.
    CASE WHEN count_if(kind = 'failed_stop') = 0 THEN min(CASE
      WHEN kind = 'stopped' THEN named_struct('pos', stream_pos, 'ts', ts, 'event_id', event_id)
      WHEN kind = 'stop' AND tasks_stopped IS NOT NULL THEN named_struct('pos', tasks_stopped.pos, 'ts', tasks_stopped.ts, 'event_id', tasks_stopped.event_id)
      WHEN kind = 'stop' AND herder_stopped IS NOT NULL THEN named_struct('pos', herder_stopped.pos, 'ts', herder_stopped.ts, 'event_id', herder_stopped.event_id) END) END AS ended
  FROM task_line
  WHERE resource_kind = 'task' AND kind <> 'order'
  GROUP BY process_id, instance, resource, life
), turn AS (
  SELECT process_id, instance, connector, from_pos AS stream_pos, 1 AS more, CAST(NULL AS TIMESTAMP) AS ts, CAST(NULL AS STRING) AS event_id FROM life
  UNION ALL
  SELECT process_id, instance, connector, ended.pos, -1, ended.ts, ended.event_id FROM life WHERE ended IS NOT NULL
), counted AS (
  SELECT *, sum(more) OVER (PARTITION BY process_id, instance, connector ORDER BY stream_pos RANGE UNBOUNDED PRECEDING) AS open FROM turn
)
SELECT DISTINCT process_id, instance, connector, concat('connect-', connector), stream_pos, ts, event_id
FROM counted
WHERE open = 0 AND more = -1

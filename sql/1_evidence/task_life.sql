-- One row per run of a task in one worker, with the line that reports that it stopped in time.
-- Reads: task_line
-- Grain: process_id, instance, task, life
-- An abandoned thread continues, with its consumer and producer. The end of a task that stopped in time is also the end of its clients.
CREATE OR REPLACE TEMPORARY VIEW task_life (
  kafka_cluster COMMENT 'Kafka cluster',
  process_id COMMENT 'Worker',
  instance   COMMENT 'Which run of the process',
  task       COMMENT 'Task',
  life       COMMENT 'n-th start of this task in this run of the process; 0 before the first',
  from_pos   COMMENT 'Position of its first line',
  ended      COMMENT 'The line that reports that it stopped: position, time, event; NULL: it did not stop, not in time, or it is unknown',
  by_herder  COMMENT 'True if that line is the end of the herder'
)
COMMENT 'One row per run of a task in one worker, with the line that reports that it stopped in time.'
AS
WITH task_run AS (
  SELECT kafka_cluster, process_id, instance, resource, life, min(stream_pos) AS from_pos,
    count_if(kind = 'failed_stop') > 0 AS given_up,
    min(CASE
      WHEN kind = 'stopped' THEN struct(stream_pos AS pos, at_ms, event_id)
      WHEN kind = 'stop' THEN tasks_stopped END) AS ended,
    min(CASE WHEN kind = 'stop' THEN herder_stopped END) AS herder_stopped
  FROM task_line
  WHERE resource_kind = 'task' AND kind <> 'order'
  GROUP BY kafka_cluster, process_id, instance, resource, life
)
SELECT kafka_cluster, process_id, instance, resource AS task, life, from_pos, CASE WHEN NOT given_up
  THEN coalesce(ended, herder_stopped) END AS ended, NOT given_up AND ended IS NULL AND herder_stopped IS NOT NULL AS by_herder
FROM task_run

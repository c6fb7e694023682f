-- One row per run of a task in one worker, with the line that reports that it stopped in time.
-- Reads: task_line
-- Grain: process_id, instance, task, life
-- An abandoned thread continues, with its consumer and producer. The end of a task that stopped in time is also the end of its clients. Up to 2.2 a
-- sink's consumers are not named after a task, and up to 2.6 they close without a line: the end of the last task is that of all.
CREATE OR REPLACE TEMPORARY VIEW task_life (
  kafka_cluster, process_id, instance, connector, task,
  life       COMMENT 'n-th start of this task in this run of the process; 0 before the first',
  ended      COMMENT 'The line that reports that it stopped: position, time, event; NULL: it did not stop, not in time, or it is unknown',
  by_herder  COMMENT 'True if that line is the end of the herder',
  is_last    COMMENT 'True if all tasks of its connector, and so all consumers of its group, had certainly stopped in this worker then'
)
AS
WITH task_run AS (
  SELECT kafka_cluster, process_id, instance, resource, life, min(stream_pos) AS from_pos, count_if(kind = 'failed_stop') > 0 AS given_up,
    min(CASE WHEN kind = 'stopped' THEN struct(stream_pos AS pos, at_ms, event_id) WHEN kind = 'stop' THEN tasks_stopped END) AS ended,
    min(CASE WHEN kind = 'stop' THEN herder_stopped END) AS herder_stopped
  FROM task_line WHERE resource_kind = 'task' AND kind <> 'order' GROUP BY kafka_cluster, process_id, instance, resource, life
), ended_run AS (
  SELECT kafka_cluster, process_id, instance, regexp_extract(resource, '^(.*)-[0-9]+$', 1) AS connector, resource AS task, life, from_pos,
    CASE WHEN NOT given_up THEN coalesce(ended, herder_stopped) END AS ended,
    NOT given_up AND ended IS NULL AND herder_stopped IS NOT NULL AS by_herder
  FROM task_run
), start_or_end AS (
  SELECT *, sum(more) OVER (PARTITION BY process_id, instance, connector ORDER BY at_pos RANGE UNBOUNDED PRECEDING) AS open FROM ended_run
  LATERAL VIEW inline(array(named_struct('at_pos', from_pos, 'more', 1), CASE
      WHEN ended IS NOT NULL THEN named_struct('at_pos', ended.pos, 'more', -1) END)) e AS at_pos, more
)
SELECT kafka_cluster, process_id, instance, connector, task, life, ended, by_herder, more = -1 AND open = 0 AS is_last FROM start_or_end
WHERE more = CASE WHEN ended IS NULL THEN 1 ELSE -1 END

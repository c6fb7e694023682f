-- One row per log whose lines are of several Connect workers, merged by time.
-- Reads: event
-- Grain: process_id
-- A life of a process runs one Connect worker: lines of two do not alternate in it. MirrorMaker 2 is left out: it runs a worker
-- for each pair of clusters, named by it, in one process.
CREATE OR REPLACE TEMPORARY VIEW merged_log (
  process_id   COMMENT 'Process as which the log was read',
  group_id     COMMENT 'Groups of the workers',
  worker_count COMMENT 'How many workers',
  from_ms      COMMENT 'First line of any of them, by the log''s clock (milliseconds since 1970)',
  to_ms        COMMENT 'Last line of any of them'
)
COMMENT 'One row per log whose lines are of several Connect workers, merged by time.'
AS
WITH line AS (
  SELECT process_id, instance, group_id, client_id, unix_millis(ts) AS at_ms, stream_pos,
    concat_ws('|', group_id, client_id) AS worker,
    lag(concat_ws('|', group_id, client_id)) OVER (PARTITION BY process_id, instance ORDER BY stream_pos) AS last_worker
  FROM event
  WHERE client_kind = 'Worker' AND group_id IS NOT NULL AND client_id NOT LIKE '%->%'
), turned AS (
  -- How often its lines begin anew behind another's.
  SELECT *, count_if(NOT worker <=> last_worker) OVER (PARTITION BY process_id, instance, worker
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS stretch
  FROM line
)
SELECT process_id AS process_id, array_join(array_sort(collect_set(group_id)), ' and ') AS group_id, count(DISTINCT worker) AS worker_count,
  min(at_ms) AS from_ms, max(at_ms) AS to_ms
FROM turned
GROUP BY process_id
HAVING max(stretch) > 1

-- One row per log with the lines of several Connect workers or brokers, merged by time or concatenated.
-- Reads: event
-- Grain: process_id
-- A process run has at most one Connect worker or one broker, so lines of two do not alternate in it. If the lines do not name their file,
-- as in the output of `cat` or `grep -h`, the next process begins at an earlier time than the previous one ended. A clock that was set back
-- looks alike, but then the same process continues. MirrorMaker 2 is excluded: it runs one worker for each pair of clusters, named after
-- the pair, in a single process.
CREATE OR REPLACE TEMPORARY VIEW merged_log (
  process_id   COMMENT 'Process under which the log was read',
  group_id     COMMENT 'Groups of the workers; NULL: there are only brokers',
  worker_count COMMENT 'Number of workers',
  broker_count COMMENT 'Number of brokers',
  broker_ids   COMMENT 'Their ids; NULL: no brokers',
  from_ms      COMMENT 'First line of any of them, by the log''s clock (milliseconds since 1970)',
  to_ms        COMMENT 'Last line of any of them'
)
COMMENT 'One row per log with the lines of several Connect workers or brokers.'
AS
WITH writer_line AS (
  SELECT process_id, instance, CAST(NULL AS BIGINT) AS broker_id, group_id, concat_ws('|', group_id, client_id) AS writer,
    unix_millis(ts) AS at_ms, stream_pos
  FROM event
  WHERE client_kind = 'Worker' AND group_id IS NOT NULL AND client_id NOT LIKE '%->%'
  UNION ALL
  SELECT process_id, instance, CAST(broker_id AS BIGINT), CAST(NULL AS STRING), concat('broker ', broker_id), unix_millis(ts), stream_pos
  FROM event
  WHERE broker_id IS NOT NULL AND event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'member_expired',
    'group_loaded', 'group_unloaded')
), writer_turn AS (
  -- Counts how often its lines resume after lines of another writer of the same kind.
  SELECT *, count_if(NOT writer <=> last_writer) OVER (PARTITION BY process_id, instance, writer
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS stretch
  FROM (
    SELECT *, lag(writer) OVER (PARTITION BY process_id, instance, broker_id IS NULL ORDER BY stream_pos) AS last_writer
    FROM writer_line
  )
), writer_extent AS (
  SELECT process_id, writer, max(group_id) AS group_id, max(broker_id) AS broker_id, min(stream_pos) AS from_pos, min(at_ms) AS from_ms,
    max(at_ms) AS to_ms, max(stretch) > 1 AS is_turned
  FROM writer_turn
  GROUP BY process_id, writer
), concatenated_writer AS (
  SELECT *, max(to_ms) OVER (PARTITION BY process_id ORDER BY from_pos, writer ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    - from_ms > clock_setback_ms + clock_jitter_ms AS is_earlier
  FROM writer_extent
)
SELECT
  process_id AS process_id,
  nullif(array_join(array_sort(collect_set(group_id)), ' and '), '') AS group_id,
  count_if(broker_id IS NULL) AS worker_count,
  count_if(broker_id IS NOT NULL) AS broker_count,
  nullif(array_join(transform(array_sort(collect_set(broker_id)), id -> CAST(id AS STRING)), ', '), '') AS broker_ids,
  min(from_ms) AS from_ms,
  max(to_ms) AS to_ms
FROM concatenated_writer
GROUP BY process_id
HAVING bool_or(is_turned) OR bool_or(coalesce(is_earlier, false))

-- One row per time between two lines in which a consumer certainly read records of a partition, or committed them.
-- Reads: event
-- Grain: event_id, resource
-- The first line shows the consumer's position, the second one a later position. A commit alone does not show the position: several may be
-- in flight, and records that were read before a pause may be committed after it. An automatic commit always has the complete position.
CREATE OR REPLACE TEMPORARY VIEW partition_work (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which run of the process',
  client     COMMENT 'Client inside the process',
  resource   COMMENT 'Topic partition',
  since_ms   COMMENT 'The records were read after this line (milliseconds since 1970)',
  from_offset COMMENT 'First of them',
  at_ms      COMMENT 'They were read before this line',
  to_offset  COMMENT 'Offset after the last of them',
  event_id   COMMENT 'The line that shows it'
)
COMMENT 'One row per time between two lines in which a consumer certainly read records of a partition, or committed them.'
AS
WITH position_line AS (
  SELECT process_id, instance, coalesce(client_id, task, thread, '-') AS client, stream_pos, unix_millis(ts) AS at_ms, event_id,
    event IN ('position_set', 'position_reset', 'position_sought') AS is_jump,
    event = 'fetch_position' OR event = 'commit_sent' AND lower(message) RLIKE 'auto-?commit' AS is_progress,
    CASE WHEN `partition` IS NOT NULL THEN array(named_struct('resource', `partition`, 'position', `offset`))
      WHEN offsets IS NOT NULL THEN transform(map_entries(offsets), x -> named_struct('resource', x.key, 'position',
        x.value)) END AS positions
  FROM event
  WHERE event IN ('position_set', 'position_reset', 'position_sought', 'fetch_position', 'offset_committed', 'commit_sent', 'commit_failed')
), partition_position AS (
  SELECT process_id, instance, client, p.resource AS resource, stream_pos, at_ms, event_id, is_jump, is_progress, p.position AS position
  FROM position_line LATERAL VIEW explode(positions) x AS p
), position_with_previous AS (
  -- A position without a number (the end of the log) hides where the consumer was before.
  SELECT *, lag(CASE WHEN is_jump OR is_progress THEN struct(at_ms, position) END) IGNORE NULLS OVER (
    PARTITION BY process_id, instance, client, resource ORDER BY stream_pos, event_id) AS was
  FROM partition_position
)
SELECT process_id, instance, client, resource, was.at_ms AS since_ms, was.position AS from_offset, at_ms, position AS to_offset, event_id
FROM position_with_previous
WHERE position > was.position AND NOT is_jump

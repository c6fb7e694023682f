-- One row per time between two lines in which a consumer surely read records of a partition: its committed offset grew.
-- Reads: event
-- Grain: event_id
-- The first position after an assignment proves that reading may begin, a commit that is ahead of it that it did. Both lines are the
-- consumer's own; commits that went well are printed at DEBUG only.
CREATE OR REPLACE TEMPORARY VIEW partition_work (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  client     COMMENT 'Client inside the process',
  resource   COMMENT 'Topic partition',
  since_ms   COMMENT 'The records were read after this line (milliseconds since 1970)',
  from_offset COMMENT 'First of them',
  at_ms      COMMENT 'They were read before this line',
  to_offset  COMMENT 'Offset after the last of them',
  event_id   COMMENT 'The line that shows it'
)
COMMENT 'One row per time between two lines in which a consumer surely read records of a partition.'
AS
WITH told AS (
  SELECT process_id, instance, coalesce(client_id, task, thread, '-') AS client, partition AS resource, stream_pos,
    unix_millis(ts) AS at_ms, event, offset,
    event_id
  FROM event
  WHERE event IN ('position_set', 'offset_committed') AND partition IS NOT NULL AND offset IS NOT NULL
), paired AS (
  SELECT *, lag(at_ms) OVER w AS since_ms, lag(offset) OVER w AS from_offset
  FROM told
  WINDOW w AS (PARTITION BY process_id, instance, client, resource ORDER BY stream_pos)
)
SELECT process_id, instance, client, resource, since_ms, from_offset, at_ms, offset AS to_offset, event_id
FROM paired
WHERE event = 'offset_committed' AND offset > from_offset

-- One row per start of a process that its log shows: the line with which that life begins.
-- Reads: process_start
-- Grain: process_id, instance
-- Who asks for one start joins a row; a list of all of them would be copied to each life.
CREATE OR REPLACE TEMPORARY VIEW life_start (
  process_id COMMENT 'Process',
  instance   COMMENT 'Life that begins; 1: the first that its log shows to begin',
  stream_pos COMMENT 'Place of the line in the process''s log',
  at_ms      COMMENT 'When, by its own clock (milliseconds since 1970)',
  event_id   COMMENT 'Event'
)
COMMENT 'One row per start of a process that its log shows.'
AS
SELECT
  process_id AS process_id,
  row_number() OVER (PARTITION BY process_id ORDER BY line.stream_pos) AS instance,
  line.stream_pos AS stream_pos,
  line.at_ms AS at_ms,
  line.event_id AS event_id
FROM (SELECT process_id, explode(start_lines) AS line FROM process_start)

-- One row per start of a process in its log, with the first line of that run.
-- Reads: process_start
-- Grain: process_id, instance
-- A reader that needs one start joins one row; an array of all starts would be copied to each run.
CREATE OR REPLACE TEMPORARY VIEW life_start (
  process_id COMMENT 'Process',
  instance   COMMENT 'Run that begins; 1: the first start in the log',
  stream_pos COMMENT 'Position of the line in the process''s log',
  at_ms      COMMENT 'When, by its own clock (milliseconds since 1970)',
  event_id   COMMENT 'Event'
)
COMMENT 'One row per start of a process in its log.'
AS
SELECT
  process_id AS process_id,
  row_number() OVER (PARTITION BY process_id ORDER BY line.stream_pos) AS instance,
  line.stream_pos AS stream_pos,
  line.at_ms AS at_ms,
  line.event_id AS event_id
FROM (SELECT process_id, explode(start_lines) AS line FROM process_start)

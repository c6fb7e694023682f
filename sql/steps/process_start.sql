-- One row per process that was seen starting: where in its log stream.
-- Reads: event_row
-- Grain: process_id
-- A log that begins in the middle of a life has instance 0 before its first start.
CREATE OR REPLACE TEMPORARY VIEW process_start (
  process_id COMMENT 'Process (one log stream)',
  starts     COMMENT 'Positions in the stream at which a JVM says that it starts, ascending'
)
COMMENT 'One row per process that was seen starting: where in its log stream.'
AS
SELECT process_id, sort_array(collect_list(stream_pos)) AS starts
FROM event_row
WHERE event = 'process_started'
GROUP BY process_id

-- One row per event before which its process's printed time had gone back: the clock was set back there.
-- Reads: event_row
-- Grain: process_id, stream_pos
-- Threads print a little out of order, so only a return by more than `clock_jitter_ms` beyond two seconds counts.
CREATE OR REPLACE TEMPORARY VIEW clock_setback (
  process_id COMMENT 'Process',
  stream_pos COMMENT 'Position of the first event after it',
  event_id   COMMENT 'That event',
  before_id  COMMENT 'The event with the latest time before it',
  by_ms      COMMENT 'How far the time went back, milliseconds'
)
COMMENT 'One row per event before which its process''s printed time had gone back.'
AS
WITH latest AS (
  SELECT process_id, stream_pos, event_id, ts, lag(ts) OVER w AS before_ts, lag(event_id) OVER w AS before_id
  FROM event_row
  WHERE ts IS NOT NULL
  WINDOW w AS (PARTITION BY process_id ORDER BY stream_pos)
)
SELECT process_id, stream_pos, event_id, before_id, unix_millis(before_ts) - unix_millis(ts)
FROM latest
WHERE unix_millis(before_ts) - unix_millis(ts) > 2000 + clock_jitter_ms

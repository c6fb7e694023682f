-- One row per event before which its process's printed time had gone back: the clock was set back there.
-- Reads: event_row, copied_log
-- Grain: process_id, stream_pos
-- Threads print a little out of order, so only a return by more than `clock_jitter_ms` beyond two seconds counts, and none of a single
-- line: a clock that was set back stays back, and what stands alone was printed late.
CREATE OR REPLACE TEMPORARY VIEW clock_setback (
  process_id COMMENT 'Process',
  stream_pos COMMENT 'Position of the first event after it',
  event_id   COMMENT 'That event',
  before_id  COMMENT 'The event before it',
  by_ms      COMMENT 'How far the time went back, milliseconds'
)
COMMENT 'One row per event before which its process''s printed time had gone back.'
AS
WITH near AS (
  SELECT process_id, stream_pos, event_id, unix_millis(ts) AS ms,
    lag(unix_millis(ts)) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_ms,
    lag(event_id) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_id,
    lag(unix_millis(ts), 2) OVER (PARTITION BY process_id ORDER BY stream_pos) AS second_before_ms,
    lead(unix_millis(ts)) OVER (PARTITION BY process_id ORDER BY stream_pos) AS next_ms
  FROM event_row r
  LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id
  WHERE ts IS NOT NULL
)
SELECT process_id, stream_pos, event_id, before_id, before_ms - ms AS by_ms
FROM near
WHERE before_ms - ms > clock_setback_ms + clock_jitter_ms
  AND coalesce(second_before_ms - ms, before_ms - ms) > clock_setback_ms + clock_jitter_ms
  AND coalesce(before_ms - next_ms, before_ms - ms) > clock_setback_ms + clock_jitter_ms

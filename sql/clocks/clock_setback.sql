-- One row per event before which its process's printed time had gone back: the clock was set back there.
-- Reads: process_line, event_row, shared_log, merged_log
-- Grain: process_id, stream_pos
-- Threads print a little out of order, so only a return by more than `clock_jitter_ms` beyond two seconds counts, and none of a single
-- line: a clock that was set back stays back, and what stands alone was printed late. The lines that show it may be only counted: then the
-- nearest events on its two sides are named.
CREATE OR REPLACE TEMPORARY VIEW clock_setback (
  process_id COMMENT 'Process',
  stream_pos COMMENT 'Position of the first line after it',
  event_id   COMMENT 'That line''s event, or the next one',
  before_id  COMMENT 'The event before it; NULL: there is none',
  by_ms      COMMENT 'How far the time went back, milliseconds'
)
COMMENT 'One row per event before which its process''s printed time had gone back.'
AS
WITH near AS (
  SELECT process_id, stream_pos, event_id, at_ms,
    lag(at_ms) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_ms,
    lag(event_id) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_id,
    lag(at_ms, 2) OVER (PARTITION BY process_id ORDER BY stream_pos) AS second_before_ms,
    lead(at_ms) OVER (PARTITION BY process_id ORDER BY stream_pos) AS next_ms
  FROM process_line p
  -- Lines of another member, or of another process, go back by themselves.
  LEFT ANTI JOIN (SELECT process_id FROM shared_log UNION SELECT process_id FROM merged_log) s ON s.process_id = p.process_id
  WHERE at_ms IS NOT NULL
), step AS (
  SELECT process_id, stream_pos, event_id, before_id, before_ms - at_ms AS by_ms
  FROM near
  WHERE before_ms - at_ms > clock_setback_ms + clock_jitter_ms
    AND coalesce(second_before_ms - at_ms, before_ms - at_ms) > clock_setback_ms + clock_jitter_ms
    AND coalesce(before_ms - next_ms, before_ms - at_ms) > clock_setback_ms + clock_jitter_ms
), around AS (
  SELECT s.process_id, s.stream_pos,
    max(CASE WHEN e.stream_pos < s.stream_pos THEN struct(e.stream_pos, e.event_id) END).event_id AS before_id,
    min(CASE WHEN e.stream_pos > s.stream_pos THEN struct(e.stream_pos, e.event_id) END).event_id AS event_id
  FROM step s JOIN event_row e ON e.process_id = s.process_id AND e.ts IS NOT NULL
  WHERE s.event_id IS NULL OR s.before_id IS NULL
  GROUP BY s.process_id, s.stream_pos
)
SELECT
  s.process_id AS process_id,
  s.stream_pos AS stream_pos,
  coalesce(s.event_id, a.event_id) AS event_id,
  coalesce(s.before_id, a.before_id) AS before_id,
  s.by_ms AS by_ms
FROM step s
LEFT JOIN around a ON a.process_id = s.process_id AND a.stream_pos = s.stream_pos

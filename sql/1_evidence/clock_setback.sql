-- One row per event before which the printed time of its process went back because the clock was set back.
-- Reads: process_line, event_row, shared_log
-- Grain: process_id, stream_pos
-- Threads print slightly out of order, so only a jump of more than two seconds plus `clock_jitter_ms` counts. A single line does not count: a clock
-- that was set back stays back, whereas an isolated line was only printed late. If the lines at the jump are only counted, the nearest events on both
-- sides are cited.
CREATE OR REPLACE TEMPORARY VIEW clock_setback (
  process_id,
  stream_pos COMMENT 'Position of the first line after it',
  event_id   COMMENT 'That line''s event, or the next one',
  before_id  COMMENT 'The event before it; NULL: there is none',
  by_ms      COMMENT 'How far the time went back, milliseconds'
)
AS
WITH adjacent_line AS (
  SELECT process_id, stream_pos, event_id, at_ms, lag(at_ms) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_ms,
    lag(event_id) OVER (PARTITION BY process_id ORDER BY stream_pos) AS before_id,
    lag(at_ms, 2) OVER (PARTITION BY process_id ORDER BY stream_pos) AS second_before_ms,
    lead(at_ms) OVER (PARTITION BY process_id ORDER BY stream_pos) AS next_ms
  FROM process_line p
  -- In a log of several members or processes, times go back without a clock step.
  LEFT ANTI JOIN shared_log s ON s.process_id = p.process_id
  WHERE at_ms IS NOT NULL
), time_jump AS (
  SELECT process_id, stream_pos, event_id, before_id, before_ms - at_ms AS by_ms FROM adjacent_line
  WHERE before_ms - at_ms > clock_setback_ms + clock_jitter_ms
    AND coalesce(second_before_ms - at_ms, before_ms - at_ms) > clock_setback_ms + clock_jitter_ms
    AND coalesce(before_ms - next_ms, before_ms - at_ms) > clock_setback_ms + clock_jitter_ms
), nearest_event AS (
  SELECT s.process_id, s.stream_pos, max(CASE WHEN e.stream_pos < s.stream_pos THEN struct(e.stream_pos, e.event_id) END).event_id AS before_id,
    min(CASE WHEN e.stream_pos > s.stream_pos THEN struct(e.stream_pos, e.event_id) END).event_id AS event_id
  FROM time_jump s JOIN event_row e ON e.process_id = s.process_id AND e.ts IS NOT NULL WHERE s.event_id IS NULL OR s.before_id IS NULL
  GROUP BY s.process_id, s.stream_pos
)
SELECT s.process_id, s.stream_pos, coalesce(s.event_id, a.event_id) AS event_id, coalesce(s.before_id, a.before_id) AS before_id, s.by_ms
FROM time_jump s LEFT JOIN nearest_event a ON a.process_id = s.process_id AND a.stream_pos = s.stream_pos

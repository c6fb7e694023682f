-- One row per pair of processes with direct evidence: how far the second clock can be ahead of the first throughout both logs.
-- Reads: clock_bound, clock_suspect, clock_step, clock_edge, event_row
-- Grain: from_process_id, to_process_id
-- A clock that stepped has one bound for each side of the step. A pair with lines on only one side has no evidence about the other side, so
-- it has no bound. For clocks that did not step this is `clock_bound`.
CREATE OR REPLACE TEMPORARY VIEW steady_bound (
  from_process_id COMMENT 'Clock that is the base of the comparison',
  to_process_id   COMMENT 'Clock that is bounded',
  hi_ms           COMMENT 'It is ahead by at most this',
  witness         COMMENT 'Lines that give this bound'
)
COMMENT 'One row per pair of processes with direct evidence: how far the second clock can be ahead throughout both logs.'
AS
WITH suspect_edge AS (
  SELECT DISTINCT e.from_process_id, e.to_process_id, e.hi_ms, s.process_id,
    CASE WHEN e.from_process_id = s.process_id THEN e.from_event_id ELSE e.to_event_id END AS event_id
  FROM clock_edge e JOIN clock_suspect s ON s.process_id = e.from_process_id OR s.process_id = e.to_process_id
), bound_per_side AS (
  SELECT g.from_process_id, g.to_process_id, g.process_id, p.step,
    min(CASE WHEN e.stream_pos <= p.before_pos THEN g.hi_ms END) AS before_hi,
    min(CASE WHEN e.stream_pos >= p.after_pos THEN g.hi_ms END) AS after_hi
  FROM suspect_edge g
  JOIN event_row e ON e.event_id = g.event_id
  JOIN clock_step p ON p.process_id = g.process_id
  GROUP BY g.from_process_id, g.to_process_id, g.process_id, p.step
), bound_across_steps AS (
  SELECT from_process_id, to_process_id, bool_or(before_hi IS NULL OR after_hi IS NULL) AS is_open,
    max(greatest(before_hi, after_hi)) AS hi_ms
  FROM bound_per_side
  GROUP BY from_process_id, to_process_id
)
SELECT
  b.from_process_id AS from_process_id,
  b.to_process_id AS to_process_id,
  CASE WHEN n.is_open THEN CAST(NULL AS BIGINT) ELSE greatest(b.hi_ms, n.hi_ms) END AS hi_ms,
  b.witness AS witness
FROM clock_bound b
LEFT JOIN bound_across_steps n ON n.from_process_id = b.from_process_id AND n.to_process_id = b.to_process_id
  -- A contradicting pair already has bounds for each stretch, which a single line cannot improve.
  AND NOT b.impossible

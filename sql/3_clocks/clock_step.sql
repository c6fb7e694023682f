-- One row per stretch of a process's log in which its clock was set, according to its own times and one other process.
-- Reads: clock_bound, clock_setback, clock_edge, event_row
-- Grain: process_id, step
-- Two processes whose lines contradict each other show a step between the first and the last line of the contradiction. Edges between the two before
-- and after it bound the size of the step.
CREATE OR REPLACE TEMPORARY VIEW clock_step (
  process_id,
  step       COMMENT 'Evidence: another process, or a line before which time goes back',
  before_pos COMMENT 'It was set after this line',
  after_pos  COMMENT 'And before this line',
  lo_ms      COMMENT 'It was set ahead by at least this, milliseconds; negative: back. NULL: unknown',
  hi_ms      COMMENT 'It was set ahead by at most this, milliseconds; NULL: unknown'
)
AS
WITH contradicting_event AS (
  -- No steady clock satisfies these lines: the clock stepped between the first and the last of them in its own log.
  SELECT a.from_process_id AS process_id, a.to_process_id AS partner, explode(concat(a.least_witness, b.least_witness)) AS event_id
  FROM clock_bound a JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id WHERE a.is_suspect
), step_range AS (
  SELECT c.process_id, c.partner, min(e.stream_pos) AS before_pos, max(e.stream_pos) AS after_pos
  FROM contradicting_event c JOIN event_row e ON e.event_id = c.event_id AND e.process_id = c.process_id GROUP BY c.process_id, c.partner
), step_edge AS (
  -- An upper bound on this clock against the partner's, or on the partner's against this one.
  SELECT p.process_id, p.partner, p.before_pos, p.after_pos, e.to_process_id = p.process_id AS is_ahead, e.hi_ms,
    CASE WHEN e.to_process_id = p.process_id THEN e.to_event_id ELSE e.from_event_id END AS event_id
  FROM step_range p
  JOIN clock_edge e ON e.from_process_id = p.process_id AND e.to_process_id = p.partner
    OR e.from_process_id = p.partner AND e.to_process_id = p.process_id
), bound_per_side AS (
  SELECT
    l.process_id, l.partner, l.before_pos, l.after_pos, min(CASE WHEN e.stream_pos <= l.before_pos AND l.is_ahead THEN l.hi_ms END) AS before_ahead,
    min(CASE WHEN e.stream_pos <= l.before_pos AND NOT l.is_ahead THEN l.hi_ms END) AS before_behind,
    min(CASE WHEN e.stream_pos >= l.after_pos AND l.is_ahead THEN l.hi_ms END) AS after_ahead,
    min(CASE WHEN e.stream_pos >= l.after_pos AND NOT l.is_ahead THEN l.hi_ms END) AS after_behind
  FROM step_edge l JOIN event_row e ON e.event_id = l.event_id GROUP BY l.process_id, l.partner, l.before_pos, l.after_pos
), step_size AS (
  SELECT p.process_id, p.partner, p.before_pos, p.after_pos, -s.after_behind - s.before_ahead AS lo_ms, s.after_ahead + s.before_behind AS hi_ms
  FROM step_range p LEFT JOIN bound_per_side s ON s.process_id = p.process_id AND s.partner = p.partner
)
SELECT process_id, concat('partner ', partner) AS step, before_pos, after_pos,
  -- Bounds that contradict each other mean several steps.
  CASE WHEN coalesce(lo_ms <= hi_ms, true) THEN lo_ms END AS lo_ms, CASE WHEN coalesce(lo_ms <= hi_ms, true) THEN hi_ms END AS hi_ms
FROM step_size
UNION ALL
SELECT process_id, concat('set back ', stream_pos) AS step, stream_pos - 1 AS before_pos, stream_pos AS after_pos, CAST(NULL AS BIGINT) AS lo_ms,
  -by_ms AS hi_ms
FROM clock_setback

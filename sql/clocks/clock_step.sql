-- One row per stretch of a process's log in which its clock was set, as far as its own times and one other process tell.
-- Reads: clock_bound, clock_suspect, clock_setback, clock_edge, event_row
-- Grain: process_id, step
-- Two processes that contradict each other show a step between the first and the last line of the contradiction. What joins the two before
-- it and after it bounds by how much the clock was set.
CREATE OR REPLACE TEMPORARY VIEW clock_step (
  process_id COMMENT 'Process whose clock was set',
  step       COMMENT 'What shows it: another process, or a line before which time goes back',
  before_pos COMMENT 'It was set after this line',
  after_pos  COMMENT 'And before this line',
  lo_ms      COMMENT 'It was set ahead by at least this, milliseconds; negative: back. NULL: no line tells',
  hi_ms      COMMENT 'It was set ahead by at most this, milliseconds; NULL: no line tells'
)
COMMENT 'One row per stretch of a process''s log in which its clock was set, as far as its own times and one other process tell.'
AS
WITH contradiction AS (
  -- The lines that no steady clock satisfies: the clock stepped between the first and the last of them in its own log.
  SELECT s.process_id, a.to_process_id AS partner, explode(concat(a.least_witness, b.least_witness)) AS event_id
  FROM clock_suspect s
  JOIN clock_bound a ON a.from_process_id = s.process_id AND a.impossible
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id
), placed AS (
  SELECT c.process_id, c.partner, min(e.stream_pos) AS before_pos, max(e.stream_pos) AS after_pos
  FROM contradiction c JOIN event_row e ON e.event_id = c.event_id AND e.process_id = c.process_id
  GROUP BY c.process_id, c.partner
), line AS (
  -- How far this clock is ahead of the other's at most, or the other's of this one.
  SELECT p.process_id, p.partner, p.before_pos, p.after_pos, e.to_process_id = p.process_id AS is_ahead, e.hi_ms,
    CASE WHEN e.to_process_id = p.process_id THEN e.to_event_id ELSE e.from_event_id END AS event_id
  FROM placed p
  JOIN clock_edge e ON e.from_process_id = p.process_id AND e.to_process_id = p.partner
    OR e.from_process_id = p.partner AND e.to_process_id = p.process_id
), side AS (
  SELECT l.process_id, l.partner, l.before_pos, l.after_pos,
    min(CASE WHEN e.stream_pos <= l.before_pos AND l.is_ahead THEN l.hi_ms END) AS before_ahead,
    min(CASE WHEN e.stream_pos <= l.before_pos AND NOT l.is_ahead THEN l.hi_ms END) AS before_behind,
    min(CASE WHEN e.stream_pos >= l.after_pos AND l.is_ahead THEN l.hi_ms END) AS after_ahead,
    min(CASE WHEN e.stream_pos >= l.after_pos AND NOT l.is_ahead THEN l.hi_ms END) AS after_behind
  FROM line l
  JOIN event_row e ON e.event_id = l.event_id
  GROUP BY l.process_id, l.partner, l.before_pos, l.after_pos
), bounded AS (
  SELECT p.process_id, p.partner, p.before_pos, p.after_pos, -s.after_behind - s.before_ahead AS lo_ms,
    s.after_ahead + s.before_behind AS hi_ms
  FROM placed p LEFT JOIN side s ON s.process_id = p.process_id AND s.partner = p.partner
)
SELECT
  process_id AS process_id,
  concat('partner ', partner) AS step,
  before_pos AS before_pos,
  after_pos AS after_pos,
  -- Bounds that contradict each other are of several steps.
  CASE WHEN coalesce(lo_ms <= hi_ms, true) THEN lo_ms END AS lo_ms,
  CASE WHEN coalesce(lo_ms <= hi_ms, true) THEN hi_ms END AS hi_ms
FROM bounded
UNION ALL
SELECT
  process_id AS process_id,
  concat('set back ', stream_pos) AS step,
  stream_pos - 1 AS before_pos,
  stream_pos AS after_pos,
  CAST(NULL AS BIGINT) AS lo_ms,
  -by_ms AS hi_ms
FROM clock_setback

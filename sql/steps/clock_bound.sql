-- One row per pair of processes with direct evidence: how far the second clock can be ahead of the first.
-- Reads: clock_edge
-- Grain: from_process_id, to_process_id
CREATE OR REPLACE TEMPORARY VIEW clock_bound (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds',
  constraints     COMMENT 'How many pairs of lines say something about it',
  witness         COMMENT 'The two lines that say most',
  impossible      COMMENT 'True when this bound and the one of the other direction contradict each other: a clock stepped, or a link is wrong'
)
COMMENT 'One row per pair of processes with direct evidence: how far the second clock can be ahead of the first.'
AS
WITH bound AS (
  SELECT from_process_id AS f, to_process_id AS t, min(hi_ms) AS hi_ms, count(*) AS constraints,
    min_by(array(from_event_id, to_event_id), hi_ms) AS witness
  FROM clock_edge
  GROUP BY from_process_id, to_process_id
)
SELECT a.f, a.t, a.hi_ms, a.constraints, a.witness, coalesce(a.hi_ms + b.hi_ms < 0, false)
FROM bound a LEFT JOIN bound b ON b.f = a.t AND b.t = a.f

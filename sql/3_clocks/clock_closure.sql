-- One row per ordered pair of processes connected by a chain of edges: the narrowest bound on the second clock against the first.
-- Reads: clock_bound, clock_setback
-- Grain: from_process_id, to_process_id
-- A cycle of bounds that no clocks can satisfy is contradictory. Paths through it are left out.
CREATE OR REPLACE TEMPORARY VIEW clock_closure (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds',
  witness         COMMENT 'Lines of the chain, two per link'
)
AS
WITH stepped_process AS (
  -- Of two processes that contradict each other, the one that agrees with fewer others stepped, as in clock_suspect.
  SELECT DISTINCT a.from_process_id AS process_id FROM clock_bound a
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id
  LEFT ANTI JOIN clock_setback s ON s.process_id = a.from_process_id
  WHERE a.impossible AND a.partners <= b.partners
), bound AS (
  SELECT b.from_process_id AS f, b.to_process_id AS t, b.hi_ms, b.witness FROM clock_bound b
  -- A pair whose lines contradict each other has a bound for both sides of the step. The others of a clock that stepped may have lines on only one
  -- side.
  LEFT ANTI JOIN stepped_process s ON s.process_id = b.from_process_id AND NOT b.impossible
  LEFT ANTI JOIN stepped_process u ON u.process_id = b.to_process_id AND NOT b.impossible
  WHERE b.hi_ms IS NOT NULL
), link AS (
  -- Of equally short chains the first by its lines is chosen. The lines are joined to a text because not every engine compares an array inside a
  -- struct. Each process is linked to itself.
  SELECT e.f, e.t, min(struct(e.d, e.n, e.k, e.w)) AS best FROM bound b
  LATERAL VIEW inline(array(named_struct('f', f, 't', t, 'd', hi_ms, 'n', 1, 'k', array_join(witness, ','), 'w', witness),
      named_struct('f', f, 't', f, 'd', 0L, 'n', 0, 'k', '', 'w', CAST(array() AS ARRAY<STRING>)),
      named_struct('f', t, 't', t, 'd', 0L, 'n', 0, 'k', '', 'w', CAST(array() AS ARRAY<STRING>)))) e AS f, t, d, n, k, w
  GROUP BY e.f, e.t
), path_2 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM link a JOIN link b ON b.f = a.t AND (a.best.n = 1 OR b.best.n = 0) GROUP BY a.f, b.t
), path_3 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_2 a JOIN link b ON b.f = a.t AND (a.best.n = 2 OR b.best.n = 0) GROUP BY a.f, b.t
), path_4 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_3 a JOIN link b ON b.f = a.t AND (a.best.n = 3 OR b.best.n = 0) GROUP BY a.f, b.t
), path_5 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_4 a JOIN link b ON b.f = a.t AND (a.best.n = 4 OR b.best.n = 0) GROUP BY a.f, b.t
), path_6 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_5 a JOIN link b ON b.f = a.t AND (a.best.n = 5 OR b.best.n = 0) GROUP BY a.f, b.t
), path_7 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_6 a JOIN link b ON b.f = a.t AND (a.best.n = 6 OR b.best.n = 0) GROUP BY a.f, b.t
), path_8 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_7 a JOIN link b ON b.f = a.t AND (a.best.n = 7 OR b.best.n = 0) GROUP BY a.f, b.t
), clock_path AS (
  -- One row per ordered pair of processes connected by a chain of at most eight links: its shortest chain, even if contradictory. Each round adds one
  -- link. Only chains found in the previous round grow, so the work is the number of pairs times the links of one process, not a third power. The
  -- chain of a process to itself is empty, unless a cycle of bounds is contradictory.
  SELECT f AS from_process_id, t AS to_process_id, best.d AS hi_ms, best.w AS witness FROM path_8
), contradictory_path AS (
  SELECT a.from_process_id, b.to_process_id FROM clock_path circle
  JOIN clock_path a ON a.to_process_id = circle.from_process_id
  JOIN clock_path b ON b.from_process_id = circle.from_process_id
  WHERE circle.from_process_id = circle.to_process_id AND circle.hi_ms < 0
)
SELECT p.from_process_id, p.to_process_id, p.hi_ms, p.witness FROM clock_path p
LEFT ANTI JOIN contradictory_path s ON s.from_process_id = p.from_process_id AND s.to_process_id = p.to_process_id

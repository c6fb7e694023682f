-- One row per ordered pair of processes that a chain of edges joins: the narrowest bound on the second clock against the first.
-- Reads: clock_bound
-- Grain: from_process_id, to_process_id
-- Shortest paths by squaring: three rounds join chains of up to eight links. A circle of bounds that no clocks can satisfy bounds nothing: what
-- leads through it is left out.
CREATE OR REPLACE TEMPORARY VIEW clock_closure (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds',
  witness         COMMENT 'The lines of the chain, two a link'
)
COMMENT 'One row per ordered pair of processes that a chain of edges joins: the narrowest bound on the second clock against the first.'
AS
WITH bound AS (
  SELECT from_process_id, to_process_id, hi_ms, witness FROM clock_bound WHERE hi_ms IS NOT NULL
), one AS (
  SELECT from_process_id AS f, to_process_id AS t, struct(hi_ms AS d, witness AS w) AS best FROM bound
  UNION ALL
  SELECT DISTINCT p, p, struct(0L, CAST(array() AS ARRAY<STRING>)) FROM (SELECT explode(array(from_process_id, to_process_id)) AS p FROM bound)
), two AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, concat(a.best.w, b.best.w) AS w)) AS best FROM one a JOIN one b ON a.t = b.f GROUP BY a.f, b.t
), four AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, concat(a.best.w, b.best.w) AS w)) AS best FROM two a JOIN two b ON a.t = b.f GROUP BY a.f, b.t
), eight AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, concat(a.best.w, b.best.w) AS w)) AS best FROM four a JOIN four b ON a.t = b.f GROUP BY a.f, b.t
), spoilt AS (
  SELECT into.f, out.t
  FROM eight circle JOIN eight into ON into.t = circle.f JOIN eight out ON out.f = circle.f
  WHERE circle.f = circle.t AND circle.best.d < 0
)
SELECT e.f, e.t, e.best.d, e.best.w
FROM eight e LEFT ANTI JOIN spoilt s ON s.f = e.f AND s.t = e.t

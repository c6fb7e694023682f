-- One row per ordered pair of processes that a chain of edges joins: the narrowest bound on the second clock against the first.
-- Reads: clock_bound, clock_suspect
-- Grain: from_process_id, to_process_id
-- Shortest paths by squaring: three rounds join chains of up to eight links. Processes whose clock stepped take no part.
CREATE OR REPLACE TEMPORARY VIEW clock_closure (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds'
)
COMMENT 'One row per ordered pair of processes that a chain of edges joins: the narrowest bound on the second clock against the first.'
AS
WITH steady AS (
  SELECT b.from_process_id, b.to_process_id, b.hi_ms
  FROM clock_bound b
  LEFT ANTI JOIN clock_suspect s ON s.process_id = b.from_process_id OR s.process_id = b.to_process_id
), one AS (
  SELECT from_process_id AS f, to_process_id AS t, hi_ms AS d FROM steady
  UNION ALL
  SELECT DISTINCT p, p, 0L FROM (SELECT explode(array(from_process_id, to_process_id)) AS p FROM steady)
), two AS (
  SELECT a.f, b.t, min(a.d + b.d) AS d FROM one a JOIN one b ON a.t = b.f GROUP BY a.f, b.t
), four AS (
  SELECT a.f, b.t, min(a.d + b.d) AS d FROM two a JOIN two b ON a.t = b.f GROUP BY a.f, b.t
), eight AS (
  SELECT a.f, b.t, min(a.d + b.d) AS d FROM four a JOIN four b ON a.t = b.f GROUP BY a.f, b.t
)
SELECT f, t, d FROM eight

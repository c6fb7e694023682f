-- One row per ordered pair of processes that a chain of at most eight links joins: its shortest chain, possible or not.
-- Reads: steady_bound
-- Grain: from_process_id, to_process_id
-- Grown by one link a round. A chain is grown in the round after it was found and in no other, so the work is the pairs of processes times
-- the links of one of them, not a third power. A process's chain to itself is empty, unless a circle of bounds contradicts itself.
CREATE OR REPLACE TEMPORARY VIEW clock_path (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds',
  witness         COMMENT 'The lines of the chain, two a link'
)
COMMENT 'One row per ordered pair of processes that a chain of at most eight links joins: its shortest chain, possible or not.'
AS
WITH bound AS (
  SELECT from_process_id, to_process_id, hi_ms, witness FROM steady_bound WHERE hi_ms IS NOT NULL
), link AS (
  -- Of equal chains the first by its lines: not every engine compares a list that stands in a struct.
  SELECT from_process_id AS f, to_process_id AS t, struct(hi_ms AS d, 1 AS n, array_join(witness, ',') AS k, witness AS w) AS best
  FROM bound
  UNION ALL
  SELECT DISTINCT p, p, struct(CAST(0 AS BIGINT) AS d, 0 AS n, '' AS k, CAST(array() AS ARRAY<STRING>) AS w)
    FROM (SELECT explode(array(from_process_id, to_process_id)) AS p FROM bound)
), two AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM link a JOIN link b ON b.f = a.t AND (a.best.n = 1 OR b.best.n = 0) GROUP BY a.f, b.t
), three AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM two a JOIN link b ON b.f = a.t AND (a.best.n = 2 OR b.best.n = 0) GROUP BY a.f, b.t
), four AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM three a JOIN link b ON b.f = a.t AND (a.best.n = 3 OR b.best.n = 0) GROUP BY a.f, b.t
), five AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM four a JOIN link b ON b.f = a.t AND (a.best.n = 4 OR b.best.n = 0) GROUP BY a.f, b.t
), six AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM five a JOIN link b ON b.f = a.t AND (a.best.n = 5 OR b.best.n = 0) GROUP BY a.f, b.t
), seven AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM six a JOIN link b ON b.f = a.t AND (a.best.n = 6 OR b.best.n = 0) GROUP BY a.f, b.t
), eight AS (
  SELECT a.f, b.t, min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k,
    concat(a.best.w, b.best.w) AS w)) AS best
  FROM seven a JOIN link b ON b.f = a.t AND (a.best.n = 7 OR b.best.n = 0) GROUP BY a.f, b.t
)
SELECT f AS from_process_id, t AS to_process_id, best.d AS hi_ms, best.w AS witness FROM eight

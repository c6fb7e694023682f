-- One row per ordered pair of processes connected by lines, or by a chain of up to four such pairs: how far the second clock can be ahead
-- of the first.
-- Reads: clock_edge, process_life
-- Grain: from_process_id, to_process_id
-- If no constant offset satisfies all lines of a pair, a clock stepped. A clock that stepped, or was set back, is compared with no other.
-- Contradictions within `clock_jitter_ms` come from drift, not steps: they only widen the bound. Chains through a cycle of bounds that no clocks can
-- satisfy are left out. Members of a large group (`clock_partners_most`) have rows with other processes, but neither with each other nor with
-- themselves: a chain between two of them is one to another process and one from it.
CREATE OR REPLACE TEMPORARY VIEW clock_bound (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds; NULL: a clock stepped',
  witness         COMMENT 'Lines of the chain, two per link',
  constraints     COMMENT 'How many pairs of lines of these two bound it; NULL: none',
  least_ms        COMMENT 'The bound from the tightest of them, as if the clocks were steady',
  least_witness   COMMENT 'The tightest pair of lines',
  impossible      COMMENT 'True when no constant offset satisfies this bound and that of the other direction: a clock stepped, or a link is wrong',
  is_suspect      COMMENT 'True if that is so and the first one agrees with no more processes than the second: it is the one that stepped'
)
AS
WITH direct_bound AS (
  SELECT from_process_id AS f, to_process_id AS t, min(hi_ms) AS hi_ms, count(*) AS constraints,
    min_by(array(from_event_id, to_event_id), struct(hi_ms, from_event_id, to_event_id)) AS witness
  FROM clock_edge GROUP BY from_process_id, to_process_id
), bound_with_opposite AS (
  SELECT b.*, back.hi_ms AS back_ms, coalesce(b.hi_ms + back.hi_ms < -clock_jitter_ms, false) AS impossible,
    count_if(coalesce(b.hi_ms + back.hi_ms >= -clock_jitter_ms, true)) OVER (PARTITION BY b.f) AS partners
  FROM direct_bound b LEFT JOIN direct_bound back ON back.f = b.t AND back.t = b.f
), suspect_pair AS (
  SELECT a.f, a.t FROM bound_with_opposite a JOIN bound_with_opposite b ON b.f = a.t AND b.t = a.f WHERE a.impossible AND a.partners <= b.partners
), stepped_process AS (
  SELECT f FROM suspect_pair
  UNION
  SELECT process_id FROM process_life WHERE setbacks IS NOT NULL
), link AS (
  -- Of equally short chains the first by its lines is chosen. The lines are joined to a text because not every engine compares an array inside a
  -- struct. Each process is linked to itself.
  SELECT e.f, e.t, min(struct(e.d, e.n, e.k, e.w)) AS best FROM bound_with_opposite b
  LEFT ANTI JOIN stepped_process s ON s.f = b.f OR s.f = b.t
  LATERAL VIEW inline(array(
      named_struct('f', f, 't', t, 'd', CASE WHEN hi_ms + back_ms < 0 THEN clock_jitter_ms - back_ms ELSE hi_ms END, 'n', 1, 'k',
        array_join(witness, ','), 'w', witness),
      named_struct('f', f, 't', f, 'd', 0L, 'n', 0, 'k', '', 'w', CAST(array() AS ARRAY<STRING>)),
      named_struct('f', t, 't', t, 'd', 0L, 'n', 0, 'k', '', 'w', CAST(array() AS ARRAY<STRING>)))) e AS f, t, d, n, k, w
  GROUP BY e.f, e.t
), partner AS (
  SELECT f, t FROM link WHERE f <> t
  UNION
  SELECT t, f FROM link WHERE f <> t
), centre AS (
  -- All but the members of a large group. Each of these has fewer partners than any of its partners, brokers and leaders, and one of them has many.
  -- Chains between all members would be quadratic. No two of them are linked, so a chain of each goes on from a centre. The first partner of each
  -- is one too: it may be the reference of an island without a broker.
  SELECT f
  FROM (SELECT f, count(*) OVER (PARTITION BY f) AS partners, count(*) OVER (PARTITION BY t) AS partners_of_partner FROM partner)
  GROUP BY f HAVING min(partners_of_partner) <= max(partners) OR max(partners_of_partner) <= clock_partners_most
  UNION
  SELECT min(t) FROM partner GROUP BY f
  UNION
  SELECT process_id FROM process_life WHERE is_broker
), path_1 AS (
  SELECT l.f, l.t, l.best FROM link l LEFT SEMI JOIN centre c ON c.f = l.f
), path_2 AS (
  -- The shortest chain of each pair, even if contradictory. Only chains found in the previous round grow, so the work is the number of pairs times
  -- the links of one process, not a third power.
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_1 a JOIN link b ON b.f = a.t AND (a.best.n = 1 OR b.best.n = 0) GROUP BY a.f, b.t
), path_3 AS (
  SELECT a.f, b.t,
    min(struct(a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w)) AS best
  FROM path_2 a JOIN link b ON b.f = a.t AND (a.best.n = 2 OR b.best.n = 0) GROUP BY a.f, b.t
), path_4 AS (
  SELECT f, t, min(struct(d, n, k, w)) AS best
  FROM (
    SELECT a.f, b.t, a.best.d + b.best.d AS d, a.best.n + b.best.n AS n, concat(a.best.k, b.best.k) AS k, concat(a.best.w, b.best.w) AS w
    FROM path_3 a JOIN link b ON b.f = a.t AND (a.best.n = 3 OR b.best.n = 0)
    UNION ALL
    SELECT a.f, b.t, a.best.d + b.best.d, a.best.n + b.best.n, concat(a.best.k, b.best.k), concat(a.best.w, b.best.w)
    FROM (SELECT l.f, l.t, l.best FROM link l LEFT ANTI JOIN centre c ON c.f = l.f) a
    JOIN (SELECT p.f, p.t, p.best FROM path_3 p LEFT SEMI JOIN centre c ON c.f = p.t) b ON b.f = a.t
  )
  GROUP BY f, t
), contradictory_process AS (
  SELECT DISTINCT a.f FROM path_4 a JOIN centre c ON c.f = a.f
  JOIN path_4 b ON b.f = a.t AND b.t = a.f
  WHERE a.best.d + b.best.d < 0
), contradictory_path AS (
  SELECT a.f, b.t FROM contradictory_process p JOIN path_4 a ON a.t = p.f
  JOIN centre c ON c.f = a.f
  JOIN path_4 b ON b.f = p.f
  UNION ALL
  SELECT a.f, b.t FROM contradictory_process p JOIN path_4 b ON b.f = p.f
  JOIN centre c ON c.f = b.t
  JOIN path_4 a ON a.t = p.f
), path AS (
  SELECT p.f, p.t, p.best FROM path_4 p LEFT ANTI JOIN contradictory_path c ON c.f = p.f AND c.t = p.t
)
SELECT coalesce(p.f, b.f) AS from_process_id, coalesce(p.t, b.t) AS to_process_id, p.best.d AS hi_ms, p.best.w AS witness, b.constraints,
  b.hi_ms AS least_ms, b.witness AS least_witness, coalesce(b.impossible, false) AS impossible, s.f IS NOT NULL AS is_suspect
FROM path p FULL OUTER JOIN bound_with_opposite b ON b.f = p.f AND b.t = p.t
LEFT JOIN suspect_pair s ON s.f = b.f AND s.t = b.t

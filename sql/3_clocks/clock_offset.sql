-- One row per process and the reference of its island, and per pair of processes with direct evidence: the offset between their clocks.
-- Reads: clock_bound, process_life
-- Grain: process_id, reference_process_id
-- Public: yes
-- The reference is a broker, if possible. Nothing is compared across islands. A process whose clock stepped is an island of its own.
CREATE OR REPLACE TEMPORARY VIEW clock_offset (
  process_id,
  reference_process_id COMMENT 'Process that it is compared with',
  lo_ms                COMMENT 'Its clock is ahead of the reference''s by at least this, milliseconds; NULL: no lower bound',
  hi_ms                COMMENT 'Its clock is ahead of the reference''s by at most this, milliseconds; NULL: no upper bound',
  constraints          COMMENT 'Pairs of lines that directly bound the offset of these two',
  stepped              COMMENT 'True when no constant offset fits the lines',
  suspect_time_zone    COMMENT 'Probable time zone error, as +HH:MM: a multiple of 15 minutes, not of a day, within the bounds; NULL: none',
  is_island_reference  COMMENT 'True for the row whose reference is that of the process''s island'
)
AS
WITH process_role AS (
  SELECT DISTINCT process_id, is_broker FROM process_life
), process_island AS (
  SELECT a.from_process_id AS p, min(struct(NOT coalesce(k.is_broker, false) AS not_broker, a.to_process_id AS q)).q AS reference FROM clock_bound a
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id AND b.hi_ms IS NOT NULL
  LEFT JOIN process_role k ON k.process_id = a.to_process_id
  WHERE a.hi_ms IS NOT NULL GROUP BY a.from_process_id
), island_pair AS (
  SELECT p AS process_id, reference AS reference_process_id, true AS is_island_reference FROM process_island
  UNION
  SELECT process_id, process_id, true FROM process_role r
  LEFT ANTI JOIN process_island i ON i.p = r.process_id
), direct_pair AS (
  SELECT DISTINCT greatest(from_process_id, to_process_id) AS process_id, least(from_process_id, to_process_id) AS reference_process_id, false
  FROM clock_bound WHERE constraints IS NOT NULL
), any_pair AS (
  SELECT * FROM island_pair
  UNION ALL
  SELECT d.* FROM direct_pair d
  LEFT ANTI JOIN island_pair p ON p.process_id = d.process_id AND p.reference_process_id = d.reference_process_id
    OR p.process_id = d.reference_process_id AND p.reference_process_id = d.process_id
), stepped_process AS (
  SELECT from_process_id AS process_id FROM clock_bound WHERE is_suspect
  UNION
  SELECT process_id FROM process_life WHERE setbacks IS NOT NULL
), pair_bound AS (
  SELECT e.process_id, e.reference_process_id, CASE WHEN e.process_id = e.reference_process_id THEN 0L ELSE -back.hi_ms END AS lo_ms,
    CASE WHEN e.process_id = e.reference_process_id THEN 0L ELSE forth.hi_ms END AS hi_ms,
    coalesce(forth.constraints, 0) + coalesce(back.constraints, 0) AS constraints,
    coalesce(forth.impossible, false) OR s.process_id IS NOT NULL AS stepped, e.is_island_reference
  FROM any_pair e LEFT JOIN clock_bound forth ON forth.from_process_id = e.reference_process_id AND forth.to_process_id = e.process_id
  LEFT JOIN clock_bound back ON back.from_process_id = e.process_id AND back.to_process_id = e.reference_process_id
  LEFT JOIN stepped_process s ON s.process_id = e.process_id
)
SELECT process_id, reference_process_id, lo_ms, hi_ms, constraints, stepped,
  CASE WHEN NOT stepped AND ceil(lo_ms / 900000) <= floor(hi_ms / 900000) AND ceil(lo_ms / 900000) % 96 <> 0
      AND hi_ms - lo_ms < 900000 THEN concat(CASE WHEN ceil(lo_ms / 900000) < 0 THEN '-' ELSE '+' END,
      lpad(CAST(abs(ceil(lo_ms / 900000)) DIV 4 AS STRING), 2, '0'), ':', lpad(CAST(abs(ceil(lo_ms / 900000)) % 4 * 15 AS STRING), 2,
      '0')) END AS suspect_time_zone,
  is_island_reference
FROM pair_bound

-- One row per process and the reference of its island, and per pair of processes with direct evidence: the offset between their clocks.
-- Reads: clock_bound, process_life, event_row
-- Grain: process_id, reference_process_id
-- Public: yes
-- The reference is a broker, if possible. Nothing is compared across islands. A process whose clock stepped is an island of its own. The times of a
-- process are placed on the clock of its island's reference if the offset is known to within `clock_skew_ms`, else on its own: otherwise a duration
-- between its lines and another's would consist of the uncertainty alone. Of two processes that contradict each other, the one that agrees with fewer
-- others stepped; both are suspect, if they agree with equally many.
CREATE OR REPLACE TEMPORARY VIEW clock_offset (
  process_id,
  reference_process_id COMMENT 'Process that it is compared with',
  lo_ms                COMMENT 'Its clock is ahead of the reference''s by at least this, milliseconds; NULL: no lower bound',
  hi_ms                COMMENT 'Its clock is ahead of the reference''s by at most this, milliseconds; NULL: no upper bound',
  constraints          COMMENT 'Pairs of lines that directly bound the offset of these two',
  stepped              COMMENT 'True when no constant offset fits the lines',
  suspect_time_zone    COMMENT 'Probable time zone error, as +HH:MM: a multiple of 15 minutes, not of a day, within the bounds, or
    of 30 minutes near them; NULL: none',
  is_island_reference  COMMENT 'True for the row whose reference is that of the process''s island; other rows lack the following columns',
  clock_id             COMMENT 'Process whose clock its times are placed on: the reference of its island, or itself',
  ahead_ms             COMMENT 'How far its clock is ahead of that one, milliseconds (middle of the bounds)',
  is_steady            COMMENT 'False if that clock stepped',
  step                 COMMENT 'How its own clock stepped; NULL: it did not. how: set_back (its times go back) or contradicted (no steady offset to
    the partner fits); by_ms: how far, or by how much the bounds contradict each other; times: how often; witness: the fewest lines that cannot all
    be true with a steady clock; set_back: positions in its log before which it was set back; least_ms: it stepped by at least this at an unknown
    position; places: it was set after the line at before_pos and before that at after_pos, by at most hi_ms (NULL: unknown)'
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
), suspicion AS (
  SELECT a.from_process_id AS process_id, 'contradicted' AS how, a.to_process_id AS partner, -(a.least_ms + b.least_ms) AS by_ms,
    array_distinct(concat(a.least_witness, b.least_witness)) AS witness, CAST(NULL AS BIGINT) AS stream_pos
  FROM clock_bound a JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id WHERE a.is_suspect
  UNION ALL
  SELECT process_id, 'set_back', NULL, b.by_ms, filter(array(b.before_id, b.event_id), x -> x IS NOT NULL), b.stream_pos FROM process_life
  LATERAL VIEW explode(setbacks) s AS b
), step_place AS (
  -- No steady clock satisfies the lines of a contradiction: the clock stepped between the first and the last of them in its own log.
  SELECT s.process_id, min(e.stream_pos) AS before_pos, max(e.stream_pos) AS after_pos, CAST(NULL AS BIGINT) AS hi_ms
  FROM (SELECT process_id, partner, explode(witness) AS event_id FROM suspicion WHERE how = 'contradicted') s
  JOIN event_row e ON e.event_id = s.event_id AND e.process_id = s.process_id GROUP BY s.process_id, s.partner
  UNION ALL
  SELECT process_id, stream_pos - 1, stream_pos, -by_ms FROM suspicion WHERE how = 'set_back'
), worst_suspicion AS (
  SELECT process_id, max(struct(how, by_ms IS NOT NULL AS is_known, by_ms, array_join(witness, ',') AS ids, witness, partner)) AS worst,
    CASE WHEN max(how) = 'set_back' THEN count(stream_pos) ELSE count(*) END AS times,
    CASE WHEN max(how) = 'set_back' THEN array_sort(collect_list(stream_pos)) END AS set_back
  FROM suspicion GROUP BY process_id
), process_step AS (
  SELECT d.process_id, struct(d.worst.how AS how, d.worst.partner AS partner, d.worst.by_ms AS by_ms, nullif(d.times, 0L) AS times,
    d.worst.witness AS witness,
    d.set_back AS set_back, CASE WHEN d.worst.how = 'contradicted' THEN d.worst.by_ms END AS least_ms, p.places AS places) AS step
  FROM worst_suspicion d
  LEFT JOIN (SELECT process_id, collect_list(struct(before_pos, after_pos, hi_ms)) AS places FROM step_place GROUP BY process_id) p
    ON p.process_id = d.process_id
), pair_bound AS (
  SELECT e.process_id, e.reference_process_id, CASE WHEN e.process_id = e.reference_process_id THEN 0L ELSE -back.hi_ms END AS lo_ms,
    CASE WHEN e.process_id = e.reference_process_id THEN 0L ELSE forth.hi_ms END AS hi_ms,
    coalesce(forth.constraints, 0) + coalesce(back.constraints, 0) AS constraints,
    coalesce(forth.impossible, false) OR s.process_id IS NOT NULL AS stepped, e.is_island_reference, s.step,
    r.process_id IS NOT NULL AS is_reference_stepped
  FROM any_pair e LEFT JOIN clock_bound forth ON forth.from_process_id = e.reference_process_id AND forth.to_process_id = e.process_id
  LEFT JOIN clock_bound back ON back.from_process_id = e.process_id AND back.to_process_id = e.reference_process_id
  LEFT JOIN process_step s ON s.process_id = e.process_id
  LEFT JOIN process_step r ON r.process_id = e.reference_process_id
)
SELECT process_id, reference_process_id, lo_ms, hi_ms, constraints, stepped,
  CASE WHEN NOT stepped AND quarters % 96 <> 0 AND hi_ms - lo_ms < 900000 THEN concat(CASE WHEN quarters < 0 THEN '-' ELSE '+' END,
      lpad(CAST(abs(quarters) DIV 4 AS STRING), 2, '0'), ':', lpad(CAST(abs(quarters) % 4 * 15 AS STRING), 2, '0')) END AS suspect_time_zone,
  is_island_reference, CASE WHEN is_close THEN reference_process_id WHEN is_island_reference THEN process_id END AS clock_id,
  CASE WHEN is_close THEN (lo_ms + hi_ms) DIV 2 WHEN is_island_reference THEN 0L END AS ahead_ms,
  CASE WHEN is_close THEN NOT is_reference_stepped WHEN is_island_reference THEN NOT stepped END AS is_steady,
  CASE WHEN is_island_reference THEN step END AS step
FROM (
  SELECT *, is_island_reference AND coalesce(hi_ms - lo_ms <= clock_skew_ms, false) AS is_close,
    -- In a zone with whole or half hours, its clock may also be a little wrong.
    CASE WHEN ceil(lo_ms / 900000) <= floor(hi_ms / 900000) THEN ceil(lo_ms / 900000)
      WHEN ceil((lo_ms - zone_skew_ms) / (2 * 900000)) <= floor((hi_ms + zone_skew_ms) / (2 * 900000))
        THEN 2 * ceil((lo_ms - zone_skew_ms) / (2 * 900000)) END AS quarters
  FROM pair_bound
)

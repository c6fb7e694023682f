-- One row per pair of processes with direct evidence: how far the second clock can be ahead of the first.
-- Reads: clock_edge, clock_setback, event_row
-- Grain: from_process_id, to_process_id
-- If no constant offset satisfies all lines, a clock stepped or drifted. Then the lines are processed in order, in stretches that one offset
-- satisfies, and the bound is wide enough for all stretches. If a stretch has no bound, neither has the pair; nor has it if no line shows the offset
-- between two steps back of a clock. Contradictions within `clock_jitter_ms` come from drift, not steps: they only widen the bound.
CREATE OR REPLACE TEMPORARY VIEW clock_bound (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds; NULL: a step left no bound',
  least_ms        COMMENT 'The bound from the tightest pair of lines, as if the clock were steady',
  constraints     COMMENT 'How many pairs of lines bound it',
  witness         COMMENT 'Two lines that rule out a larger value',
  least_witness   COMMENT 'The tightest pair of lines',
  impossible      COMMENT 'True when no constant offset satisfies this bound and that of the other direction: a clock stepped, or a link is wrong',
  partners        COMMENT 'Number of processes to which the first one''s bounds are possible'
)
AS
WITH bound AS (
  SELECT from_process_id AS f, to_process_id AS t, min(hi_ms) AS hi_ms, count(*) AS constraints,
    min_by(array(from_event_id, to_event_id), struct(hi_ms, from_event_id, to_event_id)) AS witness
  FROM clock_edge GROUP BY from_process_id, to_process_id
), contradicted_pair AS (
  SELECT DISTINCT least(a.f, a.t) AS x, greatest(a.f, a.t) AS y FROM bound a
  LEFT JOIN bound b ON b.f = a.t AND b.t = a.f
  LEFT JOIN (SELECT DISTINCT process_id FROM clock_setback) s ON s.process_id = a.f OR s.process_id = a.t
  WHERE a.hi_ms + b.hi_ms < 0 OR s.process_id IS NOT NULL
), pair_edge AS (
  SELECT p.x, p.y, CASE WHEN e.from_process_id = p.x THEN e.from_event_id ELSE e.to_event_id END AS x_event,
    CASE WHEN e.from_process_id = p.x THEN e.to_event_id ELSE e.from_event_id END AS y_event,
    CASE WHEN e.from_process_id = p.x THEN CAST(NULL AS BIGINT) ELSE -e.hi_ms END AS lo, CASE WHEN e.from_process_id = p.x THEN e.hi_ms END AS hi
  FROM contradicted_pair p
  JOIN clock_edge e ON e.from_process_id = p.x AND e.to_process_id = p.y OR e.from_process_id = p.y AND e.to_process_id = p.x
), setback_position AS (
  SELECT process_id, array_sort(collect_list(stream_pos)) AS at FROM clock_setback GROUP BY process_id
), pair_edge_position AS (
  -- `era`: how often the two clocks had been set back.
  SELECT l.x, l.y, l.lo, l.hi, a.stream_pos AS x_pos, b.stream_pos AS y_pos,
    coalesce(size(filter(sx.at, s -> s <= a.stream_pos)), 0) + coalesce(size(filter(sy.at, s -> s <= b.stream_pos)), 0) AS era,
    coalesce(size(sx.at), 0) + coalesce(size(sy.at), 0) AS setbacks
  FROM pair_edge l JOIN event_row a ON a.event_id = l.x_event
  JOIN event_row b ON b.event_id = l.y_event
  LEFT JOIN setback_position sx ON sx.process_id = l.x
  LEFT JOIN setback_position sy ON sy.process_id = l.y
), combined_bound AS (
  SELECT x, y, count(DISTINCT era) <= max(setbacks) AS has_empty_era,
    aggregate(
      sort_array(collect_list(struct(era, x_pos, y_pos, lo, hi))),
      named_struct('era', -1, 'lo', CAST(NULL AS BIGINT), 'hi', CAST(NULL AS BIGINT), 'all_lo', CAST(NULL AS BIGINT),
        'all_hi', CAST(NULL AS BIGINT), 'no_lo', false, 'no_hi', false),
      (acc, e) -> CASE
        -- Within a stretch the bounds narrow each other. NULL means no bound on that side; greatest and least ignore it.
        WHEN e.era = acc.era AND coalesce(greatest(acc.lo, e.lo) - least(acc.hi, e.hi) <= clock_jitter_ms, true)
          THEN named_struct('era', acc.era, 'lo', greatest(acc.lo, e.lo), 'hi', least(acc.hi, e.hi), 'all_lo', acc.all_lo, 'all_hi',
            acc.all_hi, 'no_lo', acc.no_lo, 'no_hi', acc.no_hi)
        WHEN acc.era < 0 THEN named_struct('era', e.era, 'lo', e.lo, 'hi', e.hi, 'all_lo', acc.all_lo, 'all_hi', acc.all_hi,
          'no_lo', acc.no_lo, 'no_hi', acc.no_hi)
        ELSE named_struct('era', e.era, 'lo', e.lo, 'hi', e.hi,
          'all_lo', least(acc.all_lo, CASE WHEN acc.lo > acc.hi THEN acc.hi - clock_jitter_ms ELSE acc.lo END),
          'all_hi', greatest(acc.all_hi, CASE WHEN acc.lo > acc.hi THEN acc.lo + clock_jitter_ms ELSE acc.hi END),
          'no_lo', acc.no_lo OR acc.lo IS NULL, 'no_hi', acc.no_hi OR acc.hi IS NULL)
      END,
      acc -> named_struct(
        'lo', CASE WHEN NOT acc.no_lo AND acc.lo IS NOT NULL
          THEN least(acc.all_lo, CASE WHEN acc.lo > acc.hi THEN acc.hi - clock_jitter_ms ELSE acc.lo END) END,
        'hi', CASE WHEN NOT acc.no_hi AND acc.hi IS NOT NULL
          THEN greatest(acc.all_hi, CASE WHEN acc.lo > acc.hi THEN acc.lo + clock_jitter_ms ELSE acc.hi END) END)
    ) AS hull
  FROM pair_edge_position GROUP BY x, y
), bounding_line AS (
  -- These are the lines that give this wide bound. The tightest lines contradict each other.
  SELECT h.x, h.y, max_by(array(l.x_event, l.y_event), struct(l.hi, l.x_event, l.y_event)) FILTER (WHERE l.hi <= h.hull.hi) AS high,
    min_by(array(l.y_event, l.x_event), struct(l.lo, l.x_event, l.y_event)) FILTER (WHERE l.lo >= h.hull.lo) AS low
  FROM combined_bound h JOIN pair_edge l ON l.x = h.x AND l.y = h.y GROUP BY h.x, h.y
)
SELECT b.f AS from_process_id, b.t AS to_process_id,
  CASE WHEN h.x IS NULL THEN b.hi_ms
    WHEN h.has_empty_era AND NOT coalesce(b.hi_ms + back.hi_ms < -clock_jitter_ms, false) THEN NULL
    WHEN b.f = h.x THEN h.hull.hi
    ELSE -h.hull.lo END AS hi_ms,
  b.hi_ms AS least_ms, b.constraints, CASE WHEN h.x IS NULL THEN b.witness WHEN b.f = h.x THEN w.high ELSE w.low END AS witness,
  b.witness AS least_witness, coalesce(b.hi_ms + back.hi_ms < -clock_jitter_ms, false) AS impossible,
  count_if(coalesce(b.hi_ms + back.hi_ms >= -clock_jitter_ms, true)) OVER (PARTITION BY b.f) AS partners
FROM bound b LEFT JOIN bound back ON back.f = b.t AND back.t = b.f
LEFT JOIN combined_bound h ON h.x = least(b.f, b.t) AND h.y = greatest(b.f, b.t)
LEFT JOIN bounding_line w ON w.x = h.x AND w.y = h.y

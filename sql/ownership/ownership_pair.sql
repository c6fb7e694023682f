-- One row per pair of ownerships of one resource that could be, or be taken for, two owners at once.
-- Reads: holding_order, clock_closure, one_process
-- Grain: a_id, b_id
-- Each ownership is paired with its next few and with every later one that it may outlast; where many others may have been there already
-- when it began, with its next few only. `lo_ms` and `hi_ms` bound how far b's clock is ahead of a's: the pair is compared under one and
-- the same offset, so what two bounds have in common is not lost.
-- Printed times of clocks that nothing joins do not tell which pairs matter. Generations do: each ownership is paired with the last one
-- of every other process that was assigned no later.
-- Of two of which one's start is not seen, that one is a which is known to have been there first.
CREATE OR REPLACE TEMPORARY VIEW ownership_pair (
  a_id       COMMENT 'Ownership that began first, as far as known',
  b_id       COMMENT 'The other',
  lo_ms      COMMENT 'b''s clock is ahead of a''s by at least this; NULL: unknown',
  hi_ms      COMMENT 'b''s clock is ahead of a''s by at most this; NULL: unknown',
  clock_how  COMMENT 'same_process, edges, assumed, none or stepped: how the offset is known',
  clock_witness COMMENT 'The lines that bound the offset',
  is_next    COMMENT 'True when b is the next ownership after a',
  left_out   COMMENT 'Up to how many later ownerships that a may have met are not paired with it; NULL: none, or said beside its next one'
)
COMMENT 'One row per pair of ownerships of one resource that could be, or be taken for, two owners at once.'
AS
WITH reach AS (
  -- Of each that may outlast the fifth after it, the last one that began before it ended.
  SELECT kafka_cluster, group_id, resource_kind, resource, nth, last_nth, unseen_count
  FROM (
    SELECT kafka_cluster, group_id, resource_kind, resource, nth, is_end,
      count_if(NOT is_end AND at_ms IS NULL) OVER of_resource AS unseen_count,
      CASE WHEN at_ms IS NULL THEN max(nth) OVER of_resource ELSE max(begun_nth) OVER so_far END AS last_nth
    FROM (
      SELECT kafka_cluster, group_id, resource_kind, resource, nth, false AS is_end, start_lo_ms AS at_ms,
        CASE WHEN start_lo_ms IS NOT NULL THEN nth END AS begun_nth
      FROM holding_order
      UNION ALL
      SELECT kafka_cluster, group_id, resource_kind, resource, nth, true, stop_hi_ms, NULL
      FROM holding_order
      WHERE fifth_start_ms IS NOT NULL AND (stop_hi_ms IS NULL OR stop_hi_ms > fifth_start_ms)
    )
    WINDOW of_resource AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource),
      so_far AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY at_ms, is_end DESC, nth ROWS UNBOUNDED PRECEDING)
  )
  WHERE is_end
), crowd AS (
  -- How many of these may have been there when each began. The square of their number would be pairs.
  SELECT kafka_cluster, group_id, resource_kind, resource, nth, last_nth, unseen_count, there > owners_compared_most AS is_crowded
  FROM (
    SELECT kafka_cluster, group_id, resource_kind, resource, nth, last_nth, unseen_count, is_begin,
      sum(CASE WHEN is_begin THEN 1 ELSE -1 END) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource
        ORDER BY at_nth, is_begin DESC, nth ROWS UNBOUNDED PRECEDING) AS there
    FROM (
      SELECT kafka_cluster, group_id, resource_kind, resource, nth, last_nth, unseen_count, nth AS at_nth, true AS is_begin FROM reach
      UNION ALL
      SELECT kafka_cluster, group_id, resource_kind, resource, nth, last_nth, unseen_count, last_nth, false FROM reach
    )
  )
  WHERE is_begin
), unseen AS (
  -- One whose start is not in its log may have been there at any time.
  SELECT *
  FROM (
    SELECT kafka_cluster, group_id, resource_kind, resource, nth,
      row_number() OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY nth) AS unseen_nth
    FROM holding_order
    WHERE start_lo_ms IS NULL
  )
  WHERE unseen_nth <= owners_compared_most
), timed AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, nth AS a_nth, explode(sequence(nth + 1, nth + 4)) AS b_nth
  FROM holding_order
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, nth, explode(sequence(nth + 5, last_nth))
  FROM crowd
  WHERE NOT is_crowded AND last_nth >= nth + 5
  UNION ALL
  SELECT a.kafka_cluster, a.group_id, a.resource_kind, a.resource, a.nth, b.nth
  FROM crowd a JOIN unseen b
    ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.resource_kind = a.resource_kind AND b.resource = a.resource
    AND b.nth > a.nth + 4 AND (a.is_crowded OR coalesce(b.nth > a.last_nth, true))
), unordered AS (
  SELECT x.kafka_cluster, x.group_id, x.resource_kind, x.resource, least(x.nth, y.nth) AS a_nth, greatest(x.nth, y.nth) AS b_nth
  FROM holding_order x JOIN holding_order y
    ON y.kafka_cluster = x.kafka_cluster AND y.group_id = x.group_id AND y.resource_kind = x.resource_kind AND y.resource = x.resource
      AND y.process_id <> x.process_id AND y.reference_process_id <> x.reference_process_id
      AND x.generation <= y.generation AND (x.next_generation IS NULL OR x.next_generation > y.generation)
  WHERE x.is_on_several_clocks
  GROUP BY x.kafka_cluster, x.group_id, x.resource_kind, x.resource, least(x.nth, y.nth), greatest(x.nth, y.nth)
), chosen AS (
  SELECT t.*, true AS is_timed
  FROM timed t
  LEFT ANTI JOIN unordered u
    ON u.kafka_cluster = t.kafka_cluster AND u.group_id = t.group_id AND u.resource_kind = t.resource_kind AND u.resource = t.resource
      AND u.a_nth = t.a_nth AND u.b_nth = t.b_nth
  UNION ALL
  SELECT *, false FROM unordered
), paired AS (
  SELECT a.ownership_id AS a_id, b.ownership_id AS b_id, a.process_id AS a_process, b.process_id AS b_process, c.is_timed,
    a.process_id = b.process_id AS is_one_process, c.b_nth = c.a_nth + 1 AS is_next, a.stop_hi_ms, b.start_lo_ms,
    NOT a.has_time AND NOT b.has_time AND coalesce(a.stop_how, b.stop_how) IS NOT NULL AS is_untimed_turn,
    a.is_stepped OR b.is_stepped AS is_suspect, c.resource_kind = 'partition' AS is_partition,
    coalesce(a.stop_pos <= b.start_pos OR b.stop_pos <= a.start_pos, false) AS is_one_by_one,
    nullif(CASE WHEN w.is_crowded THEN greatest(w.last_nth - w.nth - 4L, 0L) ELSE 0L END
      + greatest(w.unseen_count - owners_compared_most, 0L), 0L) AS left_out,
    -- The start of one of them is not seen, and the other is known to have been there later.
    c.is_timed AND a.process_id <> b.process_id AND (a.start_how <> 'seen' OR b.start_how <> 'seen')
      AND coalesce(b.known_ms < a.known_ms, false) AS is_turned
  FROM chosen c
  JOIN holding_order a ON a.kafka_cluster = c.kafka_cluster AND a.group_id = c.group_id AND a.resource_kind = c.resource_kind
    AND a.resource = c.resource AND a.nth = c.a_nth
  JOIN holding_order b ON b.kafka_cluster = c.kafka_cluster AND b.group_id = c.group_id AND b.resource_kind = c.resource_kind
    AND b.resource = c.resource AND b.nth = c.b_nth
  LEFT JOIN crowd w ON w.kafka_cluster = c.kafka_cluster AND w.group_id = c.group_id AND w.resource_kind = c.resource_kind
    AND w.resource = c.resource AND w.nth = c.a_nth AND c.b_nth = c.a_nth + 1
), pair AS (
  SELECT CASE WHEN is_turned THEN b_id ELSE a_id END AS a_id, CASE WHEN is_turned THEN a_id ELSE b_id END AS b_id,
    CASE WHEN is_turned THEN b_process ELSE a_process END AS a_process, CASE WHEN is_turned THEN a_process ELSE b_process END AS b_process,
    is_timed, is_one_process, is_next, stop_hi_ms, start_lo_ms, is_untimed_turn, is_suspect, is_partition, is_one_by_one,
    left_out
  FROM paired
)
SELECT
  p.a_id, p.b_id,
  CASE WHEN p.is_one_process THEN CASE WHEN NOT p.is_suspect THEN 0L END
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN -back.hi_ms
    ELSE -assume_skew_ms END AS lo_ms,
  CASE WHEN p.is_one_process THEN CASE WHEN NOT p.is_suspect THEN 0L END
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN forth.hi_ms
    ELSE assume_skew_ms END AS hi_ms,
  CASE
    WHEN p.is_one_process AND p.is_suspect THEN 'stepped'
    WHEN p.is_one_process THEN 'same_process'
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN 'edges'
    WHEN assume_skew_ms IS NOT NULL THEN 'assumed'
    WHEN p.is_suspect THEN 'stepped'
    ELSE 'none'
  END AS clock_how,
  CASE WHEN NOT p.is_one_process AND back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL
    THEN concat(back.witness, forth.witness) END AS clock_witness,
  p.is_next,
  p.left_out AS left_out
FROM pair p
LEFT JOIN clock_closure forth ON forth.from_process_id = p.a_process AND forth.to_process_id = p.b_process
LEFT JOIN clock_closure back ON back.from_process_id = p.b_process AND back.to_process_id = p.a_process
LEFT ANTI JOIN one_process o ON o.process_id = p.a_process AND o.other_process_id = p.b_process
-- A later ownership in the same process after a plain end is everyday life; one that began before the end is not.
-- Without times, or with times that are too coarse, the lines of one process still stand in order: one ownership ended before the other
-- began. Of a task that says little: its thread may go on behind the line with which it was told to stop.
WHERE NOT (p.is_one_process AND (p.is_untimed_turn OR (p.is_suspect OR p.is_partition) AND p.is_one_by_one))
  AND (NOT p.is_timed OR p.is_next AND NOT p.is_one_process OR p.stop_hi_ms IS NULL OR p.start_lo_ms IS NULL
    OR p.start_lo_ms < p.stop_hi_ms)

-- One row per pair of ownerships of one resource that could be, or be taken for, two owners at once.
-- Reads: holding_order, clock_closure, one_process
-- Grain: a_id, b_id
-- Each ownership is paired with its next few and with every later one that it may outlast. `lo_ms` and `hi_ms` bound how far b's clock is
-- ahead of a's: the pair is compared under one and the same offset, so what two bounds have in common is not lost.
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
  is_next    COMMENT 'True when b is the next ownership after a'
)
COMMENT 'One row per pair of ownerships of one resource that could be, or be taken for, two owners at once.'
AS
WITH timed AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, nth AS a_nth, explode(sequence(nth + 1, nth + 4)) AS b_nth
  FROM holding_order
  UNION ALL
  SELECT a.kafka_cluster, a.group_id, a.resource_kind, a.resource, a.nth, b.nth
  FROM holding_order a JOIN holding_order b
    ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.resource_kind = a.resource_kind AND b.resource = a.resource
    AND b.nth > a.nth + 4
  WHERE a.fifth_start_ms IS NOT NULL AND (a.stop_hi_ms IS NULL OR a.stop_hi_ms > a.fifth_start_ms)
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
    -- The start of one of them is not seen, and the other is known to have been there later.
    c.is_timed AND a.process_id <> b.process_id AND (a.start_how <> 'seen' OR b.start_how <> 'seen')
      AND coalesce(b.known_ms < a.known_ms, false) AS is_turned
  FROM chosen c
  JOIN holding_order a ON a.kafka_cluster = c.kafka_cluster AND a.group_id = c.group_id AND a.resource_kind = c.resource_kind
    AND a.resource = c.resource AND a.nth = c.a_nth
  JOIN holding_order b ON b.kafka_cluster = c.kafka_cluster AND b.group_id = c.group_id AND b.resource_kind = c.resource_kind
    AND b.resource = c.resource AND b.nth = c.b_nth
), pair AS (
  SELECT CASE WHEN is_turned THEN b_id ELSE a_id END AS a_id, CASE WHEN is_turned THEN a_id ELSE b_id END AS b_id,
    CASE WHEN is_turned THEN b_process ELSE a_process END AS a_process, CASE WHEN is_turned THEN a_process ELSE b_process END AS b_process,
    is_timed, is_one_process, is_next, stop_hi_ms, start_lo_ms, is_untimed_turn, is_suspect, is_partition, is_one_by_one
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
  p.is_next
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

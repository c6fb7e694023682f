-- One row per pair of ownerships of one resource that could be, or be taken for, two owners at once.
-- Reads: holding, ownership, clock_closure, clock_suspect, event_row
-- Grain: a_id, b_id
-- Each ownership is paired with its next few and with every later one that it may outlast. `lo_ms` and `hi_ms` bound how far b's clock is
-- ahead of a's: the pair is compared under one and the same offset, so what two bounds have in common is not lost.
-- Printed times of clocks that nothing joins do not tell which pairs matter. Generations do: each ownership is paired with the last one
-- of every other process that was assigned no later.
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
WITH placed AS (
  -- A clock that was set while its process ran does not order the process's own lines; their places in the log do.
  SELECT h.ownership_id, true AS is_stepped, x.stream_pos AS start_pos, y.stream_pos AS stop_pos
  FROM holding h
  LEFT SEMI JOIN clock_suspect s ON s.process_id = h.process_id
  LEFT JOIN event_row x ON x.event_id = h.start_id
  LEFT JOIN event_row y ON y.event_id = h.stop_id
), ranked AS (
  SELECT
    h.ownership_id, h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id, h.owner,
    o.start_lo, o.start_hi, o.stop_hi, o.reference_process_id, h.stop_how, h.generation,
    lead(h.generation) OVER (PARTITION BY h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id,
      CASE WHEN h.resource_kind = 'partition' THEN h.owner ELSE '' END ORDER BY h.instance, h.ownership_id) AS next_generation,
    min(o.reference_process_id) OVER of_resource <> max(o.reference_process_id) OVER of_resource AS is_on_several_clocks,
    coalesce(l.is_stepped, false) AS is_stepped, l.start_pos, l.stop_pos,
    coalesce(o.start_lo, o.start_hi, o.stop_lo, o.stop_hi) IS NULL AS no_time,
    row_number() OVER (PARTITION BY h.kafka_cluster, h.group_id, h.resource_kind, h.resource ORDER BY coalesce(o.start_lo, o.start_hi),
      h.ownership_id) AS nth
  FROM holding h JOIN ownership o ON o.ownership_id = h.ownership_id
  LEFT JOIN placed l ON l.ownership_id = h.ownership_id
  WHERE h.group_id IS NOT NULL
  WINDOW of_resource AS (PARTITION BY h.kafka_cluster, h.group_id, h.resource_kind, h.resource)
), near AS (
  SELECT *, explode(sequence(nth + 1, nth + 4)) AS other FROM ranked
), ahead AS (
  SELECT *, lead(start_lo, 5) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY nth) AS fifth_start FROM ranked
), unordered AS (
  SELECT least(x.nth, y.nth) AS a_nth, greatest(x.nth, y.nth) AS b_nth, x.kafka_cluster, x.group_id, x.resource_kind, x.resource
  FROM ranked x JOIN ranked y
    ON y.kafka_cluster = x.kafka_cluster AND y.group_id = x.group_id AND y.resource_kind = x.resource_kind AND y.resource = x.resource
      AND y.process_id <> x.process_id AND y.reference_process_id <> x.reference_process_id
      AND x.generation <= y.generation AND (x.next_generation IS NULL OR x.next_generation > y.generation)
  WHERE x.is_on_several_clocks
  GROUP BY least(x.nth, y.nth), greatest(x.nth, y.nth), x.kafka_cluster, x.group_id, x.resource_kind, x.resource
), pair AS (
  SELECT a.ownership_id AS a_id, b.ownership_id AS b_id, a.process_id AS a_process, b.process_id AS b_process, b.nth = a.nth + 1 AS is_next,
    a.stop_hi AS a_stop_hi, b.start_lo AS b_start_lo,
    a.no_time AND b.no_time AND a.process_id = b.process_id AND coalesce(a.stop_how, b.stop_how) IS NOT NULL AS in_order,
    a.is_stepped AND a.process_id = b.process_id AS is_stepped,
    coalesce(a.process_id = b.process_id AND (a.stop_pos <= b.start_pos OR b.stop_pos <= a.start_pos), false) AS one_by_one
  FROM near a JOIN ranked b
    ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.resource_kind = a.resource_kind AND b.resource = a.resource
      AND b.nth = a.other
  LEFT ANTI JOIN unordered u
    ON u.kafka_cluster = a.kafka_cluster AND u.group_id = a.group_id AND u.resource_kind = a.resource_kind AND u.resource = a.resource
      AND u.a_nth = a.nth AND u.b_nth = b.nth
  UNION ALL
  SELECT a.ownership_id, b.ownership_id, a.process_id, b.process_id, false, a.stop_hi, b.start_lo,
    a.no_time AND b.no_time AND a.process_id = b.process_id AND coalesce(a.stop_how, b.stop_how) IS NOT NULL,
    a.is_stepped AND a.process_id = b.process_id,
    coalesce(a.process_id = b.process_id AND (a.stop_pos <= b.start_pos OR b.stop_pos <= a.start_pos), false)
  FROM ahead a JOIN ranked b
    ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.resource_kind = a.resource_kind AND b.resource = a.resource
    AND b.nth > a.nth + 4
  LEFT ANTI JOIN unordered u
    ON u.kafka_cluster = a.kafka_cluster AND u.group_id = a.group_id AND u.resource_kind = a.resource_kind AND u.resource = a.resource
      AND u.a_nth = a.nth AND u.b_nth = b.nth
  WHERE a.fifth_start IS NOT NULL AND (a.stop_hi IS NULL OR a.stop_hi > a.fifth_start)
  UNION ALL
  SELECT a.ownership_id, b.ownership_id, a.process_id, b.process_id, b.nth = a.nth + 1, NULL, NULL, false, false, false
  FROM unordered u
  JOIN ranked a ON a.kafka_cluster = u.kafka_cluster AND a.group_id = u.group_id AND a.resource_kind = u.resource_kind
    AND a.resource = u.resource AND a.nth = u.a_nth
  JOIN ranked b ON b.kafka_cluster = u.kafka_cluster AND b.group_id = u.group_id AND b.resource_kind = u.resource_kind
    AND b.resource = u.resource AND b.nth = u.b_nth
)
SELECT
  p.a_id, p.b_id,
  CASE WHEN p.is_stepped THEN NULL WHEN p.a_process = p.b_process THEN 0L
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN -back.hi_ms
    ELSE -assume_skew_ms END AS lo_ms,
  CASE WHEN p.is_stepped THEN NULL WHEN p.a_process = p.b_process THEN 0L
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN forth.hi_ms
    ELSE assume_skew_ms END AS hi_ms,
  CASE
    WHEN p.is_stepped THEN 'stepped'
    WHEN p.a_process = p.b_process THEN 'same_process'
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN 'edges'
    WHEN assume_skew_ms IS NOT NULL THEN 'assumed'
    WHEN s.suspects > 0 THEN 'stepped'
    ELSE 'none'
  END AS clock_how,
  CASE WHEN p.a_process <> p.b_process AND back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL
    THEN concat(back.witness, forth.witness) END AS clock_witness,
  p.is_next
FROM pair p
LEFT JOIN clock_closure forth ON forth.from_process_id = p.a_process AND forth.to_process_id = p.b_process
LEFT JOIN clock_closure back ON back.from_process_id = p.b_process AND back.to_process_id = p.a_process
LEFT JOIN (
  SELECT a.a_id, a.b_id, count(s.process_id) AS suspects
  FROM pair a LEFT JOIN clock_suspect s ON s.process_id IN (a.a_process, a.b_process)
  GROUP BY a.a_id, a.b_id
) s ON s.a_id = p.a_id AND s.b_id = p.b_id
-- A later ownership in the same process after a plain end is everyday life; one that began before the end is not.
-- Without times the lines of one process still stand in order: one ownership ended before the other began.
WHERE NOT p.in_order AND NOT (p.is_stepped AND p.one_by_one)
  AND (p.is_next AND p.a_process <> p.b_process OR p.a_stop_hi IS NULL OR p.b_start_lo IS NULL OR p.b_start_lo < p.a_stop_hi)

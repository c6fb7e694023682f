-- One row per pair of ownerships of one resource that could be, or be mistaken for, two owners at the same time.
-- Reads: holding, event_row, clock_bound, filtered_log, process
-- Grain: a_id, b_id
-- Each ownership is paired with its next few and with every later one that it may outlast. `lo_ms` and `hi_ms` bound how far b's clock is ahead of
-- a's. All comparisons of the pair use the same offset, so the uncertainty is counted only once. Times on unrelated clocks do not show which pairs
-- matter, but generations do: each ownership is paired with the last one of every other process that was assigned no later. If more than
-- `owners_compared_most` others may have owned the resource when an ownership began, it is paired with its next few only. If one of the two starts is
-- not in the log, a is the ownership that is known to be earlier.
CREATE OR REPLACE TEMPORARY VIEW ownership_pair (
  a_id       COMMENT 'Ownership that began first, as far as is known',
  b_id       COMMENT 'The other',
  lo_ms      COMMENT 'b''s clock is ahead of a''s by at least this; NULL: unknown',
  hi_ms      COMMENT 'b''s clock is ahead of a''s by at most this; NULL: unknown',
  clock_how  COMMENT 'same_process, edges, assumed, none or stepped: how the offset is known',
  clock_witness COMMENT 'The lines that bound the offset',
  is_next    COMMENT 'True if b is the next ownership after a',
  left_out   COMMENT 'Maximum number of ownerships that may have overlapped one of the two and are not paired with it; NULL: none, or
    another pair of it has the number'
)
AS
WITH owner AS (
  -- Times are on the reference clock. If a start is not in the log, only the latest possible one is known: its first line.
  SELECT *, row_number() OVER in_time AS nth, count_if(from_lo_ms IS NULL) OVER in_time AS unseen_nth,
    CASE WHEN start_how = 'seen' THEN coalesce(from_lo_ms, from_hi_ms) ELSE coalesce(from_hi_ms, to_lo_ms, from_lo_ms) END AS known_ms,
    lead(from_lo_ms, 5) OVER in_time AS fifth_from_ms,
    lead(generation) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, process_id, client
      ORDER BY instance, ownership_id) AS next_generation,
    min(reference_process_id) OVER of_resource <> max(reference_process_id) OVER of_resource AS is_on_several_clocks
  FROM (
    SELECT ownership_id, kafka_cluster, group_id, resource_kind, resource, process_id, reference_process_id, instance, generation, start_how,
      stop_how, start_id, stop_id, CASE WHEN resource_kind = 'partition' THEN owner ELSE '' END AS client, from_lo_ms, from_hi_ms, to_lo_ms,
      to_hi_ms, stepped AS is_stepped,
      -- The order of lines decides if the clock was set while the process ran, for times in whole seconds of partitions that a consumer releases and
      -- receives again immediately, and if one line is both.
      stepped OR resource_kind = 'partition' AND (resolution_ms > 1 OR stop_how <=> 'assigned_again') AS is_ordered_by_line
    FROM holding WHERE group_id IS NOT NULL
  )
  WINDOW of_resource AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource),
    in_time AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY coalesce(from_lo_ms, from_hi_ms), ownership_id)
), generation_position AS (
  -- If clocks do not order the ownerships of a resource, generations do.
  SELECT *, row_number() OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY generation, nth) AS place FROM owner
  WHERE is_on_several_clocks AND generation IS NOT NULL
), ownership_edge AS (
  -- Each ownership begins and ends by time or by generation. One that ends before the fifth after it begins needs only its next four.
  SELECT kafka_cluster, group_id, resource_kind, resource, true AS is_timed, nth AS place, false AS is_end, from_lo_ms AS at FROM owner
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, true, nth, true, to_hi_ms FROM owner
  WHERE fifth_from_ms IS NOT NULL AND (to_hi_ms IS NULL OR to_hi_ms > fifth_from_ms)
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, false, place, false, generation FROM generation_position
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, false, place, true, next_generation FROM generation_position
  WHERE next_generation IS NULL OR next_generation > generation
), last_overlap AS (
  -- For each ownership, the last one that began before it ended. One without a known start may have begun at any time.
  SELECT kafka_cluster, group_id, resource_kind, resource, is_timed, place, unseen_count, greatest_place,
    CASE WHEN at IS NULL THEN greatest_place ELSE begun_place END AS last_place
  FROM (
    SELECT *, max(CASE WHEN NOT is_end AND at IS NOT NULL THEN place END) OVER so_far AS begun_place, max(place) OVER of_resource AS greatest_place,
      count_if(NOT is_end AND at IS NULL) OVER of_resource AS unseen_count
    FROM ownership_edge
    WINDOW of_resource AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, is_timed),
      so_far AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, is_timed ORDER BY at, is_end DESC, place ROWS UNBOUNDED PRECEDING)
  )
  WHERE is_end
), concurrent_owners AS (
  -- The number of these that may have existed when each began. Pairs of all of them would be quadratic.
  SELECT kafka_cluster, group_id, resource_kind, resource, is_timed, place, last_place, unseen_count, greatest_place,
    there > owners_compared_most AS is_crowded
  FROM (
    SELECT *, sum(CASE WHEN is_begin THEN 1 ELSE -1 END) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, is_timed
      ORDER BY at_place, is_begin DESC, place ROWS UNBOUNDED PRECEDING) AS there
    FROM (SELECT *, place AS at_place, true AS is_begin FROM last_overlap UNION ALL SELECT *, last_place, false FROM last_overlap)
  )
  WHERE is_begin
), time_pair AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, nth AS a_nth, explode(sequence(nth + 1, nth + 4)) AS b_nth FROM owner
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, place, explode(sequence(place + 5, last_place)) FROM concurrent_owners
  WHERE is_timed AND NOT is_crowded AND last_place >= place + 5
  UNION ALL
  SELECT a.kafka_cluster, a.group_id, a.resource_kind, a.resource, a.place, b.nth FROM concurrent_owners a
  JOIN owner b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.resource_kind = a.resource_kind AND b.resource = a.resource
    AND b.from_lo_ms IS NULL AND b.unseen_nth <= owners_compared_most AND b.nth > a.place + 4 AND (a.is_crowded OR b.nth > a.last_place)
  WHERE a.is_timed
), generation_pair AS (
  SELECT x.kafka_cluster, x.group_id, x.resource_kind, x.resource, least(x.nth, y.nth) AS a_nth, greatest(x.nth, y.nth) AS b_nth
  FROM (
    SELECT x.kafka_cluster, x.group_id, x.resource_kind, x.resource, x.nth, x.process_id, x.reference_process_id,
      explode(CASE WHEN c.is_crowded THEN sequence(greatest(x.first_place, x.place - 4), least(c.last_place, x.place + 4))
        ELSE sequence(x.first_place, c.last_place) END) AS other_place
    FROM (
      SELECT *, min(place) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, generation) AS first_place FROM generation_position
    ) x
    JOIN concurrent_owners c ON NOT c.is_timed AND c.kafka_cluster = x.kafka_cluster AND c.group_id = x.group_id AND c.resource_kind = x.resource_kind
      AND c.resource = x.resource AND c.place = x.place
  ) x
  JOIN generation_position y ON y.kafka_cluster = x.kafka_cluster AND y.group_id = x.group_id AND y.resource_kind = x.resource_kind
    AND y.resource = x.resource AND y.place = x.other_place
  WHERE y.process_id <> x.process_id AND y.reference_process_id <> x.reference_process_id
  GROUP BY x.kafka_cluster, x.group_id, x.resource_kind, x.resource, least(x.nth, y.nth), greatest(x.nth, y.nth)
), chosen_pair AS (
  SELECT t.*, true AS is_timed FROM time_pair t
  LEFT ANTI JOIN generation_pair u ON u.kafka_cluster = t.kafka_cluster AND u.group_id = t.group_id AND u.resource_kind = t.resource_kind
    AND u.resource = t.resource AND u.a_nth = t.a_nth AND u.b_nth = t.b_nth
  UNION ALL
  SELECT *, false FROM generation_pair
), omitted_count AS (
  SELECT h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.nth, sum(c.left_out) AS left_out
  FROM (
    SELECT *, CASE WHEN is_crowded THEN greatest(last_place - place - 4L, 0L) ELSE 0L END
      + CASE WHEN last_place < greatest_place THEN greatest(unseen_count - owners_compared_most, 0L) ELSE 0L END AS left_out
    FROM concurrent_owners
  ) c
  LEFT JOIN generation_position p ON NOT c.is_timed AND p.kafka_cluster = c.kafka_cluster AND p.group_id = c.group_id
    AND p.resource_kind = c.resource_kind AND p.resource = c.resource AND p.place = c.place
  JOIN owner h ON h.kafka_cluster = c.kafka_cluster AND h.group_id = c.group_id AND h.resource_kind = c.resource_kind
    AND h.resource = c.resource AND h.nth = coalesce(p.nth, c.place)
  WHERE c.left_out > 0 GROUP BY h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.nth
), ownership_pair_facts AS (
  SELECT a.ownership_id AS a_id, b.ownership_id AS b_id, a.process_id AS a_process, b.process_id AS b_process, c.is_timed,
    a.process_id = b.process_id AS is_one_process, c.b_nth = c.a_nth + 1 AS is_next, a.to_hi_ms, b.from_lo_ms,
    coalesce(a.from_lo_ms, a.from_hi_ms, a.to_lo_ms, a.to_hi_ms, b.from_lo_ms, b.from_hi_ms, b.to_lo_ms, b.to_hi_ms) IS NULL
      AND coalesce(a.stop_how, b.stop_how) IS NOT NULL AS is_untimed_turn,
    a.is_stepped OR b.is_stepped AS is_suspect, a.process_id = b.process_id AND a.is_ordered_by_line AS is_ordered_by_line,
    a.start_id AS a_start_id, a.stop_id AS a_stop_id, b.start_id AS b_start_id, b.stop_id AS b_stop_id, w.left_out,
    -- The start of one of them is not in the log, and the other one is known to be later.
    c.is_timed AND a.process_id <> b.process_id AND (a.start_how <> 'seen' OR b.start_how <> 'seen')
      AND coalesce(b.known_ms < a.known_ms, false) AS is_reversed
  FROM chosen_pair c
  JOIN owner a ON a.kafka_cluster = c.kafka_cluster AND a.group_id = c.group_id AND a.resource_kind = c.resource_kind
    AND a.resource = c.resource AND a.nth = c.a_nth
  JOIN owner b ON b.kafka_cluster = c.kafka_cluster AND b.group_id = c.group_id AND b.resource_kind = c.resource_kind
    AND b.resource = c.resource AND b.nth = c.b_nth
  LEFT JOIN omitted_count w ON w.kafka_cluster = c.kafka_cluster AND w.group_id = c.group_id AND w.resource_kind = c.resource_kind
    AND w.resource = c.resource AND w.nth = c.a_nth
), successive_pair AS (
  -- The lines of one process are in order: one ownership ended before the other began.
  SELECT l.a_id, l.b_id
  FROM (
    SELECT a_id, b_id, explode(map('a_start', a_start_id, 'a_stop', a_stop_id, 'b_start', b_start_id, 'b_stop', b_stop_id)) AS (what, event_id)
    FROM ownership_pair_facts WHERE is_ordered_by_line
  ) l
  JOIN event_row e ON e.event_id = l.event_id
  GROUP BY l.a_id, l.b_id
  HAVING max(CASE WHEN l.what = 'a_stop' THEN e.stream_pos END) <= max(CASE WHEN l.what = 'b_start' THEN e.stream_pos END)
    OR max(CASE WHEN l.what = 'b_stop' THEN e.stream_pos END) <= max(CASE WHEN l.what = 'a_start' THEN e.stream_pos END)
), ordered_pair AS (
  SELECT CASE WHEN p.is_reversed THEN p.b_id ELSE p.a_id END AS a_id, CASE WHEN p.is_reversed THEN p.a_id ELSE p.b_id END AS b_id,
    CASE WHEN p.is_reversed THEN p.b_process ELSE p.a_process END AS a_process,
    CASE WHEN p.is_reversed THEN p.a_process ELSE p.b_process END AS b_process,
    p.is_one_process, p.is_next, p.is_suspect, p.left_out, p.a_id AS crowded_id
  FROM ownership_pair_facts p LEFT ANTI JOIN process o ON o.process_id = p.a_process AND array_contains(o.same_process_ids, p.b_process)
  -- A later ownership in the same process after a clean end is normal; one that began before the end is not. Without times the lines of one process
  -- are still in order. For a task this proves little, because its thread may run on after the line of the stop request.
  LEFT ANTI JOIN successive_pair s ON s.a_id = p.a_id AND s.b_id = p.b_id
  -- Lines in an unknown order show no second start.
  LEFT ANTI JOIN filtered_log u ON p.is_one_process AND u.process_id = p.a_process AND u.why = 'unordered'
  WHERE NOT (p.is_one_process AND p.is_untimed_turn)
    AND (NOT p.is_timed OR p.is_next AND NOT p.is_one_process OR p.to_hi_ms IS NULL OR p.from_lo_ms IS NULL OR p.from_lo_ms < p.to_hi_ms)
), chain AS (
  -- The clocks of two members of a large group are compared through processes that both are compared with.
  SELECT p.f, p.t, min(struct(a.hi_ms + b.hi_ms AS hi_ms, concat(array_join(a.witness, ','), array_join(b.witness, ',')) AS k,
    concat(a.witness, b.witness) AS witness)) AS best
  FROM (SELECT a_process AS f, b_process AS t FROM ordered_pair UNION SELECT b_process, a_process FROM ordered_pair) p
  LEFT ANTI JOIN clock_bound o ON o.from_process_id = p.f AND o.to_process_id = p.f AND o.hi_ms IS NOT NULL
  LEFT ANTI JOIN clock_bound o ON o.from_process_id = p.t AND o.to_process_id = p.t AND o.hi_ms IS NOT NULL
  JOIN clock_bound a ON a.from_process_id = p.f AND a.hi_ms IS NOT NULL
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = p.t AND b.hi_ms IS NOT NULL
  WHERE p.f <> p.t AND size(a.witness) + size(b.witness) <= 8 GROUP BY p.f, p.t
), pair_bound AS (
  SELECT from_process_id AS f, to_process_id AS t, hi_ms, witness FROM clock_bound WHERE hi_ms IS NOT NULL
  UNION ALL
  SELECT f, t, best.hi_ms, best.witness FROM chain
)
SELECT p.a_id, p.b_id,
  CASE WHEN p.is_one_process THEN CASE WHEN NOT p.is_suspect THEN 0L END
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN -back.hi_ms
    WHEN NOT p.is_suspect THEN -assume_skew_ms END AS lo_ms,
  CASE WHEN p.is_one_process THEN CASE WHEN NOT p.is_suspect THEN 0L END
    WHEN back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN forth.hi_ms
    WHEN NOT p.is_suspect THEN assume_skew_ms END AS hi_ms,
  CASE WHEN NOT p.is_one_process AND back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN 'edges'
    -- Nobody can assume how far a clock that stepped is from another.
    WHEN p.is_suspect THEN 'stepped'
    WHEN p.is_one_process THEN 'same_process'
    WHEN assume_skew_ms IS NOT NULL THEN 'assumed'
    ELSE 'none' END AS clock_how,
  CASE WHEN NOT p.is_one_process AND back.hi_ms IS NOT NULL AND forth.hi_ms IS NOT NULL THEN concat(back.witness, forth.witness) END AS clock_witness,
  p.is_next, CASE WHEN row_number() OVER (PARTITION BY p.crowded_id ORDER BY p.a_id, p.b_id) = 1 THEN p.left_out END AS left_out
FROM ordered_pair p LEFT JOIN pair_bound forth ON forth.f = p.a_process AND forth.t = p.b_process
LEFT JOIN pair_bound back ON back.f = p.b_process AND back.t = p.a_process

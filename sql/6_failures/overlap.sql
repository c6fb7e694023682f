-- One row per ownership pair: for how long both owned the resource, over every clock offset that the edges allow, and whether both worked.
-- Reads: ownership_pair, holding, member_round, event_row, task_line, event, filtered_log
-- Grain: a_id, b_id
-- For a fixed offset the overlap is the earlier end minus the later start. Over all offsets it has no inner minimum, so the minimum is at one of the
-- two bounds, and the maximum is at a bound or where two starts or two ends coincide. An ownership without a known start is not certain at all, and a
-- known one is certain only up to the last line that shows it: no proof rests on a line that is not in the log. Printed times are truncated to the
-- layout's resolution, so an event may be nearly that much later. That does not apply to two threads of one worker, whose lines are in order and
-- which restarts a task only after the previous thread has ended. Nothing is certain if the lines of one of the two are not in the order in which
-- they were printed.
CREATE OR REPLACE TEMPORARY VIEW overlap (
  a_id        COMMENT 'Ownership that began first, as far as is known',
  b_id        COMMENT 'The other',
  a           COMMENT 'Row of a in holding, with its bounds on the reference clock: from_lo_ms, from_hi_ms, to_lo_ms, to_hi_ms, ...',
  b           COMMENT 'The same of b',
  lo_ms       COMMENT 'b''s clock is ahead of a''s by at least this; NULL: unknown',
  hi_ms       COMMENT 'b''s clock is ahead of a''s by at most this; NULL: unknown',
  clock_how   COMMENT 'same_process, edges, assumed, none or stepped: how the offset is known',
  clock_witness COMMENT 'The lines that bound the offset',
  is_next     COMMENT 'True if b is the next ownership after a',
  handover    COMMENT 'Messages that prove that one had ended before the other began: first_id, how, left_generation, ...; NULL: none do',
  verdict     COMMENT 'proved, refuted or undecided',
  worked      COMMENT 'True if both certainly existed and both showed activity in that time',
  certain_ms  COMMENT 'Both threads (holdings) certainly existed for at least this; at or below zero, or NULL: not certain',
  possible_ms COMMENT 'Both threads (holdings) existed for at most this; at or below zero: never both; NULL: no bound',
  work_possible_ms COMMENT 'Both were working for at most this; at or below zero: never both; NULL: no bound',
  a_work      COMMENT 'a''s first and last activity while both certainly existed, by its own clock: first_ms, last_ms, event_id; or NULL',
  b_work      COMMENT 'The same of b',
  asked       COMMENT 'Bounds that would each settle the pair if they were narrow, or all wide ones: a_start, a_end, b_start, b_end'
)
AS
WITH owner AS (
  -- Each start (began) and each end from its earliest to its latest possible moment, on the reference clock.
  SELECT *, coalesce(from_lo_ms, -9000000000000000) AS began_from_ms, coalesce(from_hi_ms, sure_ms - ahead_lo_ms, 9000000000000000) AS began_to_ms,
    coalesce(sure_ms - ahead_hi_ms, -9000000000000000) AS ended_from_ms, coalesce(to_hi_ms, 9000000000000000) AS ended_to_ms
  FROM (
    SELECT h.*, u.process_id IS NOT NULL AS is_unordered, least(h.stop_lo_ms, h.until_ms) AS sure_ms FROM holding h
    LEFT SEMI JOIN (SELECT a_id AS id FROM ownership_pair UNION SELECT b_id FROM ownership_pair) p ON p.id = h.ownership_id
    LEFT JOIN filtered_log u ON u.process_id = h.process_id AND u.why IN ('unordered', 'sorted')
  )
), owner_pair AS (
  SELECT p.a_id, p.b_id, p.lo_ms, p.hi_ms, p.clock_how, p.clock_witness, p.is_next, struct(a.*) AS a, struct(b.*) AS b,
    CASE WHEN a.process_id = b.process_id AND a.resource_kind <> 'partition' THEN 0 ELSE a.resolution_ms END AS x_ms,
    CASE WHEN a.process_id = b.process_id AND a.resource_kind <> 'partition' THEN 0 ELSE b.resolution_ms END AS y_ms
  FROM ownership_pair p JOIN owner a ON a.ownership_id = p.a_id
  JOIN owner b ON b.ownership_id = p.b_id
), pair_span AS (
  -- On each one's own clock. NULL means no bound on that side; greatest and least ignore it. An end that seems to come before the start, because the
  -- clock was set back, is no bound.
  SELECT a_id, b_id, lo_ms AS l, hi_ms AS u, a.start_lo_ms AS a_start_lo, a.start_hi_ms + x_ms AS a_start_hi, a.sure_ms AS a_stop_lo,
    CASE WHEN a.stop_hi_ms + x_ms < a.start_lo_ms THEN NULL ELSE a.stop_hi_ms + x_ms END AS a_stop_hi,
    CASE WHEN a.work_stop_hi_ms + x_ms < a.start_lo_ms THEN NULL ELSE a.work_stop_hi_ms + x_ms END AS a_work_hi,
    b.start_lo_ms AS b_start_lo, b.start_hi_ms + y_ms AS b_start_hi, b.sure_ms AS b_stop_lo,
    CASE WHEN b.stop_hi_ms + y_ms < b.start_lo_ms THEN NULL ELSE b.stop_hi_ms + y_ms END AS b_stop_hi,
    CASE WHEN b.work_stop_hi_ms + y_ms < b.start_lo_ms THEN NULL ELSE b.work_stop_hi_ms + y_ms END AS b_work_hi
  FROM owner_pair WHERE lo_ms IS NOT NULL AND hi_ms IS NOT NULL
), pair_overlap AS (
  SELECT *,
    CASE WHEN a_start_hi IS NOT NULL AND a_stop_lo IS NOT NULL AND b_start_hi IS NOT NULL AND b_stop_lo IS NOT NULL
      THEN array_min(transform(array(l, u), d -> least(a_stop_lo, b_stop_lo - d) - greatest(a_start_hi, b_start_hi - d))) END AS certain_ms,
    array_max(transform(array(l, u, greatest(l, least(u, b_stop_hi - a_stop_hi)), greatest(l, least(u, b_start_lo - a_start_lo))),
      d -> least(a_stop_hi, b_stop_hi - d) - greatest(a_start_lo, b_start_lo - d))) AS possible_ms,
    array_max(transform(array(l, u, greatest(l, least(u, b_work_hi - a_work_hi)), greatest(l, least(u, b_start_lo - a_start_lo))),
      d -> least(a_work_hi, b_work_hi - d) - greatest(a_start_lo, b_start_lo - d))) AS work_possible_ms
  FROM pair_span
), pair_side AS (
  -- The time in which both certainly existed and neither had certainly stopped working, by each one's own clock.
  SELECT a_id, b_id, 'a' AS side, a_id AS ownership_id, greatest(a_start_hi, b_start_hi - l) AS from_ms,
    least(a_stop_lo, b_stop_lo - u, a_work_hi, b_work_hi - u) AS to_ms
  FROM pair_overlap WHERE certain_ms > 0
  UNION ALL
  SELECT a_id, b_id, 'b', b_id, greatest(b_start_hi, a_start_hi + u), least(b_stop_lo, a_stop_lo + l, b_work_hi, a_work_hi + l)
  FROM pair_overlap WHERE certain_ms > 0
), position_line AS (
  SELECT process_id, instance, coalesce(client_id, task, thread, '-') AS client, stream_pos, unix_millis(ts) AS at_ms, event_id,
    event IN ('position_set', 'position_reset', 'position_sought') AS is_jump,
    event = 'fetch_position' OR event = 'commit_sent' AND lower(message) RLIKE 'auto-?commit' AS is_progress,
    explode(CASE WHEN `partition` IS NOT NULL THEN array(named_struct('resource', `partition`, 'position', `offset`))
      ELSE transform(map_entries(offsets), x -> named_struct('resource', x.key, 'position', x.value)) END) AS at
  FROM event
  WHERE event IN ('position_set', 'position_reset', 'position_sought', 'fetch_position', 'offset_committed', 'commit_sent', 'commit_failed')
), position_with_previous AS (
  -- A position without a number (the end of the log) hides where the consumer was before.
  SELECT *, lag(CASE WHEN is_jump OR is_progress THEN struct(at_ms, at.position) END) IGNORE NULLS OVER (
    PARTITION BY process_id, instance, client, at.resource ORDER BY stream_pos, event_id) AS was
  FROM position_line
), activity_line AS (
  -- Activity of the resource itself: other lines of the process, and those of a client that is being closed, do not prove work.
  SELECT process_id, resource_kind, resource, concat_ws('/', instance, life) AS owner, at_ms AS since_ms, at_ms, event_id FROM task_line
  WHERE is_work
  UNION ALL
  -- Between two lines a consumer read records of a partition. A commit alone does not show the position: several may be in flight, and records that
  -- were read before a pause may be committed after it. An automatic commit always has the complete position.
  SELECT process_id, 'partition', at.resource, client, was.at_ms, at_ms, event_id FROM position_with_previous
  WHERE at.position > was.position AND NOT is_jump
), side_activity AS (
  SELECT s.a_id, s.b_id, s.side, struct(min(g.at_ms) AS first_ms, max(g.at_ms) AS last_ms,
    max_by(g.event_id, struct(g.at_ms IS NOT NULL, g.at_ms, g.event_id)) AS event_id) AS work
  FROM pair_side s JOIN owner h ON h.ownership_id = s.ownership_id
  JOIN activity_line g ON g.process_id = h.process_id AND g.resource_kind = h.resource_kind AND g.resource = h.resource
    AND g.owner = h.owner AND g.since_ms >= s.from_ms AND g.at_ms <= s.to_ms
  GROUP BY s.a_id, s.b_id, s.side
), member_round_line AS (
  -- A worker owns a task, and its client is the only one of that group in the process. A partition's owner is a client.
  SELECT m.*, explode(array('', m.client)) AS owner FROM member_round m
  -- Clocks assign generations to incarnations if there are only members' logs.
  LEFT ANTI JOIN (SELECT DISTINCT kafka_cluster, group_id FROM member_round WHERE incarnation > 1) x ON x.kafka_cluster = m.kafka_cluster
    AND x.group_id = m.group_id
), wanted_line AS (
  -- `stop`: the next request or assignment after an end; `start`: the last join, or assignment received, before a start.
  SELECT m.kafka_cluster, m.group_id, m.process_id, m.owner, m.generation, CAST(NULL AS STRING) AS ownership_id, l.side, l.how, l.event_id
  FROM member_round_line m
  LATERAL VIEW inline(array(struct('stop' AS side, 'request' AS how, CASE WHEN m.is_fresh THEN m.joining_last.event_id END AS event_id),
      struct('stop' AS side, 'assignment' AS how, CASE WHEN m.is_leader THEN m.computed.event_id END AS event_id),
      struct('start' AS side, 'request' AS how, m.joined.event_id AS event_id),
      struct('start' AS side, 'assignment' AS how, m.synced.event_id AS event_id))) l AS side, how, event_id
  UNION ALL
  SELECT h.kafka_cluster, h.group_id, h.process_id, CASE WHEN h.resource_kind = 'partition' THEN h.owner ELSE '' END, NULL, h.ownership_id, l.side,
    w.how, l.event_id
  FROM owner h
  LATERAL VIEW inline(array(struct('stop' AS side, h.stop_id AS event_id), struct('start' AS side, h.start_id AS event_id))) l AS side, event_id
  LATERAL VIEW explode(array('request', 'assignment')) w AS how
), ownership_round AS (
  SELECT ownership_id, side, how, event_id, round
  FROM (
    SELECT w.ownership_id, w.side, w.how, w.event_id,
      lag(CASE WHEN w.ownership_id IS NULL THEN struct(w.generation, w.event_id) END) IGNORE NULLS OVER (
        PARTITION BY w.side, w.how, w.process_id, w.kafka_cluster, w.group_id, w.owner
        ORDER BY CASE w.side WHEN 'stop' THEN -e.stream_pos ELSE e.stream_pos END, w.ownership_id NULLS LAST) AS round
    FROM wanted_line w JOIN event_row e ON e.event_id = w.event_id
    WHERE w.ownership_id IS NOT NULL OR w.side = 'start' OR w.how = 'request' OR e.event = 'assignment_computed'
  )
  WHERE ownership_id IS NOT NULL AND round IS NOT NULL
), causal_handover AS (
  -- Messages prove, without any clock, that one had ended before the other began. After the first ended, its process asked to join generation N, and
  -- the second began after its process was in generation M >= N: the coordinator ends the join phase of N between the two. Or its process led
  -- generation N and computed the assignment after the end, and the second began after its process received its share of it; a later generation may
  -- have been formed without a late leader.
  SELECT a_id, b_id, first_id, how, left_generation, got_generation, witness
  FROM (
    SELECT p.a_id, p.b_id, p.first_id, a.how, a.round.generation AS left_generation, g.round.generation AS got_generation,
      array(a.event_id, a.round.event_id, g.round.event_id, g.event_id) AS witness,
      row_number() OVER (PARTITION BY p.a_id, p.b_id ORDER BY a.how DESC, p.first_id) AS nth
    FROM (
      SELECT a_id, b_id, inline(array(struct(a_id AS first_id, b_id AS second_id), struct(b_id AS first_id, a_id AS second_id)))
      FROM ownership_pair WHERE clock_how <> 'same_process'
    ) p
    JOIN ownership_round a ON a.ownership_id = p.first_id AND a.side = 'stop'
    JOIN ownership_round g ON g.ownership_id = p.second_id AND g.side = 'start' AND g.how = a.how
    WHERE a.round.generation = g.round.generation OR a.how = 'request' AND a.round.generation < g.round.generation
  )
  WHERE nth = 1
), pair_verdict AS (
  SELECT p.*, o.certain_ms, o.possible_ms, o.work_possible_ms, x.work AS a_work, y.work AS b_work,
    CASE WHEN c.first_id IS NOT NULL THEN struct(c.first_id, c.how, c.left_generation, c.got_generation, c.witness) END AS handover,
    CASE
      WHEN p.a.is_unordered OR p.b.is_unordered THEN 'undecided'
      -- This compares no clocks, so it overrides any result from clocks.
      WHEN c.first_id IS NOT NULL THEN 'refuted'
      WHEN o.certain_ms > 0 THEN 'proved'
      WHEN o.possible_ms <= 0 THEN 'refuted'
      ELSE 'undecided' END AS verdict,
    -- One of the four bounds would settle the pair if it could be a moment when both certainly existed, or certainly did not.
    array(
      struct('a_end' AS bound, a.ended_to_ms - a.ended_from_ms > clocks_close_ms AS is_wide,
        least(a.ended_to_ms, b.ended_from_ms) > greatest(a.began_to_ms, b.began_to_ms)
        OR least(a.ended_from_ms, b.ended_to_ms) < greatest(a.began_from_ms, b.began_from_ms) AS decides),
      struct('b_end' AS bound, b.ended_to_ms - b.ended_from_ms > clocks_close_ms AS is_wide,
        least(a.ended_from_ms, b.ended_to_ms) > greatest(a.began_to_ms, b.began_to_ms)
        OR least(a.ended_to_ms, b.ended_from_ms) < greatest(a.began_from_ms, b.began_from_ms) AS decides),
      struct('a_start' AS bound, a.began_to_ms - a.began_from_ms > clocks_close_ms AS is_wide,
        least(a.ended_from_ms, b.ended_from_ms) > greatest(a.began_from_ms, b.began_to_ms)
        OR least(a.ended_to_ms, b.ended_to_ms) < greatest(a.began_to_ms, b.began_from_ms) AS decides),
      struct('b_start' AS bound, b.began_to_ms - b.began_from_ms > clocks_close_ms AS is_wide,
        least(a.ended_from_ms, b.ended_from_ms) > greatest(a.began_to_ms, b.began_from_ms)
        OR least(a.ended_to_ms, b.ended_to_ms) < greatest(a.began_from_ms, b.began_to_ms) AS decides)) AS bounds
  FROM owner_pair p LEFT JOIN pair_overlap o ON o.a_id = p.a_id AND o.b_id = p.b_id
  LEFT JOIN side_activity x ON x.a_id = p.a_id AND x.b_id = p.b_id AND x.side = 'a'
  LEFT JOIN side_activity y ON y.a_id = p.a_id AND y.b_id = p.b_id AND y.side = 'b'
  LEFT JOIN causal_handover c ON c.a_id = p.a_id AND c.b_id = p.b_id
    AND NOT (p.a.is_unordered OR p.b.is_unordered)
)
SELECT a_id, b_id, a, b, lo_ms, hi_ms, clock_how, clock_witness, is_next, handover, verdict,
  verdict = 'proved' AND a_work IS NOT NULL AND b_work IS NOT NULL AS worked, certain_ms, possible_ms, work_possible_ms, a_work, b_work,
  transform(CASE
    -- Clocks that cannot be compared leave every bound open.
    WHEN lo_ms IS NOT NULL AND exists(bounds, x -> x.is_wide AND x.decides) THEN filter(bounds, x -> x.is_wide AND x.decides)
    ELSE filter(bounds, x -> x.is_wide)
  END, x -> x.bound) AS asked
FROM pair_verdict

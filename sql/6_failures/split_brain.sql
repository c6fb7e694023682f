-- One row per pair of ownerships of one resource that needs a verdict: were there two owners at the same time?
-- Reads: ownership_pair, overlap, owner_line, pair_sign, causal_handover, holding, process_resolution
-- Reads: client_event, clock_offset, join_round, generation, early_end, process_life, event, process_cluster, filtered_log
-- Reads: duplicate_ledger, process_trouble, producer_session
-- Grain: ownership_a, ownership_b
-- Words: by view
-- Public: yes
-- proved: the two spans overlap with every possible clock offset. refuted: they overlap with none, or messages alone prove that one had
-- ended before the other began. undecided: the rest. An assignment is not enough: a span begins with a line of the task or consumer itself.
-- A is the ownership that began first, B the other; the words of this view use the same names. If the start of one is not in its log, A is
-- the one that is known to have existed first. Missing lines are requested from the log that lacks them. Of several wide bounds, only those
-- are requested that would each decide the pair, or all if none would.
CREATE OR REPLACE TEMPORARY VIEW split_brain (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'Resource that had two owners, or not',
  process_a      COMMENT 'Process of the ownership that began first, if known',
  process_b      COMMENT 'Process of the other',
  kind           COMMENT 'work: both worked; thread: both threads existed; held: both held the assignment',
  from_lo        COMMENT 'Earliest start of the overlap (reference clock of the island; if the clocks cannot be compared, the earlier start
    as printed). Refuted: the later start, which is after the earlier end',
  from_hi        COMMENT 'Latest start of the overlap',
  to_lo          COMMENT 'Earliest end of the overlap',
  to_hi          COMMENT 'Latest end of the overlap (if the clocks cannot be compared, the later end as printed); NULL: unknown',
  certain_ms     COMMENT 'Overlap of `kind` for at least this long, milliseconds: both working, or both there (held)',
  possible_ms    COMMENT 'Overlap of `kind` for up to this long, milliseconds; NULL: no bound',
  verdict        COMMENT 'proved, refuted or undecided',
  margin_ms      COMMENT 'The verdict holds unless a clock jumped by more than this, milliseconds; NULL: undecided, or without clocks',
  cause          COMMENT 'Cause, in a closed vocabulary; NULL for refuted pairs',
  code           COMMENT 'Result of the lines, in a closed vocabulary; the words of this view describe each',
  facts          COMMENT 'Named facts of the sentences in addition to the columns; _at_ms: milliseconds since 1970, by its own clock',
  explanation    COMMENT 'The facts, their consequences, and why they contradict a single owner, or not',
  missing        COMMENT 'For undecided pairs: the evidence that would settle it, the cheapest first; NULL for others',
  records_at_risk COMMENT 'Minimum number of records that the second read again; NULL: unknown (duplicate_ledger has them by partition)',
  clock_how      COMMENT 'Basis of the verdict: same_process, messages (no clock), edges between clocks, assumed, none, stepped',
  ownership_a    COMMENT 'Ownership that began first',
  ownership_b    COMMENT 'The other',
  witness        COMMENT 'Events that prove it',
  witness_role   COMMENT 'Role of each of these events',
  there_certain_ms COMMENT 'Both threads there (both holding a partition) for at least this, milliseconds; 0 unless proved',
  there_possible_ms COMMENT 'Both threads there (both holding a partition) for up to this, milliseconds; NULL: no bound',
  work_certain_ms COMMENT 'Both working for at least this, milliseconds; 0: both worked, not certainly at the same moment; NULL: not shown',
  work_possible_ms COMMENT 'Both working for up to this, milliseconds; NULL: no bound'
)
COMMENT 'One row per pair of ownerships of one resource that needs a verdict: were there two owners at the same time?'
AS
WITH pair_verdict AS (
  SELECT
    r.a_id, r.b_id, r.clock_how, r.clock_witness, r.lo_ms, r.hi_ms, r.is_next,
    o.certain_ms, o.possible_ms, o.work_possible_ms,
    g.a_first_ms, g.a_last_ms, g.a_sign_id, g.b_first_ms, g.b_last_ms, g.b_sign_id,
    c.first_id, c.how AS handover_how, c.left_generation, c.got_generation, c.witness AS handover,
    CASE
      -- This compares no clocks, so it overrides any result from clocks.
      WHEN c.first_id IS NOT NULL THEN 'refuted'
      WHEN o.certain_ms > 0 THEN 'proved'
      WHEN o.possible_ms <= 0 THEN 'refuted'
      ELSE 'undecided'
    END AS verdict,
    coalesce(c.first_id IS NULL AND o.certain_ms > 0 AND g.a_sign_id IS NOT NULL AND g.b_sign_id IS NOT NULL, false) AS worked
  FROM ownership_pair r
  LEFT JOIN overlap o ON o.a_id = r.a_id AND o.b_id = r.b_id
  LEFT JOIN pair_sign g ON g.a_id = r.a_id AND g.b_id = r.b_id
  LEFT JOIN causal_handover c ON c.a_id = r.a_id AND c.b_id = r.b_id
), pair_on_clock AS (
  -- Unless named otherwise, times are on the reference clock: lo and hi bound the start, end_lo and end_hi the end.
  SELECT
    j.*,
    a.kafka_cluster, a.group_id, a.resource_kind, a.resource, a.process_id AS a_process, b.process_id AS b_process,
    a.generation AS a_generation, b.generation AS b_generation, b.member_id AS b_member_id,
    a.stop_asked_ms AS a_stop_asked, a.is_overdue AS a_is_overdue, a.start_how AS a_start_how, b.start_how AS b_start_how,
    a.is_stop_lost AS a_stop_lost, b.is_stop_lost AS b_stop_lost, a.start_witness AS a_start_witness, b.start_witness AS b_start_witness,
    CASE WHEN a.start_how <> 'seen' THEN a.not_before_id END AS a_not_before_id,
    CASE WHEN b.start_how <> 'seen' THEN b.not_before_id END AS b_not_before_id,
    a.start_hi_ms AS a_start_hi_ms, least(a.stop_lo_ms, ua.until_ms) AS a_stop_lo_ms, b.start_hi_ms AS b_start_hi_ms,
    least(b.stop_lo_ms, ub.until_ms) AS b_stop_lo_ms,
    a.start_hi_ms + ra.resolution_ms AS a_met_from, b.start_hi_ms + rb.resolution_ms AS b_met_until,
    ua.until_id AS a_until_id, ub.until_id AS b_until_id, ua.heard_witness AS a_heard, ub.heard_witness AS b_heard,
    ua.until_ms AS a_seen_ms, ub.until_ms AS b_seen_ms,
    a.start_lo_ms AS a_start_lo_ms, b.start_lo_ms AS b_start_lo_ms, a.stop_hi_ms AS a_stop_hi_ms, b.stop_hi_ms AS b_stop_hi_ms,
    a.start_sign_id AS a_start_id, a.stop_id AS a_stop_id, a.last_sign_id AS a_last_id, a.stop_asked_id AS a_asked_id,
    b.start_id AS b_order_id, b.start_sign_id AS b_start_id, b.stop_id AS b_stop_id, b.last_sign_id AS b_last_id,
    a.stop_how AS a_stop_how, b.stop_how AS b_stop_how,
    a.start_lo_ms - ca.hi_ms AS a_lo, a.start_hi_ms + ra.resolution_ms - ca.lo_ms AS a_hi, a.stop_lo_ms - ca.hi_ms AS a_end_lo,
    a.stop_hi_ms + ra.resolution_ms - ca.lo_ms AS a_end_hi, a.work_stop_hi_ms + ra.resolution_ms - ca.lo_ms AS a_work_hi,
    b.start_lo_ms - cb.hi_ms AS b_lo, b.start_hi_ms + rb.resolution_ms - cb.lo_ms AS b_hi, b.stop_lo_ms - cb.hi_ms AS b_end_lo,
    b.stop_hi_ms + rb.resolution_ms - cb.lo_ms AS b_end_hi, b.work_stop_hi_ms + rb.resolution_ms - cb.lo_ms AS b_work_hi,
    ca.lo_ms AS a_off_lo, ca.hi_ms AS a_off_hi, cb.lo_ms AS b_off_lo, cb.hi_ms AS b_off_hi, ca.stepped OR cb.stepped AS has_stepped,
    CASE WHEN j.worked THEN 'work' WHEN a.resource_kind = 'partition' THEN 'held' ELSE 'thread' END AS kind,
    row_number() OVER (PARTITION BY j.b_id, a.process_id, j.verdict
      ORDER BY j.certain_ms DESC NULLS LAST, a.start_hi_ms DESC, j.a_id) AS nth
  FROM pair_verdict j
  JOIN holding a ON a.ownership_id = j.a_id
  JOIN holding b ON b.ownership_id = j.b_id
  JOIN process_resolution ra ON ra.process_id = a.process_id
  JOIN process_resolution rb ON rb.process_id = b.process_id
  JOIN clock_offset ca ON ca.process_id = a.process_id AND ca.is_island_reference
  JOIN clock_offset cb ON cb.process_id = b.process_id AND cb.is_island_reference
  LEFT JOIN owner_line ua ON ua.ownership_id = j.a_id
  LEFT JOIN owner_line ub ON ub.ownership_id = j.b_id
), pair_duration AS (
  SELECT *,
    CASE WHEN verdict = 'proved' THEN certain_ms ELSE 0 END AS there_certain,
    CASE WHEN verdict = 'refuted' THEN 0L WHEN possible_ms IS NOT NULL THEN greatest(0, possible_ms) END AS there_possible,
    CASE WHEN kind = 'work' THEN greatest(0, least(a_last_ms - a_off_hi, b_last_ms - b_off_hi)
      - greatest(a_first_ms - a_off_lo, b_first_ms - b_off_lo)) END AS work_certain,
    CASE WHEN verdict = 'refuted' THEN 0L WHEN work_possible_ms IS NOT NULL THEN greatest(0, work_possible_ms) END AS work_possible
  FROM pair_on_clock
), pair_with_bounds AS (
  -- Each start and each end from its earliest to its latest possible moment.
  SELECT *,
    coalesce(a_hi, a_stop_lo_ms - a_off_lo, open_ms) AS a_start_to, coalesce(b_hi, b_stop_lo_ms - b_off_lo, open_ms) AS b_start_to,
    coalesce(a_lo, -open_ms) AS a_start_from, coalesce(b_lo, -open_ms) AS b_start_from,
    coalesce(a_end_hi, open_ms) AS a_end_to, coalesce(b_end_hi, open_ms) AS b_end_to,
    coalesce(a_stop_lo_ms - a_off_hi, -open_ms) AS a_end_from, coalesce(b_stop_lo_ms - b_off_hi, -open_ms) AS b_end_from
  FROM (SELECT *, 9000000000000000 AS open_ms FROM pair_duration)
), pair_with_decisions AS (
  -- One of the four would decide the pair if it could be a moment when both certainly existed, or certainly did not.
  SELECT *,
    a_end_to - a_end_from > clocks_close_ms AS a_end_is_wide, b_end_to - b_end_from > clocks_close_ms AS b_end_is_wide,
    a_start_to - a_start_from > clocks_close_ms AS a_start_is_wide, b_start_to - b_start_from > clocks_close_ms AS b_start_is_wide,
    least(a_end_to, b_end_from) > greatest(a_start_to, b_start_to) OR least(a_end_from, b_end_to) < greatest(a_start_from, b_start_from)
      AS a_end_decides,
    least(a_end_from, b_end_to) > greatest(a_start_to, b_start_to) OR least(a_end_to, b_end_from) < greatest(a_start_from, b_start_from)
      AS b_end_decides,
    least(a_end_from, b_end_from) > greatest(a_start_from, b_start_to) OR least(a_end_to, b_end_to) < greatest(a_start_to, b_start_from)
      AS a_start_decides,
    least(a_end_from, b_end_from) > greatest(a_start_to, b_start_from) OR least(a_end_to, b_end_to) < greatest(a_start_from, b_start_to)
      AS b_start_decides
  FROM pair_with_bounds
), pair_with_requests AS (
  SELECT *,
    a_end_is_wide AND (a_end_decides OR NOT one_decides) AS asks_a_end, b_end_is_wide AND (b_end_decides OR NOT one_decides) AS asks_b_end,
    a_start_is_wide AND (a_start_decides OR NOT one_decides) AS asks_a_start,
    b_start_is_wide AND (b_start_decides OR NOT one_decides) AS asks_b_start
  FROM (
    SELECT *,
      -- Clocks that cannot be compared leave every bound open.
      lo_ms IS NOT NULL AND (a_end_is_wide AND a_end_decides OR b_end_is_wide AND b_end_decides OR a_start_is_wide AND a_start_decides
        OR b_start_is_wide AND b_start_decides) AS one_decides
    FROM pair_with_decisions
  )
), worker_assignment AS (
  -- A worker's assignment in a generation: since 2.3 all that it may run.
  SELECT r.process_id, r.group_id, r.generation, max_by(struct(e.assigned_tasks, e.assigned_connectors), r.from_pos) AS assigned
  FROM join_round r
  JOIN client_event e ON e.event_id = r.worker_assigned_id
  WHERE r.is_worker
  GROUP BY r.process_id, r.group_id, r.generation
), records_read_again AS (
  -- For a partition from its two members, for a sink's task from the task's own consumers.
  SELECT p.a_id, p.b_id, sum(d.records_lo) AS records
  FROM pair_on_clock p JOIN duplicate_ledger d
    ON d.kafka_cluster = p.kafka_cluster AND d.old_process_id = p.a_process AND d.new_process_id = p.b_process
    AND (p.resource_kind = 'partition' AND d.resource = p.resource AND d.group_id = p.group_id AND d.new_member_id = p.b_member_id
      OR p.resource_kind = 'task' AND d.old_client = p.resource AND d.new_client = p.resource
        AND unix_millis(d.restarted_hi) >= p.b_lo AND (p.b_end_hi IS NULL OR unix_millis(d.restarted_lo) <= p.b_end_hi))
  WHERE p.verdict <> 'refuted'
  GROUP BY p.a_id, p.b_id
), pair_incident AS (
  -- The incident of its process when the second began: a process that printed lines meanwhile was cut off, not frozen.
  SELECT p.a_id, p.b_id, bool_or(t.cause = 'process_paused') AS is_paused, min(t.from_lo_ms) AS from_lo_ms,
    -- If the start is not in the log, the moment counts at which the second certainly existed.
    bool_or(t.cause = 'member_cut_off' AND t.from_hi_ms <= CASE WHEN p.b_start_how <> 'seen' THEN p.b_hi ELSE p.b_lo END) AS is_cut_off
  FROM pair_on_clock p
  JOIN process_trouble t ON t.process_id = p.a_process AND t.from_lo_ms <= p.b_hi AND coalesce(t.to_hi_ms >= p.b_lo, true)
  WHERE p.verdict = 'proved' AND p.a_process <> p.b_process
  GROUP BY p.a_id, p.b_id
), membership_trouble AS (
  -- Events of the first owner's membership, before and after the second began. A loss long before a freeze is unrelated.
  SELECT p.a_id, p.b_id,
    bool_or(c.event IN ('coordinator_lost', 'worker_revoking')
      -- If the start is not in the log, its latest moment shows nothing about earlier events.
      AND c.at_ms + coalesce(p.lo_ms, 0) <= CASE WHEN p.b_start_how <> 'seen' THEN p.b_start_lo_ms ELSE p.b_start_hi_ms END
      AND NOT coalesce(s.is_paused AND c.at_ms - p.a_off_lo < s.from_lo_ms, false)) AS lost_before,
    bool_or(c.event IN ('coordinator_lost', 'heartbeat_failed', 'generation_reset', 'poll_timeout')
      AND c.at_ms + coalesce(p.hi_ms, 0) > p.b_start_hi_ms) AS lost_after,
    bool_or(c.event = 'poll_timeout' AND p.resource_kind = 'partition' AND c.at_ms + coalesce(p.lo_ms, 0) <= p.b_start_hi_ms)
      AS left_before,
    min_by(c.event_id, c.stream_pos) FILTER (WHERE c.event IN ('coordinator_lost', 'heartbeat_failed', 'poll_timeout')) AS event_id
  FROM pair_on_clock p
  JOIN client_event c ON c.process_id = p.a_process AND c.group_id = p.group_id
    -- An owner from before its log begins existed from the log's begin.
    AND c.at_ms BETWEEN CASE WHEN p.a_start_how = 'open' THEN 0 ELSE p.a_start_hi_ms END AND p.a_stop_lo_ms + loss_noticed_ms
  LEFT JOIN pair_incident s ON s.a_id = p.a_id AND s.b_id = p.b_id
  WHERE p.verdict = 'proved'
  GROUP BY p.a_id, p.b_id
), coordinated_group AS (
  -- Groups whose coordinator has a log, complete or in part. In a filtered one, any line of the group shows it.
  SELECT kafka_cluster, group_id, bool_and(has_end) AS is_whole, bool_or(is_part) AS is_filtered
  FROM (
    SELECT g.kafka_cluster, g.group_id, g.seen_by_broker AS has_end, f.process_id IS NOT NULL AS is_part
    FROM generation g
    LEFT JOIN filtered_log f ON f.process_id = g.coordinator
    UNION ALL
    SELECT c.kafka_cluster, e.group_id, false, true
    FROM event e
    JOIN filtered_log f ON f.process_id = e.process_id
    JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
      AND coalesce(e.stream_pos < c.to_pos, true)
    WHERE e.event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'group_emptied', 'group_loaded', 'member_added',
      'member_left', 'member_expired')
  )
  GROUP BY kafka_cluster, group_id
  HAVING bool_or(has_end OR is_part)
), pair_evidence AS (
  SELECT p.*, d.records,
    CASE p.resource_kind WHEN 'task' THEN g.assigned.assigned_tasks ELSE g.assigned.assigned_connectors END AS b_assigned,
    -- Any line of its tasks or members shows the process running.
    CASE WHEN f.process_id IS NOT NULL THEN max(greatest(p.a_stop_lo_ms, f.last_ms)) OVER (PARTITION BY p.a_process, p.a_stop_hi_ms)
      END AS a_process_last_ms,
    t.lost_before, t.lost_after, t.left_before, coalesce(s.is_paused, false) AS is_paused,
    coalesce(s.is_cut_off, false) AS is_cut_off,
    CASE
      WHEN p.first_id IS NOT NULL THEN 'ended_before_by_messages'
      WHEN p.verdict = 'refuted' THEN 'ended_before_by_clocks'
      WHEN p.verdict = 'proved' THEN CASE p.kind WHEN 'work' THEN 'both_worked' WHEN 'thread' THEN 'both_there' ELSE 'both_held' END
      WHEN p.clock_how = 'none' THEN 'clocks_not_joined'
      WHEN p.clock_how = 'stepped' THEN 'clock_stepped'
      ELSE 'clocks_allow_both'
    END AS code,
    -- For two that did not overlap, the one that ended first; nearly always a.
    CASE WHEN p.first_id IS NOT NULL THEN p.first_id = p.a_id
      ELSE p.a_stop_hi_ms IS NOT NULL AND p.b_start_lo_ms IS NOT NULL END AS a_was_first,
    -- The cheapest first: an existing log, a log of the machine, then another log level for the next time.
    filter(array(
      CASE WHEN coalesce(p.a_start_lo_ms, p.a_start_hi_ms, p.a_stop_lo_ms, p.a_stop_hi_ms) IS NULL THEN 'line_times_of_a' END,
      CASE WHEN coalesce(p.b_start_lo_ms, p.b_start_hi_ms, p.b_stop_lo_ms, p.b_stop_hi_ms) IS NULL AND p.a_process <> p.b_process
        THEN 'line_times_of_b' END,
      CASE WHEN p.clock_how = 'stepped' THEN 'clock_set'
        WHEN p.clock_how = 'none' OR p.hi_ms - p.lo_ms > clocks_close_ms THEN
          CASE WHEN l.group_id IS NULL THEN 'coordinator_log' WHEN p.has_stepped THEN 'clock_set'
            WHEN l.is_filtered THEN 'coordinator_whole' WHEN NOT l.is_whole THEN 'coordinator_lines' END
      END,
      CASE WHEN p.asks_a_end AND p.a_stop_hi_ms IS NULL AND p.a_stop_lo_ms IS NOT NULL AND NOT coalesce(p.a_stop_lost, false)
        THEN 'end_of_a' END,
      CASE WHEN p.asks_a_start AND p.a_start_lo_ms IS NULL AND p.a_start_hi_ms IS NOT NULL AND NOT p.a_start_how <=> 'lost'
        THEN 'start_of_a' END,
      CASE WHEN p.asks_b_start AND p.b_start_lo_ms IS NULL AND p.b_start_hi_ms IS NOT NULL AND NOT p.b_start_how <=> 'lost'
        THEN 'start_of_b' END,
      CASE WHEN p.asks_a_start AND coalesce(p.a_start_hi_ms, p.a_stop_lo_ms) IS NOT NULL AND p.a_start_how = 'lost'
        THEN 'start_lines_of_a' END,
      CASE WHEN p.asks_b_start AND coalesce(p.b_start_hi_ms, p.b_stop_lo_ms) IS NOT NULL AND p.b_start_how = 'lost'
        THEN 'start_lines_of_b' END,
      CASE WHEN p.b_start_hi_ms IS NULL AND p.b_start_lo_ms IS NOT NULL AND NOT p.b_start_how <=> 'lost' THEN 'sign_of_b' END,
      CASE WHEN p.asks_b_end AND p.b_stop_hi_ms IS NULL AND p.b_stop_lo_ms IS NOT NULL AND NOT coalesce(p.b_stop_lost, false)
        THEN 'end_of_b' END,
      CASE WHEN p.asks_a_end AND p.a_stop_hi_ms IS NULL AND p.a_stop_lost THEN 'lines_after_a' END,
      CASE WHEN p.asks_b_end AND p.b_stop_hi_ms IS NULL AND p.b_stop_lost THEN 'lines_after_b' END,
      CASE WHEN p.a_stop_how = 'process_restarted' AND p.a_process <> p.b_process
        AND p.a_stop_lo_ms IS NOT NULL AND p.a_stop_hi_ms IS NOT NULL AND u.process_id IS NULL THEN 'process_end_of_a' END,
      CASE WHEN p.resource_kind = 'task' AND p.asks_a_end AND NOT coalesce(p.a_stop_lost, false)
        AND (NOT p.a_stop_how <=> 'process_restarted' OR p.a_stop_asked IS NOT NULL) THEN 'debug_level_of_a' END,
      -- It ended somewhere between two lines that are far apart; missing lines would have shown when.
      CASE WHEN p.asks_a_end AND p.a_stop_hi_ms > p.a_stop_lo_ms AND (NOT p.a_stop_how <=> 'process_restarted' OR u.process_id IS NOT NULL)
        THEN 'lines_of_a' END,
      CASE WHEN p.asks_b_end AND p.b_stop_hi_ms > p.b_stop_lo_ms AND p.b_stop_lost AND NOT p.b_stop_how <=> 'process_restarted'
        THEN 'lines_of_b' END,
      CASE WHEN p.resource_kind = 'partition' AND p.a_stop_hi_ms IS NOT NULL AND p.b_stop_hi_ms IS NOT NULL
        AND p.hi_ms - p.lo_ms <= clocks_close_ms AND p.possible_ms <= p.hi_ms - p.lo_ms + clocks_close_ms THEN 'nothing' END
    ), e -> e IS NOT NULL) AS evidence,
    CASE WHEN p.first_id IS NOT NULL THEN p.handover
      ELSE array(p.a_start_id, p.a_sign_id, p.a_asked_id, coalesce(p.a_stop_id, p.a_last_id),
          p.b_order_id, p.b_start_id, p.b_sign_id, coalesce(p.b_stop_id, p.b_last_id),
          CASE WHEN p.verdict = 'proved' THEN p.a_until_id END, CASE WHEN p.verdict = 'proved' THEN p.b_until_id END, t.event_id,
          CASE WHEN p.verdict = 'refuted' THEN p.a_not_before_id END, CASE WHEN p.verdict = 'refuted' THEN p.b_not_before_id END)
        || CASE WHEN p.verdict = 'proved' THEN coalesce(p.a_heard, array()) || coalesce(p.b_heard, array())
          || coalesce(p.a_start_witness, array()) || coalesce(p.b_start_witness, array()) ELSE array() END
        || coalesce(p.clock_witness, array())
    END AS lines,
    CASE WHEN p.first_id IS NOT NULL THEN transform(p.handover, (e, i) -> element_at(
        array('the first ends',
          CASE WHEN p.handover_how = 'assignment' THEN 'its process makes the assignment' ELSE 'its process asks to join' END,
          'the other process is in the generation', 'the second starts'), i + 1))
      ELSE array(CASE WHEN p.a_start_id IS NOT NULL THEN CASE WHEN p.a_start_how <> 'seen' THEN 'A is already active'
        ELSE 'A starts' END END,
          'A is processing', 'A is asked to stop',
          CASE WHEN p.a_stop_id IS NOT NULL THEN 'A ends' ELSE 'last activity of A' END, 'B is asked to start',
          CASE WHEN p.b_start_how <> 'seen' THEN 'B is already active' ELSE 'B starts' END, 'B is processing',
          CASE WHEN p.b_stop_id IS NOT NULL THEN 'B ends' ELSE 'last activity of B' END,
          'A is still active', 'B is still active', 'A reports a group error', 'A is not active yet', 'B is not active yet')
        || CASE WHEN p.verdict = 'proved'
          THEN transform(coalesce(p.a_heard, array()) || coalesce(p.b_heard, array()), e -> 'the coordinator hears from it')
            || transform(coalesce(p.a_start_witness, array()), (e, i) -> CASE WHEN i = 0 THEN 'identifies A' ELSE 'clock bound' END)
            || transform(coalesce(p.b_start_witness, array()), (e, i) -> CASE WHEN i = 0 THEN 'identifies B' ELSE 'clock bound' END)
          ELSE array() END
        || transform(coalesce(p.clock_witness, array()), e -> 'clock bound')
    END AS line_roles
  FROM pair_with_requests p
  LEFT JOIN membership_trouble t ON t.a_id = p.a_id AND t.b_id = p.b_id
  LEFT JOIN pair_incident s ON s.a_id = p.a_id AND s.b_id = p.b_id
  LEFT JOIN records_read_again d ON d.a_id = p.a_id AND d.b_id = p.b_id
  LEFT JOIN worker_assignment g ON p.resource_kind <> 'partition'
    AND g.process_id = p.b_process AND g.group_id = p.group_id AND g.generation = p.b_generation
  LEFT JOIN coordinated_group l ON l.kafka_cluster = p.kafka_cluster AND l.group_id = p.group_id
  LEFT JOIN process_life f ON p.a_stop_how = 'process_restarted' AND f.process_id = p.a_process AND f.next_start_ms = p.a_stop_hi_ms
  -- An end whose lines are missing was not silent.
  LEFT JOIN early_end u ON u.process_id = p.a_process AND u.next_start_ms = p.a_stop_hi_ms
  -- Not every pair needs a verdict: a clean handover is one row, and an end long before has none.
  WHERE (p.is_next OR p.verdict <> 'refuted')
    -- If several instances of one process still existed when the next began, only the one that stayed longest has a row.
    AND (p.a_process <> p.b_process OR p.is_next OR p.nth = 1)
), pair_proof AS (
  SELECT *, filter(array_distinct(lines), e -> e IS NOT NULL) AS line_ids,
    verdict = 'undecided' AND clock_how IN ('none', 'stepped') AS is_unclocked,
    -- A span that seems to end before it began, because its clock was set back, is no bound.
    CASE WHEN verdict = 'undecided' AND least(a_end_hi, b_end_hi) < greatest(a_lo, b_lo) THEN NULL
      ELSE least(a_end_hi, b_end_hi) END AS first_end_hi
  FROM pair_evidence
), pair_span AS (
  -- The time in which both may have existed, or, for a pair that worked, in which both may have worked.
  SELECT *,
    CASE WHEN is_unclocked THEN CASE WHEN a_lo IS NOT NULL AND b_lo IS NOT NULL THEN least(a_lo, b_lo) END
      ELSE greatest(a_lo, b_lo) END AS from_lo_ms,
    CASE
      WHEN kind = 'work' THEN greatest(a_first_ms - a_off_lo, b_first_ms - b_off_lo)
      WHEN a_hi IS NOT NULL AND b_hi IS NOT NULL AND NOT is_unclocked THEN CASE WHEN verdict = 'undecided'
        -- If they overlapped at all, the overlap began before it ended.
        THEN greatest(least(greatest(a_hi, b_hi), first_end_hi), a_lo, b_lo) ELSE greatest(a_hi, b_hi) END
    END AS from_hi_ms,
    CASE
      WHEN kind = 'work'
        THEN greatest(a_first_ms - a_off_lo, b_first_ms - b_off_lo, least(a_last_ms - a_off_hi, b_last_ms - b_off_hi))
      WHEN verdict = 'proved' THEN least(a_seen_ms - a_off_hi, b_seen_ms - b_off_hi)
      WHEN a_end_lo IS NOT NULL AND b_end_lo IS NOT NULL AND NOT is_unclocked THEN CASE WHEN verdict = 'undecided'
        THEN least(greatest(least(a_end_lo, b_end_lo), a_lo, b_lo), first_end_hi) ELSE least(a_end_lo, b_end_lo) END
    END AS to_lo_ms,
    CASE
      WHEN kind = 'work' THEN least(a_work_hi, b_work_hi)
      WHEN is_unclocked THEN CASE WHEN a_end_hi IS NOT NULL AND b_end_hi IS NOT NULL THEN greatest(a_end_hi, b_end_hi) END
      ELSE first_end_hi
    END AS to_hi_ms
  FROM pair_proof
)
SELECT
  p.kafka_cluster AS kafka_cluster,
  p.group_id AS group_id,
  p.resource_kind AS resource_kind,
  p.resource AS resource,
  p.a_process AS process_a,
  p.b_process AS process_b,
  p.kind AS kind,
  timestamp_millis(p.from_lo_ms) AS from_lo,
  timestamp_millis(p.from_hi_ms) AS from_hi,
  timestamp_millis(p.to_lo_ms) AS to_lo,
  timestamp_millis(p.to_hi_ms) AS to_hi,
  CASE WHEN p.kind = 'work' THEN p.work_certain ELSE p.there_certain END AS certain_ms,
  CASE WHEN p.kind = 'work' THEN p.work_possible ELSE p.there_possible END AS possible_ms,
  p.verdict AS verdict,
  CASE WHEN p.verdict = 'proved' THEN p.certain_ms WHEN p.verdict = 'refuted' AND p.first_id IS NULL THEN -p.possible_ms END AS margin_ms,
  CASE WHEN p.verdict = 'proved' THEN CASE
    WHEN p.a_process <> p.b_process AND p.a_generation = p.b_generation AND p.resource_kind <> 'partition'
      THEN 'same_generation_assigned_twice'
    WHEN p.a_process = p.b_process AND p.resource_kind <> 'partition' THEN 'graceful_stop_failed'
    WHEN p.a_stop_how IS NULL AND p.a_is_overdue THEN 'graceful_stop_failed'
    WHEN NOT array_contains(p.b_assigned, p.resource) THEN 'restart_of_task_not_owned'
    WHEN p.lost_before OR p.is_cut_off AND p.lost_after THEN 'kept_running_through_lost_coordinator'
    WHEN p.left_before THEN 'left_by_poll_timeout'
    WHEN p.is_paused AND p.lost_after THEN 'woke_after_freeze'
    WHEN p.lost_after THEN 'learnt_too_late'
    -- An owner whose start is not in its log may have existed first.
    WHEN p.b_start_how <> 'seen' AND NOT coalesce(p.b_lo >= p.a_hi, false) THEN NULL
    ELSE 'not_fenced'
  END END AS cause,
  p.code AS code,
  named_struct(
    'a_start_lo_at_ms', p.a_start_lo_ms,
    'a_start_hi_at_ms', p.a_start_hi_ms,
    'a_stop_lo_at_ms', p.a_stop_lo_ms,
    'a_stop_hi_at_ms', p.a_stop_hi_ms,
    'a_process_last_at_ms', p.a_process_last_ms,
    'b_start_lo_at_ms', p.b_start_lo_ms,
    'b_start_hi_at_ms', p.b_start_hi_ms,
    'b_stop_lo_at_ms', p.b_stop_lo_ms,
    'b_stop_hi_at_ms', p.b_stop_hi_ms,
    'a_start_how', p.a_start_how,
    'b_start_how', p.b_start_how,
    'b_began_later', coalesce(p.a_start_how = 'seen' AND p.b_start_how = 'seen'
      OR p.lo_ms IS NOT NULL AND (p.b_start_how = 'seen' OR p.b_lo >= p.a_hi), false),
    'a_removed_later', p.a_heard IS NOT NULL,
    'b_removed_later', p.b_heard IS NOT NULL,
    'b_met_a', p.verdict = 'undecided' AND p.b_start_how = 'seen' AND coalesce(p.a_met_from <= p.b_start_hi_ms - p.hi_ms
      AND p.b_met_until - p.lo_ms <= p.a_stop_lo_ms, false),
    'clock_lo_ms', p.lo_ms,
    'clock_hi_ms', p.hi_ms,
    'a_was_first', CASE WHEN p.verdict = 'refuted' THEN p.a_was_first END,
    'handover_how', p.handover_how,
    'left_generation', p.left_generation,
    'got_generation', p.got_generation,
    -- A source task whose workers have exactly.once.source.support (KIP-618): its id is the group's and the task's.
    'is_transactional', x.transactional_id IS NOT NULL,
    'evidence', CASE WHEN p.verdict = 'undecided'
      THEN CASE WHEN size(p.evidence) > 1 THEN array_remove(p.evidence, 'nothing') ELSE p.evidence END END
  ) AS facts,
  CAST(NULL AS STRING) AS explanation,
  CAST(NULL AS STRING) AS missing,
  -- A bound of zero shows nothing: the number of records read twice is then unknown.
  nullif(p.records, 0) AS records_at_risk,
  CASE WHEN p.first_id IS NOT NULL THEN 'messages' ELSE p.clock_how END AS clock_how,
  p.a_id AS ownership_a,
  p.b_id AS ownership_b,
  p.line_ids AS witness,
  transform(p.line_ids, e -> element_at(p.line_roles, CAST(array_position(p.lines, e) AS INT))) AS witness_role,
  p.there_certain AS there_certain_ms,
  p.there_possible AS there_possible_ms,
  p.work_certain AS work_certain_ms,
  p.work_possible AS work_possible_ms
FROM pair_span p
LEFT JOIN (SELECT DISTINCT kafka_cluster, transactional_id FROM producer_session) x ON x.kafka_cluster <=> p.kafka_cluster
  AND p.resource_kind = 'task' AND x.transactional_id = concat(p.group_id, '-', p.resource)
-- The most severe first: the first rows are the proved ones.
ORDER BY CASE p.verdict WHEN 'proved' THEN 0 WHEN 'undecided' THEN 1 ELSE 2 END, certain_ms DESC NULLS LAST, possible_ms DESC NULLS LAST,
  ownership_a, ownership_b

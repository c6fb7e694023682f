-- One row per pair of ownerships of one resource that needs a verdict: were there two owners at the same time?
-- Reads: overlap, client_event, join_round, generation, process_life, filtered_log, duplicate_ledger, process_trouble, producer_session
-- Reads: produced_range
-- Grain: ownership_a, ownership_b
-- Words: by view
-- Public: yes
-- proved: the two spans overlap with every possible clock offset. refuted: they overlap with none, or messages alone prove that one had ended before
-- the other began. undecided: the rest. An assignment is not enough: a span begins with a line of the task or consumer itself. A is the ownership
-- that began first, B the other; the words of this view use the same names. If the start of one is not in its log, A is the one that is known to have
-- existed first. Missing lines are requested from the log that lacks them. Of several wide bounds, only those are requested that would each decide
-- the pair, or all if none would.
CREATE OR REPLACE TEMPORARY VIEW split_brain (
  kafka_cluster, group_id, resource_kind,
  resource       COMMENT 'Resource that had two owners, or not',
  process_a      COMMENT 'Process of the ownership that began first, if known',
  process_b      COMMENT 'Process of the other',
  kind           COMMENT 'work: both worked; thread: both threads existed; held: both held the assignment',
  from_lo        COMMENT 'Earliest start of the overlap (reference clock of the island; if the clocks cannot be compared, the earlier start as
    printed). Refuted: the later start, which is after the earlier end',
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
  records_written COMMENT 'Number of records that the first wrote after the second had begun to write, by dumps of partitions (produced_range);
    NULL: none, or unknown',
  clock_how      COMMENT 'Basis of the verdict: same_process, messages (no clock), edges between clocks, assumed, none, stepped',
  ownership_a    COMMENT 'Ownership that began first',
  ownership_b    COMMENT 'The other',
  witness,
  witness_role   COMMENT 'Role of each of these events',
  there_certain_ms COMMENT 'Both threads there (both holding a partition) for at least this, milliseconds; 0 unless proved',
  there_possible_ms COMMENT 'Both threads there (both holding a partition) for up to this, milliseconds; NULL: no bound',
  work_certain_ms COMMENT 'Both working for at least this, milliseconds; 0: both worked, not certainly at the same moment; NULL: not shown',
  work_possible_ms COMMENT 'Both working for up to this, milliseconds; NULL: no bound'
)
AS
WITH pair AS (
  SELECT *, a.process_id AS a_process, b.process_id AS b_process, a.kafka_cluster AS kafka_cluster, a.group_id AS group_id,
    a.resource_kind AS resource_kind, a.resource AS resource,
    CASE WHEN worked THEN 'work' WHEN a.resource_kind = 'partition' THEN 'held' ELSE 'thread' END AS kind,
    -- An owner whose start is not in its log certainly existed only later.
    CASE WHEN b.start_how <> 'seen' THEN b.from_hi_ms ELSE b.from_lo_ms END AS b_began_ms,
    row_number() OVER (PARTITION BY b_id, a.process_id, verdict ORDER BY certain_ms DESC NULLS LAST, a.start_hi_ms DESC, a_id) AS nth
  FROM overlap
), worker_assignment AS (
  -- A worker's assignment in a generation: since 2.3 all that it may run.
  SELECT r.process_id, r.group_id, r.generation, max_by(struct(e.assigned_tasks, e.assigned_connectors), r.from_pos) AS assigned
  FROM join_round r JOIN client_event e ON e.event_id = r.worker_assigned_id WHERE r.is_worker
  GROUP BY r.process_id, r.group_id, r.generation
), records_read_again AS (
  -- For a partition from its two members, for a sink's task from the task's own consumers.
  SELECT p.a_id, p.b_id, sum(greatest(d.records_lo, d.committed_again_lo)) AS records FROM pair p
  JOIN duplicate_ledger d ON d.kafka_cluster = p.kafka_cluster AND d.old_process_id = p.a_process AND d.new_process_id = p.b_process
    AND (p.resource_kind = 'partition' AND d.resource = p.resource AND d.group_id = p.group_id AND d.new_member_id = p.b.member_id
      OR p.resource_kind = 'task' AND d.old_client = p.resource AND d.new_client = p.resource
        AND unix_millis(d.restarted_hi) >= p.b.from_lo_ms AND coalesce(unix_millis(d.restarted_lo) <= p.b.to_hi_ms, p.b.to_hi_ms IS NULL))
  WHERE p.verdict <> 'refuted' GROUP BY p.a_id, p.b_id
), records_written AS (
  -- A source task's. If two processes had it twice, it is unknown which time it was. A dump of another cluster may have the same producer ids, at
  -- other times.
  SELECT p.a_id, p.b_id, sum(w.records_after) AS records, min_by(w.event_id, struct(w.partition, w.event_id)) AS event_id
  FROM (SELECT *, count(*) OVER (PARTITION BY kafka_cluster, resource, a_process, b_process) AS times FROM pair WHERE verdict = 'proved') p
  JOIN produced_range w ON w.task = p.resource AND w.process_id = p.a_process AND w.overlapped_by_process_id = p.b_process
    AND unix_millis(w.last_ts) BETWEEN p.b.from_hi_ms - written_near_ms AND coalesce(p.a.to_hi_ms, unix_millis(w.last_ts)) + written_near_ms
  WHERE p.resource_kind = 'task' AND p.times = 1 AND w.records_after > 0 GROUP BY p.a_id, p.b_id
), pair_incident AS (
  -- The incident of its process when the second began: a process that printed lines meanwhile was cut off, not frozen.
  SELECT p.a_id, p.b_id, bool_or(t.cause = 'process_paused') AS is_paused, min(t.from_lo_ms) AS from_lo_ms,
    bool_or(t.cause = 'member_cut_off' AND t.from_hi_ms <= p.b_began_ms) AS is_cut_off
  FROM pair p
  JOIN process_trouble t ON t.process_id = p.a_process AND t.from_lo_ms <= p.b.from_hi_ms AND coalesce(t.to_hi_ms >= p.b.from_lo_ms, true)
  WHERE p.verdict = 'proved' AND p.a_process <> p.b_process GROUP BY p.a_id, p.b_id
), membership_trouble AS (
  -- Events of the first owner's membership, before and after the second began. A loss long before a freeze is unrelated.
  SELECT p.a_id, p.b_id,
    bool_or(c.event IN ('coordinator_lost', 'worker_revoking')
      -- If the start is not in the log, its latest moment shows nothing about earlier events.
      AND c.at_ms + coalesce(p.lo_ms, 0) <= CASE WHEN p.b.start_how <> 'seen' THEN p.b.start_lo_ms ELSE p.b.start_hi_ms END
      AND NOT coalesce(s.is_paused AND c.at_ms - p.a.ahead_lo_ms < s.from_lo_ms, false)) AS lost_before,
    bool_or(c.event IN ('coordinator_lost', 'heartbeat_failed', 'generation_reset', 'poll_timeout')
      AND c.at_ms + coalesce(p.hi_ms, 0) > p.b.start_hi_ms) AS lost_after,
    bool_or(c.event = 'poll_timeout' AND p.resource_kind = 'partition' AND c.at_ms + coalesce(p.lo_ms, 0) <= p.b.start_hi_ms) AS left_before,
    min_by(c.event_id, c.stream_pos) FILTER (WHERE c.event IN ('coordinator_lost', 'heartbeat_failed', 'poll_timeout')) AS event_id
  FROM pair p
  JOIN (
    SELECT * FROM client_event WHERE event IN ('coordinator_lost', 'worker_revoking', 'heartbeat_failed', 'generation_reset', 'poll_timeout')
  ) c ON c.process_id = p.a_process AND c.group_id = p.group_id
    -- An owner from before its log begins existed from the log's begin.
    AND c.at_ms BETWEEN CASE WHEN p.a.start_how = 'open' THEN 0 ELSE p.a.start_hi_ms END AND p.a.sure_ms + loss_noticed_ms
  LEFT JOIN pair_incident s ON s.a_id = p.a_id AND s.b_id = p.b_id
  WHERE p.verdict = 'proved' GROUP BY p.a_id, p.b_id
), coordinated_group AS (
  -- Groups whose coordinator has a log, complete or in part.
  SELECT g.kafka_cluster, g.group_id, bool_and(g.seen_by_broker) AS is_whole, bool_or(f.process_id IS NOT NULL) AS is_filtered
  FROM generation g LEFT JOIN filtered_log f ON f.process_id = g.coordinator GROUP BY g.kafka_cluster, g.group_id
  HAVING bool_or(g.seen_by_broker OR f.process_id IS NOT NULL)
), pair_evidence AS (
  SELECT p.*, d.records, w.records AS records_written, t.lost_before, t.lost_after, t.left_before, coalesce(s.is_paused, false) AS is_paused,
    coalesce(s.is_cut_off, false) AS is_cut_off,
    CASE p.resource_kind WHEN 'task' THEN g.assigned.assigned_tasks ELSE g.assigned.assigned_connectors END AS b_assigned,
    -- Any line of its tasks or members shows the process running.
    CASE WHEN f.process_id IS NOT NULL
      THEN max(greatest(p.a.sure_ms, f.last_ms)) OVER (PARTITION BY p.a_process, p.a.stop_hi_ms) END AS a_process_last_ms,
    p.verdict = 'undecided' AND p.clock_how IN ('none', 'stepped') AS is_unclocked,
    -- A span that seems to end before it began, because its clock was set back, is no bound.
    CASE WHEN p.verdict = 'undecided' AND least(p.a.to_hi_ms, p.b.to_hi_ms) < greatest(p.a.from_lo_ms, p.b.from_lo_ms) THEN NULL
      ELSE least(p.a.to_hi_ms, p.b.to_hi_ms) END AS first_end_hi,
    -- The cheapest first: an existing log, a log of the machine, then another log level for the next time.
    filter(array(
      CASE WHEN p.a.is_unordered THEN 'line_order_of_a' END,
      CASE WHEN p.b.is_unordered AND p.a_process <> p.b_process THEN 'line_order_of_b' END,
      CASE WHEN coalesce(p.a.start_lo_ms, p.a.start_hi_ms, p.a.sure_ms) IS NULL THEN 'line_times_of_a' END,
      CASE WHEN coalesce(p.b.start_lo_ms, p.b.start_hi_ms, p.b.sure_ms) IS NULL AND p.a_process <> p.b_process THEN 'line_times_of_b' END,
      CASE WHEN p.clock_how = 'stepped' THEN 'clock_set'
        WHEN p.clock_how = 'none' OR p.hi_ms - p.lo_ms > clocks_close_ms THEN
          CASE WHEN l.group_id IS NULL THEN 'coordinator_log' WHEN p.a.stepped OR p.b.stepped THEN 'clock_set'
            WHEN l.is_filtered THEN 'coordinator_whole' WHEN NOT l.is_whole THEN 'coordinator_lines' END END,
      CASE WHEN array_contains(p.asked, 'a_end') AND p.a.stop_hi_ms IS NULL AND p.a.sure_ms IS NOT NULL
        AND NOT coalesce(p.a.is_stop_lost, false) THEN 'end_of_a' END,
      CASE WHEN array_contains(p.asked, 'a_start') AND p.a.start_lo_ms IS NULL AND p.a.start_hi_ms IS NOT NULL
        AND NOT p.a.start_how <=> 'lost' THEN 'start_of_a' END,
      CASE WHEN array_contains(p.asked, 'b_start') AND p.b.start_lo_ms IS NULL AND p.b.start_hi_ms IS NOT NULL
        AND NOT p.b.start_how <=> 'lost' THEN 'start_of_b' END,
      CASE WHEN array_contains(p.asked, 'a_start') AND coalesce(p.a.start_hi_ms, p.a.sure_ms) IS NOT NULL AND p.a.start_how = 'lost'
        THEN 'start_lines_of_a' END,
      CASE WHEN array_contains(p.asked, 'b_start') AND coalesce(p.b.start_hi_ms, p.b.sure_ms) IS NOT NULL AND p.b.start_how = 'lost'
        THEN 'start_lines_of_b' END,
      CASE WHEN p.b.start_hi_ms IS NULL AND p.b.start_lo_ms IS NOT NULL AND NOT p.b.start_how <=> 'lost' THEN 'sign_of_b' END,
      CASE WHEN array_contains(p.asked, 'b_end') AND p.b.stop_hi_ms IS NULL AND p.b.sure_ms IS NOT NULL
        AND NOT coalesce(p.b.is_stop_lost, false) THEN 'end_of_b' END,
      CASE WHEN array_contains(p.asked, 'a_end') AND p.a.stop_hi_ms IS NULL AND p.a.is_stop_lost THEN 'lines_after_a' END,
      CASE WHEN array_contains(p.asked, 'b_end') AND p.b.stop_hi_ms IS NULL AND p.b.is_stop_lost THEN 'lines_after_b' END,
      CASE WHEN p.a.stop_how = 'process_restarted' AND p.a_process <> p.b_process AND p.a.sure_ms IS NOT NULL
        AND p.a.stop_hi_ms IS NOT NULL THEN 'process_end_of_a' END,
      CASE WHEN p.resource_kind = 'task' AND array_contains(p.asked, 'a_end') AND NOT coalesce(p.a.is_stop_lost, false)
        AND (NOT p.a.stop_how <=> 'process_restarted' OR p.a.stop_asked_ms IS NOT NULL) THEN 'debug_level_of_a' END,
      -- It ended somewhere between two lines that are far apart; missing lines would have shown when.
      CASE WHEN array_contains(p.asked, 'a_end') AND p.a.stop_hi_ms > p.a.sure_ms AND NOT p.a.stop_how <=> 'process_restarted' THEN 'lines_of_a' END,
      CASE WHEN array_contains(p.asked, 'b_end') AND p.b.stop_hi_ms > p.b.sure_ms AND p.b.is_stop_lost
        AND NOT p.b.stop_how <=> 'process_restarted' THEN 'lines_of_b' END,
      CASE WHEN p.resource_kind = 'partition' AND p.a.stop_hi_ms IS NOT NULL AND p.b.stop_hi_ms IS NOT NULL
        AND (p.hi_ms - p.lo_ms <= clocks_close_ms OR l.is_whole AND NOT l.is_filtered)
        AND p.possible_ms <= p.hi_ms - p.lo_ms + clocks_close_ms THEN 'nothing' END
    ), e -> e IS NOT NULL) AS evidence,
    -- Role and event of each line.
    CASE WHEN p.handover IS NOT NULL THEN array(
      array('the first ends', p.handover.witness[0]),
      array(CASE p.handover.how WHEN 'assignment' THEN 'its process makes the assignment' ELSE 'its process asks to join' END, p.handover.witness[1]),
      array('the other process is in the generation', p.handover.witness[2]), array('the second starts', p.handover.witness[3]))
    ELSE array(
      array(CASE WHEN p.a.start_how <> 'seen' THEN 'A is already active' ELSE 'A starts' END, p.a.start_sign_id),
      array('A is processing', p.a_work.event_id), array('A is asked to stop', p.a.stop_asked_id),
      array(CASE WHEN p.a.stop_id IS NOT NULL THEN 'A ends' ELSE 'last activity of A' END, coalesce(p.a.end_id, p.a.stop_id, p.a.last_sign_id)),
      array('B is asked to start', p.b.start_id),
      array(CASE WHEN p.b.start_how <> 'seen' THEN 'B is already active' ELSE 'B starts' END, p.b.start_sign_id),
      array('B is processing', p.b_work.event_id),
      array(CASE WHEN p.b.stop_id IS NOT NULL THEN 'B ends' ELSE 'last activity of B' END, coalesce(p.b.end_id, p.b.stop_id, p.b.last_sign_id)),
      array('A is still active', CASE WHEN p.verdict = 'proved' THEN p.a.until_id END),
      array('B is still active', CASE WHEN p.verdict = 'proved' THEN p.b.until_id END), array('A writes after B has begun to write', w.event_id),
      array('A reports a group error', t.event_id),
      array('A is not active yet', CASE WHEN p.verdict = 'refuted' AND p.a.start_how <> 'seen' THEN p.a.not_before_id END),
      array('B is not active yet', CASE WHEN p.verdict = 'refuted' AND p.b.start_how <> 'seen' THEN p.b.not_before_id END))
      || filter(
        transform(coalesce(p.a.heard_witness, array()) || coalesce(p.b.heard_witness, array()), e -> array('the coordinator hears from it', e))
        || transform(coalesce(p.a.start_witness, array()), (e, i) -> array(CASE WHEN i = 0 THEN 'identifies A' ELSE 'clock bound' END, e))
        || transform(coalesce(p.b.start_witness, array()), (e, i) -> array(CASE WHEN i = 0 THEN 'identifies B' ELSE 'clock bound' END, e)),
        x -> p.verdict = 'proved')
      || transform(coalesce(p.clock_witness, array()), e -> array('clock bound', e)) END AS proof
  FROM pair p LEFT JOIN membership_trouble t ON t.a_id = p.a_id AND t.b_id = p.b_id
  LEFT JOIN pair_incident s ON s.a_id = p.a_id AND s.b_id = p.b_id
  LEFT JOIN records_read_again d ON d.a_id = p.a_id AND d.b_id = p.b_id
  LEFT JOIN records_written w ON w.a_id = p.a_id AND w.b_id = p.b_id
  LEFT JOIN worker_assignment g ON p.resource_kind <> 'partition'
    AND g.process_id = p.b_process AND g.group_id = p.group_id AND g.generation = p.b.generation
  LEFT JOIN coordinated_group l ON l.kafka_cluster = p.kafka_cluster AND l.group_id = p.group_id
  LEFT JOIN process_life f ON p.a.stop_how = 'process_restarted' AND f.process_id = p.a_process
    AND coalesce(f.end_ms, f.next_start_ms) = p.a.stop_hi_ms
  -- Not every pair needs a verdict: a clean handover is one row, and an end long before has none.
  WHERE (p.is_next OR p.verdict <> 'refuted')
    -- If several instances of one process still existed when the next began, only the one that stayed longest has a row.
    AND (p.a_process <> p.b_process OR p.is_next OR p.nth = 1)
), pair_span AS (
  -- The time in which both may have existed, or, for a pair that worked, in which both may have worked.
  SELECT *, filter(array_distinct(transform(proof, x -> x[1])), e -> e IS NOT NULL) AS line_ids,
    CASE WHEN verdict = 'proved' THEN certain_ms ELSE 0 END AS there_certain,
    CASE WHEN verdict = 'refuted' THEN 0L WHEN possible_ms IS NOT NULL THEN greatest(0, possible_ms) END AS there_possible,
    CASE WHEN kind = 'work' THEN greatest(a_work.first_ms - a.ahead_lo_ms, b_work.first_ms - b.ahead_lo_ms) END AS worked_from_ms,
    CASE WHEN kind = 'work' THEN least(a_work.last_ms - a.ahead_hi_ms, b_work.last_ms - b.ahead_hi_ms) END AS worked_to_ms,
    CASE WHEN verdict = 'refuted' THEN 0L WHEN work_possible_ms IS NOT NULL THEN greatest(0, work_possible_ms) END AS work_possible,
    CASE WHEN is_unclocked THEN CASE WHEN a.from_lo_ms IS NOT NULL AND b.from_lo_ms IS NOT NULL THEN least(a.from_lo_ms, b.from_lo_ms) END
      ELSE greatest(a.from_lo_ms, b.from_lo_ms) END AS from_lo_ms
  FROM pair_evidence
), pair_bounds AS (
  SELECT *,
    CASE WHEN kind = 'work' THEN worked_from_ms
      WHEN a.from_hi_ms IS NULL OR b.from_hi_ms IS NULL OR is_unclocked THEN NULL
      -- If they overlapped at all, the overlap began before it ended.
      WHEN verdict = 'undecided' THEN greatest(least(greatest(a.from_hi_ms, b.from_hi_ms), first_end_hi), a.from_lo_ms, b.from_lo_ms)
      ELSE greatest(a.from_hi_ms, b.from_hi_ms) END AS from_hi_ms,
    CASE WHEN kind = 'work' THEN greatest(worked_from_ms, worked_to_ms)
      WHEN verdict = 'proved' THEN least(a.until_ms - a.ahead_hi_ms, b.until_ms - b.ahead_hi_ms)
      WHEN a.to_lo_ms IS NULL OR b.to_lo_ms IS NULL OR is_unclocked THEN NULL
      WHEN verdict = 'undecided' THEN least(greatest(least(a.to_lo_ms, b.to_lo_ms), a.from_lo_ms, b.from_lo_ms), first_end_hi)
      ELSE least(a.to_lo_ms, b.to_lo_ms) END AS to_lo_ms,
    CASE WHEN kind = 'work' THEN least(a.work_to_hi_ms, b.work_to_hi_ms)
      WHEN is_unclocked THEN CASE WHEN a.to_hi_ms IS NOT NULL AND b.to_hi_ms IS NOT NULL THEN greatest(a.to_hi_ms, b.to_hi_ms) END
      ELSE first_end_hi END AS to_hi_ms,
    CASE WHEN kind = 'work' THEN greatest(0, worked_to_ms - worked_from_ms) END AS work_certain
  FROM pair_span
)
SELECT p.kafka_cluster, p.group_id, p.resource_kind, p.resource, p.a_process AS process_a, p.b_process AS process_b, p.kind,
  timestamp_millis(p.from_lo_ms) AS from_lo, timestamp_millis(p.from_hi_ms) AS from_hi, timestamp_millis(p.to_lo_ms) AS to_lo,
  timestamp_millis(p.to_hi_ms) AS to_hi, CASE WHEN p.kind = 'work' THEN p.work_certain ELSE p.there_certain END AS certain_ms,
  CASE WHEN p.kind = 'work' THEN p.work_possible ELSE p.there_possible END AS possible_ms, p.verdict,
  CASE WHEN p.verdict = 'proved' THEN p.certain_ms WHEN p.verdict = 'refuted' AND p.handover IS NULL THEN -p.possible_ms END AS margin_ms,
  CASE WHEN p.verdict = 'proved' THEN CASE
    WHEN p.a_process <> p.b_process AND p.a.generation = p.b.generation AND p.resource_kind <> 'partition' THEN 'same_generation_assigned_twice'
    WHEN p.a_process = p.b_process AND p.resource_kind <> 'partition' THEN 'graceful_stop_failed'
    WHEN p.a.stop_how IS NULL AND p.a.is_overdue THEN 'graceful_stop_failed'
    WHEN NOT array_contains(p.b_assigned, p.resource) THEN 'restart_of_task_not_owned'
    WHEN p.lost_before OR p.is_cut_off AND p.lost_after THEN 'kept_running_through_lost_coordinator'
    WHEN p.left_before THEN 'left_by_poll_timeout'
    WHEN p.is_paused AND p.lost_after THEN 'woke_after_freeze'
    WHEN p.lost_after THEN 'learnt_too_late'
    -- An owner whose start is not in its log may have existed first.
    WHEN p.b.start_how <> 'seen' AND NOT coalesce(p.b.from_lo_ms >= p.a.from_hi_ms, false) THEN NULL
    ELSE 'not_fenced'
  END END AS cause,
  CASE WHEN p.handover IS NOT NULL THEN 'ended_before_by_messages'
    WHEN p.verdict = 'refuted' THEN 'ended_before_by_clocks'
    WHEN p.verdict = 'proved' THEN CASE p.kind WHEN 'work' THEN 'both_worked' WHEN 'thread' THEN 'both_there' ELSE 'both_held' END
    WHEN p.clock_how = 'none' THEN 'clocks_not_joined'
    WHEN p.clock_how = 'stepped' THEN 'clock_stepped'
    ELSE 'clocks_allow_both' END AS code,
  named_struct(
    'a_start_lo_at_ms', p.a.start_lo_ms, 'a_start_hi_at_ms', p.a.start_hi_ms, 'a_stop_lo_at_ms', p.a.sure_ms, 'a_stop_hi_at_ms', p.a.stop_hi_ms,
    'a_process_last_at_ms', p.a_process_last_ms, 'b_start_lo_at_ms', p.b.start_lo_ms, 'b_start_hi_at_ms', p.b.start_hi_ms,
    'b_stop_lo_at_ms', p.b.sure_ms, 'b_stop_hi_at_ms', p.b.stop_hi_ms, 'a_start_how', p.a.start_how, 'b_start_how', p.b.start_how,
    'b_began_later', coalesce(p.a.start_how = 'seen' AND p.b.start_how = 'seen'
      OR p.lo_ms IS NOT NULL AND (p.b.start_how = 'seen' OR p.b.from_lo_ms >= p.a.from_hi_ms), false),
    'a_removed_later', p.a.heard_witness IS NOT NULL, 'b_removed_later', p.b.heard_witness IS NOT NULL,
    'b_met_a', p.verdict = 'undecided' AND p.b.start_how = 'seen'
      AND coalesce(p.a.start_hi_ms + p.a.resolution_ms <= p.b.start_hi_ms - p.hi_ms
        AND p.b.start_hi_ms + p.b.resolution_ms - p.lo_ms <= p.a.sure_ms, false),
    'clock_lo_ms', p.lo_ms, 'clock_hi_ms', p.hi_ms,
    -- For two that did not overlap, the one that ended first; nearly always a.
    'a_was_first', CASE WHEN p.handover IS NOT NULL THEN p.handover.first_id = p.a_id
      WHEN p.verdict = 'refuted' THEN p.a.stop_hi_ms IS NOT NULL AND p.b.start_lo_ms IS NOT NULL END,
    'handover_how', p.handover.how, 'left_generation', p.handover.left_generation, 'got_generation', p.handover.got_generation,
    -- A source task whose workers have exactly.once.source.support (KIP-618): its id is the group's and the task's.
    'is_transactional', x.transactional_id IS NOT NULL,
    'evidence', CASE WHEN p.verdict = 'undecided' THEN CASE WHEN size(p.evidence) > 1 THEN array_remove(p.evidence, 'nothing') ELSE p.evidence END END
  ) AS facts, CAST(NULL AS STRING) AS explanation, CAST(NULL AS STRING) AS missing,
  -- A bound of zero shows nothing: the number of records read twice is then unknown.
  nullif(p.records, 0) AS records_at_risk, p.records_written,
  CASE WHEN p.handover IS NOT NULL THEN 'messages' ELSE p.clock_how END AS clock_how, p.a_id AS ownership_a, p.b_id AS ownership_b,
  p.line_ids AS witness,
  transform(p.line_ids, e -> element_at(transform(p.proof, x -> x[0]), CAST(array_position(transform(p.proof, x -> x[1]), e) AS INT)))
    AS witness_role,
  p.there_certain AS there_certain_ms, p.there_possible AS there_possible_ms, p.work_certain AS work_certain_ms, p.work_possible AS work_possible_ms
FROM pair_bounds p
LEFT JOIN (SELECT DISTINCT kafka_cluster, transactional_id FROM producer_session) x ON x.kafka_cluster <=> p.kafka_cluster
  AND p.resource_kind = 'task' AND x.transactional_id = concat(p.group_id, '-', p.resource)
-- The most severe first: the first rows are the proved ones.
ORDER BY CASE p.verdict WHEN 'proved' THEN 0 WHEN 'undecided' THEN 1 ELSE 2 END, certain_ms DESC NULLS LAST, possible_ms DESC NULLS LAST,
  ownership_a, ownership_b

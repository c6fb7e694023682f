-- One row per pair of ownerships of one resource that is worth a verdict: were there two owners at once?
-- Reads: rival, overlap, owner_line, rival_sign, causal_handover, holding, ownership, client_event, clock_offset, join_round, duplicate_ledger
-- Grain: ownership_a, ownership_b
-- proved: no clock offset that the lines allow makes the two spans disjoint. refuted: none makes them overlap, or messages alone prove that one had
-- ended before the other began. undecided: the rest.
-- An assignment proves nothing here: a span begins with a line of the task or consumer itself.
CREATE OR REPLACE TEMPORARY VIEW split_brain (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'What had two owners, or not',
  process_a      COMMENT 'Process of the ownership that began first',
  process_b      COMMENT 'Process of the other',
  kind           COMMENT 'work: both were at it; thread: both threads were there; held: both held the assignment',
  from_lo        COMMENT 'The overlap began at the earliest then (reference clock of the island)',
  from_hi        COMMENT 'The overlap began at the latest then',
  to_lo          COMMENT 'The overlap ended at the earliest then',
  to_hi          COMMENT 'The overlap ended at the latest then; NULL: nothing says',
  certain_ms     COMMENT 'Of `kind` at least this long, milliseconds: both at work, or both there (held)',
  possible_ms    COMMENT 'Of `kind` at most this long, milliseconds; NULL: no bound',
  verdict        COMMENT 'proved, refuted or undecided',
  margin_ms      COMMENT 'The verdict holds unless a clock jumped by more than this, milliseconds; NULL: undecided, or no clock was compared',
  cause          COMMENT 'Why, in a closed vocabulary; NULL for refuted pairs',
  explanation    COMMENT 'The facts, what follows, and why it contradicts a single owner, or not',
  missing        COMMENT 'For undecided pairs: the evidence that would decide',
  records_at_risk COMMENT 'Records that the second read again, at least; NULL: no line tells (duplicate_ledger has them by partition)',
  clock_how      COMMENT 'What the verdict rests on: same_process, messages (no clock), edges between clocks, assumed, none, stepped',
  ownership_a    COMMENT 'Ownership that began first',
  ownership_b    COMMENT 'The other',
  witness        COMMENT 'Events that prove it',
  there_certain_ms COMMENT 'Both threads there (both holding a partition) for at least this, milliseconds; 0 unless proved',
  there_possible_ms COMMENT 'Both threads there (both holding a partition) for at most this, milliseconds; NULL: no bound',
  work_certain_ms COMMENT 'Both at work for at least this, milliseconds; 0: both worked while both were there, at no common moment for sure; NULL: not shown',
  work_possible_ms COMMENT 'Both at work for at most this, milliseconds; NULL: no bound'
)
COMMENT 'One row per pair of ownerships of one resource that is worth a verdict: were there two owners at once?'
AS
WITH judged AS (
  SELECT
    r.a_id, r.b_id, r.clock_how, r.clock_witness, r.lo_ms, r.hi_ms, r.is_next,
    o.certain_ms, o.possible_ms, o.work_possible_ms, g.a_first_ts, g.a_last_ts, g.a_sign_id, g.b_first_ts, g.b_last_ts, g.b_sign_id,
    c.first_id, c.left_generation, c.got_generation, c.witness AS handover,
    CASE
      -- No clock is compared here, so nothing that clocks say outweighs it.
      WHEN c.first_id IS NOT NULL THEN 'refuted'
      WHEN o.certain_ms IS NULL THEN 'undecided'
      WHEN o.certain_ms > 0 THEN 'proved'
      WHEN o.possible_ms <= 0 THEN 'refuted'
      ELSE 'undecided'
    END AS verdict,
    coalesce(c.first_id IS NULL AND o.certain_ms > 0 AND g.a_sign_id IS NOT NULL AND g.b_sign_id IS NOT NULL, false) AS worked
  FROM rival r
  LEFT JOIN overlap o ON o.a_id = r.a_id AND o.b_id = r.b_id
  LEFT JOIN rival_sign g ON g.a_id = r.a_id AND g.b_id = r.b_id
  LEFT JOIN causal_handover c ON c.a_id = r.a_id AND c.b_id = r.b_id
), placed AS (
  SELECT
    j.*,
    a.kafka_cluster, a.group_id, a.resource_kind, a.resource, a.process_id AS a_process, b.process_id AS b_process,
    a.generation AS a_generation, b.generation AS b_generation, b.member_id AS b_member_id, a.stop_asked_ts AS a_stop_asked,
    a.start_hi_ts AS a_start_hi_ts, least(a.stop_lo_ts, ua.until_ts) AS a_stop_lo_ts, b.start_hi_ts AS b_start_hi_ts,
    least(b.stop_lo_ts, ub.until_ts) AS b_stop_lo_ts, ua.until_id AS a_until_id, ub.until_id AS b_until_id, ua.heard_witness AS a_heard, ub.heard_witness AS b_heard,
    ua.until_ts AS a_seen_ts, ub.until_ts AS b_seen_ts,
    a.start_lo_ts AS a_start_lo_ts, b.start_lo_ts AS b_start_lo_ts, a.stop_hi_ts AS a_stop_hi_ts, b.stop_hi_ts AS b_stop_hi_ts,
    a.start_sign_id AS a_start_id, a.stop_id AS a_stop_id, a.last_sign_id AS a_last_id, a.stop_asked_id AS a_asked_id, b.start_id AS b_order_id,
    b.start_sign_id AS b_start_id, b.stop_id AS b_stop_id, b.last_sign_id AS b_last_id, b.stop_asked_id AS b_asked_id,
    a.stop_how AS a_stop_how, b.stop_how AS b_stop_how,
    oa.start_lo AS a_lo, oa.start_hi AS a_hi, oa.stop_lo AS a_end_lo, oa.stop_hi AS a_end_hi, oa.work_stop_hi AS a_work_hi,
    ob.start_lo AS b_lo, ob.start_hi AS b_hi, ob.stop_lo AS b_end_lo, ob.stop_hi AS b_end_hi, ob.work_stop_hi AS b_work_hi,
    ca.lo_ms AS a_off_lo, ca.hi_ms AS a_off_hi, cb.lo_ms AS b_off_lo, cb.hi_ms AS b_off_hi,
    CASE WHEN j.worked THEN 'work' WHEN a.resource_kind = 'partition' THEN 'held' ELSE 'thread' END AS kind,
    row_number() OVER (PARTITION BY j.b_id, a.process_id, j.verdict ORDER BY j.certain_ms DESC NULLS LAST, a.start_hi_ts DESC, j.a_id) AS nth
  FROM judged j
  JOIN holding a ON a.ownership_id = j.a_id
  JOIN holding b ON b.ownership_id = j.b_id
  JOIN ownership oa ON oa.ownership_id = j.a_id
  JOIN ownership ob ON ob.ownership_id = j.b_id
  JOIN clock_offset ca ON ca.process_id = a.process_id AND ca.is_island_reference
  JOIN clock_offset cb ON cb.process_id = b.process_id AND cb.is_island_reference
  LEFT JOIN owner_line ua ON ua.ownership_id = j.a_id
  LEFT JOIN owner_line ub ON ub.ownership_id = j.b_id
), measured AS (
  SELECT *,
    CASE WHEN verdict = 'proved' THEN certain_ms ELSE 0 END AS there_certain,
    CASE WHEN verdict = 'refuted' THEN 0 WHEN possible_ms < 1000000000000000 THEN greatest(0, possible_ms) END AS there_possible,
    CASE WHEN kind = 'work' THEN greatest(0, least(unix_millis(a_last_ts) - a_off_hi, unix_millis(b_last_ts) - b_off_hi)
      - greatest(unix_millis(a_first_ts) - a_off_lo, unix_millis(b_first_ts) - b_off_lo)) END AS work_certain,
    CASE WHEN verdict = 'refuted' THEN 0 WHEN work_possible_ms < 1000000000000000 THEN greatest(0, work_possible_ms) END AS work_possible
  FROM placed
), assignment AS (
  -- What a worker was given in a generation: since 2.3 all that it may run.
  SELECT process_id, group_id, generation, max_by(assigned, from_pos) AS assigned
  FROM join_round
  WHERE is_worker AND assigned IS NOT NULL
  GROUP BY process_id, group_id, generation
), again AS (
  -- Of a partition by its two members, of a sink's task by the task's own consumers.
  SELECT p.a_id, p.b_id, sum(d.records_lo) AS records
  FROM placed p JOIN duplicate_ledger d
    ON d.kafka_cluster = p.kafka_cluster AND d.old_process_id = p.a_process AND d.new_process_id = p.b_process
    AND (p.resource_kind = 'partition' AND d.resource = p.resource AND d.group_id = p.group_id AND d.new_member_id = p.b_member_id
      OR p.resource_kind = 'task' AND d.old_client = p.resource AND d.new_client = p.resource AND d.restarted_hi >= p.b_lo AND (p.b_end_hi IS NULL OR d.restarted_lo <= p.b_end_hi))
  WHERE p.verdict <> 'refuted'
  GROUP BY p.a_id, p.b_id
), trouble AS (
  -- What befell the first owner's membership, before and after the second began.
  SELECT p.a_id, p.b_id,
    bool_or(c.event IN ('coordinator_lost', 'worker_revoking') AND unix_millis(c.ts) + coalesce(p.lo_ms, 0) <= unix_millis(p.b_start_hi_ts)) AS lost_before,
    bool_or(c.event IN ('coordinator_lost', 'heartbeat_failed', 'generation_reset', 'poll_timeout') AND unix_millis(c.ts) + coalesce(p.hi_ms, 0) > unix_millis(p.b_start_hi_ts)) AS lost_after,
    min_by(c.event_id, c.stream_pos) FILTER (WHERE c.event IN ('coordinator_lost', 'heartbeat_failed', 'poll_timeout')) AS event_id
  FROM placed p
  JOIN client_event c ON c.process_id = p.a_process AND c.group_id = p.group_id
    AND c.ts >= p.a_start_hi_ts AND c.ts <= p.a_stop_lo_ts + INTERVAL 1 SECOND
  WHERE p.verdict = 'proved'
  GROUP BY p.a_id, p.b_id
)
SELECT
  p.kafka_cluster, p.group_id, p.resource_kind, p.resource, p.a_process, p.b_process, p.kind,
  greatest(p.a_lo, p.b_lo),
  CASE WHEN p.kind = 'work'
    THEN greatest(timestamp_millis(unix_millis(p.a_first_ts) - p.a_off_lo), timestamp_millis(unix_millis(p.b_first_ts) - p.b_off_lo))
    WHEN p.a_hi IS NOT NULL AND p.b_hi IS NOT NULL THEN greatest(p.a_hi, p.b_hi) END,
  CASE WHEN p.kind = 'work'
    THEN greatest(
      timestamp_millis(unix_millis(p.a_first_ts) - p.a_off_lo), timestamp_millis(unix_millis(p.b_first_ts) - p.b_off_lo),
      least(timestamp_millis(unix_millis(p.a_last_ts) - p.a_off_hi), timestamp_millis(unix_millis(p.b_last_ts) - p.b_off_hi)))
    WHEN p.verdict = 'proved' THEN least(timestamp_millis(unix_millis(p.a_seen_ts) - p.a_off_hi), timestamp_millis(unix_millis(p.b_seen_ts) - p.b_off_hi))
    WHEN p.a_end_lo IS NOT NULL AND p.b_end_lo IS NOT NULL THEN least(p.a_end_lo, p.b_end_lo) END,
  CASE WHEN p.kind = 'work' THEN least(p.a_work_hi, p.b_work_hi) ELSE least(p.a_end_hi, p.b_end_hi) END,
  CASE WHEN p.kind = 'work' THEN p.work_certain ELSE p.there_certain END,
  CASE WHEN p.kind = 'work' THEN p.work_possible ELSE p.there_possible END,
  p.verdict,
  CASE WHEN p.verdict = 'proved' THEN p.certain_ms WHEN p.verdict = 'refuted' AND p.first_id IS NULL THEN -p.possible_ms END,
  CASE WHEN p.verdict = 'proved' THEN CASE
    WHEN p.a_process <> p.b_process AND p.a_generation = p.b_generation AND p.resource_kind <> 'partition' THEN 'same_generation_assigned_twice'
    WHEN p.a_process = p.b_process THEN 'graceful_stop_failed'
    WHEN p.a_stop_how IS NULL AND p.a_stop_asked IS NOT NULL THEN 'graceful_stop_failed'
    WHEN NOT array_contains(g.assigned, p.resource) THEN 'restart_of_task_not_owned'
    WHEN t.lost_before THEN 'kept_running_through_lost_coordinator'
    WHEN t.lost_after THEN 'woke_after_freeze'
    ELSE 'not_fenced'
  END END,
  CASE p.verdict
    WHEN 'proved' THEN concat(
      'Let A be ', p.resource, ' in ', p.a_process, ' (', CASE WHEN p.kind = 'held' THEN 'held' ELSE 'its thread there' END, ' from ',
      date_format(p.a_start_hi_ts, 'HH:mm:ss.SSS'), ' to ', date_format(p.a_seen_ts, 'HH:mm:ss.SSS'), ' by its own clock), and B be ', p.resource, ' in ', p.b_process,
      ' (from ', date_format(p.b_start_hi_ts, 'HH:mm:ss.SSS'), ' to ', date_format(p.b_seen_ts, 'HH:mm:ss.SSS'), ' by its own clock). ',
      CASE WHEN p.a_process = p.b_process THEN 'Both are of one process and one clock. ' ELSE concat('B''s clock is between ', p.lo_ms, ' and ', p.hi_ms, ' ms ahead of A''s',
        CASE WHEN p.clock_how = 'assumed' THEN ' (assumed, not proved)' ELSE ': messages between them leave no more (the last lines of the proof)' END, '. ') END,
      CASE WHEN p.a_process = p.b_process THEN 'So' ELSE 'Under every such offset' END, CASE WHEN p.resource_kind = 'partition' THEN ' both held it' ELSE ' both threads were there' END, ' for at least ', p.there_certain, ' ms. ',
      CASE WHEN p.a_heard IS NOT NULL THEN 'A printed no line so late: the coordinator removed it later, one session timeout after its last request. ' ELSE '' END,
      CASE WHEN p.b_heard IS NOT NULL THEN 'B printed no line so late: the coordinator removed it later, one session timeout after its last request. ' ELSE '' END,
      CASE
        WHEN p.kind = 'work' AND p.work_certain > 0 THEN concat('In that time both were at work, together for at least ', p.work_certain, ' ms: the group never means to have two owners at once.')
        WHEN p.kind = 'work' THEN 'In that time both were at work, though no moment is sure to be common: the group never means to have two owners at once.'
        WHEN p.kind = 'thread' THEN 'No line shows both at work in that time.'
        ELSE 'No line shows both reading or committing in that time. A consumer holds its assignment until it is told of the loss, so two holders are normal after a session timeout.' END)
    WHEN 'refuted' THEN CASE WHEN p.first_id IS NOT NULL THEN concat(
      p.resource, ' had ended in ', CASE WHEN p.first_id = p.a_id THEN p.a_process ELSE p.b_process END, ' before that process asked to join generation ', p.left_generation, '. It began in ',
      CASE WHEN p.first_id = p.a_id THEN p.b_process ELSE p.a_process END, ' after that process was in generation ', p.got_generation,
      '. The coordinator ends the join phase of a generation only after all its members asked: so the one ended before the other began, whatever the clocks say.')
    ELSE concat(
      'A (', p.a_process, ') ended by ', coalesce(date_format(p.a_stop_hi_ts, 'HH:mm:ss.SSS'), '?'), ', B (', p.b_process, ') began not before ',
      coalesce(date_format(p.b_start_lo_ts, 'HH:mm:ss.SSS'), '?'), ', each by its own clock; with B''s clock between ', p.lo_ms, ' and ', p.hi_ms,
      ' ms ahead of A''s they cannot have been there together.') END
    ELSE concat(
      'A is ', p.resource, ' in ', p.a_process, ', B in ', p.b_process, '. ',
      CASE
        WHEN p.clock_how = 'none' THEN 'No chain of lines joins their clocks.'
        WHEN p.clock_how = 'stepped' THEN 'The clock of one of them stepped.'
        ELSE concat('B''s clock is between ', p.lo_ms, ' and ', p.hi_ms, ' ms ahead of A''s. They may have been there together for up to ',
          coalesce(concat(p.there_possible, ' ms'), 'an unknown time'), ', or not at all.')
      END)
  END,
  -- What costs least first: a log that exists, a note of the machine, then another level for the next time.
  CASE WHEN p.verdict = 'undecided' THEN array_join(transform(filter(array(
    CASE WHEN coalesce(p.a_start_lo_ts, p.a_start_hi_ts, p.a_stop_lo_ts, p.a_stop_hi_ts) IS NULL
      THEN concat('lines with times in ', p.a_process, ': put %d{ISO8601} into its layout') END,
    CASE WHEN coalesce(p.b_start_lo_ts, p.b_start_hi_ts, p.b_stop_lo_ts, p.b_stop_hi_ts) IS NULL AND p.a_process <> p.b_process
      THEN concat('lines with times in ', p.b_process, ': put %d{ISO8601} into its layout') END,
    CASE WHEN p.clock_how IN ('none', 'stepped') OR p.hi_ms - p.lo_ms > 100 THEN concat('the log of the broker that coordinated ', p.group_id, ' (kafka.coordinator.group at INFO): ',
      CASE WHEN p.clock_how = 'edges' THEN 'it narrows' ELSE 'it joins' END, ' the clocks of ', p.a_process, ' and ', p.b_process) END,
    CASE WHEN p.a_stop_hi_ts IS NULL THEN concat('the log of ', p.a_process, ' after ', date_format(p.a_stop_lo_ts, 'yyyy-MM-dd HH:mm:ss'), ': the end of ', p.resource, ' there') END,
    CASE WHEN p.a_start_lo_ts IS NULL THEN concat('the log of ', p.a_process, ' before ', date_format(p.a_start_hi_ts, 'yyyy-MM-dd HH:mm:ss'), ': the start of ', p.resource, ' there') END,
    CASE WHEN p.b_start_lo_ts IS NULL THEN concat('the log of ', p.b_process, ' before ', date_format(p.b_start_hi_ts, 'yyyy-MM-dd HH:mm:ss'), ': the start of ', p.resource, ' there') END,
    CASE WHEN p.b_start_hi_ts IS NULL THEN concat('the log of ', p.b_process, ' after ', date_format(p.b_start_lo_ts, 'yyyy-MM-dd HH:mm:ss'), ': a sign that ', p.resource, ' ran there') END,
    CASE WHEN p.b_stop_hi_ts IS NULL AND NOT coalesce(p.b_end_lo >= p.a_end_hi, false)
      THEN concat('the log of ', p.b_process, ' after ', date_format(p.b_stop_lo_ts, 'yyyy-MM-dd HH:mm:ss'), ': how long ', p.resource, ' was there') END,
    CASE WHEN p.a_stop_how = 'process_restarted' AND p.a_process <> p.b_process THEN concat('the service manager, kernel or container log of the machine of ', p.a_process, ': when it ended, between ',
      date_format(p.a_stop_lo_ts, 'yyyy-MM-dd HH:mm:ss'), ' and its next start at ', date_format(p.a_stop_hi_ts, 'HH:mm:ss')) END,
    CASE WHEN p.resource_kind <> 'partition' AND (NOT p.a_stop_how <=> 'process_restarted' OR p.a_stop_asked IS NOT NULL)
      THEN concat('next time org.apache.kafka.connect.runtime.Worker and WorkerTask at DEBUG in ', p.a_process, ': they print when a task has really stopped') END,
    CASE WHEN p.resource_kind = 'partition' AND p.a_stop_hi_ts IS NOT NULL AND p.b_stop_hi_ts IS NOT NULL AND p.hi_ms - p.lo_ms <= 100 THEN 'nothing in these logs: the hand-over took less time than the clocks agree' END
  ), m -> m IS NOT NULL), (m, i) -> concat(i + 1, '. ', m)), '; ') END,
  d.records,
  CASE WHEN p.first_id IS NOT NULL THEN 'messages' ELSE p.clock_how END,
  p.a_id,
  p.b_id,
  filter(array_distinct(CASE WHEN p.first_id IS NOT NULL THEN p.handover ELSE array(p.a_start_id, p.a_sign_id, p.a_asked_id, coalesce(p.a_stop_id, p.a_last_id), p.b_order_id, p.b_start_id, p.b_sign_id,
    coalesce(p.b_stop_id, p.b_last_id), CASE WHEN p.verdict = 'proved' THEN p.a_until_id END,
    CASE WHEN p.verdict = 'proved' THEN p.b_until_id END, t.event_id)
    || CASE WHEN p.verdict = 'proved' THEN coalesce(p.a_heard, array()) || coalesce(p.b_heard, array()) ELSE array() END || coalesce(p.clock_witness, array()) END), e -> e IS NOT NULL),
  p.there_certain,
  p.there_possible,
  p.work_certain,
  p.work_possible
FROM measured p
LEFT JOIN trouble t ON t.a_id = p.a_id AND t.b_id = p.b_id
LEFT JOIN again d ON d.a_id = p.a_id AND d.b_id = p.b_id
LEFT JOIN assignment g ON p.resource_kind <> 'partition' AND g.process_id = p.b_process AND g.group_id = p.group_id AND g.generation = p.b_generation
-- Not every pair is worth a verdict: a clean hand-over is one row, an end far before is none.
WHERE (p.is_next OR p.verdict <> 'refuted')
  -- Of several instances of one process that were still there when the next began, the one that stayed longest says enough.
  AND (p.a_process <> p.b_process OR p.is_next OR p.nth = 1)

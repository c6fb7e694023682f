-- One row per root cause, with its consequences.
-- Reads: root_cause, occurrence, removed_member, member, incident_gap, lost_membership, split_brain, open_rebalance, process_life, clock_offset
-- Reads: client_event, silent_member
-- Grain: incident_id
-- Words: by view
-- Public: yes
-- A cause follows from the lines about processes, members, generations and brokers, whether or not a rule reports its effects. If several causes fit
-- the lines, the cause is unknown and `alternatives` has them. A clean restart and a deployment are not failures. It is over when its cause is
-- over, and so are all effects: one owner instead of two, an owner for every resource, a coordinator for every member. A log that simply ends shows
-- no end. If both owners' logs continue until the last log ends, both are still running; if one ends earlier, the state is unknown. Two owners that
-- were separated only by a shutdown at the end of the logs would otherwise still be two.
CREATE OR REPLACE TEMPORARY VIEW incident (
  incident_id       COMMENT 'Stable id of the incident',
  kafka_cluster     COMMENT 'Kafka cluster id; NULL: none',
  group_ids         COMMENT 'Groups that it affected',
  cause             COMMENT 'process_paused, process_killed, process_restarted, member_cut_off, poll_too_slow, broker_down, coordinator_moved,
    offsets_topic_impossible, offsets_lost, connector_churn, duplicate_declaration, group_id_collision, static_id_shared, clock_wrong, deployment or
    unknown',
  alternatives      COMMENT 'Causes that the lines do not distinguish; empty: the cause is known, or nothing indicates it',
  subject           COMMENT 'Process, broker, group, connector, topic or group.instance.id where it began',
  from_lo           COMMENT 'Earliest start (reference clock); NULL: it existed all the time',
  from_hi           COMMENT 'Latest start',
  to_lo             COMMENT 'Earliest end; NULL: open when the logs end, or it existed all the time',
  to_hi             COMMENT 'Latest end',
  severity          COMMENT 'critical, warning or note: the most severe of its findings',
  times             COMMENT 'How often the cause occurred',
  resources_hit     COMMENT 'Tasks, connectors and partitions that had no owner, or two working, because of it',
  longest_outage_ms COMMENT 'Longest time that one of them certainly had no owner, milliseconds; NULL: none',
  longest_outage_hi_ms COMMENT 'Longest time that one of them possibly had no owner, milliseconds; NULL: none, or no bound',
  double_work_ms    COMMENT 'Longest time that two certainly worked on one of them, milliseconds; NULL: none',
  finding_ids       COMMENT 'Findings that it explains',
  headline          COMMENT 'One sentence',
  advice            COMMENT 'First action; NULL: see the advice of its findings, if any',
  code              COMMENT 'Case whose words describe it',
  facts             COMMENT 'Named facts of the sentences; durations end in _ms, times in _at_ms',
  witness,
  state             COMMENT 'over, open (not over when the logs end, or only by the shutdown that ends them) or unknown (the logs that would show it
    end earlier)',
  over_since        COMMENT 'Time by which it was over, with its consequences (reference clock); NULL: not over, or unknown',
  over_how          COMMENT 'ended; shut_down: it lasted until one of its processes was shut down (open: with which the logs end); else NULL',
  shown_until       COMMENT 'Time up to which the logs show it (reference clock); NULL: it is over',
  still             COMMENT 'Conditions that are not over, the most severe first: two_owners, broker_away, process_away, rebalance, offsets_topic,
    no_coordinator, not_stored, declared, clock, not_started, failed',
  targets           COMMENT 'Processes or brokers to stop or start; if a shutdown ended it, those that were shut down',
  outcome           COMMENT 'Whether it is over and since when, or which condition is not',
  stop_now          COMMENT 'Action that ends it now; NULL: it is over',
  step              COMMENT 'The cause in a few words, as the first step of the story',
  next              COMMENT 'Where to look for its cause; NULL: see advice, or the advice of its findings',
  prevent           COMMENT 'Setting or change that prevents it; NULL: none in general'
)
AS
WITH run_end AS (
  SELECT l.process_id, l.ending_ms - o.hi_ms AS ending_lo_ms, l.last_ms - o.lo_ms AS last_ms, o.reference_process_id
  FROM process_life l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
), island_end AS (
  SELECT reference_process_id, max(last_ms) AS last_ms FROM run_end GROUP BY reference_process_id
), log_end AS (
  SELECT l.process_id, max(l.last_ms) AS last_ms, max(i.last_ms) AS end_ms, collect_list(struct(l.ending_lo_ms, l.last_ms)) AS runs FROM run_end l
  JOIN island_end i ON i.reference_process_id = l.reference_process_id
  GROUP BY l.process_id
), incident_occurrence AS (
  SELECT o.incident_id, r.incident_id IS NULL AS is_alone, o.rule, o.code, o.verdict, o.kafka_cluster, o.group_id, o.subject,
    unix_millis(o.from_ts) AS from_ms, unix_millis(o.to_ts) AS to_ms, o.facts
  FROM occurrence o LEFT JOIN root_cause r ON r.incident_id = o.incident_id WHERE o.incident_id IS NOT NULL
), owner_pair AS (
  SELECT DISTINCT t.incident_id, s.ownership_a, s.ownership_b, s.process_a, unix_millis(s.to_hi) AS to_ms,
    least(a.last_ms, b.last_ms) AS shown_ms, greatest(a.end_ms, b.end_ms) AS end_ms, array_compact(array(
      CASE WHEN exists(a.runs, x -> unix_millis(s.to_hi) BETWEEN x.ending_lo_ms AND x.last_ms + heartbeat_late_ms) THEN s.process_a END,
      CASE WHEN exists(b.runs, x -> unix_millis(s.to_hi) BETWEEN x.ending_lo_ms AND x.last_ms + heartbeat_late_ms) THEN s.process_b END)) AS closed
  FROM incident_occurrence t
  JOIN split_brain s ON s.kafka_cluster <=> t.kafka_cluster AND s.group_id <=> t.group_id AND s.verdict = 'proved'
    AND array_contains(split(t.subject, ', '), s.resource) AND unix_millis(s.from_lo) BETWEEN t.from_ms AND coalesce(t.to_ms, t.from_ms)
  JOIN log_end a ON a.process_id = s.process_a
  JOIN log_end b ON b.process_id = s.process_b
  WHERE t.rule IN ('split-brain-task', 'split-brain-partition') AND t.verdict = 'proved'
), owner_pair_end AS (
  SELECT *, size(closed) > 0 AND to_ms >= end_ms - coordinator_settled_ms AS is_last, shown_ms >= end_ms - coordinator_settled_ms AS is_seen
  FROM owner_pair
), member_return AS (
  -- A member that left because of its poll timeout is back when its process is a member again. If no clock places the end of another trouble, a
  -- process that is a member again after every loss is back too, at an unknown time.
  SELECT r.incident_id, min(j.at_ms - o.lo_ms) AS back_ms
  FROM (SELECT incident_id, to_hi_ms, group_ids, explode(process_ids) AS process_id FROM root_cause WHERE cause = 'poll_too_slow') r
  JOIN client_event j ON j.process_id = r.process_id AND array_contains(r.group_ids, j.group_id)
    AND j.event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned')
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.at_ms - o.lo_ms > r.to_hi_ms GROUP BY r.incident_id
  UNION ALL
  SELECT r.incident_id, NULL
  FROM (SELECT incident_id, group_ids, explode(process_ids) AS process_id FROM root_cause WHERE to_hi_ms IS NULL AND cause <> 'poll_too_slow') r
  JOIN lost_membership l ON l.process_id = r.process_id AND array_contains(r.group_ids, l.group_id)
  GROUP BY r.incident_id HAVING count_if(l.back_ms IS NULL) = 0
), incident_part AS (
  -- For each part of an incident: its end, or what is still open. If an open part leaves no lines, its state is unknown. NULL: over, at an unknown
  -- time.
  SELECT r.incident_id,
    CASE WHEN r.cause = 'poll_too_slow' THEN b.back_ms
      WHEN r.cause NOT IN ('duplicate_declaration', 'group_id_collision', 'offsets_topic_impossible') THEN r.to_hi_ms END AS to_ms,
    CASE WHEN r.cause IN ('duplicate_declaration', 'group_id_collision') THEN 'declared'
      WHEN r.cause = 'offsets_topic_impossible' THEN 'offsets_topic'
      WHEN r.cause = 'clock_wrong' THEN 'clock'
      WHEN r.cause = 'poll_too_slow' AND b.incident_id IS NULL THEN 'process_away'
      WHEN r.to_hi_ms IS NOT NULL OR b.incident_id IS NOT NULL THEN NULL
      WHEN r.cause = 'broker_down' OR array_contains(r.alternatives, 'broker_down') THEN 'broker_away'
      WHEN size(r.process_ids) = 1 THEN 'process_away' END AS still,
    -- A connector that is stable for a while may change again.
    CASE WHEN r.cause = 'connector_churn' THEN e.last_ms - r.to_hi_ms < storm_gap_ms
      WHEN r.cause = 'clock_wrong' THEN r.from_lo_ms IS NOT NULL
      WHEN r.cause IN ('duplicate_declaration', 'group_id_collision', 'offsets_topic_impossible') THEN false
      -- A log that ends soon after the member left does not show that it stayed away.
      WHEN r.cause = 'poll_too_slow' THEN b.incident_id IS NULL AND coalesce(e.last_ms - r.to_hi_ms < coordinator_settled_ms, true)
      WHEN b.incident_id IS NOT NULL THEN NULL
      ELSE r.to_hi_ms IS NULL AND (r.subject = '' OR array_contains(r.alternatives, 'lines_missing') OR m.process_id IS NOT NULL
        OR r.cause = 'coordinator_moved'
        -- It is also unknown if a broker that was possibly down is back. Members without a coordinator are separate evidence.
        OR r.cause = 'unknown' AND array_contains(r.alternatives, 'broker_down')) END AS is_unknown,
    CAST(NULL AS BIGINT) AS shown_ms,
    CASE WHEN r.to_hi_ms IS NULL AND (r.cause = 'broker_down' OR array_contains(r.alternatives, 'broker_down')) THEN array(r.subject)
      WHEN (r.to_hi_ms IS NULL OR r.cause = 'poll_too_slow') AND b.incident_id IS NULL AND size(r.process_ids) = 1 THEN r.process_ids
      ELSE CAST(array() AS ARRAY<STRING>) END AS targets
  FROM root_cause r LEFT JOIN member_return b ON b.incident_id = r.incident_id
  LEFT JOIN (SELECT DISTINCT process_id FROM silent_member WHERE how <> 'gone') m ON m.process_id = get(r.process_ids, 0) AND size(r.process_ids) = 1
  CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e
  UNION ALL
  SELECT incident_id, to_ms, CASE WHEN to_ms IS NULL OR is_last THEN 'two_owners' END, to_ms IS NULL AND NOT is_seen,
    CASE WHEN is_last THEN to_ms WHEN to_ms IS NULL THEN shown_ms END,
    CASE WHEN to_ms IS NULL OR is_last THEN array(process_a) ELSE CAST(array() AS ARRAY<STRING>) END
  FROM owner_pair_end
  UNION ALL
  SELECT incident_id, unix_millis(to_ts), NULL, false, NULL, CAST(array() AS ARRAY<STRING>) FROM incident_gap
  WHERE to_ts IS NOT NULL
  UNION ALL
  SELECT t.incident_id, NULL, 'rebalance', false, r.to_ms, r.awaited_processes FROM incident_occurrence t
  JOIN open_rebalance r ON r.kafka_cluster = t.kafka_cluster AND r.group_id = t.group_id AND NOT r.is_given_up
  WHERE t.rule = 'slow-rebalance' AND t.code = 'unfinished'
  UNION ALL
  SELECT incident_id, coalesce(to_ms, from_ms),
    CASE WHEN rule = 'coordinator-unavailable' AND coalesce(try_cast(get_json_object(facts, '$.is_open') AS BOOLEAN), to_ms IS NULL)
        THEN CASE WHEN code = 'not_stored' THEN code ELSE 'no_coordinator' END
      WHEN rule = 'assigned-not-working' AND to_ms IS NULL THEN CASE WHEN code LIKE 'failed%' THEN 'failed' ELSE 'not_started' END END,
    -- If the cause of a member's removal is unknown, so is its whereabouts, unless it returned. A log that ends soon after a refused commit does not
    -- show that the next one succeeded. A stuck partition may have moved on without a line, and an abandoned task may still run.
    is_alone AND (rule = 'session-timeout' AND code = 'stayed_away' OR rule = 'zombie-task' AND code = 'never_ended'
      OR rule = 'stale-commit' AND coalesce(e.last_ms - coalesce(to_ms, from_ms) < coordinator_settled_ms, true))
      OR rule = 'stuck-partition' AND to_ms IS NULL,
    NULL, CAST(array() AS ARRAY<STRING>)
  FROM incident_occurrence CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e
  WHERE rule NOT IN ('split-brain-task', 'split-brain-partition')
), incident_summary AS (
  SELECT incident_id, CASE WHEN count(is_unknown) = count(*) THEN max(to_ms) END AS to_ms,
    bool_or(coalesce(still IS NOT NULL AND NOT is_unknown, false)) AS is_open, bool_or(coalesce(is_unknown, false)) AS is_unknown,
    -- If something is known to be open, unknown parts are not reported as open.
    array_intersect(array('two_owners', 'broker_away', 'process_away', 'rebalance', 'offsets_topic', 'no_coordinator', 'declared',
      'clock', 'not_started', 'failed', 'not_stored'), CASE WHEN bool_or(still IS NOT NULL AND NOT is_unknown)
      THEN collect_set(CASE WHEN NOT is_unknown THEN still END) ELSE collect_set(still) END) AS still,
    min(shown_ms) AS shown_ms, array_sort(array_distinct(flatten(collect_list(targets)))) AS targets
  FROM incident_part GROUP BY incident_id
), incident_shutdown AS (
  SELECT incident_id, array_sort(array_distinct(flatten(collect_list(closed)))) AS shut_ids, bool_and(to_ms IS NOT NULL) AS is_all
  FROM owner_pair_end GROUP BY incident_id HAVING bool_or(size(closed) > 0)
), incident_state AS (
  -- Whether it is over when the logs end, what is still open, and which process has to be stopped or started.
  SELECT s.incident_id, CASE WHEN s.is_open THEN 'open' WHEN s.is_unknown THEN 'unknown' ELSE 'over' END AS state,
    CASE WHEN NOT s.is_open AND NOT s.is_unknown THEN s.to_ms END AS over_ms,
    CASE WHEN p.is_all AND (NOT s.is_open AND NOT s.is_unknown OR s.is_open AND array_join(s.still, ',') = 'two_owners') THEN 'shut_down'
      WHEN NOT s.is_open AND NOT s.is_unknown THEN 'ended' END AS over_how,
    CASE WHEN s.is_open OR s.is_unknown THEN coalesce(s.shown_ms, e.last_ms) END AS shown_ms, s.still,
    CASE WHEN NOT s.is_open AND NOT s.is_unknown AND p.incident_id IS NOT NULL THEN p.shut_ids ELSE s.targets END AS targets
  FROM incident_summary s LEFT JOIN incident_shutdown p ON p.incident_id = s.incident_id
  CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e
), finding_effects AS (
  SELECT incident_id, array_sort(collect_set(finding_id)) AS finding_ids,
    max(CASE severity WHEN 'critical' THEN 3 WHEN 'warning' THEN 2 ELSE 1 END) AS rank, array_sort(collect_set(group_id)) AS group_ids,
    max(kafka_cluster) AS kafka_cluster, max(CASE WHEN caused_by IS NULL THEN subject END) AS subject,
    max(CASE WHEN caused_by IS NULL THEN rule END) AS rule, min(unix_millis(from_ts)) AS from_ms, max(unix_millis(coalesce(to_ts, from_ts))) AS to_ms,
    -- Another broker could take over, so the topic has replicas.
    bool_or(rule = 'coordinator-unavailable' AND get_json_object(facts, '$.new_broker_id') IS NOT NULL AND code IN ('broker_down', 'moved'))
      AS is_taken_over,
    max(CASE WHEN rule = 'coordinator-unavailable' THEN try_cast(get_json_object(facts, '$.served_at_ms') AS BIGINT) END) AS served_ms,
    -- It is the last of these words in the alphabet.
    min(CASE WHEN rule = 'coordinator-unavailable' THEN get_json_object(facts, '$.down_how') END) <=> 'stopped' AS is_stopped,
    slice(array_distinct(flatten(sort_array(collect_list(witness)))), 1, 24) AS witness
  FROM occurrence WHERE incident_id IS NOT NULL GROUP BY incident_id
), affected_resources AS (
  SELECT incident_id, array_sort(collect_set(resource)) AS resources, max(unowned_ms) AS unowned_ms,
    CASE WHEN count(unowned_ms) = count(unowned_hi_ms) THEN max(unowned_hi_ms) END AS unowned_hi_ms, max(double_work_ms) AS double_work_ms
  FROM incident_gap GROUP BY incident_id
), lost_members AS (
  -- The reason for which the coordinator removed them is printed. A member of an unknown process is back when all of them are.
  SELECT r.incident_id, count(DISTINCT CASE WHEN m.protocol = 'classic' THEN m.member_id END) AS members,
    count(DISTINCT CASE WHEN m.protocol <> 'classic' THEN m.member_id END) AS keepers,
    CASE WHEN NOT r.is_unknown OR bool_and(l.again_ms IS NOT NULL) THEN max(l.again_ms) END AS again_ms,
    sort_array(collect_set(CASE WHEN r.is_unknown THEN r.member_id END)) AS ids, max(h.client_host) AS host,
    -- A thread of Kafka Streams is a member of its own.
    CASE WHEN count(DISTINCT h.thread) = 1 AND count(h.thread) = count(*) THEN max(h.thread) END AS thread
  FROM (SELECT incident_id, subject = '' AS is_unknown, explode(flatten(parts.member_ids)) AS member_id FROM root_cause) r
  LEFT JOIN removed_member m ON r.is_unknown AND m.member_id = r.member_id AND m.how = 'rebalance'
  LEFT JOIN lost_membership l ON l.member_id = r.member_id
  LEFT JOIN (SELECT member_id, client_host, nullif(regexp_extract(client_id, '-(StreamThread-[0-9]+)-consumer$', 1), '') AS thread FROM member) h
    ON h.member_id = r.member_id
  GROUP BY r.incident_id, r.is_unknown
), known_incident AS (
  SELECT r.incident_id, r.kafka_cluster, array_sort(array_union(r.group_ids, coalesce(e.group_ids, CAST(array() AS ARRAY<STRING>)))) AS group_ids,
    r.group_ids AS of_group_ids, r.worker_group_id, r.sink_members, r.cause, r.alternatives, nullif(r.subject, '') AS subject, r.from_lo_ms,
    r.from_hi_ms, r.to_lo_ms, r.to_hi_ms,
    -- A worker that was killed is not a note, even if this is uncertain.
    CASE WHEN array_contains(r.alternatives, 'lines_missing') THEN greatest(coalesce(e.rank, 2), 2)
      ELSE coalesce(e.rank, CASE WHEN r.cause IN ('deployment', 'process_restarted') THEN 1 ELSE 2 END) END AS rank,
    r.times, CASE WHEN r.times > 1 AND size(r.process_ids) = 1 THEN array_compact(r.parts.from_hi_ms) END AS began_at_ms,
    CASE WHEN r.subject = '' THEN CAST(size(flatten(r.parts.member_ids)) AS BIGINT) END AS members,
    coalesce(e.finding_ids, CAST(array() AS ARRAY<STRING>)) AS finding_ids, CAST(NULL AS STRING) AS rule, r.process_ids,
    coalesce(e.is_taken_over, false) AS is_taken_over, coalesce(e.is_stopped, false) AS is_stopped, e.served_ms, r.witness
  FROM root_cause r LEFT JOIN finding_effects e ON e.incident_id = r.incident_id
  UNION ALL
  SELECT e.incident_id, e.kafka_cluster, e.group_ids, CAST(NULL AS ARRAY<STRING>), CAST(NULL AS STRING), 0L, 'unknown',
    CAST(array() AS ARRAY<STRING>), e.subject, e.from_ms, e.from_ms, e.to_ms, e.to_ms, e.rank, 1L, NULL, NULL, e.finding_ids, e.rule,
    CAST(array() AS ARRAY<STRING>), false, false, e.served_ms, e.witness
  FROM finding_effects e LEFT ANTI JOIN root_cause r ON r.incident_id = e.incident_id
)
SELECT k.incident_id, k.kafka_cluster, k.group_ids, k.cause, k.alternatives, k.subject, timestamp_millis(k.from_lo_ms) AS from_lo,
  timestamp_millis(k.from_hi_ms) AS from_hi, timestamp_millis(k.to_lo_ms) AS to_lo, timestamp_millis(k.to_hi_ms) AS to_hi,
  CASE k.rank WHEN 3 THEN 'critical' WHEN 2 THEN 'warning' ELSE 'note' END AS severity, k.times,
  coalesce(h.resources, CAST(array() AS ARRAY<STRING>)) AS resources_hit, h.unowned_ms AS longest_outage_ms, h.unowned_hi_ms AS longest_outage_hi_ms,
  h.double_work_ms, k.finding_ids, CAST(NULL AS STRING) AS headline, CAST(NULL AS STRING) AS advice,
  CASE WHEN k.rule IS NOT NULL THEN 'unexplained'
    WHEN k.cause = 'unknown' AND k.subject IS NULL THEN 'members_removed'
    WHEN k.cause = 'unknown' AND array_contains(k.alternatives, 'lines_missing')
      AND array_contains(k.alternatives, 'process_paused') THEN 'fell_silent'
    WHEN k.cause = 'unknown' AND array_contains(k.alternatives, 'lines_missing') THEN 'ended_unsaid'
    WHEN k.cause = 'unknown' AND size(k.alternatives) > 0 THEN 'one_of'
    WHEN k.cause = 'unknown' THEN 'unknown'
    ELSE CASE k.cause WHEN 'process_paused' THEN 'process_paused' WHEN 'process_killed' THEN 'process_killed'
      WHEN 'process_restarted' THEN 'process_restarted' WHEN 'member_cut_off' THEN 'member_cut_off' WHEN 'poll_too_slow' THEN 'poll_too_slow'
      WHEN 'broker_down' THEN 'broker_down' WHEN 'coordinator_moved' THEN 'coordinator_moved'
      WHEN 'offsets_topic_impossible' THEN 'offsets_topic_impossible' WHEN 'offsets_lost' THEN 'offsets_lost'
      WHEN 'connector_churn' THEN 'connector_churn' WHEN 'duplicate_declaration' THEN 'duplicate_declaration'
      WHEN 'group_id_collision' THEN 'group_id_collision' WHEN 'static_id_shared' THEN 'static_id_shared' WHEN 'clock_wrong' THEN 'clock_wrong'
      WHEN 'deployment' THEN 'deployment' END END AS code,
  struct(
    greatest(0L, k.to_lo_ms - k.from_hi_ms) AS lasted_lo_ms, k.to_hi_ms - k.from_lo_ms AS lasted_hi_ms, k.members AS member_count,
    CAST(size(k.process_ids) AS BIGINT) AS process_count, k.rule, k.is_taken_over, k.is_stopped, k.began_at_ms,
    -- A broker that has started serves its clients only after leaders were elected and groups loaded.
    k.served_ms AS served_at_ms,
    -- Consequences may be in other groups, from which no member was removed.
    CASE WHEN k.worker_group_id IS NULL THEN coalesce(k.of_group_ids, k.group_ids)
      ELSE array_remove(k.of_group_ids, k.worker_group_id) END AS of_group_ids,
    -- Only if it affected a worker and members of sinks that had its tasks.
    k.worker_group_id, k.sink_members, coalesce(t.members, 0L) AS late_count, coalesce(t.keepers, 0L) AS kept_count,
    t.again_ms AS again_at_ms, slice(t.ids, 1, 3) AS member_ids, CASE WHEN size(t.ids) = 1 THEN t.host END AS host, t.thread,
    k.to_hi_ms IS NULL AS is_never_back, n.over_ms AS over_at_ms, k.to_hi_ms AS ended_at_ms, n.shown_ms AS shown_at_ms
  ) AS facts, k.witness, n.state, timestamp_millis(n.over_ms) AS over_since, n.over_how, timestamp_millis(n.shown_ms) AS shown_until, n.still,
  n.targets, CAST(NULL AS STRING) AS outcome, CAST(NULL AS STRING) AS stop_now, CAST(NULL AS STRING) AS step, CAST(NULL AS STRING) AS next,
  CAST(NULL AS STRING) AS prevent
FROM known_incident k LEFT JOIN incident_state n ON n.incident_id = k.incident_id
LEFT JOIN affected_resources h ON h.incident_id = k.incident_id
LEFT JOIN lost_members t ON t.incident_id = k.incident_id

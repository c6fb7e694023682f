-- One row per time that one process by itself was paused, cut off, killed or too slow to poll, including cases in which these cannot be
-- distinguished.
-- Reads: lost_membership, process_ending, process_life, process_cluster, generation, clock_offset, fact_line, client_event, join_round
-- Reads: coordinator_outage, silent_member, process_pause, event
-- Grain: trouble_id
-- The evidence is the lost memberships of its members, or connections that fail for long while members in other processes keep theirs.
CREATE OR REPLACE TEMPORARY VIEW process_trouble (
  trouble_id    COMMENT 'Stable id',
  kafka_cluster,
  group_ids     COMMENT 'Groups that it was a member of',
  process_id    COMMENT 'Process; NULL: unknown',
  instance,
  member_ids    COMMENT 'Members that it lost',
  of_group_id   COMMENT 'For an unknown process: group of the worker that the member was lost with, or the member''s own; else NULL',
  cause         COMMENT 'process_paused, member_cut_off, process_killed, poll_too_slow or unknown',
  alternatives  COMMENT 'Possible causes, if the lines do not decide',
  from_lo_ms    COMMENT 'Began at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Began at this time at the latest',
  to_lo_ms      COMMENT 'Ended at this time at the earliest; NULL: it did not end in the logs',
  to_hi_ms      COMMENT 'Ended at this time at the latest',
  reference_process_id, witness
)
AS
WITH connection_line AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, true AS is_failure FROM fact_line
  WHERE event IN ('connection_failed', 'bootstrap_failed') AND at_ms IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, false FROM client_event
  WHERE event IN ('joined', 'synced', 'heartbeat_failed') AND at_ms IS NOT NULL
), line_with_answers AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, is_failure,
    count_if(NOT is_failure) OVER (PARTITION BY process_id, instance ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS answers
  FROM connection_line
), failure_stretch AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id,
    count_if(last_ms IS NULL OR at_ms - last_ms > coordinator_settled_ms OR answers > last_answers)
      OVER (PARTITION BY process_id, instance ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS stretch
  FROM (
    SELECT kafka_cluster, process_id, instance, at_ms, event_id, answers, lag(at_ms) OVER w AS last_ms, lag(answers) OVER w AS last_answers
    FROM line_with_answers WHERE is_failure WINDOW w AS (PARTITION BY process_id, instance ORDER BY at_ms, event_id)
  )
), failure_span AS (
  SELECT kafka_cluster, process_id, instance, stretch, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    min_by(event_id, struct(at_ms, event_id)) AS first_id, max_by(event_id, struct(at_ms, event_id)) AS last_id
  FROM failure_stretch GROUP BY kafka_cluster, process_id, instance, stretch HAVING max(at_ms) - min(at_ms) >= unreachable_ms
), connection_outage AS (
  -- One row for each time in which a member's process repeatedly failed to connect to brokers for long. Failures in close succession are one stretch,
  -- unless a coordinator answers one of the process's members in between. A single or brief failure proves nothing.
  SELECT s.kafka_cluster, s.process_id, s.instance, s.stretch, s.from_ms, s.to_ms, s.from_ms - o.hi_ms AS from_lo_ms,
    s.from_ms - o.lo_ms AS from_hi_ms, s.to_ms - o.hi_ms AS to_lo_ms, s.to_ms - o.lo_ms AS to_hi_ms, o.lo_ms AS clock_lo_ms, o.hi_ms AS clock_hi_ms,
    o.reference_process_id, s.first_id, s.last_id
  FROM failure_span s JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
  JOIN process_life l ON l.process_id = s.process_id AND l.instance = s.instance AND NOT l.is_broker
), broker_response AS (
  -- Lines that follow from a broker's response.
  SELECT process_id, instance, at_ms FROM fact_line
  WHERE event = 'kafka_cluster_id'
  UNION ALL
  SELECT process_id, instance, at_ms FROM client_event
  WHERE event IN ('coordinator_discovered', 'joined', 'synced', 'heartbeat_failed')
), surrounding_response AS (
  SELECT u.process_id, u.instance, u.from_ms, max(CASE WHEN k.at_ms < u.from_ms THEN k.at_ms END) AS before_ms,
    min(CASE WHEN k.at_ms > u.to_ms THEN k.at_ms END) AS after_ms
  FROM connection_outage u JOIN broker_response k ON k.process_id = u.process_id AND k.instance = u.instance
  GROUP BY u.process_id, u.instance, u.from_ms
), member_response AS (
  -- The last response that a member received in each round, by its own clock.
  SELECT process_id, kafka_cluster, coalesce(synced_ms, joined_ms, worker_assigned_ms) AS at_ms FROM join_round
), unaffected_process AS (
  -- A member in another process that kept its coordinator throughout.
  SELECT u.process_id, u.instance, u.from_ms, u.from_hi_ms AS since_ms FROM connection_outage u
  JOIN clock_offset o ON o.reference_process_id = u.reference_process_id AND o.is_island_reference AND o.process_id <> u.process_id
  LEFT SEMI JOIN member_response a ON a.process_id = o.process_id AND a.kafka_cluster = u.kafka_cluster AND a.at_ms - o.lo_ms < u.from_lo_ms
  LEFT SEMI JOIN process_life p ON p.process_id = o.process_id AND p.first_ms - o.lo_ms < u.from_lo_ms AND p.last_ms - o.hi_ms > u.to_hi_ms
  LEFT ANTI JOIN coordinator_outage t ON t.process_id = o.process_id AND t.was_member AND t.lost_lo_ms <= u.to_hi_ms
    AND coalesce(t.found_hi_ms, t.lost_hi_ms + t.duration_ms) >= u.from_lo_ms
  UNION ALL
  -- Or a member in another process that received a response in the meantime, long before this process could connect again.
  SELECT u.process_id, u.instance, u.from_ms, a.at_ms - o.lo_ms FROM connection_outage u
  JOIN clock_offset o ON o.reference_process_id = u.reference_process_id AND o.is_island_reference AND o.process_id <> u.process_id
  JOIN member_response a ON a.process_id = o.process_id AND a.kafka_cluster = u.kafka_cluster
    AND a.at_ms - o.hi_ms > u.from_hi_ms AND a.at_ms - o.lo_ms < u.to_lo_ms - unreachable_ms
), unaffected_since AS (
  SELECT process_id, instance, from_ms, min(since_ms) AS since_ms FROM unaffected_process GROUP BY process_id, instance, from_ms
), lone_outage AS (
  -- An attempt to connect that fails may have begun before the others were answered, so one failure afterwards is not enough.
  SELECT u.process_id, u.instance, u.from_ms, w.since_ms FROM connection_outage u
  JOIN unaffected_since w ON w.process_id = u.process_id AND w.instance = u.instance AND w.from_ms = u.from_ms
  JOIN failure_stretch f ON f.process_id = u.process_id AND f.instance = u.instance AND f.stretch = u.stretch
    AND f.at_ms - u.clock_lo_ms >= w.since_ms
  GROUP BY u.process_id, u.instance, u.from_ms, w.since_ms
  HAVING max(f.at_ms) - min(f.at_ms) >= unreachable_ms
), cut_off AS (
  -- One process alone: others of its cluster kept their coordinator, and no broker was down. An outage that begins together with that of a broker or
  -- of others counts from the first response to another process on.
  SELECT u.kafka_cluster, u.process_id, u.instance, u.from_ms, u.to_ms, i.before_ms - u.clock_hi_ms AS before_lo_ms, w.since_ms AS from_hi_ms,
    u.to_lo_ms, i.after_ms - u.clock_lo_ms AS after_hi_ms, u.reference_process_id, u.first_id, u.last_id
  FROM connection_outage u JOIN lone_outage w ON w.process_id = u.process_id AND w.instance = u.instance AND w.from_ms = u.from_ms
  JOIN surrounding_response i ON i.process_id = u.process_id AND i.instance = u.instance AND i.from_ms = u.from_ms AND i.before_ms IS NOT NULL
  LEFT ANTI JOIN connection_outage v ON v.kafka_cluster = u.kafka_cluster AND v.process_id <> u.process_id
    AND v.reference_process_id = u.reference_process_id AND v.from_lo_ms <= u.to_hi_ms AND v.to_hi_ms >= w.since_ms
  LEFT ANTI JOIN process_ending b ON b.is_broker AND b.reference_process_id = u.reference_process_id
    AND b.from_lo_ms <= u.to_hi_ms AND b.to_hi_ms >= w.since_ms
), loss_on_clock AS (
  -- If no message links its clock to the reference, its own times cannot be used there.
  SELECT l.*, l.noticed_ms - o.hi_ms AS noticed_lo_ms, l.noticed_ms - o.lo_ms AS noticed_hi_ms, o.lo_ms AS ahead_lo_ms, o.hi_ms AS ahead_hi_ms,
    -- A log that begins in the middle of a run does not show when the run began.
    CASE WHEN p.instance > 0 THEN p.first_ms - o.hi_ms END AS run_start_lo_ms
  FROM lost_membership l
  LEFT JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference AND o.reference_process_id = l.reference_process_id
  LEFT JOIN process_life p ON p.process_id = l.process_id AND p.instance = l.instance
), evidence AS (
  -- All evidence that one process was in trouble, each with the time in its own clock in which it was.
  SELECT j.kafka_cluster, j.group_id, j.process_id, j.instance, j.member_id, j.kind, j.how = 'rebalance' AS is_late,
    least(coalesce(j.own_lo_ms - j.session_ms, j.before_ms, j.own_lo_ms, j.noticed_ms), coalesce(j.own_lo_ms, j.noticed_ms)) AS own_from_ms,
    greatest(coalesce(j.own_hi_ms, j.noticed_ms), coalesce(j.after_ms, 0), coalesce(j.noticed_ms, 0), coalesce(j.found_ms, 0)) AS own_to_ms,
    -- It still took part when the coordinator last heard from it, one session before. A paused process prints no line; one that is cut off does. A
    -- response after the removal does not precede the trouble. Neither does a response that a refusal follows immediately, after the trouble was
    -- over.
    greatest(j.removed_lo_ms - coalesce(j.session_ms, session_longest_ms) - heartbeat_late_ms, j.run_start_lo_ms, j.heard_ms,
      CASE WHEN coalesce(j.answered_ms < j.own_lo_ms, j.answered_ms + coordinator_together_ms <= j.noticed_ms) THEN j.answered_ms - j.ahead_hi_ms END,
      CASE WHEN j.kind = 'paused' THEN j.before_ms - j.ahead_hi_ms END) AS from_lo_ms,
    least(j.removed_hi_ms, j.own_hi_ms - j.ahead_lo_ms, j.noticed_hi_ms) AS from_hi_ms,
    CASE WHEN j.kind LIKE 'silent%' THEN CAST(NULL AS BIGINT)
      -- A process that wakes notices immediately that its session expired; a line before that shows that it was awake.
      WHEN j.kind = 'paused' THEN greatest(least(j.removed_lo_ms, j.noticed_lo_ms),
        least(j.noticed_ms, j.after_ms) - j.ahead_hi_ms - heartbeat_late_ms)
      WHEN j.kind <> 'cut_off' THEN least(j.removed_lo_ms, j.noticed_lo_ms)
      WHEN j.first_found_ms - j.noticed_ms > heartbeat_late_ms THEN j.noticed_lo_ms
      ELSE j.last_lost_ms - j.ahead_hi_ms END AS to_lo_ms,
    CASE WHEN j.kind LIKE 'silent%' THEN CAST(NULL AS BIGINT)
      WHEN j.kind = 'returned' THEN j.returned_ms
      WHEN j.kind IN ('paused_or_cut_off', 'slow_or_paused') THEN coalesce(coalesce(j.found_ms, j.back_ms) - j.ahead_lo_ms, j.returned_ms)
      WHEN j.kind <> 'cut_off' THEN coalesce(j.noticed_ms, j.after_ms) - j.ahead_lo_ms
      WHEN j.first_found_ms - j.noticed_ms > heartbeat_late_ms THEN j.first_found_ms - j.ahead_lo_ms
      ELSE j.found_ms - j.ahead_lo_ms END AS to_hi_ms,
    j.reference_process_id, filter(array(j.removed_id, j.noticed_id, j.refused_id, j.back_id), x -> x IS NOT NULL) AS witness
  FROM loss_on_clock j
  WHERE j.kind IN ('paused', 'cut_off', 'paused_or_cut_off', 'replaced', 'returned', 'silent', 'silent_unsure', 'slow', 'slow_or_paused')
  UNION ALL
  SELECT a.kafka_cluster, w.worker_group_id, a.process_id, a.instance, CAST(NULL AS STRING), 'cut_off', false, a.from_ms, a.to_ms,
    -- A connection that fails was attempted some time before.
    a.before_lo_ms, a.from_hi_ms, a.to_lo_ms - unreachable_ms, a.after_hi_ms, a.reference_process_id, array(a.first_id, a.last_id)
  FROM cut_off a LEFT JOIN process_cluster w ON w.process_id = a.process_id AND w.instance = a.instance AND w.is_life_last
  UNION ALL
  -- Its own log shows that it did not run, whether or not that cost it a membership.
  SELECT m.kafka_cluster, m.group_id, p.process_id, p.instance, CAST(NULL AS STRING), 'paused', false, p.before_ms, p.after_ms,
    p.before_ms - o.hi_ms, p.after_ms - p.least_ms - o.lo_ms, p.after_ms - heartbeat_late_ms - o.hi_ms, p.after_ms - o.lo_ms, o.reference_process_id,
    p.witness
  FROM process_pause p JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
  JOIN process_life l ON l.process_id = p.process_id AND l.instance = p.instance AND NOT l.is_broker
  LEFT JOIN (SELECT DISTINCT kafka_cluster, group_id, process_id, instance FROM client_event) m ON m.process_id = p.process_id
    AND m.instance = p.instance
), usable_evidence AS (
  -- Evidence without a time in its own clock has one in its coordinator's.
  SELECT kafka_cluster, group_id, process_id, instance, member_id, kind, is_late, own_from_ms IS NOT NULL AS is_placed,
    coalesce(own_from_ms, from_lo_ms) AS own_from_ms, CASE WHEN own_from_ms IS NULL THEN from_hi_ms ELSE own_to_ms END AS own_to_ms, from_lo_ms,
    from_hi_ms, to_lo_ms, to_hi_ms, reference_process_id, witness
  FROM evidence
  -- If no line bounds the beginning, as in a log that begins later, there is only the refusal.
  WHERE from_lo_ms IS NOT NULL
), evidence_with_previous AS (
  SELECT *, max(own_to_ms) OVER (PARTITION BY process_id, instance, is_placed
    ORDER BY own_from_ms, own_to_ms, coalesce(member_id, '') ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered_until_ms
  FROM usable_evidence
), evidence_of_episode AS (
  SELECT *, count_if(covered_until_ms IS NULL OR own_from_ms >= covered_until_ms) OVER (PARTITION BY process_id, instance, is_placed
    ORDER BY own_from_ms, own_to_ms, coalesce(member_id, '') ROWS UNBOUNDED PRECEDING) AS episode
  FROM evidence_with_previous
), weighted_evidence AS (
  -- Evidence of the kind of trouble is also the best evidence of its time.
  SELECT *,
    CASE WHEN bool_or(kind = 'cut_off') OVER e THEN kind = 'cut_off' WHEN bool_or(kind = 'paused') OVER e THEN kind = 'paused'
      ELSE true END AS is_decisive
  FROM evidence_of_episode
  WINDOW e AS (PARTITION BY process_id, instance, is_placed, episode)
), episode AS (
  SELECT process_id, instance, episode, max(kafka_cluster) AS kafka_cluster, collect_set(group_id) AS group_ids, collect_set(member_id) AS member_ids,
    collect_set(kind) AS kinds, bool_or(is_late OR kind IN ('slow', 'slow_or_paused')) AS is_late,
    -- Removals without any of the process's own lines may belong to several troubles. Only the earliest possible beginning of the first and the
    -- latest possible beginning of the last are known.
    CASE WHEN is_placed THEN max(CASE WHEN is_decisive THEN from_lo_ms END) ELSE min(from_lo_ms) END AS latest_lo_ms,
    CASE WHEN is_placed THEN min(CASE WHEN is_decisive THEN from_hi_ms END) ELSE max(from_hi_ms) END AS from_hi_ms,
    -- If it was back before other evidence shows that it was not, it had recovered in between, and that is another trouble.
    CASE WHEN max(CASE WHEN is_decisive THEN to_lo_ms END) > min(CASE WHEN is_decisive THEN to_hi_ms END)
      THEN min(CASE WHEN is_decisive THEN to_lo_ms END) ELSE max(CASE WHEN is_decisive THEN to_lo_ms END) END AS to_lo_ms,
    CASE WHEN NOT bool_or(kind LIKE 'silent%') THEN min(CASE WHEN is_decisive THEN to_hi_ms END) END AS first_to_hi_ms,
    max(reference_process_id) AS reference_process_id, min(own_from_ms) AS own_from_ms,
    slice(array_distinct(flatten(sort_array(collect_list(witness)))), 1, 16) AS witness
  FROM weighted_evidence GROUP BY process_id, instance, is_placed, episode
), busy_client AS (
  -- kafkajs and ruby-kafka send heartbeats between records or batches only: one that works for too long on one is removed like one that is cut off.
  SELECT DISTINCT process_id, instance FROM event WHERE logger IN ('kafkajs', 'ruby.kafka')
), session_start AS (
  -- A coordinator that loads a group, or completes a generation, begins the sessions of its members anew.
  SELECT l.loss_id, l.member_id FROM loss_on_clock l
  JOIN process_ending e ON e.process_id = l.process_id AND e.instance = l.instance
  JOIN clock_offset b ON b.process_id = l.broker AND b.is_island_reference
  LEFT JOIN fact_line f ON f.process_id = l.broker AND f.event IN ('coordinator_elected', 'partition_loaded', 'group_loaded')
    AND f.at_ms BETWEEN e.from_lo_ms + b.lo_ms AND l.removed_hi_ms + b.hi_ms
  LEFT JOIN generation g ON g.kafka_cluster = l.kafka_cluster AND g.group_id = l.group_id
    AND unix_millis(g.stabilized_ts) BETWEEN e.from_lo_ms + b.lo_ms AND l.removed_hi_ms + b.hi_ms
  WHERE l.kind = 'over' AND l.how = 'session' AND (f.event_id IS NOT NULL OR g.group_id IS NOT NULL)
), last_heartbeat AS (
  -- A process that was removed for missing heartbeats ran when its session began.
  SELECT l.process_id, l.instance, l.reference_process_id,
    max(l.removed_lo_ms - coalesce(l.session_ms, session_longest_ms) - heartbeat_late_ms) AS at_lo_ms
  FROM loss_on_clock l LEFT ANTI JOIN session_start s ON s.loss_id = l.loss_id AND s.member_id <=> l.member_id
  WHERE l.kind = 'over' AND l.how = 'session' GROUP BY l.process_id, l.instance, l.reference_process_id
), ended_process AS (
  SELECT e.process_id, e.instance, e.is_worker, e.how, least(greatest(e.from_lo_ms, h.at_lo_ms), e.from_hi_ms) AS from_lo_ms, e.from_hi_ms,
    e.to_lo_ms, e.to_hi_ms, e.reference_process_id, e.witness,
    e.last_ms, e.kafka_cluster, j.member_ids, j.group_ids, coalesce(j.witness, CAST(array() AS ARRAY<STRING>)) AS removed
  FROM process_ending e
  LEFT JOIN (
    SELECT
      process_id, instance, collect_set(member_id) AS member_ids, collect_set(group_id) AS group_ids, array_sort(collect_set(removed_id)) AS witness
    FROM loss_on_clock WHERE kind = 'over' GROUP BY process_id, instance
  ) j ON j.process_id = e.process_id AND j.instance = e.instance
  LEFT JOIN last_heartbeat h ON h.process_id = e.process_id AND h.instance = e.instance AND h.reference_process_id = e.reference_process_id
  JOIN process_life l ON l.process_id = e.process_id AND l.instance = e.instance
  -- A run without any duration is the beginning of the next one, with some lines missing.
  WHERE NOT e.is_broker AND (e.how = 'died' OR e.how = 'unknown' AND e.next_ms - l.first_ms >= life_shortest_ms)
)
SELECT left(sha2(concat_ws('|', 'trouble', e.process_id, e.instance, CAST(e.own_from_ms AS STRING)), 256), 12) AS trouble_id, e.kafka_cluster,
  array_sort(e.group_ids) AS group_ids, e.process_id, e.instance, array_sort(e.member_ids) AS member_ids, CAST(NULL AS STRING) AS of_group_id,
  CASE WHEN array_contains(e.kinds, 'paused') AND NOT arrays_overlap(e.kinds, array('cut_off', 'silent', 'silent_unsure')) THEN 'process_paused'
    WHEN array_contains(e.kinds, 'cut_off') AND NOT array_contains(e.kinds, 'paused') THEN 'member_cut_off'
    WHEN e.kinds = array('slow') THEN 'poll_too_slow'
    ELSE 'unknown' END AS cause,
  CASE WHEN b.process_id IS NOT NULL AND size(e.alternatives) > 0 THEN array_sort(array_union(e.alternatives, array('poll_too_slow')))
    ELSE e.alternatives END AS alternatives,
  -- It began by the first evidence of it, and ended by the first evidence of its end.
  least(e.latest_lo_ms, e.from_hi_ms) AS from_lo_ms, e.from_hi_ms,
  CASE WHEN e.first_to_hi_ms IS NOT NULL THEN least(greatest(e.from_hi_ms, e.to_lo_ms), greatest(e.first_to_hi_ms, e.to_lo_ms)) END AS to_lo_ms,
  CASE WHEN e.first_to_hi_ms IS NOT NULL THEN greatest(e.first_to_hi_ms, e.to_lo_ms) END AS to_hi_ms, e.reference_process_id, e.witness
FROM (
  SELECT *,
    CASE WHEN array_contains(e.kinds, 'cut_off') AND NOT array_contains(e.kinds, 'paused') THEN CAST(array() AS ARRAY<STRING>)
      -- Its log may lack the lines of its return.
      WHEN array_contains(e.kinds, 'silent_unsure') THEN array('lines_missing', 'member_cut_off', 'process_killed', 'process_paused')
      -- A process that did not rejoin in time may have been slow.
      WHEN array_contains(e.kinds, 'silent') AND e.is_late THEN array('member_cut_off', 'poll_too_slow', 'process_killed', 'process_paused')
      WHEN array_contains(e.kinds, 'silent') THEN array('member_cut_off', 'process_killed', 'process_paused')
      WHEN e.kinds = array('replaced') THEN array('process_killed', 'process_restarted')
      WHEN array_contains(e.kinds, 'returned') AND e.is_late
        THEN array('member_cut_off', 'poll_too_slow', 'process_killed', 'process_paused', 'process_restarted')
      WHEN arrays_overlap(e.kinds, array('returned', 'replaced'))
        THEN array('member_cut_off', 'process_killed', 'process_paused', 'process_restarted')
      WHEN array_contains(e.kinds, 'slow_or_paused') THEN array('member_cut_off', 'poll_too_slow', 'process_paused')
      WHEN array_contains(e.kinds, 'paused') AND NOT array_contains(e.kinds, 'cut_off') OR e.kinds = array('slow') THEN CAST(array() AS ARRAY<STRING>)
      ELSE array('member_cut_off', 'process_paused') END AS alternatives
  FROM episode e
) e
LEFT JOIN busy_client b ON b.process_id = e.process_id AND b.instance = e.instance
UNION ALL
SELECT left(sha2(concat_ws('|', 'over', o.process_id, o.instance), 256), 12) AS trouble_id, o.kafka_cluster,
  array_sort(coalesce(o.group_ids, filter(array(w.worker_group_id), g -> g IS NOT NULL))) AS group_ids, o.process_id, o.instance,
  coalesce(array_sort(o.member_ids), CAST(array() AS ARRAY<STRING>)) AS member_ids, CAST(NULL AS STRING) AS of_group_id,
  CASE WHEN o.how = 'died' THEN 'process_killed' ELSE 'unknown' END AS cause,
  -- A worker that is shut down prints so.
  CASE WHEN o.how = 'died' THEN CAST(array() AS ARRAY<STRING>) WHEN o.is_worker THEN array('lines_missing', 'process_killed')
    ELSE array('process_killed', 'process_restarted') END AS alternatives,
  o.from_lo_ms, o.from_hi_ms, o.to_lo_ms, o.to_hi_ms, o.reference_process_id, array_distinct(concat(o.witness, slice(o.removed, 1, 12))) AS witness
FROM ended_process o LEFT JOIN process_cluster w ON w.process_id = o.process_id AND w.instance = o.instance AND w.is_life_last
UNION ALL
-- Its process is unknown, because only its coordinator's log shows it. A member that its group was not waiting for would have announced its
-- departure, unless it is static or belongs to Kafka Streams. A sink's member was lost with the worker that had its task.
SELECT left(sha2(concat_ws('|', 'nobody', l.loss_id), 256), 12) AS trouble_id, l.kafka_cluster, array(l.group_id) AS group_ids,
  CAST(NULL AS STRING) AS process_id, CAST(NULL AS INT) AS instance, array(l.member_id) AS member_ids,
  coalesce(l.worker_group_id, l.group_id) AS of_group_id, 'unknown' AS cause,
  CASE WHEN g.member_id IS NOT NULL AND l.how = 'session' THEN array('member_cut_off', 'process_killed', 'process_paused', 'process_restarted')
    ELSE CAST(array() AS ARRAY<STRING>) END AS alternatives,
  greatest(l.heard_ms, l.removed_lo_ms - coalesce(l.session_ms, session_longest_ms) - heartbeat_late_ms) AS from_lo_ms, l.removed_hi_ms AS from_hi_ms,
  CAST(NULL AS BIGINT) AS to_lo_ms, CAST(NULL AS BIGINT) AS to_hi_ms, l.reference_process_id, array(l.removed_id) AS witness
FROM lost_membership l
LEFT JOIN (
  SELECT kafka_cluster, group_id, trigger_member_id AS member_id FROM generation
  WHERE trigger = 'member_expired' AND NOT trigger_inferred AND trigger_member_id IS NOT NULL GROUP BY kafka_cluster, group_id, trigger_member_id
) g ON g.kafka_cluster = l.kafka_cluster AND g.group_id = coalesce(l.worker_group_id, l.group_id)
  AND g.member_id = coalesce(l.worker_member_id, l.member_id)
WHERE l.kind = 'nobody'
UNION ALL
-- Its log ends, and its group continued without it. The log may only lack the lines of its end.
SELECT left(sha2(concat_ws('|', 'vanished', v.process_id, v.instance), 256), 12) AS trouble_id, max(v.kafka_cluster) AS kafka_cluster,
  array_sort(collect_set(v.group_id)) AS group_ids, v.process_id, v.instance, array_sort(collect_set(v.member_id)) AS member_ids,
  CAST(NULL AS STRING) AS of_group_id, 'unknown' AS cause,
  array('lines_missing', 'member_cut_off', 'process_killed', 'process_paused') AS alternatives, max(v.last_lo_ms) AS from_lo_ms,
  min(v.gone_hi_ms) AS from_hi_ms, CAST(NULL AS BIGINT) AS to_lo_ms, CAST(NULL AS BIGINT) AS to_hi_ms,
  max(v.reference_process_id) AS reference_process_id, slice(array_distinct(flatten(sort_array(collect_list(v.witness)))), 1, 16) AS witness
FROM silent_member v LEFT ANTI JOIN lost_membership l ON l.process_id = v.process_id AND l.instance = v.instance
WHERE v.how = 'gone' GROUP BY v.process_id, v.instance

-- One row per membership that its client was refused or was removed from, with the client's lines about it.
-- Reads: client_event, removed_member, placed_event, member_round, join_round, clock_offset
-- Grain: group_id, process_id, instance, client, membership
-- A membership begins when the client becomes a member, and lasts until it becomes a member again. A seat is a client of a group in one process run.
CREATE OR REPLACE TEMPORARY VIEW membership_end (
  kafka_cluster, group_id, process_id, instance, client,
  membership     COMMENT 'Its number in this run of the client; 0: before the first one in its log',
  is_worker,
  member_id      COMMENT 'Member id; NULL: unknown',
  generation     COMMENT 'Last generation that its client printed; NULL: unknown',
  removed_id     COMMENT 'Event of the removal; NULL: no coordinator''s log has one',
  removed_member COMMENT 'Member id that was removed',
  noticed        COMMENT 'Its client''s first line about it: at_ms (own clock), event, answered_ms (last response before), ...',
  last_lost_ms   COMMENT 'Last loss of its coordinator, by its own clock',
  refused        COMMENT 'Its first refusal: at_ms (own clock), stream_pos, event_id',
  found_ms       COMMENT 'Its coordinator was found, or answered, after that, by its own clock',
  first_found_ms COMMENT 'Its coordinator was found, or answered, for the first time, by its own clock',
  answered_ms    COMMENT 'Last response of its coordinator before that, by its own clock',
  is_joining     COMMENT 'True if it had asked to join before it was removed',
  back_ms        COMMENT 'It became a member again at this time, by its own clock; NULL: it did not',
  back_id        COMMENT 'Event of that',
  replaced_ms    COMMENT 'Others were in the next generation without it at this time, by its own clock; NULL: unknown, or on another clock',
  is_replaced    COMMENT 'True if others were in the next generation without it',
  last_incarnation COMMENT 'Incarnation of its last generation; NULL: its removal is logged',
  last_generation  COMMENT 'Its last generation; NULL: its removal is logged, or unknown'
)
AS
WITH classified_event AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, is_worker, at_ms, stream_pos, event_id, event, member_id, generation,
    CASE WHEN event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned') THEN 'in'
      WHEN event = 'coordinator_lost' THEN 'lost'
      WHEN event = 'coordinator_discovered' THEN 'found'
      WHEN event = 'joining' THEN 'asked'
      WHEN event = 'member_fenced' AND group_instance_id IS NULL OR reason LIKE 'The coordinator is not aware of this member%'
        OR event IN ('heartbeat_failed', 'join_failed', 'sync_failed', 'generation_reset')
        AND coalesce(cause, error, reason, '')
          RLIKE '(?i:unknown.?member)|not aware of this member|member id|member_id was not|member is not known|is unknown|FENCED_MEMBER'
        THEN 'refused' END AS kind
  FROM client_event WHERE at_ms IS NOT NULL AND group_id IS NOT NULL
  UNION ALL
  -- A member of a share group owns no partition: its membership begins when it is stable.
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.instance, coalesce(e.client_id, e.thread, '-'), false, unix_millis(e.ts), e.stream_pos,
    e.event_id, e.event, e.member_id, CAST(NULL AS BIGINT), 'in'
  FROM placed_event e
  WHERE e.client_kind = 'ShareConsumer' AND e.event = 'member_state_changed' AND e.state_to = 'STABLE' AND e.ts IS NOT NULL AND e.group_id IS NOT NULL
), seat_event AS (
  SELECT concat_ws('|', group_id, process_id, CAST(instance AS STRING), client) AS seat, kafka_cluster, group_id, process_id, instance, client,
    is_worker, at_ms, stream_pos, event_id, event, member_id, generation, kind, 0L AS session_ms
  FROM classified_event WHERE kind IS NOT NULL
  UNION ALL
  -- The coordinator's log may have another name for the cluster, or none.
  SELECT concat_ws('|', r.group_id, r.process_id, CAST(r.instance AS STRING), r.client), NULL, r.group_id, r.process_id, r.instance, r.client, false,
    r.own_lo_ms, -1L, r.removed_id, 'member_expired', r.member_id, NULL, 'removed', coalesce(r.session_ms, 0L)
  FROM removed_member r
  -- If the clocks leave the time of the removal open, it is omitted: the member's own lines with that id show the membership.
  LEFT ANTI JOIN classified_event s ON r.own_hi_ms - r.own_lo_ms > coordinator_together_ms AND s.process_id = r.process_id
    AND s.group_id = r.group_id AND s.member_id = r.member_id
  WHERE r.process_id IS NOT NULL AND r.own_lo_ms IS NOT NULL
), membership_mark AS (
  -- Each event of a seat with its membership, the last response of the coordinator and the last request to join. A worker prints its assignment
  -- later, after its tasks have stopped. At equal times only requests that are certainly earlier count.
  SELECT *, count_if(kind = 'in') OVER in_order AS membership,
    max(CASE WHEN event IN ('joined', 'synced', 'coordinator_discovered') THEN at_ms END) OVER in_order AS answered_ms,
    max(CASE WHEN kind = 'asked' THEN at_ms END) OVER in_time AS asked_before_ms
  FROM (SELECT *, CASE kind WHEN 'asked' THEN 2 WHEN 'in' THEN 1 ELSE 0 END AS turn FROM seat_event)
  WINDOW in_order AS (PARTITION BY seat ORDER BY at_ms, stream_pos, event_id ROWS UNBOUNDED PRECEDING),
    in_time AS (PARTITION BY seat ORDER BY at_ms, turn, stream_pos, event_id ROWS UNBOUNDED PRECEDING)
), ended_membership AS (
  SELECT seat, membership, max(kafka_cluster) AS kafka_cluster, max(group_id) AS group_id, max(process_id) AS process_id, max(instance) AS instance,
    max(client) AS client, max(is_worker) AS is_worker, max(member_id) AS member_id,
    max(CASE WHEN kind IN ('in', 'refused') THEN generation END) AS generation, max(CASE WHEN kind = 'removed' THEN event_id END) AS removed_id,
    max(CASE WHEN kind = 'removed' THEN member_id END) AS removed_member,
    min(CASE WHEN kind = 'removed' THEN at_ms - session_ms - heartbeat_late_ms END) AS unheard_ms,
    min(CASE WHEN kind = 'refused' THEN at_ms END) AS refused_ms, min(CASE WHEN kind = 'asked' THEN at_ms END) AS asked_ms,
    min(CASE WHEN kind = 'removed' THEN at_ms END) AS removed_ms, min(CASE WHEN kind = 'removed' THEN answered_ms END) AS answered_ms,
    min(CASE WHEN kind = 'in' THEN at_ms END) AS in_ms, min(CASE WHEN kind = 'in' THEN event_id END) AS in_id
  FROM membership_mark GROUP BY seat, membership
), mark_of_end AS (
  -- A coordinator that was found and kept for long ends the earlier trouble.
  SELECT n.*, e.refused_ms,
    coalesce(e.unheard_ms, max(CASE WHEN n.kind = 'found' AND n.at_ms + coordinator_settled_ms <= e.refused_ms THEN n.at_ms END)
      OVER (PARTITION BY n.seat, n.membership), e.in_ms, 0L) AS since_ms
  FROM (
    SELECT *, max(CASE WHEN kind = 'in' THEN asked_before_ms END) OVER (PARTITION BY seat ORDER BY at_ms, turn, stream_pos, event_id
      ROWS UNBOUNDED PRECEDING) AS let_in_asked_ms
    FROM membership_mark
  ) n
  JOIN ended_membership e ON e.seat = n.seat AND e.membership = n.membership
  WHERE e.removed_id IS NOT NULL OR e.refused_ms IS NOT NULL
), loss_summary AS (
  SELECT seat, membership,
    min(CASE WHEN kind IN ('lost', 'refused') AND at_ms >= since_ms THEN struct(at_ms, stream_pos, event_id, event, answered_ms) END) AS noticed,
    min_by(let_in_asked_ms, struct(at_ms, stream_pos, event_id)) FILTER (WHERE kind IN ('lost', 'refused') AND at_ms >= since_ms) AS let_in_asked_ms,
    -- A refusal is a response of the coordinator, so a loss after it is another loss.
    max(CASE WHEN kind = 'lost' AND at_ms >= since_ms AND coalesce(at_ms <= refused_ms, true) THEN at_ms END) AS last_lost_ms,
    min(CASE WHEN kind = 'refused' THEN struct(at_ms, stream_pos, event_id) END) AS refused
  FROM mark_of_end GROUP BY seat, membership
), recovery AS (
  -- Recovery after the last loss, the first recovery, and the last loss before that.
  SELECT s.seat, s.membership, min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.last_lost_ms THEN n.at_ms END) AS found_ms,
    min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.noticed.at_ms THEN n.at_ms END) AS first_found_ms
  FROM loss_summary s JOIN membership_mark n ON n.seat = s.seat AND n.membership = s.membership GROUP BY s.seat, s.membership
), timed_round AS (
  SELECT
    concat_ws('|', r.group_id, r.process_id, CAST(j.instance AS STRING), r.client) AS seat, r.kafka_cluster, r.group_id, r.incarnation, r.generation,
    coalesce(j.synced_ms, j.joined_ms, j.worker_assigned_ms) AS at_ms,
    -- An uncertain clock gives no usable time.
    CASE WHEN o.hi_ms - o.lo_ms <= coordinator_together_ms
      THEN coalesce(j.joined_ms, j.synced_ms, j.worker_assigned_ms) - o.lo_ms END AS joined_hi_ms, o.reference_process_id
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
), last_round AS (
  -- Without the coordinator's log: the member's last generation, and when others were in the next one without it.
  SELECT seat, membership, last, last_ms, let_in_asked_ms
  FROM (
    SELECT seat, membership, let_in_asked_ms, lag(in_round) IGNORE NULLS OVER so_far AS last, lag(round_ms) IGNORE NULLS OVER so_far AS last_ms
    FROM (
      SELECT seat, CAST(NULL AS BIGINT) AS membership, CAST(NULL AS BIGINT) AS let_in_asked_ms, at_ms, at_ms AS round_ms,
        struct(kafka_cluster, group_id, incarnation, generation) AS in_round, incarnation, generation
      FROM timed_round WHERE at_ms IS NOT NULL
      UNION ALL
      SELECT s.seat, s.membership, s.let_in_asked_ms, s.noticed.at_ms, NULL, NULL, NULL, NULL
      FROM loss_summary s JOIN ended_membership e ON e.seat = s.seat AND e.membership = s.membership AND e.removed_id IS NULL
    )
    WINDOW so_far AS (PARTITION BY seat ORDER BY at_ms, membership NULLS FIRST, incarnation, generation)
  )
  WHERE membership IS NOT NULL AND last IS NOT NULL
), next_round AS (
  SELECT kafka_cluster, group_id, incarnation, generation, reference_process_id, min(joined_hi_ms) AS joined_hi_ms FROM timed_round
  GROUP BY kafka_cluster, group_id, incarnation, generation, reference_process_id
), replaced_member AS (
  SELECT a.seat, a.membership,
    min(CASE WHEN n.reference_process_id = o.reference_process_id AND o.hi_ms - o.lo_ms <= coordinator_together_ms
      THEN n.joined_hi_ms + o.hi_ms END) AS own_hi_ms
  FROM last_round a JOIN ended_membership e ON e.seat = a.seat AND e.membership = a.membership
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  JOIN next_round n ON n.kafka_cluster = a.last.kafka_cluster AND n.group_id = a.last.group_id AND n.incarnation = a.last.incarnation
    AND n.generation = a.last.generation + 1
  LEFT ANTI JOIN timed_round r ON r.seat = a.seat AND r.kafka_cluster = n.kafka_cluster AND r.group_id = n.group_id
    AND r.incarnation = n.incarnation AND r.generation = n.generation AND r.reference_process_id = n.reference_process_id
  -- If it asked again after that generation and became a member, the lines that show its generation are missing.
  WHERE NOT coalesce(a.let_in_asked_ms > a.last_ms, false) GROUP BY a.seat, a.membership
)
SELECT e.kafka_cluster, e.group_id, e.process_id, e.instance, e.client, e.membership, e.is_worker, e.member_id, e.generation, e.removed_id,
  e.removed_member, s.noticed, s.last_lost_ms, s.refused, f.found_ms, f.first_found_ms, coalesce(s.noticed.answered_ms, e.answered_ms) AS answered_ms,
  coalesce(e.asked_ms < e.removed_ms, false) AS is_joining, b.in_ms AS back_ms, b.in_id AS back_id, p.own_hi_ms AS replaced_ms,
  p.seat IS NOT NULL AS is_replaced, a.last.incarnation AS last_incarnation, a.last.generation AS last_generation
FROM loss_summary s JOIN ended_membership e ON e.seat = s.seat AND e.membership = s.membership
LEFT JOIN ended_membership b ON b.seat = s.seat AND b.membership = s.membership + 1
LEFT JOIN recovery f ON f.seat = s.seat AND f.membership = s.membership
LEFT JOIN replaced_member p ON p.seat = s.seat AND p.membership = s.membership
LEFT JOIN last_round a ON a.seat = s.seat AND a.membership = s.membership

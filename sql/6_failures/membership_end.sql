-- One row per membership that its client was refused or was removed from, with the client's lines about it.
-- Reads: membership_mark, member_round, join_round, clock_offset
-- Grain: group_id, process_id, instance, client, membership
CREATE OR REPLACE TEMPORARY VIEW membership_end (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  process_id     COMMENT 'Process',
  instance       COMMENT 'Run of the process',
  client         COMMENT 'Client inside the process',
  membership     COMMENT 'Its number in this run of the client; 0: before the first one in its log',
  is_worker      COMMENT 'True for a Connect worker itself',
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
COMMENT 'One row per membership that its client was refused or was removed from, with the client''s lines about it.'
AS
WITH ended_membership AS (
  SELECT seat, membership, max(kafka_cluster) AS kafka_cluster, max(group_id) AS group_id, max(process_id) AS process_id,
    max(instance) AS instance, max(client) AS client, max(is_worker) AS is_worker, max(member_id) AS member_id,
    max(CASE WHEN kind IN ('in', 'refused') THEN generation END) AS generation,
    max(CASE WHEN kind = 'removed' THEN event_id END) AS removed_id, max(CASE WHEN kind = 'removed' THEN member_id END) AS removed_member,
    min(CASE WHEN kind = 'removed' THEN at_ms - session_ms - heartbeat_late_ms END) AS unheard_ms,
    min(CASE WHEN kind = 'refused' THEN at_ms END) AS refused_ms,
    min(CASE WHEN kind = 'asked' THEN at_ms END) AS asked_ms, min(CASE WHEN kind = 'removed' THEN at_ms END) AS removed_ms,
    min(CASE WHEN kind = 'removed' THEN answered_ms END) AS answered_ms,
    min(CASE WHEN kind = 'in' THEN at_ms END) AS in_ms, min(CASE WHEN kind = 'in' THEN event_id END) AS in_id
  FROM membership_mark
  GROUP BY seat, membership
), mark_with_request AS (
  -- When it had asked to join, the last time that it became a member before a mark. At equal times only marks that are certainly earlier
  -- count.
  SELECT seat, membership, kind, at_ms, stream_pos, event_id, event, answered_ms,
    max(CASE WHEN kind = 'in' THEN asked_before_ms END) OVER so_far AS let_in_asked_ms
  FROM (
    SELECT n.*, max(CASE WHEN n.kind = 'asked' THEN n.at_ms END) OVER so_far AS asked_before_ms
    FROM (SELECT *, CASE kind WHEN 'asked' THEN 2 WHEN 'in' THEN 1 ELSE 0 END AS turn FROM membership_mark) n
    LEFT SEMI JOIN ended_membership e ON e.seat = n.seat AND (e.removed_id IS NOT NULL OR e.refused_ms IS NOT NULL)
    WINDOW so_far AS (PARTITION BY n.seat ORDER BY n.at_ms, n.turn, n.stream_pos, n.event_id ROWS UNBOUNDED PRECEDING)
  )
  WINDOW so_far AS (PARTITION BY seat ORDER BY at_ms, turn, stream_pos, event_id ROWS UNBOUNDED PRECEDING)
), mark_of_end AS (
  -- A coordinator that was found and kept for long ends the earlier trouble.
  SELECT n.*, e.refused_ms,
    coalesce(e.unheard_ms, max(CASE WHEN n.kind = 'found' AND n.at_ms + coordinator_settled_ms <= e.refused_ms THEN n.at_ms END)
      OVER (PARTITION BY n.seat, n.membership), e.in_ms, 0L) AS since_ms
  FROM mark_with_request n
  JOIN ended_membership e ON e.seat = n.seat AND e.membership = n.membership
  WHERE e.removed_id IS NOT NULL OR e.refused_ms IS NOT NULL
), loss_summary AS (
  SELECT seat, membership,
    min(CASE WHEN kind IN ('lost', 'refused') AND at_ms >= since_ms
      THEN struct(at_ms, stream_pos, event_id, event, answered_ms) END) AS noticed,
    min_by(let_in_asked_ms, struct(at_ms, stream_pos, event_id)) FILTER (WHERE kind IN ('lost', 'refused') AND at_ms >= since_ms)
      AS let_in_asked_ms,
    -- A refusal is a response of the coordinator, so a loss after it is another loss.
    max(CASE WHEN kind = 'lost' AND at_ms >= since_ms AND coalesce(at_ms <= refused_ms, true) THEN at_ms END) AS last_lost_ms,
    min(CASE WHEN kind = 'refused' THEN struct(at_ms, stream_pos, event_id) END) AS refused
  FROM mark_of_end
  GROUP BY seat, membership
), recovery AS (
  -- Recovery after the last loss, the first recovery, and the last loss before that.
  SELECT s.seat, s.membership, min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.last_lost_ms THEN n.at_ms END) AS found_ms,
    min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.noticed.at_ms THEN n.at_ms END) AS first_found_ms
  FROM loss_summary s
  JOIN membership_mark n ON n.seat = s.seat AND n.membership = s.membership
  GROUP BY s.seat, s.membership
), timed_round AS (
  SELECT concat_ws('|', r.group_id, r.process_id, CAST(j.instance AS STRING), r.client) AS seat, r.kafka_cluster, r.group_id,
    r.incarnation,
    r.generation, coalesce(j.synced_ms, j.joined_ms, j.worker_assigned_ms) AS at_ms,
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
    SELECT seat, membership, let_in_asked_ms, lag(in_round) IGNORE NULLS OVER so_far AS last,
      lag(round_ms) IGNORE NULLS OVER so_far AS last_ms
    FROM (
      SELECT seat, CAST(NULL AS BIGINT) AS membership, CAST(NULL AS BIGINT) AS let_in_asked_ms, at_ms, at_ms AS round_ms,
        struct(kafka_cluster, group_id, incarnation, generation) AS in_round, incarnation, generation
      FROM timed_round
      WHERE at_ms IS NOT NULL
      UNION ALL
      SELECT s.seat, s.membership, s.let_in_asked_ms, s.noticed.at_ms, NULL, NULL, NULL, NULL
      FROM loss_summary s
      JOIN ended_membership e ON e.seat = s.seat AND e.membership = s.membership AND e.removed_id IS NULL
    )
    WINDOW so_far AS (PARTITION BY seat ORDER BY at_ms, membership NULLS FIRST, incarnation, generation)
  )
  WHERE membership IS NOT NULL AND last IS NOT NULL
), unlogged_round AS (
  -- A log that begins later has no line of the join; the refusal names the generation.
  SELECT s.seat, s.membership, g.kafka_cluster, e.group_id, g.only_one AS incarnation, e.generation
  FROM loss_summary s
  JOIN ended_membership e ON e.seat = s.seat AND e.membership = s.membership AND e.removed_id IS NULL AND e.generation IS NOT NULL
  JOIN (
    SELECT kafka_cluster, group_id, min(incarnation) AS only_one
    FROM timed_round
    GROUP BY kafka_cluster, group_id
    HAVING count(DISTINCT incarnation) = 1
  ) g ON g.group_id = e.group_id
  LEFT ANTI JOIN last_round a ON a.seat = s.seat AND a.membership = s.membership
), next_round AS (
  SELECT kafka_cluster, group_id, incarnation, generation, reference_process_id, min(joined_hi_ms) AS joined_hi_ms
  FROM timed_round
  GROUP BY kafka_cluster, group_id, incarnation, generation, reference_process_id
), missed_generation AS (
  -- Generations of its group without the client.
  SELECT u.seat, n.generation, n.reference_process_id, n.joined_hi_ms
  FROM (SELECT DISTINCT seat, kafka_cluster, group_id, incarnation FROM unlogged_round) u
  JOIN next_round n ON n.kafka_cluster = u.kafka_cluster AND n.group_id = u.group_id AND n.incarnation = u.incarnation
  LEFT ANTI JOIN timed_round r ON r.seat = u.seat AND r.kafka_cluster = n.kafka_cluster AND r.group_id = n.group_id
    AND r.incarnation = n.incarnation AND r.generation = n.generation AND r.reference_process_id = n.reference_process_id
), replaced_member AS (
  SELECT a.seat, a.membership,
    min(CASE WHEN n.reference_process_id = o.reference_process_id AND o.hi_ms - o.lo_ms <= coordinator_together_ms
      THEN n.joined_hi_ms + o.hi_ms END) AS own_hi_ms
  FROM last_round a
  JOIN ended_membership e ON e.seat = a.seat AND e.membership = a.membership
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  JOIN next_round n ON n.kafka_cluster = a.last.kafka_cluster AND n.group_id = a.last.group_id AND n.incarnation = a.last.incarnation
    AND n.generation = a.last.generation + 1
  LEFT ANTI JOIN timed_round r ON r.seat = a.seat AND r.kafka_cluster = n.kafka_cluster AND r.group_id = n.group_id
    AND r.incarnation = n.incarnation AND r.generation = n.generation AND r.reference_process_id = n.reference_process_id
  -- If it asked again after that generation and became a member, the lines that show its generation are missing.
  WHERE NOT coalesce(a.let_in_asked_ms > a.last_ms, false)
  GROUP BY a.seat, a.membership
  UNION ALL
  SELECT seat, membership, own_hi_ms
  FROM (
    SELECT seat, membership, count(joined) OVER later AS times, min(own_hi_ms) OVER later AS own_hi_ms
    FROM (
      SELECT seat, membership, generation, CAST(NULL AS INT) AS joined, CAST(NULL AS BIGINT) AS own_hi_ms
      FROM unlogged_round
      UNION ALL
      SELECT p.seat, NULL, p.generation, 1, CASE WHEN p.reference_process_id = o.reference_process_id THEN p.joined_hi_ms + o.hi_ms END
      FROM missed_generation p
      JOIN (SELECT DISTINCT seat, process_id FROM ended_membership) e ON e.seat = p.seat
      JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
    )
    WINDOW later AS (PARTITION BY seat ORDER BY generation DESC, membership NULLS LAST ROWS UNBOUNDED PRECEDING)
  )
  WHERE membership IS NOT NULL AND times > 0
)
SELECT
  e.kafka_cluster AS kafka_cluster,
  e.group_id AS group_id,
  e.process_id AS process_id,
  e.instance AS instance,
  e.client AS client,
  e.membership AS membership,
  e.is_worker AS is_worker,
  e.member_id AS member_id,
  e.generation AS generation,
  e.removed_id AS removed_id,
  e.removed_member AS removed_member,
  s.noticed AS noticed,
  s.last_lost_ms AS last_lost_ms,
  s.refused AS refused,
  f.found_ms AS found_ms,
  f.first_found_ms AS first_found_ms,
  coalesce(s.noticed.answered_ms, e.answered_ms) AS answered_ms,
  coalesce(e.asked_ms < e.removed_ms, false) AS is_joining,
  b.in_ms AS back_ms,
  b.in_id AS back_id,
  p.own_hi_ms AS replaced_ms,
  p.seat IS NOT NULL AS is_replaced,
  a.last.incarnation AS last_incarnation,
  a.last.generation AS last_generation
FROM loss_summary s
JOIN ended_membership e ON e.seat = s.seat AND e.membership = s.membership
LEFT JOIN ended_membership b ON b.seat = s.seat AND b.membership = s.membership + 1
LEFT JOIN recovery f ON f.seat = s.seat AND f.membership = s.membership
LEFT JOIN replaced_member p ON p.seat = s.seat AND p.membership = s.membership
LEFT JOIN last_round a ON a.seat = s.seat AND a.membership = s.membership

-- One row per membership that a client lost against its will, and how: its coordinator removed it, or refused it when it came back.
-- Reads: member_removal, client_event, event, member_round, join_round, broker_generation, process_ending, process_life, coordinator_outage, clock_offset
-- Grain: kafka_cluster, group_id, loss_id
-- A live member of the classic protocol notices by itself that its session ran out, at the moment at which its coordinator does: one that
-- says so much later did not run in between. One that says so in time and cannot find its coordinator for long did run. What other members
-- of the group suffer at the same moment is their coordinator's trouble. Kinds: coordinator (it was the coordinator's trouble), closed (its
-- client had been closed), over (its process had ended), slow (heartbeats came, but it did not rejoin), silent (its log ends),
-- unnoticed (its client says no word of it), paused, cut_off, slow_or_paused, paused_or_cut_off, refused (only the refusal is known),
-- nobody (no line tells whose member it was).
CREATE OR REPLACE TEMPORARY VIEW lost_membership (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  loss_id        COMMENT 'Event of the removal and member id, or without the coordinator''s log the refusal',
  member_id      COMMENT 'Member id; NULL: no line tells',
  process_id     COMMENT 'Its process; NULL: no line tells',
  instance       COMMENT 'Life of the process',
  client         COMMENT 'Client inside the process',
  is_worker      COMMENT 'True for a Connect worker itself',
  how            COMMENT 'session, rebalance, or refused: only the member''s log is here',
  protocol       COMMENT 'classic or consumer (KIP-848)',
  removed_id     COMMENT 'Event of the removal; NULL: not in these logs',
  removed_lo_ms  COMMENT 'Removed at the earliest then (reference clock)',
  removed_hi_ms  COMMENT 'Removed at the latest then',
  heard_ms       COMMENT 'It asked to join its last generation not before then (reference clock); NULL: no coordinator''s log tells',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  session_ms     COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms      COMMENT 'Removed at the earliest then, by the process''s own clock',
  own_hi_ms      COMMENT 'Removed at the latest then, by its own clock; without the coordinator''s log others had gone on by then',
  broker         COMMENT 'Coordinator''s process that removed it',
  kind           COMMENT 'How it was lost, in a closed vocabulary',
  answered_ms    COMMENT 'Its coordinator had answered it then, the last time before, by its own clock',
  before_ms      COMMENT 'Last line of the process before the removal, by its own clock',
  after_ms       COMMENT 'First line of the process after it, in the same life',
  noticed_ms     COMMENT 'First line of the client that tells of the loss, by its own clock; NULL: none',
  noticed_id     COMMENT 'Its event',
  noticed        COMMENT 'coordinator_lost, or the refusal''s event',
  last_lost_ms   COMMENT 'Last time that it lost its coordinator in that time',
  found_ms       COMMENT 'It had found its coordinator again by then, after the last loss',
  first_found_ms COMMENT 'It found its coordinator then, the first time after it had noticed',
  refused_id     COMMENT 'Event that refuses it; NULL: none',
  back_ms        COMMENT 'Member again by then',
  back_id        COMMENT 'Its event'
)
COMMENT 'One row per membership that a client lost against its will.'
AS
WITH said AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, is_worker, unix_millis(ts) AS at_ms, stream_pos, event_id, event,
    member_id,
    CASE
      WHEN event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned') THEN 'in'
      WHEN event = 'coordinator_lost' THEN 'lost'
      WHEN event = 'coordinator_discovered' THEN 'found'
      WHEN event = 'joining' THEN 'asked'
      WHEN event = 'member_fenced' AND group_instance_id IS NULL
        OR event IN ('heartbeat_failed', 'join_failed', 'sync_failed', 'generation_reset')
          AND coalesce(cause, error, reason, '') RLIKE 'UNKNOWN_MEMBER|not aware of this member|member id|is unknown|FENCED_MEMBER'
            THEN 'refused'
    END AS kind
  FROM client_event
  WHERE ts IS NOT NULL AND group_id IS NOT NULL
), mark AS (
  SELECT concat_ws('|', group_id, process_id, CAST(instance AS STRING), client) AS seat, kafka_cluster, group_id, process_id, instance,
    client,
    is_worker, at_ms, stream_pos, event_id, event, member_id, kind, 0L AS session_ms
  FROM said
  WHERE kind IS NOT NULL
  UNION ALL
  -- The coordinator's log may call the cluster by another name, or by none.
  SELECT concat_ws('|', group_id, process_id, CAST(instance AS STRING), client), NULL, group_id, process_id, instance, client,
    false, own_lo_ms, -1L, removed_id, 'member_expired', member_id, 'removed', coalesce(session_ms, 0L)
  FROM member_removal
  WHERE process_id IS NOT NULL AND own_lo_ms IS NOT NULL
), numbered AS (
  SELECT *, count_if(kind = 'in') OVER w AS membership,
    -- What only its coordinator's answer makes it say; a worker tells of its assignment later, when its tasks have stopped.
    max(CASE WHEN event IN ('joined', 'synced', 'coordinator_discovered') THEN at_ms END) OVER w AS answered_ms
  FROM mark
  WINDOW w AS (PARTITION BY seat ORDER BY at_ms, stream_pos, event_id ROWS UNBOUNDED PRECEDING)
), ended AS (
  SELECT seat, membership, max(kafka_cluster) AS kafka_cluster, max(group_id) AS group_id, max(process_id) AS process_id,
    max(instance) AS instance, max(client) AS client, max(is_worker) AS is_worker, max(member_id) AS member_id,
    max(CASE WHEN kind = 'removed' THEN event_id END) AS removed_id, max(CASE WHEN kind = 'removed' THEN member_id END) AS removed_member,
    min(CASE WHEN kind = 'removed' THEN at_ms - session_ms - heartbeat_late_ms END) AS unheard_ms,
    min(CASE WHEN kind = 'refused' THEN at_ms END) AS refused_ms,
    min(CASE WHEN kind = 'asked' THEN at_ms END) AS asked_ms, min(CASE WHEN kind = 'removed' THEN at_ms END) AS removed_ms,
    min(CASE WHEN kind = 'removed' THEN answered_ms END) AS answered_ms,
    min(CASE WHEN kind = 'in' THEN at_ms END) AS in_ms, min(CASE WHEN kind = 'in' THEN event_id END) AS in_id
  FROM numbered
  GROUP BY seat, membership
), settled AS (
  -- A coordinator that was found and kept for long ends what came before.
  SELECT n.seat, n.membership, n.kind, n.at_ms, n.stream_pos, n.event_id, n.event, n.answered_ms,
    coalesce(e.unheard_ms, max(CASE WHEN n.kind = 'found' AND n.at_ms + coordinator_settled_ms <= e.refused_ms THEN n.at_ms END)
      OVER (PARTITION BY n.seat, n.membership), e.in_ms, 0L) AS since_ms
  FROM numbered n
  JOIN ended e ON e.seat = n.seat AND e.membership = n.membership
  WHERE e.removed_id IS NOT NULL OR e.refused_ms IS NOT NULL
), story AS (
  SELECT seat, membership,
    min(CASE WHEN kind IN ('lost', 'refused') AND at_ms >= since_ms
      THEN struct(at_ms, stream_pos, event_id, event, answered_ms) END) AS noticed,
    max(CASE WHEN kind = 'lost' AND at_ms >= since_ms THEN at_ms END) AS last_lost_ms,
    min(CASE WHEN kind = 'refused' THEN struct(at_ms, stream_pos, event_id) END) AS refused
  FROM settled
  GROUP BY seat, membership
), found AS (
  -- Found after the last loss, found first, and the last loss before that.
  SELECT s.seat, s.membership, min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.last_lost_ms THEN n.at_ms END) AS found_ms,
    min(CASE WHEN n.kind IN ('found', 'refused') AND n.at_ms >= s.noticed.at_ms THEN n.at_ms END) AS first_found_ms
  FROM story s
  JOIN numbered n ON n.seat = s.seat AND n.membership = s.membership
  GROUP BY s.seat, s.membership
), round AS (
  SELECT concat_ws('|', r.group_id, r.process_id, CAST(j.instance AS STRING), r.client) AS seat, r.kafka_cluster, r.group_id,
    r.incarnation,
    r.generation, unix_millis(coalesce(j.synced_ts, j.joined_ts, j.worker_assigned_ts)) AS at_ms,
    unix_millis(coalesce(j.joined_ts, j.synced_ts, j.worker_assigned_ts)) - o.lo_ms AS joined_hi_ms, o.reference_process_id
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
), alone AS (
  -- Without the coordinator's log: the last generation that it was in, and when others were in the next without it.
  SELECT s.seat, s.membership, max_by(struct(r.kafka_cluster, r.group_id, r.incarnation, r.generation), r.at_ms) AS last
  FROM story s
  JOIN ended e ON e.seat = s.seat AND e.membership = s.membership AND e.removed_id IS NULL
  JOIN round r ON r.seat = s.seat AND r.at_ms <= s.noticed.at_ms
  GROUP BY s.seat, s.membership
), next_round AS (
  SELECT kafka_cluster, group_id, incarnation, generation, reference_process_id, min(joined_hi_ms) AS joined_hi_ms,
    collect_set(seat) AS seats
  FROM round
  GROUP BY kafka_cluster, group_id, incarnation, generation, reference_process_id
), replaced AS (
  SELECT a.seat, a.membership,
    min(CASE WHEN n.reference_process_id = o.reference_process_id THEN n.joined_hi_ms + o.hi_ms END) AS own_hi_ms
  FROM alone a
  JOIN ended e ON e.seat = a.seat AND e.membership = a.membership
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  JOIN next_round n ON n.kafka_cluster = a.last.kafka_cluster AND n.group_id = a.last.group_id AND n.incarnation = a.last.incarnation
    AND n.generation = a.last.generation + 1 AND NOT array_contains(n.seats, a.seat)
  GROUP BY a.seat, a.membership
), loss AS (
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.instance, e.client, e.is_worker, e.member_id, e.removed_id, e.removed_member,
    s.noticed, s.last_lost_ms, s.refused, f.found_ms, f.first_found_ms,
    coalesce(s.noticed.answered_ms, e.answered_ms) AS answered_ms,
    coalesce(e.asked_ms < e.removed_ms, false) AS is_joining, b.in_ms AS back_ms, b.in_id AS back_id, p.own_hi_ms AS replaced_ms,
    p.seat IS NOT NULL AS is_replaced
  FROM story s
  JOIN ended e ON e.seat = s.seat AND e.membership = s.membership
  LEFT JOIN ended b ON b.seat = s.seat AND b.membership = s.membership + 1
  LEFT JOIN found f ON f.seat = s.seat AND f.membership = s.membership
  LEFT JOIN replaced p ON p.seat = s.seat AND p.membership = s.membership
), every AS (
  SELECT r.kafka_cluster, r.group_id, concat(r.removed_id, '/', r.member_id) AS loss_id, r.member_id, r.process_id, r.instance, r.client,
    l.is_worker, r.how, true AS is_replaced, r.protocol, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.heard_ms,
      r.reference_process_id, r.session_ms,
    r.own_lo_ms, r.own_hi_ms, r.was_closed, r.broker, l.noticed, l.last_lost_ms, l.found_ms, l.first_found_ms, l.answered_ms,
      l.is_joining,
    l.refused, l.back_ms, l.back_id
  FROM member_removal r
  LEFT JOIN loss l ON l.group_id = r.group_id AND l.removed_id = r.removed_id AND l.removed_member = r.member_id
  UNION ALL
  SELECT l.kafka_cluster, l.group_id, l.refused.event_id, l.member_id, l.process_id, l.instance, l.client,
    l.is_worker, 'refused', l.is_replaced, CASE WHEN l.noticed.event = 'member_fenced' THEN 'consumer' ELSE 'classic' END, NULL, NULL,
      NULL, NULL,
    o.reference_process_id, NULL, NULL, l.replaced_ms, false, NULL, l.noticed, l.last_lost_ms, l.found_ms, l.first_found_ms,
      l.answered_ms,
    l.is_joining, l.refused, l.back_ms, l.back_id
  FROM loss l
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  -- The coordinator's log would tell of a removal: who is refused without one had left.
  LEFT ANTI JOIN broker_generation b ON b.group_id = l.group_id
  WHERE l.removed_id IS NULL
), line AS (
  SELECT e.process_id, e.instance, unix_millis(e.ts) AS at_ms, 0 AS rank, CAST(NULL AS STRING) AS loss_id
  FROM event e LEFT SEMI JOIN every r ON r.process_id = e.process_id AND r.instance = e.instance
  WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT process_id, instance, coalesce(own_lo_ms, own_hi_ms, noticed.at_ms), -1, loss_id
  FROM every
  WHERE coalesce(own_lo_ms, own_hi_ms, noticed.at_ms) IS NOT NULL
  UNION ALL
  SELECT process_id, instance, coalesce(own_hi_ms, noticed.at_ms), 1, loss_id
  FROM every
  WHERE coalesce(own_hi_ms, noticed.at_ms) IS NOT NULL
), around AS (
  SELECT loss_id, max(CASE WHEN rank = -1 THEN before_ms END) AS before_ms, max(CASE WHEN rank = 1 THEN after_ms END) AS after_ms
  FROM (
    SELECT rank, loss_id,
      max(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY at_ms, rank
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before_ms,
      min(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY at_ms DESC, rank DESC
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS after_ms
    FROM line
  )
  WHERE loss_id IS NOT NULL
  GROUP BY loss_id
), outage AS (
  SELECT group_id, process_id, unix_millis(lost_lo) AS lost_lo_ms, unix_millis(lost_hi) AS lost_hi_ms, reference_process_id
  FROM coordinator_outage
  WHERE was_member
), placed AS (
  SELECT r.*, a.before_ms, a.after_ms, r.noticed.at_ms AS noticed_ms, r.noticed.at_ms - o.hi_ms AS noticed_lo_ms,
    r.noticed.at_ms - o.lo_ms AS noticed_hi_ms,
    r.noticed.event AS noticed_event
  FROM every r
  LEFT JOIN around a ON a.loss_id = r.loss_id
  LEFT JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
), shared AS (
  -- Others of the group lost the same coordinator at the same moment, or it had only just come back.
  SELECT p.loss_id
  FROM placed p
  JOIN outage o ON o.group_id = p.group_id AND o.process_id <> p.process_id
    AND o.reference_process_id = p.reference_process_id
    AND o.lost_lo_ms <= p.noticed_hi_ms + coordinator_together_ms AND o.lost_hi_ms >= p.noticed_lo_ms - coordinator_together_ms
  UNION
  SELECT p.loss_id
  FROM placed p
  JOIN process_ending b ON b.is_broker AND b.process_id = p.broker AND b.reference_process_id = p.reference_process_id
    AND b.to_lo_ms <= p.removed_hi_ms AND b.to_hi_ms >= p.removed_lo_ms - coalesce(p.session_ms, 0) - coordinator_settled_ms
)
SELECT
  r.kafka_cluster AS kafka_cluster,
  r.group_id AS group_id,
  r.loss_id AS loss_id,
  r.member_id AS member_id,
  r.process_id AS process_id,
  r.instance AS instance,
  r.client AS client,
  r.is_worker AS is_worker,
  r.how AS how,
  r.protocol AS protocol,
  r.removed_id AS removed_id,
  r.removed_lo_ms AS removed_lo_ms,
  r.removed_hi_ms AS removed_hi_ms,
  r.heard_ms AS heard_ms,
  r.reference_process_id AS reference_process_id,
  r.session_ms AS session_ms,
  r.own_lo_ms AS own_lo_ms,
  r.own_hi_ms AS own_hi_ms,
  r.broker AS broker,
  CASE
    WHEN r.process_id IS NULL THEN 'nobody'
    WHEN s.loss_id IS NOT NULL THEN 'coordinator'
    WHEN r.was_closed THEN 'closed'
    WHEN e.process_id IS NOT NULL AND r.after_ms IS NULL THEN 'over'
    WHEN r.after_ms IS NULL THEN 'silent'
    -- Its heartbeats went on, so it learns of the removal by the next of them.
    WHEN r.how = 'rebalance' AND r.noticed_event <> 'coordinator_lost' AND r.noticed_ms <= r.own_hi_ms + coordinator_together_ms
      THEN 'slow'
    WHEN r.how = 'rebalance' THEN 'slow_or_paused'
    WHEN r.noticed_ms IS NULL THEN 'unnoticed'
    WHEN r.noticed_event = 'coordinator_lost' AND r.noticed_ms > r.own_hi_ms + heartbeat_late_ms
      -- While it waits for the answer to a request to join it sends no heartbeats and looks at no session.
      AND r.after_ms > r.own_hi_ms + heartbeat_late_ms AND NOT r.is_joining THEN 'paused'
    WHEN r.noticed_event = 'coordinator_lost' AND least(r.noticed_ms, r.after_ms) <= r.own_hi_ms + heartbeat_late_ms
      AND coalesce(r.found_ms, unix_millis(p.last_ts)) - r.noticed_ms > heartbeat_late_ms THEN 'cut_off'
    WHEN NOT r.is_replaced THEN 'refused'
    WHEN r.how = 'refused' THEN 'slow_or_paused'
    ELSE 'paused_or_cut_off'
  END AS kind,
  r.answered_ms AS answered_ms,
  r.before_ms AS before_ms,
  r.after_ms AS after_ms,
  r.noticed_ms AS noticed_ms,
  r.noticed.event_id AS noticed_id,
  r.noticed_event AS noticed,
  r.last_lost_ms AS last_lost_ms,
  r.found_ms AS found_ms,
  r.first_found_ms AS first_found_ms,
  r.refused.event_id AS refused_id,
  r.back_ms AS back_ms,
  r.back_id AS back_id
FROM placed r
LEFT JOIN shared s ON s.loss_id = r.loss_id
LEFT JOIN process_ending e ON e.process_id = r.process_id AND e.instance = r.instance
LEFT JOIN process_life p ON p.process_id = r.process_id AND p.instance = r.instance

-- One row per membership that a client lost against its will, and how: its coordinator removed it, or refused it when it came back.
-- Reads: member_removal, membership_end, process_line, broker_generation, process_ending, process_life, coordinator_outage, clock_offset
-- Reads: event, client_event, fact_line, common_clock, namesake, filtered_log
-- Grain: kafka_cluster, group_id, loss_id
-- A live member of the classic protocol notices by itself that its session ran out, at the moment at which its coordinator does: one that
-- says so much later did not run in between. Nor did one of which several clients, each with a thread of its own, give up requests long
-- after these had timed out. One that says so in time and cannot find its coordinator for long did run. What other members
-- of the group suffer at the same moment is their coordinator's trouble. Kinds: coordinator (it was the coordinator's trouble), closed (its
-- client had been closed), over (its process had ended), slow (heartbeats came, but it did not rejoin), silent (its log ends),
-- unnoticed (its client says no word of it), paused, cut_off, slow_or_paused, paused_or_cut_off, refused (only the refusal is known),
-- abandoned (no line tells whose it was, but none of the processes that it may have been of was in trouble), nobody (no line tells whose
-- it was).
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
  before_ms      COMMENT 'Last line of the process before the removal, by its own clock; if none, the last request that it gave up late',
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
WITH told AS (
  SELECT DISTINCT group_id, incarnation, generation,
    generation < max(generation) OVER (PARTITION BY group_id, incarnation, process_id) AS is_followed
  FROM broker_generation b
  -- What a filtered log does not say is not known.
  LEFT ANTI JOIN filtered_log f ON f.process_id = b.process_id
), every AS (
  SELECT r.kafka_cluster, r.group_id, concat(r.removed_id, '/', r.member_id) AS loss_id, r.member_id, r.process_id, r.instance, r.client,
    l.is_worker, r.how, true AS is_replaced, r.protocol, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.heard_ms,
      r.reference_process_id, r.session_ms,
    r.own_lo_ms, least(r.own_hi_ms, CASE WHEN l.removed_id IS NULL THEN l.replaced_ms END) AS own_hi_ms,
    CASE WHEN l.removed_id IS NULL THEN l.replaced_ms END AS replaced_ms, r.was_closed, r.broker, l.noticed, l.last_lost_ms,
      l.found_ms, l.first_found_ms, l.answered_ms,
      l.is_joining,
    l.refused, l.back_ms, l.back_id
  FROM member_removal r
  LEFT JOIN membership_end l ON l.group_id = r.group_id AND (l.removed_id = r.removed_id AND l.removed_member = r.member_id
    -- Where the clocks leave open when it was, the id alone joins the two.
    OR coalesce(r.own_hi_ms - r.own_lo_ms > coordinator_together_ms, true) AND l.removed_id IS NULL AND l.process_id = r.process_id
      AND l.member_id = r.member_id)
  UNION ALL
  SELECT l.kafka_cluster, l.group_id, l.refused.event_id, l.member_id, l.process_id, l.instance, l.client,
    l.is_worker, 'refused', l.is_replaced, CASE WHEN l.noticed.event = 'member_fenced' THEN 'consumer' ELSE 'classic' END, NULL, NULL,
      NULL, NULL,
    o.reference_process_id, NULL, NULL,
    -- The refusal came after the removal; a new client of the same name may have been in a later generation before.
    CASE WHEN l.replaced_ms IS NOT NULL THEN least(l.replaced_ms, l.refused.at_ms) END, NULL, false, NULL, l.noticed,
    l.last_lost_ms, l.found_ms, l.first_found_ms, l.answered_ms, l.is_joining, l.refused, l.back_ms, l.back_id
  FROM membership_end l
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  -- The coordinator's log would tell of a removal: who is refused without one had left. One that begins later, or ends before, does not:
  -- it has to have the last generation of the membership and what followed.
  LEFT JOIN told b ON b.group_id = l.group_id AND (coalesce(l.last_generation, l.generation) IS NULL
    OR b.generation = coalesce(l.last_generation, l.generation) AND b.is_followed
      AND coalesce(b.incarnation = l.last_incarnation, true))
  LEFT ANTI JOIN member_removal m ON m.process_id = l.process_id AND m.group_id = l.group_id AND m.member_id = l.member_id
    AND coalesce(m.own_hi_ms - m.own_lo_ms > coordinator_together_ms, true)
  WHERE l.removed_id IS NULL AND b.group_id IS NULL
), line AS (
  SELECT e.process_id, e.instance, e.at_ms, 0 AS rank, CAST(NULL AS STRING) AS loss_id
  FROM process_line e
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance FROM every) r ON r.process_id = e.process_id AND r.instance = e.instance
  WHERE e.at_ms IS NOT NULL
  UNION ALL
  SELECT process_id, instance, mark.at_ms, mark.rank, loss_id
  FROM (
    SELECT process_id, instance, loss_id, explode(array(
      struct(coalesce(own_lo_ms, own_hi_ms, noticed.at_ms) AS at_ms, -1 AS rank),
      struct(coalesce(own_hi_ms, noticed.at_ms) AS at_ms, 1 AS rank))) AS mark
    FROM every
  )
  WHERE mark.at_ms IS NOT NULL
), around AS (
  SELECT loss_id, max(CASE WHEN rank = -1 THEN before_ms END) AS before_ms, max(CASE WHEN rank = 1 THEN after_ms END) AS after_ms
  FROM (
    SELECT rank, loss_id,
      max(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY at_ms, rank
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before_ms,
      min(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY -at_ms, -rank
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS after_ms
    FROM line
  )
  WHERE loss_id IS NOT NULL
  GROUP BY loss_id
), closed AS (
  SELECT r.loss_id, min(f.at_ms) AS closed_ms
  FROM every r
  JOIN fact_line f ON f.process_id = r.process_id AND f.instance = r.instance AND f.client_id = r.client AND f.event = 'client_closed'
    AND f.at_ms >= r.noticed.at_ms
  GROUP BY r.loss_id
), overdue AS (
  -- Requests that several clients gave up when it noticed, late: it ran when the last of them was sent.
  SELECT r.loss_id, max(unix_millis(e.ts) - e.duration_ms) AS sent_ms
  FROM every r
  JOIN event e ON e.process_id = r.process_id AND e.instance = r.instance AND e.event = 'request_cancelled'
    AND e.duration_ms > e.timeout_ms + heartbeat_late_ms
    AND abs(unix_millis(e.ts) - r.noticed.at_ms) <= loss_noticed_ms
  GROUP BY r.loss_id
  HAVING count(DISTINCT e.client_id) > 1
), outage AS (
  SELECT group_id, process_id, lost_lo_ms, lost_hi_ms, lost_hi_ms - lost_lo_ms <= coordinator_together_ms AS is_close, reference_process_id
  FROM coordinator_outage
  WHERE was_member
), placed AS (
  SELECT r.*, CASE WHEN r.refused.at_ms >= coalesce(r.own_lo_ms, r.refused.at_ms) THEN r.refused.at_ms END AS refused_ms,
    r.noticed.at_ms AS noticed_ms, r.noticed.at_ms - o.hi_ms AS noticed_lo_ms,
    r.noticed.at_ms - o.lo_ms AS noticed_hi_ms,
    r.noticed.event AS noticed_event
  FROM every r
  LEFT JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference AND o.reference_process_id = r.reference_process_id
), member_log AS (
  SELECT DISTINCT c.group_id, c.process_id, l.first_ms - o.lo_ms AS first_hi_ms, l.last_ms - o.hi_ms AS last_lo_ms, o.reference_process_id
  FROM (SELECT DISTINCT group_id, process_id, instance FROM client_event) c
  JOIN process_life l ON l.process_id = c.process_id AND l.instance = c.instance
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference AND o.hi_ms - o.lo_ms <= coordinator_together_ms
), untroubled AS (
  -- Somebody else of the group, whose clock is known and whose log goes on, lost no coordinator at the moment of the removal.
  SELECT DISTINCT p.loss_id
  FROM placed p
  JOIN member_log m ON m.group_id = p.group_id AND m.process_id <> p.process_id AND m.reference_process_id = p.reference_process_id
    AND m.first_hi_ms <= p.removed_lo_ms - coordinator_together_ms AND m.last_lo_ms >= p.removed_hi_ms
  LEFT JOIN outage o ON o.group_id = m.group_id AND o.process_id = m.process_id AND o.reference_process_id = m.reference_process_id
    AND o.lost_lo_ms <= greatest(p.removed_hi_ms, p.noticed_hi_ms) + coordinator_together_ms
    AND o.lost_hi_ms >= least(p.removed_lo_ms, p.noticed_lo_ms) - coordinator_together_ms
  WHERE o.process_id IS NULL
), shared AS (
  -- Others of the group lost the same coordinator at the same moment, or it had only just come back. Where a clock leaves that open, and
  -- somebody else had no trouble, they did not.
  SELECT p.loss_id
  FROM placed p
  LEFT JOIN untroubled u ON u.loss_id = p.loss_id
  JOIN outage o ON o.group_id = p.group_id AND o.process_id <> p.process_id
    AND o.reference_process_id = p.reference_process_id
    AND o.lost_lo_ms <= p.noticed_hi_ms + coordinator_together_ms AND o.lost_hi_ms >= p.noticed_lo_ms - coordinator_together_ms
    AND (u.loss_id IS NULL OR o.is_close AND p.noticed_hi_ms - p.noticed_lo_ms <= coordinator_together_ms)
  UNION
  SELECT p.loss_id
  FROM placed p
  JOIN process_ending b ON b.is_broker AND b.process_id = p.broker AND b.reference_process_id = p.reference_process_id
    AND b.to_lo_ms <= p.removed_hi_ms AND b.to_hi_ms >= p.removed_lo_ms - coalesce(p.session_ms, 0) - coordinator_settled_ms
), abandoned AS (
  SELECT DISTINCT removed_id, member_id FROM namesake WHERE all_went_on
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
    WHEN s.loss_id IS NOT NULL THEN 'coordinator'
    WHEN r.process_id IS NULL THEN CASE WHEN n.removed_id IS NULL THEN 'nobody' ELSE 'abandoned' END
    WHEN r.was_closed THEN 'closed'
    WHEN (e.process_id IS NOT NULL OR p.ending_ms <= r.own_lo_ms) AND a.after_ms IS NULL AND r.refused_ms IS NULL
      THEN 'over'
    -- Who was refused was still there.
    WHEN a.after_ms IS NULL AND r.refused_ms IS NULL THEN 'silent'
    -- Its heartbeats went on, so it learns of the removal by the next of them.
    WHEN r.how = 'rebalance' AND r.noticed_event <> 'coordinator_lost' AND r.noticed_ms <= r.own_hi_ms + coordinator_together_ms
      THEN 'slow'
    WHEN r.how = 'rebalance' THEN 'slow_or_paused'
    WHEN r.noticed_ms IS NULL THEN 'unnoticed'
    WHEN r.noticed_event = 'coordinator_lost' AND r.noticed_ms > r.own_hi_ms + heartbeat_late_ms
      -- While it waits for the answer to a request to join it sends no heartbeats and looks at no session.
      AND a.after_ms > r.own_hi_ms + heartbeat_late_ms AND NOT r.is_joining
      -- A log that begins later may lack an earlier word.
      AND (a.before_ms IS NOT NULL OR r.instance > 0 OR d.sent_ms IS NOT NULL) THEN 'paused'
    WHEN r.noticed_event = 'coordinator_lost' AND least(r.noticed_ms, a.after_ms) <= coalesce(greatest(r.own_lo_ms, r.replaced_ms),
        r.own_hi_ms) + heartbeat_late_ms
      -- Who is back has found it, whether a line says so or not; who is closed looks for it no more. A clock that was set meanwhile makes a
      -- time longer than it was.
      AND coalesce(least(r.found_ms, r.back_ms, c.closed_ms), p.last_ms) - r.noticed_ms
        > heartbeat_late_ms + coalesce(k.step_ms + clock_skew_ms, 0L) THEN 'cut_off'
    WHEN NOT r.is_replaced THEN 'refused'
    WHEN r.how = 'refused' THEN 'slow_or_paused'
    ELSE 'paused_or_cut_off'
  END AS kind,
  r.answered_ms AS answered_ms,
  coalesce(a.before_ms, d.sent_ms) AS before_ms,
  coalesce(a.after_ms, r.refused_ms) AS after_ms,
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
LEFT JOIN around a ON a.loss_id = r.loss_id
LEFT JOIN overdue d ON d.loss_id = r.loss_id
LEFT JOIN shared s ON s.loss_id = r.loss_id
LEFT JOIN process_ending e ON e.process_id = r.process_id AND e.instance = r.instance
LEFT JOIN process_life p ON p.process_id = r.process_id AND p.instance = r.instance
LEFT JOIN closed c ON c.loss_id = r.loss_id
LEFT JOIN common_clock k ON k.process_id = r.process_id
LEFT JOIN abandoned n ON n.removed_id = r.removed_id AND n.member_id = r.member_id

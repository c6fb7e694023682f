-- One row per membership that a client lost against its will, and how: its coordinator removed it, or refused it when it returned.
-- Reads: removed_member, membership_end, process_line, broker_generation, process_ending, process_life, coordinator_outage, clock_offset, event
-- Reads: client_event, fact_line, filtered_log, member_place, evidence_file, lost_range, process_pause
-- Grain: kafka_cluster, group_id, loss_id
-- A running member of the classic protocol notices the expiry of its session at the same moment as its coordinator. A member that reports it much
-- later did not run in between. The same is true if several of its clients, each with its own thread, cancel requests long after their timeouts. A
-- member that reports the expiry in time and cannot find its coordinator for long did run. Trouble of other members of the group at the same moment
-- means trouble of the coordinator. Kinds: coordinator (trouble of the coordinator), closed (its client had been closed), over (its process had
-- ended), slow (heartbeats arrived, but it did not rejoin), silent (its log ends), silent_unsure (its log ends, and lines may be missing:
-- its coordinator was in trouble then, its file is filtered or could not be read completely, or its coordinator shows a member of its name later that
-- has no log, or its clock cannot be compared), returned (its clock cannot be compared, and its coordinator shows that it joined again), replaced (a
-- new client took its place without any line about the loss), unnoticed (its client logs nothing about it), paused, cut_off, slow_or_paused,
-- paused_or_cut_off, refused (only the refusal is known), abandoned (its process is unknown, but none of the candidates was in trouble), nobody (its
-- process is unknown).
CREATE OR REPLACE TEMPORARY VIEW lost_membership (
  kafka_cluster, group_id,
  loss_id        COMMENT 'Event of the removal and member id, or the refusal if the coordinator''s log is missing',
  member_id      COMMENT 'Member id; NULL: unknown',
  process_id     COMMENT 'Its process; NULL: unknown',
  instance, client, is_worker,
  how            COMMENT 'session, rebalance, or refused: only the member''s log is available',
  protocol       COMMENT 'classic or consumer (KIP-848)',
  removed_id     COMMENT 'Event of the removal; NULL: not in these logs',
  removed_lo_ms  COMMENT 'Removed at this time at the earliest (reference clock)',
  removed_hi_ms  COMMENT 'Removed at this time at the latest',
  heard_ms       COMMENT 'It asked to join its last generation at this time at the earliest (reference clock); NULL: no coordinator''s log shows it',
  reference_process_id,
  session_ms     COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms      COMMENT 'Removed at this time at the earliest, by the process''s own clock',
  own_hi_ms      COMMENT 'Removed at this time at the latest, by its own clock; without the coordinator''s log, when others had moved on',
  broker         COMMENT 'Coordinator''s process that removed it',
  worker_group_id COMMENT 'Group of the worker that a sink''s member was lost with; NULL: none is known',
  worker_member_id COMMENT 'Member id of that worker',
  kind           COMMENT 'How it was lost, in a closed vocabulary',
  answered_ms    COMMENT 'Last response of its coordinator before the loss, by its own clock',
  before_ms      COMMENT 'Last line of the process before the removal, by its own clock; if none, the last request that it cancelled late',
  after_ms       COMMENT 'First line of the process after it, in the same run',
  noticed_ms     COMMENT 'First line of the client that shows the loss, by its own clock; NULL: none',
  noticed_id     COMMENT 'Its event',
  noticed        COMMENT 'coordinator_lost, or the refusal''s event',
  last_lost_ms   COMMENT 'Last time that it lost its coordinator in this period',
  found_ms       COMMENT 'It had found its coordinator again at this time, after the last loss',
  first_found_ms COMMENT 'It found its coordinator at this time, the first time after it had noticed',
  refused_id     COMMENT 'Event that refuses it; NULL: none',
  again_ms       COMMENT 'A member of its name that has no log joined at this time at the latest (reference clock); NULL: none did',
  returned_ms    COMMENT 'Its client joined again as another member at this time at the latest (reference clock); NULL: it did not',
  back_ms        COMMENT 'Member again at this time',
  back_id        COMMENT 'Its event',
  candidates     COMMENT 'abandoned: the processes of the clients that it may have been; NULL: another kind'
)
AS
WITH covered_generation AS (
  SELECT DISTINCT group_id, incarnation, generation, generation < max(generation) OVER (PARTITION BY group_id, incarnation, process_id) AS is_followed
  FROM broker_generation b
  -- Lines that are missing from a filtered log are unknown, not absent.
  LEFT ANTI JOIN filtered_log f ON f.process_id = b.process_id
), any_loss AS (
  SELECT r.kafka_cluster, r.group_id, concat(r.removed_id, '/', r.member_id) AS loss_id, r.member_id, r.process_id, r.instance, r.client, l.is_worker,
    r.how, true AS is_replaced, r.protocol, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.heard_ms, r.reference_process_id, r.session_ms,
    r.own_lo_ms, least(r.own_hi_ms, CASE WHEN l.removed_id IS NULL THEN l.replaced_ms END)
    AS own_hi_ms, CASE WHEN l.removed_id IS NULL THEN l.replaced_ms END AS replaced_ms, r.was_closed, r.broker, r.worker_group_id, r.worker_member_id,
    l.noticed, l.last_lost_ms, l.found_ms, l.first_found_ms, l.answered_ms, l.is_joining, l.refused, l.back_ms, l.back_id
  FROM removed_member r
  LEFT JOIN membership_end l ON l.group_id = r.group_id AND (l.removed_id = r.removed_id AND l.removed_member = r.member_id
    -- If the clocks leave the time open, only the member id links the two.
    OR coalesce(r.own_hi_ms - r.own_lo_ms > coordinator_together_ms, true) AND l.removed_id IS NULL AND l.process_id = r.process_id
      AND l.member_id = r.member_id)
  UNION ALL
  SELECT l.kafka_cluster, l.group_id, l.refused.event_id, l.member_id, l.process_id, l.instance, l.client, l.is_worker, 'refused', l.is_replaced,
    CASE WHEN l.noticed.event = 'member_fenced' THEN 'consumer' ELSE 'classic' END, NULL, NULL, NULL, NULL, o.reference_process_id, NULL, NULL,
    -- The refusal came after the removal; a new client of the same name may have been in a later generation before.
    CASE WHEN l.replaced_ms IS NOT NULL THEN least(l.replaced_ms, l.refused.at_ms) END, NULL, false, NULL, NULL, NULL, l.noticed,
    l.last_lost_ms, l.found_ms, l.first_found_ms, l.answered_ms, l.is_joining, l.refused, l.back_ms, l.back_id
  FROM membership_end l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  -- The coordinator's log would show a removal, so a member that is refused without one had left. The log must contain the last generation of the
  -- membership and the following one; a log that begins later or ends earlier proves nothing.
  LEFT JOIN covered_generation b ON b.group_id = l.group_id AND (coalesce(l.last_generation, l.generation) IS NULL
    OR b.generation = coalesce(l.last_generation, l.generation) AND b.is_followed AND coalesce(b.incarnation = l.last_incarnation, true))
  LEFT ANTI JOIN removed_member m ON m.process_id = l.process_id AND m.group_id = l.group_id AND m.member_id = l.member_id
    AND coalesce(m.own_hi_ms - m.own_lo_ms > coordinator_together_ms, true)
  WHERE l.removed_id IS NULL AND b.group_id IS NULL
), process_moment AS (
  SELECT e.process_id, e.instance, e.at_ms, 0 AS rank, CAST(NULL AS STRING) AS loss_id FROM process_line e
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance FROM any_loss) r ON r.process_id = e.process_id AND r.instance = e.instance
  WHERE e.at_ms IS NOT NULL
  UNION ALL
  SELECT process_id, instance, mark.at_ms, mark.rank, loss_id
  FROM (
    SELECT process_id, instance, loss_id, explode(array(
      struct(coalesce(own_lo_ms, own_hi_ms, noticed.at_ms) AS at_ms, -1 AS rank),
      struct(coalesce(own_hi_ms, noticed.at_ms) AS at_ms, 1 AS rank))) AS mark
    FROM any_loss
  )
  WHERE mark.at_ms IS NOT NULL
), surrounding_line AS (
  SELECT loss_id, max(CASE WHEN rank = -1 THEN before_ms END) AS before_ms, max(CASE WHEN rank = 1 THEN after_ms END) AS after_ms
  FROM (
    SELECT rank, loss_id,
      max(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY at_ms, rank
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before_ms,
      min(CASE WHEN rank = 0 THEN at_ms END) OVER (PARTITION BY process_id, instance ORDER BY -at_ms, -rank
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS after_ms
    FROM process_moment
  )
  WHERE loss_id IS NOT NULL GROUP BY loss_id
), client_close AS (
  -- A client asks for the disconnection right after it printed that it lost its coordinator, unless its process hardly runs.
  SELECT r.loss_id, min(CASE WHEN f.event = 'client_closed' THEN f.at_ms END) AS closed_ms,
    min(CASE WHEN f.event <> 'client_closed' THEN f.at_ms END) AS disconnect_ms FROM any_loss r
  JOIN fact_line f ON f.process_id = r.process_id AND f.instance = r.instance AND f.client_id = r.client
    AND f.event IN ('client_closed', 'coordinator_disconnect_requested') AND f.at_ms >= r.noticed.at_ms
  GROUP BY r.loss_id
), late_cancellation AS (
  -- Requests that several clients cancelled late when the loss was noticed: the process ran when the last of them was sent.
  SELECT r.loss_id, max(unix_millis(e.ts) - e.duration_ms) AS sent_ms FROM any_loss r
  JOIN event e ON e.process_id = r.process_id AND e.instance = r.instance AND e.event = 'request_cancelled'
    AND e.duration_ms > e.timeout_ms + heartbeat_late_ms AND abs(unix_millis(e.ts) - r.noticed.at_ms) <= loss_noticed_ms
  GROUP BY r.loss_id
  HAVING count(DISTINCT e.client_id) > 1
), coordinator_join AS (
  -- A coordinator lets a member in.
  SELECT process_id, group_id, member_id, stream_pos, unix_millis(ts) AS at_ms,
    regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS name
  FROM event
  WHERE broker_id IS NOT NULL AND (event IN ('member_added', 'member_joined')
    OR event = 'rebalance_preparing' AND reason LIKE 'Adding new member%')
), later_join AS (
  -- The last join of a name at a coordinator by a member without a log. A KIP-848 member keeps its id.
  SELECT e.process_id AS broker, e.group_id, e.name, max(e.stream_pos) AS pos, max_by(e.at_ms, e.stream_pos) AS at_ms FROM coordinator_join e
  LEFT ANTI JOIN member_place p ON p.group_id = e.group_id AND p.member_id = e.member_id AND e.name <> e.member_id
  GROUP BY e.process_id, e.group_id, e.name
), later_namesake AS (
  SELECT r.loss_id, j.at_ms - o.lo_ms AS again_ms
  FROM any_loss r
  JOIN event x ON x.event_id = r.removed_id
  JOIN later_join j ON j.broker = r.broker AND j.group_id = r.group_id AND j.pos > x.stream_pos
    AND j.name = regexp_replace(r.member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')
  JOIN clock_offset o ON o.process_id = j.broker AND o.is_island_reference
), later_join_of_process AS (
  -- The first member of the same process and name that the coordinator lets in after the removal.
  SELECT r.loss_id, min(e.at_ms - o.lo_ms) AS returned_ms
  FROM any_loss r
  JOIN event x ON x.event_id = r.removed_id
  JOIN member_place p ON p.group_id = r.group_id AND p.process_id = r.process_id AND p.member_id <> r.member_id
    AND left(p.member_id, length(p.member_id) - 36) = left(r.member_id, length(r.member_id) - 36)
  JOIN coordinator_join e ON e.process_id = r.broker AND e.group_id = r.group_id AND e.member_id = p.member_id AND e.stream_pos > x.stream_pos
  JOIN clock_offset o ON o.process_id = r.broker AND o.is_island_reference
  GROUP BY r.loss_id
), removal_by_name AS (
  -- A coordinator makes a member id from the client id and a UUID. Old clients do not print the id; later ones print it after the response.
  SELECT *, count(*) OVER (PARTITION BY kafka_cluster, group_id, client_id ORDER BY removed_lo_ms RANGE UNBOUNDED PRECEDING) AS members
  FROM (
    SELECT kafka_cluster, group_id, loss_id, removed_lo_ms, removed_hi_ms, reference_process_id, left(member_id, length(member_id) - 37) AS client_id
    FROM any_loss
    WHERE process_id IS NULL AND how = 'session' AND protocol = 'classic' AND member_id RLIKE '.-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  )
), namesake AS (
  -- The clients of its name with an unknown id that asked to join before the removal, and printed nothing more in that process run. None was in
  -- trouble if all ran on, and there are at least as many of them as members.
  SELECT n.loss_id, max(n.client_id) AS client_id, array_sort(collect_set(c.process_id)) AS processes
  FROM removal_by_name n
  JOIN (
    SELECT c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, min(CASE WHEN c.event = 'joining' THEN c.at_ms END) AS asked_ms,
      max_by(struct(c.at_ms, c.event), c.stream_pos) AS last
    FROM client_event c
    -- A client with a known id is another member, and a client that left was not removed.
    LEFT ANTI JOIN member_place p ON p.group_id = c.group_id AND p.process_id = c.process_id AND p.instance = c.instance AND p.client = c.client
    GROUP BY c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, c.client HAVING NOT bool_or(c.event = 'leaving')
  ) c ON c.kafka_cluster = n.kafka_cluster AND c.group_id = n.group_id AND c.client_id = n.client_id
  JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference AND o.reference_process_id = n.reference_process_id
  JOIN process_life l ON l.process_id = c.process_id AND l.instance = c.instance
  WHERE c.asked_ms - o.hi_ms <= n.removed_hi_ms AND c.last.at_ms - o.lo_ms < n.removed_lo_ms GROUP BY n.loss_id
  HAVING count(*) >= max(n.members) AND bool_and((l.ending_ms IS NOT NULL OR coalesce(l.last_ms - o.hi_ms > n.removed_hi_ms, false))
    AND c.last.event NOT IN ('coordinator_lost', 'heartbeat_failed', 'join_failed', 'member_fenced', 'poll_timeout', 'sync_failed'))
), coordinator_loss AS (
  SELECT group_id, process_id, lost_lo_ms, lost_hi_ms, lost_hi_ms - lost_lo_ms <= coordinator_together_ms AS is_close, reference_process_id
  FROM coordinator_outage WHERE was_member
), loss_on_clock AS (
  SELECT r.*, CASE WHEN r.refused.at_ms >= coalesce(r.own_lo_ms, r.refused.at_ms) THEN r.refused.at_ms END AS refused_ms,
    r.noticed.at_ms AS noticed_ms, r.noticed.at_ms - o.hi_ms AS noticed_lo_ms, r.noticed.at_ms - o.lo_ms AS noticed_hi_ms,
    r.noticed.event AS noticed_event
  FROM any_loss r
  LEFT JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference AND o.reference_process_id = r.reference_process_id
), doubtful_loss AS (
  -- Lines may be missing between the last one before the loss and the first one after it.
  SELECT DISTINCT r.loss_id FROM loss_on_clock r
  LEFT JOIN surrounding_line a ON a.loss_id = r.loss_id
  LEFT JOIN filtered_log f ON f.process_id = r.process_id
  LEFT JOIN lost_range d ON d.process_id = r.process_id AND coalesce(d.to_ms >= coalesce(a.before_ms, r.own_lo_ms, r.noticed_ms), true)
    AND coalesce(d.from_ms <= greatest(a.after_ms, r.noticed_ms, r.found_ms), true)
  WHERE coalesce(f.process_id, d.process_id) IS NOT NULL
), member_log_span AS (
  SELECT DISTINCT c.group_id, c.process_id, l.first_ms - o.lo_ms AS first_hi_ms, l.last_ms - o.hi_ms AS last_lo_ms, o.reference_process_id
  FROM (SELECT DISTINCT group_id, process_id, instance FROM client_event) c
  JOIN process_life l ON l.process_id = c.process_id AND l.instance = c.instance
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference AND o.hi_ms - o.lo_ms <= coordinator_together_ms
), loss_without_outage AS (
  -- Another process of the group, with a known clock and a log that continues, lost no coordinator at the moment of the removal.
  SELECT DISTINCT p.loss_id FROM loss_on_clock p
  JOIN member_log_span m ON m.group_id = p.group_id AND m.process_id <> p.process_id AND m.reference_process_id = p.reference_process_id
    AND m.first_hi_ms <= p.removed_lo_ms - coordinator_together_ms AND m.last_lo_ms >= p.removed_hi_ms
  LEFT JOIN coordinator_loss o ON o.group_id = m.group_id AND o.process_id = m.process_id
    AND o.reference_process_id = m.reference_process_id AND o.lost_lo_ms <= greatest(p.removed_hi_ms, p.noticed_hi_ms) + coordinator_together_ms
    AND o.lost_hi_ms >= least(p.removed_lo_ms, p.noticed_lo_ms) - coordinator_together_ms
  WHERE o.process_id IS NULL
), coordinator_trouble_loss AS (
  -- Others of the group lost the same coordinator at the same moment, or it had only just returned. If a clock leaves this open, and another process
  -- had no trouble, they did not. Nor did processes of one host that was suspended: they notice their removal late, and together.
  SELECT p.loss_id FROM loss_on_clock p
  LEFT JOIN loss_without_outage u ON u.loss_id = p.loss_id
  JOIN coordinator_loss o ON o.group_id = p.group_id AND o.process_id <> p.process_id AND o.reference_process_id = p.reference_process_id
    AND o.lost_lo_ms <= p.noticed_hi_ms + coordinator_together_ms AND o.lost_hi_ms >= p.noticed_lo_ms - coordinator_together_ms
    AND (u.loss_id IS NULL OR o.is_close AND p.noticed_hi_ms - p.noticed_lo_ms <= coordinator_together_ms
      AND coalesce(p.noticed_lo_ms <= p.removed_hi_ms + heartbeat_late_ms, true))
  UNION
  SELECT p.loss_id FROM loss_on_clock p
  JOIN process_ending b ON b.is_broker AND b.process_id = p.broker AND b.reference_process_id = p.reference_process_id
    AND b.to_lo_ms <= p.removed_hi_ms AND b.to_hi_ms >= p.removed_lo_ms - coalesce(p.session_ms, 0) - coordinator_settled_ms
), paused_coordinator_loss AS (
  -- A coordinator that was paused itself removes all members whose heartbeats it could not read meanwhile.
  SELECT DISTINCT p.loss_id FROM loss_on_clock p JOIN event x ON x.event_id = p.removed_id
  JOIN process_pause b ON b.process_id = p.broker AND unix_millis(x.ts) BETWEEN b.after_ms AND b.after_ms + pause_noticed_ms
)
SELECT r.kafka_cluster, r.group_id, r.loss_id, r.member_id, r.process_id, r.instance, coalesce(r.client, n.client_id) AS client, r.is_worker,
  r.how, r.protocol, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.heard_ms, r.reference_process_id, r.session_ms, r.own_lo_ms, r.own_hi_ms,
  r.broker, r.worker_group_id, r.worker_member_id,
  CASE
    WHEN z.loss_id IS NOT NULL THEN 'coordinator'
    WHEN r.process_id IS NULL THEN CASE WHEN n.loss_id IS NULL THEN 'nobody' ELSE 'abandoned' END
    -- A member that runs returns to a coordinator that is back. One that prints nothing afterwards may have died.
    WHEN s.loss_id IS NOT NULL AND coalesce(a.after_ms, r.refused_ms) IS NOT NULL THEN 'coordinator'
    WHEN r.was_closed THEN 'closed'
    WHEN (e.process_id IS NOT NULL OR p.ending_ms <= r.own_lo_ms) AND a.after_ms IS NULL AND r.refused_ms IS NULL THEN 'over'
    -- Its own lines cannot be compared with the removal, so they do not show that its log ends.
    WHEN coalesce(r.own_lo_ms, r.own_hi_ms, r.noticed_ms) IS NULL THEN CASE WHEN w.loss_id IS NULL THEN 'silent_unsure' ELSE 'returned' END
    -- A member that was refused was still running.
    WHEN a.after_ms IS NULL AND r.refused_ms IS NULL
      THEN CASE WHEN coalesce(s.loss_id, g.loss_id, u.process_id, q.loss_id) IS NULL THEN 'silent' ELSE 'silent_unsure' END
    -- Its heartbeats continued, so it learns of the removal from the next one.
    WHEN r.how = 'rebalance' AND r.noticed_event <> 'coordinator_lost' AND r.noticed_ms <= r.own_hi_ms + coordinator_together_ms THEN 'slow'
    WHEN r.how = 'rebalance' THEN 'slow_or_paused'
    -- A client that had lost its membership would have been refused when it returned. One that joins soon after the first line of its process is
    -- new, in a process that prints no start.
    WHEN r.noticed_ms IS NULL AND r.how = 'session' AND p.instance = 0 AND p.start_ms IS NULL
      AND coalesce(r.back_ms - a.after_ms <= coordinator_settled_ms, w.loss_id IS NOT NULL) THEN 'replaced'
    WHEN r.noticed_ms IS NULL THEN 'unnoticed'
    WHEN r.noticed_event = 'coordinator_lost' AND r.noticed_ms > r.own_hi_ms + heartbeat_late_ms
      -- While it waits for the response to a join request it sends no heartbeats and does not check its session.
      AND a.after_ms > r.own_hi_ms + heartbeat_late_ms AND NOT r.is_joining
      -- A log that begins later may lack an earlier line, and a filtered one any line.
      AND (a.before_ms IS NOT NULL OR r.instance > 0 OR d.sent_ms IS NOT NULL) AND q.loss_id IS NULL THEN 'paused'
    WHEN r.noticed_event = 'coordinator_lost' AND least(r.noticed_ms, a.after_ms) <= coalesce(greatest(r.own_lo_ms, r.replaced_ms),
      r.own_hi_ms) + heartbeat_late_ms
      -- A member that is back has found its coordinator, even without a line; one that is closed no longer looks for it. A clock step in the meantime
      -- can make the time seem longer.
      AND coalesce(least(r.found_ms, r.back_ms, c.closed_ms), p.last_ms) - r.noticed_ms
        > heartbeat_late_ms + coalesce(k.step.least_ms + clock_skew_ms, 0L)
      AND coalesce(c.disconnect_ms - r.noticed_ms <= heartbeat_late_ms, true) AND q.loss_id IS NULL THEN 'cut_off'
    WHEN NOT r.is_replaced THEN 'refused'
    WHEN r.how = 'refused' THEN 'slow_or_paused'
    ELSE 'paused_or_cut_off'
  END AS kind,
  r.answered_ms, coalesce(a.before_ms, d.sent_ms) AS before_ms, coalesce(a.after_ms, r.refused_ms) AS after_ms, r.noticed_ms,
  r.noticed.event_id AS noticed_id, r.noticed_event AS noticed, r.last_lost_ms, r.found_ms, r.first_found_ms, r.refused.event_id AS refused_id,
  g.again_ms, w.returned_ms, r.back_ms, r.back_id, n.processes AS candidates
FROM loss_on_clock r LEFT JOIN surrounding_line a ON a.loss_id = r.loss_id
LEFT JOIN late_cancellation d ON d.loss_id = r.loss_id
LEFT JOIN paused_coordinator_loss z ON z.loss_id = r.loss_id
LEFT JOIN coordinator_trouble_loss s ON s.loss_id = r.loss_id
LEFT JOIN process_ending e ON e.process_id = r.process_id AND e.instance = r.instance
LEFT JOIN process_life p ON p.process_id = r.process_id AND p.instance = r.instance
LEFT JOIN client_close c ON c.loss_id = r.loss_id
LEFT JOIN clock_offset k ON k.process_id = r.process_id AND k.is_island_reference
LEFT JOIN namesake n ON n.loss_id = r.loss_id
LEFT JOIN later_namesake g ON g.loss_id = r.loss_id
LEFT JOIN later_join_of_process w ON w.loss_id = r.loss_id
LEFT JOIN (SELECT DISTINCT process_id FROM evidence_file WHERE status = 'read' AND note IS NOT NULL) u ON u.process_id = r.process_id
LEFT JOIN doubtful_loss q ON q.loss_id = r.loss_id

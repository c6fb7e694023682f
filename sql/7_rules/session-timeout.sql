-- One row per member that the broker removed for missing heartbeats, according to the broker's log or, without one, the member's own.
-- Reads: placed_event, event, member, config_value, client_event, clock_offset, generation, removed_member, process_life, coordinator_outage
-- Reads: lost_membership, shared_log, filtered_log, lost_range, process_pause
-- Other rules report a member that had left, or had stopped polling, before the broker removed it.
WITH expiry AS (
  -- The reason of the rebalance shows it too, where the line before it is missing.
  SELECT kafka_cluster, group_id, member_id, process_id AS broker, stream_pos, unix_millis(ts) AS at_ms, event_id
  FROM (
    SELECT *, bool_or(event = 'member_expired') OVER (PARTITION BY process_id, group_id, member_id) AS is_logged FROM placed_event
    WHERE member_id IS NOT NULL AND group_id IS NOT NULL
      AND (event = 'member_expired' OR event = 'rebalance_preparing' AND reason LIKE '%on heartbeat expiration%')
  )
  WHERE event = 'member_expired' OR NOT is_logged
), member_line AS (
  SELECT process_id, instance, group_id, client_id, event, at_ms, stream_pos, event_id FROM client_event
  UNION ALL
  -- Heartbeats at DEBUG.
  SELECT process_id, instance, group_id, client_id, event, unix_millis(ts), stream_pos, event_id FROM event
  WHERE event IN ('heartbeat_sent', 'heartbeat_ok') AND client_id IS NOT NULL AND group_id IS NOT NULL
), line_or_removal AS (
  SELECT process_id, group_id, coalesce(client_id, '') AS client_id, at_ms, stream_pos, event, event_id, instance, CAST(NULL AS STRING) AS expired_id
  FROM member_line WHERE at_ms IS NOT NULL
  UNION ALL
  -- As early as the member's clock allows.
  SELECT m.process_id, x.group_id, coalesce(m.client_id, ''), x.at_ms + o.lo_ms, NULL, NULL, NULL, NULL, x.event_id
  FROM expiry x
  JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id AND m.process_id IS NOT NULL
  JOIN clock_offset o ON o.process_id = m.process_id AND o.is_island_reference
), removal_with_last_line AS (
  SELECT expired_id, max(CASE WHEN expired_id IS NULL THEN struct(at_ms, stream_pos, event, event_id, instance) END) OVER (
    PARTITION BY process_id, group_id, client_id ORDER BY at_ms, expired_id, stream_pos ROWS UNBOUNDED PRECEDING) AS last
  FROM line_or_removal
), last_member_line AS (
  SELECT expired_id AS event_id, max(last) AS last FROM removal_with_last_line WHERE expired_id IS NOT NULL AND last IS NOT NULL GROUP BY expired_id
), rejoin AS (
  -- A member of the consumer protocol (KIP-848) keeps its id when it joins again, and no other member has it.
  SELECT x.event_id, min_by(struct(unix_millis(j.ts) AS at_ms, j.event_id), struct(j.stream_pos, j.event_id)) AS again
  FROM expiry x
  JOIN event j ON j.process_id = x.broker AND j.group_id = x.group_id AND j.member_id = x.member_id AND j.event = 'member_joined'
    AND j.stream_pos > x.stream_pos
  GROUP BY x.event_id
), removed_process AS (
  -- The process run in which it was removed continued, or had begun to stop: a consumer that is not closed then prints no line when it leaves. A
  -- filtered log may lack the first line of the next run, and so may a lost range.
  SELECT r.removed_id AS event_id, bool_or(l.last_ms > r.own_hi_ms AND f.process_id IS NULL AND d.process_id IS NULL) AS ran_on,
    min(CASE WHEN l.ending_ms <= r.own_lo_ms THEN struct(l.ending_ms AS at_ms, l.ending_id AS event_id) END) AS ending
  FROM removed_member r JOIN process_life l ON l.process_id = r.process_id AND l.instance = r.instance
  LEFT JOIN filtered_log f ON f.process_id = r.process_id
  LEFT JOIN lost_range d ON d.process_id = r.process_id AND coalesce(d.to_ms >= r.own_lo_ms, true)
  WHERE r.removed_id IS NOT NULL GROUP BY r.removed_id
), closed_client AS (
  -- Its client had been closed, and then had no coordinator that it could have notified.
  SELECT r.removed_id, r.member_id, min(struct(unix_millis(e.ts) AS at_ms, e.event_id)) AS closing,
    min(struct(o.lost_ms IS NOT NULL AS is_timed, o.lost_ms AS at_ms, element_at(o.witness, 1) AS event_id)) AS lost
  FROM removed_member r JOIN event e ON e.event_id = r.closed_id
  LEFT JOIN coordinator_outage o ON o.process_id = r.process_id AND o.instance = r.instance AND o.group_id = r.group_id
    AND o.client = r.client AND o.was_member AND unix_millis(e.ts) BETWEEN o.lost_ms AND coalesce(o.found_ms, o.closed_ms, o.last_ms)
  WHERE r.was_closed GROUP BY r.removed_id, r.member_id
), unidentified_member AS (
  -- Its process is unknown, but none of the candidates was in trouble.
  SELECT removed_id, member_id, client, candidates AS processes FROM lost_membership WHERE kind = 'abandoned'
), member_in_shared_log AS (
  -- Its lines are in a log of several members.
  SELECT x.event_id, x.member_id, min(e.process_id) AS process_id FROM expiry x
  JOIN event e ON e.member_id = x.member_id AND e.group_id = x.group_id AND e.broker_id IS NULL AND e.event NOT LIKE 'leader\\_%'
  JOIN shared_log s ON s.process_id = e.process_id AND s.member_count > 0
  GROUP BY x.event_id, x.member_id
), paused_broker AS (
  -- A coordinator that continues after a pause removes the members that it could not hear meanwhile.
  SELECT x.event_id, max(p.least_ms) AS paused_ms, min(p.after_id) AS after_id FROM expiry x
  JOIN process_pause p ON p.process_id = x.broker AND x.at_ms BETWEEN p.after_ms AND p.after_ms + pause_noticed_ms GROUP BY x.event_id
), client_session AS (
  SELECT process_id, client_id, max(value) AS session_ms FROM config_value WHERE key = 'session.timeout.ms' GROUP BY process_id, client_id
), worker_session AS (
  SELECT process_id, max(value) AS session_ms FROM config_value
  WHERE key = 'session.timeout.ms' AND component = 'DistributedConfig' GROUP BY process_id
), assigned_by_broker AS (
  -- For groups that the broker assigns, the broker's own setting counts, not the member's.
  SELECT kafka_cluster, group_id, max(group_protocol) AS protocol, concat('group.', max(group_protocol), '.session.timeout.ms') AS setting
  FROM generation GROUP BY kafka_cluster, group_id HAVING bool_and(group_protocol <> 'classic')
), broker_session AS (
  SELECT process_id, key AS setting, max(value) AS session_ms FROM config_value WHERE key LIKE 'group.%.session.timeout.ms' GROUP BY process_id, key
), unknown_member_error AS (
  SELECT h.* FROM client_event h
  LEFT ANTI JOIN expiry x ON x.kafka_cluster = h.kafka_cluster AND x.group_id = h.group_id AND x.member_id = h.member_id
  -- A coordinator's log that begins with a later generation, or ends with this one, does not cover it.
  LEFT ANTI JOIN (
    SELECT kafka_cluster, group_id, min(generation) AS first, max(generation) AS last FROM generation WHERE seen_by_broker
    GROUP BY kafka_cluster, group_id
  ) g ON g.kafka_cluster = h.kafka_cluster AND g.group_id = h.group_id AND coalesce(h.generation BETWEEN g.first AND g.last - 1, true)
  WHERE h.event = 'heartbeat_failed' AND h.member_id IS NOT NULL
    AND coalesce(h.error, h.cause, h.reason) RLIKE 'UNKNOWN_MEMBER_ID|member id ([^ ]+ )?is not valid'
), expired_session AS (
  -- The member's earlier lines about its session, since it last joined.
  SELECT h.event_id, max(CASE WHEN l.event = 'joined' THEN l.stream_pos END) AS joined_pos,
    max_by(struct(l.event_id, l.at_ms, l.stream_pos), l.stream_pos) FILTER (WHERE l.event = 'coordinator_lost') AS lost
  FROM unknown_member_error h
  JOIN client_event l ON l.process_id = h.process_id AND l.instance = h.instance AND l.group_id = h.group_id AND l.client = h.client
    AND l.stream_pos < h.stream_pos
  WHERE l.event = 'joined' OR l.event = 'coordinator_lost' AND l.cause LIKE 'session timed out%' GROUP BY h.event_id
), loss_in_member_log AS (
  SELECT h.kafka_cluster, h.group_id, h.member_id, h.process_id, h.instance, h.task, h.at_ms, h.event_id,
    u.lost.at_ms AS lost_ms, u.lost.event_id AS lost_id, coalesce(s.session_ms, w.session_ms) AS session_ms, NULL AS back_ms
  FROM unknown_member_error h
  JOIN expired_session u ON u.event_id = h.event_id AND u.lost IS NOT NULL AND coalesce(u.lost.stream_pos > u.joined_pos, true)
  LEFT JOIN client_session s ON s.process_id = h.process_id AND s.client_id = h.client_id
  LEFT JOIN worker_session w ON w.process_id = h.process_id
  UNION ALL
  -- A KIP-848 member does not check its own session; it learns from the coordinator that it is no longer a member.
  SELECT h.kafka_cluster, h.group_id, h.member_id, h.process_id, h.instance, h.task, h.at_ms, h.event_id, NULL, NULL, NULL, NULL
  FROM client_event h LEFT ANTI JOIN generation g ON g.kafka_cluster = h.kafka_cluster AND g.group_id = h.group_id AND g.seen_by_broker
  WHERE h.event = 'member_fenced' AND h.member_id IS NOT NULL AND h.cause LIKE '%is unknown%'
  UNION ALL
  -- Clients that print no member id.
  SELECT l.kafka_cluster, l.group_id, NULL, l.process_id, l.instance, NULL, h.at_ms, h.event_id, NULL, NULL, NULL, l.back_ms
  FROM lost_membership l JOIN client_event h ON h.event_id = l.refused_id
  WHERE l.how = 'refused' AND l.member_id IS NULL AND h.event <> 'join_failed'
    AND coalesce(h.error, h.cause, h.reason) RLIKE '(?i)unknown.?member|not aware of this member|member_id was not|member is not known'
  UNION ALL
  -- librdkafka prints its group only with debug=cgrp; other rules report losses of a coordinator in a known group.
  SELECT p.kafka_cluster, NULL, NULL, p.process_id, p.instance, NULL, unix_millis(p.ts), p.event_id, unix_millis(p.ts) - p.duration_ms, NULL, NULL,
    NULL
  FROM placed_event p LEFT ANTI JOIN client_event c ON c.event_id = p.event_id
  WHERE p.event = 'coordinator_lost' AND p.message LIKE '%Consumer group session timed out%'
), finding_row AS (
  SELECT CASE WHEN coalesce(d.ending.event_id, l.removed_id, n.removed_id) IS NOT NULL AND j.event_id IS NULL
      AND NOT m.left_client <=> 'expired' THEN 'note' ELSE 'warning' END AS severity,
    x.kafka_cluster, x.group_id, x.member_id AS subject, x.at_ms AS from_ms, x.at_ms AS to_ms,
    CASE WHEN z.event_id IS NOT NULL THEN 'broker_paused' WHEN m.process_id IS NULL AND n.removed_id IS NOT NULL THEN 'abandoned'
      WHEN m.process_id IS NULL AND k.process_id IS NOT NULL THEN 'in_shared_log'
      WHEN m.process_id IS NULL THEN CASE WHEN j.event_id IS NULL THEN 'unknown_process' ELSE 'unknown_rejoined' END
      WHEN m.left_client = 'expired' THEN 'came_back' WHEN j.event_id IS NOT NULL THEN 'rejoined'
      WHEN d.ending.event_id IS NOT NULL THEN 'ended' WHEN l.removed_id IS NOT NULL THEN 'closed' WHEN d.ran_on THEN 'ran_on'
      ELSE 'stayed_away' END AS code,
    x.member_id, m.process_id, own.last.instance AS instance, m.task, m.group_instance_id, x.broker, x.at_ms AS removed_at_ms,
    try_cast(CASE WHEN a.group_id IS NULL THEN coalesce(s.session_ms, w.session_ms) ELSE b.session_ms END AS BIGINT) AS session_ms,
    a.protocol AS broker_protocol, own.last.event AS last_event, own.last.at_ms AS last_at_ms, j.again.at_ms AS again_at_ms,
    d.ending.at_ms AS ending_at_ms, l.closing.at_ms AS closed_at_ms, l.lost.at_ms AS lost_at_ms,
    CASE WHEN m.process_id IS NULL THEN k.process_id END AS shared_log, n.client AS namesake,
    coalesce(n.processes, CAST(array() AS ARRAY<STRING>)) AS namesake_processes, z.paused_ms,
    array(named_struct('role', 'removed for missing heartbeats', 'event_id', x.event_id),
      named_struct('role', 'last group line of the member', 'event_id', own.last.event_id),
      named_struct('role', 'joins again', 'event_id', j.again.event_id), named_struct('role', 'its process stops', 'event_id', d.ending.event_id),
      named_struct('role', 'loses its coordinator', 'event_id', l.lost.event_id),
      named_struct('role', 'is closed', 'event_id', l.closing.event_id), named_struct('role', 'shows that the coordinator was paused',
      'event_id', z.after_id)) AS proof
  FROM expiry x LEFT JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id
  LEFT JOIN last_member_line own ON own.event_id = x.event_id
  LEFT JOIN rejoin j ON j.event_id = x.event_id
  LEFT JOIN paused_broker z ON z.event_id = x.event_id
  LEFT JOIN removed_process d ON d.event_id = x.event_id
  LEFT JOIN closed_client l ON l.removed_id = x.event_id AND l.member_id = x.member_id
  LEFT JOIN member_in_shared_log k ON k.event_id = x.event_id AND k.member_id = x.member_id
  LEFT JOIN unidentified_member n ON n.removed_id = x.event_id AND n.member_id = x.member_id AND m.process_id IS NULL
  LEFT JOIN client_session s ON s.process_id = m.process_id AND s.client_id = m.client_id
  LEFT JOIN worker_session w ON w.process_id = m.process_id
  LEFT JOIN assigned_by_broker a ON a.kafka_cluster = x.kafka_cluster AND a.group_id = x.group_id
  LEFT JOIN broker_session b ON b.process_id = x.broker AND b.setting = a.setting
  WHERE NOT coalesce(m.left_client IN ('left', 'poll_timeout'), false)
  UNION ALL
  SELECT 'warning', h.kafka_cluster, h.group_id, coalesce(h.member_id, h.process_id),
    CASE WHEN h.group_id IS NULL THEN h.at_ms ELSE coalesce(h.lost_ms, h.at_ms) END, coalesce(h.back_ms, h.at_ms),
    CASE WHEN h.lost_id IS NOT NULL THEN 'own_words' WHEN h.group_id IS NULL THEN 'no_answer'
      WHEN h.member_id IS NULL THEN 'not_known' ELSE 'told_by_coordinator' END AS code, h.member_id, h.process_id, h.instance, h.task,
    NULL AS group_instance_id, NULL AS broker, h.at_ms, try_cast(h.session_ms AS BIGINT),
    CASE WHEN h.lost_id IS NULL THEN coalesce(a.protocol, 'consumer') END, CASE WHEN h.lost_id IS NOT NULL THEN 'coordinator_lost' END, h.lost_ms,
    h.back_ms AS again_at_ms, NULL AS ending_at_ms, NULL AS closed_at_ms, NULL AS lost_at_ms, NULL AS shared_log, NULL AS namesake, array(),
    NULL AS paused_ms,
    filter(array(named_struct('role', 'no answer to a heartbeat for a session timeout', 'event_id', h.lost_id),
      named_struct('role', 'the coordinator no longer knows the member', 'event_id', h.event_id)), p -> p.event_id IS NOT NULL) AS proof
  FROM loss_in_member_log h LEFT JOIN assigned_by_broker a ON a.kafka_cluster = h.kafka_cluster AND a.group_id = h.group_id
)
SELECT severity, 'proved' AS verdict, kafka_cluster, group_id, subject, from_ms, to_ms, code,
  struct(member_id, process_id, instance, task, group_instance_id, broker, removed_at_ms, session_ms, broker_protocol, last_event, last_at_ms,
    again_at_ms, ending_at_ms, closed_at_ms, lost_at_ms, shared_log, namesake, namesake_processes, paused_ms) AS facts,
  proof
FROM finding_row

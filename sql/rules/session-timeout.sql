-- One row per member that the broker removed because it heard no heartbeat.
-- Reads: event, process_cluster, member, config_value, client_event, clock_offset
-- A member that had left, or that stopped polling, before the broker gave up on it is told by other rules.
WITH expired AS (
  SELECT c.kafka_cluster, e.group_id, e.member_id, e.process_id AS broker, e.ts, e.event_id
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND e.stream_pos < c.to_pos
  WHERE e.event = 'member_expired' AND e.member_id IS NOT NULL AND e.group_id IS NOT NULL
), own AS (
  -- The member's last group line before that, as far as its clock allows.
  SELECT x.event_id,
    max_by(l.event, struct(l.ts, l.stream_pos)) AS last_event, max(l.ts) AS last_ts,
    max_by(l.event_id, struct(l.ts, l.stream_pos)) AS last_id, max_by(l.instance, struct(l.ts, l.stream_pos)) AS instance
  FROM expired x
  JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id AND m.process_id IS NOT NULL
  JOIN clock_offset o ON o.process_id = m.process_id AND o.is_island_reference
  JOIN client_event l ON l.process_id = m.process_id AND l.group_id = x.group_id AND l.client_id <=> m.client_id
    AND unix_millis(l.ts) - o.lo_ms <= unix_millis(x.ts)
  GROUP BY x.event_id
), session AS (
  SELECT process_id, client_id, max(value) AS session_ms FROM config_value WHERE key = 'session.timeout.ms' GROUP BY process_id, client_id
), worker_session AS (
  SELECT process_id, max(value) AS session_ms FROM config_value WHERE key = 'session.timeout.ms' AND component = 'DistributedConfig'
  GROUP BY process_id
)
SELECT
  'warning' AS severity,
  'proved' AS verdict,
  x.kafka_cluster AS kafka_cluster,
  x.group_id AS group_id,
  x.member_id AS subject,
  unix_millis(x.ts) AS from_ms,
  unix_millis(x.ts) AS to_ms,
  CASE WHEN m.process_id IS NULL THEN 'unknown_process' WHEN m.left_client = 'expired' THEN 'came_back' ELSE 'stayed_away' END AS code,
  named_struct(
    'member_id', x.member_id,
    'process_id', m.process_id,
    'instance', own.instance,
    'task', m.task,
    'broker', x.broker,
    'removed_at_ms', unix_millis(x.ts),
    'session_ms', try_cast(coalesce(s.session_ms, w.session_ms) AS BIGINT),
    'last_event', own.last_event,
    'last_at_ms', unix_millis(own.last_ts)
  ) AS facts,
  array(
    named_struct('role', 'removed for missing heartbeats', 'event_id', x.event_id),
    named_struct('role', 'last group line of the member', 'event_id', own.last_id)
  ) AS proof
FROM expired x
LEFT JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id
LEFT JOIN own ON own.event_id = x.event_id
LEFT JOIN session s ON s.process_id = m.process_id AND s.client_id = m.client_id
LEFT JOIN worker_session w ON w.process_id = m.process_id
WHERE NOT coalesce(m.left_client IN ('left', 'poll_timeout'), false)

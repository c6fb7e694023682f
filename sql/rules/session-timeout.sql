-- One row per member that the broker removed for silence.
-- Reads: event, process_cluster, member, config_value, client_event, clock_offset
-- Answers: which member was thrown out for silence, when, and what had it done last?
-- Needs: the coordinator's log; the member's own tells what it did.
-- Silent when: the member's process had said that it was stopping.
-- Shown by: 3.9.1-worker_frozen; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_session_timeout (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per member that the broker removed for silence.'
AS
WITH expired AS (
  SELECT c.kafka_cluster, e.group_id, e.member_id, e.process_id AS broker, e.ts, e.event_id
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id
  WHERE e.event = 'member_expired' AND e.member_id IS NOT NULL AND e.group_id IS NOT NULL
), own AS (
  SELECT x.event_id,
    max_by(l.event, l.ts) AS last_event, max(l.ts) AS last_ts, max_by(l.event_id, l.ts) AS last_id, max(o.lo_ms) AS lo_ms, max(o.hi_ms) AS hi_ms
  FROM expired x
  JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id AND m.process_id IS NOT NULL
  JOIN clock_offset o ON o.process_id = m.process_id AND o.is_island_reference
  JOIN client_event l ON l.process_id = m.process_id AND l.group_id = x.group_id AND l.client_id <=> m.client_id
    AND unix_millis(l.ts) - o.lo_ms <= unix_millis(x.ts)
  GROUP BY x.event_id
), session AS (
  SELECT process_id, client_id, max(value) AS session_ms FROM config_value WHERE key = 'session.timeout.ms' GROUP BY process_id, client_id
), worker_session AS (
  SELECT process_id, max(value) AS session_ms FROM config_value WHERE key = 'session.timeout.ms' AND component = 'DistributedConfig' GROUP BY process_id
)
SELECT
  'warning', 'proved', x.kafka_cluster, x.group_id, x.member_id,
  x.ts, CAST(NULL AS TIMESTAMP),
  concat('member ', x.member_id, CASE WHEN m.process_id IS NULL THEN '' ELSE concat(' (', m.process_id, ')') END, ' was removed from ', x.group_id, ' for silence'),
  concat_ws(' ',
    concat('The broker (', x.broker, ') heard no heartbeat for the session timeout',
      CASE WHEN coalesce(s.session_ms, w.session_ms) IS NOT NULL THEN concat(' (session.timeout.ms = ', coalesce(s.session_ms, w.session_ms), ')') ELSE '' END,
      ' and removed it at ', date_format(x.ts, 'HH:mm:ss.SSS'), '.'),
    CASE WHEN own.last_event IS NOT NULL THEN concat('Its own last group line before that is "', own.last_event, '" at ', date_format(own.last_ts, 'HH:mm:ss.SSS'), ' by its clock.')
      WHEN m.process_id IS NULL THEN 'No line here tells which process it was, so whether it was dead, frozen or cut off is not decidable from these logs.' END,
    CASE WHEN m.left_client = 'expired' THEN 'It came back later and was told UNKNOWN_MEMBER_ID: it had not died.' END),
  concat('Find why it was silent: killed, frozen (GC, hypervisor), or cut off. If pauses of this length are normal, raise session.timeout.ms',
    CASE WHEN coalesce(s.session_ms, w.session_ms) IS NOT NULL THEN concat(' from ', coalesce(s.session_ms, w.session_ms)) ELSE '' END,
    ' above them (default 45000 for consumers from 3.0, 10000 before and for Connect workers) and keep heartbeat.interval.ms at most a third of it; a real death is then noticed as much later.'),
  filter(array(x.event_id, own.last_id), e -> e IS NOT NULL)
FROM expired x
LEFT JOIN member m ON m.kafka_cluster = x.kafka_cluster AND m.group_id = x.group_id AND m.member_id = x.member_id
LEFT JOIN own ON own.event_id = x.event_id
LEFT JOIN session s ON s.process_id = m.process_id AND s.client_id = m.client_id
LEFT JOIN worker_session w ON w.process_id = m.process_id
WHERE NOT coalesce(m.left_client IN ('left', 'poll_timeout'), false)

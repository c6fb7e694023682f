-- One row per member that a root cause took out of its group, or that came back because it was over.
-- Reads: root_cause, member, member_place, lost_membership
-- Grain: incident_id, kafka_cluster, group_id, member_id, role
CREATE OR REPLACE TEMPORARY VIEW incident_member (
  incident_id   COMMENT 'Incident',
  cause         COMMENT 'Its cause',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id',
  role          COMMENT 'lost: it ended; returned: its process''s next one',
  from_ms       COMMENT 'Not before then (reference clock)',
  to_ms         COMMENT 'Not after then; NULL: no bound'
)
COMMENT 'One row per member that a root cause took out of its group, or that came back because it was over.'
AS
WITH part AS (
  SELECT incident_id, cause, kafka_cluster, part.from_lo_ms, part.from_hi_ms, part.to_lo_ms, part.to_hi_ms, part.process_id,
    part.instance, part.member_ids
  FROM (SELECT incident_id, cause, kafka_cluster, explode(parts) AS part FROM root_cause)
), lost AS (
  -- What comes after it was back is of another cause.
  SELECT incident_id, cause, from_lo_ms, CASE WHEN cause <> 'process_killed' THEN to_hi_ms END AS to_ms, explode(member_ids) AS member_id
  FROM part
), ended AS (
  -- A process that ended took all members with it that it had.
  SELECT p.incident_id, p.cause, p.from_lo_ms, p.to_hi_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment') OR p.cause = 'unknown' AND p.to_lo_ms IS NOT NULL
), returned AS (
  -- A next life takes its time to start; who only slept is back at once.
  SELECT p.incident_id, p.cause, p.to_lo_ms, p.to_hi_ms + storm_gap_ms AS to_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance + 1
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment')
  UNION ALL
  SELECT p.incident_id, p.cause, p.to_lo_ms, p.to_hi_ms + coordinator_settled_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance
  WHERE p.to_lo_ms IS NOT NULL
    AND p.cause IN ('process_paused', 'member_cut_off', 'poll_too_slow', 'unknown')
), put_out AS (
  -- Members that a coordinator gave up on because it had been away itself.
  SELECT p.incident_id, p.cause, p.from_lo_ms, p.to_hi_ms, l.kafka_cluster, l.group_id, l.member_id
  FROM part p
  JOIN lost_membership l ON l.kind = 'coordinator' AND l.kafka_cluster = p.kafka_cluster AND l.broker = p.process_id
    AND l.removed_hi_ms >= p.from_lo_ms AND l.removed_lo_ms <= coalesce(p.to_hi_ms,
      p.from_hi_ms) + coordinator_settled_ms + coalesce(l.session_ms, 0)
  WHERE p.cause = 'broker_down' AND l.member_id IS NOT NULL
)
SELECT
  u.incident_id AS incident_id,
  max(u.cause) AS cause,
  u.kafka_cluster AS kafka_cluster,
  u.group_id AS group_id,
  u.member_id AS member_id,
  u.role AS role,
  min(u.from_ms) AS from_ms,
  CASE WHEN NOT bool_or(u.to_ms IS NULL) THEN max(u.to_ms) END AS to_ms
FROM (
  SELECT l.incident_id, l.cause, m.kafka_cluster, m.group_id, l.member_id, 'lost' AS role, l.from_lo_ms AS from_ms, l.to_ms
  FROM lost l JOIN member m ON m.member_id = l.member_id
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'lost', from_lo_ms, CAST(NULL AS BIGINT) FROM ended
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'lost', from_lo_ms, CAST(NULL AS BIGINT) FROM put_out
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'returned', to_lo_ms, to_ms FROM returned
) u
GROUP BY u.incident_id, u.kafka_cluster, u.group_id, u.member_id, u.role

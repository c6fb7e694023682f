-- One row per member that a root cause removed from its group, or that returned because the cause was over.
-- Reads: root_cause, member, member_place, lost_membership
-- Grain: incident_id, kafka_cluster, group_id, member_id, role
CREATE OR REPLACE TEMPORARY VIEW incident_member (
  incident_id   COMMENT 'Incident',
  cause         COMMENT 'Its cause',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id',
  role          COMMENT 'lost: its membership ended; returned: the next member of its process',
  from_ms       COMMENT 'Not before this time (reference clock)',
  to_ms         COMMENT 'Not after this time; NULL: no bound'
)
COMMENT 'One row per member that a root cause removed from its group, or that returned because the cause was over.'
AS
WITH cause_part AS (
  SELECT incident_id, cause, kafka_cluster, part.from_lo_ms, part.from_hi_ms, part.to_lo_ms, part.to_hi_ms, part.process_id,
    part.instance, part.member_ids
  FROM (SELECT incident_id, cause, kafka_cluster, explode(parts) AS part FROM root_cause)
), lost_member AS (
  -- Losses after its return have another cause.
  SELECT incident_id, cause, from_lo_ms, CASE WHEN cause <> 'process_killed' THEN to_hi_ms END AS to_ms, explode(member_ids) AS member_id
  FROM cause_part
), member_of_ended_process AS (
  -- A process that ended lost all of its members.
  SELECT p.incident_id, p.cause, p.from_lo_ms, p.to_hi_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM cause_part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment') OR p.cause = 'unknown' AND p.to_lo_ms IS NOT NULL
), returned_member AS (
  -- The next run takes its time to start; a process that was only paused is back immediately.
  SELECT p.incident_id, p.cause, p.to_lo_ms, p.to_hi_ms + storm_gap_ms AS to_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM cause_part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance + 1
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment')
  UNION ALL
  SELECT p.incident_id, p.cause, p.to_lo_ms, p.to_hi_ms + coordinator_settled_ms, m.kafka_cluster, m.group_id, m.member_id
  FROM cause_part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance
  WHERE p.to_lo_ms IS NOT NULL
    AND p.cause IN ('process_paused', 'member_cut_off', 'poll_too_slow', 'unknown')
), member_removed_by_coordinator AS (
  -- Members that a coordinator removed because it had been down itself.
  SELECT p.incident_id, p.cause, p.from_lo_ms, p.to_hi_ms, l.kafka_cluster, l.group_id, l.member_id
  FROM cause_part p
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
  FROM lost_member l JOIN member m ON m.member_id = l.member_id
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'lost', from_lo_ms, CAST(NULL AS BIGINT) FROM member_of_ended_process
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'lost', from_lo_ms, CAST(NULL AS BIGINT) FROM member_removed_by_coordinator
  UNION ALL
  SELECT incident_id, cause, kafka_cluster, group_id, member_id, 'returned', to_lo_ms, to_ms FROM returned_member
) u
GROUP BY u.incident_id, u.kafka_cluster, u.group_id, u.member_id, u.role

-- One row per generation that a root cause produced: a member left or returned because of it and made its group rebalance.
-- Reads: incident_member, generation, member_generation
-- Grain: kafka_cluster, group_id, incarnation, generation
-- A generation that only completes the previous one, at the end of its delay or after its revocations, has the same cause.
CREATE OR REPLACE TEMPORARY VIEW incident_generation (
  incident_id   COMMENT 'Incident',
  cause         COMMENT 'Its cause',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  incarnation   COMMENT 'Incarnation of the group''s metadata',
  generation    COMMENT 'Generation',
  member_id     COMMENT 'Member that triggered it, or that triggered the generation which it completes',
  role          COMMENT 'lost or returned',
  at_ms         COMMENT 'When it began (reference clock)'
)
COMMENT 'One row per generation that a root cause produced.'
AS
WITH timed_generation AS (
  SELECT kafka_cluster, group_id, incarnation, generation, trigger, trigger_member_id,
    unix_millis(coalesce(prepared_ts, first_asked_ts, first_joined_ts, stabilized_ts, last_synced_ts)) AS at_ms
  FROM generation
), unfinished_generation AS (
  SELECT kafka_cluster, group_id, incarnation, generation, coalesce(max(delay_ms), 0) > 0 OR coalesce(sum(size(revoked)),
    0) > 0 AS is_unfinished
  FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, generation
), generation_start AS (
  SELECT t.*,
    NOT (t.trigger IN ('leader_rejoined', 'member_metadata_changed', 'member_rejoined', 'unknown')
      AND coalesce(p.is_unfinished, false)) AS is_root
  FROM timed_generation t
  LEFT JOIN unfinished_generation p ON p.kafka_cluster = t.kafka_cluster AND p.group_id = t.group_id AND p.incarnation = t.incarnation
    AND p.generation = t.generation - 1
), generation_with_root AS (
  SELECT *,
    CASE WHEN is_root THEN at_ms ELSE lag(CASE WHEN is_root THEN at_ms END) IGNORE NULLS OVER w END AS root_ms,
    CASE WHEN is_root THEN trigger ELSE lag(CASE WHEN is_root THEN trigger END) IGNORE NULLS OVER w END AS root_trigger,
    CASE WHEN is_root THEN coalesce(trigger_member_id, '')
      ELSE lag(CASE WHEN is_root THEN coalesce(trigger_member_id, '') END) IGNORE NULLS OVER w END AS root_member
  FROM generation_start
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
), generation_cause AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.at_ms, m.incident_id, m.cause, m.member_id, m.role,
    row_number() OVER (PARTITION BY r.kafka_cluster, r.group_id, r.incarnation, r.generation ORDER BY m.from_ms DESC, m.role,
      m.incident_id) AS nth
  FROM generation_with_root r
  JOIN incident_member m ON m.kafka_cluster = r.kafka_cluster AND m.group_id = r.group_id AND m.member_id = r.root_member
    AND CASE m.role WHEN 'lost' THEN r.root_trigger IN ('member_expired', 'member_left', 'member_gone', 'member_never_synced')
      ELSE r.root_trigger IN ('member_joined', 'static_member_changed') END
    AND (r.root_ms IS NULL OR r.root_ms >= m.from_ms - heartbeat_late_ms AND (m.to_ms IS NULL OR r.root_ms <= m.to_ms))
)
SELECT
  incident_id AS incident_id,
  cause AS cause,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  incarnation AS incarnation,
  generation AS generation,
  member_id AS member_id,
  role AS role,
  at_ms AS at_ms
FROM generation_cause
WHERE nth = 1

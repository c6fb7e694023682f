-- One row per member that a root cause removed from its group or brought back, and per generation that followed because of such a member.
-- Reads: root_cause, member, member_place, lost_membership, generation, member_generation
-- Grain: incident_id, kafka_cluster, group_id, member_id, role, incarnation, generation
-- A generation that only completes the previous one, at the end of its delay or after its revocations, has the same cause.
CREATE OR REPLACE TEMPORARY VIEW incident_reach (
  incident_id   COMMENT 'Incident',
  kafka_cluster, group_id,
  role          COMMENT 'lost: the membership ended; returned: the next member of its process; rebalanced: a generation because of either',
  member_id     COMMENT 'Member id; NULL: a generation',
  incarnation   COMMENT 'Incarnation of the group''s metadata; NULL: a member',
  generation    COMMENT 'Generation; NULL: a member',
  from_ms       COMMENT 'Not before this time, or when the generation began (reference clock)',
  to_ms         COMMENT 'Not after this time; NULL: no bound'
)
AS
WITH cause_part AS (
  SELECT incident_id, cause, kafka_cluster, part.from_lo_ms, part.from_hi_ms, part.to_lo_ms, part.to_hi_ms, part.process_id,
    part.instance, part.member_ids
  FROM (SELECT incident_id, cause, kafka_cluster, explode(parts) AS part FROM root_cause)
), lost_member AS (
  -- Losses after its return have another cause.
  SELECT incident_id, from_lo_ms, CASE WHEN cause <> 'process_killed' THEN to_hi_ms END AS to_ms, explode(member_ids) AS member_id FROM cause_part
), touched_member AS (
  SELECT l.incident_id, m.kafka_cluster, m.group_id, l.member_id, 'lost' AS role, l.from_lo_ms AS from_ms, l.to_ms
  FROM lost_member l JOIN member m ON m.member_id = l.member_id
  UNION ALL
  -- A process that ended lost all of its members.
  SELECT p.incident_id, m.kafka_cluster, m.group_id, m.member_id, 'lost', p.from_lo_ms, NULL FROM cause_part p
  JOIN member_place m ON m.process_id = p.process_id AND m.instance = p.instance
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment') OR p.cause = 'unknown' AND p.to_lo_ms IS NOT NULL
  UNION ALL
  -- Members that a coordinator removed because it had been down itself.
  SELECT p.incident_id, l.kafka_cluster, l.group_id, l.member_id, 'lost', p.from_lo_ms, NULL FROM cause_part p
  JOIN lost_membership l ON l.kind = 'coordinator' AND l.kafka_cluster = p.kafka_cluster AND l.broker = p.process_id
    AND l.removed_hi_ms >= p.from_lo_ms AND l.removed_lo_ms <= coalesce(p.to_hi_ms, p.from_hi_ms) + coordinator_settled_ms + coalesce(l.session_ms, 0)
  WHERE p.cause = 'broker_down' AND l.member_id IS NOT NULL
  UNION ALL
  -- The next run takes its time to start; a process that was only paused is back immediately.
  SELECT p.incident_id, m.kafka_cluster, m.group_id, m.member_id, 'returned', p.to_lo_ms,
    p.to_hi_ms + CASE WHEN m.instance = p.instance THEN coordinator_settled_ms ELSE storm_gap_ms END
  FROM cause_part p
  JOIN member_place m ON m.process_id = p.process_id
    AND m.instance = p.instance + CASE WHEN p.cause IN ('process_killed', 'process_restarted', 'deployment') THEN 1 ELSE 0 END
  WHERE p.cause IN ('process_killed', 'process_restarted', 'deployment')
    OR p.to_lo_ms IS NOT NULL AND p.cause IN ('process_paused', 'member_cut_off', 'poll_too_slow', 'unknown')
), incident_member AS (
  SELECT incident_id, kafka_cluster, group_id, member_id, role, min(from_ms) AS from_ms,
    CASE WHEN count(to_ms) = count(*) THEN max(to_ms) END AS to_ms
  FROM touched_member GROUP BY incident_id, kafka_cluster, group_id, member_id, role
), unfinished_generation AS (
  SELECT kafka_cluster, group_id, incarnation, generation, coalesce(max(delay_ms), 0) > 0 OR coalesce(sum(size(revoked)), 0) > 0 AS is_unfinished
  FROM member_generation GROUP BY kafka_cluster, group_id, incarnation, generation
), generation_start AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.trigger, coalesce(g.trigger_member_id, '') AS member_id,
    unix_millis(coalesce(g.prepared_ts, g.first_asked_ts, g.first_joined_ts, g.stabilized_ts, g.last_synced_ts)) AS at_ms,
    NOT (g.trigger IN ('leader_rejoined', 'member_metadata_changed', 'member_rejoined', 'unknown') AND coalesce(p.is_unfinished, false)) AS is_root
  FROM generation g
  LEFT JOIN unfinished_generation p ON p.kafka_cluster = g.kafka_cluster AND p.group_id = g.group_id AND p.incarnation = g.incarnation
    AND p.generation = g.generation - 1
), generation_with_root AS (
  SELECT *, CASE WHEN is_root THEN at_ms ELSE lag(CASE WHEN is_root THEN at_ms END) IGNORE NULLS OVER w END AS root_ms,
    CASE WHEN is_root THEN trigger ELSE lag(CASE WHEN is_root THEN trigger END) IGNORE NULLS OVER w END AS root_trigger,
    CASE WHEN is_root THEN member_id ELSE lag(CASE WHEN is_root THEN member_id END) IGNORE NULLS OVER w END AS root_member
  FROM generation_start
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
), generation_cause AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.at_ms, m.incident_id,
    row_number() OVER (PARTITION BY r.kafka_cluster, r.group_id, r.incarnation, r.generation ORDER BY m.from_ms DESC, m.role, m.incident_id) AS nth
  FROM generation_with_root r
  JOIN incident_member m ON m.kafka_cluster = r.kafka_cluster AND m.group_id = r.group_id AND m.member_id = r.root_member
    AND CASE m.role WHEN 'lost' THEN r.root_trigger IN ('member_expired', 'member_left', 'member_gone', 'member_never_synced')
      ELSE r.root_trigger IN ('member_joined', 'static_member_changed') END
    AND (r.root_ms IS NULL OR r.root_ms >= m.from_ms - heartbeat_late_ms AND (m.to_ms IS NULL OR r.root_ms <= m.to_ms))
)
SELECT incident_id, kafka_cluster, group_id, 'rebalanced' AS role, CAST(NULL AS STRING) AS member_id, incarnation, generation,
  at_ms AS from_ms, CAST(NULL AS BIGINT) AS to_ms
FROM generation_cause WHERE nth = 1
UNION ALL
SELECT incident_id, kafka_cluster, group_id, role, member_id, NULL AS incarnation, NULL AS generation, from_ms, to_ms FROM incident_member

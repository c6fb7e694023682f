-- One row per incident and resource that was without an owner, or worked on twice, because of it.
-- Reads: root_cause, incident_member, incident_generation, unowned, split_brain, ownership, generation, member
-- Grain: incident_id, kafka_cluster, group_id, resource_kind, resource
CREATE OR REPLACE TEMPORARY VIEW incident_resource (
  incident_id    COMMENT 'Incident',
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'Task, connector or partition',
  unowned_ms     COMMENT 'Longest time that it surely had no owner, milliseconds; NULL: it had one, as far as the lines tell',
  unowned_hi_ms  COMMENT 'Longest time that it can have had no owner in these, milliseconds; NULL: as unowned_ms, or nothing bounds it',
  double_work_ms COMMENT 'Longest time that two surely worked on it, milliseconds; NULL: nothing shows two at work'
)
COMMENT 'One row per incident and resource that was without an owner, or worked on twice, because of it.'
AS
WITH part AS (
  SELECT incident_id, part.from_lo_ms, part.to_hi_ms, part.process_id
  FROM (
    SELECT incident_id, explode(parts) AS part
    FROM root_cause
    WHERE cause IN ('process_paused', 'process_killed', 'member_cut_off', 'process_restarted', 'deployment', 'poll_too_slow', 'unknown')
  )
  WHERE part.process_id IS NOT NULL AND part.from_lo_ms IS NOT NULL
), gap AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, previous_ownership_id AS id, previous_member_id AS member_id,
    previous_process_id AS process_id,
    generation, unix_millis(from_lo) AS from_ms, certain_ms AS unowned_ms, possible_ms AS unowned_hi_ms,
    CAST(NULL AS BIGINT) AS double_work_ms
  FROM unowned
  WHERE certain_ms >= resource_hit_ms
  UNION ALL
  SELECT s.kafka_cluster, s.group_id, s.resource_kind, s.resource, concat(s.ownership_a, s.ownership_b), a.member_id, s.process_a,
    b.generation, unix_millis(s.from_lo), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), s.work_certain_ms
  FROM split_brain s
  JOIN ownership a ON a.ownership_id = s.ownership_a
  JOIN ownership b ON b.ownership_id = s.ownership_b
  WHERE s.verdict = 'proved' AND s.kind = 'work'
), joined AS (
  SELECT g.*, m.incident_id, 1 AS rank, m.from_ms AS since_ms
  FROM gap g
  JOIN incident_member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.member_id
    AND m.role = 'lost'
    AND (m.to_ms IS NULL OR g.from_ms <= m.to_ms + outage_untroubled_ms)
  UNION ALL
  SELECT g.*, p.incident_id, 2, p.from_lo_ms
  FROM gap g
  JOIN part p ON p.process_id = g.process_id AND g.from_ms >= p.from_lo_ms - heartbeat_late_ms
    AND (p.to_hi_ms IS NULL OR g.from_ms <= p.to_hi_ms + outage_untroubled_ms)
  UNION ALL
  SELECT g.*, i.incident_id, 3, i.at_ms
  FROM gap g
  JOIN incident_generation i ON i.kafka_cluster = g.kafka_cluster AND i.group_id = g.group_id AND i.generation = g.generation
  UNION ALL
  -- What its others gave up stays without an owner while the rebalance waits for the member that the cause held up.
  SELECT g.*, p.incident_id, 3, p.from_lo_ms
  FROM gap g
  JOIN generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.generation
    AND coalesce(n.join_ms, n.duration_ms) >= resource_hit_ms
  JOIN member m ON m.kafka_cluster = n.kafka_cluster AND m.group_id = n.group_id AND m.member_id = n.waited_for_member_id
  JOIN part p ON p.process_id = m.process_id AND g.from_ms >= p.from_lo_ms - heartbeat_late_ms
    AND (p.to_hi_ms IS NULL OR g.from_ms <= p.to_hi_ms)
  UNION ALL
  SELECT g.*, r.incident_id, 4, r.from_lo_ms
  FROM gap g
  JOIN root_cause r ON r.cause IN ('broker_down', 'coordinator_moved') AND r.kafka_cluster <=> g.kafka_cluster
    AND array_contains(r.group_ids, g.group_id)
    AND g.from_ms >= r.from_lo_ms - broker_noticed_ms AND (r.to_hi_ms IS NULL OR g.from_ms <= r.to_hi_ms + outage_untroubled_ms)
), ranked AS (
  SELECT *, row_number() OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, id ORDER BY rank, since_ms DESC,
    incident_id) AS nth FROM joined
)
SELECT
  incident_id AS incident_id,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  resource_kind AS resource_kind,
  resource AS resource,
  max(unowned_ms) AS unowned_ms,
  CASE WHEN count(unowned_ms) = count(unowned_hi_ms) THEN max(unowned_hi_ms) END AS unowned_hi_ms,
  max(double_work_ms) AS double_work_ms
FROM ranked
WHERE nth = 1
GROUP BY incident_id, kafka_cluster, group_id, resource_kind, resource

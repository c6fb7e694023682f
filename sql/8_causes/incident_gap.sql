-- One row for each time in which a resource had no owner, or perhaps none, or two that worked on it, because of an incident.
-- Reads: root_cause, incident_reach, unowned, split_brain, ownership, generation, member, open_rebalance
-- Grain: incident_id, kafka_cluster, group_id, resource_kind, resource, id
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW incident_gap (
  incident_id    COMMENT 'Incident',
  kafka_cluster, group_id,
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'Task, connector or partition',
  id             COMMENT 'Ownership that ended before it, or the two that ran at the same time',
  from_ts        COMMENT 'Earliest start',
  to_ts          COMMENT 'Latest end; NULL: no bound',
  unowned_ms     COMMENT 'It had no owner for at least this long, milliseconds; 0: perhaps none; NULL: it had two',
  unowned_hi_ms  COMMENT 'It had no owner for at most this long, milliseconds; NULL: it had two, or no bound',
  double_work_ms COMMENT 'Two worked on it for at least this long, milliseconds; NULL: it had none'
)
AS
WITH cause_part AS (
  SELECT incident_id, part.from_lo_ms, part.to_hi_ms, part.process_id
  FROM (
    SELECT incident_id, explode(parts) AS part FROM root_cause
    WHERE cause IN ('process_paused', 'process_killed', 'member_cut_off', 'process_restarted', 'deployment', 'poll_too_slow', 'unknown')
  )
  WHERE part.process_id IS NOT NULL AND part.from_lo_ms IS NOT NULL
), resource_gap AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, previous_ownership_id AS id, previous_member_id AS member_id,
    previous_process_id AS process_id, generation, unix_millis(from_lo) AS from_ms, unix_millis(from_hi) AS from_hi_ms,
    unix_millis(coalesce(to_hi, to_lo)) AS to_ms, certain_ms AS unowned_ms, possible_ms AS unowned_hi_ms, CAST(NULL AS BIGINT) AS double_work_ms
  FROM unowned WHERE certain_ms >= resource_hit_ms
  UNION ALL
  -- Resources released for a rebalance that has not ended have no owner at the end of the logs: no member gets an assignment before all do.
  SELECT u.kafka_cluster, u.group_id, u.resource_kind, u.resource, u.previous_ownership_id, u.previous_member_id, u.previous_process_id, u.generation,
    unix_millis(u.from_lo), unix_millis(u.from_hi), CAST(NULL AS BIGINT), r.to_ms - unix_millis(u.from_hi), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT)
  FROM unowned u
  JOIN open_rebalance r ON r.kafka_cluster = u.kafka_cluster AND r.group_id = u.group_id AND r.rebalance_mode = 'eager'
    AND r.reference_process_id = u.reference_process_id AND (r.coordinator IS NOT NULL OR size(r.awaited) = 0)
    AND r.to_ms - unix_millis(u.from_hi) >= resource_hit_ms AND unix_millis(u.from_lo) >= r.from_ms - outage_untroubled_ms
  WHERE u.next_ownership_id IS NULL AND r.lasted_ms IS NOT NULL
  UNION ALL
  SELECT s.kafka_cluster, s.group_id, s.resource_kind, s.resource, concat(s.ownership_a, '/', s.ownership_b), a.member_id, s.process_a, b.generation,
    unix_millis(s.from_lo), unix_millis(s.from_hi), unix_millis(s.to_hi), CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), s.work_certain_ms
  FROM split_brain s JOIN ownership a ON a.ownership_id = s.ownership_a
  JOIN ownership b ON b.ownership_id = s.ownership_b
  WHERE s.verdict = 'proved' AND s.kind = 'work'
), gap_with_cause AS (
  SELECT g.*, m.incident_id, 1 AS rank, m.from_ms AS since_ms FROM resource_gap g
  JOIN incident_reach m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.member_id AND m.role = 'lost'
    AND coalesce(g.from_hi_ms >= m.from_ms - heartbeat_late_ms, true) AND (m.to_ms IS NULL OR g.from_ms <= m.to_ms + outage_untroubled_ms)
  UNION ALL
  SELECT g.*, p.incident_id, 2, p.from_lo_ms FROM resource_gap g
  JOIN cause_part p ON p.process_id = g.process_id AND g.from_ms >= p.from_lo_ms - heartbeat_late_ms
    AND (p.to_hi_ms IS NULL OR g.from_ms <= p.to_hi_ms + outage_untroubled_ms)
  UNION ALL
  SELECT g.*, i.incident_id, 3, i.from_ms FROM resource_gap g
  JOIN incident_reach i ON i.kafka_cluster = g.kafka_cluster AND i.group_id = g.group_id AND i.generation = g.generation
  UNION ALL
  -- Resources that the other members released have no owner while the rebalance waits for the member that the cause delayed.
  SELECT g.*, p.incident_id, 3, p.from_lo_ms FROM resource_gap g
  JOIN generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.generation
    AND coalesce(n.join_ms, n.duration_ms) >= resource_hit_ms
  JOIN member m ON m.kafka_cluster = n.kafka_cluster AND m.group_id = n.group_id AND m.member_id = n.waited_for_member_id
  JOIN cause_part p ON p.process_id = m.process_id AND g.from_ms >= p.from_lo_ms - heartbeat_late_ms
    AND (p.to_hi_ms IS NULL OR g.from_ms <= p.to_hi_ms)
  UNION ALL
  SELECT g.*, r.incident_id, 4, r.from_lo_ms FROM resource_gap g
  JOIN root_cause r ON (r.cause IN ('broker_down', 'coordinator_moved') OR r.cause = 'unknown' AND array_contains(r.alternatives, 'broker_down'))
    AND r.kafka_cluster <=> g.kafka_cluster AND array_contains(r.group_ids, g.group_id) AND g.from_ms >= r.from_lo_ms - broker_noticed_ms
    AND (r.to_hi_ms IS NULL OR g.from_ms <= r.to_hi_ms + outage_untroubled_ms)
), ranked_gap AS (
  SELECT *, row_number() OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, id ORDER BY rank, since_ms DESC, incident_id) AS nth
  FROM gap_with_cause
)
SELECT incident_id, kafka_cluster, group_id, resource_kind, resource, id, timestamp_millis(from_ms) AS from_ts, timestamp_millis(to_ms) AS to_ts,
  unowned_ms, unowned_hi_ms, double_work_ms
FROM ranked_gap WHERE nth = 1

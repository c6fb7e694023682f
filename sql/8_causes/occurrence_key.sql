-- One row per occurrence of a finding and fact that can link it to its cause: a member, process, generation, resource, broker or group.
-- Reads: occurrence_fact, lost_membership, unowned, split_brain, ownership, join_round, member_round, clock_offset, broker_generation, cluster_broker
-- Grain: occurrence_id, kind, kafka_cluster, group_id, name, number
CREATE OR REPLACE TEMPORARY VIEW occurrence_key (
  occurrence_id COMMENT 'Occurrence',
  kind          COMMENT 'member, process, generation, resource, broker, connector or group',
  kafka_cluster, group_id,
  name          COMMENT 'Member id, process, task or partition, connector, or broker id',
  number        COMMENT 'Run of the process, or generation; NULL: any, or none',
  incarnation   COMMENT 'Incarnation of the group''s metadata, for a generation; NULL: unknown',
  from_ms       COMMENT 'The part of the occurrence with this key began at this time (reference clock); NULL: unknown',
  to_ms         COMMENT 'And ended at this time',
  begun_ms      COMMENT 'It had certainly begun at this time, if an uncertain clock leaves that open; else the same as from_ms'
)
AS
WITH occurrence_with_facts AS (
  SELECT occurrence_id, rule, code, kafka_cluster, group_id, subject, verdict, from_ms, coalesce(to_ms, from_ms) AS to_ms,
    try_cast(get_json_object(facts, '$.last_generation') AS BIGINT) AS last_generation,
    try_cast(get_json_object(facts, '$.asked_at_ms') AS BIGINT) AS asked_at_ms, get_json_object(facts, '$.member_id') AS member_id,
    get_json_object(facts, '$.process_id') AS process_id, get_json_object(facts, '$.process_a') AS process_a,
    get_json_object(facts, '$.process_b') AS process_b, try_cast(get_json_object(facts, '$.instance') AS BIGINT) AS instance,
    try_cast(get_json_object(facts, '$.incarnation') AS BIGINT) AS incarnation,
    try_cast(get_json_object(facts, '$.generation') AS BIGINT) AS generation, get_json_object(facts, '$.broker_id') AS broker_id,
    get_json_object(facts, '$.connector') AS connector, get_json_object(facts, '$.task') AS task,
    from_json(coalesce(get_json_object(facts, '$.processes'), '[]'), 'array<string>') AS processes,
    from_json(coalesce(get_json_object(facts, '$.tasks'), '[]'), 'array<string>') AS tasks
  FROM occurrence_fact
), owner_pair AS (
  SELECT t.occurrence_id, s.kafka_cluster, s.group_id, s.resource, a.member_id AS a_member, s.process_a, s.process_b,
    b.generation AS b_generation, unix_millis(s.from_lo) AS from_ms, coalesce(unix_millis(s.to_hi), t.to_ms) AS to_ms,
    unix_millis(s.from_lo) + CASE WHEN greatest(c.hi_ms - c.lo_ms, d.hi_ms - d.lo_ms) > coordinator_together_ms
      THEN greatest(c.hi_ms - c.lo_ms, d.hi_ms - d.lo_ms) ELSE 0L END AS begun_ms
  FROM occurrence_with_facts t
  JOIN split_brain s ON s.kafka_cluster <=> t.kafka_cluster AND s.group_id <=> t.group_id AND s.verdict = t.verdict AND s.process_a = t.process_a
    AND s.process_b = t.process_b AND unix_millis(s.from_lo) = t.from_ms AND array_contains(split(t.subject, ', '), s.resource)
  JOIN ownership a ON a.ownership_id = s.ownership_a
  JOIN ownership b ON b.ownership_id = s.ownership_b
  LEFT JOIN clock_offset c ON c.process_id = s.process_a AND c.is_island_reference
  LEFT JOIN clock_offset d ON d.process_id = s.process_b AND d.is_island_reference
  WHERE t.rule IN ('split-brain-task', 'split-brain-partition')
), clock_uncertainty AS (
  -- For times from a member's own line, `from_ms` is the earliest moment that its clock allows.
  SELECT t.occurrence_id, max(o.hi_ms - o.lo_ms) AS wide_ms
  FROM (
    SELECT occurrence_id, explode(CASE WHEN process_id IS NULL THEN processes ELSE array(process_id) END) AS process_id
    FROM occurrence_with_facts
    WHERE rule IN ('coordinator-unavailable', 'config-lag', 'poll-timeout', 'static-member-fenced', 'stale-commit')
  ) t
  JOIN clock_offset o ON o.process_id = t.process_id AND o.is_island_reference
  GROUP BY t.occurrence_id
), link AS (
  SELECT occurrence_id, kafka_cluster, group_id, from_ms, to_ms, true AS is_whole, member_id,
    -- A wrong clock is not caused by the trouble of its process.
    CASE WHEN rule <> 'clock-skew' THEN process_id END AS process_id, instance,
    CASE WHEN rule = 'rebalance-storm' THEN subject WHEN size(processes) = 1 THEN processes[0] END AS other_process_id,
    CASE WHEN rule = 'zombie-task' THEN task END AS resource, generation, incarnation, broker_id, connector
  FROM occurrence_with_facts
  UNION ALL
  -- The process of a member of which only the coordinator's lines are known to the rule.
  SELECT t.occurrence_id, t.kafka_cluster, t.group_id, t.from_ms, t.to_ms, false, NULL, l.process_id, l.instance, NULL, NULL, NULL, NULL, NULL, NULL
  FROM occurrence_with_facts t
  JOIN lost_membership l ON l.kafka_cluster = t.kafka_cluster AND l.group_id = t.group_id AND l.member_id = t.member_id
  WHERE t.process_id IS NULL
  UNION ALL
  -- A rebalance that does not end, perhaps because the coordinator of the previous generation went down, so its members could not leave.
  SELECT t.occurrence_id, t.kafka_cluster, t.group_id, t.from_ms, t.to_ms, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
    CAST(b.broker_id AS STRING), NULL
  FROM occurrence_with_facts t
  JOIN broker_generation g ON g.kafka_cluster = t.kafka_cluster AND g.group_id = t.group_id AND g.generation = t.last_generation
  JOIN cluster_broker b ON b.kafka_cluster = g.kafka_cluster AND b.process_id = g.process_id
  WHERE t.rule = 'slow-rebalance' AND t.code = 'unfinished'
  UNION ALL
  -- Resources without an owner: the previous owner, and the generation that assigned them again.
  SELECT t.occurrence_id, u.kafka_cluster, u.group_id, t.from_ms, t.to_ms, false, u.previous_member_id, u.previous_process_id, NULL, NULL,
    NULL, u.generation, NULL, NULL, NULL
  FROM occurrence_with_facts t
  JOIN unowned u ON u.kafka_cluster = t.kafka_cluster AND u.group_id = t.group_id AND array_contains(t.tasks, u.resource)
    AND unix_millis(u.from_hi) BETWEEN t.from_ms AND t.to_ms AND unix_millis(u.to_lo) BETWEEN t.from_ms AND t.to_ms
  WHERE t.rule = 'unassigned-tasks'
  UNION ALL
  SELECT occurrence_id, kafka_cluster, group_id, from_ms, to_ms, false, a_member, process_a, NULL, process_b, resource, b_generation, NULL, NULL, NULL
  FROM owner_pair
  UNION ALL
  -- A task whose worker was asked to stop it: the generation that revoked it.
  SELECT t.occurrence_id, r.kafka_cluster, r.group_id, t.from_ms, t.to_ms, false, NULL, NULL, NULL, NULL, NULL, r.generation, r.incarnation,
    NULL, NULL
  FROM occurrence_with_facts t JOIN join_round j ON j.process_id = t.process_id AND j.is_worker AND array_contains(j.revoked, t.task)
  JOIN member_round r ON r.process_id = j.process_id AND r.group_id = j.group_id AND r.client = j.client AND r.round = j.round
  WHERE t.rule = 'zombie-task' AND coalesce(j.worker_assigned_ms, j.synced_ms) BETWEEN t.asked_at_ms - outage_untroubled_ms AND t.asked_at_ms
), fact AS (
  SELECT occurrence_id, kafka_cluster, group_id, from_ms, to_ms, is_whole, incarnation,
    explode(array(named_struct('kind', 'member', 'name', member_id, 'number', CAST(NULL AS BIGINT)),
      named_struct('kind', 'process', 'name', process_id, 'number', instance), named_struct('kind', 'process', 'name', other_process_id, 'number',
      CAST(NULL AS BIGINT)), named_struct('kind', 'resource', 'name', resource, 'number', CAST(NULL AS BIGINT)),
      named_struct('kind', 'generation', 'name', CAST(NULL AS STRING), 'number', generation),
      named_struct('kind', 'broker', 'name', broker_id, 'number', CAST(NULL AS BIGINT)),
      named_struct('kind', 'connector', 'name', connector, 'number', CAST(NULL AS BIGINT)),
      named_struct('kind', 'group', 'name', CAST(NULL AS STRING), 'number', CAST(NULL AS BIGINT)))) AS it
  FROM link
), keyed_occurrence AS (
  SELECT occurrence_id, it.kind, kafka_cluster, group_id, it.name, it.number,
    CASE WHEN it.kind = 'generation' THEN incarnation END AS incarnation, from_ms, to_ms
  FROM fact
  WHERE CASE it.kind WHEN 'generation' THEN it.number IS NOT NULL AND group_id IS NOT NULL
    WHEN 'group' THEN is_whole AND group_id IS NOT NULL ELSE it.name IS NOT NULL END
)
SELECT k.occurrence_id, k.kind, k.kafka_cluster, k.group_id, k.name, k.number, k.incarnation, min(k.from_ms) AS from_ms, max(k.to_ms) AS to_ms,
  coalesce(max(p.begun_ms), min(k.from_ms) + coalesce(max(w.wide_ms), 0L)) AS begun_ms
FROM keyed_occurrence k
LEFT JOIN (SELECT occurrence_id, max(begun_ms) AS begun_ms FROM owner_pair GROUP BY occurrence_id) p ON p.occurrence_id = k.occurrence_id
LEFT JOIN clock_uncertainty w ON w.occurrence_id = k.occurrence_id
GROUP BY k.occurrence_id, k.kind, k.kafka_cluster, k.group_id, k.name, k.number, k.incarnation

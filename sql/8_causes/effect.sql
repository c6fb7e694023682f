-- One row per occurrence of a finding and fact that can link it to its cause, with its incident, if its root cause is known.
-- Reads: occurrence_fact, lost_membership, unowned, split_brain, ownership, join_round, member_round, clock_offset, root_cause, incident_reach
-- Grain: occurrence_id, kind, kafka_cluster, group_id, name, number
-- Time only limits the candidates: an effect does not begin before its cause, nor long after the cause was over. Of several causes the one
-- with the most specific fact counts, then the one that began last.
CREATE OR REPLACE TEMPORARY VIEW effect (
  occurrence_id COMMENT 'Occurrence',
  kind          COMMENT 'member, process, generation, resource, broker, connector, group or whole (each occurrence has one such row)',
  kafka_cluster, group_id,
  name          COMMENT 'Member id, process, task or partition, connector, or broker id',
  number        COMMENT 'Run of the process, or generation; NULL: any, or none',
  incarnation   COMMENT 'Incarnation of the group''s metadata, for a generation; NULL: unknown',
  from_ms       COMMENT 'The part of the occurrence with this fact began at this time (reference clock); NULL: unknown',
  to_ms         COMMENT 'And ended at this time',
  begun_ms      COMMENT 'It had certainly begun at this time, if an uncertain clock leaves that open; else the same as from_ms',
  incident_id   COMMENT 'Incident; NULL: its cause is unknown',
  caused_how    COMMENT 'Fact that links them: cause, member, process_life, coordinator, generation, connector or group'
)
AS
WITH occurrence_with_facts AS (
  SELECT occurrence_id, rule, code, kafka_cluster, group_id, subject, verdict, witness, from_ms, coalesce(to_ms, from_ms) AS to_ms,
    get_json_object(facts, '$.name') AS name, get_json_object(facts, '$.client') AS client,
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
      named_struct('kind', 'group', 'name', CAST(NULL AS STRING), 'number', CAST(NULL AS BIGINT)),
      named_struct('kind', 'whole', 'name', CAST(NULL AS STRING), 'number', CAST(NULL AS BIGINT)))) AS it
  FROM link
), keyed_occurrence AS (
  SELECT occurrence_id, it.kind, kafka_cluster, group_id, it.name, it.number,
    CASE WHEN it.kind = 'generation' THEN incarnation END AS incarnation, from_ms, to_ms
  FROM fact
  WHERE CASE it.kind WHEN 'generation' THEN it.number IS NOT NULL AND group_id IS NOT NULL
    WHEN 'group' THEN is_whole AND group_id IS NOT NULL WHEN 'whole' THEN is_whole ELSE it.name IS NOT NULL END
), occurrence_key AS (
  SELECT k.occurrence_id, k.kind, k.kafka_cluster, k.group_id, k.name, k.number, k.incarnation, min(k.from_ms) AS from_ms, max(k.to_ms) AS to_ms,
    coalesce(max(p.begun_ms), min(k.from_ms) + coalesce(max(w.wide_ms), 0L)) AS begun_ms
  FROM keyed_occurrence k
  LEFT JOIN (SELECT occurrence_id, max(begun_ms) AS begun_ms FROM owner_pair GROUP BY occurrence_id) p ON p.occurrence_id = k.occurrence_id
  LEFT JOIN clock_uncertainty w ON w.occurrence_id = k.occurrence_id
  GROUP BY k.occurrence_id, k.kind, k.kafka_cluster, k.group_id, k.name, k.number, k.incarnation
), cause_finding AS (
  -- Rules that prove a cause themselves.
  SELECT occurrence_id, rule, kafka_cluster, group_id, subject, from_ms, witness,
    CASE rule
      WHEN 'offsets-topic-unsatisfiable' THEN 'offsets_topic_impossible'
      WHEN 'generation-reset' THEN 'offsets_lost'
      WHEN 'duplicate-declaration' THEN 'duplicate_declaration'
      WHEN 'sink-group-shared' THEN 'duplicate_declaration'
      WHEN 'group-id-collision' THEN 'group_id_collision'
      WHEN 'static-member-fenced' THEN 'static_id_shared'
      WHEN 'clock-skew' THEN 'clock_wrong'
      WHEN 'rebalance-storm' THEN 'connector_churn'
      WHEN 'poll-timeout' THEN 'poll_too_slow' END AS cause
  FROM occurrence_fact
), cause_part AS (
  SELECT incident_id, part.from_lo_ms, CASE WHEN is_over THEN coalesce(part.to_hi_ms, part.from_hi_ms) ELSE part.to_hi_ms END AS to_hi_ms,
    part.process_id, part.instance
  FROM (SELECT incident_id, to_hi_ms IS NOT NULL AS is_over, explode(parts) AS part FROM root_cause)
), rejoin AS (
  SELECT j.process_id, j.client, coalesce(j.joined_ms, j.synced_ms) - o.hi_ms AS at_ms FROM join_round j
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
), candidate AS (
  SELECT t.occurrence_id, r.incident_id, 'cause' AS caused_how, 0 AS rank, r.from_lo_ms AS since_ms, CAST(NULL AS BIGINT) AS until_ms,
    false AS is_trigger
  FROM cause_finding t
  JOIN root_cause r ON r.cause = t.cause AND r.kafka_cluster <=> t.kafka_cluster
    AND CASE WHEN t.rule = 'poll-timeout' THEN array_contains(r.witness, t.witness[0])
      WHEN t.rule = 'generation-reset' THEN array_contains(r.group_ids, t.group_id)
      ELSE array_contains(split(r.subject, ', '), t.subject) OR r.subject = t.subject END
    AND (t.group_id IS NULL OR size(r.group_ids) = 0 OR array_contains(r.group_ids, t.group_id) OR r.cause = 'duplicate_declaration')
    AND (r.from_lo_ms IS NULL OR t.from_ms IS NULL OR t.from_ms BETWEEN r.from_lo_ms AND coalesce(r.to_hi_ms, t.from_ms))
  UNION ALL
  -- A member that returns triggers a rebalance of its group. Its later trouble has a cause of its own if there is one.
  SELECT k.occurrence_id, m.incident_id, 'member', CASE m.role WHEN 'lost' THEN 1 ELSE 5 END, m.from_ms, m.to_ms, m.role <> 'lost'
  FROM occurrence_key k JOIN incident_reach m ON m.member_id = k.name AND m.kafka_cluster <=> k.kafka_cluster AND m.group_id = k.group_id
  WHERE k.kind = 'member' AND (k.to_ms IS NULL OR m.from_ms IS NULL OR k.to_ms >= m.from_ms - heartbeat_late_ms)
    AND (m.role = 'lost' OR m.to_ms IS NULL OR k.from_ms <= m.to_ms)
  UNION ALL
  -- A member that left at its poll timeout learns it from its next commit, until it has joined again.
  SELECT s.occurrence_id, r.incident_id, 'member', 1, r.from_lo_ms, CAST(NULL AS BIGINT), false
  FROM occurrence_with_facts s
  JOIN occurrence_with_facts t ON t.rule = 'poll-timeout' AND t.process_id = s.process_id AND t.instance = s.instance
    AND t.name IN (s.task, s.client) AND t.from_ms <= s.from_ms
  JOIN root_cause r ON r.cause = 'poll_too_slow' AND array_contains(r.witness, t.witness[0])
  LEFT ANTI JOIN rejoin j ON j.process_id = s.process_id AND j.client = s.client AND j.at_ms BETWEEN t.from_ms AND s.from_ms
  WHERE s.rule = 'stale-commit'
  UNION ALL
  SELECT k.occurrence_id, p.incident_id, 'process_life', 3, p.from_lo_ms, p.to_hi_ms, false
  FROM occurrence_key k
  JOIN cause_part p ON p.process_id = k.name AND p.from_lo_ms IS NOT NULL
    AND (k.number IS NULL OR p.instance IS NULL OR k.number IN (p.instance, p.instance + 1))
    AND k.to_ms >= p.from_lo_ms AND (p.to_hi_ms IS NULL OR k.from_ms <= p.to_hi_ms + outage_untroubled_ms)
  WHERE k.kind = 'process'
  UNION ALL
  SELECT k.occurrence_id, r.incident_id, 'coordinator', 2, r.from_lo_ms, r.to_hi_ms, false
  FROM occurrence_key k
  JOIN root_cause r ON r.subject = concat('broker ', k.name) AND r.kafka_cluster <=> k.kafka_cluster
    AND k.to_ms >= r.from_lo_ms - broker_noticed_ms AND (r.to_hi_ms IS NULL OR k.from_ms <= r.to_hi_ms + outage_untroubled_ms)
  WHERE k.kind = 'broker'
  UNION ALL
  SELECT k.occurrence_id, g.incident_id, 'generation', 4, g.from_ms, CAST(NULL AS BIGINT), true
  FROM occurrence_key k
  JOIN incident_reach g ON g.kafka_cluster = k.kafka_cluster AND g.group_id = k.group_id AND g.generation = k.number
    AND (k.incarnation IS NULL OR g.incarnation = k.incarnation) AND (g.from_ms IS NULL OR g.from_ms <= k.to_ms)
  WHERE k.kind = 'generation'
  UNION ALL
  SELECT k.occurrence_id, r.incident_id, 'connector', 5, r.from_lo_ms, r.to_hi_ms, true FROM occurrence_key k
  JOIN root_cause r ON r.cause IN ('connector_churn', 'duplicate_declaration') AND array_contains(split(r.subject, ', '), k.name)
    AND r.kafka_cluster <=> k.kafka_cluster
    AND (r.from_lo_ms IS NULL OR k.to_ms >= r.from_lo_ms AND k.from_ms <= coalesce(r.to_hi_ms, k.from_ms) + outage_untroubled_ms)
  WHERE k.kind = 'connector'
  UNION ALL
  -- Positions that were lost with the group's metadata.
  SELECT o.occurrence_id, r.incident_id, 'group', 2, r.from_lo_ms, CAST(NULL AS BIGINT), false
  FROM occurrence_fact o
  JOIN root_cause r ON r.cause = 'offsets_lost' AND r.kafka_cluster <=> o.kafka_cluster AND array_contains(r.group_ids, o.group_id)
  WHERE o.rule = 'offset-reset' AND o.code = 'lost_with_metadata' AND (o.from_ms IS NULL OR o.from_ms >= r.from_lo_ms)
  UNION ALL
  -- Trouble of a whole group affects everything in it.
  SELECT k.occurrence_id, r.incident_id, 'group', 6, p.from_lo_ms, p.to_hi_ms, false FROM occurrence_key k
  JOIN root_cause r ON r.kafka_cluster <=> k.kafka_cluster AND array_contains(r.group_ids, k.group_id)
  JOIN cause_part p ON p.incident_id = r.incident_id AND (p.from_lo_ms IS NULL
    OR k.from_ms >= p.from_lo_ms - broker_noticed_ms AND (r.to_hi_ms IS NULL OR k.from_ms <= p.to_hi_ms + outage_untroubled_ms))
  WHERE k.kind = 'group' AND k.from_ms IS NOT NULL
    AND (r.cause IN ('broker_down', 'coordinator_moved', 'offsets_topic_impossible', 'offsets_lost', 'group_id_collision', 'connector_churn',
      'deployment') OR r.cause = 'unknown' AND array_contains(r.alternatives, 'broker_down'))
    -- If the time of a loss is uncertain, trouble that was over before the loss was certain is not its effect.
    AND (r.cause <> 'offsets_lost' OR coalesce(k.to_ms >= r.from_hi_ms, true))
), ranked_candidate AS (
  SELECT c.occurrence_id, c.incident_id, c.caused_how,
    row_number() OVER (PARTITION BY c.occurrence_id ORDER BY c.rank, c.since_ms DESC, c.incident_id) AS nth
  FROM candidate c JOIN occurrence_fact o ON o.occurrence_id = c.occurrence_id
  LEFT JOIN (SELECT occurrence_id, max(begun_ms) AS begun_ms FROM occurrence_key GROUP BY occurrence_id) b ON b.occurrence_id = c.occurrence_id
  WHERE (c.rank = 0 OR c.since_ms IS NULL OR o.from_ms IS NULL OR c.since_ms <= coalesce(b.begun_ms, o.from_ms))
    -- The trigger of a rebalance does not make it slow. That is the effect of trouble that lasts while the others wait.
    AND (o.rule <> 'slow-rebalance' OR o.code = 'unfinished' OR NOT c.is_trigger AND coalesce(c.until_ms >= o.from_ms + slow_rebalance_ms, true))
)
SELECT k.*, c.incident_id, c.caused_how FROM occurrence_key k LEFT JOIN ranked_candidate c ON c.occurrence_id = k.occurrence_id AND c.nth = 1

-- One row per occurrence of a finding whose root cause is known: its incident, and the fact that links them.
-- Reads: occurrence_fact, occurrence_key, root_cause, incident_reach
-- Grain: occurrence_id
-- Time only limits the candidates: an effect does not begin before its cause, nor long after the cause was over. Of several causes the one
-- with the most specific fact counts, then the one that began last.
CREATE OR REPLACE TEMPORARY VIEW effect (
  occurrence_id COMMENT 'Occurrence',
  incident_id   COMMENT 'Incident',
  caused_how    COMMENT 'Fact that links them: cause, member, process_life, coordinator, generation, connector or group'
)
AS
WITH cause_finding AS (
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
  -- A commit that failed because another process had taken the member's static id.
  SELECT o.occurrence_id, r.incident_id, 'group', 2, r.from_lo_ms, CAST(NULL AS BIGINT), false
  FROM (SELECT occurrence_id, kafka_cluster, group_id, get_json_object(facts, '$.said') AS said FROM occurrence_fact WHERE rule = 'stale-commit') o
  JOIN root_cause r ON r.cause = 'static_id_shared' AND r.kafka_cluster <=> o.kafka_cluster AND array_contains(r.group_ids, o.group_id)
    AND (o.said NOT LIKE '%[%' OR o.said LIKE concat('%[', r.subject, ']%'))
  WHERE o.said RLIKE '(?i)group.?instance.?id'
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
SELECT occurrence_id, incident_id, caused_how FROM ranked_candidate WHERE nth = 1

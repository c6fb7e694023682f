-- One row per group whose members were notified that it is rebalancing, with the rebalances that caused these lines.
-- Reads: join_round, member_round, generation, rule_rebalance_storm, clock_offset
WITH notified_member AS (
  SELECT j.kafka_cluster, j.group_id, g.incarnation, j.generation, j.process_id, j.rejoin_ms - coalesce(k.ahead_ms, 0L) AS rejoin_ms, j.rejoin_id
  FROM join_round j
  JOIN member_round g ON g.kafka_cluster = j.kafka_cluster AND g.group_id = j.group_id AND g.process_id = j.process_id
    AND g.client = j.client AND g.round = j.round
  LEFT JOIN clock_offset k ON k.process_id = j.process_id AND k.is_island_reference
  WHERE j.rejoin_id IS NOT NULL
), notified_rebalance AS (
  SELECT r.kafka_cluster, r.group_id, r.generation, count(DISTINCT r.process_id) AS members, min(r.rejoin_ms) AS at_ms,
    min(r.rejoin_id) AS event_id, max(g.trigger) AS trigger, max(coalesce(g.trigger_member_id, g.asked_member_id)) AS trigger_member_id,
    max(g.asked_why) AS asked_why, max(g.witness[0]) AS cause_id
  FROM notified_member r
  LEFT JOIN generation g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.incarnation = r.incarnation
    AND g.generation = r.generation
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, r.generation
), trigger_count AS (
  SELECT kafka_cluster, group_id, sort_array(collect_list(struct(-n AS falling, trigger, n))) AS triggers
  FROM (
    SELECT kafka_cluster, group_id, coalesce(trigger, 'unknown') AS trigger, count(*) AS n
    FROM notified_rebalance GROUP BY kafka_cluster, group_id, coalesce(trigger, 'unknown')
  )
  GROUP BY kafka_cluster, group_id
), group_summary AS (
  SELECT kafka_cluster, group_id, count(*) AS rebalance_count, sum(members) AS told_count, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    sort_array(collect_list(struct(at_ms, generation, trigger, trigger_member_id, asked_why, event_id, cause_id))) AS rebalances
  FROM notified_rebalance GROUP BY kafka_cluster, group_id
), cited_event AS (
  SELECT kafka_cluster, group_id, transform(rebalances, x -> x.cause_id) AS cause_ids,
    slice(array_distinct(filter(flatten(transform(rebalances, x -> array(x.cause_id, x.event_id))), e -> e IS NOT NULL)), 1, 12) AS event_ids
  FROM group_summary
), storm_group AS (
  SELECT DISTINCT kafka_cluster, group_id FROM rule_rebalance_storm
)
SELECT 'note' AS severity, 'proved' AS verdict, s.kafka_cluster, s.group_id, s.group_id AS subject, s.from_ms, s.to_ms,
  CASE WHEN r.group_id IS NOT NULL THEN 'storm' ELSE 'effect' END AS code,
  struct(s.told_count, s.rebalance_count, NOT exists(s.rebalances, x -> coalesce(x.trigger, 'unknown') <> 'unknown'
    OR x.asked_why IS NOT NULL) AS nothing_told, transform(c.triggers, x -> named_struct('trigger', x.trigger, 'times', x.n)) AS triggers,
    transform(slice(s.rebalances, 1, 5), x -> named_struct('generation', x.generation, 'trigger', x.trigger, 'member_id', x.trigger_member_id,
    'asked_why', x.asked_why)) AS rebalances) AS facts,
  transform(t.event_ids, x -> named_struct('role', CASE WHEN array_contains(t.cause_ids, x) THEN 'the rebalance' ELSE 'a member is notified' END,
    'event_id', x)) AS proof
FROM group_summary s JOIN trigger_count c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id
JOIN cited_event t ON t.kafka_cluster = s.kafka_cluster AND t.group_id = s.group_id
LEFT JOIN storm_group r ON r.kafka_cluster = s.kafka_cluster AND r.group_id = s.group_id

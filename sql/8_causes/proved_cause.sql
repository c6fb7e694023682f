-- One row per root cause that a rule proves directly: a configuration, a clock, lost metadata, a connector that keeps changing.
-- Reads: rule_offsets_topic_unsatisfiable, rule_generation_reset, rule_rebalance_storm, rule_duplicate_declaration
-- Reads: rule_sink_group_shared, rule_group_id_collision, rule_static_member_fenced, rule_clock_skew, generation, join_round
-- Reads: cluster_broker, process_life, clock_offset
-- Grain: cause, kafka_cluster, subject, group_ids, from_ms
CREATE OR REPLACE TEMPORARY VIEW proved_cause (
  cause         COMMENT 'Cause',
  kafka_cluster COMMENT 'Kafka cluster id; NULL: none',
  group_ids     COMMENT 'Affected groups',
  subject       COMMENT 'Subject',
  process_id    COMMENT 'Process; NULL: no single one',
  since_ms      COMMENT 'Last time that it was not yet so (reference clock); NULL: it was always so, or unknown',
  from_ms       COMMENT 'It was so from this time on; NULL: it was always so',
  to_ms         COMMENT 'To; NULL: still open, or always',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per root cause that a rule proves directly.'
AS
WITH last_metadata AS (
  -- The last moment at which a group's metadata existed.
  SELECT kafka_cluster, group_id, incarnation, max(unix_millis(coalesce(assigned_ts, stabilized_ts, first_joined_ts))) AS at_ms
  FROM generation
  GROUP BY kafka_cluster, group_id, incarnation
), configuration_start AS (
  -- A broker's configuration applies since its start. If the broker ran before its log begins, that moment is unknown.
  SELECT b.kafka_cluster, CASE WHEN min(l.instance) > 0 THEN min(l.first_ms - o.hi_ms) END AS at_ms
  FROM cluster_broker b
  JOIN process_life l ON l.process_id = b.process_id
  JOIN clock_offset o ON o.process_id = b.process_id AND o.is_island_reference
  GROUP BY b.kafka_cluster
), first_use_of_static_id AS (
  -- The first use of a static member's id by each process.
  SELECT j.kafka_cluster, j.group_id, j.group_instance_id, j.process_id,
    min(coalesce(j.joining_first_ms, j.joined_ms, j.synced_ms) - o.hi_ms) AS at_ms
  FROM join_round j
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.group_instance_id IS NOT NULL
  GROUP BY j.kafka_cluster, j.group_id, j.group_instance_id, j.process_id
), shared_static_id AS (
  -- The sharing begins when the second process uses the id, which the first learns later.
  SELECT r.kafka_cluster, r.group_id, r.subject, r.facts.process_id AS process_id, r.from_ms, r.to_ms, r.proof, max(u.at_ms) AS since_ms
  FROM rule_static_member_fenced r
  LEFT JOIN first_use_of_static_id u ON u.kafka_cluster = r.kafka_cluster AND u.group_id = r.group_id AND u.group_instance_id = r.subject
    AND u.at_ms <= r.from_ms
  WHERE size(r.facts.users) > 1
  GROUP BY r.kafka_cluster, r.group_id, r.subject, r.facts.process_id, r.from_ms, r.to_ms, r.proof
), proved_fact AS (
  SELECT 'offsets_topic_impossible' AS cause, r.kafka_cluster, r.facts.group_ids AS group_ids, r.subject,
    CAST(NULL AS STRING) AS process_id, least(b.at_ms, r.from_ms) AS since_ms, r.from_ms, r.to_ms, r.proof
  FROM rule_offsets_topic_unsatisfiable r
  LEFT JOIN configuration_start b ON b.kafka_cluster = r.kafka_cluster
  UNION ALL
  SELECT 'offsets_lost', r.kafka_cluster, array(r.group_id), '__consumer_offsets', r.facts.broker_process_id, coalesce(a.at_ms, r.from_ms),
    r.from_ms, r.to_ms, r.proof
  FROM rule_generation_reset r
  LEFT JOIN last_metadata a ON a.kafka_cluster = r.kafka_cluster AND a.group_id = r.group_id AND a.incarnation = r.facts.incarnation - 1
  WHERE r.code = 'metadata_lost'
  UNION ALL
  SELECT 'connector_churn', kafka_cluster, array(group_id), subject, NULL, from_ms, from_ms, to_ms, proof
  FROM rule_rebalance_storm
  WHERE code = 'connector_changes'
  UNION ALL
  SELECT 'duplicate_declaration', kafka_cluster, array(facts.place, facts.other_place), subject, NULL, from_ms, from_ms, to_ms, proof
  FROM rule_duplicate_declaration
  UNION ALL
  -- A sink's name determines its group: two Connect clusters that declare it share the data.
  SELECT 'duplicate_declaration', kafka_cluster, transform(facts.clusters, c -> c.worker_group_id), subject, NULL, from_ms, from_ms,
    to_ms, proof
  FROM rule_sink_group_shared
  UNION ALL
  SELECT 'group_id_collision', kafka_cluster, array(group_id), subject, NULL, from_ms, from_ms, to_ms, proof
  FROM rule_group_id_collision
  WHERE severity <> 'note'
  UNION ALL
  SELECT 'static_id_shared', kafka_cluster, array(group_id), subject, process_id, coalesce(since_ms, from_ms), from_ms, to_ms, proof
  FROM shared_static_id
  UNION ALL
  SELECT 'clock_wrong', kafka_cluster, NULL, subject, facts.process_id, from_ms, from_ms, to_ms, proof
  FROM rule_clock_skew
  WHERE code NOT IN ('daylight_saving', 'another_log', 'parts_out_of_order', 'lines_repeated', 'lines_doubled', 'wrong_time')
)
SELECT
  cause AS cause,
  kafka_cluster AS kafka_cluster,
  array_sort(array_distinct(filter(coalesce(group_ids, CAST(array() AS ARRAY<STRING>)), g -> g IS NOT NULL))) AS group_ids,
  subject AS subject,
  process_id AS process_id,
  since_ms AS since_ms,
  from_ms AS from_ms,
  to_ms AS to_ms,
  transform(filter(proof, p -> p.event_id IS NOT NULL), p -> p.event_id) AS witness
FROM proved_fact

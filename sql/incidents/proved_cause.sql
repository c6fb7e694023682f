-- One row per root cause that a rule proves as it is: a configuration, a clock, a store that was lost, a connector that never rests.
-- Reads: rule_offsets_topic_unsatisfiable, rule_generation_reset, rule_rebalance_storm, rule_duplicate_declaration, rule_sink_group_shared, rule_group_id_collision, rule_static_member_fenced, rule_clock_skew
-- Grain: cause, kafka_cluster, subject, group_ids, from_ms
CREATE OR REPLACE TEMPORARY VIEW proved_cause (
  cause         COMMENT 'Cause',
  kafka_cluster COMMENT 'Kafka cluster id; NULL: it is of none',
  group_ids     COMMENT 'Groups that it befell',
  subject       COMMENT 'What it is about',
  process_id    COMMENT 'Process; NULL: it is of no single one',
  from_ms       COMMENT 'From (reference clock); NULL: it was so all the time',
  to_ms         COMMENT 'To; NULL: open, or all the time',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per root cause that a rule proves as it is.'
AS
WITH proved AS (
  SELECT 'offsets_topic_impossible' AS cause, kafka_cluster, facts.group_ids AS group_ids, subject, CAST(NULL AS STRING) AS process_id,
    from_ms, to_ms, proof
  FROM rule_offsets_topic_unsatisfiable
  UNION ALL
  SELECT 'offsets_lost', kafka_cluster, array(group_id), '__consumer_offsets', facts.broker_process_id, from_ms, to_ms, proof
  FROM rule_generation_reset
  UNION ALL
  SELECT 'connector_churn', kafka_cluster, array(group_id), subject, NULL, from_ms, to_ms, proof
  FROM rule_rebalance_storm
  WHERE code = 'connector_changes'
  UNION ALL
  SELECT 'duplicate_declaration', kafka_cluster, array(facts.place, facts.other_place), subject, NULL, from_ms, to_ms, proof
  FROM rule_duplicate_declaration
  UNION ALL
  -- The name of a sink stands for its group: two Connect clusters that declare it share the data.
  SELECT 'duplicate_declaration', kafka_cluster, transform(facts.clusters, c -> c.worker_group_id), subject, NULL, from_ms, to_ms, proof
  FROM rule_sink_group_shared
  UNION ALL
  SELECT 'group_id_collision', kafka_cluster, array(group_id), subject, NULL, from_ms, to_ms, proof
  FROM rule_group_id_collision
  WHERE severity <> 'note'
  UNION ALL
  SELECT 'static_id_shared', kafka_cluster, array(group_id), subject, facts.process_id, from_ms, to_ms, proof
  FROM rule_static_member_fenced
  WHERE size(facts.users) > 1
  UNION ALL
  SELECT 'clock_wrong', kafka_cluster, NULL, subject, facts.process_id, from_ms, to_ms, proof
  FROM rule_clock_skew
  WHERE code <> 'daylight_saving'
)
SELECT
  cause AS cause,
  kafka_cluster AS kafka_cluster,
  array_sort(array_distinct(filter(coalesce(group_ids, CAST(array() AS ARRAY<STRING>)), g -> g IS NOT NULL))) AS group_ids,
  subject AS subject,
  process_id AS process_id,
  from_ms AS from_ms,
  to_ms AS to_ms,
  transform(filter(proof, p -> p.event_id IS NOT NULL), p -> p.event_id) AS witness
FROM proved

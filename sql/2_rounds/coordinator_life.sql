-- One row per generation in a coordinator's log, with the incarnation of its group.
-- Reads: broker_generation
-- Grain: kafka_cluster, group_id, incarnation, generation, process_id
-- A ghost repeats a number without a loss of metadata: the previous incarnation continues.
CREATE OR REPLACE TEMPORARY VIEW coordinator_life (
  kafka_cluster    COMMENT 'Kafka cluster',
  group_id         COMMENT 'Group',
  incarnation      COMMENT 'Incarnation of the group''s metadata, ghosts included',
  generation       COMMENT 'Generation',
  process_id       COMMENT 'Broker',
  stabilized_ms    COMMENT 'End of the join phase (in a filtered log its beginning), by the broker''s clock (milliseconds since 1970)',
  leader_member_id COMMENT 'Leader',
  prepared_member  COMMENT 'Member that triggered the rebalance',
  whole_life       COMMENT 'Incarnation of the group''s metadata without ghosts; from 1'
)
COMMENT 'One row per generation in a coordinator''s log, with the incarnation of its group.'
AS
SELECT
  kafka_cluster, group_id, incarnation, generation, process_id,
  stabilized_ms,
  leader_member_id, prepared_member,
  dense_rank() OVER (PARTITION BY kafka_cluster, group_id ORDER BY whole) AS whole_life
FROM (
  SELECT kafka_cluster, group_id, incarnation, generation, process_id, coalesce(stabilized_ms, prepared_ms) AS stabilized_ms,
    leader_member_id, prepared_member,
    max(CASE WHEN incarnation_why <> 'ghost' OR incarnation = 1 THEN incarnation END)
      OVER (PARTITION BY kafka_cluster, group_id ORDER BY incarnation) AS whole
  FROM broker_generation
)

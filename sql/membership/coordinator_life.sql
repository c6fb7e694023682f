-- One row per generation in a coordinator's log, with the life of the group that it is of.
-- Reads: broker_generation
-- Grain: kafka_cluster, group_id, incarnation, generation, process_id
-- A ghost repeats a number without loss: it goes on with the life that was.
CREATE OR REPLACE TEMPORARY VIEW coordinator_life (
  kafka_cluster    COMMENT 'Kafka cluster',
  group_id         COMMENT 'Group',
  incarnation      COMMENT 'Which life of the group''s metadata, ghosts counted',
  generation       COMMENT 'Generation',
  process_id       COMMENT 'Broker',
  stabilized_ms    COMMENT 'Join phase over, in a filtered log begun, by the broker''s clock (milliseconds since 1970)',
  leader_member_id COMMENT 'Leader',
  prepared_member  COMMENT 'Member that made the group rebalance',
  whole_life       COMMENT 'Which life of the group''s metadata, ghosts left out; from 1'
)
COMMENT 'One row per generation in a coordinator''s log, with the life of the group that it is of.'
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

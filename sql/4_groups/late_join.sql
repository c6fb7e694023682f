-- One row per round in which a member asked to join only after the join phase of its generation had ended.
-- Reads: member_round, clock_offset, process_resolution
-- Grain: process_id, group_id, client, round
-- A static member that returns to a stable group, perhaps in another member's place, receives the current generation. No rebalance waited
-- for it.
CREATE OR REPLACE TEMPORARY VIEW late_join (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Its round, as in join_round',
  generation    COMMENT 'Generation that it received',
  late_ms       COMMENT 'It asked at least this long after the end of the join phase, milliseconds'
)
COMMENT 'One row per round in which a member asked to join only after the join phase of its generation had ended.'
AS
SELECT kafka_cluster, group_id, process_id, client, round, generation, late_ms
FROM (
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.client, r.round, r.generation,
    r.joining_first.at_ms - o.hi_ms - (r.stabilized.at_ms - k.lo_ms) - s.resolution_ms AS late_ms
  FROM member_round r
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference AND NOT o.stepped
  JOIN clock_offset k ON k.process_id = r.broker AND k.is_island_reference AND NOT k.stepped
    AND k.reference_process_id = o.reference_process_id
  JOIN process_resolution s ON s.process_id = r.broker
)
WHERE late_ms > 0

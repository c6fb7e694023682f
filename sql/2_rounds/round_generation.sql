-- One row per join round: the group incarnation of its generation.
-- Reads: round_whole_life, coordinator_life
-- Grain: process_id, group_id, client, round
-- If a coordinator repeats a number, two incarnations have it; the nearer in time is chosen.
CREATE OR REPLACE TEMPORARY VIEW round_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  incarnation   COMMENT 'Incarnation of the group''s metadata; 0 and below: before the first one in the coordinator''s log',
  broker_process_id COMMENT 'Broker whose log has this generation; NULL: none'
)
COMMENT 'One row per join round: the group incarnation of its generation.'
AS
WITH coordinator_match AS (
  SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round,
    min_by(struct(b.incarnation, b.process_id), struct(abs(p.at_ms - b.stabilized_ms), b.incarnation, b.process_id)) AS life
  FROM round_whole_life p
  JOIN coordinator_life b ON b.kafka_cluster = p.kafka_cluster AND b.group_id = p.group_id AND b.whole_life = p.whole_life
    AND b.generation = p.generation
  WHERE p.is_claimed
  GROUP BY p.kafka_cluster, p.group_id, p.process_id, p.client, p.round
), incarnation_list AS (
  SELECT kafka_cluster, group_id, whole_life, sort_array(collect_list(struct(from_generation, incarnation))) AS lives
  FROM (SELECT kafka_cluster, group_id, whole_life, incarnation, min(generation) AS from_generation FROM coordinator_life
    GROUP BY kafka_cluster, group_id, whole_life, incarnation)
  GROUP BY kafka_cluster, group_id, whole_life
), group_incarnations AS (
  SELECT kafka_cluster, group_id, max_by(lives, whole_life) AS last_lives, max(whole_life) AS whole_lives
  FROM incarnation_list
  GROUP BY kafka_cluster, group_id
)
SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round, p.generation,
  CASE
    WHEN m.life IS NOT NULL THEN m.life.incarnation
    WHEN NOT p.is_claimed THEN p.whole_life
    -- The coordinator's log does not have it: the last incarnation that had begun by this number.
    WHEN w.lives IS NOT NULL THEN coalesce(array_max(filter(w.lives, x -> x.from_generation <= p.generation)),
      array_min(w.lives)).incarnation
    WHEN p.whole_life < 1 THEN p.whole_life
    ELSE array_max(transform(f.last_lives, x -> x.incarnation)) + p.whole_life - f.whole_lives
  END AS incarnation,
  m.life.process_id AS broker_process_id
FROM round_whole_life p
LEFT JOIN coordinator_match m ON m.kafka_cluster = p.kafka_cluster AND m.group_id = p.group_id AND m.process_id = p.process_id
  AND m.client = p.client
  AND m.round = p.round
LEFT JOIN incarnation_list w ON w.kafka_cluster = p.kafka_cluster AND w.group_id = p.group_id AND w.whole_life = p.whole_life
LEFT JOIN group_incarnations f ON f.kafka_cluster = p.kafka_cluster AND f.group_id = p.group_id

-- One row per join round: which life of the group its generation belongs to.
-- Reads: join_round, broker_generation
-- Grain: process_id, group_id, client, round
-- Where a coordinator's log has the number once, that is it; where it has it several times, the nearest in time. Where only members'
-- logs tell, a member that sees its generations fall has begun a new life of the group.
CREATE OR REPLACE TEMPORARY VIEW round_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  incarnation   COMMENT 'Which life of the group''s metadata',
  broker_process_id COMMENT 'Broker whose log has this generation; NULL when none has'
)
COMMENT 'One row per join round: which life of the group its generation belongs to.'
AS
WITH seen AS (
  SELECT kafka_cluster, group_id, process_id, client, round, generation, coalesce(joined_ts, synced_ts, worker_assigned_ts) AS ts, from_pos
  FROM join_round
), by_broker AS (
  SELECT
    s.kafka_cluster, s.group_id, s.process_id, s.client, s.round,
    min_by(struct(b.incarnation, b.process_id), abs(unix_millis(s.ts) - unix_millis(b.stabilized_ts))) AS life
  FROM seen s
  JOIN broker_generation b ON b.kafka_cluster = s.kafka_cluster AND b.group_id = s.group_id AND b.generation = s.generation
  GROUP BY ALL
), falls AS (
  SELECT kafka_cluster, group_id, process_id, client, ts
  FROM (
    SELECT *, lag(generation) OVER (PARTITION BY process_id, group_id, client ORDER BY from_pos) AS last_generation FROM seen
  )
  WHERE generation < last_generation
), most AS (
  -- Several members see the same fall, each at its own time: the member that saw most tells them all.
  SELECT kafka_cluster, group_id, max_by(falls_ts, size(falls_ts)) AS falls_ts
  FROM (
    SELECT kafka_cluster, group_id, process_id, client, sort_array(collect_list(ts)) AS falls_ts FROM falls
    GROUP BY kafka_cluster, group_id, process_id, client
  )
  GROUP BY kafka_cluster, group_id
)
SELECT
  s.kafka_cluster,
  s.group_id,
  s.process_id,
  s.client,
  s.round,
  s.generation,
  coalesce(b.life.incarnation, 1 + coalesce(size(filter(m.falls_ts, t -> t <= s.ts)), 0)),
  b.life.process_id
FROM seen s
LEFT JOIN by_broker b USING (kafka_cluster, group_id, process_id, client, round)
LEFT JOIN most m ON m.kafka_cluster = s.kafka_cluster AND m.group_id = s.group_id

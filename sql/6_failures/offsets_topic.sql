-- One row per Kafka cluster: what the logs show about the replication of __consumer_offsets.
-- Reads: cluster_broker, setting, process_cluster, fact_line, generation, client_event
-- Computed: forensics.coordinators.offsets_topic
-- Grain: kafka_cluster
-- If no line shows the placement of the topic, the brokers' configuration shows how it would be created. An existing topic keeps its replication.
CREATE OR REPLACE TEMPORARY VIEW offsets_topic (
  kafka_cluster STRING,
  replication_factor BIGINT COMMENT 'Fewest replicas of any of its partitions, from a log line; NULL: unknown',
  configured INT COMMENT 'Lowest offsets.topic.replication.factor that a broker prints',
  brokers BIGINT COMMENT 'Number of brokers that any log of the case names',
  exists_already BOOLEAN COMMENT 'True if a line shows that the topic exists',
  failures BIGINT COMMENT 'How often its creation failed for lack of brokers',
  failed_from_ms BIGINT COMMENT 'First time, by that broker''s clock (milliseconds since 1970)',
  failed_to_ms BIGINT COMMENT 'Last time',
  required BIGINT,
  alive BIGINT COMMENT 'Live brokers at the last failure',
  created_ms BIGINT COMMENT 'When it was created, if logged',
  placements ARRAY<STRUCT<offsets_partition: INT, replicas: ARRAY<STRING>>> COMMENT 'Partitions whose replicas are logged: offsets_partition, replicas
    (broker ids, as logged last); NULL: none',
  placed_ids ARRAY<STRING> COMMENT 'Events that show the replication',
  config_ids ARRAY<STRING> COMMENT 'Events that print the configuration',
  failed_ids ARRAY<STRING> COMMENT 'First and last failure'
)

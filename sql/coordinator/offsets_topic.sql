-- One row per Kafka cluster: what the logs tell about the replication of __consumer_offsets.
-- Reads: offsets_replica, cluster_broker, setting, process_cluster, fact_line, generation, client_event
-- Grain: kafka_cluster
-- Where no line places the topic, the brokers' configuration says how it would be created; a topic that is there already keeps what it has.
CREATE OR REPLACE TEMPORARY VIEW offsets_topic (
  kafka_cluster      COMMENT 'Kafka cluster id',
  replication_factor COMMENT 'Fewest replicas of any of its partitions, as a line tells; NULL: no line tells',
  configured         COMMENT 'offsets.topic.replication.factor as the brokers print it, the lowest',
  min_isr            COMMENT 'min.insync.replicas as the brokers print it, the highest',
  brokers            COMMENT 'Brokers that any log of the case names',
  exists_already     COMMENT 'True when a line shows that the topic is there',
  failures           COMMENT 'How often its creation failed for lack of brokers',
  failed_from_ms     COMMENT 'First time, by that broker''s clock (milliseconds since 1970)',
  failed_to_ms       COMMENT 'Last time',
  required           COMMENT 'Replicas that were asked for',
  alive              COMMENT 'Brokers that were there at the last failure',
  created_ms         COMMENT 'When it was created, if a line tells',
  placed_ids         COMMENT 'Events that tell the replication',
  config_ids         COMMENT 'Events that print the configuration',
  failed_ids         COMMENT 'First and last failure'
)
COMMENT 'One row per Kafka cluster: what the logs tell about the replication of __consumer_offsets.'
AS
WITH placed AS (
  SELECT kafka_cluster, min(replication_factor) AS replication_factor, min(at_ms) AS created_ms,
    slice(array_sort(collect_set(event_id)), 1, 3) AS ids
  FROM offsets_replica GROUP BY kafka_cluster
), configured AS (
  SELECT c.kafka_cluster,
    min(try_cast(s.value AS INT)) FILTER (WHERE s.key = 'offsets.topic.replication.factor') AS rf,
      max(try_cast(s.value AS INT)) FILTER (WHERE s.key = 'min.insync.replicas') AS min_isr,
    slice(array_sort(collect_set(s.event_id) FILTER (WHERE s.key = 'offsets.topic.replication.factor')), 1, 3) AS ids
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last
  WHERE s.component = 'KafkaConfig' AND s.key IN ('offsets.topic.replication.factor', 'min.insync.replicas') AND s.value RLIKE '^[0-9]+$'
  GROUP BY c.kafka_cluster
), line AS (
  SELECT e.kafka_cluster, count_if(e.event = 'offsets_topic_failed') AS failures,
    min(e.at_ms) FILTER (WHERE e.event = 'offsets_topic_failed') AS from_ms,
      max(e.at_ms) FILTER (WHERE e.event = 'offsets_topic_failed') AS to_ms,
    max(coalesce(e.required, e.replication_factor)) FILTER (WHERE e.event = 'offsets_topic_failed') AS required,
    max_by(e.brokers_alive, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed') AS alive,
    filter(array_distinct(array(
      min_by(e.event_id, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed'),
      max_by(e.event_id, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed'))),
      x -> x IS NOT NULL) AS ids,
    bool_or(e.event IN ('coordinator_elected', 'partition_loaded', 'group_loaded')) AS there
  FROM fact_line e
  WHERE e.event IN ('offsets_topic_failed', 'coordinator_elected', 'partition_loaded', 'group_loaded')
  GROUP BY e.kafka_cluster
), used AS (
  SELECT DISTINCT kafka_cluster FROM generation
  UNION
  SELECT DISTINCT kafka_cluster FROM client_event WHERE event = 'coordinator_discovered'
), broker AS (
  SELECT kafka_cluster, count(*) AS n FROM cluster_broker GROUP BY kafka_cluster
)
SELECT b.kafka_cluster, p.replication_factor, c.rf AS configured, c.min_isr, b.n AS brokers,
  coalesce(p.replication_factor IS NOT NULL OR u.kafka_cluster IS NOT NULL OR l.there, false) AS exists_already,
  coalesce(l.failures, 0) AS failures, l.from_ms AS failed_from_ms, l.to_ms AS failed_to_ms, l.required, l.alive, p.created_ms,
    coalesce(p.ids, array()) AS placed_ids, coalesce(c.ids, array()) AS config_ids, coalesce(l.ids, array()) AS failed_ids
FROM broker b
LEFT JOIN placed p ON p.kafka_cluster = b.kafka_cluster
LEFT JOIN configured c ON c.kafka_cluster = b.kafka_cluster
LEFT JOIN line l ON l.kafka_cluster = b.kafka_cluster
LEFT JOIN used u ON u.kafka_cluster = b.kafka_cluster

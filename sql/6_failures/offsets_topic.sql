-- One row per Kafka cluster: what the logs show about the replication of __consumer_offsets.
-- Reads: cluster_broker, setting, process_cluster, fact_line, generation, client_event
-- Grain: kafka_cluster
-- If no line shows the placement of the topic, the brokers' configuration shows how it would be created. An existing topic keeps its replication.
CREATE OR REPLACE TEMPORARY VIEW offsets_topic (
  kafka_cluster,
  replication_factor COMMENT 'Fewest replicas of any of its partitions, from a log line; NULL: unknown',
  configured         COMMENT 'Lowest offsets.topic.replication.factor that a broker prints',
  brokers            COMMENT 'Number of brokers that any log of the case names',
  exists_already     COMMENT 'True if a line shows that the topic exists',
  failures           COMMENT 'How often its creation failed for lack of brokers',
  failed_from_ms     COMMENT 'First time, by that broker''s clock (milliseconds since 1970)',
  failed_to_ms       COMMENT 'Last time',
  required,
  alive              COMMENT 'Live brokers at the last failure',
  created_ms         COMMENT 'When it was created, if logged',
  placements         COMMENT 'Partitions whose replicas are logged: offsets_partition, replicas (broker ids, as logged last); NULL: none',
  placed_ids         COMMENT 'Events that show the replication',
  config_ids         COMMENT 'Events that print the configuration',
  failed_ids         COMMENT 'First and last failure'
)
AS
WITH placement_line AS (
  SELECT kafka_cluster, try_cast(regexp_extract(partition, '-([0-9]+)$', 1) AS INT) AS offsets_partition, replicas,
    CAST(size(replicas) AS BIGINT) AS replication_factor, at_ms, event_id
  FROM fact_line WHERE event = 'partition_placed' AND size(replicas) > 0
  UNION ALL
  SELECT kafka_cluster, NULL, NULL, replication_factor, at_ms, event_id FROM fact_line
  WHERE event = 'offsets_topic_created' AND replication_factor > 0
  UNION ALL
  -- With ZooKeeper the controller's broker prints the whole placement in one line: 0 -> ArrayBuffer(3), 1 -> ArrayBuffer(1), ...
  SELECT kafka_cluster, try_cast(split(placed, ' -> ')[0] AS INT), split(regexp_extract(placed, '[(]([0-9, ]+)[)]', 1), ', *'),
    size(split(regexp_extract(placed, '[(]([0-9, ]+)[)]', 1), ', *')), at_ms, event_id
  FROM fact_line
  LATERAL VIEW explode(regexp_extract_all(message, '([0-9]{1,9} -> [A-Za-z]+[(][0-9, ]+[)])', 1)) p AS placed
  WHERE event = 'offsets_topic_created' AND replication_factor IS NULL
), topic_placement AS (
  SELECT kafka_cluster, min(replication_factor) AS replication_factor, min(at_ms) AS created_ms,
    slice(array_sort(array_distinct(flatten(collect_list(ids)))), 1, 3) AS ids,
    sort_array(collect_list(CASE WHEN offsets_partition IS NOT NULL THEN struct(offsets_partition, replicas) END)) AS placements
  FROM (
    SELECT kafka_cluster, offsets_partition, max_by(replicas, struct(at_ms IS NOT NULL, at_ms, replicas)) AS replicas,
      min(replication_factor) AS replication_factor, min(at_ms) AS at_ms, collect_set(event_id) AS ids
    FROM placement_line GROUP BY kafka_cluster, offsets_partition
  )
  GROUP BY kafka_cluster
), broker_setting AS (
  SELECT c.kafka_cluster, min(try_cast(s.value AS INT)) AS rf, slice(array_sort(collect_set(s.event_id)), 1, 3) AS ids
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last
  WHERE s.component = 'KafkaConfig' AND s.key = 'offsets.topic.replication.factor' AND s.value RLIKE '^[0-9]+$' GROUP BY c.kafka_cluster
), topic_failure AS (
  SELECT e.kafka_cluster, count_if(e.event = 'offsets_topic_failed') AS failures,
    min(e.at_ms) FILTER (WHERE e.event = 'offsets_topic_failed') AS from_ms, max(e.at_ms) FILTER (WHERE e.event = 'offsets_topic_failed') AS to_ms,
    max(coalesce(e.required, e.replication_factor)) FILTER (WHERE e.event = 'offsets_topic_failed') AS required,
    max_by(e.brokers_alive, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed') AS alive,
    filter(array_distinct(array(min_by(e.event_id, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed'),
      max_by(e.event_id, struct(e.at_ms IS NOT NULL, e.at_ms, e.event_id)) FILTER (WHERE e.event = 'offsets_topic_failed'))),
      x -> x IS NOT NULL) AS ids,
    bool_or(e.event IN ('coordinator_elected', 'partition_loaded', 'group_loaded')) AS there
  FROM fact_line e WHERE e.event IN ('offsets_topic_failed', 'coordinator_elected', 'partition_loaded', 'group_loaded')
  GROUP BY e.kafka_cluster
), cluster_in_use AS (
  SELECT DISTINCT kafka_cluster FROM generation
  UNION
  SELECT DISTINCT kafka_cluster FROM client_event
  WHERE event = 'coordinator_discovered'
), broker_count AS (
  -- A broker that prints only that the creation failed may not print its id.
  SELECT coalesce(b.kafka_cluster, f.kafka_cluster) AS kafka_cluster, nullif(count(b.kafka_cluster), 0L) AS n
  FROM cluster_broker b FULL JOIN (SELECT kafka_cluster FROM topic_failure WHERE failures > 0) f ON f.kafka_cluster = b.kafka_cluster
  GROUP BY coalesce(b.kafka_cluster, f.kafka_cluster)
)
SELECT b.kafka_cluster, p.replication_factor, c.rf AS configured, b.n AS brokers,
  coalesce(p.replication_factor IS NOT NULL OR u.kafka_cluster IS NOT NULL OR l.there, false) AS exists_already, coalesce(l.failures, 0) AS failures,
  l.from_ms AS failed_from_ms, l.to_ms AS failed_to_ms, l.required, l.alive, p.created_ms, p.placements, coalesce(p.ids, array()) AS placed_ids,
  coalesce(c.ids, array()) AS config_ids, coalesce(l.ids, array()) AS failed_ids
FROM broker_count b LEFT JOIN topic_placement p ON p.kafka_cluster = b.kafka_cluster
LEFT JOIN broker_setting c ON c.kafka_cluster = b.kafka_cluster
LEFT JOIN topic_failure l ON l.kafka_cluster = b.kafka_cluster
LEFT JOIN cluster_in_use u ON u.kafka_cluster = b.kafka_cluster

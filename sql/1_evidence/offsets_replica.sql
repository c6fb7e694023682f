-- One row per partition of __consumer_offsets with the replicas that a broker's log shows, and one per cluster as a whole if only their
-- number is known.
-- Reads: fact_line
-- Grain: kafka_cluster, offsets_partition, event_id
CREATE OR REPLACE TEMPORARY VIEW offsets_replica (
  kafka_cluster,
  offsets_partition  COMMENT 'Partition of __consumer_offsets; NULL: the whole topic',
  replicas           COMMENT 'Broker ids of its replicas; NULL: only their number is known',
  replication_factor, at_ms, event_id
)
AS
WITH topic_line AS (
  SELECT * FROM fact_line WHERE event IN ('partition_placed', 'offsets_topic_created')
)
SELECT kafka_cluster, try_cast(regexp_extract(partition, '-([0-9]+)$', 1) AS INT) AS offsets_partition, replicas,
  CAST(size(replicas) AS BIGINT) AS replication_factor, at_ms, event_id
FROM topic_line WHERE event = 'partition_placed' AND size(replicas) > 0
UNION ALL
SELECT kafka_cluster, NULL AS offsets_partition, NULL AS replicas, replication_factor, at_ms, event_id FROM topic_line
WHERE event = 'offsets_topic_created' AND replication_factor > 0
UNION ALL
-- With ZooKeeper the controller's broker prints the whole placement in one line: 0 -> ArrayBuffer(3), 1 -> ArrayBuffer(1), ...
SELECT kafka_cluster, try_cast(split(placed, ' -> ')[0] AS INT) AS offsets_partition,
  transform(split(regexp_extract(placed, '[(]([0-9, ]+)[)]', 1), ', *'), x -> trim(x)) AS replicas,
  size(split(regexp_extract(placed, '[(]([0-9, ]+)[)]', 1), ', *')) AS replication_factor, at_ms, event_id
FROM topic_line
LATERAL VIEW explode(regexp_extract_all(message, '([0-9]+ -> [A-Za-z]+[(][0-9, ]+[)])', 1)) p AS placed
WHERE event = 'offsets_topic_created' AND replication_factor IS NULL

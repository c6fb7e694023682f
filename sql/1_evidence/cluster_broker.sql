-- One row per broker of a Kafka cluster that any log of the case names.
-- Reads: placed_event, setting, process_cluster, fact_line, client_event
-- Grain: kafka_cluster, broker_id
CREATE OR REPLACE TEMPORARY VIEW cluster_broker (
  kafka_cluster, broker_id,
  process_id    COMMENT 'Its process; NULL if its log is missing'
)
AS
WITH own_line AS (
  -- A replica fetcher's lines name its own broker and the broker that it fetches from, a broker's other lines only itself.
  SELECT kafka_cluster, process_id, broker_id, node_id FROM placed_event
  WHERE component = 'ReplicaFetcher'
    OR event IN ('coordinator_elected', 'broker_registered', 'broker_starting', 'broker_started', 'broker_unfenced', 'group_loaded',
      'partition_loaded', 'isr_changed')
), broker_id_source AS (
  SELECT c.kafka_cluster, try_cast(s.value AS BIGINT) AS broker_id, s.process_id FROM setting s
  JOIN process_cluster c ON c.process_id = s.process_id
  LEFT JOIN setting r ON r.process_id = s.process_id AND r.component = 'KafkaConfig' AND r.key = 'process.roles'
  WHERE s.component = 'KafkaConfig' AND s.key IN ('broker.id', 'node.id') AND s.value RLIKE '^[0-9]+$'
    -- With KRaft a process may be only a controller.
    AND (coalesce(r.value, '') IN ('', '[]') OR r.value LIKE '%broker%')
  UNION ALL
  SELECT kafka_cluster, broker_id, process_id FROM own_line WHERE broker_id >= 0
  UNION ALL
  SELECT kafka_cluster, node_id, NULL FROM own_line WHERE node_id >= 0
  UNION ALL
  -- With ZooKeeper one line has the replicas of all partitions of __consumer_offsets.
  SELECT kafka_cluster, try_cast(replica AS BIGINT), NULL
  FROM (
    SELECT kafka_cluster, explode(coalesce(replicas, split(array_join(regexp_extract_all(message, '[(]([0-9, ]+)[)]', 1), ','), ', *'))) AS replica
    FROM fact_line WHERE event IN ('partition_placed', 'offsets_topic_created')
  )
  WHERE replica RLIKE '^[0-9]+$'
  UNION ALL
  SELECT kafka_cluster, 2147483647 - coordinator_node, NULL FROM client_event
  WHERE coordinator_node BETWEEN 2000000000 AND 2147483647
  UNION ALL
  -- Lines of groups and of their members name the nodes that they connect to.
  SELECT f.kafka_cluster, CASE WHEN f.node_id > 2000000000 THEN 2147483647 - f.node_id ELSE f.node_id END, NULL FROM fact_line f
  -- For a process with clients of two clusters, the cluster of a node is ambiguous.
  LEFT ANTI JOIN (SELECT process_id FROM process_cluster GROUP BY process_id HAVING count(DISTINCT kafka_cluster) > 1) m
    ON m.process_id = f.process_id
  WHERE f.event IN ('connection_failed', 'node_disconnected', 'request_timed_out') AND f.client_kind IN ('Consumer', 'Producer', 'Worker')
    AND (f.node_id BETWEEN 0 AND 1000000000 OR f.node_id BETWEEN 2000000000 AND 2147483647)
    -- The clients of MirrorMaker's tasks are named by source and target, and connect to either.
    AND coalesce(f.client_id NOT LIKE '%->%', true)
)
SELECT kafka_cluster, broker_id, max(process_id) AS process_id FROM broker_id_source WHERE broker_id IS NOT NULL GROUP BY kafka_cluster, broker_id

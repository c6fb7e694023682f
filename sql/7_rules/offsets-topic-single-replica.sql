-- One row per Kafka cluster whose __consumer_offsets has partitions with a single replica.
-- Reads: offsets_topic, broker_generation, cluster_broker
WITH single_replica_topic AS (
  SELECT * FROM offsets_topic WHERE coalesce(replication_factor, configured) = 1 AND (exists_already OR brokers > 1)
), group_location AS (
  -- A group belongs to one partition. If that has a single replica, the group depends on that partition's broker.
  SELECT g.kafka_cluster, g.group_id, g.stabilized_ms, coalesce(get(filter(t.placements, x -> x.offsets_partition = g.offsets_partition
    AND size(x.replicas) = 1), 0).replicas[0], CAST(b.broker_id AS STRING)) AS broker
  FROM broker_generation g LEFT JOIN offsets_topic t ON t.kafka_cluster = g.kafka_cluster
  LEFT JOIN cluster_broker b ON b.process_id = g.process_id
), last_group_location AS (
  SELECT kafka_cluster, group_id, max_by(broker, struct(stabilized_ms IS NOT NULL, stabilized_ms, broker)) AS broker FROM group_location
  GROUP BY kafka_cluster, group_id
), groups_of_broker AS (
  SELECT kafka_cluster, broker, array_sort(collect_list(group_id)) AS group_ids FROM last_group_location
  WHERE broker IS NOT NULL GROUP BY kafka_cluster, broker
), brokers_of_cluster AS (
  SELECT kafka_cluster, sort_array(collect_list(struct(broker, group_ids))) AS groups_by_broker FROM groups_of_broker GROUP BY kafka_cluster
)
SELECT CASE WHEN s.brokers > 1 THEN 'warning' ELSE 'note' END AS severity,
  CASE WHEN s.replication_factor = 1 THEN 'proved' ELSE 'undecided' END AS verdict, s.kafka_cluster, CAST(NULL AS STRING) AS group_id,
  '__consumer_offsets' AS subject, s.created_ms AS from_ms, CAST(NULL AS BIGINT) AS to_ms,
  CASE WHEN s.brokers > 1 THEN 'several_brokers' ELSE 'one_broker' END AS code,
  struct(s.brokers, CAST(s.configured AS BIGINT) AS configured, least(s.brokers, 3) AS replicas_possible, c.groups_by_broker) AS facts,
  concat(transform(s.placed_ids, x -> named_struct('role', 'shows the number of replicas', 'event_id', x)),
    transform(s.config_ids, x -> named_struct('role', 'prints the configuration', 'event_id', x))) AS proof
FROM single_replica_topic s LEFT JOIN brokers_of_cluster c ON c.kafka_cluster = s.kafka_cluster

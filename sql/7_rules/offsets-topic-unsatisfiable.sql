-- One row per Kafka cluster that cannot create __consumer_offsets because it has too few brokers.
-- Reads: offsets_topic, coordinator_outage
WITH failed_creation AS (
  SELECT kafka_cluster, failures, required, coalesce(alive, brokers) AS brokers_alive, configured, failed_ids, config_ids,
    failed_from_ms, failed_to_ms
  FROM offsets_topic
  -- The topic may still be created after the last broker has started.
  WHERE failures > 0 AND NOT exists_already AND required > coalesce(alive, brokers)
), waiting_member AS (
  SELECT kafka_cluster, array_sort(collect_set(process_id)) AS processes, array_sort(collect_set(group_id)) AS group_ids
  FROM coordinator_outage WHERE never GROUP BY kafka_cluster
)
SELECT CASE WHEN s.failed_to_ms - s.failed_from_ms >= outage_critical_ms THEN 'critical' ELSE 'warning' END AS severity, 'proved' AS verdict,
  s.kafka_cluster, CASE WHEN size(w.group_ids) = 1 THEN w.group_ids[0] END AS group_id, '__consumer_offsets' AS subject, s.failed_from_ms AS from_ms,
  CAST(NULL AS BIGINT) AS to_ms, 'too_few_brokers' AS code,
  struct(CAST(s.required AS BIGINT) AS required, CAST(s.brokers_alive AS BIGINT) AS brokers, CAST(s.configured AS BIGINT) AS configured,
    s.failures AS refusals, s.failed_from_ms AS refused_from_at_ms, s.failed_to_ms AS refused_to_at_ms, w.processes AS waiting, w.group_ids) AS facts,
  concat(transform(s.failed_ids, x -> named_struct('role', 'creation is refused', 'event_id', x)),
    transform(s.config_ids, x -> named_struct('role', 'prints the configuration', 'event_id', x))) AS proof
FROM failed_creation s LEFT JOIN waiting_member w ON w.kafka_cluster = s.kafka_cluster

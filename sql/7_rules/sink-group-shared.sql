-- One row per sink group that two Connect clusters share.
-- Reads: join_round, process_cluster
WITH cluster_part AS (
  -- The members of one Connect cluster in a sink's group.
  SELECT j.kafka_cluster, j.group_id, w.worker_group_id, array_sort(collect_set(j.process_id)) AS processes,
    min(coalesce(j.joined_ms, j.synced_ms)) AS from_ms, max(regexp_replace(j.task, '-[0-9]+$', '')) AS connector,
    collect_set(coalesce(j.synced_id, j.joined_id)) AS event_ids
  FROM join_round j JOIN process_cluster w ON w.process_id = j.process_id AND w.instance = j.instance AND w.is_life_last
  WHERE j.task IS NOT NULL AND w.worker_group_id IS NOT NULL
  GROUP BY j.kafka_cluster, j.group_id, w.worker_group_id
), shared_group AS (
  SELECT kafka_cluster, group_id, min(from_ms) AS from_ms, max(connector) AS connector,
    sort_array(collect_list(struct(worker_group_id, processes))) AS clusters,
    array_sort(array_distinct(flatten(collect_list(event_ids)))) AS event_ids
  FROM cluster_part GROUP BY kafka_cluster, group_id HAVING count(*) > 1
)
SELECT 'warning' AS severity, 'proved' AS verdict, s.kafka_cluster, s.group_id, s.connector AS subject, s.from_ms, CAST(NULL AS BIGINT) AS to_ms,
  'shared' AS code, struct(s.connector, s.clusters) AS facts,
  transform(slice(s.event_ids, 1, 6), x -> named_struct('role', 'a task is a member', 'event_id', x)) AS proof
FROM shared_group s

-- One row per group.id that is shared by members that must not share it.
-- Reads: worker_setting, join_round
WITH topic_set AS (
  SELECT kafka_cluster, group_id, config_topic, offset_topic, status_topic,
    array_sort(collect_set(process_id)) AS workers, array_sort(collect_set(event_id)) AS event_ids
  FROM worker_setting WHERE group_id IS NOT NULL AND config_topic IS NOT NULL
  GROUP BY kafka_cluster, group_id, config_topic, offset_topic, status_topic
), conflicting_topics AS (
  SELECT kafka_cluster, group_id, count(DISTINCT config_topic) AS config_topics,
    sort_array(collect_list(struct(config_topic, offset_topic, status_topic, workers))) AS topic_sets,
    array_sort(array_distinct(flatten(collect_list(event_ids)))) AS event_ids
  FROM topic_set GROUP BY kafka_cluster, group_id
  -- A setting that a worker does not print is unknown and may be the same.
  HAVING greatest(count(DISTINCT config_topic), count(DISTINCT offset_topic), count(DISTINCT status_topic)) > 1
), mixed_group AS (
  SELECT kafka_cluster, group_id, array_sort(collect_set(CASE WHEN is_worker THEN process_id END)) AS workers,
    array_sort(collect_set(CASE WHEN NOT is_worker THEN process_id END)) AS consumers, max(CASE WHEN NOT is_worker THEN task END) AS task,
    min(coalesce(joining_first_ms, joined_ms, synced_ms)) AS from_ms,
    max(CASE WHEN is_worker THEN coalesce(synced_id, joined_id) END) AS worker_line_id,
    max(CASE WHEN NOT is_worker THEN coalesce(synced_id, joined_id) END) AS consumer_line_id
  FROM join_round GROUP BY kafka_cluster, group_id HAVING bool_or(is_worker) AND bool_or(NOT is_worker)
), sink_connector AS (
  SELECT DISTINCT kafka_cluster, regexp_replace(task, '-[0-9]+$', '') AS connector FROM join_round WHERE task IS NOT NULL
), sink_like_group AS (
  -- A worker group with the name that the group of one of its own sinks would have.
  SELECT w.kafka_cluster, w.group_id, array_sort(collect_set(w.process_id)) AS workers, array_sort(collect_set(w.event_id)) AS event_ids,
    max(s.connector) AS connector
  FROM worker_setting w JOIN sink_connector s ON s.kafka_cluster = w.kafka_cluster AND concat('connect-', s.connector) = w.group_id
  LEFT ANTI JOIN mixed_group m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id
  GROUP BY w.kafka_cluster, w.group_id
), finding_row AS (
  SELECT 'critical' AS severity, kafka_cluster, group_id, CAST(NULL AS BIGINT) AS from_ms, 'other_topics' AS code, topic_sets,
    config_topics = 1 AS has_one_config_topic, CAST(NULL AS ARRAY<STRING>) AS workers, CAST(NULL AS ARRAY<STRING>) AS consumers,
    CAST(NULL AS STRING) AS task, CAST(NULL AS STRING) AS connector,
    transform(slice(event_ids, 1, 8), x -> named_struct('role', 'prints its group and its topics', 'event_id', x)) AS proof
  FROM conflicting_topics
  UNION ALL
  SELECT 'critical', kafka_cluster, group_id, from_ms, 'workers_and_consumers' AS code, NULL, NULL, workers, consumers, task,
    regexp_replace(task, '-[0-9]+$', ''), array(named_struct('role', 'a worker is a member', 'event_id', worker_line_id),
      named_struct('role', 'a consumer is a member', 'event_id', consumer_line_id)) AS proof
  FROM mixed_group
  UNION ALL
  SELECT 'warning', kafka_cluster, group_id, NULL, 'named_as_sink' AS code, NULL, NULL, workers, NULL, NULL, connector,
    transform(slice(event_ids, 1, 8), x -> named_struct('role', 'prints its group and its topics', 'event_id', x)) AS proof
  FROM sink_like_group
)
SELECT severity, 'proved' AS verdict, kafka_cluster, group_id, group_id AS subject, from_ms, CAST(NULL AS BIGINT) AS to_ms, code,
  struct(topic_sets, has_one_config_topic, workers, consumers, task, connector) AS facts, proof
FROM finding_row

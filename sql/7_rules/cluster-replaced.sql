-- One row per broker, or several brokers of one cluster, that started as a new, empty Kafka cluster in place of another one.
-- Reads: process_cluster, process_life, event, config_value, generation
WITH broker_process AS (
  SELECT process_id FROM process_life WHERE is_broker GROUP BY process_id
), cluster_start AS (
  SELECT c.process_id, c.instance, c.from_pos, c.kafka_cluster, c.cluster_ms, c.cluster_event,
    lag(c.kafka_cluster) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former_cluster,
    lag(c.instance) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former_instance,
    lag(c.cluster_event) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former_event
  FROM process_cluster c JOIN broker_process b ON b.process_id = c.process_id WHERE c.cluster_event IS NOT NULL
), cluster_change AS (
  SELECT process_id, instance, kafka_cluster, cluster_ms, cluster_event, former_cluster, former_instance, former_event FROM cluster_start
  WHERE former_cluster <> kafka_cluster
), interleaved_log AS (
  -- An id that returns was never lost: the log has lines of several brokers.
  SELECT process_id FROM cluster_start GROUP BY process_id HAVING count_if(former_cluster <> kafka_cluster) >= count(DISTINCT kafka_cluster)
), data_directory AS (
  -- `log.dirs` has priority over `log.dir`, which has a default.
  SELECT process_id, instance, max_by(value, struct(key, ts, event_id)) AS dirs FROM config_value
  WHERE component = 'KafkaConfig' AND key IN ('log.dir', 'log.dirs') AND value <> 'null' GROUP BY process_id, instance
), empty_directory AS (
  SELECT process_id, instance, directory, min(struct(stream_pos, event_id)) AS line FROM event
  WHERE event = 'data_directory_empty' GROUP BY process_id, instance, directory
), group_count AS (
  SELECT kafka_cluster, count(DISTINCT group_id) AS group_count FROM generation GROUP BY kafka_cluster
), cluster_loss AS (
  SELECT c.process_id, c.instance, c.kafka_cluster, c.cluster_ms, c.cluster_event, c.former_cluster, c.former_event,
    coalesce(max(g.group_count), 0) AS group_count, max(coalesce(was.dirs, now.dirs)) AS dirs,
    array_sort(collect_set(CASE WHEN was.dirs IS NULL OR array_contains(split(was.dirs, ' *, *'), e.directory) THEN e.directory END)) AS lost,
    min(CASE WHEN array_contains(split(was.dirs, ' *, *'), e.directory) THEN e.line END) AS line
  FROM cluster_change c LEFT JOIN data_directory was ON was.process_id = c.process_id AND was.instance = c.former_instance
  LEFT JOIN data_directory now ON now.process_id = c.process_id AND now.instance = c.instance
  LEFT JOIN group_count g ON g.kafka_cluster = c.former_cluster
  LEFT JOIN empty_directory e ON e.process_id = c.process_id AND e.instance = c.instance
  LEFT ANTI JOIN interleaved_log r ON r.process_id = c.process_id
  GROUP BY c.process_id, c.instance, c.kafka_cluster, c.cluster_ms, c.cluster_event, c.former_cluster, c.former_event
), broker_loss AS (
  SELECT process_id,
    sort_array(collect_list(
      struct(instance, cluster_ms, former_cluster, kafka_cluster, former_event, line.event_id AS line_event, cluster_event))) AS losses,
    flatten(collect_list(CASE WHEN size(lost) > 0 THEN lost ELSE split(dirs, ' *, *') END)) AS directories, count_if(line IS NULL) AS unseen,
    max_by(kafka_cluster, struct(instance, cluster_ms IS NOT NULL, cluster_ms, kafka_cluster)) AS kafka_cluster, min(cluster_ms) AS from_ms,
    max(cluster_ms) AS to_ms, sum(group_count) AS group_count
  FROM cluster_loss GROUP BY process_id
), joint_loss AS (
  -- Brokers of one cluster that lost it together are one row.
  SELECT transform(losses, x -> x.kafka_cluster) AS clusters, transform(losses, x -> x.former_cluster) AS former_clusters,
    array_sort(collect_list(process_id)) AS processes, min_by(losses, process_id) AS losses, max(kafka_cluster) AS kafka_cluster,
    max(unseen) AS unseen, array_sort(array_distinct(flatten(collect_list(directories)))) AS directories,
    min(from_ms) AS from_ms, max(to_ms) AS to_ms, max(group_count) AS group_count
  FROM broker_loss GROUP BY transform(losses, x -> x.kafka_cluster), transform(losses, x -> x.former_cluster)
)
SELECT CASE WHEN t.unseen = 0 AND t.group_count > 0 THEN 'critical' ELSE 'warning' END AS severity,
  CASE WHEN t.unseen = 0 THEN 'proved' ELSE 'undecided' END AS verdict, t.kafka_cluster, CAST(NULL AS STRING) AS group_id,
  array_join(t.processes, ', ') AS subject, t.from_ms, t.to_ms, CASE WHEN t.unseen = 0 THEN 'data_lost' ELSE 'cluster_changed' END AS code,
  struct(t.processes, transform(t.losses, x -> named_struct('at_ms', x.cluster_ms, 'from_cluster', x.former_cluster, 'to_cluster',
    x.kafka_cluster)) AS changes, size(t.losses) AS change_count, t.directories, exists(t.directories, x -> x LIKE '%/tmp/%') AS is_temporary,
    t.group_count) AS facts,
  array_distinct(flatten(transform(slice(t.losses, 1, 8), x -> array(named_struct('role', 'prints its cluster id', 'event_id', x.former_event),
    named_struct('role', 'finds its data directory empty', 'event_id', x.line_event),
    named_struct('role', 'prints its cluster id', 'event_id', x.cluster_event))))) AS proof
FROM joint_loss t

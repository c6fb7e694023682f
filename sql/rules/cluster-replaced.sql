-- One row per broker, or brokers together, that began as a new, empty Kafka cluster where another had been.
-- Reads: process_cluster, process_life, event, config_value, generation
-- Answers: where did all topics, groups and offsets go, and why do generations begin with 1 again?
-- Needs: the broker's log over two of its starts, with their cluster ids.
-- Silent when: a cluster id comes back later (several brokers in one log), or only a client's brokers changed.
-- Shown by: no recording; a broker whose data directory was emptied between two starts.
CREATE OR REPLACE TEMPORARY VIEW rule_cluster_replaced (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per broker, or brokers together, that began as a new, empty Kafka cluster where another had been.'
AS
WITH broker AS (
  SELECT process_id FROM process_life WHERE is_broker GROUP BY process_id
), told AS (
  SELECT c.process_id, c.instance, c.from_pos, c.kafka_cluster, c.cluster_ts, c.cluster_event,
    lag(c.kafka_cluster) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former,
    lag(c.instance) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former_instance,
    lag(c.cluster_event) OVER (PARTITION BY c.process_id ORDER BY c.instance, c.from_pos) AS former_event
  FROM process_cluster c JOIN broker b ON b.process_id = c.process_id
  WHERE c.cluster_event IS NOT NULL
), change AS (
  SELECT process_id, instance, kafka_cluster, cluster_ts, cluster_event, former, former_instance, former_event
  FROM told
  WHERE former <> kafka_cluster
), returned AS (
  -- An id that comes back was never lost: logs of several brokers in one file.
  SELECT t.process_id
  FROM (SELECT process_id, count(DISTINCT kafka_cluster) AS clusters FROM told GROUP BY process_id) t
  JOIN (SELECT process_id, count(*) AS changes FROM change GROUP BY process_id) c ON c.process_id = t.process_id
  WHERE c.changes >= t.clusters
), configured AS (
  -- `log.dirs` counts before `log.dir`, which has a default.
  SELECT process_id, instance, max_by(value, struct(key, ts, event_id)) AS dirs
  FROM config_value
  WHERE component = 'KafkaConfig' AND key IN ('log.dir', 'log.dirs') AND value <> 'null'
  GROUP BY process_id, instance
), emptied AS (
  SELECT process_id, instance, directory, min(struct(stream_pos, event_id)) AS line
  FROM event
  WHERE event = 'data_directory_empty'
  GROUP BY process_id, instance, directory
), loss AS (
  SELECT c.process_id, c.instance, c.kafka_cluster, c.cluster_ts, c.cluster_event, c.former, c.former_event,
    max(coalesce(was.dirs, now.dirs)) AS dirs,
    array_sort(collect_set(
      CASE WHEN was.dirs IS NULL OR array_contains(split(was.dirs, ' *, *'), e.directory) THEN e.directory END)) AS lost,
    min(CASE WHEN array_contains(split(was.dirs, ' *, *'), e.directory) THEN e.line END) AS line
  FROM change c
  LEFT JOIN configured was ON was.process_id = c.process_id AND was.instance = c.former_instance
  LEFT JOIN configured now ON now.process_id = c.process_id AND now.instance = c.instance
  LEFT JOIN emptied e ON e.process_id = c.process_id AND e.instance = c.instance
  LEFT ANTI JOIN returned r ON r.process_id = c.process_id
  GROUP BY c.process_id, c.instance, c.kafka_cluster, c.cluster_ts, c.cluster_event, c.former, c.former_event
), by_process AS (
  SELECT process_id,
    array_sort(collect_list(
      struct(instance, cluster_ts, former, kafka_cluster, former_event, line.event_id AS line_event, cluster_event))) AS losses,
    array_join(array_sort(array_distinct(flatten(collect_list(
      CASE WHEN size(lost) > 0 THEN lost ELSE split(coalesce(dirs, ''), ' *, *') END)))), ', ') AS dirs,
    count_if(line IS NULL) AS unseen, max_by(kafka_cluster, struct(instance, cluster_ts, kafka_cluster)) AS kafka_cluster,
    min(cluster_ts) AS from_ts, max(cluster_ts) AS to_ts
  FROM loss
  GROUP BY process_id
), together AS (
  -- Brokers of one cluster lose it together.
  SELECT transform(losses, x -> x.kafka_cluster) AS clusters, transform(losses, x -> x.former) AS formers,
    array_sort(collect_list(process_id)) AS processes, min_by(losses, process_id) AS losses, max(kafka_cluster) AS kafka_cluster,
    max(unseen) AS unseen,
    array_join(array_sort(collect_set(nullif(dirs, ''))), ', ') AS dirs, min(from_ts) AS from_ts, max(to_ts) AS to_ts
  FROM by_process
  GROUP BY transform(losses, x -> x.kafka_cluster), transform(losses, x -> x.former)
), used AS (
  SELECT t.processes, count(DISTINCT g.kafka_cluster, g.group_id) AS group_count
  FROM (SELECT processes, explode(formers) AS former FROM together) t
  LEFT JOIN generation g ON g.kafka_cluster = t.former
  GROUP BY t.processes
)
SELECT
  CASE WHEN t.unseen = 0 AND u.group_count > 0 THEN 'critical' ELSE 'warning' END AS severity,
  CASE WHEN t.unseen = 0 THEN 'proved' ELSE 'undecided' END AS verdict,
  t.kafka_cluster, CAST(NULL AS STRING) AS group_id, array_join(t.processes, ', ') AS subject, t.from_ts, t.to_ts,
  concat(array_join(t.processes, ', '), CASE WHEN t.unseen = 0 THEN ' began as a new, empty Kafka cluster ' ELSE ' began as another Kafka cluster ' END,
    CASE WHEN size(t.losses) > 1 THEN concat(size(t.losses), ' times ') ELSE '' END, 'where one had been',
    CASE WHEN t.dirs = '' THEN ''
      ELSE concat(': the data in ', t.dirs, CASE WHEN t.unseen = 0 THEN ' were lost' ELSE ' may have been lost' END) END) AS headline,
  concat(
    CASE WHEN size(t.losses) > 1 THEN concat(size(t.losses), ' starts have') ELSE 'A start has' END,
    ' another cluster id than the start before: ',
    array_join(transform(slice(t.losses, 1, 4), x -> concat(
      coalesce(concat(date_format(x.cluster_ts, 'yyyy-MM-dd HH:mm:ss'), ' '), ''), x.former, ' -> ', x.kafka_cluster)), '; '),
    CASE WHEN size(t.losses) > 4 THEN concat('; and ', size(t.losses) - 4, ' more') ELSE '' END, '. ',
    CASE WHEN t.unseen = 0 THEN 'Each time the broker found its data directory empty. '
      ELSE 'No line says that the data directory was empty: the broker may have been pointed at another one. ' END,
    'Topics, groups and committed offsets are of one cluster: the next one knows nothing of them. ',
    CASE WHEN u.group_count = 1 THEN 'One group of a former cluster is in these logs'
      ELSE concat(u.group_count, ' groups of former clusters are in these logs') END,
    '; a group of the same name in the next cluster is another group.') AS explanation,
  concat('Keep the data on a disk that outlives the broker, and say so: log.dirs',
    CASE WHEN t.dirs LIKE '%/tmp/%' THEN ' (its default lies in /tmp, which is emptied when a machine starts)' ELSE '' END,
    ', with ZooKeeper its dataDir too, in a container a volume. With KRaft do not format the storage again when the broker starts.'
  ) AS advice,
  filter(array_distinct(flatten(transform(slice(t.losses, 1, 8), x -> array(x.former_event, x.line_event, x.cluster_event)))),
    x -> x IS NOT NULL) AS witness
FROM together t JOIN used u ON u.processes = t.processes

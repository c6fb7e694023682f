-- One row per process, that is one log stream made of rotated files.
-- Reads: event, process_life, process_cluster, process_fingerprint, clock_offset, evidence_file
-- Grain: process_id
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW process (
  process_id           COMMENT 'Process: path of its log stream; in a merged file, with its name there',
  host                 COMMENT 'Host, as given or from the folders',
  role                 COMMENT 'broker, connect_worker or client',
  kafka_version        COMMENT 'Kafka release of the last process run, as printed, or the only one that fits its lines',
  version_how          COMMENT 'How the release is known: `printed`, `confluent` (its own number, printed), `fingerprint` (from lines of
    source and wordings); NULL: unknown',
  version_range        COMMENT 'Releases of Apache Kafka that remain: one, a range, or `3.5.x` for a build of Confluent',
  kafka_cluster        COMMENT 'Kafka cluster id of the last process run, or `unknown`',
  kafka_clusters       COMMENT 'Ids of the Kafka clusters of all its process runs, in order',
  worker_url           COMMENT 'REST URL that a Connect worker advertises',
  group_ids            COMMENT 'Groups that it was a member of',
  instances            COMMENT 'JVM starts seen in it; 0: it was running when the log began and never restarted',
  clock_island         COMMENT 'Processes with the same value can be compared in time',
  reference_process_id COMMENT 'Process whose clock is the island''s reference',
  first_ts             COMMENT 'First line, by its own clock',
  last_ts              COMMENT 'Last line, by its own clock'
)
COMMENT 'One row per process, that is one log stream made of rotated files.'
AS
WITH process_facts AS (
  SELECT
    process_id,
    max_by(kafka_version, stream_pos) FILTER (WHERE event = 'kafka_version' AND kafka_version IS NOT NULL) AS kafka_version,
    max_by(worker_url, stream_pos) FILTER (WHERE worker_url IS NOT NULL) AS worker_url,
    array_sort(collect_set(group_id) FILTER (WHERE event IN ('joining', 'joined', 'synced', 'worker_assigned'))) AS group_ids,
    count_if(event = 'process_started') AS instances
  FROM event
  GROUP BY process_id
), process_span AS (
  SELECT process_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms, bool_or(is_broker) AS is_broker, bool_or(is_worker) AS is_worker
  FROM process_life GROUP BY process_id
), process_clusters AS (
  SELECT process_id, array_distinct(transform(sort_array(collect_list(struct(instance, from_pos, kafka_cluster))),
    x -> x.kafka_cluster)) AS kafka_clusters
  FROM process_cluster
  WHERE cluster_event IS NOT NULL
  GROUP BY process_id
), process_host AS (
  SELECT process_id, max(host) AS host FROM evidence_file WHERE process_id IS NOT NULL GROUP BY process_id
)
SELECT
  l.process_id,
  p.host,
  CASE WHEN l.is_broker THEN 'broker' WHEN l.is_worker THEN 'connect_worker' ELSE 'client' END AS role,
  coalesce(f.kafka_version, if(size(v.releases) = 1, v.releases[0], NULL)) AS kafka_version,
  CASE
    WHEN f.kafka_version RLIKE '-c(cs|e)' THEN 'confluent'
    WHEN f.kafka_version IS NOT NULL THEN 'printed'
    WHEN v.releases IS NOT NULL THEN 'fingerprint'
  END AS version_how,
  CASE
    -- Confluent has its own release numbers: 5.x is 2.x of Apache Kafka, 6.0 to 6.2 are 2.6 to 2.8, 7.x is 3.x, 8.x is 4.x.
    WHEN f.kafka_version RLIKE '^5[.][0-9]+.*-c(cs|e)' THEN concat('2.', split(f.kafka_version, '[.]')[1], '.x')
    WHEN f.kafka_version RLIKE '^6[.][0-9]+.*-c(cs|e)' THEN concat('2.', try_cast(split(f.kafka_version, '[.]')[1] AS INT) + 6, '.x')
    WHEN f.kafka_version RLIKE '^[0-9]+[.][0-9]+.*-c(cs|e)' THEN concat(try_cast(split(f.kafka_version, '[.]')[0] AS INT) - 4, '.',
      split(f.kafka_version, '[.]')[1], '.x')
    WHEN f.kafka_version IS NOT NULL THEN f.kafka_version
    ELSE v.version_range
  END AS version_range,
  c.kafka_cluster,
  a.kafka_clusters,
  f.worker_url,
  f.group_ids,
  coalesce(f.instances, 0) AS instances,
  o.reference_process_id AS clock_island,
  o.reference_process_id,
  timestamp_millis(l.first_ms) AS first_ts,
  timestamp_millis(l.last_ms) AS last_ts
FROM process_span l
LEFT JOIN process_facts f ON f.process_id = l.process_id
LEFT JOIN process_host p ON p.process_id = l.process_id
LEFT JOIN process_cluster c ON c.process_id = l.process_id AND c.is_last
LEFT JOIN process_clusters a ON a.process_id = l.process_id
LEFT JOIN process_fingerprint v ON v.process_id = l.process_id
LEFT JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference

-- One row per producer, epoch and partition in a dump of the partition's segments: what it wrote there.
-- Reads: snapshot, placed_event, producer_session
-- Grain: event_id
-- Public: yes
-- The broker gives offsets in the order in which it receives records, so they order what two producers wrote without any clock. A producer id
-- belongs to one run of a producer, and only producers that are idempotent or transactional have one. Aborted transactions are included.
CREATE OR REPLACE TEMPORARY VIEW produced_range (
  kafka_cluster     COMMENT 'Kafka cluster in whose logs the producer appears; NULL: none, or several',
  topic             COMMENT 'Topic',
  partition         COMMENT 'Partition, topic-number; NULL: the dump does not name it',
  producer_id       COMMENT 'Producer id; NULL: producers that have none',
  epoch             COMMENT 'Producer epoch',
  transactional_id  COMMENT 'transactional.id; NULL: none, or the logs do not show it',
  process_id        COMMENT 'Process of the producer; NULL: the logs do not show it',
  client_id         COMMENT 'client.id of the producer',
  task              COMMENT 'Source task of the producer',
  first_offset      COMMENT 'Offset of its first record in the dump',
  last_offset       COMMENT 'Offset of its last record in the dump',
  records           COMMENT 'Number of its records; NULL: a batch does not contain it',
  first_ts          COMMENT 'Time of its first batch, by its own clock or, with LogAppendTime, the broker''s',
  last_ts           COMMENT 'Time of its last batch',
  ended             COMMENT 'Number of its transactions that ended',
  aborted           COMMENT 'Number of those that were aborted; a dump without records does not show it (0)',
  overlapped_by     COMMENT 'Producer id of another run of the same task or transactional.id that wrote between its first and last record: both were
    at work; NULL: none is known',
  overlapped_by_process_id COMMENT 'Process of that producer',
  records_after     COMMENT 'Number of its records after the first one of that producer; NULL: unknown, or there is none',
  path, line, event_id
)
AS
WITH written AS (
  SELECT event_id, path, line, topic, partition, producer_id, epoch, offset AS first_offset, record_count AS records, ts AS first_ts,
    try_cast(columns['LastOffset'] AS BIGINT) AS last_offset, try_cast(columns['LastTimestamp'] AS BIGINT) AS last_ms,
    columns, try_cast(columns['Ended'] AS BIGINT) AS ended, try_cast(columns['Aborted'] AS BIGINT) AS aborted,
    row_number() OVER (PARTITION BY partition, producer_id, epoch, offset, columns['LastOffset'] ORDER BY path, line, event_id) AS nth
  FROM snapshot WHERE event = 'producer_wrote'
), named_producer AS (
  SELECT e.producer_id, e.epoch, max(e.kafka_cluster) AS kafka_cluster, max(e.transactional_id) AS transactional_id,
    max(e.process_id) AS process_id, max(e.client_id) AS client_id, max(e.task) AS task
  FROM placed_event e WHERE e.event = 'producer_id_set' AND e.producer_id >= 0
  GROUP BY e.producer_id, e.epoch HAVING count(DISTINCT e.process_id) = 1 AND count(DISTINCT e.kafka_cluster) <= 1
), in_session AS (
  SELECT w.event_id, max(s.kafka_cluster) AS kafka_cluster, max(s.transactional_id) AS transactional_id, max(s.process_id) AS process_id,
    max(s.client_id) AS client_id
  FROM written w JOIN producer_session s ON s.producer_id = w.producer_id AND w.epoch BETWEEN s.first_epoch AND s.last_epoch
  GROUP BY w.event_id HAVING count(*) = 1
), known_range AS (
  SELECT w.*, coalesce(n.kafka_cluster, s.kafka_cluster) AS kafka_cluster, coalesce(n.transactional_id, s.transactional_id) AS transactional_id,
    coalesce(n.process_id, s.process_id) AS process_id, coalesce(n.client_id, s.client_id) AS client_id, n.task,
    coalesce(n.task, n.transactional_id, s.transactional_id) AS owner
  FROM written w LEFT JOIN named_producer n ON n.producer_id = w.producer_id AND n.epoch = w.epoch LEFT JOIN in_session s ON s.event_id = w.event_id
  WHERE w.nth = 1
), following_range AS (
  SELECT *, lead(struct(first_offset, producer_id, process_id))
      OVER (PARTITION BY kafka_cluster, partition, owner ORDER BY first_offset, event_id) AS following
  FROM known_range
), overlap_of_run AS (
  -- Of the ranges of one owner in the order of their beginnings, one that begins before the end of an earlier one overlaps it.
  SELECT *, coalesce(owner IS NOT NULL AND following.first_offset < last_offset AND following.producer_id <> producer_id, false) AS is_overlapped
  FROM following_range
)
SELECT kafka_cluster, topic, partition, producer_id, epoch, transactional_id, process_id, client_id, task, first_offset, last_offset, records,
  first_ts, CASE WHEN last_ms >= 0 THEN timestamp_millis(last_ms) END AS last_ts, ended, aborted,
  CASE WHEN is_overlapped THEN following.producer_id END AS overlapped_by,
  CASE WHEN is_overlapped THEN following.process_id END AS overlapped_by_process_id,
  CASE WHEN is_overlapped THEN try_cast(columns[concat('After ', following.producer_id)] AS BIGINT) END AS records_after, path, line, event_id
FROM overlap_of_run

-- One row per open transaction in the output of kafka-transactions, or in a dump, with what the logs show about its producer.
-- Reads: snapshot, producer_session, process
-- Grain: event_id
-- Public: yes
-- Consumers with isolation.level=read_committed receive nothing from the first offset of the oldest open transaction of a partition on (the last
-- stable offset). The time of the output is by the clock of the machine that ran the tool. A dump of __transaction_state has the transactions that
-- their coordinator knew, one of a partition's segments those whose end is not in it, each as of its last record.
CREATE OR REPLACE TEMPORARY VIEW open_transaction (
  kafka_cluster       COMMENT 'Kafka cluster in whose logs the producer appears; NULL: none, or several',
  how                 COMMENT 'hanging: find-hanging lists it, so its coordinator will not end it; open: describe-producers, or a dump, shows it in
    the partition; ongoing: describe, list or __transaction_state show that it has not ended, for all its partitions',
  transactional_id    COMMENT 'transactional.id; NULL: neither the tool nor the logs show it',
  producer_id         COMMENT 'Producer id',
  epoch               COMMENT 'Producer epoch; NULL: not printed (list)',
  state               COMMENT 'State at the coordinator: Ongoing, PrepareCommit, PrepareAbort, PrepareEpochFence; NULL: not printed',
  partition           COMMENT 'Partition, topic-number; NULL: the output is not about one, or its command was not saved',
  partitions          COMMENT 'Partitions of the transaction, according to its coordinator',
  start_offset        COMMENT 'Its first offset in the partition',
  holds_stable_offset COMMENT 'True if no other open transaction in the same output begins earlier: the last stable offset is its first offset;
    NULL: the output does not list all producers of the partition',
  since_ts            COMMENT 'When the transaction began, by the coordinator''s clock; NULL: not printed',
  last_write_ts       COMMENT 'Time of the producer''s last record or marker in the partition',
  timeout_ms          COMMENT 'Its transaction.timeout.ms: the coordinator then aborts it; NULL: not printed',
  taken_ts            COMMENT 'Time of the output; of a dump, that of its last record; NULL: not in the file',
  producer            COMMENT 'newest: the logs show its epoch, and no later producer of its transactional.id; replaced: a later one has initialized
    it; NULL: the logs do not show it',
  process_id          COMMENT 'Process of the producer; NULL: unknown',
  last_line_ts        COMMENT 'Last line of that process, by its own clock: it ran until then',
  path, line, event_id
)
AS
WITH transaction_row AS (
  SELECT event_id, event, file_id, path, line, ts, transactional_id, producer_id, epoch, state, partition, partitions, offset,
    try_cast(columns['LastTimestamp'] AS BIGINT) AS last_ms, try_cast(columns['CurrentTransactionStartTimeMs'] AS BIGINT) AS since_ms,
    try_cast(columns['TransactionTimeoutMs'] AS BIGINT) AS timeout_ms, event = 'producer_described' OR columns['LogStartOffset'] = '0' AS lists_all
  FROM snapshot
  WHERE event IN ('transaction_listed', 'transaction_described', 'producer_described', 'hanging_transaction_described', 'transaction_stored',
    'transaction_read') AND producer_id IS NOT NULL
), known_id AS (
  SELECT k.producer_id, max(k.transactional_id) AS transactional_id
  FROM (
    SELECT producer_id, transactional_id FROM transaction_row WHERE transactional_id IS NOT NULL
    UNION ALL
    SELECT producer_id, transactional_id FROM producer_session
  ) k
  GROUP BY k.producer_id HAVING count(DISTINCT k.transactional_id) = 1
), open_row AS (
  SELECT *, CASE event WHEN 'hanging_transaction_described' THEN 'hanging' WHEN 'producer_described' THEN 'open' WHEN 'transaction_read' THEN 'open'
      ELSE 'ongoing' END AS how,
    CASE WHEN lists_all AND partition IS NOT NULL
      THEN offset = min(offset) OVER (PARTITION BY file_id, event, partition, ts) END AS holds_stable_offset
  FROM transaction_row
  WHERE event IN ('producer_described', 'hanging_transaction_described', 'transaction_read') AND offset >= 0
    OR state IN ('Ongoing', 'PrepareCommit', 'PrepareAbort', 'PrepareEpochFence')
), session AS (
  SELECT o.event_id, max(s.kafka_cluster) AS kafka_cluster, max(s.process_id) AS process_id, bool_or(s.next_session_id IS NOT NULL) AS is_replaced
  FROM open_row o JOIN producer_session s ON s.producer_id = o.producer_id AND o.epoch BETWEEN s.first_epoch AND s.last_epoch
  GROUP BY o.event_id HAVING count(*) = 1
)
SELECT s.kafka_cluster, o.how, coalesce(o.transactional_id, k.transactional_id) AS transactional_id, o.producer_id, o.epoch, o.state, o.partition,
  o.partitions, o.offset AS start_offset, o.holds_stable_offset, timestamp_millis(o.since_ms) AS since_ts,
  CASE WHEN o.last_ms > 0 THEN timestamp_millis(o.last_ms) END AS last_write_ts, o.timeout_ms, o.ts AS taken_ts,
  CASE WHEN s.is_replaced THEN 'replaced' WHEN s.event_id IS NOT NULL THEN 'newest' END AS producer, s.process_id, p.last_ts AS last_line_ts,
  o.path, o.line, o.event_id
FROM open_row o LEFT JOIN known_id k ON k.producer_id = o.producer_id LEFT JOIN session s ON s.event_id = o.event_id
LEFT JOIN process p ON p.process_id = s.process_id

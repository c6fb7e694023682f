-- One row per partition in which an open transaction holds back the last stable offset, or per transaction if its partition's offset is unknown.
-- Reads: open_transaction
WITH held AS (
  SELECT *, unix_millis(coalesce(since_ts, last_write_ts)) AS from_ms, unix_millis(taken_ts) AS taken_ms, unix_millis(last_write_ts) AS last_write_ms,
    unix_millis(last_line_ts) AS last_line_ms,
    bool_or(how = 'hanging') OVER (PARTITION BY partition, producer_id, start_offset) AS is_hanging,
    bool_or(start_offset IS NOT NULL) OVER (PARTITION BY producer_id) AS is_placed,
    row_number() OVER (PARTITION BY partition, producer_id, start_offset ORDER BY how = 'open' DESC, taken_ts DESC, event_id) AS nth
  FROM open_transaction WHERE partition IS NOT NULL AND start_offset IS NOT NULL OR how = 'ongoing' AND size(partitions) > 0
), reported AS (
  -- An open transaction is usual: it is one that hangs, one that has been open for long, or one whose producer has been replaced.
  SELECT * FROM held
  WHERE nth = 1 AND coalesce(holds_stable_offset, true) AND (start_offset IS NOT NULL OR NOT is_placed)
    AND (is_hanging OR producer = 'replaced' OR taken_ms - coalesce(last_write_ms, from_ms) >= open_transaction_ms)
)
SELECT CASE WHEN is_hanging THEN 'warning' ELSE 'note' END AS severity, 'undecided' AS verdict, kafka_cluster, CAST(NULL AS STRING) AS group_id,
  coalesce(partition, transactional_id, concat('producer ', producer_id)) AS subject, from_ms, taken_ms AS to_ms,
  CASE WHEN is_hanging THEN 'hanging' WHEN start_offset IS NULL THEN 'ongoing' ELSE 'open' END AS code,
  struct(partition, producer_id, transactional_id, start_offset, last_write_ms AS last_write_at_ms,
    taken_ms - coalesce(last_write_ms, from_ms) AS lasted_ms, producer,
    process_id, last_line_ms AS last_line_at_ms, state, partitions, from_ms AS began_at_ms, timeout_ms) AS facts,
  array(named_struct('role', 'open transaction', 'event_id', event_id)) AS proof
FROM reported

-- One row per source connector whose stored offset went back, was removed or replaced by a new snapshot's, or was not found by a task that started.
-- Reads: source_offset, source_start
WITH rewind AS (
  SELECT connector, change, source_partition, source_offset, previous_offset, coalesce(is_ordered, false) AS is_ordered, previous_event_id, event_id,
    unix_millis(coalesce(previous_ts, stored_ts)) AS from_ms, unix_millis(stored_ts) AS to_ms,
    count(*) OVER (PARTITION BY path, connector, change) AS times,
    row_number() OVER (PARTITION BY path, connector, change ORDER BY line, event_id) AS nth
  -- Where the order is contradicted, the topic was printed twice into one file.
  FROM source_offset WHERE change IN ('back', 'snapshot_again', 'removed') AND coalesce(is_ordered, true)
), restart AS (
  SELECT *, count(*) OVER (PARTITION BY connector, code) AS times,
    row_number() OVER (PARTITION BY connector, code ORDER BY started_ts, event_id) AS nth
  FROM (
    SELECT *, CASE WHEN before = 'completed' AND is_of_data AND snapshot <> 'skipped' THEN 'snapshot_taken_again'
      WHEN found = 'missing' AND (before IS NOT NULL OR stored_offset IS NOT NULL) THEN 'not_found' END AS code
    FROM source_start
  )
  WHERE code IS NOT NULL
), found_case AS (
  SELECT CASE change WHEN 'snapshot_again' THEN 'snapshot_again' WHEN 'removed' THEN 'removed' ELSE 'went_back' END AS code, connector,
    from_ms, to_ms, source_partition, source_offset AS offset, previous_offset AS before, times, is_ordered, CAST(NULL AS STRING) AS task,
    CAST(NULL AS STRING) AS process_id, CAST(NULL AS BIGINT) AS started_at_ms, CAST(NULL AS STRING) AS before_process_id,
    CAST(NULL AS BIGINT) AS before_at_ms, CAST(NULL AS STRING) AS snapshot,
    array(named_struct('role', 'the offset before', 'event_id', previous_event_id),
      named_struct('role', 'replaces it', 'event_id', event_id)) AS proof
  FROM rewind WHERE nth = 1
  UNION ALL
  SELECT code, connector, unix_millis(coalesce(before_ts, stored_ts)), unix_millis(started_ts), NULL, NULL, stored_offset, times, true, task,
    process_id, unix_millis(started_ts), before_process_id, unix_millis(coalesce(before_ts, stored_ts)), snapshot,
    concat(
      transform(coalesce(before_witness, array(stored_event_id)), x -> named_struct('role', 'before', 'event_id', x)),
      transform(witness, x -> named_struct('role', 'starts again', 'event_id', x)))
  FROM restart WHERE nth = 1
)
SELECT CASE WHEN code IN ('snapshot_again', 'snapshot_taken_again', 'not_found') THEN 'warning' ELSE 'note' END AS severity,
  CASE code WHEN 'snapshot_taken_again' THEN 'proved' ELSE 'undecided' END AS verdict, CAST(NULL AS STRING) AS kafka_cluster,
  CAST(NULL AS STRING) AS group_id, connector AS subject, from_ms, to_ms, code,
  struct(connector, source_partition, offset, before, times, is_ordered, task, process_id, started_at_ms, before_process_id, before_at_ms, snapshot)
    AS facts, proof
FROM found_case

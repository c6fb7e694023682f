-- One row per source connector whose stored offset went back, was removed, or was replaced by that of a new snapshot.
-- Reads: source_offset
WITH rewind AS (
  SELECT connector, change, source_partition, source_offset, previous_offset, coalesce(is_ordered, false) AS is_ordered, previous_event_id, event_id,
    unix_millis(coalesce(previous_ts, stored_ts)) AS from_ms, unix_millis(stored_ts) AS to_ms,
    count(*) OVER (PARTITION BY path, connector, change) AS times,
    row_number() OVER (PARTITION BY path, connector, change ORDER BY line, event_id) AS nth
  -- Where the order is contradicted, the topic was printed twice into one file.
  FROM source_offset WHERE change IN ('back', 'snapshot_again', 'removed') AND coalesce(is_ordered, true)
)
SELECT CASE change WHEN 'snapshot_again' THEN 'warning' ELSE 'note' END AS severity, 'undecided' AS verdict,
  CAST(NULL AS STRING) AS kafka_cluster, CAST(NULL AS STRING) AS group_id, connector AS subject, from_ms, to_ms,
  CASE change WHEN 'snapshot_again' THEN 'snapshot_again' WHEN 'removed' THEN 'removed' ELSE 'went_back' END AS code,
  struct(connector, source_partition, source_offset AS offset, previous_offset AS before, times, is_ordered) AS facts,
  array(named_struct('role', 'the offset before', 'event_id', previous_event_id), named_struct('role', 'replaces it', 'event_id', event_id)) AS proof
FROM rewind WHERE nth = 1

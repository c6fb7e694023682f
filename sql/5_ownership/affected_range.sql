-- One row for each range of a partition's offsets that was read twice, or that no member had committed when its next reader started after it.
-- Reads: duplicate_ledger, skip_ledger
-- Grain: kafka_cluster, group_id, topic, partition_number, what, event_id
-- Public: yes
-- For reprocessing: `forensics sql affected_range --format csv`.
CREATE OR REPLACE TEMPORARY VIEW affected_range (
  kafka_cluster, group_id,
  topic            COMMENT 'Topic',
  partition_number COMMENT 'Number of the partition',
  first_offset     COMMENT 'First offset of the range',
  last_offset      COMMENT 'Last offset of the range',
  records          COMMENT 'Number of offsets in the range; those of markers of transactions, and of removed records, have no record',
  what             COMMENT 'read_twice or skipped',
  certainty        COMMENT 'exact; at_least: more may be affected; at_most: fewer may be',
  why              COMMENT 'skipped: as moved_by of skip_ledger, or unknown; read_twice: as how of duplicate_ledger, or committed_again',
  process_id       COMMENT 'Process that started to read at the range''s beginning  (read_twice) or after its end (skipped)',
  started_lo       COMMENT 'Earliest time at which it started (reference clock)',
  event_id         COMMENT 'Event that shows where it started'
)
AS
WITH range_of_start AS (
  SELECT kafka_cluster, group_id, resource, restarted_at AS first_offset, restarted_at + n - 1 AS last_offset, 'read_twice' AS what,
    CASE WHEN records_hi = n THEN 'exact' ELSE 'at_least' END AS certainty,
    CASE WHEN records_lo = n THEN how ELSE 'committed_again' END AS why, new_process_id AS process_id, restarted_lo AS started_lo, event_id
  FROM (SELECT *, greatest(records_lo, committed_again_lo) AS n FROM duplicate_ledger) WHERE n > 0
  UNION ALL
  SELECT kafka_cluster, group_id, resource, greatest(committed_to, 0), started_at - 1, 'skipped',
    CASE certainty WHEN 'exact' THEN 'exact' ELSE 'at_most' END, coalesce(moved_by, 'unknown'), process_id, started_lo, event_id
  FROM skip_ledger WHERE records_hi > 0
)
SELECT kafka_cluster, group_id, regexp_extract(resource, '^(.*)-[0-9]+$', 1) AS topic,
  CAST(regexp_extract(resource, '-([0-9]+)$', 1) AS INT) AS partition_number, first_offset, last_offset,
  last_offset - first_offset + 1 AS records, what, certainty, why, process_id, started_lo, event_id
FROM range_of_start

-- One row per evidence file.
-- Reads: evidence_file, range_row
-- Grain: path
CREATE OR REPLACE TEMPORARY VIEW source_file (
  path         COMMENT 'File, below the ingested folder',
  sha256       COMMENT 'SHA-256 of the uncompressed file',
  kind
    COMMENT 'log, or which second witness: topics_described, groups_described, offsets_dump, connect_topic, connect_rest, properties',
  status
    COMMENT 'read, unreadable, skipped or superseded: a log as it was before it grew, or before it was read again (the last such state)',
  note         COMMENT 'Why it was not read, or what of it was not',
  bytes        COMMENT 'Size, uncompressed',
  lines        COMMENT 'Lines',
  records      COMMENT 'Log records',
  events       COMMENT 'Records that a pattern knows',
  counted      COMMENT 'Of these, records without a fact, which are counted in counted_line and no rows of event',
  unrecognised
    COMMENT 'Records of relevant loggers that no pattern knows: all at INFO and above, below it those of the classes of groups and tasks',
  other
    COMMENT 'All other records: of loggers that say nothing of groups, and DEBUG or TRACE lines without a fact (a fetcher''s, say)',
  repeats      COMMENT 'Of the events, those that repeat one just before them, time and all, and are left out',
  unfit        COMMENT 'Lines that belong to no record, for no layout fits',
  layout       COMMENT 'Layout of most records',
  layouts      COMMENT 'Records by layout',
  time_zone    COMMENT 'Zone by which times without one were read',
  time_zone_how COMMENT 'told, layout, collector (times that it printed beside them tell it), gc_log (a GC log of its folder says it) or
    assumed',
  time_by
    COMMENT 'Who printed the times: log; collector, where lines have none; collector_no_year, where its dates have no year',
  process_id   COMMENT 'Process (log stream) that it is part of',
  first_ts     COMMENT 'First time in it',
  last_ts      COMMENT 'Last time in it'
)
COMMENT 'One row per evidence file.'
AS
WITH total AS (
  SELECT file_id, sum(records) AS records, sum(events) AS events, sum(counted) AS counted, sum(unrecognised) AS unrecognised,
    coalesce(sum(repeats), 0) AS repeats, sum(unfit) AS unfit, min(first_ts) AS first_ts, max(last_ts) AS last_ts
  FROM range_row GROUP BY file_id
), layout AS (
  SELECT file_id, map_from_entries(array_sort(collect_list(struct(name, n)))) AS layouts, max_by(name, struct(n, name)) AS layout
  FROM (SELECT file_id, name, sum(n) AS n FROM range_row LATERAL VIEW explode(layouts) e AS name, n GROUP BY file_id, name)
  GROUP BY file_id
)
SELECT
  f.path, f.sha256, coalesce(f.kind, 'log') AS kind, f.status, f.note, f.bytes, f.lines, t.records, t.events, t.counted, t.unrecognised,
    t.records - t.events - t.unrecognised AS other, t.repeats, t.unfit, l.layout, l.layouts,
  f.time_zone, f.time_zone_how, f.time_by, f.process_id, t.first_ts, t.last_ts
FROM evidence_file f LEFT JOIN total t ON t.file_id = f.file_id LEFT JOIN layout l ON l.file_id = f.file_id

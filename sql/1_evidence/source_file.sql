-- One row per evidence file.
-- Reads: evidence_file, range_row
-- Grain: path
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW source_file (
  path          COMMENT 'File, below the ingested folder',
  sha256        COMMENT 'SHA-256 of the uncompressed file',
  kind          COMMENT 'log, or the kind of other evidence: topics_described, groups_described, offsets_dump, connect_topic, connect_rest,
    properties, gc_log, kubernetes, docker, host_log',
  status        COMMENT 'read, unreadable, skipped or superseded: a log before it grew or was read again (the last such state)',
  note          COMMENT 'Why it, or a part of it, was not read',
  bytes         COMMENT 'Size, uncompressed',
  lines         COMMENT 'Lines',
  records       COMMENT 'Log records',
  events        COMMENT 'Records that a pattern matches',
  counted       COMMENT 'Of these, records without a fact, which are counted in counted_line and are not rows of event',
  unrecognised  COMMENT 'Records of relevant loggers that no pattern matches: all at INFO and above; below that, those of classes for groups and
    tasks',
  other         COMMENT 'All other records: of loggers unrelated to groups, and DEBUG or TRACE lines without a fact (for example of a fetcher)',
  repeats       COMMENT 'Of the events, exact repetitions of the one just before, with the same time, which are left out',
  unfit         COMMENT 'Lines that belong to no record, because no layout fits',
  layout        COMMENT 'Layout of most records',
  layouts       COMMENT 'Records by layout',
  time_zone     COMMENT 'Zone used for times without one',
  time_zone_how COMMENT 'told (given by the user), layout, collector (from the times that it added), gc_log (from a GC log in its folder) or assumed',
  time_by       COMMENT 'Source of the times: log; collector, if lines have none; log_no_year and collector_no_year, if these have no year or
    no date',
  process_id    COMMENT 'Process (log stream) that it is part of',
  first_ts      COMMENT 'First time in it',
  last_ts       COMMENT 'Last time in it'
)
AS
WITH record_totals AS (
  SELECT file_id, sum(records) AS records, sum(events) AS events, sum(counted) AS counted, sum(unrecognised) AS unrecognised,
    coalesce(sum(repeats), 0) AS repeats, sum(unfit) AS unfit, min(first_ts) AS first_ts, max(last_ts) AS last_ts
  FROM range_row GROUP BY file_id
), file_layout AS (
  SELECT file_id, map_from_entries(sort_array(collect_list(struct(name, n)))) AS layouts, max_by(name, struct(n, name)) AS layout
  FROM (SELECT file_id, name, sum(n) AS n FROM range_row LATERAL VIEW explode(layouts) e AS name, n GROUP BY file_id, name) GROUP BY file_id
)
SELECT f.path, f.sha256, coalesce(f.kind, 'log') AS kind, f.status, f.note, f.bytes, f.lines, t.records, t.events, t.counted, t.unrecognised,
  t.records - t.events - t.unrecognised AS other, t.repeats, t.unfit, l.layout, l.layouts, f.time_zone, f.time_zone_how, f.time_by, f.process_id,
  t.first_ts, t.last_ts
FROM evidence_file f LEFT JOIN record_totals t ON t.file_id = f.file_id
LEFT JOIN file_layout l ON l.file_id = f.file_id

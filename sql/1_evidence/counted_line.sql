-- One row per process, event and minute: the number of records without a fact, and the first and last of them.
-- Reads: counted_row
-- Grain: process_id, event, minute
-- Public: yes
-- Unused settings, lists of plugins, read-only requests: lines of which views need only the times. They are rows of `event` in a case that was made
-- with `ingest --keep-all`; this view is then empty. Lines that identify a process or report an error are never counted here.
CREATE OR REPLACE TEMPORARY VIEW counted_line (
  process_id,
  event      COMMENT 'Name of the event',
  minute     COMMENT 'Beginning of the minute, by its own clock; NULL: records without a time',
  records    COMMENT 'Number of records',
  first_ts   COMMENT 'Time of the earliest, by its own clock',
  last_ts    COMMENT 'Time of the latest',
  first_pos  COMMENT 'Place of the first in the process''s stream',
  last_pos   COMMENT 'Place of the last',
  first_path COMMENT 'File of the first',
  first_line COMMENT 'Its line number, from 1',
  last_path  COMMENT 'File of the last',
  last_line  COMMENT 'Its line number'
)
AS
SELECT process_id, event, date_trunc('MINUTE', ts) AS minute, count(*) AS records, min(ts) AS first_ts, max(ts) AS last_ts,
  min(stream_pos) AS first_pos, max(stream_pos) AS last_pos, min_by(path, stream_pos) AS first_path, min_by(line, stream_pos) AS first_line,
  max_by(path, stream_pos) AS last_path, max_by(line, stream_pos) AS last_line
FROM counted_row GROUP BY process_id, event, date_trunc('MINUTE', ts)

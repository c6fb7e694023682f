-- One row per process whose log copies another one, or a part of it, in another format: a container's output next to the file, an excerpt,
-- a second capture.
-- Reads: event_row
-- Computed: forensics.logs.copied_log
-- Grain: process_id
-- A coordinator issues a member id only once, and no two processes print the same lines about the same task at the same millisecond. One process that
-- was read as two would own everything twice, so only the log with more lines is used.
CREATE OR REPLACE TEMPORARY VIEW copied_log (
  process_id STRING  COMMENT 'Process under which the copy was read; its lines are ignored',
  of_process STRING  COMMENT 'The process whose log contains the same lines',
  equal_lines BIGINT COMMENT 'Lines about groups and tasks in both logs, with the same time and text',
  line_count BIGINT  COMMENT 'All such lines of the copy',
  from_ms BIGINT     COMMENT 'First of them, by the log''s clock (milliseconds since 1970)',
  to_ms BIGINT       COMMENT 'Last of them'
)

-- One row per start of a source task that logs where it starts to read: the stored offset that it found, and whether it took a snapshot.
-- Reads: event_row, copied_log, damaged_line, process_start, task_line, source_offset, clock_offset
-- Computed: forensics.tasks.source_start
-- Grain: event_id
-- Public: yes
-- Debezium prints this (0.9 and later). The line does not say in which topic it looked for the offset. What was stored before follows from a dump of
-- Connect's offsets topic with times, which are by the clocks of the workers that stored them.
CREATE OR REPLACE TEMPORARY VIEW source_start (
  connector STRING COMMENT 'Connector',
  task STRING COMMENT 'Task',
  process_id STRING, instance BIGINT,
  life BIGINT COMMENT 'n-th start of this task in this run of the process; 0 before the first',
  started_ts TIMESTAMP COMMENT 'Time of the line that shows where it starts to read, by the worker''s own clock',
  found STRING COMMENT 'found: it found a stored offset; missing: it found none; NULL: no line shows it',
  found_offset STRING COMMENT 'The offset that it found, as printed',
  stored_offset STRING COMMENT 'Last offset that the connector had stored before, in a dump of the offsets topic; NULL: none, no dump with times, or
    several source partitions',
  stored_ts TIMESTAMP COMMENT 'Time of that record',
  stored_event_id STRING COMMENT 'Its id',
  is_as_stored BOOLEAN COMMENT 'True if the two offsets are equal in what both have; NULL: nothing to compare',
  snapshot STRING COMMENT 'completed, skipped, aborted; begun: its end is not shown; NULL: no line shows it',
  is_of_data BOOLEAN COMMENT 'True if the snapshot certainly was of data, not only of the schema; NULL: no snapshot is shown',
  event_id STRING COMMENT 'The line that shows where it starts to read',
  witness ARRAY<STRING>,
  before STRING COMMENT 'What an earlier start of the connector certainly had: completed (a snapshot of data), or found (a stored offset);
    NULL: neither',
  before_process_id STRING COMMENT 'Process of that start',
  before_ts TIMESTAMP COMMENT 'Its time, by its own clock',
  before_witness ARRAY<STRING> COMMENT 'Its lines'
)

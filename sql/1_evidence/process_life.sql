-- One row per process run: from its first to its last line in the log, and how it ended.
-- Reads: event_row, counted_row, copied_log, damaged_line, range_row, process_start, shared_log, machine_event, evidence_file
-- Computed: forensics.runs.process_life
-- Grain: process_id, instance
-- A log that simply ends does not show that the process died; a later start in the same log does. Threads print slightly out of order, so only a jump
-- back of more than two seconds plus `clock_jitter_ms` shows that a clock was set back. A single line does not: a clock that was set back stays back,
-- whereas an isolated line was only printed late.
CREATE OR REPLACE TEMPORARY VIEW process_life (
  process_id STRING,
  instance INT      COMMENT 'Which run of the process; 0 began before the log',
  first_ms BIGINT      COMMENT 'First line (milliseconds since 1970)',
  last_ms BIGINT       COMMENT 'Last line; if another run follows, the last line that is certainly its own',
  stopping_ms BIGINT   COMMENT 'When it reported that it was stopping',
  ending_ms BIGINT     COMMENT 'First line that only a stopping process prints; NULL: there is none',
  ending_id STRING COMMENT 'Its event',
  ending_lo_ms BIGINT  COMMENT 'It was not yet stopping before this: the time of that line if it is the first one that a stopping process
    prints, else of the
    line before it',
  start_ms BIGINT      COMMENT 'First line of its start; NULL: the log begins later',
  start_id STRING COMMENT 'Its event',
  next_start_ms BIGINT COMMENT 'First line of the next run in the same log; NULL: there is none',
  next_start_id STRING COMMENT 'Its event',
  next_start_pos BIGINT COMMENT 'Its position',
  is_broker BOOLEAN, is_worker BOOLEAN,
  is_main BOOLEAN COMMENT 'True for a worker, a client, or the main log of a broker: of several logs in a folder, a file of its machine is about it',
  has_started BOOLEAN   COMMENT 'True if a line shows that this run, of a broker or worker, completed its start',
  setbacks ARRAY<STRUCT<stream_pos: BIGINT, event_id: STRING, before_id: STRING, by_ms: BIGINT, is_file_begin: BOOLEAN>> COMMENT 'Lines before
    which its printed time went back because its clock was set back: position, event (NULL: only counted), the event before, by how many
    milliseconds, and true for the first line of a file, where it may also be that another process wrote one of the two files; NULL: none',
  end_ms BIGINT        COMMENT 'It had ended by this time before its next start, as a file about its container shows; NULL: none does',
  end_id STRING        COMMENT 'The row of machine_event that shows it'
)

-- One row per place where the order of lines about tasks or partitions is impossible in one process: lines of the process are missing.
-- Reads: task_line, client_event, owned_list
-- Computed: forensics.logs.work_hole
-- Grain: process_id, instance, event_id, why, is_wide
-- A worker refuses to start a task that it already runs, so a second start without a stop request in between is a gap. It forgets a task after
-- waiting for its end, so a second stop request is a gap too. So are commits of a task whose producer was closed cleanly, clean closing of clients
-- whose task was neither asked to stop nor failed, scheduled commits of a task that was abandoned (the stop request ends them), and a working task
-- that was never started, in a log that begins with its worker. So is a list of partitions that a consumer revokes, or owns, and that contradicts the
-- lines before it.
CREATE OR REPLACE TEMPORARY VIEW work_hole (
  process_id STRING, instance INT,
  from_pos BIGINT COMMENT 'Last position that is certainly before it',
  to_pos BIGINT   COMMENT 'First position that is certainly after it',
  is_wide BOOLEAN  COMMENT 'True if a whole stretch may be missing; false if a single missing line explains it',
  why STRING      COMMENT 'started_twice, stopped_twice, worked_after_closing, closed_unasked, committed_after_stop,
    worked_unstarted or lists_differ',
  event_id STRING COMMENT 'First line that is certainly after it'
)

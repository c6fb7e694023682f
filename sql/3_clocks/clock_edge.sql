-- One row per pair of log lines of two processes where one must have happened before the other.
-- Reads: member_round, epoch_member, epoch_generation, client_event, filtered_log, process_cluster, event_row, copied_log, damaged_line
-- Reads: process_start
-- Computed: forensics.clocks.clock_edge
-- Grain: rule, from_event_id, to_event_id
-- Public: yes
-- Every message is sent before it is received, and inside one process lines are in order. So if a clock shows an earlier `to` than another clock
-- shows `from`, it is behind by at least the difference. Only a member's first join of a generation counts. If the lines of a process
-- are not in the order in which they were printed, it is unknown which of them belong together.
CREATE OR REPLACE TEMPORARY VIEW clock_edge (
  rule STRING COMMENT 'Why the earlier line came first',
  from_process_id STRING COMMENT 'Process that printed the earlier line',
  from_event_id STRING COMMENT 'Earlier line',
  from_ts TIMESTAMP COMMENT 'Its time, by its own clock',
  to_process_id STRING COMMENT 'Process that printed the later line',
  to_event_id STRING COMMENT 'Later line',
  to_ts TIMESTAMP COMMENT 'Its time, by its own clock',
  hi_ms BIGINT COMMENT 'Maximum by which the clock of the later line''s process is ahead of the earlier line''s, milliseconds'
)

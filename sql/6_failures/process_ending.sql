-- One row per process run that another follows in the same log, with the way in which it ended.
-- Reads: process_life, fact_line, client_event, member_place, removed_member, event_row, copied_log, damaged_line, clock_offset, cluster_broker
-- Reads: shared_log, process_cluster, process
-- Computed: forensics.absences.process_ending
-- Grain: process_id, instance
-- In every release a worker prints that it stops. From 2.4 on a client that closes leaves its group or prints that it was closed; in earlier releases
-- only its coordinator can show whether it left. How: stopped (it printed so), left (it left its groups cleanly), failed (it gave up while starting),
-- starting (it had not started yet), died (its coordinator, or for a broker its controller, no longer heard from it), unknown. If a process prints
-- nothing about its end, lines may be missing. If the reference's own clock was set while its process was down, the times of the next run are
-- converted to the previous clock.
CREATE OR REPLACE TEMPORARY VIEW process_ending (
  process_id STRING, instance INT, is_broker BOOLEAN, is_worker BOOLEAN, kafka_cluster STRING,
  group_id STRING      COMMENT 'Its group: its worker''s, else the first of its consumers''; NULL for a broker',
  how STRING           COMMENT 'stopped, left, failed, starting, died or unknown',
  is_deployment BOOLEAN COMMENT 'For a clean restart (stopped or left): true if other processes of the group, or other brokers, restarted
    before or after it, within storm_gap_ms; NULL: not a clean restart, or of no group',
  last_ms BIGINT       COMMENT 'It was running at this time, by its own clock: the first line of its end, or its last line',
  next_ms BIGINT       COMMENT 'First line of its next run, by its own clock',
  from_lo_ms BIGINT    COMMENT 'Ended at this time at the earliest (reference clock); NULL: the log begins with the end',
  from_hi_ms BIGINT    COMMENT 'Ended at this time at the latest',
  to_lo_ms BIGINT      COMMENT 'Its next run began at this time at the earliest',
  to_hi_ms BIGINT      COMMENT 'Its next run began at this time at the latest',
  reference_process_id STRING, witness ARRAY<STRING>
)

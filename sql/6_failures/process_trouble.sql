-- One row for each period in which one process by itself was paused, cut off, killed or too slow to poll, including cases in which these cannot be
-- distinguished.
-- Reads: lost_membership, process_ending, process_life, process_cluster, process_start, generation, clock_offset, fact_line, client_event
-- Reads: join_round, coordinator_outage, silent_member, process_pause, event_row, copied_log, damaged_line
-- Computed: forensics.absences.process_trouble
-- Grain: trouble_id
-- The evidence is the lost memberships of its members, or connections that fail for long while members in other processes keep theirs.
CREATE OR REPLACE TEMPORARY VIEW process_trouble (
  trouble_id STRING    COMMENT 'Stable id',
  kafka_cluster STRING,
  group_ids ARRAY<STRING>     COMMENT 'Groups that it was a member of',
  process_id STRING    COMMENT 'Process; NULL: unknown',
  instance INT,
  member_ids ARRAY<STRING>    COMMENT 'Members that it lost',
  of_group_id STRING   COMMENT 'For an unknown process: group of the worker that the member was lost with, or the member''s own; else NULL',
  cause STRING         COMMENT 'process_paused, member_cut_off, process_killed, poll_too_slow or unknown',
  alternatives ARRAY<STRING>  COMMENT 'Possible causes, if the lines do not decide',
  from_lo_ms BIGINT    COMMENT 'Began at this time at the earliest (reference clock)',
  from_hi_ms BIGINT    COMMENT 'Began at this time at the latest',
  to_lo_ms BIGINT      COMMENT 'Ended at this time at the earliest; NULL: it did not end in the logs',
  to_hi_ms BIGINT      COMMENT 'Ended at this time at the latest',
  reference_process_id STRING, witness ARRAY<STRING>
)

-- One row per member whose log ends although it had not left, while its group continued.
-- Reads: member_round, join_round, epoch_member, event_row, copied_log, damaged_line, process_start, process_cluster, client_event, fact_line
-- Reads: process_life, process, member, member_generation, generation, broker_generation, clock_offset, shared_log, filtered_log
-- Computed: forensics.memberships.silent_member
-- Grain: process_id, instance, kafka_cluster, group_id, client
-- Other members in a later generation prove nothing about it, because its log may have been copied before. It was in that generation if another log
-- names it there, or if its coordinator removed no member that it may be before: a generation has all members that were not removed. It was not in it
-- if the leader's list of all members does not name it. A member that its coordinator removed first has no row: its log ends with its membership.
CREATE OR REPLACE TEMPORARY VIEW silent_member (
  kafka_cluster STRING,
  group_id STRING,
  member_id STRING,
  process_id STRING,
  instance INT,
  client STRING,
  how STRING COMMENT 'continued: it was in a later generation; gone: the group continued without it; unassigned: its log ends before the assignment of
    its last generation; unknown',
  may_be_back BOOLEAN COMMENT 'True if a member of its name whose log is missing is in a later generation',
  generation BIGINT COMMENT 'Last generation in its log; NULL: it had not joined yet',
  last_ms BIGINT COMMENT 'Last line of its process, by its own clock (milliseconds since 1970)',
  until_ms BIGINT COMMENT 'Its group''s last known generation was complete at this time at the earliest, by its own clock; NULL: clocks do not
    compare',
  last_lo_ms BIGINT COMMENT 'It existed at least until this time: the last line of its process (reference clock)',
  gone_hi_ms BIGINT COMMENT 'gone: the others had joined the next generation at this time',
  reference_process_id STRING,
  witness ARRAY<STRING>
)

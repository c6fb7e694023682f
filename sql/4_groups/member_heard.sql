-- One row per member whose session expired at its coordinator: until when its process was certainly alive.
-- Reads: event_row, copied_log, damaged_line, process_start, process_cluster, member, process_life, config_value, filtered_log, client_event
-- Reads: member_round, epoch_generation, epoch_member
-- Computed: forensics.memberships.member_heard
-- Grain: kafka_cluster, group_id, member_id
-- A session expires one session timeout after the member's last request. But the coordinator itself restarts the timer when a join phase ends, an
-- assignment arrives or the group is loaded. So the lines of the last generation must be in the log and be older than that request, and a later line
-- must show that no other generation came between. A paused broker removes members late: its last line that is certainly before the removal shows
-- that the session had not expired at that time. KIP-848 members, static members, and those removed for not joining in time are excluded.
CREATE OR REPLACE TEMPORARY VIEW member_heard (
  kafka_cluster STRING, group_id STRING, member_id STRING,
  generation BIGINT    COMMENT 'Generation in which the coordinator heard from it',
  process_id STRING,
  broker STRING        COMMENT 'Coordinator''s process',
  session_ms BIGINT    COMMENT 'Its session timeout',
  heard_lo_ms BIGINT   COMMENT 'It sent a request at this time or later, by the coordinator''s clock (milliseconds since 1970)',
  alive_ms BIGINT      COMMENT 'Certainly alive at this time, by its own clock',
  removed_ms BIGINT    COMMENT 'Removed, by the coordinator''s clock',
  removed_id STRING COMMENT 'Its event',
  witness ARRAY<STRING>       COMMENT 'Proof: join phase over, assignment, coordinator not paused, removal, same generation, session
    timeout; then the clocks'
)

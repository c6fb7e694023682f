-- One row per member and timeout: the value in force according to its group, and who printed it.
-- Reads: member, event_row, config_value, process_cluster, copied_log, damaged_line, process_start
-- Computed: forensics.memberships.member_setting
-- Grain: kafka_cluster, group_id, member_id, setting
-- The member's own configuration has priority, then the coordinator's lines about the member, then the value that all other members of the group
-- share.
CREATE OR REPLACE TEMPORARY VIEW member_setting (
  kafka_cluster STRING, group_id STRING,
  member_id STRING COMMENT 'Member id; NULL: the value that all members of the group share',
  setting STRING COMMENT 'session.timeout.ms, heartbeat.interval.ms, max.poll.interval.ms, rebalance.timeout.ms or scheduled.rebalance.max.delay.ms',
  value_ms BIGINT COMMENT 'Value, milliseconds',
  value_how STRING COMMENT 'config: the member printed it; broker: the coordinator printed it; group: the value of the other members',
  event_id STRING
)

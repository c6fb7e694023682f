-- One row per group whose last rebalance was still running when the logs ended.
-- Reads: event_row, copied_log, damaged_line, process_start, process_cluster, process_life, client_event, fact_line, task_life, member_round
-- Reads: member_generation, member, generation, clock_offset, filtered_log, lost_range
-- Computed: forensics.coordinators.open_rebalance
-- Grain: kafka_cluster, group_id
-- Public: yes
-- Its coordinator prepares it, or members ask to join, but their logs show neither the end of its join phase nor an answer. A rebalance that ended
-- according to any line of the group is left out. Closed members and stopped processes no longer wait: if all members were closed, it had not ended
-- by then.
CREATE OR REPLACE TEMPORARY VIEW open_rebalance (
  kafka_cluster STRING,
  group_id STRING,
  incarnation BIGINT COMMENT 'Incarnation of the group''s metadata; NULL: the logs have none of its generations',
  last_generation BIGINT COMMENT 'Last generation in the logs; NULL: none',
  protocol_type STRING COMMENT 'consumer or connect',
  rebalance_mode STRING COMMENT 'eager or cooperative, of the last generation',
  coordinator STRING COMMENT 'Broker that prepares it (its process); NULL: not in its log',
  began_ts TIMESTAMP COMMENT 'The coordinator prepares it, or the first member asks, by that process''s clock',
  began_ms BIGINT COMMENT 'The same (milliseconds since 1970)',
  from_ts TIMESTAMP COMMENT 'The same, on the reference clock',
  to_ts TIMESTAMP COMMENT 'It had not ended then (reference clock): the logs end, or its last member was closed',
  from_ms BIGINT COMMENT 'from_ts (milliseconds since 1970)',
  to_ms BIGINT COMMENT 'to_ts (milliseconds since 1970)',
  reference_process_id STRING,
  lasted_ms BIGINT COMMENT 'At least this long, milliseconds; NULL: a clock stepped',
  reason STRING COMMENT 'Reason as the broker printed it',
  member_id STRING COMMENT 'Member that the reason names',
  asked ARRAY<STRING> COMMENT 'Members that had asked to join: process and task or client',
  awaited ARRAY<STRING> COMMENT 'Members of the last generation that had not asked: process and task or client, or member id',
  awaited_processes ARRAY<STRING> COMMENT 'Their processes, if they have logs',
  has_member_logs BOOLEAN COMMENT 'True when a member of the group has a log',
  is_given_up BOOLEAN COMMENT 'True when all members that had asked were closed, or their processes stopped, before they were answered',
  witness ARRAY<STRING>
)

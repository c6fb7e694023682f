-- One row per member that its coordinator removed against its will, with its process.
-- Reads: event_row, copied_log, damaged_line, process_start, process_cluster, member_place, broker_generation, member_setting, setting, client_event
-- Reads: clock_offset, fact_line, task_life, join_round, member_round
-- Computed: forensics.memberships.removed_member
-- Grain: kafka_cluster, group_id, member_id, removed_id
-- The process is known from the member's own lines, from the refusal that names the id when it returns, or from the task that only one worker had. A
-- sink's consumer is named after its task (connector-consumer-orders-1, since 2.3), and a generation of workers assigns each task to one worker: the
-- member was lost with the removed worker that had its task, or, if all other workers are known and did not have it, with the one that is left. If
-- two removed workers are possible, or the Kafka cluster has several Connect clusters, the worker is unknown. A client that is closed leaves its
-- group, or its session expires: then the membership was no longer needed and was not lost.
CREATE OR REPLACE TEMPORARY VIEW removed_member (
  kafka_cluster STRING, group_id STRING, member_id STRING,
  how STRING           COMMENT 'session: no heartbeat; rebalance: it did not rejoin, or revoke its partitions, in time',
  protocol STRING      COMMENT 'classic or consumer (KIP-848)',
  broker STRING        COMMENT 'Coordinator''s process',
  removed_id STRING    COMMENT 'Event of the removal',
  removed_lo_ms BIGINT COMMENT 'Removed at this time at the earliest (reference clock, milliseconds since 1970)',
  removed_hi_ms BIGINT COMMENT 'Removed at this time at the latest',
  heard_ms BIGINT      COMMENT 'It asked to join the current generation at this time at the earliest (reference clock); NULL: the log begins later',
  reference_process_id STRING,
  process_id STRING    COMMENT 'Its process; NULL: unknown',
  instance INT, client STRING,
  worker_group_id STRING COMMENT 'Group of the worker that a sink''s member was lost with; NULL: none is known',
  worker_member_id STRING COMMENT 'Member id of that worker',
  session_ms BIGINT    COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms BIGINT     COMMENT 'Removed at this time at the earliest, by the process''s own clock; NULL: its clock cannot be compared',
  own_hi_ms BIGINT     COMMENT 'Removed at this time at the latest, by the process''s own clock',
  was_closed BOOLEAN    COMMENT 'True if its client had been closed, or its process was stopping, before: it left without a line',
  closed_id STRING     COMMENT 'Event that shows it'
)

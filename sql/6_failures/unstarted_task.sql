-- One row per Connect worker with tasks that were assigned to it and did not start.
-- Reads: join_round, fact_line, log_hole, clock_offset, event_row, copied_log, damaged_line, process_start, client_event, process_life, holding
-- Reads: process_cluster, process, quiet_log, unowned, task_line
-- Computed: forensics.tasks.unstarted_task
-- Grain: kafka_cluster, group_id, process_id
-- Tasks that failed do not count, nor those of a worker whose log lacks lines, which may have shown their start.
CREATE OR REPLACE TEMPORARY VIEW unstarted_task (
  kafka_cluster STRING, group_id STRING, process_id STRING,
  tasks ARRAY<STRING> COMMENT 'Tasks',
  from_ms BIGINT COMMENT 'When the first was assigned (reference clock, milliseconds since 1970)',
  waited_ms BIGINT COMMENT 'How long the longest was assigned, milliseconds',
  event_ids ARRAY<STRING> COMMENT 'Events of the assignments, up to four'
)

-- One row per task and assignment of a Connect worker: whether the task ran there.
-- Reads: join_round, process_life, client_event, holding, clock_offset
-- Computed: forensics.tasks.assigned_task_run
-- Grain: process_id, event_id, task
CREATE OR REPLACE TEMPORARY VIEW assigned_task_run (
  kafka_cluster STRING, group_id STRING, process_id STRING, instance INT, task STRING,
  assigned_ms BIGINT COMMENT 'When it was assigned (clock of the worker, milliseconds since 1970)',
  until_ms    BIGINT COMMENT 'Next assignment, or the end of the process run',
  started     BOOLEAN COMMENT 'True if it ran in the meantime; NULL: unknown, because the clock was set back',
  is_kept     BOOLEAN COMMENT 'True if the worker may have had it before its log begins',
  event_id    STRING COMMENT 'Event of the assignment'
)

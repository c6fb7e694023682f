-- One row per ownership of a task, a connector or a partition, by its process's own clock.
-- Reads: task_holding, partition_holding
-- Grain: ownership_id
CREATE OR REPLACE TEMPORARY VIEW holding (
  ownership_id   COMMENT 'Stable id of the ownership',
  kafka_cluster  COMMENT 'Kafka cluster',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'What is owned',
  process_id     COMMENT 'Process',
  owner          COMMENT 'Distinguishes two owners in one process: the client, or the n-th start',
  member_id      COMMENT 'Member id',
  instance       COMMENT 'n-th start of it in the process',
  generation     COMMENT 'Generation that assigned it',
  start_lo_ms    COMMENT 'Not owned before (milliseconds since 1970); NULL: owned when the log began',
  start_hi_ms    COMMENT 'Certainly owned from this time on',
  start_how      COMMENT 'seen: the log has a line of its start; open: the log begins later; lost: the log lacks that line',
  before_generation COMMENT 'open or lost: its member owned it before it was assigned that generation; NULL: unknown',
  stop_asked_ms  COMMENT 'When its stop was requested',
  first_sign_ms  COMMENT 'First sign of life',
  last_sign_ms   COMMENT 'Last sign of life',
  work_stop_lo_ms COMMENT 'Certainly working until this time',
  work_stop_hi_ms COMMENT 'Certainly not working from this time on; NULL: unknown',
  stop_lo_ms     COMMENT 'Certainly owned until this time',
  seen_ms        COMMENT 'Last line that shows it owned by itself; NULL: none',
  stop_hi_ms     COMMENT 'Certainly not owned from this time on; NULL: unknown',
  phase_end      COMMENT 'What it was doing in its last line',
  stop_how       COMMENT 'Kind of the line that ends it',
  is_stop_lost   COMMENT 'True if lines are missing after the last one that is certainly its own, so its end is, or may be, among them',
  start_id       COMMENT 'Event of the start',
  start_sign_id  COMMENT 'First event that shows it',
  start_witness  COMMENT 'Events that link that event to it; NULL: the event shows it by itself',
  not_before_id  COMMENT 'Event before which it was not owned; NULL: owned when the log began',
  stop_asked_id  COMMENT 'Event of the stop request',
  last_sign_id   COMMENT 'Event of the last sign of life',
  stop_id        COMMENT 'Event that ends it',
  heard_ms
    COMMENT 'Last moment at which its coordinator certainly heard from it, if that shows it owned; NULL: a line of its own does',
  heard_id       COMMENT 'Event in which its coordinator removed it afterwards',
  is_overdue     COMMENT 'True for a task that its worker abandoned, or that ran on longer than its stop timeout'
)
COMMENT 'One row per ownership of a task, a connector or a partition, by its process''s own clock.'
AS
SELECT
  left(sha2(concat_ws('|', start_id, start_sign_id, stop_id, resource_kind, resource, process_id, process_instance, life), 256),
    16) AS ownership_id,
  kafka_cluster, group_id, resource_kind, resource, process_id,
  concat_ws('/', process_instance, life) AS owner,
  member_id,
  row_number() OVER (PARTITION BY process_id, resource_kind, resource ORDER BY process_instance, life) AS instance,
  generation,
  start_lo_ms,
  start_hi_ms,
  start_how,
  before_generation,
  stop_asked_ms,
  first_sign_ms,
  last_sign_ms,
  -- Lines that a thread prints while it is closed show that it exists, but not that it works.
  least(work_stop_lo_ms, work_stop_hi_ms) AS work_stop_lo_ms,
  work_stop_hi_ms,
  stop_lo_ms,
  seen_ms,
  stop_hi_ms,
  phase_end, stop_how, is_stop_lost, start_id, start_sign_id, start_witness, not_before_id, stop_asked_id, last_sign_id, stop_id,
  CAST(NULL AS BIGINT) AS heard_ms,
  CAST(NULL AS STRING) AS heard_id, is_overdue
FROM task_holding
WHERE start_id IS NOT NULL OR start_sign_id IS NOT NULL OR stop_asked_id IS NOT NULL
UNION ALL
SELECT
  left(sha2(concat_ws('|', coalesce(start_id, shown_id), resource, process_id, client), 256), 16) AS ownership_id,
  kafka_cluster, group_id, 'partition' AS resource_kind, resource, process_id, client AS owner, member_id,
  row_number() OVER (PARTITION BY process_id, group_id, client, resource ORDER BY from_pos) AS instance,
  generation, CASE WHEN start_how = 'seen' THEN start_ms END AS start_lo_ms, start_hi_ms, start_how,
  before_generation, CAST(NULL AS BIGINT) AS stop_asked_ms, start_hi_ms AS first_sign_ms,
  CAST(NULL AS BIGINT) AS last_sign_ms, CAST(NULL AS BIGINT) AS work_stop_lo_ms, stop_hi_ms AS work_stop_hi_ms, stop_lo_ms,
  stop_lo_ms AS seen_ms, stop_hi_ms,
  CASE WHEN stop_how = 'process_restarted' THEN 'gone' WHEN stop_how IS NULL THEN 'running' ELSE 'stopping' END AS phase_end,
  stop_how, is_stop_lost, start_id, start_sign_id,
  -- If its last line revokes the partition, that line is already the stop event.
  CASE WHEN start_how = 'open' AND NOT shown_id <=> stop_id THEN array(shown_id) END AS start_witness,
  start_id AS not_before_id,
  CAST(NULL AS STRING) AS stop_asked_id, CAST(NULL AS STRING) AS last_sign_id, stop_id,
  heard_ms, heard_id, false AS is_overdue
FROM partition_holding

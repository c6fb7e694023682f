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
  owner          COMMENT 'What tells two owners in one process apart: the client, or the n-th start',
  member_id      COMMENT 'Member id',
  instance       COMMENT 'n-th start of it in the process',
  generation     COMMENT 'Generation that assigned it',
  start_lo_ms    COMMENT 'Not owned before (milliseconds since 1970); NULL: owned when the log began',
  start_hi_ms    COMMENT 'Surely owned from then on',
  start_how      COMMENT 'seen: a line of its start is there; open: the log begins later; lost: the log lacks that line',
  before_generation COMMENT 'open or lost: it was there before its member was assigned that generation; NULL: not known',
  stop_asked_ms  COMMENT 'Asked to stop',
  first_sign_ms  COMMENT 'First sign of life',
  last_sign_ms   COMMENT 'Last sign of life',
  work_stop_lo_ms COMMENT 'Surely at work until then',
  work_stop_hi_ms COMMENT 'Surely not at work from then on; NULL: nothing says so',
  stop_lo_ms     COMMENT 'Surely owned until then',
  seen_ms        COMMENT 'Last line that by itself shows it owned; NULL: none does',
  stop_hi_ms     COMMENT 'Surely not owned from then on; NULL: nothing says so',
  phase_end      COMMENT 'What it was doing when last heard of',
  stop_how       COMMENT 'Which line says that it ended',
  is_stop_lost   COMMENT 'True when the log lacks lines behind the last one that surely is its own: its end is, or may be, among them',
  start_id       COMMENT 'Event of the start',
  start_sign_id  COMMENT 'Event that shows it there first',
  start_witness  COMMENT 'What joins that event to it, where it does not tell by itself; NULL: it does',
  not_before_id  COMMENT 'Event before which it was not there; NULL: it was there when the log began',
  stop_asked_id  COMMENT 'Event of the order to stop',
  last_sign_id   COMMENT 'Event of the last sign of life',
  stop_id        COMMENT 'Event that says that it ended',
  heard_ms
    COMMENT 'Last moment at which its coordinator surely heard it, when that is what shows it owned; NULL: a line of its own does',
  heard_id       COMMENT 'Event with which its coordinator removed it afterwards',
  is_overdue     COMMENT 'True for a task whose worker gave up on its stop, or that went on longer than it had to stop'
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
  -- What a thread prints while it is closed is a sign of it, and none of work.
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
  generation, CASE WHEN start_how = 'seen' THEN start_ms END AS start_lo_ms, start_ms AS start_hi_ms, start_how,
  before_generation, CAST(NULL AS BIGINT) AS stop_asked_ms, start_ms AS first_sign_ms,
  CAST(NULL AS BIGINT) AS last_sign_ms, CAST(NULL AS BIGINT) AS work_stop_lo_ms, stop_hi_ms AS work_stop_hi_ms, stop_lo_ms,
  stop_lo_ms AS seen_ms, stop_hi_ms,
  CASE WHEN stop_how = 'process_restarted' THEN 'gone' WHEN stop_how IS NULL THEN 'running' ELSE 'stopping' END AS phase_end,
  stop_how, is_stop_lost, start_id, start_sign_id,
  -- What it gives up in its last line of it is that line.
  CASE WHEN start_how = 'open' AND NOT shown_id <=> stop_id THEN array(shown_id) END AS start_witness,
  start_id AS not_before_id,
  CAST(NULL AS STRING) AS stop_asked_id, CAST(NULL AS STRING) AS last_sign_id, stop_id,
  heard_ms, heard_id, false AS is_overdue
FROM partition_holding

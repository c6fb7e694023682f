-- One row per task whose status, as Connect's REST interface or its status topic reports it, contradicts the logs.
-- Reads: task_status, ownership, process, clock_offset
-- Answers: does Connect's REST interface tell the truth about a task?
-- Needs: REST answers or a dump of the status topic that tell their time, and the logs.
-- Silent when: the file does not tell when the status was so, the task has no or several Connect groups in the case, the worker that the status names has
-- no log here, or the logs do not say the contrary for long enough before and after.
-- Shown by: the sample split-brain-frozen-worker-3.9.1.
CREATE OR REPLACE TEMPORARY VIEW rule_stale_status (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per task whose status, as Connect reports it, contradicts the logs.'
AS
WITH margin AS (
  -- Whose clock a status has is not known: any of the case's.
  SELECT stale_status_ms + coalesce(max(greatest(abs(lo_ms), abs(hi_ms))), 0) AS ms FROM clock_offset
), topic AS (
  SELECT *, max(taken_ts) OVER (PARTITION BY path) AS until_ts, row_number() OVER (PARTITION BY path, task ORDER BY line DESC) AS nth
  FROM task_status WHERE source = 'connect_topic'
), claim AS (
  -- A REST answer is true of its moment. The last record of a task in a dump of the status topic still stands at the end of the dump.
  SELECT task, state, worker_id, taken_ts AS ts, event_id FROM task_status
  WHERE source = 'connect_rest' AND task IS NOT NULL AND taken_ts IS NOT NULL AND state IN ('RUNNING', 'UNASSIGNED')
  UNION ALL
  SELECT t.task, t.state, t.worker_id, t.until_ts - make_dt_interval(0, 0, 0, m.ms / 1000.0), t.event_id
  FROM topic t CROSS JOIN margin m
  WHERE t.nth = 1 AND t.task IS NOT NULL AND t.state IN ('RUNNING', 'UNASSIGNED') AND unix_millis(t.until_ts) - unix_millis(t.taken_ts) >= 2 * m.ms
), held AS (
  SELECT *, min(struct(kafka_cluster, group_id)) OVER (PARTITION BY resource) = max(struct(kafka_cluster, group_id)) OVER (PARTITION BY resource) AS one_group
  FROM ownership WHERE resource_kind = 'task' AND group_id IS NOT NULL
), worker AS (
  SELECT process_id, regexp_extract(worker_url, '://([^/]+)', 1) AS worker_id FROM process WHERE worker_url IS NOT NULL
), against AS (
  SELECT c.*, h.kafka_cluster, h.group_id, h.process_id, h.start_hi, h.stop_lo, h.witness, w.process_id AS named_process_id, m.ms
  FROM claim c
  CROSS JOIN margin m
  JOIN worker w ON w.worker_id = c.worker_id
  JOIN held h ON h.resource = c.task AND h.one_group
    AND unix_millis(h.start_hi) <= unix_millis(c.ts) - m.ms AND unix_millis(h.stop_lo) >= unix_millis(c.ts) + m.ms
  WHERE c.state = 'UNASSIGNED' OR h.process_id <> w.process_id
)
SELECT
  'warning', 'undecided', a.kafka_cluster, a.group_id, a.task, a.ts, a.ts,
  concat('Connect said that ', a.task, ' is ', a.state, ' on ', a.worker_id, ', while it ran in ', a.process_id),
  concat('By the logs ', a.process_id, ' ran ', a.task, ' from ', date_format(a.start_hi, 'HH:mm:ss'), ' until at least ', date_format(a.stop_lo, 'HH:mm:ss'),
    '; the status of ', date_format(a.ts, 'HH:mm:ss'), ' says ', a.state, ' on ', a.worker_id, CASE WHEN a.named_process_id = a.process_id THEN '' ELSE concat(' (', a.named_process_id, ')') END,
    '. A worker writes the status of its own tasks; when a task moves quickly, the word of the worker that had it may come last and stands until the next one. ',
    'Undecided, for the status has a clock of its own: it holds unless that was wrong by more than ', round(a.ms / 1000.0), ' s.'),
  'Do not take the task for dead or for moved. A restart of it (POST /connectors/NAME/tasks/N/restart) stops it, starts it again and has its status written anew. KAFKA-12525 describes the race; alarms that trust a single status should wait for it to stand for a while.',
  concat(array(a.event_id), slice(a.witness, 1, 10))
FROM against a
WHERE NOT EXISTS (
  SELECT 1 FROM held o
  WHERE a.state = 'RUNNING' AND o.resource = a.task AND o.process_id = a.named_process_id
    AND coalesce(unix_millis(o.start_lo), -9223372036854775807) <= unix_millis(a.ts) + a.ms AND coalesce(unix_millis(o.stop_hi), 9223372036854775807) >= unix_millis(a.ts) - a.ms
)

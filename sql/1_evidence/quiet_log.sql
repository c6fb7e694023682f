-- One row per process whose log names tasks or a worker but has none of Kafka's INFO lines about them, and per consumer likewise.
-- Reads: event, process_life
-- Grain: process_id, client
-- Kafka logs starts, stops, joins and assignments at INFO. Without these lines the owners of tasks and partitions are unknown: the log proves no
-- ownership, and its silence does not mean that all is well. A sink task that starts has a consumer, named after it unless configured otherwise. A
-- consumer that is closed or that logs a warning is named too. One that prints only its settings may be in no group, so a coordinator must name it.
CREATE OR REPLACE TEMPORARY VIEW quiet_log (
  process_id,
  client  COMMENT 'client.id of the consumer; NULL: the tasks and the worker of the process',
  from_ms COMMENT 'First line that names it, by the log''s clock (milliseconds since 1970)',
  to_ms   COMMENT 'Last such line'
)
AS
WITH coordinator_name AS (
  SELECT DISTINCT group_id, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS client FROM event
  WHERE broker_id IS NOT NULL AND group_id IS NOT NULL AND member_id IS NOT NULL
), naming_line AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms,
    coalesce(e.level, 'INFO') NOT IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL', 'CRITICAL') AS is_info,
    e.task IS NOT NULL OR e.connector IS NOT NULL OR e.client_kind <=> 'Worker' AS names_work,
    -- A worker that printed only its start had no work yet. Its logger is the one that prints assignments.
    e.category IN ('membership', 'assignment', 'task', 'connector') OR e.event = 'herder_starting' AS is_work_line,
    e.category IN ('membership', 'assignment') AND NOT e.client_kind <=> 'Worker' AND e.event NOT LIKE 'worker\\_%'
      -- A consumer that chooses its own partitions is in no group.
      OR NOT p.is_worker AND e.message RLIKE '^(Subscribed|Assigned) to partition' AS is_group_line,
    CASE WHEN e.message LIKE 'WorkerSinkTask{%' THEN concat('connector-consumer-', e.task)
      -- A worker has internal consumers, which are in no group.
      WHEN (e.client_id LIKE 'connector-consumer-%' OR NOT p.is_worker) AND (e.message LIKE 'App info kafka.consumer for %'
        OR e.client_kind = 'Consumer' AND e.group_id IS NOT NULL) THEN e.client_id
      WHEN NOT p.is_worker AND e.event = 'config_dumped' AND e.component = 'ConsumerConfig' THEN n.client END AS client
  FROM event e JOIN (SELECT DISTINCT process_id, is_worker, is_broker FROM process_life) p ON p.process_id = e.process_id
  LEFT JOIN coordinator_name n ON n.group_id = e.config['group.id'] AND n.client = e.config['client.id']
  -- Brokers print task names as parts of member ids.
  WHERE NOT p.is_broker
), quiet_process AS (
  SELECT process_id FROM naming_line GROUP BY process_id HAVING count_if(is_info AND is_group_line) = 0
)
SELECT process_id, CAST(NULL AS STRING) AS client, min(at_ms) AS from_ms, max(at_ms) AS to_ms FROM naming_line
WHERE names_work GROUP BY process_id HAVING count_if(is_info AND is_work_line) = 0
UNION ALL
SELECT l.process_id, l.client, min(l.at_ms) AS from_ms, max(l.at_ms) AS to_ms FROM naming_line l
LEFT SEMI JOIN quiet_process q ON q.process_id = l.process_id
WHERE l.client IS NOT NULL GROUP BY l.process_id, l.client

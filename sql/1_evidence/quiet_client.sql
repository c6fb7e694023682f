-- One row per consumer named in a log without any of the lines that Kafka consumers print about their groups at INFO.
-- Reads: event, process_life
-- Grain: process_id, client
-- A sink task that starts has a consumer, named after it unless configured otherwise. A consumer that is closed or that logs a warning is
-- named too. Consumers print joins, assignments and leaves at INFO (org.apache.kafka.clients). If no consumer of the process prints any,
-- that logger was off or at WARN, or the log is incomplete. A consumer that prints only its settings may be in no group, so a coordinator
-- must name it.
CREATE OR REPLACE TEMPORARY VIEW quiet_client (
  process_id COMMENT 'Process',
  client     COMMENT 'client.id of the consumer',
  from_ms    COMMENT 'First line that names it, by the log''s clock (milliseconds since 1970)',
  to_ms      COMMENT 'Last such line'
)
COMMENT 'One row per consumer named in a log without any of the lines that consumers print about their groups at INFO.'
AS
WITH coordinator_name AS (
  SELECT DISTINCT group_id, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS client
  FROM event
  WHERE broker_id IS NOT NULL AND group_id IS NOT NULL AND member_id IS NOT NULL
), consumer_line AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms,
    coalesce(e.level, 'INFO') NOT IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL', 'CRITICAL')
      AND (e.category IN ('membership', 'assignment') AND NOT coalesce(e.client_kind = 'Worker', false) AND e.event NOT LIKE 'worker\\_%'
        -- A consumer that chooses its own partitions is in no group.
        OR NOT p.is_worker AND e.message RLIKE '^(Subscribed|Assigned) to partition') AS is_group_line,
    CASE
      WHEN e.message LIKE 'WorkerSinkTask{%' THEN concat('connector-consumer-', e.task)
      -- A worker has internal consumers, which are in no group.
      WHEN (e.client_id LIKE 'connector-consumer-%' OR NOT p.is_worker)
        AND (e.message LIKE 'App info kafka.consumer for %' OR e.client_kind = 'Consumer' AND e.group_id IS NOT NULL) THEN e.client_id
      WHEN NOT p.is_worker AND e.event = 'config_dumped' AND e.component = 'ConsumerConfig' THEN n.client
    END AS client
  FROM event e
  JOIN (SELECT process_id, bool_or(is_worker) AS is_worker, bool_or(is_broker) AS is_broker FROM process_life GROUP BY process_id) p
    ON p.process_id = e.process_id
  LEFT JOIN coordinator_name n ON n.group_id = e.config['group.id'] AND n.client = e.config['client.id']
  WHERE NOT p.is_broker
), quiet_process AS (
  SELECT process_id FROM consumer_line GROUP BY process_id HAVING count_if(is_group_line) = 0
)
SELECT
  l.process_id AS process_id,
  l.client AS client,
  min(l.at_ms) AS from_ms,
  max(l.at_ms) AS to_ms
FROM consumer_line l
LEFT SEMI JOIN quiet_process q ON q.process_id = l.process_id
WHERE l.client IS NOT NULL
GROUP BY l.process_id, l.client

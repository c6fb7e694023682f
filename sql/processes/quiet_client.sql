-- One row per consumer that a log shows, in a process whose log holds nothing of what Kafka's consumers say of their groups at INFO.
-- Reads: event, process_life
-- Grain: process_id, client
-- A sink task that starts has a consumer, named after it unless a setting says otherwise; one that is closed, or that warns, is named.
-- Joins, assignments and leaves are all said at INFO by org.apache.kafka.clients: where no consumer of the process says any, that logger
-- was off or at WARN, or the log is a part of one. One that prints its settings alone may be in no group: a coordinator must name it.
CREATE OR REPLACE TEMPORARY VIEW quiet_client (
  process_id COMMENT 'Process',
  client     COMMENT 'client.id of the consumer',
  from_ms    COMMENT 'First line that shows it, by the log''s clock (milliseconds since 1970)',
  to_ms      COMMENT 'Last such line'
)
COMMENT 'One row per consumer that a log shows, where nothing of what consumers say of their groups at INFO is in that log.'
AS
WITH named AS (
  SELECT DISTINCT group_id, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS client
  FROM event
  WHERE broker_id IS NOT NULL AND group_id IS NOT NULL AND member_id IS NOT NULL
), line AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms,
    coalesce(e.level, 'INFO') NOT IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL', 'CRITICAL')
      AND (e.category IN ('membership', 'assignment') AND NOT coalesce(e.client_kind = 'Worker', false) AND e.event NOT LIKE 'worker\\_%'
        -- A consumer that chooses its partitions is in no group.
        OR NOT p.is_worker AND e.message RLIKE '^(Subscribed|Assigned) to partition') AS is_told,
    CASE
      WHEN e.message LIKE 'WorkerSinkTask{%' THEN concat('connector-consumer-', e.task)
      -- A worker has consumers of its own, which are in no group.
      WHEN (e.client_id LIKE 'connector-consumer-%' OR NOT p.is_worker)
        AND (e.message LIKE 'App info kafka.consumer for %' OR e.client_kind = 'Consumer' AND e.group_id IS NOT NULL) THEN e.client_id
      WHEN NOT p.is_worker AND e.event = 'config_dumped' AND e.component = 'ConsumerConfig' THEN n.client
    END AS client
  FROM event e
  JOIN (SELECT process_id, bool_or(is_worker) AS is_worker, bool_or(is_broker) AS is_broker FROM process_life GROUP BY process_id) p
    ON p.process_id = e.process_id
  LEFT JOIN named n ON n.group_id = e.config['group.id'] AND n.client = e.config['client.id']
  WHERE NOT p.is_broker
), quiet AS (
  SELECT process_id FROM line GROUP BY process_id HAVING count_if(is_told) = 0
)
SELECT
  l.process_id AS process_id,
  l.client AS client,
  min(l.at_ms) AS from_ms,
  max(l.at_ms) AS to_ms
FROM line l
LEFT SEMI JOIN quiet q ON q.process_id = l.process_id
WHERE l.client IS NOT NULL
GROUP BY l.process_id, l.client

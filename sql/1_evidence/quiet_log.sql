-- One row per process whose log names tasks or a worker but has none of Kafka's INFO lines about them, only warnings or settings.
-- Reads: event, process_life
-- Grain: process_id
-- Kafka logs starts, stops and assignments at INFO. Without these lines the owners of tasks are unknown: the log proves no ownership, and
-- its silence does not mean that all is well.
CREATE OR REPLACE TEMPORARY VIEW quiet_log (
  process_id COMMENT 'Process',
  from_ms    COMMENT 'First line that names a task or worker, by the log''s clock (milliseconds since 1970)',
  to_ms      COMMENT 'Last such line'
)
COMMENT 'One row per process whose log names tasks or a worker but has none of the INFO lines about them.'
AS
SELECT
  process_id AS process_id,
  unix_millis(min(ts)) AS from_ms,
  unix_millis(max(ts)) AS to_ms
FROM event e
-- Brokers print task names as parts of member ids.
LEFT ANTI JOIN (SELECT DISTINCT process_id FROM process_life WHERE is_broker) b ON b.process_id = e.process_id
WHERE task IS NOT NULL OR connector IS NOT NULL OR client_kind = 'Worker'
GROUP BY process_id
-- A worker that printed only its start had no work yet. Its logger is the one that prints assignments.
HAVING count_if((category IN ('membership', 'assignment', 'task', 'connector') OR event = 'herder_starting')
  AND coalesce(level, 'INFO') NOT IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL', 'CRITICAL')) = 0

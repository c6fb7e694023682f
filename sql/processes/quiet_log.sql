-- One row per process whose log names tasks or a worker and does not hold what Kafka says of them at INFO: warnings alone, or settings.
-- Reads: event, process_life
-- Grain: process_id
-- Starts, stops and assignments are all said at INFO. Where none of that is printed, nothing is known of who ran what: the log proves no
-- ownership, and its silence is no all-clear.
CREATE OR REPLACE TEMPORARY VIEW quiet_log (
  process_id COMMENT 'Process',
  from_ms    COMMENT 'First line that names a task or worker, by the log''s clock (milliseconds since 1970)',
  to_ms      COMMENT 'Last such line'
)
COMMENT 'One row per process whose log names tasks or a worker and does not hold what is said of them at INFO.'
AS
SELECT
  process_id AS process_id,
  unix_millis(min(ts)) AS from_ms,
  unix_millis(max(ts)) AS to_ms
FROM event e
-- Brokers name tasks in the ids of members.
LEFT ANTI JOIN (SELECT DISTINCT process_id FROM process_life WHERE is_broker) b ON b.process_id = e.process_id
WHERE task IS NOT NULL OR connector IS NOT NULL OR client_kind = 'Worker'
GROUP BY process_id
-- A worker that printed no more than that it starts had no work yet; its logger is that of the assignments.
HAVING count_if((category IN ('membership', 'assignment', 'task', 'connector') OR event = 'herder_starting')
  AND coalesce(level, 'INFO') NOT IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL', 'CRITICAL')) = 0

-- One row per task whose status, according to Connect's REST interface or its status topic, contradicts the logs.
-- Reads: task_status, ownership, process, clock_offset
WITH clock_margin AS (
  -- The clock of a status is unknown: it may be that of any process of the case.
  SELECT stale_status_ms + coalesce(max(greatest(abs(lo_ms), abs(hi_ms))), 0) AS margin_ms FROM clock_offset
), status_record AS (
  SELECT task, state, worker_id, event_id, unix_millis(taken_ts) AS taken_ms, max(unix_millis(taken_ts)) OVER (PARTITION BY path) AS until_ms,
    row_number() OVER (PARTITION BY path, task ORDER BY line DESC, event_id DESC) AS nth
  FROM task_status WHERE source = 'connect_topic'
), reported_status AS (
  -- A REST answer is valid at its moment. The last record of a task in a dump of the status topic is still valid at the end of the dump.
  SELECT task, state, worker_id, unix_millis(taken_ts) AS at_ms, event_id FROM task_status
  WHERE source = 'connect_rest' AND task IS NOT NULL AND taken_ts IS NOT NULL AND state IN ('RUNNING', 'UNASSIGNED')
  UNION ALL
  SELECT t.task, t.state, t.worker_id, t.until_ms - m.margin_ms AS at_ms, t.event_id FROM status_record t
  CROSS JOIN clock_margin m
  WHERE t.nth = 1 AND t.task IS NOT NULL AND t.state IN ('RUNNING', 'UNASSIGNED') AND t.until_ms - t.taken_ms >= 2 * m.margin_ms
), task_ownership AS (
  SELECT kafka_cluster, group_id, resource, process_id, member_id, generation, witness, unix_millis(start_lo) AS start_lo_ms,
    unix_millis(start_hi) AS start_hi_ms, unix_millis(stop_lo) AS stop_lo_ms, unix_millis(stop_hi) AS stop_hi_ms,
    min(group_id) OVER (PARTITION BY resource) = max(group_id) OVER (PARTITION BY resource)
      AND min(coalesce(kafka_cluster, '')) OVER (PARTITION BY resource) = max(coalesce(kafka_cluster, '')) OVER (PARTITION BY resource)
      AS is_of_one_group
  FROM ownership WHERE resource_kind = 'task' AND group_id IS NOT NULL
), worker_address AS (
  SELECT process_id, regexp_extract(worker_url, '://([^/]+)', 1) AS worker_id FROM process WHERE worker_url IS NOT NULL
), contradicted_status AS (
  SELECT c.task, c.state, c.worker_id, c.at_ms, c.event_id, h.kafka_cluster, h.group_id, h.process_id, h.member_id, h.generation,
    h.start_hi_ms, h.stop_lo_ms, h.witness, w.process_id AS named_process_id, m.margin_ms
  FROM reported_status c CROSS JOIN clock_margin m
  JOIN worker_address w ON w.worker_id = c.worker_id
  JOIN task_ownership h ON h.resource = c.task AND h.is_of_one_group
    AND h.start_hi_ms <= c.at_ms - m.margin_ms AND h.stop_lo_ms >= c.at_ms + m.margin_ms
  WHERE c.state = 'UNASSIGNED' OR h.process_id <> w.process_id
)
SELECT 'warning' AS severity, 'undecided' AS verdict, c.kafka_cluster, c.group_id, c.task AS subject, c.at_ms AS from_ms, c.at_ms AS to_ms,
  CASE c.state WHEN 'RUNNING' THEN 'running_elsewhere' ELSE 'unassigned' END AS code,
  struct(c.task, c.process_id, c.member_id, c.generation, c.state, c.worker_id, c.named_process_id, c.at_ms AS status_at_ms,
    c.start_hi_ms AS running_from_at_ms, c.stop_lo_ms AS running_to_at_ms, c.margin_ms) AS facts,
  concat(array(named_struct('role', 'reports the status', 'event_id', c.event_id)),
    transform(slice(c.witness, 1, 10), x -> named_struct('role', 'shows the task in its owner', 'event_id', x))) AS proof
FROM contradicted_status c
-- The worker in the status may have had the task too; then the status may be true.
LEFT ANTI JOIN task_ownership o ON c.state = 'RUNNING' AND o.resource = c.task AND o.process_id = c.named_process_id
  AND (o.start_lo_ms IS NULL OR o.start_lo_ms <= c.at_ms + c.margin_ms) AND (o.stop_hi_ms IS NULL OR o.stop_hi_ms >= c.at_ms - c.margin_ms)

-- One row per line about one Connect task or connector in one worker, with the worker's next and previous marker lines.
-- Reads: placed_event, shared_log, quiet_log
-- Grain: event_id
-- `kind`: order (start requested), start (constructed), sign (the task's own thread or client was working), stop (stop requested), and the end lines.
-- A start prints a dozen lines before its thread begins. The first of them that is in the log begins the run of the task, even if others are missing.
CREATE OR REPLACE TEMPORARY VIEW task_line (
  event_id, kafka_cluster,
  group_id         COMMENT 'Group of the Connect worker',
  process_id, instance,
  resource_kind    COMMENT 'task or connector',
  resource         COMMENT 'Task or connector',
  stream_pos, at_ms, event,
  kind             COMMENT 'order, start, sign, stop, failed_stop, stopped, failed, orphan_failed, leaving, closing, closed',
  app_kind, timeout_ms,
  own_member_id    COMMENT 'Member id of the task''s own consumer, if the line has it',
  is_work          COMMENT 'True for a sign that only a working task prints, or one that has just finished: it commits, a source starts or its
    producer finds the cluster, a sink''s consumer has partitions or finds positions, or it begins to close its producer',
  by_schedule      COMMENT 'True for lines of the thread that commits the offsets of all source tasks (2.3.0 and later)',
  life             COMMENT 'n-th start of this resource in this run of the process; 0 before the first',
  member_id        COMMENT 'Worker''s member id at that time',
  generation       COMMENT 'Generation of the worker''s last assignment before the line',
  tasks_stopped    COMMENT 'The next line that reports that all tasks to be stopped have stopped: position, time, event',
  statuses_flushed COMMENT 'The next line that reports that the worker''s writes to the status topic are complete: position, time, event',
  work_started     COMMENT 'The next line that reports that all tasks to be started have started: position, time, event',
  herder_stopped   COMMENT 'The line that reports that the herder stopped: position, time, event'
)
AS
WITH classified_line AS (
  SELECT event_id, kafka_cluster, worker_group_id AS group_id, process_id, instance, stream_pos, unix_millis(ts) AS at_ms, event, app_kind,
    timeout_ms, coalesce(context LIKE '%|offsets', false) AS by_schedule, member_id, generation, client_kind,
    CASE WHEN client_kind = 'Consumer' AND task IS NOT NULL THEN member_id END AS own_member_id,
    -- A sink reads and writes nothing before its consumer has a partition: neither its start nor its consumer's lines about joining the group are
    -- work. A client's lines about its network, or about leaving its group, are not either: one that is being closed prints them too.
    event = 'connector_started' OR event IN ('task_started', 'task_executing') AND NOT is_sink
      OR event = 'task_committing' AND (record_count > 0 OR is_sink) OR client_kind = 'Producer' AND event = 'kafka_cluster_id'
      OR client_kind = 'Consumer' AND (event IN ('position_set', 'position_missing', 'position_reset')
        OR event = 'partitions_assigned' AND size(partitions) > 0) AS is_work,
    CASE WHEN is_connector_line THEN 'connector' WHEN task IS NOT NULL THEN 'task' END AS resource_kind,
    CASE WHEN is_connector_line THEN connector ELSE task END AS resource,
    CASE WHEN event = 'task_starting' THEN 'order'
      WHEN event IN ('task_creating', 'connector_creating') THEN 'start'
      -- Lines of clients are excluded: the task's own code may create clients of its own at any time.
      WHEN task IS NOT NULL AND (event = 'task_instantiated' OR event = 'other_connect' AND logger LIKE '%Worker'
        OR event = 'config_dumped' AND component IN ('TaskConfig', 'ConnectorConfig', 'EnrichedConnectorConfig', 'SourceConnectorConfig',
        'SinkConnectorConfig')) THEN 'making'
      WHEN event IN ('task_stopping', 'connector_stopping', 'connector_stop_scheduled') THEN 'stop'
      WHEN event = 'task_stop_failed' THEN 'failed_stop'
      WHEN event IN ('task_stop_succeeded', 'connector_stopped') THEN 'stopped'
      WHEN event = 'task_failed' THEN 'failed'
      WHEN event = 'task_orphan_failed' THEN 'orphan_failed'
      WHEN event = 'client_closed' THEN 'closed'
      WHEN event = 'leaving' AND client_kind = 'Consumer' THEN 'leaving'
      WHEN event = 'producer_closing' THEN 'closing'
      -- Another thread commits a source's offsets, and it continues after the task hangs or fails. Only committed records prove work.
      WHEN event = 'task_committing' THEN CASE WHEN record_count > 0 OR is_sink THEN 'sign' END
      WHEN event IN ('task_started', 'task_executing', 'connector_started') THEN 'sign'
      -- The client belongs to the task: the worker creates it before the task's thread starts, and that thread closes it.
      WHEN client_kind IN ('Consumer', 'Producer') AND event NOT IN ('config_dumped', 'kafka_version', 'client_started') THEN 'sign' END AS line_kind
  FROM (
    SELECT e.*, e.logger LIKE '%WorkerSinkTask' AS is_sink, e.event IN ('connector_creating', 'connector_started', 'connector_stopping',
      'connector_stop_scheduled', 'connector_stopped') AS is_connector_line
    FROM placed_event e LEFT ANTI JOIN shared_log s ON s.process_id = e.process_id AND s.is_worker
    LEFT ANTI JOIN quiet_log q ON q.process_id = e.process_id AND q.client IS NULL
  )
  WHERE task IS NOT NULL OR event LIKE 'connector\\_%' OR event IN ('tasks_stopped', 'statuses_flushed', 'work_started', 'herder_stopped')
    OR client_kind = 'Worker' AND event IN ('joined', 'synced', 'worker_assigned')
), line_sequence AS (
  SELECT *,
    -- A producer learns its cluster on a thread of its own while the worker is still constructing the task.
    lag(CASE WHEN event <> 'kafka_cluster_id' THEN line_kind END) IGNORE NULLS OVER in_order AS last_kind,
    lag(line_kind) IGNORE NULLS OVER in_reverse AS next_kind,
    lag(CASE WHEN line_kind IN ('order', 'making', 'start', 'stop', 'failed_stop') OR event = 'task_started' THEN line_kind END)
      IGNORE NULLS OVER in_reverse AS next_mark,
    -- A thread that the worker abandoned prints under the same name while the worker constructs its successor.
    count_if(line_kind = 'failed_stop') OVER (PARTITION BY process_id, instance, resource_kind, resource
      ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) > 0 AS is_doubled
  FROM classified_line
  WINDOW in_order AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos),
    in_reverse AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY -stream_pos)
), lifecycle_line AS (
  SELECT *,
    CASE WHEN line_kind IS NULL OR resource IS NULL THEN line_kind
      -- A connector's only sign of construction is the line at its end.
      WHEN event = 'connector_started' AND coalesce(last_kind, '-') <> 'start' THEN 'start'
      -- The start request counts as the start if all lines of the construction are missing.
      WHEN line_kind = 'order' AND NOT is_doubled AND next_kind IS NOT NULL AND coalesce(next_mark, '-') NOT IN ('order', 'making', 'start')
        THEN 'start'
      WHEN line_kind = 'making' AND NOT is_doubled AND coalesce(last_kind, '-') NOT IN ('making', 'start') THEN 'start'
      ELSE line_kind END AS kind
  FROM line_sequence
), line_with_markers AS (
  SELECT *,
    count_if(kind = 'start') OVER (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS life,
    lag(CASE WHEN client_kind = 'Worker' THEN member_id END) IGNORE NULLS OVER before AS worker_member_id,
    lag(CASE WHEN event = 'worker_assigned' OR client_kind = 'Worker' AND event = 'synced' THEN generation END) IGNORE NULLS
      OVER before AS worker_generation,
    lag(CASE WHEN event = 'tasks_stopped' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER after AS tasks_stopped,
    lag(CASE WHEN event = 'statuses_flushed' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER after AS statuses_flushed,
    lag(CASE WHEN event = 'work_started' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER after AS work_started,
    lag(CASE WHEN event = 'herder_stopped' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER after AS herder_stopped
  FROM lifecycle_line
  WINDOW before AS (PARTITION BY process_id, instance ORDER BY stream_pos), after AS (PARTITION BY process_id, instance ORDER BY -stream_pos)
)
SELECT
  m.event_id, m.kafka_cluster, m.group_id, m.process_id, m.instance, m.resource_kind, m.resource, m.stream_pos, m.at_ms, m.event, m.kind, m.app_kind,
  m.timeout_ms, m.own_member_id, m.kind = 'sign' AND coalesce(m.is_work, false) OR m.kind = 'closing' AND m.timeout_ms > 0 AS is_work, m.by_schedule,
  m.life, m.worker_member_id AS member_id, m.worker_generation AS generation, m.tasks_stopped, m.statuses_flushed, m.work_started, m.herder_stopped
FROM line_with_markers m WHERE m.kind <> 'making' AND m.resource IS NOT NULL

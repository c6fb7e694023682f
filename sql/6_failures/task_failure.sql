-- One row per failure of a Connect task or connector: why and when it failed, what came before, and who ran it afterwards.
-- Reads: fact_line, task_line, event, process_life, holding, clock_offset, log_hole, quiet_log, unowned, process_cluster, process
-- Grain: event_id
-- Public: yes
-- Consecutive lines about one failure are one row. Failures of a worker that is stopping have none. Work ends at the line of the failure; the task
-- stays assigned, and only a start ends the time for which it is not running. The deletion of its connector ends the failure. A start must have its
-- line after the failure: the latest possible time of an unknown start does not show one.
CREATE OR REPLACE TEMPORARY VIEW task_failure (
  event_id      COMMENT 'The first line about the failure',
  kafka_cluster,
  group_id      COMMENT 'Group of the Connect worker',
  resource_kind COMMENT 'task or connector',
  resource      COMMENT 'Task (connector-number) or connector; NULL: the line names none',
  connector,
  process_id    COMMENT 'Worker',
  instance,
  event         COMMENT 'task_failed: while it ran; task_killed: its second line, up to 2.6; task_init_failed and task_start_failed: before it
    ran; connector_failed, connector_start_failed',
  failed_ts     COMMENT 'When, by the worker''s clock',
  failed_lo     COMMENT 'Earliest time of the failure (reference clock)',
  failed_hi     COMMENT 'Latest time of the failure',
  message       COMMENT 'First line of the message',
  exception     COMMENT 'The outermost exception as printed; NULL: the line has none',
  innermost     COMMENT 'The innermost cause of that exception; the exception itself if no cause is printed',
  before_id     COMMENT 'The last warning or error of the same task or connector in the minute before (failure_before_ms); NULL: none',
  before_event  COMMENT 'What it says',
  before_said   COMMENT 'Its error, cause or reason, else its message',
  before_ms     COMMENT 'How long before the failure, milliseconds',
  ran_again     COMMENT 'same_worker, other_worker: it started there afterwards; already_elsewhere: another owner certainly had it already; NULL: no
    line shows that it ran again',
  restart_how   COMMENT 'rest: a request to restart this task or connector; restart_plan: a request to restart the connector and its tasks;
    assignment: with the work that a rebalance gave its worker; process_restarted: its worker restarted; NULL: the lines do not show it',
  restart_client COMMENT 'rest: host that sent the request; a worker that forwarded it, if that is one',
  next_process_id COMMENT 'Worker that ran it next',
  next_ownership_id COMMENT 'Its ownership',
  next_start_id COMMENT 'Line of its start there',
  next_ts       COMMENT 'Earliest time of its start there, by that worker''s clock',
  deleted_lo    COMMENT 'Its connector was deleted, before any later start: earliest time (reference clock); NULL: no line shows it',
  deleted_id    COMMENT 'First line about the deletion',
  idle_certain_ms COMMENT 'It was not running for at least this long, milliseconds; NULL: it did not run again, or why_unknown',
  idle_possible_ms COMMENT 'It was not running for at most this long, milliseconds',
  why_unknown   COMMENT 'Why the time for which it was not running is unknown: no_later_start (no line shows one), lines_missing (none does, and the
    worker''s log lacks such lines), other_clock (an owner whose clock cannot be compared), clock_stepped, no_times; NULL: it is known',
  watched_ms    COMMENT 'How long the log of the worker''s run continues after the failure, milliseconds',
  reference_process_id,
  witness       COMMENT 'Events that prove it: what came before, the lines of the failure, the next start'
)
AS
WITH failure_line AS (
  SELECT f.*, l.last_ms, CASE WHEN f.task IS NOT NULL THEN 'task' ELSE 'connector' END AS resource_kind,
    coalesce(f.task, f.connector) AS resource, coalesce(regexp_replace(f.task, '-[0-9]+$', ''), f.connector) AS of_connector
  FROM fact_line f JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  WHERE f.event IN ('task_failed', 'task_killed', 'task_start_failed', 'task_init_failed', 'connector_start_failed', 'connector_failed')
    AND (l.stopping_ms IS NULL OR f.at_ms < l.stopping_ms)
), event_line AS (
  SELECT process_id, instance, stream_pos, unix_millis(ts) AS at_ms, event_id, event, coalesce(error, cause, reason, message) AS said, client_host,
    task, connector,
    event = 'rest_request' AND operation = 'POST' AND url RLIKE '^/connectors/[^/?]+(/tasks/[0-9]+)?/restart' AND http_status < 300 AS is_restart,
    regexp_extract(url, '^/connectors/([^/?]+)', 1) AS url_connector, regexp_extract(url, '/tasks/([0-9]+)/restart', 1) AS url_task
  FROM event
  WHERE (upper(level) IN ('WARN', 'WARNING', 'ERROR', 'SEVERE', 'FATAL') AND coalesce(task, connector) IS NOT NULL
    OR event = 'rest_request' AND operation = 'POST')
    AND event NOT IN ('task_failed', 'task_killed', 'task_start_failed', 'task_init_failed', 'connector_start_failed', 'connector_failed')
), resource_line AS (
  SELECT
    process_id, instance, resource_kind, resource, stream_pos, at_ms, event_id, 'failure' AS kind, event, said, CAST(NULL AS STRING) AS client_host
  FROM failure_line
  UNION ALL
  SELECT process_id, instance, resource_kind, resource, stream_pos, at_ms, event_id, 'start', event, NULL, NULL FROM task_line
  WHERE kind = 'start'
  UNION ALL
  SELECT process_id, instance, CASE WHEN task IS NOT NULL THEN 'task' ELSE 'connector' END, coalesce(task, connector), stream_pos, at_ms, event_id,
    'warning', event, said, NULL
  FROM event_line WHERE event <> 'rest_request'
  UNION ALL
  SELECT process_id, instance, CASE WHEN url_task <> '' THEN 'task' ELSE 'connector' END,
    CASE WHEN url_task <> '' THEN concat_ws('-', url_connector, url_task) ELSE url_connector END, stream_pos, at_ms, event_id, 'rest', event, NULL,
    client_host
  FROM event_line WHERE is_restart
), line_with_neighbours AS (
  SELECT *,
    count_if(kind = 'start') OVER (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS life,
    lag(CASE WHEN kind IN ('failure', 'start') THEN kind END) IGNORE NULLS OVER before AS last_kind,
    lag(CASE WHEN kind IN ('failure', 'start') THEN at_ms END) IGNORE NULLS OVER before AS last_ms,
    lag(CASE WHEN kind = 'warning' THEN struct(at_ms, event_id, event, said) END) IGNORE NULLS OVER before AS warning,
    lag(CASE WHEN kind IN ('rest', 'start') THEN struct(kind, at_ms, event_id, client_host) END) IGNORE NULLS OVER after AS next_mark
  FROM resource_line
  WINDOW before AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos, event_id),
    after AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY -stream_pos)
), numbered_line AS (
  -- Without a start in between, a task fails only once; several lines are about that failure. A log without starts may lack them.
  SELECT *, count_if(NOT coalesce(last_kind = 'failure' AND coalesce(at_ms - last_ms <= failure_lines_ms, true), false))
    OVER (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos, event_id ROWS UNBOUNDED PRECEDING) AS nth
  FROM line_with_neighbours WHERE kind = 'failure'
), failure AS (
  SELECT f.kafka_cluster, f.worker_group_id AS group_id, f.resource_kind, f.resource, f.process_id, f.instance, n.life,
    max(f.of_connector) AS connector, max(f.last_ms) AS last_ms, min_by(f.event_id, f.stream_pos) AS event_id, min_by(f.event, f.stream_pos) AS event,
    min_by(f.at_ms, f.stream_pos) AS at_ms, min(f.stream_pos) AS from_pos, max(f.stream_pos) AS to_pos, min_by(n.warning, f.stream_pos) AS warning,
    -- The first line with an exception.
    min_by(struct(f.message, f.said, f.root_error), struct(f.said IS NULL, f.stream_pos, f.event_id)) AS line,
    slice(array_sort(collect_list(f.event_id)), 1, 4) AS line_ids
  FROM failure_line f JOIN numbered_line n ON n.event_id = f.event_id
  GROUP BY f.kafka_cluster, f.worker_group_id, f.resource_kind, f.resource, f.process_id, f.instance, n.life, n.nth
), placed_failure AS (
  SELECT f.*, r.resolution_ms, o.reference_process_id, f.at_ms - o.hi_ms AS lo_ms, f.at_ms + r.resolution_ms - o.lo_ms AS hi_ms
  FROM failure f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  JOIN process_cluster r ON r.process_id = f.process_id AND r.is_last
), owner AS (
  -- Each run of a resource that failed, on the reference clock; one that failed ends there.
  SELECT h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.reference_process_id, h.ownership_id, h.process_id, h.generation, h.start_id,
    h.start_lo_ms, coalesce(h.start_hi_ms, h.start_lo_ms) AS start_hi_ms, h.stop_hi_ms, f.event_id AS failure_id, h.from_lo_ms,
    coalesce(h.from_hi_ms, h.start_lo_ms + h.resolution_ms - h.ahead_lo_ms) AS from_hi_ms,
    h.start_lo_ms + h.resolution_ms - h.ahead_lo_ms AS line_hi_ms,
    least(h.stop_lo_ms, f.at_ms) - h.ahead_hi_ms AS to_lo_ms,
    coalesce(least(f.at_ms, h.work_stop_hi_ms, h.stop_hi_ms) + h.resolution_ms - h.ahead_lo_ms, 9000000000000000) AS to_hi_ms
  FROM holding h LEFT SEMI JOIN failure s ON s.resource_kind = h.resource_kind AND s.resource = h.resource
  LEFT JOIN (
    SELECT process_id, concat_ws('/', instance, life) AS owner, resource_kind, resource, max(event_id) AS event_id, min(at_ms) AS at_ms
    FROM failure GROUP BY process_id, instance, life, resource_kind, resource
  ) f ON f.process_id = h.process_id AND f.owner = h.owner AND f.resource_kind = h.resource_kind AND f.resource = h.resource
  WHERE h.resource_kind <> 'partition'
), island_count AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, count(DISTINCT reference_process_id) AS islands FROM owner
  GROUP BY kafka_cluster, group_id, resource_kind, resource
), owner_and_failure AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, line_hi_ms AS at_ms, 1 AS turn, CAST(NULL AS STRING) AS event_id,
    ownership_id AS id, from_lo_ms, to_lo_ms, to_hi_ms, ownership_id, process_id
  FROM owner WHERE line_hi_ms IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, hi_ms, 0, event_id, event_id, NULL, NULL, NULL, NULL, NULL
  FROM placed_failure WHERE hi_ms IS NOT NULL
), failure_with_owners AS (
  SELECT event_id, at_ms, next_ownership_id, later_lo_ms, earlier_to_lo_ms, earlier_to_hi_ms, earlier_owner.process_id AS earlier_process_id
  FROM (
    SELECT *,
      lag(ownership_id) IGNORE NULLS OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id
        ORDER BY -at_ms, -turn, id) AS next_ownership_id,
      min(from_lo_ms) OVER after AS later_lo_ms, max(to_lo_ms) OVER before AS earlier_to_lo_ms, max(to_hi_ms) OVER before AS earlier_to_hi_ms,
      max(CASE WHEN to_lo_ms IS NOT NULL THEN struct(to_lo_ms, process_id) END) OVER before AS earlier_owner
    FROM owner_and_failure
    WINDOW before AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id ORDER BY at_ms, turn, id
        ROWS UNBOUNDED PRECEDING),
      after AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id ORDER BY -at_ms, -turn, id
        ROWS UNBOUNDED PRECEDING)
  )
  WHERE event_id IS NOT NULL
), start_mark AS (
  -- What the herder was doing when it started each task or connector.
  SELECT event_id, mark.event AS doing, mark.connector AS of_connector
  FROM (
    SELECT event_id, kind, lag(CASE WHEN kind = 'mark' THEN struct(event, connector) END) IGNORE NULLS
      OVER (PARTITION BY process_id, instance ORDER BY stream_pos, event_id) AS mark
    FROM (
      SELECT process_id, instance, stream_pos, event_id, 'start' AS kind, event, CAST(NULL AS STRING) AS connector FROM task_line WHERE kind = 'start'
      UNION ALL
      SELECT process_id, instance, stream_pos, event_id, 'mark', event, connector
      FROM event WHERE event IN ('work_starting', 'work_started', 'restart_executing')
    )
  )
  WHERE kind = 'start'
), next_start AS (
  SELECT n.event_id AS start_id, n.process_id, n.instance, n.stream_pos,
    CASE WHEN n.next_mark.kind = 'rest' AND n.next_mark.at_ms - n.at_ms <= restart_answered_ms THEN 'rest'
      WHEN m.doing = 'restart_executing' AND m.of_connector = CASE n.resource_kind WHEN 'task' THEN regexp_replace(n.resource, '-[0-9]+$', '')
        ELSE n.resource END THEN 'restart_plan'
      WHEN m.doing = 'work_starting' THEN 'assignment' END AS how,
    CASE WHEN n.next_mark.kind = 'rest' AND n.next_mark.at_ms - n.at_ms <= restart_answered_ms THEN n.next_mark.client_host END AS client
  FROM line_with_neighbours n LEFT JOIN start_mark m ON m.event_id = n.event_id WHERE n.kind = 'start'
), deletion AS (
  SELECT f.event_id AS failure_id, min(l.at_ms - o.hi_ms) AS lo_ms,
    min_by(l.event_id, struct(l.at_ms - o.hi_ms, l.process_id, l.event_id)) AS event_id
  FROM placed_failure f
  JOIN fact_line l ON l.kafka_cluster = f.kafka_cluster AND l.worker_group_id = f.group_id AND l.connector = f.connector
    AND l.event = 'connector_config_removed'
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference AND o.reference_process_id = f.reference_process_id
  WHERE l.at_ms - o.hi_ms >= f.lo_ms GROUP BY f.event_id
), last_gap AS (
  SELECT process_id, instance, max(to_pos) AS to_pos FROM log_hole GROUP BY process_id, instance
), last_step AS (
  SELECT process_id, array_max(step.places.after_pos) AS after_pos FROM clock_offset WHERE step.places IS NOT NULL
), decided AS (
  SELECT f.*, w.earlier_to_lo_ms, w.earlier_process_id, n.ownership_id AS next_ownership_id, n.process_id AS next_process_id, n.start_id,
    n.start_lo_ms, n.start_hi_ms, s.how, s.client, s.instance AS next_instance, n.process_id = f.process_id AS is_same_log,
    n.process_id = f.process_id OR p.process_id IS NOT NULL AS is_same_worker,
    CASE WHEN w.earlier_to_lo_ms > f.hi_ms THEN 0L
      WHEN n.process_id = f.process_id THEN n.start_hi_ms + f.resolution_ms - f.at_ms
      ELSE n.from_hi_ms - f.lo_ms END AS possible_ms,
    CASE WHEN w.earlier_to_hi_ms > f.hi_ms THEN 0L
      -- Another member may have had it meanwhile, or lines may be missing.
      WHEN i.islands > 1 OR g.next_ownership_id IS NOT NULL OR coalesce(e.to_pos > f.to_pos, false) OR q.process_id IS NOT NULL THEN 0L
      WHEN NOT n.generation <=> own.generation AND own.stop_hi_ms IS NULL THEN 0L
      WHEN n.process_id = f.process_id AND n.from_lo_ms <= w.later_lo_ms THEN greatest(0L, n.start_lo_ms - f.at_ms - f.resolution_ms)
      WHEN w.later_lo_ms IS NULL THEN 0L
      ELSE greatest(0L, w.later_lo_ms - f.hi_ms) END AS certain_ms,
    coalesce(e.to_pos > f.to_pos, false) OR q.process_id IS NOT NULL AS is_incomplete,
    coalesce(t.after_pos > f.from_pos, false) OR n.process_id <> f.process_id AND u.process_id IS NOT NULL AS is_stepped,
    coalesce(i.islands > 1, false) AS is_apart,
    CASE WHEN n.from_lo_ms <= z.lo_ms THEN NULL ELSE z.lo_ms END AS deleted_lo_ms,
    CASE WHEN n.from_lo_ms <= z.lo_ms THEN NULL ELSE z.event_id END AS deleted_id
  FROM placed_failure f LEFT JOIN failure_with_owners w ON w.event_id = f.event_id
  LEFT JOIN owner n ON n.ownership_id = w.next_ownership_id
  LEFT JOIN owner own ON own.failure_id = f.event_id
  LEFT JOIN next_start s ON s.start_id = n.start_id
  LEFT JOIN deletion z ON z.failure_id = f.event_id
  LEFT JOIN process p ON p.process_id = f.process_id AND array_contains(p.same_process_ids, n.process_id)
  LEFT JOIN unowned g ON g.may_be_owned AND g.previous_ownership_id = own.ownership_id AND g.next_ownership_id = n.ownership_id
  LEFT JOIN last_gap e ON e.process_id = f.process_id AND e.instance = f.instance
  LEFT JOIN quiet_log q ON q.process_id = f.process_id AND q.client IS NULL
  LEFT JOIN last_step t ON t.process_id = f.process_id
  LEFT JOIN last_step u ON u.process_id = n.process_id
  LEFT JOIN island_count i ON i.kafka_cluster = f.kafka_cluster AND i.group_id <=> f.group_id AND i.resource_kind = f.resource_kind
    AND i.resource = f.resource
), explained AS (
  SELECT *,
    CASE WHEN at_ms IS NULL THEN 'no_times'
      WHEN earlier_to_lo_ms > hi_ms THEN NULL
      WHEN next_process_id IS NULL AND is_apart THEN 'other_clock'
      WHEN next_process_id IS NULL AND is_incomplete THEN 'lines_missing'
      WHEN next_process_id IS NULL THEN 'no_later_start'
      WHEN is_stepped THEN 'clock_stepped' END AS why_unknown,
    coalesce(earlier_to_lo_ms > hi_ms, false) AS is_elsewhere,
    CASE WHEN at_ms - warning.at_ms <= failure_before_ms THEN struct(warning.at_ms, warning.event_id, warning.event, warning.said) END AS before
  FROM decided
)
SELECT event_id, kafka_cluster, group_id, resource_kind, resource, connector, process_id, instance, event, timestamp_millis(at_ms) AS failed_ts,
  timestamp_millis(lo_ms) AS failed_lo, timestamp_millis(hi_ms) AS failed_hi, line.message, line.said AS exception,
  coalesce(line.root_error, line.said) AS innermost, before.event_id AS before_id, before.event AS before_event, before.said AS before_said,
  at_ms - before.at_ms AS before_ms,
  CASE WHEN is_elsewhere THEN 'already_elsewhere' WHEN is_same_worker THEN 'same_worker'
    WHEN next_process_id IS NOT NULL THEN 'other_worker' END AS ran_again,
  CASE WHEN is_elsewhere THEN NULL WHEN is_same_log AND next_instance > instance THEN 'process_restarted' ELSE how END AS restart_how,
  CASE WHEN NOT is_elsewhere THEN client END AS restart_client,
  CASE WHEN is_elsewhere THEN earlier_process_id ELSE next_process_id END AS next_process_id,
  CASE WHEN NOT is_elsewhere THEN next_ownership_id END AS next_ownership_id, CASE WHEN NOT is_elsewhere THEN start_id END AS next_start_id,
  CASE WHEN NOT is_elsewhere THEN timestamp_millis(start_lo_ms) END AS next_ts,
  timestamp_millis(deleted_lo_ms) AS deleted_lo, deleted_id, CASE WHEN why_unknown IS NULL THEN least(certain_ms, possible_ms) END AS idle_certain_ms,
  CASE WHEN why_unknown IS NULL THEN possible_ms END AS idle_possible_ms, why_unknown, last_ms - at_ms AS watched_ms, reference_process_id,
  filter(array_distinct(concat(array(before.event_id), line_ids, array(start_id, deleted_id))), e -> e IS NOT NULL) AS witness
FROM explained

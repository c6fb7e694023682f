-- One row per run of a Kafka Streams process whose threads missed a rebalance, were fenced or died.
-- Reads: placed_event, clock_offset, stream_task
-- A thread's name consists of application.id, a UUID and its number, unless the application has its own client.id.
WITH thread_line AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.event, e.event_id, e.stream_pos, unix_millis(e.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms,
    coalesce(e.thread, e.thread_name) AS thread, e.thread_name, e.group_id, e.active_tasks, e.stream_task, e.state_from, e.state_to, e.topics,
    e.message LIKE 'All stream threads have died%' AS is_last,
    CASE WHEN e.event = 'streams_thread_life' AND e.message LIKE 'Informed %' THEN 'closed' WHEN e.event = 'streams_died' THEN 'died'
      WHEN upper(e.level) IN ('ERROR', 'FATAL') THEN 'error' END AS kind,
    coalesce(e.error, CASE WHEN e.event <> 'streams_died' THEN regexp_extract(e.message, '^[^\\n]*', 0) END) AS error, e.root_error
  FROM placed_event e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE upper(e.level) IN ('ERROR', 'FATAL') OR e.event IN ('streams_thread_fenced', 'streams_task_migrated', 'streams_died', 'streams_tasks_lost',
    'streams_client_state', 'streams_thread_state', 'streams_thread_life', 'topics_not_assigned')
), thread_line_with_cause AS (
  -- A thread prints why it dies with its end, or in an earlier line: the last error that it logs before that.
  SELECT *, (max(CASE WHEN kind IS NOT NULL THEN struct(stream_pos, kind) END) OVER w).kind AS last_kind,
    max(CASE WHEN kind IN ('died', 'error') AND error IS NOT NULL THEN struct(stream_pos, event_id, error, root_error) END) OVER w AS because,
    (max(CASE WHEN topics IS NOT NULL THEN struct(stream_pos, topics) END) OVER w).topics AS topics_without_owner
  FROM thread_line WINDOW w AS (PARTITION BY process_id, instance, thread ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), streams_line AS (
  SELECT kafka_cluster, process_id, instance, CASE WHEN event = 'streams_thread_state' THEN 'streams_died' ELSE event END AS event, event_id, at_ms,
    thread_name, filter(concat(coalesce(active_tasks, array()), array(stream_task)), x -> x IS NOT NULL) AS tasks, stream_pos,
    is_last OR event = 'streams_client_state' AND state_to = 'ERROR' AS is_all, event = 'streams_client_state' AND state_from = 'CREATED' AS is_start,
    because.error, because.root_error, CASE WHEN because.event_id <> event_id THEN because.event_id END AS because_id,
    CASE WHEN because.error RLIKE 'ource ?[tT]opic' THEN topics_without_owner END AS missing_topics,
    coalesce(group_id, nullif(regexp_extract(thread_name, '^(.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 1), '')) AS group_id
  FROM thread_line_with_cause
  WHERE event IN ('streams_thread_fenced', 'streams_task_migrated', 'streams_died') OR event = 'streams_tasks_lost' AND size(active_tasks) > 0
    OR event = 'streams_client_state' AND (state_to = 'ERROR' OR state_from = 'CREATED')
    -- Before 2.8.0, and in its rebalance listener, a thread that is not asked to close dies without saying so.
    OR event = 'streams_thread_state' AND state_to = 'DEAD' AND last_kind = 'error'
), thread_summary AS (
  -- A thread that is fenced prints its lost tasks too.
  SELECT kafka_cluster, process_id, instance, group_id, thread_name,
    greatest(count_if(event = 'streams_tasks_lost'), count_if(event IN ('streams_thread_fenced', 'streams_task_migrated'))) AS fenced
  FROM streams_line WHERE NOT is_all AND NOT is_start GROUP BY kafka_cluster, process_id, instance, group_id, thread_name
), run_threads AS (
  SELECT kafka_cluster, process_id, instance, group_id, count(*) AS threads, sum(fenced) AS fenced FROM thread_summary
  GROUP BY kafka_cluster, process_id, instance, group_id
), run_summary AS (
  SELECT kafka_cluster, process_id, instance, group_id, min(CASE WHEN NOT is_start THEN at_ms END) AS from_ms,
    max(CASE WHEN NOT is_start THEN at_ms END) AS to_ms, count_if(event = 'streams_died' AND NOT is_all) AS died, bool_or(is_all) AS all_died,
    array_sort(array_distinct(flatten(collect_list(tasks)))) AS tasks,
    min_by(error, stream_pos) FILTER (WHERE event = 'streams_died' AND error IS NOT NULL) AS error,
    min_by(root_error, stream_pos) FILTER (WHERE event = 'streams_died' AND error IS NOT NULL) AS root_error,
    min_by(missing_topics, stream_pos) FILTER (WHERE event = 'streams_died' AND error IS NOT NULL) AS missing_topics,
    array_distinct(collect_list(because_id) FILTER (WHERE event = 'streams_died')) AS because_ids,
    min(CASE WHEN event = 'streams_died' THEN at_ms END) AS died_ms, max(CASE WHEN is_all THEN at_ms END) AS all_died_ms,
    max(CASE WHEN is_start THEN at_ms END) AS started_ms,
    slice(sort_array(collect_list(CASE WHEN NOT is_start THEN named_struct('at_ms', at_ms, 'event_id', event_id, 'event', event) END)), 1,
      12) AS lines
  FROM streams_line GROUP BY kafka_cluster, process_id, instance, group_id HAVING NOT bool_and(is_start)
), same_failure AS (
  -- A record that cannot be processed moves with its task to another process, and ends its threads too.
  SELECT a.process_id, a.instance, array_sort(collect_set(b.process_id)) AS processes FROM run_summary a
  JOIN run_summary b ON b.kafka_cluster <=> a.kafka_cluster AND b.group_id <=> a.group_id AND b.error = a.error AND b.process_id <> a.process_id
  -- Only an exception that names a record: others, such as timeouts, have the same text in all processes.
  WHERE a.error RLIKE '(?i)offset ?[=:]? ?[0-9]+' GROUP BY a.process_id, a.instance
), taken_task AS (
  -- Active tasks that another process got while this one still had them.
  SELECT a.process_id, a.instance, array_sort(collect_set(a.task)) AS tasks, array_sort(collect_set(b.process_id)) AS others,
    max(unix_millis(a.stop_lo) - unix_millis(b.start_hi)) AS both_ms
  FROM stream_task a
  JOIN stream_task b ON b.kafka_cluster <=> a.kafka_cluster AND b.group_id = a.group_id AND b.task = a.task AND b.role = 'active'
    AND b.process_id <> a.process_id AND b.start_hi < a.stop_lo AND b.start_lo > a.start_hi
  JOIN clock_offset o ON o.process_id = a.process_id AND o.is_island_reference
  JOIN clock_offset q ON q.process_id = b.process_id AND q.is_island_reference AND q.reference_process_id = o.reference_process_id
  WHERE a.role = 'active' AND a.stop_how IN ('lost', 'fenced') AND NOT o.stepped AND NOT q.stepped GROUP BY a.process_id, a.instance
)
SELECT CASE WHEN all_died THEN 'critical' ELSE 'warning' END AS severity, 'proved' AS verdict, r.kafka_cluster, r.group_id, r.process_id AS subject,
  from_ms, to_ms, CASE WHEN all_died THEN 'all_died' WHEN died > 0 THEN 'died' ELSE 'fenced' END AS code,
  struct(r.process_id, r.instance, coalesce(h.threads, CAST(0 AS BIGINT)) AS threads, r.tasks, coalesce(h.fenced, CAST(0 AS BIGINT)) AS fenced, died,
    regexp_replace(r.error, '^([a-z0-9_]+[.])+', '') AS error, regexp_replace(r.root_error, '^([a-z0-9_]+[.])+', '') AS root_error,
    missing_topics, coalesce(f.processes, CAST(array() AS ARRAY<STRING>)) AS same_in, died_ms AS died_at_ms, all_died_ms AS all_died_at_ms,
    CASE WHEN r.started_ms > r.all_died_ms THEN r.started_ms END AS restarted_at_ms, t.tasks AS taken, t.others, t.both_ms) AS facts,
  concat(transform(slice(because_ids, 1, 4), x -> named_struct('role', 'prints why a thread dies', 'event_id', x)),
    transform(lines, x -> named_struct('role', CASE x.event WHEN 'streams_died' THEN 'a thread dies'
    WHEN 'streams_client_state' THEN 'the client is in ERROR' WHEN 'streams_task_migrated' THEN 'a task was migrated'
    WHEN 'streams_tasks_lost' THEN 'a thread loses its tasks' ELSE 'a thread is fenced' END, 'event_id', x.event_id))) AS proof
FROM run_summary r
LEFT JOIN run_threads h ON h.kafka_cluster <=> r.kafka_cluster AND h.process_id = r.process_id AND h.instance = r.instance
  AND h.group_id <=> r.group_id
LEFT JOIN same_failure f ON f.process_id = r.process_id AND f.instance = r.instance
LEFT JOIN taken_task t ON t.process_id = r.process_id AND t.instance = r.instance

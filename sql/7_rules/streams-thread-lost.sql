-- One row per process run of a Kafka Streams application whose threads were fenced or died.
-- Reads: event, process_cluster, clock_offset
-- A thread's name consists of application.id, a UUID and its number, unless the application has its own client.id.
WITH streams_line AS (
  SELECT c.kafka_cluster, e.process_id, e.instance, e.event, e.event_id, unix_millis(e.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms,
    e.thread_name, e.stream_task, e.message LIKE 'All stream threads have died%' AS is_all, e.error,
    coalesce(e.group_id, nullif(regexp_extract(e.thread_name, '^(.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 1), '')) AS group_id
  FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.event IN ('streams_thread_fenced', 'streams_task_migrated', 'streams_died')
), run_summary AS (
  SELECT kafka_cluster, process_id, instance, group_id, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    count_if(event <> 'streams_died') AS fenced, count_if(event = 'streams_died' AND NOT is_all) AS died, bool_or(is_all) AS all_died,
    array_sort(collect_set(stream_task)) AS tasks, max(CASE WHEN event = 'streams_died' THEN error END) AS error,
    count(DISTINCT CASE WHEN NOT is_all THEN thread_name END) AS threads,
    slice(sort_array(collect_list(named_struct('at_ms', at_ms, 'event_id', event_id, 'event', event))), 1, 12) AS lines
  FROM streams_line
  GROUP BY kafka_cluster, process_id, instance, group_id
)
SELECT
  CASE WHEN all_died THEN 'critical' ELSE 'warning' END AS severity,
  'proved' AS verdict,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  process_id AS subject,
  from_ms AS from_ms,
  to_ms AS to_ms,
  CASE WHEN all_died THEN 'all_died' WHEN died > 0 THEN 'died' ELSE 'fenced' END AS code,
  named_struct(
    'process_id', process_id,
    'instance', instance,
    'threads', threads,
    'tasks', tasks,
    'fenced', fenced,
    'died', died,
    'error', error
  ) AS facts,
  transform(lines, x -> named_struct(
    'role', CASE x.event WHEN 'streams_died' THEN 'a thread dies' WHEN 'streams_task_migrated' THEN 'a task was migrated'
      ELSE 'a thread is fenced' END,
    'event_id', x.event_id)) AS proof
FROM run_summary

-- One row per series of failed starts of one process, until a start that worked: a Connect worker, MirrorMaker, a broker
-- or an application of Spring Boot; and per broker that shut itself down.
-- Reads: fact_line, process_life, process_cluster, clock_offset
WITH printed_failure AS (
  SELECT f.process_id, f.instance, CASE f.event WHEN 'log_dir_failed' THEN 'broker_failed' ELSE f.event END AS event,
    min_by(struct(f.stream_pos, f.at_ms, f.event_id), struct(f.event = 'log_dir_failed', f.stream_pos)) AS line,
    -- A broker that gives up cancels its waiting requests. Another line has the reason.
    max_by(f.said, struct(f.said IS NOT NULL, f.said NOT LIKE '%CancellationException%', -f.stream_pos)) AS said,
    min_by(f.root_error, f.stream_pos) FILTER (WHERE f.root_error NOT LIKE '%CancellationException%') AS root_error, max(f.stream_pos) AS last_pos,
    bool_or(f.message LIKE '%all log dirs%') AS without_disk
  FROM fact_line f
  -- A line of the same name reports a failure while it shuts down. A start that fails shuts down, too, before its last line.
  LEFT ANTI JOIN fact_line s ON s.process_id = f.process_id AND s.instance = f.instance AND f.event = 'broker_failed'
    AND NOT f.message LIKE '%all log dirs%'
    AND (s.event = 'broker_started' OR s.event = 'process_stopping' AND NOT f.message LIKE 'Exiting Kafka.%')
    AND NOT f.message LIKE '%startup%' AND s.stream_pos < f.stream_pos
  -- A broker that can use none of its directories says why only for each directory.
  WHERE f.event IN ('connect_start_failed', 'application_failed', 'log_dir_failed')
    OR f.event = 'broker_failed' AND NOT f.message RLIKE 'during \\w* ?shutdown' AND NOT f.message LIKE 'Halting%'
  -- The starts of an application are no runs of its process.
  GROUP BY f.process_id, f.instance, CASE f.event WHEN 'log_dir_failed' THEN 'broker_failed' ELSE f.event END,
    CASE WHEN f.event = 'application_failed' THEN f.stream_pos END
  HAVING bool_or(f.event <> 'log_dir_failed')
), failure AS (
  -- Without the names of packages, and what Connect prints before the reason.
  SELECT process_id, instance, event, line, last_pos, without_disk,
    regexp_replace(said, '^([a-z0-9_]+[.])+(BadRequestException: Connector configuration is invalid [^:]*:\\s*)?', '') AS said,
    regexp_replace(root_error, '^([a-z0-9_]+[.])+(BadRequestException: Connector configuration is invalid [^:]*:\\s*)?', '') AS root_error
  FROM printed_failure
), without_broker AS (
  -- A worker that no broker answered: see coordinator-unavailable.
  SELECT process_id, instance FROM fact_line
  WHERE event IN ('connect_start_failed', 'connection_failed', 'bootstrap_failed', 'authentication_failed', 'kafka_cluster_id')
  GROUP BY process_id, instance
  HAVING count_if(event = 'kafka_cluster_id') = 0
    AND count_if(event IN ('connection_failed', 'bootstrap_failed', 'authentication_failed')) > 0
), next_start AS (
  SELECT f.process_id, f.last_pos, f.event, min(s.at_ms) FILTER (WHERE s.event RLIKE '_started|position_set') AS started_ms,
    min_by(s.event_id, s.stream_pos) FILTER (WHERE s.event RLIKE '_started|position_set') AS started_id
  FROM failure f
  JOIN fact_line s ON s.process_id = f.process_id AND s.stream_pos > f.last_pos
    AND (f.event = 'application_failed' AND s.event IN ('application_started', 'position_set')
      OR s.event = CASE f.event WHEN 'broker_failed' THEN 'broker_started' WHEN 'connect_start_failed' THEN 'herder_started' END
      -- Only a broker that runs prints these; perhaps it is another one with the same log.
      OR f.event = 'broker_failed' AND s.event IN ('partition_loaded', 'group_loaded', 'group_emptied', 'member_left', 'member_expired'))
  -- A standalone worker starts before the connector's file ends it.
  LEFT ANTI JOIN failure g ON g.process_id = s.process_id AND g.instance = s.instance AND g.event = 'connect_start_failed'
    AND g.last_pos > s.stream_pos
  GROUP BY f.process_id, f.last_pos, f.event
), last_run AS (
  SELECT process_id, max(instance) AS instance FROM process_life GROUP BY process_id
), series AS (
  SELECT f.process_id, f.event, n.started_ms, min(n.started_id) AS started_id, count(*) AS starts, min(f.line.at_ms) AS first_ms,
    -- A run whose log begins later had started, too.
    bool_or(f.without_disk AND (p.has_started OR p.start_ms IS NULL)) AS was_running,
    -- The lock on a data directory ends with its process.
    coalesce(bool_and(coalesce(f.root_error, f.said) LIKE '%Failed to acquire lock on file%'), false) AS is_beside, count(n.last_pos) AS later,
    max(f.line.at_ms) AS last_ms, max(f.instance) AS instance, count(coalesce(f.root_error, f.said)) AS explained,
    max_by(struct(f.said, f.root_error), struct(coalesce(f.root_error, f.said) IS NOT NULL, f.instance)) AS last,
    array_distinct(transform(sort_array(collect_list(struct(f.instance, coalesce(f.root_error, f.said) AS error))
      FILTER (WHERE coalesce(f.root_error, f.said) IS NOT NULL)), x -> x.error)) AS errors,
    count(DISTINCT coalesce(f.root_error, f.said)) AS reasons,
    transform(sort_array(collect_list(f.line)), x -> x.event_id) AS event_ids
  FROM failure f LEFT JOIN process_life p ON p.process_id = f.process_id AND p.instance = f.instance
  LEFT JOIN next_start n ON n.process_id = f.process_id AND n.last_pos = f.last_pos AND n.event = f.event
  LEFT ANTI JOIN without_broker w ON f.event = 'connect_start_failed' AND w.process_id = f.process_id AND w.instance = f.instance
  GROUP BY f.process_id, f.event, n.started_ms
)
SELECT CASE WHEN s.started_ms IS NULL AND NOT s.is_beside THEN 'critical' ELSE 'warning' END AS severity, 'proved' AS verdict, c.kafka_cluster,
  c.worker_group_id AS group_id, s.process_id AS subject, s.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms,
  CASE WHEN s.is_beside THEN s.last_ms ELSE s.started_ms END - (o.lo_ms + o.hi_ms) DIV 2 AS to_ms,
  CASE WHEN s.is_beside THEN 'beside' WHEN s.was_running THEN 'gave_up'
    WHEN coalesce(s.last.root_error, s.last.said, '') LIKE '%ConfigException%' THEN 'configuration' ELSE 'failed' END AS code,
  struct(s.process_id, s.instance, s.event = 'broker_failed' AS is_broker, s.event = 'application_failed' AS is_application, s.starts,
    s.explained, s.last.said, s.last.root_error, s.reasons, CASE WHEN s.reasons > 1 THEN s.errors END AS errors, s.first_ms AS failed_at_ms,
    s.last_ms AS last_failed_at_ms, s.started_ms AS started_at_ms, s.instance = l.instance AND s.later = 0 AS is_last) AS facts,
  concat(transform(slice(s.event_ids, 1, 8), x -> named_struct('role', 'the start fails', 'event_id', x)),
    array(named_struct('role', 'a later start works', 'event_id', s.started_id))) AS proof
FROM series s JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
JOIN last_run l ON l.process_id = s.process_id
LEFT JOIN process_cluster c ON c.process_id = s.process_id AND c.instance = s.instance AND c.is_life_last

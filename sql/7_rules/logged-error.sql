-- One row per kind of error that a process of Kafka or of one of its clients logs: the same message from the same logger, numbers aside.
-- Reads: placed_event, clock_offset
WITH error_line AS (
  SELECT e.kafka_cluster, e.process_id, e.group_id, e.event_id, e.stream_pos, unix_millis(e.ts) AS at_ms,
    regexp_extract(e.logger, '[^.]+$', 0) AS logger, regexp_extract(e.message, '^[^\\n]*', 0) AS said,
    regexp_replace(coalesce(e.root_error, e.error), '^([a-z0-9_]+[.])+', '') AS cause
  FROM placed_event e
  -- Refused connections are counted by other rules.
  WHERE upper(e.level) IN ('ERROR', 'FATAL', 'SEVERE', 'CRITICAL', 'ERR', 'CRIT', 'ALERT', 'EMERG', '0', '1', '2', '3')
    AND e.event <> 'connection_failed'
    -- The controller logs at INFO that records may be lost, and a consumer at WARN that a commit failed.
    OR e.event IN ('unclean_election', 'commit_failed')
), kind_of_error AS (
  SELECT process_id, kafka_cluster, min(group_id) AS group_id, min(at_ms) AS first_ms, max(at_ms) AS last_ms, count(*) AS times,
    max_by(logger, stream_pos) AS logger, max_by(said, stream_pos) AS said, max_by(cause, stream_pos) AS cause,
    slice(transform(sort_array(collect_list(struct(stream_pos, event_id))), x -> x.event_id), 1, 8) AS event_ids,
    max_by(event_id, stream_pos) AS last_id
  FROM error_line
  GROUP BY process_id, kafka_cluster, logger, regexp_replace(said, '[0-9]+', '#'), regexp_replace(cause, '[0-9]+', '#')
)
SELECT 'note' AS severity, 'proved' AS verdict, k.kafka_cluster, k.group_id, k.process_id AS subject,
  k.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms, k.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS to_ms, 'logged' AS code,
  struct(k.process_id, k.logger, k.said, CASE WHEN NOT contains(k.said, k.cause) THEN k.cause END AS cause, k.times,
    k.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS first_at_ms, k.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS last_at_ms) AS facts,
  transform(array_distinct(k.event_ids || array(k.last_id)), x -> named_struct('role', 'logs the error', 'event_id', x)) AS proof
FROM kind_of_error k JOIN clock_offset o ON o.process_id = k.process_id AND o.is_island_reference

-- One row per REST URL that two workers advertise, or that other workers cannot reach.
-- Reads: worker_setting, fact_line, process
WITH advertised AS (
  SELECT process_id, max_by(worker_url, stream_pos) AS worker_url, max_by(event_id, stream_pos) AS event_id FROM fact_line
  WHERE event = 'worker_url_advertised' AND worker_url IS NOT NULL GROUP BY process_id
), worker_address AS (
  SELECT w.kafka_cluster, w.group_id, w.process_id, a.worker_url, a.event_id,
    regexp_extract(a.worker_url, '^[a-z]+://(\\[[^\\]]*\\]|[^:/]*)', 1) RLIKE '^(localhost|127[.].*|0[.]0[.]0[.]0|\\[::1?\\])$' AS is_loopback
  FROM worker_setting w JOIN advertised a ON a.process_id = w.process_id
  -- If one worker has two logs, one is enough.
  LEFT ANTI JOIN process o ON o.process_id = w.process_id AND array_min(o.same_process_ids) < w.process_id
), group_size AS (
  SELECT kafka_cluster, group_id, count(DISTINCT process_id) AS workers FROM worker_address GROUP BY kafka_cluster, group_id
), bad_url AS (
  SELECT u.kafka_cluster, u.group_id, u.worker_url, bool_or(u.is_loopback) AS is_loopback,
    array_sort(collect_set(u.process_id)) AS workers, array_sort(collect_set(u.event_id)) AS line_ids
  FROM worker_address u JOIN group_size c ON c.kafka_cluster = u.kafka_cluster AND c.group_id = u.group_id WHERE c.workers > 1
  GROUP BY u.kafka_cluster, u.group_id, u.worker_url
  -- Two processes of one log are earlier and later lines of one worker.
  HAVING count(DISTINCT regexp_replace(u.process_id, '#[0-9]+$', '')) > 1 OR bool_or(u.is_loopback)
)
SELECT 'warning' AS severity, 'proved' AS verdict, b.kafka_cluster, b.group_id, b.worker_url AS subject, CAST(NULL AS BIGINT) AS from_ms,
  CAST(NULL AS BIGINT) AS to_ms, CASE WHEN size(b.workers) > 1 THEN 'same_url' ELSE 'loopback' END AS code,
  struct(CASE WHEN size(b.workers) = 1 THEN b.workers[0] END AS process_id, b.workers, b.is_loopback) AS facts,
  transform(slice(b.line_ids, 1, 8), x -> named_struct('role', 'advertises the URL', 'event_id', x)) AS proof
FROM bad_url b

-- One row per task that was asked to stop and did not.
-- Reads: task_line, fact_line, clock_offset, split_brain, process_life, holding
-- A thread whose client left or closed before the worker abandoned it can no longer read or write, so that is a note.
WITH failed_stop AS (
  -- A task that ends as an orphan had been abandoned before, even if the log begins after that.
  SELECT t.kafka_cluster, t.group_id, t.process_id, t.instance, t.resource, t.life,
    min(t.at_ms) AS failed_ms, min_by(t.event_id, t.stream_pos) AS failed_id, min(t.so_far) = 'orphan_failed' AS is_orphan
  FROM (SELECT *, min(kind) OVER (PARTITION BY process_id, instance, resource ORDER BY stream_pos) AS so_far
    FROM task_line WHERE kind IN ('failed_stop', 'orphan_failed')) t
  JOIN process_life p ON p.process_id = t.process_id AND p.instance = t.instance
  WHERE t.kind = t.so_far AND (p.stopping_ms IS NULL OR t.at_ms < p.stopping_ms)
  GROUP BY t.kafka_cluster, t.group_id, t.process_id, t.instance, t.resource, t.life
), proved_work AS (
  SELECT ownership_id, bool_or(worked) AS worked
  FROM (
    SELECT ownership_a AS ownership_id, kind = 'work' AND verdict = 'proved' AS worked FROM split_brain
    UNION ALL
    SELECT ownership_b, kind = 'work' AND verdict = 'proved' FROM split_brain
  )
  GROUP BY ownership_id
)
SELECT CASE WHEN NOT f.is_orphan AND h.work_stop_hi_ms <= f.failed_ms THEN 'note' WHEN b.worked THEN 'critical' ELSE 'warning' END AS severity,
  'proved' AS verdict, f.kafka_cluster, f.group_id, f.resource AS subject, f.failed_ms - o.lo_ms AS from_ms, h.stop_hi_ms - o.lo_ms AS to_ms,
  CASE WHEN f.is_orphan THEN 'orphan_ended' WHEN h.work_stop_hi_ms <= f.failed_ms THEN 'client_left_before'
    WHEN h.stop_how IS NOT NULL THEN 'ended_later' ELSE 'never_ended' END AS code,
  struct(f.resource AS task, f.process_id, f.instance, h.stop_asked_ms AS asked_at_ms, f.failed_ms AS given_up_at_ms,
    CASE WHEN h.last_sign_ms > f.failed_ms THEN h.last_sign_ms END AS last_sign_at_ms, h.stop_how,
    regexp_replace(coalesce(e.root_error, e.said), '^([a-z0-9_]+[.])+', '') AS error) AS facts,
  array(named_struct('role', 'asked to stop', 'event_id', h.stop_asked_id), named_struct('role',
    CASE WHEN f.is_orphan THEN 'the abandoned task ends' ELSE 'the worker gives up on it' END, 'event_id', f.failed_id),
    named_struct('role', 'last sign of life', 'event_id', h.last_sign_id),
    named_struct('role', 'ended', 'event_id', coalesce(h.end_id, h.stop_id))) AS proof
FROM failed_stop f
LEFT JOIN holding h ON h.process_id = f.process_id AND h.resource_kind = 'task' AND h.resource = f.resource
  AND h.owner = concat_ws('/', f.instance, f.life)
LEFT JOIN fact_line e ON e.event_id = f.failed_id
JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
LEFT JOIN proved_work b ON b.ownership_id = h.ownership_id

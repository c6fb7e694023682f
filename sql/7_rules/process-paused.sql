-- One row for each period in which a process did not run, as its own log shows.
-- Reads: process_pause, process_life, process_cluster, clock_offset, client_event
WITH group_of_process AS (
  SELECT process_id, instance, CASE WHEN count(DISTINCT group_id) = 1 THEN max(group_id) END AS group_id FROM client_event
  GROUP BY process_id, instance
)
SELECT 'warning' AS severity, 'proved' AS verdict, c.kafka_cluster, coalesce(c.worker_group_id, g.group_id) AS group_id, p.process_id AS subject,
  p.before_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms, p.after_ms - (o.lo_ms + o.hi_ms) DIV 2 AS to_ms,
  CASE WHEN l.is_broker THEN 'broker' WHEN p.how = 'periodic' THEN 'periodic' WHEN p.how = 'idle' THEN 'idle' ELSE 'requests' END AS code,
  struct(p.process_id, p.instance, p.how, p.least_ms AS paused_ms, p.most_ms, p.printed_ms, CAST(p.clients AS BIGINT) AS clients,
    p.after_ms AS after_at_ms) AS facts,
  transform(p.witness, x -> named_struct('role', CASE WHEN x = p.after_id THEN 'first shows it' ELSE 'before and after the pause' END, 'event_id', x))
    AS proof
FROM process_pause p JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
JOIN process_life l ON l.process_id = p.process_id AND l.instance = p.instance
LEFT JOIN process_cluster c ON c.process_id = p.process_id AND c.instance = p.instance AND c.is_life_last
LEFT JOIN group_of_process g ON g.process_id = p.process_id AND g.instance = p.instance

-- One row per process whose last run in its log ends with lines of an orderly stop, and, if the logs show no group, for its longest pause between an
-- orderly stop and the next start.
-- Reads: process_life, process_cluster, event, fact_line, clock_offset, generation
SELECT 'note' AS severity, 'proved' AS verdict, c.kafka_cluster, c.worker_group_id AS group_id, l.process_id AS subject,
  l.ending_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms, l.next_start_ms - (o.lo_ms + o.hi_ms) DIV 2 AS to_ms,
  CASE WHEN l.next_start_ms IS NULL THEN 'stopped' ELSE 'started_again' END AS code,
  struct(l.process_id, l.is_broker, l.ending_ms - (o.lo_ms + o.hi_ms) DIV 2 AS stopped_at_ms, l.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS last_at_ms,
    nullif(regexp_extract(e.message, 'signal (SIG[A-Z]+)', 1), '') AS signal, z.refused_id IS NOT NULL AS is_refused,
    -- A process that is killed while it stops logs only the beginning. The end of a log that simply ends may be in another file.
    l.next_start_ms IS NULL OR coalesce(z.has_stopped, false) AS has_stopped,
    l.next_start_ms - (o.lo_ms + o.hi_ms) DIV 2 AS started_at_ms, l.times) AS facts,
  array(named_struct('role', 'only a stopping process prints it', 'event_id', l.ending_id),
    named_struct('role', 'ZooKeeper refuses the connection', 'event_id', z.refused_id)) AS proof
FROM (
  SELECT *, count(*) OVER (PARTITION BY process_id, next_start_ms IS NULL) AS times, row_number() OVER (PARTITION BY process_id, next_start_ms IS NULL
    ORDER BY next_start_ms - ending_ms DESC, instance) AS place
  FROM process_life WHERE ending_ms IS NOT NULL AND (is_broker OR is_worker)
) l
JOIN (SELECT count(*) = 0 AS is_without FROM generation) g ON l.place = 1 AND (l.next_start_ms IS NULL OR g.is_without)
JOIN event e ON e.event_id = l.ending_id
JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
LEFT JOIN (
  SELECT process_id, instance, max(CASE WHEN event = 'zookeeper_refused' THEN event_id END) AS refused_id,
    bool_or(event IN ('process_stopped', 'herder_stopped')) AS has_stopped
  FROM event WHERE event IN ('zookeeper_refused', 'process_stopped', 'herder_stopped') GROUP BY process_id, instance
) z
  ON z.process_id = l.process_id AND z.instance = l.instance
LEFT JOIN process_cluster c ON c.process_id = l.process_id AND c.instance = l.instance AND c.is_life_last
-- A failure that ends a process makes it stop, too.
LEFT ANTI JOIN fact_line f ON f.process_id = l.process_id AND f.instance = l.instance AND (f.event IN ('connect_start_failed', 'herder_failed')
  OR f.event = 'broker_failed' AND (f.message LIKE '%startup%' OR f.message LIKE 'Exiting Kafka.%'))

-- One row per process whose last run in its log ends with lines of an orderly stop.
-- Reads: process_life, process_cluster, event, clock_offset
SELECT 'note' AS severity, 'proved' AS verdict, c.kafka_cluster, c.worker_group_id AS group_id, l.process_id AS subject,
  l.ending_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms, CAST(NULL AS BIGINT) AS to_ms, 'stopped' AS code,
  struct(l.process_id, l.is_broker, l.ending_ms - (o.lo_ms + o.hi_ms) DIV 2 AS stopped_at_ms, l.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS last_at_ms,
    nullif(regexp_extract(e.message, 'signal (SIG[A-Z]+)', 1), '') AS signal, z.event_id IS NOT NULL AS is_refused) AS facts,
  array(named_struct('role', 'only a stopping process prints it', 'event_id', l.ending_id),
    named_struct('role', 'ZooKeeper refuses the connection', 'event_id', z.event_id)) AS proof
FROM process_life l
JOIN (SELECT process_id, max(instance) AS instance FROM process_life GROUP BY process_id) r ON r.process_id = l.process_id AND r.instance = l.instance
JOIN event e ON e.event_id = l.ending_id
JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
LEFT JOIN (SELECT process_id, instance, max(event_id) AS event_id FROM event WHERE event = 'zookeeper_refused' GROUP BY process_id, instance) z
  ON z.process_id = l.process_id AND z.instance = l.instance
LEFT JOIN process_cluster c ON c.process_id = l.process_id AND c.instance = l.instance AND c.is_life_last
-- A failure that ends a process makes it stop, too.
LEFT ANTI JOIN event f ON f.process_id = l.process_id AND f.instance = l.instance AND (f.event IN ('connect_start_failed', 'herder_failed')
  OR f.event = 'broker_failed' AND (f.message LIKE '%startup%' OR f.message LIKE 'Exiting Kafka.%'))
WHERE l.ending_ms IS NOT NULL AND (l.is_broker OR l.is_worker)

-- One row per line in which a broker reports that another one is down.
-- Reads: event, cluster_broker, clock_offset
-- Grain: event_id, kafka_cluster, reference_process_id
-- A controller fences a broker whose heartbeats are missing, and a replica cannot fetch from a broker that is down. A broker that shuts down cleanly
-- resigns and hands over its partitions first, so none of these lines appear.
CREATE OR REPLACE TEMPORARY VIEW broker_missed (
  kafka_cluster,
  broker_id     COMMENT 'Broker that is down',
  process_id, event_id,
  at_lo_ms      COMMENT 'Reported at this time at the earliest (reference clock, milliseconds since 1970)',
  at_hi_ms      COMMENT 'Reported at this time at the latest',
  reference_process_id
)
AS
WITH missing_broker_line AS (
  SELECT process_id, event_id, unix_millis(ts) AS at_ms, CASE WHEN event = 'broker_fenced' THEN broker_id ELSE node_id END AS missed_id
  FROM event WHERE event = 'broker_fenced' OR event = 'connection_failed' AND component = 'ReplicaFetcher'
)
SELECT DISTINCT c.kafka_cluster, l.missed_id AS broker_id, l.process_id, l.event_id, l.at_ms - o.hi_ms AS at_lo_ms, l.at_ms - o.lo_ms AS at_hi_ms,
  o.reference_process_id
FROM missing_broker_line l JOIN cluster_broker c ON c.process_id = l.process_id AND c.broker_id <> l.missed_id
JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference

-- One row per line in which a broker tells that another is away.
-- Reads: event, cluster_broker, clock_offset
-- Grain: event_id, kafka_cluster, reference_process_id
-- A controller fences a broker whose heartbeats do not come, and a replica cannot fetch from one that is not there. One that stops in order
-- resigns and hands its partitions over first: nobody waits for its heartbeats, and nothing fetches from it any more.
CREATE OR REPLACE TEMPORARY VIEW broker_missed (
  kafka_cluster COMMENT 'Kafka cluster id',
  broker_id     COMMENT 'Broker that is away',
  process_id    COMMENT 'Process that says so',
  event_id      COMMENT 'Event',
  at_lo_ms      COMMENT 'Said at the earliest then (reference clock, milliseconds since 1970)',
  at_hi_ms      COMMENT 'Said at the latest then',
  reference_process_id COMMENT 'Process on whose clock the bounds are'
)
COMMENT 'One row per line in which a broker tells that another is away.'
AS
WITH line AS (
  SELECT process_id, event_id, unix_millis(ts) AS at_ms, CASE WHEN event = 'broker_fenced' THEN broker_id ELSE node_id END AS missed_id
  FROM event
  WHERE event = 'broker_fenced' OR event = 'connection_failed' AND component = 'ReplicaFetcher'
)
SELECT DISTINCT
  c.kafka_cluster AS kafka_cluster,
  l.missed_id AS broker_id,
  l.process_id AS process_id,
  l.event_id AS event_id,
  l.at_ms - o.hi_ms AS at_lo_ms,
  l.at_ms - o.lo_ms AS at_hi_ms,
  o.reference_process_id AS reference_process_id
FROM line l
JOIN cluster_broker c ON c.process_id = l.process_id AND c.broker_id <> l.missed_id
JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference

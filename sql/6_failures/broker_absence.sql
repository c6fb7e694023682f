-- One row for each time in which a broker was certainly or possibly down, according to its own log, and per line in which another reports it down.
-- Reads: event, process_life, cluster_broker, fact_line, process, clock_offset
-- Grain: process_id, from_ms, event_id, broker_id
-- A log that simply ends does not show that the broker died (`silent`); a new start in the same log, or a shutdown line, does. A controller fences a
-- broker whose heartbeats are missing, and a replica cannot fetch from a broker that is down. A broker that shuts down cleanly resigns and hands over
-- its partitions first, so none of these lines appear.
CREATE OR REPLACE TEMPORARY VIEW broker_absence (
  process_id    COMMENT 'Its process; reported: the process that reports it',
  kafka_cluster, broker_id,
  how           COMMENT 'stopped (it printed its shutdown), restarted (a new start follows, without such a line), starting (likewise, and it had not
    completed its previous start), silent (its log ends), reported (another broker reports that it is down)',
  from_ms       COMMENT 'Last line before, or the report, by its own clock (milliseconds since 1970)',
  to_ms         COMMENT 'It was up again, by its own clock; NULL: not in its log',
  from_lo_ms    COMMENT 'Down at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Its last line before was printed at this time at the latest',
  to_hi_ms      COMMENT 'Up again at this time at the latest',
  reference_process_id, event_id,
  is_steady     COMMENT 'False if its clock, or the clock of the bounds, stepped'
)
AS
WITH completed_start AS (
  SELECT DISTINCT process_id, instance FROM event
  WHERE event IN ('broker_started', 'coordinator_elected', 'broker_unfenced', 'group_loaded', 'group_stabilized', 'rebalance_preparing',
    'isr_changed')
), shutdown_line AS (
  SELECT process_id, instance, min(at_ms) AS at_ms, min_by(event_id, struct(at_ms IS NOT NULL, at_ms, event_id)) AS event_id FROM fact_line
  WHERE event = 'process_stopping' GROUP BY process_id, instance
), single_broker AS (
  -- In a log with the lines of several brokers it is unknown which of them was down.
  SELECT process_id, min(broker_id) AS only_id FROM cluster_broker
  WHERE process_id IS NOT NULL GROUP BY process_id HAVING count(DISTINCT broker_id) = 1
), broker_run AS (
  SELECT l.process_id, l.instance, p.kafka_cluster, n.only_id AS broker_id,
    CASE WHEN s.at_ms IS NOT NULL THEN 'stopped' WHEN l.next_start_ms IS NOT NULL THEN 'restarted' ELSE 'silent' END AS how,
    coalesce(s.at_ms, l.last_ms) AS from_ms, l.next_start_ms AS to_ms, coalesce(s.event_id, l.next_start_id) AS event_id
  FROM process_life l JOIN process p ON p.process_id = l.process_id AND p.role = 'broker'
  LEFT JOIN single_broker n ON n.process_id = l.process_id
  LEFT JOIN shutdown_line s ON s.process_id = l.process_id AND s.instance = l.instance
), missing_broker_line AS (
  SELECT process_id, event_id, unix_millis(ts) AS at_ms, CASE WHEN event = 'broker_fenced' THEN broker_id ELSE node_id END AS missed_id
  FROM event WHERE event = 'broker_fenced' OR event = 'connection_failed' AND component = 'ReplicaFetcher'
), absence AS (
  SELECT l.process_id, l.kafka_cluster, l.broker_id,
    CASE WHEN l.how = 'restarted' AND u.process_id IS NULL THEN 'starting' ELSE l.how END AS how, l.from_ms, l.to_ms, l.event_id
  FROM broker_run l LEFT JOIN completed_start u ON u.process_id = l.process_id AND u.instance = l.instance
  UNION ALL
  SELECT DISTINCT l.process_id, c.kafka_cluster, l.missed_id, 'reported', l.at_ms, CAST(NULL AS BIGINT), l.event_id
  FROM missing_broker_line l JOIN cluster_broker c ON c.process_id = l.process_id AND c.broker_id <> l.missed_id
)
SELECT l.process_id, l.kafka_cluster, l.broker_id, l.how, l.from_ms, l.to_ms, l.from_ms - o.hi_ms AS from_lo_ms, l.from_ms - o.lo_ms AS from_hi_ms,
  l.to_ms - o.lo_ms AS to_hi_ms, o.reference_process_id, l.event_id, NOT coalesce(o.stepped OR r.stepped, false) AS is_steady
FROM absence l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
LEFT JOIN clock_offset r ON r.process_id = o.reference_process_id AND r.is_island_reference

-- One row for each time in which a broker was certainly or possibly down, according to its own log, and per line in which another reports it down.
-- Reads: event, process_life, cluster_broker, fact_line, process, clock_offset
-- Grain: process_id, from_ms, event_id, broker_id
-- A log that simply ends does not show that the broker died (`silent`); a new start in the same log, or a shutdown line, does. A controller fences a
-- broker whose heartbeats are missing, and a replica cannot fetch from a broker that is down. A broker that shuts down cleanly resigns and hands over
-- its partitions first, so none of these lines appear.
CREATE OR REPLACE TEMPORARY VIEW broker_absence (
  process_id    COMMENT 'Its process; reported: the process that reports it',
  kafka_cluster, broker_id,
  how           COMMENT 'stopped (it printed its shutdown), restarted (a new start follows, without such a line), starting (it failed
    while starting, or was restarted before it had started), silent (its log ends), reported (another broker reports that it is down)',
  from_ms       COMMENT 'Last line before, or the report, by its own clock (milliseconds since 1970)',
  to_ms         COMMENT 'It was up again, by its own clock; NULL: not in its log',
  from_lo_ms    COMMENT 'Down at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Its last line before was printed at this time at the latest',
  to_hi_ms      COMMENT 'Up again at this time at the latest',
  reference_process_id, event_id,
  is_steady     COMMENT 'False if its clock, or the clock of the bounds, stepped'
)
AS
WITH shutdown_line AS (
  SELECT s.process_id, s.instance, min(s.at_ms) AS at_ms, min_by(s.event_id, struct(s.at_ms IS NOT NULL, s.at_ms, s.event_id)) AS event_id,
    max(f.event_id) IS NOT NULL AS is_failure
  FROM fact_line s LEFT JOIN fact_line f ON f.process_id = s.process_id AND f.instance = s.instance AND f.event = 'broker_failed'
  WHERE s.event = 'process_stopping' GROUP BY s.process_id, s.instance
), single_broker AS (
  -- In a log with the lines of several brokers it is unknown which of them was down.
  SELECT process_id, min(broker_id) AS only_id FROM cluster_broker
  WHERE process_id IS NOT NULL GROUP BY process_id HAVING count(DISTINCT broker_id) = 1
), broker_run AS (
  SELECT l.process_id, l.instance, p.kafka_cluster, n.only_id AS broker_id,
    CASE WHEN s.is_failure THEN 'starting' WHEN s.at_ms IS NOT NULL THEN 'stopped' WHEN l.next_start_ms IS NULL THEN 'silent'
      WHEN l.has_started THEN 'restarted'
      ELSE 'starting' END AS how,
    coalesce(s.at_ms, l.last_ms) AS from_ms, l.next_start_ms AS to_ms, coalesce(s.event_id, l.next_start_id) AS event_id
  FROM process_life l JOIN process p ON p.process_id = l.process_id AND p.role = 'broker'
  LEFT JOIN single_broker n ON n.process_id = l.process_id
  LEFT JOIN shutdown_line s ON s.process_id = l.process_id AND s.instance = l.instance
), missing_broker_line AS (
  SELECT process_id, event_id, unix_millis(ts) AS at_ms, CASE WHEN event = 'broker_fenced' THEN broker_id ELSE node_id END AS missed_id
  FROM event WHERE event = 'broker_fenced' OR event = 'connection_failed' AND component = 'ReplicaFetcher'
), absence AS (
  SELECT process_id, kafka_cluster, broker_id, how, from_ms, to_ms, event_id FROM broker_run
  UNION ALL
  SELECT DISTINCT l.process_id, c.kafka_cluster, l.missed_id, 'reported', l.at_ms, CAST(NULL AS BIGINT), l.event_id
  FROM missing_broker_line l JOIN cluster_broker c ON c.process_id = l.process_id AND c.broker_id <> l.missed_id
)
SELECT l.process_id, l.kafka_cluster, l.broker_id, l.how, l.from_ms, l.to_ms, l.from_ms - o.hi_ms AS from_lo_ms, l.from_ms - o.lo_ms AS from_hi_ms,
  l.to_ms - o.lo_ms AS to_hi_ms, o.reference_process_id, l.event_id, NOT coalesce(o.stepped OR r.stepped, false) AS is_steady
FROM absence l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
LEFT JOIN clock_offset r ON r.process_id = o.reference_process_id AND r.is_island_reference

-- One row for each period in which a producer held a transactional.id: its producer id and epochs, and the producer that followed.
-- Reads: placed_event, clock_offset
-- Grain: session_id
-- Public: yes
-- The coordinator gives each producer that initializes a transactional.id a higher epoch, so epochs order the producers without any clock.
-- From 4.0 on the epoch also increases with each transaction (KIP-890): consecutive epochs of one producer are one row. A producer without
-- a log appears through the coordinator's line only.
CREATE OR REPLACE TEMPORARY VIEW producer_session (
  session_id       COMMENT 'Stable id: the first event that shows the session',
  kafka_cluster,
  transactional_id COMMENT 'transactional.id',
  producer_id      COMMENT 'Producer id',
  first_epoch      COMMENT 'First producer epoch of the session',
  last_epoch       COMMENT 'Last known producer epoch of the session',
  process_id       COMMENT 'Process of the producer; NULL: only the coordinator shows the session',
  instance,
  client_id        COMMENT 'client.id of the producer',
  start_lo         COMMENT 'Earliest time of the start (reference clock of the island); NULL: unknown',
  start_hi         COMMENT 'Latest time of the start',
  reference_process_id COMMENT 'Process whose clock these two times are on',
  own_pos          COMMENT 'Position of the line in which the producer printed its first epoch, in its own log; NULL: no such line',
  own_ms           COMMENT 'Time of that line, by the producer''s own clock (milliseconds since 1970)',
  next_session_id  COMMENT 'Session that followed, by epoch; NULL: none is known',
  witness          COMMENT 'Events that show the session'
)
AS
WITH producer_line AS (
  -- A new producer asks for its first epoch, or resets it (before 2.5); one that continues names the epoch that it has.
  SELECT *, lag(event = 'producer_initializing' AND epoch IS NULL OR event = 'producer_id_set' AND epoch < 0)
    OVER (PARTITION BY process_id, instance, transactional_id, client_id ORDER BY stream_pos) AS is_first
  FROM placed_event
  WHERE event IN ('producer_initializing', 'producer_id_set', 'transactional_id_initialized') AND transactional_id IS NOT NULL
), epoch_line AS (
  SELECT e.kafka_cluster, e.transactional_id, e.producer_id, e.epoch, e.event_id, e.event = 'transactional_id_initialized' AS is_coordinator,
    CASE WHEN e.event = 'producer_id_set' THEN e.process_id END AS process_id, CASE WHEN e.event = 'producer_id_set' THEN e.instance END AS instance,
    CASE WHEN e.event = 'producer_id_set' THEN coalesce(e.client_id, e.thread, '-') END AS client_id,
    CASE WHEN e.event = 'producer_id_set' THEN e.stream_pos END AS own_pos,
    CASE WHEN e.event = 'producer_id_set' THEN unix_millis(e.ts) END AS own_ms, e.is_first,
    CASE WHEN NOT o.stepped THEN o.reference_process_id END AS reference_process_id, unix_millis(e.ts) - o.hi_ms AS at_lo_ms,
    unix_millis(e.ts) + e.resolution_ms - o.lo_ms AS at_hi_ms
  FROM producer_line e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.event IN ('producer_id_set', 'transactional_id_initialized') AND e.epoch >= 0
), line_with_clock AS (
  -- The clock of the coordinator's line, if there is one.
  SELECT *, coalesce(max(CASE WHEN is_coordinator THEN reference_process_id END) OVER w, max(reference_process_id) OVER w) AS clock_id
  FROM epoch_line
  WINDOW w AS (PARTITION BY kafka_cluster, transactional_id, producer_id, epoch)
), granted_epoch AS (
  -- The coordinator gives the epoch before the producer prints it.
  SELECT kafka_cluster, transactional_id, producer_id, epoch, max(clock_id) AS reference_process_id, max(process_id) AS process_id,
    max_by(instance, struct(process_id IS NOT NULL, process_id, instance)) AS instance,
    max_by(client_id, struct(process_id IS NOT NULL, process_id, client_id)) AS client_id,
    min_by(own_pos, struct(process_id IS NULL, process_id, own_pos)) AS own_pos,
    min_by(own_ms, struct(process_id IS NULL, process_id, own_pos)) AS own_ms,
    max(CASE WHEN is_coordinator AND reference_process_id = clock_id THEN at_lo_ms END) AS start_lo_ms,
    min(CASE WHEN reference_process_id = clock_id THEN at_hi_ms END) AS start_hi_ms, coalesce(bool_or(is_first), false) AS is_first,
    array_sort(collect_set(event_id)) AS event_ids
  FROM line_with_clock GROUP BY kafka_cluster, transactional_id, producer_id, epoch
), epoch_after_previous AS (
  SELECT *, NOT is_first AND coalesce(process_id = lag(process_id) OVER w AND instance = lag(instance) OVER w
      AND client_id = lag(client_id) OVER w, false) AS is_same_producer
  FROM granted_epoch
  WINDOW w AS (PARTITION BY kafka_cluster, transactional_id, producer_id ORDER BY epoch)
), numbered_epoch AS (
  SELECT *, count_if(NOT is_same_producer) OVER (PARTITION BY kafka_cluster, transactional_id, producer_id
    ORDER BY epoch ROWS UNBOUNDED PRECEDING) AS session
  FROM epoch_after_previous
), producer_epochs AS (
  SELECT kafka_cluster, transactional_id, producer_id, session, max(epoch) AS last_epoch FROM numbered_epoch
  GROUP BY kafka_cluster, transactional_id, producer_id, session
)
SELECT n.event_ids[0] AS session_id, n.kafka_cluster, n.transactional_id, n.producer_id, n.epoch AS first_epoch, s.last_epoch, n.process_id,
  n.instance, n.client_id, timestamp_millis(n.start_lo_ms) AS start_lo, timestamp_millis(n.start_hi_ms) AS start_hi, n.reference_process_id,
  n.own_pos, n.own_ms,
  lead(n.event_ids[0]) OVER (PARTITION BY n.kafka_cluster, n.transactional_id, n.producer_id ORDER BY n.session) AS next_session_id,
  n.event_ids AS witness
FROM numbered_epoch n
JOIN producer_epochs s ON s.kafka_cluster <=> n.kafka_cluster AND s.transactional_id = n.transactional_id AND s.producer_id = n.producer_id
  AND s.session = n.session
WHERE NOT n.is_same_producer

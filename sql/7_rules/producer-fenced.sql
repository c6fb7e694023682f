-- One row per transactional producer that was fenced, and what fenced it.
-- Reads: placed_event, clock_offset, producer_session
-- Epochs decide without clocks whether another producer followed. Whether it was the one that fenced this producer follows from the next
-- epoch, the coordinator's lines, or the time: else an unlogged producer, or an aborted transaction, may have come between the two.
WITH transaction_line AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.event, e.event_id, e.stream_pos, e.transactional_id,
    coalesce(e.client_id, e.thread, '-') AS client_id, e.producer_id, e.epoch, e.partition, o.reference_process_id,
    coalesce(e.message || coalesce(e.class_name, '') NOT RLIKE 'InvalidTxnState', true) AS is_fence,
    coalesce(e.state_to LIKE 'abortable%' OR e.state_to = 'ABORTABLE_ERROR', false) AS is_abortable,
    CASE WHEN NOT o.stepped THEN unix_millis(e.ts) - o.hi_ms END AS at_lo_ms, CASE WHEN NOT o.stepped THEN o.hi_ms END AS ahead_hi_ms,
    CASE WHEN NOT o.stepped THEN unix_millis(e.ts) + e.resolution_ms - o.lo_ms END AS at_hi_ms, unix_millis(e.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms
  FROM placed_event e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.event IN ('transaction_timed_out', 'producer_append_refused') OR e.event = 'producer_failed' AND e.transactional_id IS NOT NULL
    AND e.message || coalesce(e.class_name, '') RLIKE 'ProducerFencedException|InvalidProducerEpochException|InvalidTxnStateException'
), fenced_producer AS (
  SELECT f.kafka_cluster, f.transactional_id, f.process_id, f.instance, f.client_id, min(f.at_ms) AS from_ms,
    max(f.at_lo_ms) AS last_lo_ms, min_by(f.at_lo_ms, f.stream_pos) AS fenced_lo_ms, min_by(f.at_hi_ms, f.stream_pos) AS fenced_hi_ms,
    min_by(f.event_id, f.stream_pos) AS fenced_id, min(f.stream_pos) AS fenced_pos, bool_and(f.is_abortable) AS is_abortable,
    bool_or(f.is_fence) AS is_fence, max(f.reference_process_id) AS island, max(f.ahead_hi_ms) AS ahead_hi_ms
  FROM transaction_line f WHERE f.event = 'producer_failed'
  GROUP BY f.kafka_cluster, f.transactional_id, f.process_id, f.instance, f.client_id
), own_session AS (
  SELECT f.*, s.session_id, s.producer_id, s.first_epoch, s.last_epoch, s.own_ms - f.ahead_hi_ms AS own_lo_ms, s.witness AS own_witness,
    s.start_lo IS NOT NULL AS is_coordinated
  FROM fenced_producer f
  LEFT JOIN producer_session s ON s.kafka_cluster <=> f.kafka_cluster AND s.transactional_id = f.transactional_id
    AND s.process_id = f.process_id AND s.instance = f.instance AND s.client_id = f.client_id
    -- If it initialized the id several times, the last time before it was fenced counts.
    AND s.own_pos < f.fenced_pos
), last_own_session AS (
  SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY kafka_cluster, transactional_id, process_id, instance, client_id
  ORDER BY producer_id DESC NULLS LAST, last_epoch DESC NULLS LAST) AS nth
  FROM own_session) WHERE nth = 1
), candidate AS (
  -- A later epoch of the same producer id: which producer received it. Without its own epoch, others are only possible. If both epochs are in the
  -- coordinator's log, no other producer came between them.
  SELECT o.fenced_id, n.session_id, n.process_id, n.instance, n.client_id, n.first_epoch, n.witness,
    CASE WHEN n.reference_process_id = o.island THEN unix_millis(n.start_lo) END AS start_lo_ms,
    CASE WHEN n.reference_process_id = o.island THEN unix_millis(n.start_hi) END AS start_hi_ms,
    o.session_id IS NOT NULL AND coalesce(n.first_epoch = o.last_epoch + 1
      OR CASE WHEN n.process_id = o.process_id AND n.instance = o.instance THEN n.own_pos < o.fenced_pos
        ELSE n.reference_process_id = o.island AND (o.is_coordinated AND n.start_lo IS NOT NULL
          OR unix_millis(n.start_hi) <= o.fenced_lo_ms) END, false) AS is_sure,
    row_number() OVER (PARTITION BY o.fenced_id ORDER BY n.first_epoch, n.session_id) AS nth
  FROM last_own_session o JOIN producer_session n ON n.kafka_cluster <=> o.kafka_cluster AND n.transactional_id = o.transactional_id
  WHERE CASE WHEN o.session_id IS NOT NULL THEN n.producer_id = o.producer_id AND n.first_epoch > o.last_epoch
    ELSE NOT (n.process_id <=> o.process_id AND n.instance <=> o.instance AND n.client_id <=> o.client_id) END
    -- A producer that starts later did not fence it: in the same log by position, else by the clocks.
    AND NOT coalesce(CASE WHEN n.process_id = o.process_id AND n.instance = o.instance THEN n.own_pos > o.fenced_pos
      ELSE n.reference_process_id = o.island AND unix_millis(n.start_lo) > o.fenced_hi_ms END, false)
), abort AS (
  -- Between its own start and the moment when it learned that it was fenced.
  SELECT o.fenced_id, min_by(t.event_id, struct(t.at_lo_ms IS NOT NULL, t.at_lo_ms, t.event_id)) AS event_id, min(t.at_lo_ms) AS at_lo_ms,
    min(t.at_hi_ms) AS at_hi_ms, min_by(t.process_id, struct(t.at_lo_ms IS NOT NULL, t.at_lo_ms, t.event_id)) AS broker
  FROM last_own_session o
  JOIN transaction_line t ON t.event = 'transaction_timed_out' AND t.kafka_cluster <=> o.kafka_cluster
    AND t.transactional_id = o.transactional_id AND t.reference_process_id = o.island AND t.at_lo_ms <= o.fenced_hi_ms
  WHERE o.own_lo_ms IS NULL OR t.at_hi_ms >= o.own_lo_ms GROUP BY o.fenced_id
), refused_record AS (
  SELECT o.fenced_id, count(*) AS times, array_sort(collect_set(t.partition)) AS partitions, slice(array_sort(collect_list(t.event_id)),
    1, 4) AS event_ids
  FROM last_own_session o
  JOIN transaction_line t ON t.event = 'producer_append_refused' AND t.kafka_cluster <=> o.kafka_cluster
    AND t.producer_id = o.producer_id AND t.epoch BETWEEN o.first_epoch AND o.last_epoch
  GROUP BY o.fenced_id
), fence AS (
  SELECT o.*, n.process_id AS other_process_id, n.client_id AS other_client_id, n.first_epoch AS other_epoch, n.is_sure,
    n.session_id AS other_session_id, n.witness AS other_witness, n.start_lo_ms AS other_lo_ms, n.start_hi_ms AS other_hi_ms, a.event_id AS abort_id,
    a.at_lo_ms AS abort_lo_ms, a.at_hi_ms AS abort_hi_ms, a.broker, r.times AS refused, r.partitions AS refused_partitions, r.event_ids AS refused_ids
  FROM last_own_session o LEFT JOIN candidate n ON n.fenced_id = o.fenced_id AND n.nth = 1
  LEFT JOIN abort a ON a.fenced_id = o.fenced_id
  LEFT JOIN refused_record r ON r.fenced_id = o.fenced_id
), fence_with_code AS (
  SELECT *,
    CASE
      -- A producer that starts aborts the open transaction of its predecessor, but not because of a timeout.
      WHEN abort_id IS NOT NULL AND (other_session_id IS NULL OR abort_hi_ms < other_lo_ms) THEN 'timed_out'
      WHEN other_session_id IS NULL THEN 'unknown'
      WHEN session_id IS NOT NULL AND abort_id IS NOT NULL AND NOT coalesce(abort_lo_ms > other_hi_ms, false) THEN 'timed_out_or_other'
      WHEN NOT is_sure THEN 'perhaps_other'
      WHEN other_process_id IS NULL THEN 'other_without_log'
      ELSE 'other' END AS code
  FROM fence
)
SELECT 'warning' AS severity,
  CASE WHEN code IN ('unknown', 'perhaps_other', 'timed_out_or_other') OR code = 'timed_out' AND session_id IS NULL THEN 'undecided'
    ELSE 'proved' END AS verdict,
  kafka_cluster, CAST(NULL AS STRING) AS group_id, transactional_id AS subject, from_ms, from_ms AS to_ms, code,
  struct(
    transactional_id, process_id, instance, client_id, producer_id, last_epoch AS epoch, is_abortable, other_process_id, other_client_id,
    other_epoch,
    -- Both existed from the moment when the other had its epoch until the last line in which this one fails.
    CASE WHEN code = 'other' THEN greatest(0, last_lo_ms - other_hi_ms) END AS overlap_ms,
    broker,
    CASE WHEN code LIKE 'timed_out%' THEN (abort_lo_ms + abort_hi_ms) DIV 2 END AS abort_at_ms,
    refused, refused_partitions
  ) AS facts,
  concat(transform(slice(coalesce(own_witness, array()), 1, 2), x -> named_struct('role', 'the fenced producer gets its epoch', 'event_id', x)),
    CASE WHEN code LIKE 'timed_out%' THEN array(named_struct('role', 'the coordinator aborts its transaction', 'event_id', abort_id))
    ELSE array() END, transform(slice(CASE WHEN code NOT IN ('timed_out', 'unknown') THEN other_witness ELSE array() END, 1, 2),
    x -> named_struct('role', 'the other producer gets its epoch', 'event_id', x)),
    transform(coalesce(refused_ids, array()), x -> named_struct('role', 'records with the old epoch are refused', 'event_id', x)),
    array(named_struct('role', 'fenced', 'event_id', fenced_id))) AS proof
FROM fence_with_code
-- From 4.0 on, a producer whose transaction was aborted may get this error instead. It has other causes too.
WHERE is_fence OR code = 'timed_out'

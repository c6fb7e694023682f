-- One row per client and broker that it could not connect to: producers, admin clients, and consumers whose group had a coordinator, or whose logs
-- do not show that it had none.
-- Reads: fact_line, clock_offset, group_outage
WITH outage_process AS (
  SELECT DISTINCT group_id, explode(who) AS process_id FROM group_outage
), attempt AS (
  -- librdkafka logs one failure twice.
  SELECT *, coalesce(at_ms - lag(at_ms) OVER (PARTITION BY process_id, coalesce(client_id, thread, '-'), node_id, text ORDER BY stream_pos)
    > clock_jitter_ms, true) AS is_other
  FROM (
    SELECT * FROM fact_line WHERE event = 'connection_failed' AND (group_id IS NULL OR client_kind = 'Consumer')
  ) LEFT ANTI JOIN outage_process USING (group_id, process_id)
), failure AS (
  -- A client reaches a coordinator by a connection of its own, whose number is counted down from the largest.
  SELECT process_id, coalesce(client_id, thread, '-') AS client, CASE WHEN node_id > 2000000000 THEN 2147483647 - node_id ELSE node_id END AS broker,
    min(kafka_cluster) AS kafka_cluster, min(group_id) AS group_id,
    coalesce(min(client_id), min(thread) FILTER (WHERE thread RLIKE '#(consumer|producer)-[0-9]+$')) AS client_id, max(text) AS address,
    min(at_ms) AS first_ms, max(at_ms) AS last_ms, count_if(is_other) AS times,
    slice(transform(sort_array(collect_list(struct(stream_pos, event_id))), x -> x.event_id), 1, 8) AS event_ids
  FROM attempt
  GROUP BY process_id, client, broker
)
SELECT 'note' AS severity, 'proved' AS verdict, f.kafka_cluster, f.group_id, f.process_id AS subject,
  f.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms, f.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS to_ms, 'failed' AS code,
  struct(f.process_id, f.client_id, CASE WHEN f.broker >= 0 THEN f.broker END AS broker_id, f.address, f.times,
    f.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS first_at_ms, f.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS last_at_ms) AS facts,
  transform(f.event_ids, x -> named_struct('role', 'no connection to the broker', 'event_id', x)) AS proof
FROM failure f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference

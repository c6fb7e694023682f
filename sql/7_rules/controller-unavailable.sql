-- One row per process whose log shows that the KRaft controllers elected a leader again and again, or have none when it ends.
-- Reads: fact_line, clock_offset
WITH epoch_line AS (
  SELECT process_id, max(kafka_cluster) AS kafka_cluster, min(epoch_ms) AS first_ms, max(epoch_ms) AS last_ms,
    max_by(leader, stream_pos) FILTER (WHERE epoch IS NOT NULL) AS leader,
    count(DISTINCT CASE WHEN leader IS NOT NULL THEN epoch END) AS elections,
    count(DISTINCT CASE WHEN leader IS NULL THEN epoch END) AS without, count_if(event = 'broker_started') AS starts,
    max_by(event, stream_pos) FILTER (WHERE leader IS NOT NULL OR event = 'process_stopping') AS last_event,
    transform(sort_array(collect_list(CASE WHEN epoch IS NOT NULL THEN struct(stream_pos, event_id) END)), x -> x.event_id) AS event_ids
  FROM (
    SELECT *, CASE WHEN epoch IS NOT NULL THEN at_ms END AS epoch_ms,
      -- A node that leads does not name itself again.
      CASE WHEN epoch IS NOT NULL THEN coalesce(node_id,
        CASE WHEN message LIKE '%transition to Leader%' THEN coalesce(broker_id, -1) END) END AS leader
    FROM (
      SELECT *, CASE WHEN event = 'quorum_leader' THEN regexp_extract(message, 'epoch[ =]([0-9]+)', 1) END AS epoch
      FROM fact_line WHERE event IN ('quorum_leader', 'broker_started', 'process_stopping')
    )
  )
  GROUP BY process_id
)
SELECT 'warning' AS severity, 'proved' AS verdict, e.kafka_cluster, CAST(NULL AS STRING) AS group_id, e.process_id AS subject,
  e.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS from_ms,
  CASE WHEN e.leader IS NOT NULL THEN e.last_ms - (o.lo_ms + o.hi_ms) DIV 2 END AS to_ms,
  CASE WHEN e.leader IS NULL THEN 'no_leader' ELSE 'elections' END AS code,
  struct(e.process_id, e.leader, e.elections, e.without, e.first_ms - (o.lo_ms + o.hi_ms) DIV 2 AS first_at_ms,
    e.last_ms - (o.lo_ms + o.hi_ms) DIV 2 AS last_at_ms) AS facts,
  transform(slice(e.event_ids, 1, 8) || slice(e.event_ids, -1, 1), x -> named_struct('role', 'a new epoch', 'event_id', x)) AS proof
FROM epoch_line e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
-- One epoch without a leader begins each election, and each start of a node needs one. A node that stops knows no leader.
WHERE e.leader IS NULL AND e.without > 1 AND coalesce(e.last_event <> 'process_stopping', true)
  OR e.leader IS NOT NULL AND e.elections - 2 * e.starts >= quorum_elections AND (e.last_ms - e.first_ms) DIV e.elections <= storm_gap_ms

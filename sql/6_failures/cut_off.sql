-- One row per connection outage of one process alone: others of its cluster kept their coordinator, and no broker was down.
-- An outage that begins together with that of a broker or of others counts from the first response to another process on.
-- Reads: fact_line, client_event, clock_offset, join_round, process_life, coordinator_outage, process_ending
-- Grain: process_id, instance, from_ms
CREATE OR REPLACE TEMPORARY VIEW cut_off (
  kafka_cluster, process_id, instance,
  from_ms       COMMENT 'First failure, by its own clock (milliseconds since 1970)',
  to_ms         COMMENT 'Last failure, by its own clock',
  before_lo_ms  COMMENT 'Last response of a broker before it, at the earliest (reference clock)',
  from_hi_ms    COMMENT 'First failure at this time at the latest',
  to_lo_ms      COMMENT 'Last failure at this time at the earliest',
  after_hi_ms   COMMENT 'A broker answered it again at this time at the latest; NULL: none did',
  reference_process_id,
  first_id      COMMENT 'Event of the first failure',
  last_id       COMMENT 'Event of the last failure'
)
AS
WITH connection_line AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, true AS is_failure FROM fact_line
  WHERE event IN ('connection_failed', 'bootstrap_failed') AND at_ms IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, false FROM client_event
  WHERE event IN ('joined', 'synced', 'heartbeat_failed') AND at_ms IS NOT NULL
), line_with_answers AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, is_failure,
    count_if(NOT is_failure) OVER (PARTITION BY process_id, instance ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS answers
  FROM connection_line
), failure_stretch AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id,
    count_if(last_ms IS NULL OR at_ms - last_ms > coordinator_settled_ms OR answers > last_answers)
      OVER (PARTITION BY process_id, instance ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS stretch
  FROM (
    SELECT kafka_cluster, process_id, instance, at_ms, event_id, answers, lag(at_ms) OVER w AS last_ms, lag(answers) OVER w AS last_answers
    FROM line_with_answers WHERE is_failure WINDOW w AS (PARTITION BY process_id, instance ORDER BY at_ms, event_id)
  )
), failure_span AS (
  SELECT kafka_cluster, process_id, instance, stretch, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    min_by(event_id, struct(at_ms, event_id)) AS first_id, max_by(event_id, struct(at_ms, event_id)) AS last_id
  FROM failure_stretch GROUP BY kafka_cluster, process_id, instance, stretch HAVING max(at_ms) - min(at_ms) >= unreachable_ms
), connection_outage AS (
  -- One row for each time in which a member's process repeatedly failed to connect to brokers for long. Failures in close succession are one stretch,
  -- unless a coordinator answers one of the process's members in between. A single or brief failure proves nothing.
  SELECT s.kafka_cluster, s.process_id, s.instance, s.stretch, s.from_ms, s.to_ms, s.from_ms - o.hi_ms AS from_lo_ms,
    s.from_ms - o.lo_ms AS from_hi_ms, s.to_ms - o.hi_ms AS to_lo_ms, s.to_ms - o.lo_ms AS to_hi_ms, o.lo_ms AS clock_lo_ms, o.hi_ms AS clock_hi_ms,
    o.reference_process_id, s.first_id, s.last_id
  FROM failure_span s JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
  JOIN process_life l ON l.process_id = s.process_id AND l.instance = s.instance AND NOT l.is_broker
), broker_response AS (
  -- Lines that follow from a broker's response.
  SELECT process_id, instance, at_ms FROM fact_line
  WHERE event = 'kafka_cluster_id'
  UNION ALL
  SELECT process_id, instance, at_ms FROM client_event
  WHERE event IN ('coordinator_discovered', 'joined', 'synced', 'heartbeat_failed')
), surrounding_response AS (
  SELECT u.process_id, u.instance, u.from_ms, max(CASE WHEN k.at_ms < u.from_ms THEN k.at_ms END) AS before_ms,
    min(CASE WHEN k.at_ms > u.to_ms THEN k.at_ms END) AS after_ms
  FROM connection_outage u JOIN broker_response k ON k.process_id = u.process_id AND k.instance = u.instance
  GROUP BY u.process_id, u.instance, u.from_ms
), member_response AS (
  -- The last response that a member received in each round, by its own clock.
  SELECT process_id, kafka_cluster, coalesce(synced_ms, joined_ms, worker_assigned_ms) AS at_ms FROM join_round
), unaffected_process AS (
  -- A member in another process that kept its coordinator throughout.
  SELECT u.process_id, u.instance, u.from_ms, u.from_hi_ms AS since_ms FROM connection_outage u
  JOIN clock_offset o ON o.reference_process_id = u.reference_process_id AND o.is_island_reference AND o.process_id <> u.process_id
  LEFT SEMI JOIN member_response a ON a.process_id = o.process_id AND a.kafka_cluster = u.kafka_cluster AND a.at_ms - o.lo_ms < u.from_lo_ms
  LEFT SEMI JOIN process_life p ON p.process_id = o.process_id AND p.first_ms - o.lo_ms < u.from_lo_ms AND p.last_ms - o.hi_ms > u.to_hi_ms
  LEFT ANTI JOIN coordinator_outage t ON t.process_id = o.process_id AND t.was_member AND t.lost_lo_ms <= u.to_hi_ms
    AND coalesce(t.found_hi_ms, t.lost_hi_ms + t.duration_ms) >= u.from_lo_ms
  UNION ALL
  -- Or a member in another process that received a response in the meantime, long before this process could connect again.
  SELECT u.process_id, u.instance, u.from_ms, a.at_ms - o.lo_ms FROM connection_outage u
  JOIN clock_offset o ON o.reference_process_id = u.reference_process_id AND o.is_island_reference AND o.process_id <> u.process_id
  JOIN member_response a ON a.process_id = o.process_id AND a.kafka_cluster = u.kafka_cluster
    AND a.at_ms - o.hi_ms > u.from_hi_ms AND a.at_ms - o.lo_ms < u.to_lo_ms - unreachable_ms
), unaffected_since AS (
  SELECT process_id, instance, from_ms, min(since_ms) AS since_ms FROM unaffected_process GROUP BY process_id, instance, from_ms
), lone_outage AS (
  -- An attempt to connect that fails may have begun before the others were answered, so one failure afterwards is not enough.
  SELECT u.process_id, u.instance, u.from_ms, w.since_ms FROM connection_outage u
  JOIN unaffected_since w ON w.process_id = u.process_id AND w.instance = u.instance AND w.from_ms = u.from_ms
  JOIN failure_stretch f ON f.process_id = u.process_id AND f.instance = u.instance AND f.stretch = u.stretch
    AND f.at_ms - u.clock_lo_ms >= w.since_ms
  GROUP BY u.process_id, u.instance, u.from_ms, w.since_ms
  HAVING max(f.at_ms) - min(f.at_ms) >= unreachable_ms
)
SELECT u.kafka_cluster, u.process_id, u.instance, u.from_ms, u.to_ms, i.before_ms - u.clock_hi_ms AS before_lo_ms, w.since_ms AS from_hi_ms,
  u.to_lo_ms, i.after_ms - u.clock_lo_ms AS after_hi_ms, u.reference_process_id, u.first_id, u.last_id
FROM connection_outage u JOIN lone_outage w ON w.process_id = u.process_id AND w.instance = u.instance AND w.from_ms = u.from_ms
JOIN surrounding_response i ON i.process_id = u.process_id AND i.instance = u.instance AND i.from_ms = u.from_ms AND i.before_ms IS NOT NULL
LEFT ANTI JOIN connection_outage v ON v.kafka_cluster = u.kafka_cluster AND v.process_id <> u.process_id
  AND v.reference_process_id = u.reference_process_id AND v.from_lo_ms <= u.to_hi_ms AND v.to_hi_ms >= w.since_ms
LEFT ANTI JOIN process_ending b ON b.is_broker AND b.reference_process_id = u.reference_process_id
  AND b.from_lo_ms <= u.to_hi_ms AND b.to_hi_ms >= w.since_ms

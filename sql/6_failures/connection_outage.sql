-- One row per time in which a member's process repeatedly failed to connect to brokers for long.
-- Reads: fact_line, client_event, clock_offset, process_life
-- Grain: process_id, instance, from_ms
-- Failures in close succession are one stretch, unless a coordinator answers one of the process's members in between. A single or brief
-- failure proves nothing.
CREATE OR REPLACE TEMPORARY VIEW connection_outage (
  kafka_cluster COMMENT 'Kafka cluster id',
  process_id    COMMENT 'Process',
  instance      COMMENT 'Run of the process',
  from_ms       COMMENT 'First failure, by its own clock (milliseconds since 1970)',
  to_ms         COMMENT 'Last failure, by its own clock',
  from_lo_ms    COMMENT 'First failure at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'First failure at this time at the latest',
  to_lo_ms      COMMENT 'Last failure at this time at the earliest',
  to_hi_ms      COMMENT 'Last failure at this time at the latest',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  first_id      COMMENT 'Event of the first failure',
  last_id       COMMENT 'Event of the last failure'
)
COMMENT 'One row per time in which a member''s process repeatedly failed to connect to brokers for long.'
AS
WITH connection_line AS (
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, true AS is_failure
  FROM fact_line
  WHERE event IN ('connection_failed', 'bootstrap_failed') AND at_ms IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, process_id, instance, at_ms, event_id, false
  FROM client_event
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
    SELECT kafka_cluster, process_id, instance, at_ms, event_id, answers,
      lag(at_ms) OVER w AS last_ms, lag(answers) OVER w AS last_answers
    FROM line_with_answers
    WHERE is_failure
    WINDOW w AS (PARTITION BY process_id, instance ORDER BY at_ms, event_id)
  )
), failure_span AS (
  SELECT kafka_cluster, process_id, instance, stretch, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    min_by(event_id, struct(at_ms, event_id)) AS first_id, max_by(event_id, struct(at_ms, event_id)) AS last_id
  FROM failure_stretch
  GROUP BY kafka_cluster, process_id, instance, stretch
  HAVING max(at_ms) - min(at_ms) >= unreachable_ms
)
SELECT
  s.kafka_cluster AS kafka_cluster,
  s.process_id AS process_id,
  s.instance AS instance,
  s.from_ms AS from_ms,
  s.to_ms AS to_ms,
  s.from_ms - o.hi_ms AS from_lo_ms,
  s.from_ms - o.lo_ms AS from_hi_ms,
  s.to_ms - o.hi_ms AS to_lo_ms,
  s.to_ms - o.lo_ms AS to_hi_ms,
  o.reference_process_id AS reference_process_id,
  s.first_id AS first_id,
  s.last_id AS last_id
FROM failure_span s
JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
JOIN process_life l ON l.process_id = s.process_id AND l.instance = s.instance AND NOT l.is_broker

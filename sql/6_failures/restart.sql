-- One row per clean restart of a process: it printed that it stops, or left its group, and came back.
-- Reads: process_ending, process_cluster, worker_group, client_event, cluster_broker
-- Grain: process_id, instance
-- Restarts of several processes of one group, one after another, are a deployment. So are restarts of several brokers.
CREATE OR REPLACE TEMPORARY VIEW restart (
  process_id,
  instance      COMMENT 'Run that ended',
  is_broker, kafka_cluster,
  group_id      COMMENT 'Its group: its worker''s, else the first of its consumers''; NULL for a broker',
  is_deployment COMMENT 'True if other processes of the group, or other brokers, restarted before or after it, within storm_gap_ms',
  run           COMMENT 'Restarts with the same number, group and cluster belong together',
  from_lo_ms    COMMENT 'Stopped at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Stopped at this time at the latest',
  to_lo_ms      COMMENT 'Back at this time at the earliest',
  to_hi_ms      COMMENT 'Back at this time at the latest',
  witness
)
AS
WITH consumer_group AS (
  SELECT process_id, instance, min(group_id) AS group_id FROM client_event WHERE group_id IS NOT NULL GROUP BY process_id, instance
), process_run_cluster AS (
  SELECT process_id, instance, max(kafka_cluster) AS kafka_cluster FROM process_cluster WHERE is_life_last GROUP BY process_id, instance
), cluster_of_broker AS (
  SELECT process_id, max(kafka_cluster) AS kafka_cluster FROM cluster_broker WHERE process_id IS NOT NULL GROUP BY process_id
), clean_end AS (
  SELECT e.process_id, e.instance, e.is_broker, coalesce(b.kafka_cluster, c.kafka_cluster) AS kafka_cluster,
    CASE WHEN NOT e.is_broker THEN coalesce(w.group_id, g.group_id) END AS group_id, e.from_lo_ms, e.from_hi_ms, e.to_lo_ms, e.to_hi_ms, e.witness
  FROM process_ending e
  LEFT JOIN worker_group w ON w.process_id = e.process_id AND w.instance = e.instance
  LEFT JOIN consumer_group g ON g.process_id = e.process_id AND g.instance = e.instance
  LEFT JOIN process_run_cluster c ON c.process_id = e.process_id AND c.instance = e.instance
  LEFT JOIN cluster_of_broker b ON b.process_id = e.process_id
  WHERE e.how IN ('stopped', 'left') AND e.from_lo_ms IS NOT NULL
), end_with_previous AS (
  SELECT *, lag(to_hi_ms) OVER (PARTITION BY kafka_cluster, is_broker, group_id ORDER BY from_lo_ms, process_id, instance) AS last_ms
  FROM clean_end WHERE is_broker OR group_id IS NOT NULL
), end_in_series AS (
  SELECT *, count_if(last_ms IS NULL OR from_lo_ms - last_ms > storm_gap_ms) OVER (PARTITION BY kafka_cluster, is_broker, group_id
    ORDER BY from_lo_ms, process_id, instance ROWS UNBOUNDED PRECEDING) AS run
  FROM end_with_previous
), series_size AS (
  SELECT kafka_cluster, is_broker, group_id, run, count(DISTINCT process_id) AS processes
  FROM end_in_series GROUP BY kafka_cluster, is_broker, group_id, run
)
SELECT n.process_id, n.instance, n.is_broker, n.kafka_cluster, n.group_id, c.processes > 1 AS is_deployment, n.run, n.from_lo_ms, n.from_hi_ms,
  n.to_lo_ms, n.to_hi_ms, n.witness
FROM end_in_series n
JOIN series_size c ON c.kafka_cluster <=> n.kafka_cluster AND c.is_broker = n.is_broker AND c.group_id <=> n.group_id AND c.run = n.run

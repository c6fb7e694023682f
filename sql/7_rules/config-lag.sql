-- One row per worker that repeatedly found itself behind its group's configuration, or could not read it to the end.
-- Reads: fact_line, process_life, worker_setting, clock_offset
WITH mismatch AS (
  SELECT f.kafka_cluster, f.worker_group_id AS group_id, f.process_id, f.instance, f.stream_pos, f.event, f.event_id, f.config_offset,
    f.assigned_config_offset, f.at_ms, o.lo_ms, o.hi_ms,
    f.at_ms - lag(f.at_ms) OVER (PARTITION BY f.process_id, f.instance ORDER BY f.stream_pos) AS since_last_ms
  FROM fact_line f JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('config_mismatch', 'config_read_timeout') AND (l.stopping_ms IS NULL OR f.at_ms < l.stopping_ms)
), numbered_mismatch AS (
  SELECT *,
    count_if(since_last_ms IS NULL OR since_last_ms > storm_gap_ms)
      OVER (PARTITION BY process_id, instance ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS spell
  FROM mismatch
), lagging_worker AS (
  SELECT kafka_cluster, group_id, process_id, instance, spell, count(*) AS times, count_if(event = 'config_read_timeout') AS read_timeouts,
    bool_and(event = 'config_read_timeout') AS is_never_read, min(at_ms) AS first_ms, max(at_ms) AS last_ms, max(lo_ms) AS lo_ms,
    max(hi_ms) AS hi_ms, max(config_offset) AS own_offset, max(assigned_config_offset) AS assigned_offset,
    min_by(event_id, stream_pos) AS first_id, max_by(event_id, stream_pos) AS last_id
  FROM numbered_mismatch GROUP BY kafka_cluster, group_id, process_id, instance, spell HAVING count(*) >= config_lag_times
)
SELECT 'warning' AS severity, 'proved' AS verdict, l.kafka_cluster, l.group_id, l.process_id AS subject, l.first_ms - l.hi_ms AS from_ms,
  l.last_ms - l.lo_ms AS to_ms,
  -- A configuration that was never read to the end was not compared with anything.
  CASE WHEN l.is_never_read THEN 'never_read' ELSE 'mismatch' END AS code,
  struct(l.process_id, l.instance, l.times AS mismatches, l.last_ms - l.first_ms AS lasted_ms, l.read_timeouts, s.config_topic, l.own_offset,
    l.assigned_offset) AS facts,
  array(named_struct('role', CASE WHEN l.is_never_read THEN 'cannot read to the end' ELSE 'first mismatch' END, 'event_id', l.first_id),
    named_struct('role', CASE WHEN l.is_never_read THEN 'still cannot read to the end' ELSE 'last mismatch' END, 'event_id',
    CASE WHEN l.last_id <> l.first_id THEN l.last_id END)) AS proof
FROM lagging_worker l LEFT JOIN worker_setting s ON s.process_id = l.process_id

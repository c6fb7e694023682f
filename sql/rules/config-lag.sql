-- One row per worker that found itself behind its group's configuration again and again.
-- Reads: fact_line, process_life, worker_group, worker_setting, clock_offset
-- Answers: why does a worker join again and again without starting anything?
-- Needs: the worker's log.
-- Silent when: it caught up at once: every worker is behind for a moment when it starts or a connector changes.
-- Shown by: 3.9.1-same_group_other_topics; silent on all others.
CREATE OR REPLACE TEMPORARY VIEW rule_config_lag (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per worker that found itself behind its group''s configuration again and again.'
AS
WITH line AS (
  SELECT f.*, o.lo_ms, o.hi_ms, lag(f.ts) OVER (PARTITION BY f.process_id, f.instance ORDER BY f.stream_pos) AS last_ts
  FROM fact_line f
  JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('config_mismatch', 'config_read_timeout') AND (l.stopping_ts IS NULL OR f.ts < l.stopping_ts)
), numbered AS (
  SELECT *, count_if(last_ts IS NULL OR unix_millis(ts) - unix_millis(last_ts) > storm_gap_ms) OVER (PARTITION BY process_id, instance ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS n FROM line
), lag AS (
  SELECT kafka_cluster, process_id, instance, n, count(*) AS times, count_if(event = 'config_read_timeout') AS timeouts, min(ts) AS from_ts, max(ts) AS to_ts, max(lo_ms) AS lo_ms, max(hi_ms) AS hi_ms,
    max(config_offset) AS has, max(assigned_config_offset) AS wants, array_distinct(array(min_by(event_id, stream_pos), max_by(event_id, stream_pos))) AS witness
  FROM numbered GROUP BY kafka_cluster, process_id, instance, n
  HAVING count(*) >= config_lag_times
)
SELECT
  'warning', 'proved', l.kafka_cluster, w.group_id, l.process_id, timestamp_millis(unix_millis(l.from_ts) - l.hi_ms), timestamp_millis(unix_millis(l.to_ts) - l.lo_ms),
  concat(l.process_id, ' was behind the configuration of ', w.group_id, ' ', l.times, ' times in ', round((unix_millis(l.to_ts) - unix_millis(l.from_ts)) / 1000.0), ' s, and joined again each time'),
  concat('It reads ', coalesce(s.config_topic, 'its configuration topic'), ' up to offset ', coalesce(CAST(l.has AS STRING), '?'), '; the assignment was made from offset ', coalesce(CAST(l.wants AS STRING), '?'), '. A worker that cannot reach the assignment''s offset starts nothing of it and asks for another rebalance',
    CASE WHEN l.timeouts > 0 THEN concat('; ', l.timeouts, ' times it could not read to the end of the topic in time and left the group') ELSE '' END, '. At INFO each turn prints half a dozen lines, thousands a second.'),
  concat('Compare config.storage.topic of all workers of the group (here ', coalesce(s.config_topic, 'not printed'), '): with different topics it can never catch up (finding group-id-collision). If they are equal, look at the partition''s leader and at worker.sync.timeout.ms (default 3000): the topic must have exactly one partition and be readable.'),
  l.witness
FROM lag l
LEFT JOIN worker_group w ON w.process_id = l.process_id AND w.instance = l.instance
LEFT JOIN worker_setting s ON s.process_id = l.process_id

-- One row per stretch of a process's life in which it belonged to one Kafka cluster.
-- Reads: event, process_line
-- Grain: process_id, instance, from_pos
-- A broker whose data were lost, and a worker whose brokers were, belong to another cluster afterwards: groups of the same name in two
-- clusters have nothing to do with each other. In a life the first id holds from its beginning, another id of the same client from there
-- on. A life that prints none has that of the lives around it, where they agree; a process that never prints one, the only one of the case.
CREATE OR REPLACE TEMPORARY VIEW process_cluster (
  process_id    COMMENT 'Process',
  instance      COMMENT 'Which life of the process',
  from_pos      COMMENT 'Positions in the stream from this one on; below all, if from the beginning of the life',
  to_pos        COMMENT 'and below this one; NULL: to the end of the life',
  kafka_cluster COMMENT 'Cluster id; `unknown` when nothing tells, with the life''s number where the process had several',
  cluster_ms    COMMENT 'When the life told it first (milliseconds since 1970); NULL: it did not',
  cluster_event COMMENT 'Its event',
  is_life_last  COMMENT 'True for the last stretch of its life',
  is_last       COMMENT 'True for the last stretch of its process'
)
COMMENT 'One row per stretch of a process''s life in which it belonged to one Kafka cluster.'
AS
WITH told AS (
  -- Whose word counts: a broker's own, a worker's, a process's without a client's name, a consumer's, any other client''s.
  SELECT process_id, instance, stream_pos, unix_millis(ts) AS at_ms, event_id, kafka_cluster_id, coalesce(group_id, '') AS group_id,
    CASE WHEN broker_id IS NOT NULL THEN 0 WHEN client_kind = 'Worker' THEN 1 WHEN client_kind IS NULL THEN 2
      WHEN client_kind = 'Consumer' THEN 3 ELSE 4 END AS place
  FROM event
  WHERE kafka_cluster_id IS NOT NULL
), teller AS (
  SELECT process_id, instance, min(struct(place, group_id)) AS best FROM told GROUP BY process_id, instance
), word AS (
  SELECT t.process_id, t.instance, t.stream_pos, t.at_ms, t.event_id, t.kafka_cluster_id,
    lag(t.kafka_cluster_id) OVER (PARTITION BY t.process_id, t.instance ORDER BY t.stream_pos) AS before
  FROM told t
  JOIN teller b ON b.process_id = t.process_id AND b.instance = t.instance AND b.best.place = t.place AND b.best.group_id = t.group_id
), stretch AS (
  SELECT process_id, instance, at_ms, event_id, kafka_cluster_id AS kafka_cluster, CASE WHEN before IS NULL THEN -9223372036854775807L
    ELSE stream_pos END AS from_pos
  FROM word
  WHERE before IS NULL OR before <> kafka_cluster_id
), life AS (
  SELECT DISTINCT process_id, instance FROM process_line
), known AS (
  SELECT process_id, count(DISTINCT kafka_cluster) AS clusters FROM stretch GROUP BY process_id
), only_one AS (
  SELECT CASE WHEN count(DISTINCT kafka_cluster) = 1 THEN max(kafka_cluster) END AS kafka_cluster FROM stretch
), placed AS (
  SELECT l.process_id, l.instance, coalesce(s.from_pos, -9223372036854775807L) AS from_pos, s.kafka_cluster, s.at_ms, s.event_id,
    coalesce(k.clusters, 0) AS clusters,
    lag(s.kafka_cluster) IGNORE NULLS OVER (PARTITION BY l.process_id ORDER BY l.instance, s.from_pos) AS earlier,
    lag(s.kafka_cluster) IGNORE NULLS OVER (PARTITION BY l.process_id ORDER BY -l.instance, -s.from_pos) AS later
  FROM life l
  LEFT JOIN stretch s ON s.process_id = l.process_id AND s.instance = l.instance
  LEFT JOIN known k ON k.process_id = l.process_id
)
SELECT
  p.process_id, p.instance, p.from_pos,
  lead(p.from_pos) OVER (PARTITION BY p.process_id, p.instance ORDER BY p.from_pos) AS to_pos,
  coalesce(p.kafka_cluster, CASE WHEN p.earlier = p.later OR p.clusters = 1 THEN coalesce(p.earlier, p.later) END, o.kafka_cluster,
    CASE WHEN p.clusters > 1 THEN concat('unknown (', p.process_id, ', life ', p.instance, ')') ELSE 'unknown' END) AS kafka_cluster,
  p.at_ms AS cluster_ms, p.event_id AS cluster_event,
  row_number() OVER (PARTITION BY p.process_id, p.instance ORDER BY p.from_pos DESC) = 1 AS is_life_last,
  row_number() OVER (PARTITION BY p.process_id ORDER BY p.instance DESC, p.from_pos DESC) = 1 AS is_last
FROM placed p CROSS JOIN only_one o

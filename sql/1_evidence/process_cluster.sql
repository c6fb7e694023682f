-- One row per stretch of a process run in which it belonged to one Kafka cluster, with the group of its Connect worker.
-- Reads: event, process_line
-- Grain: process_id, instance, from_pos
-- A broker that lost its data, and a worker whose brokers did, belong to a new cluster afterwards. Groups of the same name in two clusters are
-- unrelated. In a process run the first cluster id holds from the beginning, and a different id of the same client from that line on. A run without
-- an id takes the id of the runs around it if they agree. A process without any id takes that of the case if there is only one.
-- Lines of Worker and of tasks have no group id in any release, lines of the herder none before 2.3.
CREATE OR REPLACE TEMPORARY VIEW process_cluster (
  process_id, instance,
  from_pos      COMMENT 'First position of the stretch; the minimum if it begins with the run',
  to_pos        COMMENT 'First position after it; NULL: to the end of the run',
  kafka_cluster COMMENT 'Cluster id; `unknown` if no line shows it, with the number of the run if the process had several clusters',
  cluster_ms    COMMENT 'When the run first printed it (milliseconds since 1970); NULL: it did not',
  cluster_event COMMENT 'Its event',
  is_life_last  COMMENT 'True for the last stretch of its run',
  is_last       COMMENT 'True for the last stretch of its process',
  resolution_ms COMMENT 'A printed time of the process may be earlier than the true one by nearly this, milliseconds',
  worker_group_id COMMENT 'Group of its Connect worker; NULL: it has none, or several (MirrorMaker 2), so the group of such a line is ambiguous',
  worker_client_id COMMENT 'Its client.id; NULL: no line has it'
)
AS
WITH cluster_id_line AS (
  -- Source priority: a broker's own line, a worker's, one without a client name, a consumer's, any other client's.
  SELECT process_id, instance, stream_pos, unix_millis(ts) AS at_ms, event_id, kafka_cluster_id, coalesce(group_id, '') AS group_id,
    CASE WHEN broker_id IS NOT NULL THEN 0 WHEN client_kind = 'Worker' THEN 1 WHEN client_kind IS NULL THEN 2
      WHEN client_kind = 'Consumer' THEN 3 ELSE 4 END AS priority
  FROM event WHERE kafka_cluster_id IS NOT NULL
), best_source AS (
  SELECT process_id, instance, min(struct(priority, group_id)) AS best FROM cluster_id_line GROUP BY process_id, instance
), cluster_id_sequence AS (
  SELECT t.process_id, t.instance, t.stream_pos, t.at_ms, t.event_id, t.kafka_cluster_id,
    lag(t.kafka_cluster_id) OVER (PARTITION BY t.process_id, t.instance ORDER BY t.stream_pos) AS before
  FROM cluster_id_line t
  JOIN best_source b ON b.process_id = t.process_id AND b.instance = t.instance AND b.best.priority = t.priority AND b.best.group_id = t.group_id
), cluster_stretch AS (
  SELECT process_id, instance, at_ms, event_id, kafka_cluster_id AS kafka_cluster,
    CASE WHEN before IS NULL THEN -9223372036854775807L ELSE stream_pos END AS from_pos
  FROM cluster_id_sequence WHERE before IS NULL OR before <> kafka_cluster_id
), process_run AS (
  SELECT process_id, instance, coalesce(max(max(resolution_ms)) OVER (PARTITION BY process_id), 1) AS resolution_ms FROM process_line
  GROUP BY process_id, instance
), run_worker AS (
  SELECT w.process_id, w.instance, max(w.group_id) AS group_id, max(w.client_id) AS client_id
  FROM (
    SELECT process_id, instance, group_id, client_id FROM event WHERE client_kind = 'Worker' AND group_id IS NOT NULL
    UNION ALL
    SELECT process_id, instance, config['group.id'], NULL FROM event WHERE event = 'config_dumped' AND component = 'DistributedConfig'
  ) w
  WHERE w.group_id IS NOT NULL GROUP BY w.process_id, w.instance HAVING count(DISTINCT w.group_id) = 1
), cluster_count AS (
  SELECT process_id, count(DISTINCT kafka_cluster) AS clusters FROM cluster_stretch GROUP BY process_id
), case_cluster AS (
  SELECT CASE WHEN count(DISTINCT kafka_cluster) = 1 THEN max(kafka_cluster) END AS kafka_cluster FROM cluster_stretch
), run_stretch AS (
  SELECT l.process_id, l.instance, l.resolution_ms, coalesce(s.from_pos, -9223372036854775807L) AS from_pos, s.kafka_cluster, s.at_ms, s.event_id,
    coalesce(k.clusters, 0) AS clusters,
    lag(s.kafka_cluster) IGNORE NULLS OVER (PARTITION BY l.process_id ORDER BY l.instance, s.from_pos) AS earlier,
    lag(s.kafka_cluster) IGNORE NULLS OVER (PARTITION BY l.process_id ORDER BY -l.instance, -s.from_pos) AS later
  FROM process_run l LEFT JOIN cluster_stretch s ON s.process_id = l.process_id AND s.instance = l.instance
  LEFT JOIN cluster_count k ON k.process_id = l.process_id
)
SELECT p.process_id, p.instance, p.from_pos, lead(p.from_pos) OVER (PARTITION BY p.process_id, p.instance ORDER BY p.from_pos) AS to_pos,
  coalesce(p.kafka_cluster, CASE WHEN p.earlier = p.later OR p.clusters = 1 THEN coalesce(p.earlier, p.later) END, o.kafka_cluster,
    CASE WHEN p.clusters > 1 THEN concat('unknown (', p.process_id, ', life ', p.instance, ')') ELSE 'unknown' END) AS kafka_cluster,
  p.at_ms AS cluster_ms, p.event_id AS cluster_event,
  row_number() OVER (PARTITION BY p.process_id, p.instance ORDER BY p.from_pos DESC) = 1 AS is_life_last,
  row_number() OVER (PARTITION BY p.process_id ORDER BY p.instance DESC, p.from_pos DESC) = 1 AS is_last, p.resolution_ms,
  w.group_id AS worker_group_id, w.client_id AS worker_client_id
FROM run_stretch p CROSS JOIN case_cluster o
LEFT JOIN run_worker w ON w.process_id = p.process_id AND w.instance = p.instance

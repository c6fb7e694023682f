-- One row per removed member of a sink that was lost together with a worker of its Connect cluster: which worker.
-- Reads: event, process_cluster, clock_offset, generation, member_generation, member_place
-- Grain: removed_id, member_id
-- A sink's consumer is named after its task (connector-consumer-orders-1, since 2.3), and a generation of workers assigns each task to one
-- worker. A worker whose own lines do not show the task had it if all other workers are known and did not have it. If two removed workers
-- are possible, or the Kafka cluster has several Connect clusters, there is no row.
CREATE OR REPLACE TEMPORARY VIEW sink_worker (
  kafka_cluster    COMMENT 'Kafka cluster id',
  group_id         COMMENT 'Group of the sink',
  member_id        COMMENT 'Its member',
  removed_id       COMMENT 'Event that removed it',
  task             COMMENT 'Connect task whose consumer it was',
  worker_group_id  COMMENT 'Group of the workers',
  worker_member_id COMMENT 'Member id of the worker that had the task',
  worker_removed_id COMMENT 'Event that removed the worker',
  generation       COMMENT 'Last generation of the workers before that',
  is_sure          COMMENT 'False: the number of workers is unknown, so another one without a log may have had the task'
)
COMMENT 'One row per removed member of a sink that was lost together with a worker of its Connect cluster: which worker.'
AS
WITH logged_removal AS (
  SELECT c.kafka_cluster, e.group_id, e.member_id, e.event_id AS removed_id, e.process_id AS broker, unix_millis(e.ts) AS at_ms,
    unix_millis(e.ts) - o.hi_ms AS from_ms, unix_millis(e.ts) - o.lo_ms AS to_ms, o.reference_process_id,
    nullif(regexp_extract(e.member_id, '^connector-consumer-(.+-[0-9]+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 1), '') AS task
  FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.event = 'member_expired' AND e.group_id IS NOT NULL AND e.member_id IS NOT NULL AND NOT e.message LIKE 'Pending member%'
), single_connect_group AS (
  SELECT kafka_cluster, max(group_id) AS only_one
  FROM generation
  WHERE protocol_type = 'connect'
  GROUP BY kafka_cluster
  HAVING count(DISTINCT group_id) = 1
), removed_worker AS (
  SELECT r.kafka_cluster, r.group_id, r.member_id, r.removed_id, r.from_ms, r.to_ms, r.reference_process_id,
    max(p.process_id) AS process_id,
    max(struct(n.stabilized_ts, n.incarnation, n.generation, CASE WHEN n.is_count_told THEN n.member_count END AS members)) AS last
  FROM logged_removal r
  JOIN single_connect_group g ON g.kafka_cluster = r.kafka_cluster AND g.only_one = r.group_id
  JOIN generation n ON n.kafka_cluster = r.kafka_cluster AND n.group_id = r.group_id AND n.coordinator = r.broker
    AND unix_millis(n.stabilized_ts) < r.at_ms
  LEFT JOIN member_place p ON p.group_id = r.group_id AND p.member_id = r.member_id
  GROUP BY r.kafka_cluster, r.group_id, r.member_id, r.removed_id, r.from_ms, r.to_ms, r.reference_process_id
), last_assignment AS (
  SELECT w.removed_id, w.member_id, max(struct(m.generation, m.assigned)) AS had
  FROM removed_worker w
  JOIN member_generation m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id AND m.incarnation = w.last.incarnation
    AND m.generation <= w.last.generation
    -- Up to 2.5 only the process of a member is known.
    AND coalesce(m.member_id = w.member_id, m.process_id = w.process_id)
  WHERE m.assigned IS NOT NULL
  GROUP BY w.removed_id, w.member_id
), known_share AS (
  SELECT w.kafka_cluster, w.group_id, w.member_id, w.removed_id, w.from_ms, w.to_ms, w.reference_process_id,
    w.last.generation AS generation,
    h.had.assigned AS own,
    -- A worker may still have the tasks that it is asked to revoke.
    flatten(collect_list(concat(coalesce(m.assigned, m.revoked), coalesce(m.revoked, m.assigned)))) AS others,
    count_if(m.assigned IS NOT NULL AND m.generation = w.last.generation) AS known, w.last.members AS members
  FROM removed_worker w
  LEFT JOIN last_assignment h ON h.removed_id = w.removed_id AND h.member_id = w.member_id
  -- It kept its last assignment until another worker was assigned the task.
  JOIN member_generation m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id AND m.incarnation = w.last.incarnation
    AND m.generation BETWEEN coalesce(h.had.generation, w.last.generation) AND w.last.generation
  WHERE NOT coalesce(m.member_id = w.member_id, m.process_id = w.process_id, false)
  GROUP BY w.kafka_cluster, w.group_id, w.member_id, w.removed_id, w.from_ms, w.to_ms, w.reference_process_id, w.last, h.had
)
SELECT
  r.kafka_cluster AS kafka_cluster,
  r.group_id AS group_id,
  r.member_id AS member_id,
  r.removed_id AS removed_id,
  r.task AS task,
  max(s.group_id) AS worker_group_id,
  max(s.member_id) AS worker_member_id,
  max(s.removed_id) AS worker_removed_id,
  max(s.generation) AS generation,
  bool_and(coalesce(array_contains(s.own, r.task), false) OR s.members IS NOT NULL) AS is_sure
FROM logged_removal r
JOIN known_share s ON s.kafka_cluster = r.kafka_cluster AND s.reference_process_id = r.reference_process_id
  -- The coordinator last heard from both at the same time, and their session timeouts differ.
  AND r.from_ms <= s.to_ms + sessions_apart_ms AND s.from_ms <= r.to_ms + sessions_apart_ms
  AND NOT coalesce(array_contains(s.others, r.task), false)
  AND (array_contains(s.own, r.task) OR coalesce(s.known = s.members - 1, true))
WHERE r.task IS NOT NULL
GROUP BY r.kafka_cluster, r.group_id, r.member_id, r.removed_id, r.task
HAVING count(*) = 1

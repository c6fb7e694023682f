-- One row per member that its coordinator removed against its will, with its process.
-- Reads: placed_event, member_place, broker_generation, member_setting, setting, client_event, clock_offset, fact_line, task_life
-- Reads: join_round, member_round
-- Grain: kafka_cluster, group_id, member_id, removed_id
-- The process is known from the member's own lines, from the refusal that names the id when it returns, or from the task that only one worker had. A
-- sink's consumer is named after its task (connector-consumer-orders-1, since 2.3), and a generation of workers assigns each task to one worker: the
-- member was lost with the removed worker that had its task, or, if all other workers are known and did not have it, with the one that is left. If
-- two removed workers are possible, or the Kafka cluster has several Connect clusters, the worker is unknown. A client that is closed leaves its
-- group, or its session expires: then the membership was no longer needed and was not lost.
CREATE OR REPLACE TEMPORARY VIEW removed_member (
  kafka_cluster, group_id, member_id,
  how           COMMENT 'session: no heartbeat; rebalance: it did not rejoin, or revoke its partitions, in time',
  protocol      COMMENT 'classic or consumer (KIP-848)',
  broker        COMMENT 'Coordinator''s process',
  removed_id    COMMENT 'Event of the removal',
  removed_lo_ms COMMENT 'Removed at this time at the earliest (reference clock, milliseconds since 1970)',
  removed_hi_ms COMMENT 'Removed at this time at the latest',
  heard_ms      COMMENT 'It asked to join the current generation at this time at the earliest (reference clock); NULL: the log begins later',
  reference_process_id,
  process_id    COMMENT 'Its process; NULL: unknown',
  instance, client,
  worker_group_id COMMENT 'Group of the worker that a sink''s member was lost with; NULL: none is known',
  worker_member_id COMMENT 'Member id of that worker',
  session_ms    COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms     COMMENT 'Removed at this time at the earliest, by the process''s own clock; NULL: its clock cannot be compared',
  own_hi_ms     COMMENT 'Removed at this time at the latest, by the process''s own clock',
  was_closed    COMMENT 'True if its client had been closed, or its process was stopping, before: it left without a line',
  closed_id     COMMENT 'Event that shows it'
)
AS
WITH coordinator_line AS (
  SELECT e.kafka_cluster, e.process_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.group_id, e.member_id, e.members, e.reason,
    e.message
  FROM placed_event e
  -- A process that was given a member id and never joined with it was never a member.
  WHERE e.group_id IS NOT NULL AND e.broker_id IS NOT NULL AND NOT e.message LIKE 'Pending member%'
    AND (e.event IN ('member_expired', 'group_stabilized')
      -- The reason of the rebalance shows the removal too, where the line before it is missing.
      OR e.event = 'rebalance_preparing' AND e.reason LIKE '%on heartbeat expiration%')
), member_departure AS (
  -- Each member that leaves or is removed, with the coordinator's last generation before.
  SELECT kafka_cluster, group_id, process_id, at_ms, event_id, event, reason, message, member_id IS NULL AS is_listed, before_id,
    explode(CASE WHEN member_id IS NULL THEN coalesce(members, array()) ELSE array(member_id) END) AS member_id
  FROM (
    SELECT *, lag(CASE WHEN event = 'group_stabilized' THEN event_id END) IGNORE NULLS
      OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY stream_pos) AS before_id,
      bool_or(event = 'member_expired') OVER (PARTITION BY group_id, process_id, member_id) AS is_logged
    FROM coordinator_line
  )
  WHERE event = 'member_expired' OR event = 'rebalance_preparing' AND NOT is_logged
), removal AS (
  SELECT p.kafka_cluster, p.group_id, p.member_id, p.process_id AS broker, p.event_id AS removed_id,
    CASE WHEN p.is_listed OR p.reason RLIKE '(?i)rebalance' THEN 'rebalance' ELSE 'session' END AS how,
    CASE WHEN p.message LIKE '%fenced from the group%' THEN 'consumer' ELSE 'classic' END AS protocol,
    p.at_ms, p.at_ms - o.hi_ms AS removed_lo_ms, p.at_ms - o.lo_ms AS removed_hi_ms, b.prepared_ms - o.hi_ms AS heard_ms, o.reference_process_id,
    regexp_extract(p.member_id, '^connector-consumer-(.+-[0-9]+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 1) AS task
  FROM member_departure p JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
  LEFT JOIN broker_generation b ON b.stabilized_id = p.before_id
  WHERE p.member_id <> '' AND p.at_ms IS NOT NULL
), single_connect_group AS (
  SELECT kafka_cluster, max(group_id) AS only_one FROM join_round WHERE is_worker GROUP BY kafka_cluster HAVING count(DISTINCT group_id) = 1
), removed_worker AS (
  -- With the last generation that it was in.
  SELECT
    r.kafka_cluster, r.group_id, r.member_id, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.reference_process_id, max(p.process_id) AS process_id,
    max(struct(n.stabilized_ms, n.incarnation, n.generation, n.member_count AS members)) AS last
  FROM removal r JOIN single_connect_group g ON g.kafka_cluster = r.kafka_cluster AND g.only_one = r.group_id
  JOIN broker_generation n ON n.kafka_cluster = r.kafka_cluster AND n.group_id = r.group_id AND n.process_id = r.broker
    AND n.stabilized_ms < r.at_ms
  LEFT JOIN member_place p ON p.group_id = r.group_id AND p.member_id = r.member_id
  GROUP BY r.kafka_cluster, r.group_id, r.member_id, r.removed_id, r.removed_lo_ms, r.removed_hi_ms, r.reference_process_id
), worker_share AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.member_id, r.process_id, j.assigned, j.revoked FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round WHERE j.is_worker
), last_assignment AS (
  -- Up to 2.5 only the process of a member is known.
  SELECT w.removed_id, w.member_id, max(struct(m.generation, m.assigned)) AS had FROM removed_worker w
  JOIN worker_share m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id AND m.incarnation = w.last.incarnation
    AND m.generation <= w.last.generation AND coalesce(m.member_id = w.member_id, m.process_id = w.process_id)
  WHERE m.assigned IS NOT NULL GROUP BY w.removed_id, w.member_id
), known_share AS (
  -- A worker may still have the tasks that it is asked to revoke, and keeps its last assignment until another one is assigned the task.
  SELECT w.kafka_cluster, w.group_id, w.member_id, w.removed_id, w.removed_lo_ms, w.removed_hi_ms, w.reference_process_id, w.last,
    h.had.assigned AS own, flatten(collect_list(concat(coalesce(m.assigned, m.revoked), coalesce(m.revoked, m.assigned)))) AS others,
    count_if(m.assigned IS NOT NULL AND m.generation = w.last.generation) AS known
  FROM removed_worker w LEFT JOIN last_assignment h ON h.removed_id = w.removed_id AND h.member_id = w.member_id
  JOIN worker_share m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id AND m.incarnation = w.last.incarnation
    AND m.generation BETWEEN coalesce(h.had.generation, w.last.generation) AND w.last.generation
  WHERE NOT coalesce(m.member_id = w.member_id, m.process_id = w.process_id, false)
  GROUP BY w.kafka_cluster, w.group_id, w.member_id, w.removed_id, w.removed_lo_ms, w.removed_hi_ms, w.reference_process_id, w.last, h.had
), sink_worker AS (
  -- The coordinator last heard from both at the same time, and their session timeouts differ.
  SELECT r.removed_id, r.member_id, r.task, max(s.group_id) AS worker_group_id, max(s.member_id) AS worker_member_id,
    bool_and(coalesce(array_contains(s.own, r.task), false) OR s.last.members IS NOT NULL) AS is_sure
  FROM removal r
  JOIN known_share s ON s.kafka_cluster = r.kafka_cluster AND s.reference_process_id = r.reference_process_id
    AND r.removed_lo_ms <= s.removed_hi_ms + sessions_apart_ms AND s.removed_lo_ms <= r.removed_hi_ms + sessions_apart_ms
    AND NOT coalesce(array_contains(s.others, r.task), false) AND (array_contains(s.own, r.task) OR coalesce(s.known = s.last.members - 1, true))
  WHERE r.task <> '' GROUP BY r.removed_id, r.member_id, r.task HAVING count(*) = 1
), identified_removal AS (
  SELECT r.*, t.worker_group_id, t.worker_member_id, coalesce(o.process_id, w.process_id) AS process_id, coalesce(o.instance, w.instance) AS instance,
    coalesce(o.client, CASE WHEN w.process_id IS NOT NULL THEN concat('connector-consumer-', r.task) END) AS client
  FROM removal r LEFT JOIN member_place o ON o.group_id = r.group_id AND o.member_id = r.member_id
  LEFT JOIN sink_worker t ON t.removed_id = r.removed_id AND t.member_id = r.member_id
  LEFT JOIN member_place w ON t.is_sure AND w.group_id = t.worker_group_id AND w.member_id = t.worker_member_id
), located_removal AS (
  SELECT k.kafka_cluster, k.group_id, k.member_id, k.how, k.protocol, k.broker, k.removed_id, k.removed_lo_ms, k.removed_hi_ms, k.heard_ms,
    k.reference_process_id, k.process_id, k.instance, k.client, k.worker_group_id, k.worker_member_id,
    CASE WHEN k.protocol = 'consumer' THEN bs.session_ms
      ELSE coalesce(s.value_ms, cs.session_ms) END AS session_ms,
    CASE WHEN o.reference_process_id = k.reference_process_id THEN k.removed_lo_ms + o.lo_ms END AS own_lo_ms,
    CASE WHEN o.reference_process_id = k.reference_process_id THEN k.removed_hi_ms + o.hi_ms END AS own_hi_ms
  FROM identified_removal k LEFT JOIN clock_offset o ON o.process_id = k.process_id AND o.is_island_reference
  LEFT JOIN member_setting s ON s.kafka_cluster = k.kafka_cluster AND s.group_id = k.group_id AND s.setting = 'session.timeout.ms'
    AND s.member_id = k.member_id
  LEFT JOIN (SELECT DISTINCT process_id, client FROM client_event WHERE is_worker) w ON w.process_id = k.process_id AND w.client = k.client
  LEFT JOIN (
    SELECT process_id, CASE WHEN component = 'ConsumerConfig' THEN client_id END AS client_id, component, max(try_cast(value AS BIGINT)) AS session_ms
    FROM setting WHERE component IN ('ConsumerConfig', 'DistributedConfig') AND key = 'session.timeout.ms'
    GROUP BY process_id, CASE WHEN component = 'ConsumerConfig' THEN client_id END, component
  ) cs ON cs.process_id = k.process_id AND (w.client IS NULL AND cs.component = 'ConsumerConfig' AND cs.client_id = k.client
    OR w.client IS NOT NULL AND cs.component = 'DistributedConfig')
  LEFT JOIN (
    -- As in generation.
    SELECT kafka_cluster, group_id,
      min(CASE WHEN client_kind = 'ShareConsumer' OR protocol_type = 'share' THEN 'share' ELSE 'streams' END) AS protocol_type
    FROM placed_event
    WHERE client_kind = 'ShareConsumer' OR broker_id IS NOT NULL AND protocol_type IN ('share', 'streams') OR logger LIKE '%StreamsMembershipManager'
    GROUP BY kafka_cluster, group_id
  ) g ON g.kafka_cluster = k.kafka_cluster AND g.group_id = k.group_id
  LEFT JOIN (
    SELECT process_id, key, max(try_cast(value AS BIGINT)) AS session_ms FROM setting
    WHERE component = 'KafkaConfig' AND key LIKE 'group.%.session.timeout.ms' GROUP BY process_id, key
  ) bs ON bs.process_id = k.broker AND bs.key = concat('group.', coalesce(g.protocol_type, 'consumer'), '.session.timeout.ms')
), removed_client AS (
  SELECT DISTINCT p.process_id, p.instance, p.client FROM located_removal p WHERE p.process_id IS NOT NULL
), client_moment AS (
  -- The last thing that a client did before the removal: it took part in a rebalance, or was closed.
  SELECT c.process_id, c.instance, c.client, c.at_ms, 1 AS rank, CAST(NULL AS STRING) AS closed_id, CAST(NULL AS STRING) AS removed_id
  FROM client_event c WHERE c.event IN ('joining', 'joined', 'synced', 'worker_assigned', 'partitions_assigned')
  UNION ALL
  SELECT f.process_id, f.instance, f.client_id, f.at_ms, 2, f.event_id, NULL FROM fact_line f
  WHERE f.event = 'client_closed' AND f.client_id IS NOT NULL
  UNION ALL
  SELECT c.process_id, c.instance, c.client, f.at_ms, 2, f.event_id, NULL FROM removed_client c
  JOIN fact_line f ON f.process_id = c.process_id AND f.instance = c.instance AND f.event = 'process_stopping'
  UNION ALL
  SELECT t.process_id, t.instance, g.client, t.ended.at_ms, 2, t.ended.event_id, NULL FROM task_life t
  JOIN (SELECT DISTINCT process_id, client, task FROM client_event WHERE NOT is_worker AND task IS NOT NULL) g
    ON g.process_id = t.process_id AND g.task = t.task
  WHERE t.ended IS NOT NULL AND NOT t.by_herder
  UNION ALL
  SELECT p.process_id, p.instance, p.client, p.own_hi_ms, 3, NULL, concat(p.removed_id, p.member_id) FROM located_removal p
  WHERE p.process_id IS NOT NULL AND p.own_hi_ms IS NOT NULL
), close_before_removal AS (
  SELECT removed_id, last_closed AS closed_id
  FROM (
    SELECT rank, removed_id, lag(CASE WHEN rank < 3 THEN coalesce(closed_id, '') END) IGNORE NULLS
      OVER (PARTITION BY process_id, instance, client ORDER BY at_ms, rank, closed_id, removed_id) AS last_closed
    FROM client_moment
  )
  WHERE rank = 3 AND last_closed <> ''
)
SELECT p.*, c.closed_id IS NOT NULL AS was_closed, c.closed_id AS closed_id FROM located_removal p
LEFT JOIN close_before_removal c ON c.removed_id = concat(p.removed_id, p.member_id)

-- One row per member that its coordinator removed against its will, with its process.
-- Reads: event, process_cluster, member_place, broker_generation, member_round, join_round, member_setting, worker_setting, setting
-- Reads: client_event, clock_offset, sink_worker, fact_line, task_life, group_facts
-- Grain: kafka_cluster, group_id, member_id, removed_id
-- The process is known from the member's own lines, from the refusal that names the id when it returns, or from the task that only one
-- worker had. It is also known by elimination, if one client of a generation is missing from the next and only one member went in between.
-- A client that is closed leaves its group, or its session expires: then the membership was no longer needed and was not lost.
CREATE OR REPLACE TEMPORARY VIEW removed_member (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id',
  how           COMMENT 'session: no heartbeat; rebalance: it did not rejoin, or revoke its partitions, in time',
  protocol      COMMENT 'classic or consumer (KIP-848)',
  broker        COMMENT 'Coordinator''s process',
  removed_id    COMMENT 'Event of the removal',
  removed_lo_ms COMMENT 'Removed at this time at the earliest (reference clock, milliseconds since 1970)',
  removed_hi_ms COMMENT 'Removed at this time at the latest',
  heard_ms      COMMENT 'It asked to join the current generation at this time at the earliest (reference clock); NULL: the log begins
    later',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  process_id    COMMENT 'Its process; NULL: unknown',
  instance      COMMENT 'Run of the process that it was in',
  client        COMMENT 'Client inside the process',
  known_how     COMMENT 'own_line, refused, eliminated or task: how its process is known',
  known_id      COMMENT 'Event that shows it',
  session_ms    COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms     COMMENT 'Removed at this time at the earliest, by the process''s own clock; NULL: its clock cannot be compared',
  own_hi_ms     COMMENT 'Removed at this time at the latest, by the process''s own clock',
  was_closed    COMMENT 'True if its client had been closed, or its process was stopping, before: it left without a line',
  closed_id     COMMENT 'Event that shows it'
)
COMMENT 'One row per member that its coordinator removed against its will, with its process.'
AS
WITH coordinator_line AS (
  SELECT c.kafka_cluster, e.process_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.group_id, e.member_id, e.members,
    e.reason, e.message
  FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  -- A process that was given a member id and never joined with it was never a member.
  WHERE e.group_id IS NOT NULL AND e.broker_id IS NOT NULL AND e.event IN ('member_expired', 'member_left', 'group_stabilized')
    AND NOT e.message LIKE 'Pending member%'
), line_between_generations AS (
  -- The coordinator's lines between two generations.
  SELECT kafka_cluster, group_id, process_id, at_ms, event_id, event, reason, message, member_id, members,
    lag(CASE WHEN event = 'group_stabilized' THEN event_id END) IGNORE NULLS OVER in_order AS before_id,
    lag(CASE WHEN event = 'group_stabilized' THEN event_id END) IGNORE NULLS OVER in_reverse AS after_id
  FROM coordinator_line
  WINDOW
    in_order AS (PARTITION BY kafka_cluster, group_id, process_id ORDER BY stream_pos),
    in_reverse AS (PARTITION BY kafka_cluster, group_id, process_id ORDER BY -stream_pos)
), member_departure AS (
  SELECT kafka_cluster, group_id, process_id, at_ms, event_id, event, reason, message, member_id IS NULL AS is_listed, before_id, after_id,
    explode(CASE WHEN member_id IS NULL THEN coalesce(members, array()) ELSE array(member_id) END) AS member_id
  FROM line_between_generations
  WHERE event <> 'group_stabilized'
), removal AS (
  SELECT p.kafka_cluster, p.group_id, p.member_id, p.process_id AS broker, p.event_id AS removed_id, p.before_id, p.after_id,
    CASE WHEN p.is_listed OR p.reason RLIKE '(?i)rebalance' THEN 'rebalance' ELSE 'session' END AS how,
    CASE WHEN p.message LIKE '%fenced from the group%' THEN 'consumer' ELSE 'classic' END AS protocol,
    p.at_ms - o.hi_ms AS removed_lo_ms, p.at_ms - o.lo_ms AS removed_hi_ms,
    b.prepared_ms - o.hi_ms AS heard_ms, o.reference_process_id
  FROM member_departure p
  JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
  LEFT JOIN broker_generation b ON b.stabilized_id = p.before_id
  WHERE p.event = 'member_expired' AND p.member_id <> '' AND p.at_ms IS NOT NULL
), departure_count AS (
  SELECT kafka_cluster, group_id, before_id, count(DISTINCT member_id) AS members
  FROM member_departure
  WHERE before_id IS NOT NULL
  GROUP BY kafka_cluster, group_id, before_id
), generation_step AS (
  SELECT DISTINCT p.kafka_cluster, p.group_id, p.before_id, b.incarnation, b.generation, b.member_count, a.generation AS next_generation
  FROM member_departure p
  JOIN departure_count g ON g.kafka_cluster = p.kafka_cluster AND g.group_id = p.group_id AND g.before_id = p.before_id AND g.members = 1
  JOIN broker_generation b ON b.stabilized_id = p.before_id
  JOIN broker_generation a ON a.stabilized_id = p.after_id AND a.incarnation = b.incarnation
  WHERE p.event = 'member_expired'
), member_presence AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.process_id, r.client, max(j.instance) AS instance,
    max(j.from_pos) AS pos,
    max_by(coalesce(j.synced_id, j.joined_id, j.worker_assigned_id), j.from_pos) AS event_id
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.process_id, r.client
), latest_presence AS (
  SELECT kafka_cluster, group_id, incarnation, process_id, max(generation) AS generation
  FROM member_presence GROUP BY kafka_cluster, group_id,
    incarnation, process_id
), eliminated_client AS (
  SELECT s.kafka_cluster, s.group_id, s.before_id,
    max(CASE WHEN n.client IS NULL THEN r.process_id END) AS process_id, max(CASE WHEN n.client IS NULL THEN r.instance END) AS instance,
    max(CASE WHEN n.client IS NULL THEN r.client END) AS client, max(CASE WHEN n.client IS NULL THEN r.event_id END) AS event_id
  FROM generation_step s
  JOIN member_presence r ON r.kafka_cluster = s.kafka_cluster AND r.group_id = s.group_id AND r.incarnation = s.incarnation
    AND r.generation = s.generation
  JOIN latest_presence l ON l.kafka_cluster = s.kafka_cluster AND l.group_id = s.group_id AND l.incarnation = s.incarnation
    AND l.process_id = r.process_id
  LEFT JOIN member_presence n ON n.kafka_cluster = s.kafka_cluster AND n.group_id = s.group_id AND n.incarnation = s.incarnation
    AND n.generation = s.next_generation AND n.process_id = r.process_id AND n.client = r.client
  GROUP BY s.kafka_cluster, s.group_id, s.before_id, s.member_count
  -- Its log must continue, or the logs of all others must be available; otherwise the missing member may be one without a log.
  HAVING count_if(n.client IS NULL) = 1
    AND (coalesce(count(*) = s.member_count, false) OR max(CASE WHEN n.client IS NULL THEN l.generation > s.next_generation END))
), identified_removal AS (
  SELECT r.*, coalesce(o.process_id, e.process_id, w.process_id) AS process_id, coalesce(o.instance, e.instance, w.instance) AS instance,
    coalesce(o.client, e.client, CASE WHEN w.process_id IS NOT NULL THEN concat('connector-consumer-', t.task) END) AS client,
    coalesce(o.known_how, CASE WHEN e.process_id IS NOT NULL THEN 'eliminated' WHEN w.process_id IS NOT NULL THEN 'task' END) AS known_how,
    coalesce(o.event_id, e.event_id, w.event_id) AS known_id
  FROM removal r
  LEFT JOIN member_place o ON o.group_id = r.group_id AND o.member_id = r.member_id
  LEFT JOIN eliminated_client e ON e.kafka_cluster = r.kafka_cluster AND e.group_id = r.group_id AND e.before_id = r.before_id
  LEFT JOIN sink_worker t ON t.removed_id = r.removed_id AND t.member_id = r.member_id AND t.is_sure
  LEFT JOIN member_place w ON w.group_id = t.worker_group_id AND w.member_id = t.worker_member_id
), located_removal AS (
  SELECT
    k.kafka_cluster AS kafka_cluster,
    k.group_id AS group_id,
    k.member_id AS member_id,
    k.how AS how,
    k.protocol AS protocol,
    k.broker AS broker,
    k.removed_id AS removed_id,
    k.removed_lo_ms AS removed_lo_ms,
    k.removed_hi_ms AS removed_hi_ms,
    k.heard_ms AS heard_ms,
    k.reference_process_id AS reference_process_id,
    k.process_id AS process_id,
    k.instance AS instance,
    k.client AS client,
    k.known_how AS known_how,
    k.known_id AS known_id,
    CASE WHEN k.protocol = 'consumer' THEN bs.session_ms
      ELSE coalesce(s.value_ms, CASE WHEN w.client IS NOT NULL THEN ws.session_ms END, cs.session_ms) END AS session_ms,
    CASE WHEN o.reference_process_id = k.reference_process_id THEN k.removed_lo_ms + o.lo_ms END AS own_lo_ms,
    CASE WHEN o.reference_process_id = k.reference_process_id THEN k.removed_hi_ms + o.hi_ms END AS own_hi_ms
  FROM identified_removal k
  LEFT JOIN clock_offset o ON o.process_id = k.process_id AND o.is_island_reference
  LEFT JOIN member_setting s ON s.kafka_cluster = k.kafka_cluster AND s.group_id = k.group_id AND s.setting = 'session.timeout.ms'
    AND s.member_id = k.member_id
  LEFT JOIN (SELECT DISTINCT process_id, client FROM client_event WHERE is_worker) w
    ON w.process_id = k.process_id AND w.client = k.client
  LEFT JOIN (SELECT process_id, max(session_ms) AS session_ms FROM worker_setting GROUP BY process_id) ws ON ws.process_id = k.process_id
  LEFT JOIN (
    SELECT process_id, client_id, max(try_cast(value AS BIGINT)) AS session_ms FROM setting
    WHERE component = 'ConsumerConfig' AND key = 'session.timeout.ms'
    GROUP BY process_id, client_id
  ) cs ON cs.process_id = k.process_id AND cs.client_id = k.client
  LEFT JOIN group_facts g ON g.kafka_cluster = k.kafka_cluster AND g.group_id = k.group_id AND g.protocol_type IN ('share', 'streams')
  LEFT JOIN (
    SELECT process_id, key, max(try_cast(value AS BIGINT)) AS session_ms FROM setting
    WHERE component = 'KafkaConfig' AND key LIKE 'group.%.session.timeout.ms'
    GROUP BY process_id, key
  ) bs ON bs.process_id = k.broker AND bs.key = concat('group.', coalesce(g.protocol_type, 'consumer'), '.session.timeout.ms')
), removed_client AS (
  SELECT DISTINCT p.process_id, p.instance, p.client FROM located_removal p WHERE p.process_id IS NOT NULL
), client_moment AS (
  -- The last thing that a client did before the removal: it took part in a rebalance, or was closed.
  SELECT c.process_id, c.instance, c.client, c.at_ms, 1 AS rank, CAST(NULL AS STRING) AS closed_id,
    CAST(NULL AS STRING) AS removed_id
  FROM client_event c
  WHERE c.event IN ('joining', 'joined', 'synced', 'worker_assigned', 'partitions_assigned')
  UNION ALL
  SELECT f.process_id, f.instance, f.client_id, f.at_ms, 2, f.event_id, NULL
  FROM fact_line f
  WHERE f.event = 'client_closed' AND f.client_id IS NOT NULL
  UNION ALL
  SELECT c.process_id, c.instance, c.client, f.at_ms, 2, f.event_id, NULL
  FROM removed_client c
  JOIN fact_line f ON f.process_id = c.process_id AND f.instance = c.instance AND f.event = 'process_stopping'
  UNION ALL
  SELECT t.process_id, t.instance, g.client, t.ended.at_ms, 2, t.ended.event_id, NULL
  FROM task_life t
  JOIN (SELECT DISTINCT process_id, client, task FROM client_event WHERE NOT is_worker AND task IS NOT NULL) g
    ON g.process_id = t.process_id AND g.task = t.task
  WHERE t.ended IS NOT NULL AND NOT t.by_herder
  UNION ALL
  SELECT p.process_id, p.instance, p.client, p.own_hi_ms, 3, NULL, concat(p.removed_id, p.member_id)
  FROM located_removal p
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
SELECT p.*, c.closed_id IS NOT NULL AS was_closed, c.closed_id AS closed_id
FROM located_removal p
LEFT JOIN close_before_removal c ON c.removed_id = concat(p.removed_id, p.member_id)

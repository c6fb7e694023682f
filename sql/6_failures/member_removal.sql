-- One row per member that its coordinator removed against its will, with the answer to whether its client had been closed before.
-- Reads: removed_member, client_event, fact_line, task_life
-- Grain: kafka_cluster, group_id, member_id, removed_id
-- A client that is closed leaves its group, or its session expires: then the membership was no longer needed and was not lost.
CREATE OR REPLACE TEMPORARY VIEW member_removal (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  member_id      COMMENT 'Member id',
  how            COMMENT 'session: no heartbeat; rebalance: it did not rejoin, or revoke its partitions, in time',
  protocol       COMMENT 'classic or consumer (KIP-848)',
  broker         COMMENT 'Coordinator''s process',
  removed_id     COMMENT 'Event of the removal',
  removed_lo_ms  COMMENT 'Removed at this time at the earliest (reference clock, milliseconds since 1970)',
  removed_hi_ms  COMMENT 'Removed at this time at the latest',
  heard_ms       COMMENT 'It asked to join the current generation at this time at the earliest (reference clock); NULL: the log begins
    later',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  session_ms     COMMENT 'Its session timeout; NULL: not printed',
  process_id     COMMENT 'Its process; NULL: unknown',
  instance       COMMENT 'Run of the process that it was in',
  client         COMMENT 'Client inside the process',
  known_how      COMMENT 'own_line, refused, eliminated or task: how its process is known',
  known_id       COMMENT 'Event that shows it',
  own_lo_ms      COMMENT 'Removed at this time at the earliest, by the process''s own clock; NULL: its clock cannot be compared',
  own_hi_ms      COMMENT 'Removed at this time at the latest, by the process''s own clock',
  was_closed     COMMENT 'True if its client had been closed, or its process was stopping, before: it left without a line',
  closed_id      COMMENT 'Event that shows it'
)
COMMENT 'One row per member that its coordinator removed against its will, with the answer to whether its client had been closed before.'
AS
WITH removed_client AS (
  SELECT DISTINCT p.process_id, p.instance, p.client FROM removed_member p WHERE p.process_id IS NOT NULL
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
  FROM removed_member p
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
SELECT
  p.kafka_cluster AS kafka_cluster,
  p.group_id AS group_id,
  p.member_id AS member_id,
  p.how AS how,
  p.protocol AS protocol,
  p.broker AS broker,
  p.removed_id AS removed_id,
  p.removed_lo_ms AS removed_lo_ms,
  p.removed_hi_ms AS removed_hi_ms,
  p.heard_ms AS heard_ms,
  p.reference_process_id AS reference_process_id,
  p.session_ms AS session_ms,
  p.process_id AS process_id,
  p.instance AS instance,
  p.client AS client,
  p.known_how AS known_how,
  p.known_id AS known_id,
  p.own_lo_ms AS own_lo_ms,
  p.own_hi_ms AS own_hi_ms,
  c.closed_id IS NOT NULL AS was_closed,
  c.closed_id AS closed_id
FROM removed_member p
LEFT JOIN close_before_removal c ON c.removed_id = concat(p.removed_id, p.member_id)

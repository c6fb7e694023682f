-- One row per event of a group member (a consumer or a Connect worker), with the client that printed it.
-- Reads: event, worker_group, process_cluster, shared_log
-- Grain: event_id
CREATE OR REPLACE TEMPORARY VIEW client_event (
  event_id         COMMENT 'Event',
  kafka_cluster    COMMENT 'Kafka cluster',
  group_id         COMMENT 'Group',
  process_id       COMMENT 'Process',
  instance         COMMENT 'Which life of the process',
  client           COMMENT 'Client inside the process: its client.id, or what else tells it apart',
  is_worker        COMMENT 'True for a Connect worker, false for a consumer',
  stream_pos       COMMENT 'Order inside the process',
  at_ms            COMMENT 'When, by its own clock (milliseconds since 1970)',
  resolution_ms    COMMENT 'How exact the printed time is',
  event            COMMENT 'What happened',
  client_id        COMMENT 'client.id',
  group_instance_id COMMENT 'group.instance.id of a static member',
  task             COMMENT 'Connect task whose consumer this is',
  member_id        COMMENT 'Member id, when the line tells',
  generation       COMMENT 'Generation, when the line tells',
  member_epoch     COMMENT 'KIP-848 member epoch, when the line tells',
  protocol         COMMENT 'Assignor or Connect protocol, when the line tells',
  coordinator      COMMENT 'Coordinator, when the line tells',
  coordinator_node COMMENT 'Coordinator''s node id, when the line tells',
  leader_member_id COMMENT 'Leader, when the line tells',
  reason           COMMENT 'Reason, when the line tells',
  cause            COMMENT 'Cause, when the line tells',
  error            COMMENT 'Error, when the line tells',
  partitions       COMMENT 'Partitions given or taken, or all that it is assigned (assignment_received), when the line tells',
  assigned_tasks   COMMENT 'Assigned tasks, when the line tells',
  assigned_connectors COMMENT 'Assigned connectors, when the line tells',
  revoked_tasks    COMMENT 'Revoked tasks, when the line tells',
  revoked_connectors COMMENT 'Revoked connectors, when the line tells',
  delay_ms         COMMENT 'Scheduled rebalance delay, when the line tells'
)
COMMENT 'One row per event of a group member, with the client that printed it.'
AS
WITH line AS (
  SELECT e.*, e.client_kind <=> 'Worker' OR e.event LIKE 'worker\\_%' AS is_worker
  FROM event e
  -- Members that cannot be told apart tell nothing of one of them.
  LEFT ANTI JOIN shared_log s ON s.process_id = e.process_id AND (s.is_worker OR s.client = coalesce(e.client_id, e.task, e.thread, '-'))
  WHERE e.event IN (
    'coordinator_discovered', 'coordinator_lost', 'coordinator_cleared', 'joining', 'joined', 'join_answered', 'join_failed', 'synced',
      'sync_answered', 'sync_failed',
    'rejoin_requested', 'generation_reset', 'heartbeat_failed', 'leaving', 'poll_timeout', 'member_fenced', 'assignment_computed',
      'assignment_received',
    'partitions_assigned', 'partitions_revoked', 'partitions_lost', 'reconciling', 'worker_rebalance_started', 'worker_assigned',
      'worker_revoking'
  )
  -- Members of a share group share partitions: none of them owns one.
  AND NOT (e.client_kind <=> 'ShareConsumer' AND e.event IN ('assignment_received', 'partitions_assigned', 'partitions_revoked',
    'partitions_lost', 'reconciling'))
  AND (e.event <> 'reconciling' OR e.client_kind <=> 'Consumer' AND size(coalesce(e.added_partitions, array())) > 0)
), only_group AS (
  -- Clients before 1.0 name their group in some lines only: the others are of the only group that this thread, or this log, names.
  SELECT process_id, instance, coalesce(task, thread, '-') AS who, max(group_id) AS only_one
  FROM line
  WHERE group_id IS NOT NULL AND client_id IS NULL AND NOT is_worker
  GROUP BY process_id, instance, coalesce(task, thread, '-')
  HAVING count(DISTINCT group_id) = 1
), said AS (
  SELECT DISTINCT process_id, instance, is_worker, coalesce(client_id, task, thread, '-') AS who
  FROM line
  WHERE event IN ('joined', 'synced')
), listened AS (
  SELECT DISTINCT process_id, instance, coalesce(client_id, task, thread, '-') AS who FROM line WHERE event = 'partitions_assigned'
)
SELECT
  e.event_id,
  c.kafka_cluster,
  coalesce(e.group_id, w.group_id, o.only_one) AS group_id,
  e.process_id,
  e.instance,
  -- Releases before 1.0 print no client id: there the task or the thread has to tell two consumers of one process apart.
  coalesce(e.client_id, w.client_id, e.task, e.thread, '-') AS client,
  e.is_worker,
  e.stream_pos,
  unix_millis(e.ts) AS at_ms,
  e.resolution_ms,
  -- Where no line says that a client joined or synced (0.9; later with INFO off), the answers that it prints at DEBUG say so. A KIP-848
  -- consumer without a rebalance listener prints what it was given in no other line than the one that compares it with what it owns.
  CASE e.event WHEN 'join_answered' THEN 'joined' WHEN 'sync_answered' THEN 'synced' WHEN 'reconciling' THEN 'partitions_assigned'
    ELSE e.event END AS event,
  coalesce(e.client_id, w.client_id) AS client_id,
  e.group_instance_id,
  e.task,
  e.member_id,
  e.generation,
  e.member_epoch,
  e.protocol,
  e.coordinator,
  -- librdkafka prints the broker, Kafka's clients the node of the connection to it.
  coalesce(e.coordinator_node, CASE WHEN e.event LIKE 'coordinator\\_%' AND e.broker_id >= 0 THEN 2147483647 - e.broker_id END)
    AS coordinator_node,
  e.leader_member_id,
  e.reason,
  e.cause,
  e.error,
  CASE e.event WHEN 'assignment_received' THEN coalesce(e.partitions, e.assigned_partitions) WHEN 'reconciling' THEN e.added_partitions
    ELSE e.partitions END AS partitions,
  e.assigned_tasks,
  e.assigned_connectors,
  e.revoked_tasks,
  e.revoked_connectors,
  e.delay_ms
FROM line e
JOIN process_cluster c ON c.process_id = e.process_id
  AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
LEFT JOIN worker_group w ON w.process_id = e.process_id AND w.instance = e.instance AND e.is_worker
LEFT JOIN only_group o ON o.process_id = e.process_id AND o.instance = e.instance AND o.who = coalesce(e.task, e.thread, '-')
  AND e.client_id IS NULL AND NOT e.is_worker
LEFT JOIN said s ON s.process_id = e.process_id AND s.instance = e.instance AND s.is_worker = e.is_worker
  AND s.who = coalesce(e.client_id, e.task, e.thread, '-') AND e.event IN ('join_answered', 'sync_answered')
LEFT JOIN listened n ON n.process_id = e.process_id AND n.instance = e.instance AND n.who = coalesce(e.client_id, e.task, e.thread, '-')
  AND e.event = 'reconciling'
WHERE coalesce(e.group_id, w.group_id, o.only_one) IS NOT NULL AND s.who IS NULL AND n.who IS NULL

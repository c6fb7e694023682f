-- One row per event of a group member (a consumer or a Connect worker), with the client that printed it.
-- Reads: event, process_cluster, shared_log
-- Grain: event_id
CREATE OR REPLACE TEMPORARY VIEW client_event (
  event_id, kafka_cluster, group_id, process_id, instance,
  client    COMMENT 'Client inside the process: its client.id, or its task or thread if no client.id is printed',
  is_worker, stream_pos, at_ms, event, client_id, group_instance_id, task, member_id, generation, protocol, coordinator,
  coordinator_node, leader_member_id,
  roster    COMMENT 'Member ids in the assignment that the leader of a consumer group computed',
  reason, cause, error,
  partitions COMMENT 'Partitions assigned or revoked, or the complete assignment (assignment_received; synced, if the client prints it there)',
  is_unannounced COMMENT 'True for a library that gives up everything, without a line, when it rejoins: this line asks to rejoin, or has all that the
    member owns from here on; kafka-go leaves when it has given everything up',
  assigned_tasks, assigned_connectors, revoked_tasks, revoked_connectors, delay_ms
)
AS
WITH polling_thread AS (
  -- Before 1.0 a consumer prints no client id, and the thread of its heartbeats is named after the group: it belongs to the only thread of the
  -- log that polls for that group.
  SELECT process_id, instance, group_id, min(thread) AS polls FROM event
  WHERE group_id IS NOT NULL AND client_id IS NULL AND task IS NULL AND NOT thread LIKE 'kafka-coordinator-heartbeat-thread%'
    AND event IN ('coordinator_discovered', 'coordinator_lost', 'joining', 'joined', 'synced', 'partitions_assigned', 'partitions_revoked')
  GROUP BY process_id, instance, group_id HAVING count(DISTINCT thread) = 1
), kafkajs_member AS (
  SELECT process_id, instance, group_id, member_id, min(stream_pos) AS from_pos,
    max(stream_pos) = max(CASE WHEN event = 'rejoin_requested' AND reason LIKE 'The coordinator is not aware%' THEN stream_pos END) AS is_refused
  FROM event WHERE logger = 'kafkajs' AND member_id IS NOT NULL GROUP BY process_id, instance, group_id, member_id
), kafkajs_client AS (
  -- It prints its member id instead of a client id. One whose last line is that the coordinator no longer knows it goes on as the next new member.
  SELECT process_id, instance, group_id, member_id,
    first_value(member_id) OVER (PARTITION BY process_id, instance, group_id, nth ORDER BY from_pos) AS who,
    max(nth) OVER (PARTITION BY process_id, instance, group_id) AS clients
  FROM (
    SELECT *, count_if(NOT coalesce(is_after_refusal, false)) OVER (PARTITION BY process_id, instance, group_id ORDER BY from_pos
      ROWS UNBOUNDED PRECEDING) AS nth
    FROM (SELECT *, lag(is_refused) OVER (PARTITION BY process_id, instance, group_id ORDER BY from_pos) AS is_after_refusal FROM kafkajs_member)
  )
), consumer_thread AS (
  SELECT DISTINCT process_id, instance, coalesce(thread, '-') AS thread FROM event
  WHERE client_kind = 'Consumer' AND event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost')
), member_event AS (
  SELECT e.*, coalesce(e.task, t.polls, j.who, CASE e.logger WHEN 'brod_group_coordinator' THEN e.group_id END,
      e.thread, '-') AS who, c.kafka_cluster, CASE WHEN e.is_worker THEN c.worker_group_id END AS worker_group_id,
    CASE WHEN e.is_worker THEN c.worker_client_id END AS worker_client_id,
    -- sarama names its member and generation only when the generation is over.
    CASE WHEN e.event = 'partitions_assigned' AND e.client_kind IS NULL THEN lag(CASE WHEN e.event IN ('client_made', 'session_ended')
      THEN struct(e.member_id, e.generation) END) IGNORE NULLS OVER (PARTITION BY e.process_id, e.instance ORDER BY -e.stream_pos) END AS session,
    -- franz-go ends its heartbeats with an error of its own if it rejoins by itself.
    e.event = 'heartbeat_failed' AND lag(CASE WHEN e.event IN ('joining', 'rejoin_requested', 'synced') THEN e.message END) IGNORE NULLS
      OVER (PARTITION BY e.process_id, e.instance ORDER BY e.stream_pos) LIKE '%forced rejoin quitting heartbeat loop%' AS is_own_error,
    -- The Java client prints a prefix with its kind, and what it revokes. An assignment without its group may be the application's own.
    e.client_kind IS NULL AND (e.event = 'rejoin_requested' OR e.event = 'leaving' AND e.message LIKE '%Leaving group %, member %'
      OR e.assigned_partitions IS NOT NULL AND (e.event = 'partitions_assigned'
      OR e.event IN ('synced', 'assignment_received') AND e.group_id IS NOT NULL)) AS is_unannounced
  FROM (SELECT *, client_kind <=> 'Worker' OR event LIKE 'worker\\_%' AS is_worker FROM event) e
  JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  LEFT JOIN polling_thread t ON t.process_id = e.process_id AND t.instance = e.instance AND t.group_id = e.group_id AND e.client_id IS NULL
    AND e.thread LIKE 'kafka-coordinator-heartbeat-thread%'
  LEFT JOIN kafkajs_client j ON j.process_id = e.process_id AND j.instance = e.instance AND j.group_id <=> e.group_id AND e.logger = 'kafkajs'
    AND (j.member_id = e.member_id OR e.event = 'session_ended' AND e.member_id IS NULL AND j.member_id = j.who AND j.clients = 1)
  -- Spring's listener repeats what the consumer in its thread has printed.
  LEFT ANTI JOIN consumer_thread h ON h.process_id = e.process_id AND h.instance = e.instance AND h.thread = coalesce(e.thread, '-')
    AND e.logger LIKE '%.KafkaMessage%'
  -- Lines of members that cannot be distinguished prove nothing about any one of them.
  LEFT ANTI JOIN shared_log s ON s.process_id = e.process_id AND (s.is_worker OR s.client = coalesce(e.client_id, e.task, e.thread, '-'))
  WHERE e.event IN ('coordinator_discovered', 'coordinator_lost', 'coordinator_cleared', 'joining', 'joined', 'join_answered', 'join_failed',
      'synced', 'sync_answered', 'sync_failed', 'rejoin_requested', 'generation_reset', 'heartbeat_failed', 'leaving', 'poll_timeout',
      'member_fenced', 'assignment_computed', 'assignment_received', 'partitions_assigned', 'partitions_revoked', 'partitions_lost', 'reconciling',
      'session_ended', 'client_made', 'sync_sent', 'worker_rebalance_started', 'worker_assigned', 'worker_revoking')
    -- Members of a share group share partitions, so none of them owns one.
    AND NOT (e.client_kind <=> 'ShareConsumer' AND e.event IN ('assignment_received', 'partitions_assigned', 'partitions_revoked',
      'partitions_lost', 'reconciling'))
    -- A member without a valid generation prints -1: it is not in the group.
    AND NOT (e.event IN ('joined', 'synced') AND coalesce(e.generation < 0, false))
    AND (e.event <> 'reconciling' OR e.client_kind <=> 'Consumer' AND size(coalesce(e.added_partitions, array())) > 0)
), single_group AS (
  -- Clients before 1.0 print their group in only a few lines. The other lines belong to the group that this thread or log names, if there is only
  -- one.
  SELECT process_id, instance, who, max(group_id) AS only_one FROM member_event
  WHERE group_id IS NOT NULL AND client_id IS NULL AND NOT is_worker GROUP BY process_id, instance, who
  HAVING count(DISTINCT group_id) = 1
), own_cluster AS (
  -- A JVM may have members in several clusters: MirrorMaker 2, an application that reads from two. Each prints its own cluster.
  SELECT process_id, instance, group_id, max(kafka_cluster_id) AS kafka_cluster FROM event
  WHERE kafka_cluster_id IS NOT NULL AND group_id IS NOT NULL AND client_kind IN ('Worker', 'Consumer')
  GROUP BY process_id, instance, group_id
  HAVING count(DISTINCT kafka_cluster_id) = 1
), logged_join AS (
  SELECT DISTINCT process_id, instance, is_worker, coalesce(client_id, who) AS who FROM member_event WHERE event IN ('joined', 'synced')
), logged_assignment AS (
  SELECT DISTINCT process_id, instance, coalesce(client_id, who) AS who FROM member_event WHERE event = 'partitions_assigned'
)
SELECT e.event_id, coalesce(k.kafka_cluster, e.kafka_cluster) AS kafka_cluster, coalesce(e.group_id, e.worker_group_id, o.only_one) AS group_id,
  e.process_id, e.instance,
  -- Releases before 1.0 print no client id, so the task or the thread has to distinguish two consumers of one process.
  coalesce(e.client_id, e.worker_client_id, e.who) AS client, e.is_worker, e.stream_pos, unix_millis(e.ts) AS at_ms,
  -- If no line reports that a client joined or synced (0.9; later releases with INFO off), its DEBUG lines about the responses do. A KIP-848 consumer
  -- without a rebalance listener prints its assignment only in the line that compares it with the partitions that it owns.
  CASE WHEN e.event = 'join_answered' THEN 'joined' WHEN e.event = 'reconciling' THEN 'partitions_assigned'
    WHEN e.event = 'sync_answered' OR e.event = 'assignment_received' AND e.is_unannounced THEN 'synced'
    -- kafka-python and aiokafka print that no heartbeat was answered, and so mark the coordinator dead.
    WHEN e.event = 'heartbeat_failed' AND e.error LIKE 'Heartbeat session expired%' THEN 'coordinator_lost'
    WHEN e.is_own_error THEN 'rejoin_requested' ELSE e.event END AS event,
  coalesce(e.client_id, e.worker_client_id) AS client_id, e.group_instance_id, e.task, coalesce(e.member_id, e.session.member_id) AS member_id,
  CASE WHEN e.generation >= 0 THEN e.generation ELSE e.session.generation END AS generation, e.protocol, e.coordinator,
  -- librdkafka prints the broker; Kafka's own clients print the node id of the coordinator connection.
  coalesce(e.coordinator_node, CASE WHEN e.event LIKE 'coordinator\\_%' AND e.broker_id >= 0 THEN 2147483647 - e.broker_id END) AS coordinator_node,
  e.leader_member_id, map_keys(e.assignment) AS roster, e.reason, e.cause, e.error,
  CASE WHEN e.event IN ('assignment_received', 'synced') THEN coalesce(e.partitions, e.assigned_partitions)
    WHEN e.event = 'reconciling' THEN e.added_partitions ELSE e.partitions END AS partitions,
  e.is_unannounced,
  e.assigned_tasks, e.assigned_connectors, e.revoked_tasks, e.revoked_connectors, e.delay_ms
FROM member_event e LEFT JOIN single_group o ON o.process_id = e.process_id AND o.instance = e.instance AND o.who = e.who
  AND e.client_id IS NULL AND NOT e.is_worker
LEFT JOIN own_cluster k ON k.process_id = e.process_id AND k.instance = e.instance
  AND k.group_id = coalesce(e.group_id, e.worker_group_id, o.only_one)
LEFT JOIN logged_join s ON s.process_id = e.process_id AND s.instance = e.instance AND s.is_worker = e.is_worker
  AND s.who = coalesce(e.client_id, e.who) AND e.event IN ('join_answered', 'sync_answered')
LEFT JOIN logged_assignment n ON n.process_id = e.process_id AND n.instance = e.instance
  AND n.who = coalesce(e.client_id, e.who) AND e.event = 'reconciling'
WHERE coalesce(e.group_id, e.worker_group_id, o.only_one) IS NOT NULL AND s.who IS NULL AND n.who IS NULL

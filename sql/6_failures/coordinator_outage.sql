-- One row for each time in which one member had no coordinator that answered, with the effects on the member.
-- Reads: client_event, fact_line, task_life, process_life, clock_offset, event, process_cluster, broker_generation, filtered_log, process
-- Reads: lost_range
-- Grain: process_id, group_id, client, lost_ms
-- A member finds the address of its coordinator again immediately, often that of a broker that is down. So only a line that follows from a response,
-- or a discovery without another loss soon after, ends an outage. A member that never found a coordinator has an outage from its start. librdkafka
-- prints its requests. If the discovered coordinator first responds that it is not the coordinator, the member had not found one.
CREATE OR REPLACE TEMPORARY VIEW coordinator_outage (
  kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, task,
  never         COMMENT 'True if it never found a coordinator in this process run',
  was_member    COMMENT 'True if it had been a member before, or had had its coordinator for long',
  broker_id     COMMENT 'Coordinator that was lost first',
  broker        COMMENT 'Its address',
  new_broker_id COMMENT 'Coordinator that finally answered; if none did, the last one that was named and refused the member',
  is_refused    COMMENT 'True if the broker named as the new coordinator refused the member because it was not the coordinator',
  lost_ms       COMMENT 'Lost, by its own clock (milliseconds since 1970)',
  found_ms      COMMENT 'It answered again, or was found and not lost again; NULL: not in the log',
  closed_ms     COMMENT 'The member was closed before it found one, by its own clock',
  back_ms       COMMENT 'Member again (assignment received after a join); NULL: it did not have to join, or never did',
  last_ms       COMMENT 'Last line of the process in this run before it reported that it was stopping',
  lost_lo_ms    COMMENT 'Lost at this time at the earliest (reference clock)',
  lost_hi_ms    COMMENT 'Lost at this time at the latest',
  found_hi_ms   COMMENT 'Found, or closed, at this time at the latest; NULL: neither',
  reference_process_id,
  duration_ms   COMMENT 'From lost to found, or to the last line, milliseconds; NULL: its clock stepped, or may have stepped, in the meantime',
  losses        COMMENT 'How often a loss was printed',
  flaps         COMMENT 'How often it was lost within coordinator_settled_ms of being found',
  causes        COMMENT 'Causes as printed',
  revoked       COMMENT 'True if the worker revoked its work, or the consumer its partitions, because of it',
  thrown_out    COMMENT 'True if it had lost its membership when it returned',
  left_group    COMMENT 'True if its poll timeout expired in the meantime',
  witness
)
AS
WITH client_close AS (
  -- A consumer that is closed, or created again under its name, has no outage any more.
  SELECT kafka_cluster, group_id, process_id, instance, client_id AS client, stream_pos, at_ms FROM fact_line
  WHERE client_id IS NOT NULL AND group_id IS NOT NULL AND event IN ('client_closed', 'subscribed')
  UNION ALL
  SELECT kafka_cluster, group_id, process_id, instance, client, stream_pos, at_ms FROM client_event
  WHERE event = 'leaving' AND reason LIKE '%being closed%'
  UNION ALL
  -- The metrics line of a closed client has no group, and its client id is that of the task.
  SELECT e.kafka_cluster, g.group_id, e.process_id, e.instance, e.client_id, e.stream_pos, e.at_ms
  FROM fact_line e
  JOIN (SELECT DISTINCT process_id, client, group_id FROM client_event WHERE NOT is_worker) g ON g.process_id = e.process_id
    AND g.client = e.client_id
  WHERE e.event = 'client_closed' AND e.group_id IS NULL
  UNION ALL
  -- A task that stopped in time closed its consumer too. A task that did not may go on looking for its coordinator.
  SELECT t.kafka_cluster, g.group_id, t.process_id, t.instance, g.client, t.ended.pos, t.ended.at_ms
  FROM task_life t
  JOIN (SELECT DISTINCT process_id, client, group_id, task FROM client_event WHERE NOT is_worker AND task IS NOT NULL) g
    ON g.process_id = t.process_id AND g.task = t.task
  WHERE t.ended IS NOT NULL AND NOT t.by_herder
  UNION ALL
  -- A task that failed closed its consumer too, unless it may have been an abandoned thread next to a new one of the same name.
  SELECT f.kafka_cluster, g.group_id, f.process_id, f.instance, g.client, f.stream_pos, f.at_ms
  FROM fact_line f
  JOIN (SELECT DISTINCT process_id, client, group_id, task FROM client_event WHERE NOT is_worker AND task IS NOT NULL) g
    ON g.process_id = f.process_id AND g.task = f.task
  LEFT ANTI JOIN fact_line s ON s.process_id = f.process_id AND s.instance = f.instance AND s.task = f.task
    AND s.event = 'task_stop_failed' AND s.stream_pos < f.stream_pos
  WHERE f.event = 'task_failed'
), heartbeat AS (
  -- librdkafka prints its heartbeats with the same setting, debug=cgrp, that shows the loss of a coordinator.
  SELECT process_id, instance, group_id, coalesce(client_id, task, thread, '-') AS client, stream_pos, unix_millis(ts) AS at_ms, event_id, event
  FROM event WHERE logger = 'HEARTBEAT' AND event IN ('heartbeat_sent', 'heartbeat_failed')
), coordinator_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, task, stream_pos, at_ms, event_id, event, coordinator,
    coordinator_node, reason, coalesce(cause, error, reason) AS error_text,
    CASE WHEN event = 'coordinator_lost' THEN 'lost'
      WHEN event = 'coordinator_discovered' THEN 'found'
      WHEN event = 'coordinator_cleared' THEN 'cleared'
      WHEN event = 'join_failed' AND error LIKE 'Broker: Not coordinator%' THEN 'refused'
      WHEN event IN ('joined', 'synced', 'worker_assigned', 'assignment_computed') THEN 'answered'
      WHEN event = 'partitions_assigned' THEN 'assigned'
      WHEN event = 'rejoin_requested' AND reason LIKE '%already rebalancing%' THEN 'answered'
      WHEN event IN ('heartbeat_failed', 'join_failed', 'sync_failed') AND NOT coalesce(cause, error, reason,
        '') RLIKE '(?i)coordinator|disconnect|timed out|not available' THEN 'answered' END AS kind
  FROM client_event
  UNION ALL
  SELECT kafka_cluster, group_id, process_id, instance, client, NULL, NULL, NULL, stream_pos, at_ms, NULL, NULL, NULL, NULL, NULL, NULL, 'closed'
  FROM client_close
  UNION ALL
  -- A member that goes on sending heartbeats has had responses.
  SELECT DISTINCT c.kafka_cluster, h.group_id, h.process_id, h.instance, h.client, c.client_id, false, c.task, h.stream_pos, h.at_ms, h.event_id,
    h.event, NULL, NULL, NULL, NULL, 'beating'
  FROM heartbeat h
  JOIN client_event c ON c.process_id = h.process_id AND c.instance = h.instance AND c.group_id = h.group_id AND NOT c.is_worker
    AND c.client = h.client AND c.event = 'coordinator_discovered'
  WHERE h.event = 'heartbeat_sent'
), line_with_history AS (
  SELECT *, max(CASE WHEN kind = 'lost' THEN stream_pos END) OVER before AS last_lost,
    max(CASE WHEN kind = 'lost' THEN at_ms END) OVER before AS last_lost_ms,
    max(CASE WHEN kind IN ('answered', 'assigned', 'closed') THEN stream_pos END) OVER before AS last_answered,
    max(CASE WHEN kind IN ('answered', 'assigned', 'closed', 'beating') THEN stream_pos END) OVER before AS last_served,
    max(CASE WHEN kind = 'found' THEN stream_pos END) OVER before AS last_found,
    max(CASE WHEN kind = 'found' THEN at_ms END) OVER before AS last_found_ms,
    -- A client whose first line in a log that begins later than its process is a loss had a coordinator before. Only members send heartbeats.
    coalesce(bool_or(event IN ('joined', 'synced', 'worker_assigned', 'heartbeat_failed')) OVER before, instance = 0 AND kind = 'lost', false)
      AS was_member
  FROM coordinator_line
  WINDOW before AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), classified_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, task, stream_pos, at_ms, event_id, event, coordinator,
    coordinator_node, reason, error_text, last_lost, last_answered, last_found, last_found_ms,
    -- A consumer that assigns itself its partitions never joins, and uses its coordinator for commits.
    was_member OR coalesce(kind = 'lost' AND at_ms - last_found_ms > least_session_default_ms, false) AS was_member,
    coalesce(kind = 'refused', false) AS is_refused,
    -- A refusal without a preceding loss and discovery, or after heartbeats, belongs to no outage by itself, because the loss is printed too.
    -- The callback of an assignment follows the response, so a loss may come between the two.
    CASE WHEN kind = 'assigned' THEN CASE WHEN at_ms - last_lost_ms > coordinator_settled_ms THEN 'answered' END
      WHEN NOT kind <=> 'refused' THEN kind WHEN last_found > last_lost AND coalesce(last_served < last_found, true) THEN 'lost' END AS kind
  FROM line_with_history
), numbered_line AS (
  SELECT *, count_if(kind = 'lost' AND (last_lost IS NULL OR last_answered > last_lost
    OR NOT is_refused AND last_found > last_lost AND at_ms - last_found_ms > coordinator_settled_ms))
    OVER (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS outage
  FROM classified_line
), outage_line AS (
  SELECT
    *, max(CASE WHEN kind = 'lost' THEN stream_pos END) OVER o AS outage_last_lost, min(CASE WHEN kind = 'lost' THEN at_ms END) OVER o AS outage_ms
  FROM numbered_line
  WINDOW o AS (PARTITION BY process_id, instance, group_id, client, outage)
), outage_with_recovery AS (
  SELECT *, min(CASE WHEN stream_pos > outage_last_lost AND kind IN ('found', 'answered') THEN stream_pos END) OVER o AS found_pos,
    min(CASE WHEN stream_pos > outage_last_lost AND kind IN ('found', 'answered') THEN at_ms END) OVER o AS found_ms,
    min(CASE WHEN stream_pos > outage_last_lost AND kind = 'closed' THEN stream_pos END) OVER o AS closed_pos,
    min(CASE WHEN stream_pos > outage_last_lost AND kind = 'closed' THEN at_ms END) OVER o AS closed_ms,
    min(CASE WHEN stream_pos > outage_last_lost AND event IN ('synced', 'worker_assigned') THEN stream_pos END) OVER o AS synced_pos
  FROM outage_line WHERE outage > 0
  WINDOW o AS (PARTITION BY process_id, instance, group_id, client, outage)
), outage_with_end AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, task, stream_pos, at_ms, event_id, event, coordinator,
    coordinator_node, reason, error_text, kind, is_refused, was_member, last_lost, last_found, last_found_ms, outage, outage_ms, outage_last_lost,
    closed_ms, is_closed,
    CASE WHEN NOT is_closed THEN found_pos END AS found_pos, CASE WHEN NOT is_closed THEN found_ms END AS found_ms,
    CASE WHEN NOT is_closed THEN synced_pos END AS synced_pos
  FROM (SELECT *, coalesce(closed_pos < found_pos, closed_pos IS NOT NULL) AS is_closed FROM outage_with_recovery)
  WHERE NOT is_closed OR stream_pos < closed_pos
), member_outage AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, max(client_id) AS client_id, max(is_worker) AS is_worker, max(task) AS task,
    false AS never, min_by(was_member, stream_pos) AS was_member,
    2147483647 - coalesce(min_by(coordinator_node, stream_pos) FILTER (WHERE kind = 'lost'),
      min_by(coordinator_node, stream_pos) FILTER (WHERE kind = 'cleared')) AS broker_id,
    coalesce(min_by(coordinator, stream_pos) FILTER (WHERE kind = 'lost'), min_by(coordinator, stream_pos) FILTER (WHERE kind = 'cleared')) AS broker,
    2147483647 - coalesce(max_by(coordinator_node, stream_pos) FILTER (WHERE kind = 'found' AND stream_pos = found_pos),
      CASE WHEN bool_or(is_refused AND kind = 'lost') THEN max_by(coordinator_node, stream_pos) FILTER (WHERE kind = 'found') END) AS new_broker_id,
    coalesce(bool_or(is_refused AND kind = 'lost'), false) AS is_refused, min(at_ms) FILTER (WHERE kind = 'lost') AS lost_ms,
    min(found_ms) AS found_ms, CASE WHEN bool_or(is_closed) THEN min(closed_ms) END AS closed_ms,
    min(at_ms) FILTER (WHERE event IN ('synced', 'worker_assigned') AND stream_pos > outage_last_lost
      AND (at_ms - found_ms <= outage_back_ms OR rejoined_soon)) AS back_ms,
    -- Without the lines of the join before it, an assignment shows only that the coordinator had answered by then.
    coalesce(bool_or(event = 'partitions_assigned' AND stream_pos = found_pos), false) AS is_found_before,
    count_if(kind = 'lost' AND NOT is_refused) AS losses,
    count_if(kind = 'lost' AND last_found > coalesce(last_lost, 0) AND at_ms - last_found_ms <= coordinator_settled_ms) AS flaps,
    min(stream_pos) FILTER (WHERE kind = 'lost') AS lost_pos, min(found_pos) AS found_pos,
    array_sort(collect_set(error_text) FILTER (WHERE kind = 'lost' AND error_text IS NOT NULL)) AS causes,
    coalesce(bool_or(affected AND event IN ('worker_revoking', 'partitions_lost')), false) AS revoked,
    coalesce(bool_or(affected AND (event = 'generation_reset' AND NOT reason LIKE '%pro-actively%'
      OR event IN ('heartbeat_failed', 'join_failed', 'sync_failed')
        AND coalesce(error_text, '') RLIKE
          '(?i)unknown.?member|not aware of this member|not known in the current|illegal.?generation|member.?id')), false) AS thrown_out,
    coalesce(bool_or(affected AND event IN ('leaving', 'poll_timeout') AND (event = 'poll_timeout' OR reason LIKE '%poll timeout%')),
      false) AS left_group,
    -- The first loss, its effects, and the line that ended it.
    filter(array_distinct(array(min_by(event_id, stream_pos) FILTER (WHERE kind = 'lost'),
      min_by(event_id, stream_pos) FILTER (WHERE affected AND event IN ('worker_revoking', 'partitions_lost')),
      min_by(event_id, stream_pos) FILTER (WHERE affected AND event IN ('leaving', 'poll_timeout', 'generation_reset', 'heartbeat_failed')),
      max_by(event_id, stream_pos) FILTER (WHERE kind = 'lost'), min_by(event_id, stream_pos) FILTER (WHERE stream_pos = found_pos),
      min_by(event_id, stream_pos) FILTER (WHERE stream_pos = synced_pos AND rejoined_soon))), e -> e IS NOT NULL) AS witness
  FROM (
    -- The effects of an outage on a member appear at the latest when it returns.
    SELECT *, at_ms >= outage_ms AND (found_ms IS NULL OR at_ms - found_ms <= outage_affected_ms) AS affected,
      coalesce(bool_or(event = 'joining' AND stream_pos > outage_last_lost AND at_ms - found_ms <= outage_rejoined_ms)
        OVER (PARTITION BY process_id, instance, group_id, client, outage), false) AS rejoined_soon
    FROM outage_with_end
  )
  GROUP BY kafka_cluster, group_id, process_id, instance, client, outage
), coordinator_request AS (
  -- Clients that need a coordinator: a worker whose herder starts, a consumer that subscribed. Releases before 1.0 print neither with a client.
  SELECT e.kafka_cluster, e.process_id, e.instance, e.group_id, e.client_id, e.client_kind = 'Worker' AS is_worker, e.task, min(e.at_ms) AS at_ms,
    min_by(e.event_id, e.stream_pos) AS event_id, max(e.stream_pos) AS last_pos
  FROM fact_line e
  WHERE e.group_id IS NOT NULL AND e.client_id IS NOT NULL
    AND (e.client_kind = 'Worker' AND e.event = 'herder_starting' OR e.client_kind = 'Consumer' AND e.event = 'subscribed')
  GROUP BY e.kafka_cluster, e.process_id, e.instance, e.group_id, e.client_id, e.client_kind, e.task
), logging_process AS (
  -- Processes whose consumer internals log at INFO, so that their silence is evidence.
  SELECT DISTINCT process_id FROM event
  WHERE logger LIKE '%.clients.consumer.internals.%' AND NOT coalesce(level, '') RLIKE '(?i)warn|error|fatal|severe|critical'
), disconnected_client AS (
  SELECT DISTINCT process_id, client_id FROM event WHERE event IN ('connection_failed', 'bootstrap_failed', 'node_disconnected')
), unknown_group AS (
  -- Groups that never appear in the available brokers' logs.
  SELECT DISTINCT a.kafka_cluster, a.group_id FROM coordinator_request a
  JOIN process_cluster c ON c.kafka_cluster = a.kafka_cluster
  JOIN process_life b ON b.process_id = c.process_id AND b.is_broker
  LEFT ANTI JOIN broker_generation g ON g.kafka_cluster = a.kafka_cluster AND g.group_id = a.group_id
), never_found AS (
  -- For a client that was closed and created again, the last close counts.
  SELECT a.kafka_cluster, a.process_id, a.instance, a.group_id, a.client_id, a.is_worker, a.task, a.at_ms, a.event_id, min(c.at_ms) AS closed_ms
  FROM coordinator_request a
  LEFT JOIN client_close c ON c.process_id = a.process_id AND c.instance = a.instance AND c.group_id = a.group_id AND c.client = a.client_id
    AND c.stream_pos > a.last_pos
  LEFT ANTI JOIN client_event d ON d.process_id = a.process_id AND d.instance = a.instance AND d.group_id = a.group_id AND d.client_id = a.client_id
    AND d.event IN ('coordinator_discovered', 'coordinator_lost', 'joining', 'joined', 'join_answered', 'join_failed', 'synced',
      'sync_answered', 'sync_failed', 'worker_assigned', 'worker_revoking', 'assignment_computed', 'assignment_received',
      'partitions_assigned', 'partitions_revoked', 'partitions_lost', 'heartbeat_failed', 'member_fenced', 'poll_timeout', 'leaving')
  -- A client whose group lines are missing, but which did things that only members do, had a coordinator.
  LEFT ANTI JOIN fact_line p ON p.process_id = a.process_id AND p.instance = a.instance AND p.client_id = a.client_id
    AND p.event IN ('position_set', 'offset_committed', 'commit_failed')
  LEFT ANTI JOIN task_life t ON a.is_worker AND t.process_id = a.process_id AND t.instance = a.instance
  -- The discovery may be in a part of its log that was read as another process, or absent from a filtered log.
  LEFT ANTI JOIN process o ON o.process_id = a.process_id AND o.same_process_ids IS NOT NULL
  LEFT ANTI JOIN filtered_log f ON f.process_id = a.process_id
  LEFT ANTI JOIN lost_range d ON d.process_id = a.process_id AND coalesce(d.to_ms >= a.at_ms, true)
  LEFT JOIN logging_process s ON s.process_id = a.process_id
  LEFT JOIN disconnected_client x ON x.process_id = a.process_id AND x.client_id = a.client_id
  LEFT JOIN unknown_group b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id
  WHERE a.is_worker OR coalesce(s.process_id, x.process_id, b.group_id) IS NOT NULL
  GROUP BY a.kafka_cluster, a.process_id, a.instance, a.group_id, a.client_id, a.is_worker, a.task, a.at_ms, a.event_id
), any_outage AS (
  SELECT * FROM member_outage
  UNION ALL
  SELECT kafka_cluster, group_id, process_id, instance, client_id, client_id, is_worker, task, true, false, NULL, NULL, NULL, false, at_ms, NULL,
    closed_ms, NULL, false, 0, 0, CAST(NULL AS BIGINT), CAST(NULL AS BIGINT), array(), false, false, false, array(event_id)
  FROM never_found
), outage_with_loss AS (
  SELECT DISTINCT e.process_id, e.group_id, e.client, e.lost_ms FROM any_outage e
  JOIN lost_range d ON d.process_id = e.process_id AND coalesce(d.to_ms >= e.lost_ms, true)
    AND coalesce(d.from_ms <= coalesce(e.found_ms, e.closed_ms), true)
), outage_on_clock AS (
  SELECT e.*, l.stopping_ms, l.last_ms AS end_ms, o.lo_ms, o.hi_ms, o.reference_process_id,
    -- A filtered log may lack the line of the recovery, and if a log never has heartbeats their absence is no evidence.
    -- A lost range may hide when it was found, or that it was found and lost again.
    e.is_found_before OR e.found_ms IS NULL AND f.process_id IS NOT NULL OR d.process_id IS NOT NULL OR e.is_refused AND h.process_id IS NULL
      OR coalesce(exists(o.step.set_back, p -> p > e.lost_pos AND p <= e.found_pos), false)
      OR coalesce(coalesce(e.found_ms, e.closed_ms, l.stopping_ms, l.last_ms) - e.lost_ms >= o.step.least_ms, false) AS is_doubted
  FROM any_outage e JOIN process_life l ON l.process_id = e.process_id AND l.instance = e.instance
  JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  LEFT JOIN filtered_log f ON f.process_id = e.process_id
  LEFT JOIN outage_with_loss d ON d.process_id = e.process_id AND d.group_id = e.group_id AND d.client = e.client AND d.lost_ms = e.lost_ms
  LEFT JOIN (SELECT DISTINCT process_id, client FROM heartbeat) h ON h.process_id = e.process_id AND h.client = e.client
)
SELECT kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, task, never, was_member, broker_id, broker, new_broker_id,
  is_refused, lost_ms, found_ms, closed_ms, back_ms, coalesce(stopping_ms, end_ms) AS last_ms, lost_ms - hi_ms AS lost_lo_ms,
  lost_ms - lo_ms AS lost_hi_ms, coalesce(found_ms, closed_ms) - lo_ms AS found_hi_ms, reference_process_id,
  CASE WHEN NOT is_doubted THEN coalesce(found_ms, closed_ms, stopping_ms, end_ms) - lost_ms END AS duration_ms, losses, flaps, causes, revoked,
  thrown_out, left_group, witness
FROM outage_on_clock
-- Losing the coordinator during shutdown is normal.
WHERE stopping_ms IS NULL OR lost_ms < stopping_ms

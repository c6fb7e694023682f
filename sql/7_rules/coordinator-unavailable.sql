-- One row per outage of a group's coordinator (one row for all members that lost it), one per process that never reached a broker, and one
-- per broker that processes could not reach if their logs have no INFO lines.
-- Reads: group_outage, join_round, process, clock_offset, worker_setting, broker_absence, cluster_broker
-- Reads: offsets_topic, offsets_replica, broker_generation, fact_line, broker_missed, client_event, filtered_log
-- Times are on the reference clock. A member's own lines are compared with its own span of the outage, by its own clock.
WITH group_process AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id FROM join_round
), unaffected_members AS (
  -- Members of the group in other processes whose logs continue through the outage, or that joined a generation during it.
  SELECT o.outage_id, count(DISTINCT j.process_id) AS processes
  FROM group_outage o
  JOIN group_process j ON j.kafka_cluster = o.kafka_cluster AND j.group_id = o.group_id AND NOT array_contains(o.who, j.process_id)
  JOIN process p ON p.process_id = j.process_id AND p.reference_process_id = o.reference_process_id
  JOIN clock_offset k ON k.process_id = p.process_id AND k.is_island_reference
  -- A filtered log may also lack the line in which the member lost its coordinator.
  LEFT ANTI JOIN filtered_log f ON f.process_id = j.process_id
  LEFT JOIN (
    SELECT o.outage_id, r.process_id
    FROM group_outage o
    JOIN join_round r ON r.kafka_cluster = o.kafka_cluster AND r.group_id = o.group_id
    JOIN clock_offset c ON c.process_id = r.process_id AND c.is_island_reference AND c.reference_process_id = o.reference_process_id
    WHERE coalesce(r.synced_ms, r.joined_ms) - c.hi_ms > o.last_lost_ms
      -- The end is as uncertain as the loss.
      AND coalesce(r.synced_ms, r.joined_ms) - c.lo_ms < o.to_ms - coalesce(o.first_lost_ms - o.from_ms, 0L)
    GROUP BY o.outage_id, r.process_id
  ) g ON g.outage_id = o.outage_id AND g.process_id = j.process_id
  WHERE g.process_id IS NOT NULL OR unix_millis(p.first_ts) - k.lo_ms <= o.from_ms
    AND unix_millis(p.last_ts) - k.hi_ms >= coalesce(o.first_lost_ms, o.from_ms) + outage_untroubled_ms
  GROUP BY o.outage_id
), report_of_other_broker AS (
  -- Other brokers report that it was down.
  SELECT o.outage_id, min_by(struct(m.process_id, m.event_id), struct(m.at_lo_ms IS NOT NULL, m.at_lo_ms, m.event_id)) AS word
  FROM group_outage o
  JOIN broker_missed m ON m.kafka_cluster = o.kafka_cluster AND m.broker_id = o.broker_id
    AND m.reference_process_id = o.reference_process_id
    AND m.at_lo_ms BETWEEN o.from_ms - broker_silent_ms AND coalesce(o.to_ms, o.last_lost_ms + outage_open_ms)
  GROUP BY o.outage_id
), confirmed_outage AS (
  -- A log that simply ends does not show that the broker died: another process has to report it, or several processes must lose the broker
  -- at the same time.
  SELECT o.outage_id
  FROM group_outage o
  LEFT JOIN report_of_other_broker m ON m.outage_id = o.outage_id
  WHERE size(o.who) > 1 OR o.new_broker_id <> o.broker_id OR m.outage_id IS NOT NULL
), broker_absence_in_outage AS (
  SELECT o.outage_id,
    min_by(struct(a.how, a.from_ms, a.to_ms, a.event_id),
      struct(a.from_ms IS NOT NULL, a.from_ms, a.process_id, a.event_id)) AS broker
  FROM group_outage o
  JOIN broker_absence a ON a.kafka_cluster = o.kafka_cluster AND a.broker_id = o.broker_id
    AND a.reference_process_id = o.reference_process_id
  LEFT JOIN confirmed_outage k ON k.outage_id = o.outage_id
  -- A loss is noticed immediately or at the next heartbeat. A log that simply ends must end at this point.
  WHERE a.from_lo_ms <= o.last_lost_ms + broker_noticed_ms
    AND CASE WHEN a.how = 'silent' THEN k.outage_id IS NOT NULL AND a.from_lo_ms >= o.from_ms - broker_silent_ms
      ELSE a.to_hi_ms IS NULL OR a.to_hi_ms >= o.from_ms - broker_noticed_ms END
    -- If a clock was set back, the broker may have printed its last line long after the loss that seems to follow it.
    AND (a.is_steady AND a.how <> 'silent' OR a.from_hi_ms <= o.last_lost_lo_ms + broker_noticed_ms)
  GROUP BY o.outage_id
), absence_at_unknown_time AS (
  -- A broker that was down, then or at another time: a clock was set, and no line decides.
  SELECT o.outage_id, min_by(struct(a.from_ms, a.to_ms, a.event_id),
    struct(a.from_ms IS NOT NULL, a.from_ms, a.process_id, a.event_id)) AS broker
  FROM group_outage o
  JOIN broker_absence a ON a.kafka_cluster = o.kafka_cluster AND a.broker_id = o.broker_id
    AND a.reference_process_id = o.reference_process_id
  WHERE NOT a.is_steady AND a.how <> 'silent' AND a.from_lo_ms <= o.last_lost_ms + broker_noticed_ms
    AND coalesce(a.to_hi_ms >= o.from_ms - broker_noticed_ms, true)
  GROUP BY o.outage_id
), generations_of_broker AS (
  -- Its broker continued to coordinate, so the broker was up.
  SELECT o.outage_id, count(*) AS generations
  FROM group_outage o
  JOIN cluster_broker c ON c.kafka_cluster = o.kafka_cluster AND c.broker_id = o.broker_id
  JOIN clock_offset k ON k.process_id = c.process_id AND k.is_island_reference AND k.reference_process_id = o.reference_process_id
  JOIN broker_generation g ON g.process_id = c.process_id AND g.stabilized_ms - k.hi_ms > o.last_lost_ms
    -- The end is as uncertain as the loss, so lines that may be after it do not count.
    AND g.stabilized_ms - k.lo_ms < coalesce(o.to_ms - coalesce(o.first_lost_ms - o.from_ms, 0L), o.last_lost_ms + outage_open_ms)
  GROUP BY o.outage_id
), outage_client AS (
  SELECT outage_id, explode(clients) AS own FROM group_outage
), connection_errors AS (
  -- The members' connection errors in the meantime.
  SELECT c.outage_id,
    count_if(l.event IN ('connection_failed', 'bootstrap_failed')) AS failed,
    -- A node above a billion is not a broker, but a coordinator's separate connection.
    count(DISTINCT CASE WHEN l.event = 'connection_failed' AND l.node_id BETWEEN 0 AND 1000000000 THEN l.node_id END) AS nodes,
    count_if(l.node_id < 0 OR l.event = 'bootstrap_failed') AS bootstrap_failed,
    max(CASE WHEN l.event = 'authentication_failed' THEN l.said END) AS authentication,
    max(CASE WHEN l.event = 'coordinator_lookup_failed' THEN l.said END) AS lookup,
    min(CASE WHEN l.event = 'authentication_failed' THEN l.event_id END) AS authentication_id,
    min_by(l.event_id, struct(l.at_ms IS NOT NULL, l.at_ms, l.event_id)) FILTER (WHERE l.event = 'connection_failed') AS failed_id
  FROM outage_client c
  JOIN fact_line l ON l.process_id = c.own.process_id AND l.instance = c.own.instance
    AND l.event IN ('connection_failed', 'bootstrap_failed', 'authentication_failed', 'coordinator_lookup_failed')
    AND l.at_ms BETWEEN c.own.from_ms - outage_before_ms AND c.own.to_ms
  GROUP BY c.outage_id
), failed_write AS (
  SELECT o.outage_id, max(l.said) AS said, min_by(l.event_id, struct(l.at_ms IS NOT NULL, l.at_ms, l.event_id)) AS event_id
  FROM group_outage o
  JOIN fact_line l ON l.kafka_cluster = o.kafka_cluster AND l.event IN ('group_store_failed', 'coordinator_write_failed')
    AND l.said RLIKE '(?i)not.?enough.?replicas'
    AND l.at_ms BETWEEN o.from_ms - outage_writes_ms AND coalesce(o.to_ms, o.from_ms + outage_open_ms) + outage_writes_ms
  GROUP BY o.outage_id
), group_partition AS (
  SELECT kafka_cluster, group_id,
    max_by(offsets_partition, struct(stabilized_ms IS NOT NULL, stabilized_ms, offsets_partition)) AS offsets_partition
  FROM broker_generation
  GROUP BY kafka_cluster, group_id
), partition_replicas AS (
  SELECT kafka_cluster, offsets_partition, max_by(replicas, struct(at_ms IS NOT NULL, at_ms, replicas)) AS replicas
  FROM offsets_replica
  GROUP BY kafka_cluster, offsets_partition
), outage_with_code AS (
  SELECT o.*,
    m.word AS missed, coalesce(u.processes, 0) AS untroubled_count, coalesce(s.generations, 0) AS served_generations, a.broker AS down,
    CASE WHEN a.broker IS NULL THEN v.broker END AS unplaced,
    coalesce(n.failed, 0) AS failed_connections, n.nodes, n.authentication, n.lookup, n.authentication_id, n.failed_id,
    b.process_id IS NOT NULL AS has_log, w.said AS unwritten, w.event_id AS unwritten_id, h.offsets_partition, q.brokers, q.failures,
    q.configured,
    CASE
      WHEN o.never AND q.failures > 0 AND NOT q.exists_already THEN 'offsets_topic_impossible'
      WHEN n.authentication IS NOT NULL THEN 'authentication_failed'
      WHEN n.lookup RLIKE '(?i)authoriz' THEN 'not_authorized'
      WHEN o.never AND n.bootstrap_failed > 0 THEN 'no_bootstrap_server'
      WHEN w.said IS NOT NULL THEN 'too_few_in_sync'
      WHEN a.broker IS NOT NULL AND size(r.replicas) = 1 AND q.brokers > 1 THEN 'only_replica_down'
      WHEN a.broker IS NOT NULL AND q.brokers = 1 THEN 'only_broker_down'
      WHEN a.broker IS NOT NULL THEN 'broker_down'
      WHEN size(o.who) = 1 AND (u.processes > 0 OR s.generations > 0)
        AND array_contains(o.causes, 'session timed out without receiving a heartbeat response') THEN 'member_unanswered'
      WHEN size(o.who) = 1 AND (u.processes > 0 OR s.generations > 0) THEN 'one_member'
      WHEN o.new_broker_id <> o.broker_id THEN 'moved'
      WHEN n.nodes >= q.brokers AND q.brokers > 0 THEN 'no_broker_reachable'
      WHEN n.failed > 0 THEN 'connections_failed'
      ELSE 'unknown'
    END AS code
  FROM group_outage o
  LEFT JOIN unaffected_members u ON u.outage_id = o.outage_id
  LEFT JOIN broker_absence_in_outage a ON a.outage_id = o.outage_id
  LEFT JOIN absence_at_unknown_time v ON v.outage_id = o.outage_id
  LEFT JOIN report_of_other_broker m ON m.outage_id = o.outage_id
  LEFT JOIN generations_of_broker s ON s.outage_id = o.outage_id
  LEFT JOIN connection_errors n ON n.outage_id = o.outage_id
  LEFT JOIN failed_write w ON w.outage_id = o.outage_id
  LEFT JOIN group_partition h ON h.kafka_cluster = o.kafka_cluster AND h.group_id = o.group_id
  LEFT JOIN partition_replicas r ON r.kafka_cluster = o.kafka_cluster AND r.offsets_partition = h.offsets_partition
  LEFT JOIN offsets_topic q ON q.kafka_cluster = o.kafka_cluster
  LEFT JOIN cluster_broker b ON b.kafka_cluster = o.kafka_cluster AND b.broker_id = o.broker_id
), start_failure_line AS (
  -- A worker that cannot reach a broker when it starts has no herder and no group yet.
  SELECT f.kafka_cluster, f.process_id, f.instance, f.event, f.at_ms, f.event_id, f.said
  FROM fact_line f
  JOIN (SELECT DISTINCT process_id, instance FROM fact_line WHERE event = 'connect_start_failed') s
    ON s.process_id = f.process_id AND s.instance = f.instance
  LEFT ANTI JOIN fact_line c ON c.process_id = f.process_id AND c.instance = f.instance AND c.event = 'kafka_cluster_id'
  WHERE f.event IN ('connect_start_failed', 'connection_failed', 'bootstrap_failed', 'authentication_failed')
), failed_worker_start AS (
  SELECT l.kafka_cluster, w.group_id, l.process_id, l.instance, min(l.at_ms) AS from_ms,
    count_if(l.event <> 'connect_start_failed') AS failed_connections, max(w.bootstrap) AS bootstrap, max(w.security) AS security,
    bool_or(l.event = 'authentication_failed') AS is_authentication,
    coalesce(max(CASE WHEN l.event = 'authentication_failed' THEN l.said END),
      max(CASE WHEN l.event = 'connect_start_failed' THEN l.said END)) AS error,
    slice(array_sort(collect_set(l.event_id)), 1, 8) AS event_ids,
    collect_set(CASE WHEN l.event = 'connect_start_failed' THEN l.event_id END) AS given_up_ids
  FROM start_failure_line l
  LEFT JOIN worker_setting w ON w.process_id = l.process_id
  GROUP BY l.kafka_cluster, w.group_id, l.process_id, l.instance
  HAVING count_if(l.event <> 'connect_start_failed') > 0
), process_with_info AS (
  SELECT DISTINCT process_id FROM fact_line WHERE level = 'INFO'
  UNION
  SELECT DISTINCT process_id FROM client_event WHERE event IN ('coordinator_discovered', 'coordinator_lost', 'joining')
), unreachable_node AS (
  -- Identified by the node of the connection, or by that of the coordinator connection.
  SELECT f.kafka_cluster, f.process_id, CASE WHEN p.role = 'broker' THEN f.process_id END AS broker_process_id, f.at_ms, f.event_id,
    CASE WHEN f.node_id BETWEEN 0 AND 1000000000 THEN f.text END AS address,
    CAST(CASE WHEN f.node_id > 2000000000 THEN 2147483647 - f.node_id ELSE f.node_id END AS BIGINT) AS broker_id
  FROM fact_line f
  JOIN process p ON p.process_id = f.process_id
  LEFT ANTI JOIN process_with_info i ON i.process_id = f.process_id
  WHERE f.event = 'connection_failed' AND (f.node_id BETWEEN 0 AND 1000000000 OR f.node_id BETWEEN 2000000000 AND 2147483647)
), unreachable_broker AS (
  SELECT kafka_cluster, broker_id, array_sort(collect_set(process_id)) AS processes, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    count(*) AS failed_connections, max(address) AS address, min(broker_process_id) AS missed_by,
    slice(transform(sort_array(collect_list(struct(at_ms, event_id))), x -> x.event_id), 1, 8) AS event_ids
  FROM unreachable_node
  GROUP BY kafka_cluster, broker_id
  HAVING count(DISTINCT process_id) > 1
)
SELECT
  CASE
    WHEN j.never AND j.longest_ms >= outage_critical_ms THEN 'critical'
    -- All members that these logs show stopped working because of it.
    WHEN j.untroubled_count = 0 AND NOT j.is_sink
      AND (j.open OR j.longest_ms >= outage_critical_ms AND j.revoked + j.thrown_out >= size(j.who)) THEN 'critical'
    WHEN j.revoked + j.thrown_out > 0 OR j.left_group OR j.open OR j.longest_ms > j.session_ms THEN 'warning'
    ELSE 'note'
  END AS severity,
  -- Members print the loss, so it is proved; its cause is a separate question.
  'proved' AS verdict,
  j.kafka_cluster AS kafka_cluster,
  j.group_id AS group_id,
  coalesce(CASE WHEN size(j.who) = 1 THEN j.who[0] END, concat('broker ', j.broker_id), 'coordinator') AS subject,
  j.from_ms AS from_ms,
  j.to_ms AS to_ms,
  j.code AS code,
  named_struct(
    'processes', j.who,
    'member_count', CAST(j.members AS BIGINT),
    'untroubled_count', CAST(j.untroubled_count AS BIGINT),
    'never', j.never,
    'is_open', j.open,
    'longest_ms', j.longest_ms,
    'each_lo_ms', j.each_lo_ms,
    'each_hi_ms', j.each_hi_ms,
    'served_at_ms', j.served_ms,
    'late_processes', j.late,
    'losses', CAST(j.losses AS BIGINT),
    'causes', j.causes,
    'broker_id', CAST(j.broker_id AS BIGINT),
    'broker', j.broker,
    'has_log', j.has_log,
    'new_broker_id', CASE WHEN j.new_broker_id <> j.broker_id THEN CAST(j.new_broker_id AS BIGINT) END,
    'down_how', j.down.how,
    'down_at_ms', j.down.from_ms,
    'up_at_ms', j.down.to_ms,
    'missed_by', j.missed.process_id,
    'unplaced_from_ms', j.unplaced.from_ms,
    'unplaced_to_ms', j.unplaced.to_ms,
    'offsets_partition', CAST(j.offsets_partition AS BIGINT),
    'brokers', CAST(j.brokers AS BIGINT),
    'configured_replicas', CAST(j.configured AS BIGINT),
    'failures', CAST(j.failures AS BIGINT),
    'failed_connections', CAST(j.failed_connections AS BIGINT),
    'failed_nodes', CAST(j.nodes AS BIGINT),
    'served_generations', CAST(j.served_generations AS BIGINT),
    'error', CASE j.code
      WHEN 'authentication_failed' THEN j.authentication WHEN 'not_authorized' THEN j.lookup WHEN 'too_few_in_sync' THEN j.unwritten END,
    'bootstrap', j.bootstrap,
    'security', CAST(NULL AS STRING),
    'session_ms', j.session_told_ms,
    'revoked', CAST(j.revoked AS BIGINT),
    'thrown_out', CAST(j.thrown_out AS BIGINT),
    'left_group', j.left_group,
    'back_ms', CASE WHEN j.revoked + j.thrown_out > 0 THEN j.back_ms END
  ) AS facts,
  concat(
    transform(j.witness, x -> named_struct('role', 'a member in the outage', 'event_id', x)),
    array(
      named_struct('role', 'authentication fails', 'event_id', j.authentication_id),
      named_struct('role', 'a connection fails', 'event_id', j.failed_id),
      named_struct('role', 'the broker was down', 'event_id', j.down.event_id),
      named_struct('role', 'another broker reports it down', 'event_id', CASE WHEN j.down IS NULL THEN j.missed.event_id END),
      named_struct('role', 'the broker was down, at an unknown time', 'event_id', j.unplaced.event_id),
      named_struct('role', 'too few replicas in sync', 'event_id', j.unwritten_id))
  ) AS proof
FROM outage_with_code j
UNION ALL
SELECT
  'critical' AS severity,
  'proved' AS verdict,
  u.kafka_cluster AS kafka_cluster,
  u.group_id AS group_id,
  u.process_id AS subject,
  u.from_ms AS from_ms,
  CAST(NULL AS BIGINT) AS to_ms,
  CASE WHEN u.is_authentication THEN 'worker_refused' ELSE 'worker_without_broker' END AS code,
  named_struct(
    'processes', array(u.process_id),
    'member_count', CAST(NULL AS BIGINT),
    'untroubled_count', CAST(NULL AS BIGINT),
    'never', true,
    'is_open', CAST(NULL AS BOOLEAN),
    'longest_ms', CAST(NULL AS BIGINT),
    'each_lo_ms', CAST(NULL AS BIGINT),
    'each_hi_ms', CAST(NULL AS BIGINT),
    'served_at_ms', CAST(NULL AS BIGINT),
    'late_processes', CAST(NULL AS ARRAY<STRING>),
    'losses', CAST(NULL AS BIGINT),
    'causes', CAST(NULL AS ARRAY<STRING>),
    'broker_id', CAST(NULL AS BIGINT),
    'broker', CAST(NULL AS STRING),
    'has_log', CAST(NULL AS BOOLEAN),
    'new_broker_id', CAST(NULL AS BIGINT),
    'down_how', CAST(NULL AS STRING),
    'down_at_ms', CAST(NULL AS BIGINT),
    'up_at_ms', CAST(NULL AS BIGINT),
    'missed_by', CAST(NULL AS STRING),
    'unplaced_from_ms', CAST(NULL AS BIGINT),
    'unplaced_to_ms', CAST(NULL AS BIGINT),
    'offsets_partition', CAST(NULL AS BIGINT),
    'brokers', CAST(NULL AS BIGINT),
    'configured_replicas', CAST(NULL AS BIGINT),
    'failures', CAST(NULL AS BIGINT),
    'failed_connections', CAST(u.failed_connections AS BIGINT),
    'failed_nodes', CAST(NULL AS BIGINT),
    'served_generations', CAST(NULL AS BIGINT),
    'error', u.error,
    'bootstrap', u.bootstrap,
    'security', u.security,
    'session_ms', CAST(NULL AS BIGINT),
    'revoked', CAST(NULL AS BIGINT),
    'thrown_out', CAST(NULL AS BIGINT),
    'left_group', CAST(NULL AS BOOLEAN),
    'back_ms', CAST(NULL AS BIGINT)
  ) AS facts,
  transform(u.event_ids, x -> named_struct(
    'role', CASE WHEN array_contains(u.given_up_ids, x) THEN 'the worker gives up' ELSE 'no connection to a broker' END,
    'event_id', x)) AS proof
FROM failed_worker_start u
UNION ALL
-- Logs without INFO lines do not show the loss of a coordinator, only that several processes cannot connect to one broker, and since when.
SELECT
  'warning' AS severity,
  'proved' AS verdict,
  u.kafka_cluster AS kafka_cluster,
  CAST(NULL AS STRING) AS group_id,
  concat('broker ', u.broker_id) AS subject,
  u.from_ms AS from_ms,
  u.to_ms AS to_ms,
  'unreachable_broker' AS code,
  named_struct(
    'processes', u.processes,
    'member_count', CAST(NULL AS BIGINT),
    'untroubled_count', CAST(NULL AS BIGINT),
    'never', false,
    'is_open', CAST(NULL AS BOOLEAN),
    'longest_ms', CAST(NULL AS BIGINT),
    'each_lo_ms', CAST(NULL AS BIGINT),
    'each_hi_ms', CAST(NULL AS BIGINT),
    'served_at_ms', CAST(NULL AS BIGINT),
    'late_processes', CAST(NULL AS ARRAY<STRING>),
    'losses', CAST(NULL AS BIGINT),
    'causes', CAST(NULL AS ARRAY<STRING>),
    'broker_id', u.broker_id,
    'broker', u.address,
    'has_log', CAST(NULL AS BOOLEAN),
    'new_broker_id', CAST(NULL AS BIGINT),
    'down_how', CAST(NULL AS STRING),
    'down_at_ms', u.from_ms,
    'up_at_ms', u.to_ms,
    'missed_by', u.missed_by,
    'unplaced_from_ms', CAST(NULL AS BIGINT),
    'unplaced_to_ms', CAST(NULL AS BIGINT),
    'offsets_partition', CAST(NULL AS BIGINT),
    'brokers', CAST(NULL AS BIGINT),
    'configured_replicas', CAST(NULL AS BIGINT),
    'failures', CAST(NULL AS BIGINT),
    'failed_connections', CAST(u.failed_connections AS BIGINT),
    'failed_nodes', CAST(NULL AS BIGINT),
    'served_generations', CAST(NULL AS BIGINT),
    'error', CAST(NULL AS STRING),
    'bootstrap', CAST(NULL AS STRING),
    'security', CAST(NULL AS STRING),
    'session_ms', CAST(NULL AS BIGINT),
    'revoked', CAST(NULL AS BIGINT),
    'thrown_out', CAST(NULL AS BIGINT),
    'left_group', CAST(NULL AS BOOLEAN),
    'back_ms', CAST(NULL AS BIGINT)
  ) AS facts,
  transform(u.event_ids, x -> named_struct('role', 'no connection to the broker', 'event_id', x)) AS proof
FROM unreachable_broker u

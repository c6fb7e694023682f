-- One row per outage of a group's coordinator (one row for all members that lost it), one per process that never reached a broker, and one
-- per broker that processes could not reach if their logs have no INFO lines.
-- Reads: group_outage, join_round, process, clock_offset, worker_setting, broker_absence, cluster_broker, offsets_topic, broker_generation, fact_line
-- Reads: client_event, filtered_log
-- Times are on the reference clock. A member's own lines are compared with its own span of the outage, by its own clock.
WITH unaffected_members AS (
  -- Members of the group in other processes whose logs continue through the outage, or that joined a generation during it. The end of the outage is
  -- as uncertain as the loss.
  SELECT o.outage_id, count(DISTINCT r.process_id) AS processes FROM group_outage o
  JOIN join_round r ON r.kafka_cluster = o.kafka_cluster AND r.group_id = o.group_id AND NOT array_contains(o.who, r.process_id)
  JOIN process p ON p.process_id = r.process_id AND p.reference_process_id = o.reference_process_id
  JOIN clock_offset k ON k.process_id = p.process_id AND k.is_island_reference
  -- A filtered log may also lack the line in which the member lost its coordinator.
  LEFT ANTI JOIN filtered_log f ON f.process_id = r.process_id
  WHERE coalesce(r.synced_ms, r.joined_ms) - k.hi_ms > o.last_lost_ms
      AND coalesce(r.synced_ms, r.joined_ms) - k.lo_ms < o.to_ms - coalesce(o.first_lost_ms - o.from_ms, 0L)
    OR unix_millis(p.first_ts) - k.lo_ms <= o.from_ms
      AND unix_millis(p.last_ts) - k.hi_ms >= coalesce(o.first_lost_ms, o.from_ms) + outage_untroubled_ms
  GROUP BY o.outage_id
), report_of_other_broker AS (
  -- Other brokers report that it was down.
  SELECT o.outage_id, min_by(struct(m.process_id, m.event_id), struct(m.from_lo_ms IS NOT NULL, m.from_lo_ms, m.event_id)) AS word
  FROM group_outage o
  JOIN broker_absence m ON m.how = 'reported' AND m.kafka_cluster = o.kafka_cluster AND m.broker_id = o.broker_id
    AND m.reference_process_id = o.reference_process_id
    AND m.from_lo_ms BETWEEN o.from_ms - broker_silent_ms AND coalesce(o.to_ms, o.last_lost_ms + outage_open_ms)
  GROUP BY o.outage_id
), absence_by_outage AS (
  -- A loss is noticed immediately or at the next heartbeat. If a clock was set back, the broker may have printed its last line long after the loss
  -- that seems to follow it: it was down then or at another time. A log that simply ends must end here, and does not show that the broker died:
  -- another process has to report it, or several processes must lose the broker at the same time.
  SELECT o.outage_id, a.how, a.from_ms, a.to_ms, a.event_id, struct(a.from_ms IS NOT NULL, a.from_ms, a.process_id, a.event_id) AS place,
    CASE WHEN a.how <> 'silent' THEN coalesce(a.to_hi_ms >= o.from_ms - broker_noticed_ms, true)
      ELSE a.from_lo_ms >= o.from_ms - broker_silent_ms AND (size(o.who) > 1 OR o.new_broker_id <> o.broker_id OR m.outage_id IS NOT NULL)
    END AS is_near,
    a.is_steady AND a.how <> 'silent' OR a.from_hi_ms <= o.last_lost_lo_ms + broker_noticed_ms AS is_placed, a.is_steady
  FROM group_outage o
  JOIN broker_absence a ON a.how <> 'reported' AND a.kafka_cluster = o.kafka_cluster AND a.broker_id = o.broker_id
    AND a.reference_process_id = o.reference_process_id AND a.from_lo_ms <= o.last_lost_ms + broker_noticed_ms
  LEFT JOIN report_of_other_broker m ON m.outage_id = o.outage_id
), broker_absence_in_outage AS (
  SELECT outage_id, min_by(struct(how, from_ms, to_ms, event_id), place) FILTER (WHERE is_placed) AS broker,
    min_by(struct(from_ms, to_ms, event_id), place) FILTER (WHERE NOT is_steady AND how <> 'silent') AS unplaced
  FROM absence_by_outage WHERE is_near GROUP BY outage_id
), generations_of_broker AS (
  -- Its broker continued to coordinate, so the broker was up.
  SELECT o.outage_id, count(*) AS generations FROM group_outage o
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
  SELECT c.outage_id, count_if(l.event IN ('connection_failed', 'bootstrap_failed')) AS failed,
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
  SELECT kafka_cluster, group_id, max_by(offsets_partition, struct(stabilized_ms IS NOT NULL, stabilized_ms, offsets_partition)) AS offsets_partition
  FROM broker_generation GROUP BY kafka_cluster, group_id
), outage_with_code AS (
  SELECT o.*, m.word AS missed, coalesce(u.processes, 0) AS untroubled_count, coalesce(s.generations, 0) AS served_generations, a.broker AS down,
    CASE WHEN a.broker IS NULL THEN struct(a.unplaced.from_ms, a.unplaced.to_ms, a.unplaced.event_id) END AS unplaced,
    coalesce(n.failed, 0) AS failed_connections, n.nodes, n.authentication, n.lookup,
    n.authentication_id, n.failed_id, b.process_id IS NOT NULL AS has_log, w.said AS unwritten, w.event_id AS unwritten_id, h.offsets_partition,
    q.brokers, q.failures, q.configured, exists(o.causes, c -> c RLIKE 'session (timed out|expired)') AS is_expired,
    CASE WHEN o.never AND q.failures > 0 AND NOT q.exists_already THEN 'offsets_topic_impossible'
      WHEN n.authentication IS NOT NULL THEN 'authentication_failed'
      WHEN n.lookup RLIKE '(?i)authoriz' THEN 'not_authorized'
      WHEN o.never AND n.bootstrap_failed > 0 THEN 'no_bootstrap_server'
      WHEN w.said IS NOT NULL THEN 'too_few_in_sync'
      WHEN a.broker IS NOT NULL AND q.brokers > 1 AND exists(q.placements, x -> x.offsets_partition = h.offsets_partition AND size(x.replicas) = 1)
        THEN 'only_replica_down'
      WHEN a.broker IS NOT NULL AND q.brokers = 1 THEN 'only_broker_down'
      WHEN a.broker IS NOT NULL THEN 'broker_down'
      WHEN size(o.who) = 1 AND (u.processes > 0 OR s.generations > 0) AND array_contains(o.causes,
        'session timed out without receiving a heartbeat response') THEN 'member_unanswered'
      WHEN size(o.who) = 1 AND (u.processes > 0 OR s.generations > 0) THEN 'one_member'
      WHEN o.new_broker_id <> o.broker_id THEN 'moved'
      WHEN n.nodes >= q.brokers AND q.brokers > 0 THEN 'no_broker_reachable'
      WHEN n.failed > 0 THEN 'connections_failed'
      WHEN o.flaps > 1 AND coalesce(o.longest_ms <= o.session_ms, false) THEN 'flapping'
      ELSE 'unknown' END AS code
  FROM group_outage o LEFT JOIN unaffected_members u ON u.outage_id = o.outage_id
  LEFT JOIN broker_absence_in_outage a ON a.outage_id = o.outage_id
  LEFT JOIN report_of_other_broker m ON m.outage_id = o.outage_id
  LEFT JOIN generations_of_broker s ON s.outage_id = o.outage_id
  LEFT JOIN connection_errors n ON n.outage_id = o.outage_id
  LEFT JOIN failed_write w ON w.outage_id = o.outage_id
  LEFT JOIN group_partition h ON h.kafka_cluster = o.kafka_cluster AND h.group_id = o.group_id
  LEFT JOIN offsets_topic q ON q.kafka_cluster = o.kafka_cluster
  LEFT JOIN cluster_broker b ON b.kafka_cluster = o.kafka_cluster AND b.broker_id = o.broker_id
), failed_run AS (
  -- A worker that cannot reach a broker when it starts has no herder and no group yet.
  SELECT max(l.kafka_cluster) AS kafka_cluster, l.process_id, l.instance, min(l.at_ms) AS from_ms,
    max(l.stream_pos) FILTER (WHERE l.event = 'connect_start_failed') AS given_up_pos,
    count_if(l.event <> 'connect_start_failed') AS failed_connections, bool_or(l.event = 'authentication_failed') AS is_authentication,
    coalesce(max(l.said) FILTER (WHERE l.event = 'authentication_failed'), max(l.said) FILTER (WHERE l.event = 'connect_start_failed')) AS error,
    collect_set(l.event_id) AS event_ids, collect_set(CASE WHEN l.event = 'connect_start_failed' THEN l.event_id END) AS given_up_ids
  FROM fact_line l
  WHERE l.event IN ('connect_start_failed', 'connection_failed', 'bootstrap_failed', 'authentication_failed', 'kafka_cluster_id')
  GROUP BY l.process_id, l.instance
  HAVING count_if(l.event = 'connect_start_failed') > 0 AND count_if(l.event = 'kafka_cluster_id') = 0
    AND count_if(l.event <> 'connect_start_failed') > 0
), failed_worker_start AS (
  -- A later start that worked ends it; those that failed before that are one failure.
  SELECT max(r.kafka_cluster) AS kafka_cluster, w.group_id, r.process_id, min(r.from_ms) AS from_ms,
    count(*) AS starts, sum(r.failed_connections) AS failed_connections, max(w.bootstrap) AS bootstrap, max(w.security) AS security,
    bool_or(r.is_authentication) AS is_authentication, max_by(r.error, r.instance) AS error,
    slice(array_sort(array_distinct(flatten(collect_list(r.event_ids)))), 1, 8) AS event_ids, flatten(collect_list(r.given_up_ids)) AS given_up_ids,
    n.started_ms
  FROM failed_run r LEFT JOIN worker_setting w ON w.process_id = r.process_id
  LEFT JOIN (
    SELECT f.process_id, f.instance, min(s.at_ms) AS started_ms FROM failed_run f
    JOIN fact_line s ON s.process_id = f.process_id AND s.event = 'herder_started' AND s.stream_pos > f.given_up_pos GROUP BY f.process_id, f.instance
  ) n ON n.process_id = r.process_id AND n.instance = r.instance
  GROUP BY w.group_id, r.process_id, n.started_ms
), process_with_info AS (
  SELECT DISTINCT process_id FROM fact_line
  WHERE level = 'INFO'
  UNION
  SELECT DISTINCT process_id FROM client_event
  WHERE event IN ('coordinator_discovered', 'coordinator_lost', 'joining')
), unreachable_node AS (
  -- Identified by the node of the connection, or by that of the coordinator connection.
  SELECT f.kafka_cluster, f.process_id, CASE WHEN p.role = 'broker' THEN f.process_id END AS broker_process_id, f.at_ms, f.event_id,
    CASE WHEN f.node_id BETWEEN 0 AND 1000000000 THEN f.text END AS address,
    CAST(CASE WHEN f.node_id > 2000000000 THEN 2147483647 - f.node_id ELSE f.node_id END AS BIGINT) AS broker_id
  FROM fact_line f JOIN process p ON p.process_id = f.process_id
  LEFT ANTI JOIN process_with_info i ON i.process_id = f.process_id
  WHERE f.event = 'connection_failed' AND (f.node_id BETWEEN 0 AND 1000000000 OR f.node_id BETWEEN 2000000000 AND 2147483647)
), unreachable_broker AS (
  SELECT kafka_cluster, broker_id, array_sort(collect_set(process_id)) AS processes, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    count(*) AS failed_connections, max(address) AS address, min(broker_process_id) AS missed_by,
    slice(transform(sort_array(collect_list(struct(at_ms, event_id))), x -> x.event_id), 1, 8) AS event_ids
  FROM unreachable_node GROUP BY kafka_cluster, broker_id HAVING count(DISTINCT process_id) > 1
), refused_or_unstored AS (
  -- No member's log shows an outage, but brokers named no coordinator to a client that never found one, or could not store a group. A log that ends
  -- soon after the first request shows only that the client was starting.
  SELECT f.kafka_cluster, max(f.group_id) AS group_id, f.process_id, f.event = 'coordinator_lookup_failed' AS is_refused,
    min(f.at_ms) AS from_ms, count(*) AS failures, max(f.said) AS error, max(f.broker_id) AS broker_id,
    slice(array_sort(collect_set(f.event_id)), 1, 8) AS event_ids
  FROM fact_line f
  LEFT JOIN process p ON p.process_id = f.process_id
  LEFT ANTI JOIN group_outage o ON o.kafka_cluster = f.kafka_cluster
  LEFT ANTI JOIN client_event d ON d.process_id = f.process_id AND f.event = 'coordinator_lookup_failed'
    AND d.event IN ('coordinator_discovered', 'joined', 'synced', 'worker_assigned')
  WHERE f.event = 'coordinator_lookup_failed' AND f.said RLIKE '(?i)not.?available'
    OR f.event IN ('group_store_failed', 'coordinator_write_failed') AND f.said RLIKE '(?i)not.?enough.?replicas'
  GROUP BY f.kafka_cluster, f.process_id, f.event = 'coordinator_lookup_failed'
  HAVING NOT is_refused OR NOT coalesce(unix_millis(max(p.last_ts)) - min(f.at_ms) < outage_untroubled_ms, false)
), unreached AS (
  SELECT CASE WHEN started_ms IS NULL THEN 'critical' ELSE 'warning' END AS severity, kafka_cluster, group_id, process_id AS subject, from_ms,
    started_ms AS to_ms,
    CASE WHEN is_authentication THEN 'worker_refused' ELSE 'worker_without_broker' END AS code, array(process_id) AS processes,
    CAST(NULL AS BIGINT) AS broker_id, CAST(NULL AS STRING) AS address, CAST(NULL AS STRING) AS missed_by, failed_connections, error,
    bootstrap, security, starts, transform(event_ids, x -> named_struct('role',
      CASE WHEN array_contains(given_up_ids, x) THEN 'the worker gives up' ELSE 'no connection to a broker' END, 'event_id', x)) AS proof
  FROM failed_worker_start
  UNION ALL
  -- Logs without INFO lines do not show the loss of a coordinator, only since when several processes cannot connect to one broker.
  SELECT 'warning', kafka_cluster, NULL, concat('broker ', broker_id), from_ms, to_ms, 'unreachable_broker' AS code, processes, broker_id,
    address, missed_by, failed_connections, NULL, NULL, NULL, NULL,
    transform(event_ids, x -> named_struct('role', 'no connection to the broker', 'event_id', x)) AS proof
  FROM unreachable_broker
  UNION ALL
  -- No line shows when it ended.
  SELECT 'warning', kafka_cluster, group_id, process_id, from_ms, NULL,
    CASE WHEN is_refused THEN 'not_named' ELSE 'not_stored' END AS code,
    array(process_id), CAST(broker_id AS BIGINT), NULL, NULL, failures, error, NULL, NULL, NULL, transform(event_ids, x -> named_struct('role',
      CASE WHEN is_refused THEN 'no coordinator is named' ELSE 'a group is not stored' END, 'event_id', x))
  FROM refused_or_unstored
)
-- Members print the loss, so it is proved; its cause is a separate question.
SELECT CASE WHEN u.code IS NOT NULL THEN u.severity WHEN j.code = 'flapping' THEN 'warning'
    WHEN j.never AND j.longest_ms >= outage_critical_ms THEN 'critical'
    -- All members that these logs show stopped working because of it. A log that ends soon after the loss does not show that.
    WHEN j.untroubled_count = 0 AND NOT j.is_sink AND (j.open AND coalesce(j.longest_ms >= outage_untroubled_ms, true)
      OR j.longest_ms >= outage_critical_ms AND j.revoked + j.thrown_out >= size(j.who))
      THEN 'critical'
    WHEN j.revoked + j.thrown_out > 0 OR j.left_group OR j.open OR j.longest_ms > j.session_ms
      OR j.is_expired THEN 'warning'
    ELSE 'note' END AS severity,
  'proved' AS verdict, coalesce(j.kafka_cluster, u.kafka_cluster) AS kafka_cluster, coalesce(j.group_id, u.group_id) AS group_id,
  coalesce(u.subject, CASE WHEN size(j.who) = 1 THEN j.who[0] END, concat('broker ', j.broker_id), 'coordinator') AS subject,
  coalesce(j.from_ms, u.from_ms) AS from_ms, coalesce(j.to_ms, u.to_ms) AS to_ms, coalesce(j.code, u.code) AS code,
  struct(coalesce(j.who, u.processes) AS processes, CAST(j.members AS BIGINT) AS member_count, CAST(j.untroubled_count AS BIGINT) AS untroubled_count,
    coalesce(j.never, u.broker_id IS NULL) AS never, j.open AS is_open, j.longest_ms, j.each_lo_ms, j.each_hi_ms, j.served_ms AS served_at_ms,
    j.late AS late_processes, CAST(j.losses AS BIGINT) AS losses,
    CAST(j.flaps AS BIGINT) AS flaps, j.is_settled, j.causes, coalesce(CAST(j.broker_id AS BIGINT), u.broker_id) AS broker_id,
    coalesce(j.broker, u.address) AS broker, j.has_log, CASE WHEN j.new_broker_id <> j.broker_id
    THEN CAST(j.new_broker_id AS BIGINT) END AS new_broker_id, j.down.how AS down_how,
    coalesce(j.down.from_ms, CASE WHEN u.broker_id IS NOT NULL THEN u.from_ms END) AS down_at_ms, coalesce(j.down.to_ms, u.to_ms) AS up_at_ms,
    coalesce(j.missed.process_id, u.missed_by) AS missed_by, j.unplaced.from_ms AS unplaced_from_ms, j.unplaced.to_ms AS unplaced_to_ms,
    CAST(j.offsets_partition AS BIGINT) AS offsets_partition, CAST(j.brokers AS BIGINT) AS brokers,
    CAST(j.configured AS BIGINT) AS configured_replicas, CAST(j.failures AS BIGINT) AS failures,
    coalesce(j.failed_connections, u.failed_connections) AS failed_connections, CAST(j.nodes AS BIGINT) AS failed_nodes,
    CAST(j.served_generations AS BIGINT) AS served_generations, CASE coalesce(j.code, '') WHEN 'authentication_failed' THEN j.authentication
    WHEN 'not_authorized' THEN j.lookup WHEN 'too_few_in_sync' THEN j.unwritten ELSE u.error END AS error,
    coalesce(j.bootstrap, u.bootstrap) AS bootstrap, u.security, u.starts, j.session_told_ms AS session_ms, CAST(j.revoked AS BIGINT) AS revoked,
    CAST(j.thrown_out AS BIGINT) AS thrown_out, j.left_group,
    CASE WHEN j.revoked + j.thrown_out > 0 OR j.is_expired THEN j.back_ms END AS back_ms) AS facts,
  coalesce(u.proof, transform(j.witness, x -> named_struct('role', 'a member in the outage', 'event_id', x))
    || array(named_struct('role', 'authentication fails', 'event_id', j.authentication_id),
    named_struct('role', 'a connection fails', 'event_id', j.failed_id), named_struct('role', 'the broker was down', 'event_id', j.down.event_id),
    named_struct('role', 'another broker reports it down', 'event_id', CASE WHEN j.down IS NULL THEN j.missed.event_id END),
    named_struct('role', 'the broker was down, at an unknown time', 'event_id', j.unplaced.event_id),
    named_struct('role', 'too few replicas in sync', 'event_id', j.unwritten_id))) AS proof
FROM outage_with_code j
-- No outage has the id of a process or broker: each row is one or the other.
FULL OUTER JOIN unreached u ON u.subject = j.outage_id

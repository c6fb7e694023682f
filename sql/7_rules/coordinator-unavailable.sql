-- One row per outage of a group's coordinator (one row for all members that lost it), one per process that never reached a broker, and one
-- per broker that processes could not reach if their logs have no INFO lines.
-- Reads: group_outage, outage_evidence, unreached
WITH outage_with_code AS (
  SELECT *, exists(o.causes, c -> c RLIKE 'session (timed out|expired)') AS is_expired,
    CASE WHEN o.never AND e.failures > 0 AND NOT e.exists_already THEN 'offsets_topic_impossible'
      WHEN e.authentication IS NOT NULL THEN 'authentication_failed'
      WHEN e.lookup RLIKE '(?i)authoriz' THEN 'not_authorized'
      WHEN o.never AND e.bootstrap_failed > 0 THEN 'no_bootstrap_server'
      WHEN e.unwritten IS NOT NULL THEN 'too_few_in_sync'
      WHEN e.down_how IS NOT NULL AND e.brokers > 1 AND e.is_only_replica THEN 'only_replica_down'
      WHEN e.down_how IS NOT NULL AND e.brokers = 1 THEN 'only_broker_down'
      WHEN e.down_how IS NOT NULL THEN 'broker_down'
      WHEN size(o.who) = 1 AND (e.untroubled_count > 0 OR e.served_generations > 0) AND array_contains(o.causes,
        'session timed out without receiving a heartbeat response') THEN 'member_unanswered'
      WHEN size(o.who) = 1 AND (e.untroubled_count > 0 OR e.served_generations > 0) THEN 'one_member'
      WHEN o.new_broker_id <> o.broker_id THEN 'moved'
      WHEN e.failed_nodes >= e.brokers AND e.brokers > 0 THEN 'no_broker_reachable'
      WHEN e.failed_connections > 0 THEN 'connections_failed'
      WHEN o.flaps > 1 AND coalesce(o.longest_ms <= o.session_ms, false) THEN 'flapping'
      ELSE 'unknown' END AS code
  FROM group_outage o JOIN outage_evidence e USING (outage_id)
), unreached_with_code AS (
  SELECT *, CASE WHEN how IN ('refused', 'no_broker') AND to_ms IS NULL THEN 'critical' ELSE 'warning' END AS severity,
    CASE WHEN how = 'refused' THEN 'worker_refused' WHEN how = 'no_broker' THEN 'worker_without_broker'
      WHEN how = 'unreachable' THEN 'unreachable_broker' WHEN how = 'not_named' THEN 'not_named' ELSE 'not_stored' END AS code,
    transform(event_ids, x -> named_struct('role', CASE WHEN array_contains(given_up_ids, x) THEN 'the worker gives up'
      WHEN how IN ('refused', 'no_broker') THEN 'no connection to a broker' WHEN how = 'unreachable' THEN 'no connection to the broker'
      WHEN how = 'not_named' THEN 'no coordinator is named' ELSE 'a group is not stored' END, 'event_id', x)) AS proof
  FROM unreached
)
-- Members print the loss, so it is proved; its cause is a separate question.
SELECT CASE WHEN u.code IS NOT NULL THEN u.severity WHEN j.code = 'flapping' THEN 'warning'
    WHEN j.never AND j.longest_ms >= outage_critical_ms THEN 'critical'
    -- All members that these logs show stopped working because of it. A log that ends soon after the loss does not show that.
    WHEN j.untroubled_count = 0 AND NOT j.is_sink AND (j.open AND coalesce(j.longest_ms >= outage_untroubled_ms, true)
      OR j.longest_ms >= outage_critical_ms AND j.revoked + j.thrown_out >= size(j.who))
      THEN 'critical'
    WHEN j.revoked + j.thrown_out > 0 OR j.left_group OR j.open OR j.longest_ms > j.session_ms OR j.is_expired THEN 'warning'
    ELSE 'note' END AS severity,
  'proved' AS verdict, coalesce(j.kafka_cluster, u.kafka_cluster) AS kafka_cluster, coalesce(j.group_id, u.group_id) AS group_id,
  coalesce(u.subject, CASE WHEN size(j.who) = 1 THEN j.who[0] END, concat('broker ', j.broker_id), 'coordinator') AS subject,
  coalesce(j.from_ms, u.from_ms) AS from_ms, coalesce(j.to_ms, u.to_ms) AS to_ms, coalesce(j.code, u.code) AS code,
  struct(coalesce(j.who, u.processes) AS processes, j.members AS member_count, j.untroubled_count,
    coalesce(j.never, u.broker_id IS NULL) AS never, j.open AS is_open, j.longest_ms, j.each_lo_ms, j.each_hi_ms, j.served_ms AS served_at_ms,
    j.late AS late_processes, j.losses, j.flaps, j.is_settled, j.causes, coalesce(j.broker_id, u.broker_id) AS broker_id,
    coalesce(j.broker, u.address) AS broker, j.has_log, CASE WHEN j.new_broker_id <> j.broker_id THEN j.new_broker_id END AS new_broker_id,
    j.down_how,
    coalesce(j.down_from_ms, CASE WHEN u.broker_id IS NOT NULL THEN u.from_ms END) AS down_at_ms, coalesce(j.down_to_ms, u.to_ms) AS up_at_ms,
    coalesce(j.missed_by, u.missed_by) AS missed_by, j.unplaced_from_ms, j.unplaced_to_ms, j.offsets_partition, j.brokers,
    CAST(j.configured AS BIGINT) AS configured_replicas, j.failures, coalesce(j.failed_connections, u.failures) AS failed_connections,
    j.failed_nodes, j.served_generations, CASE coalesce(j.code, '') WHEN 'authentication_failed' THEN j.authentication
    WHEN 'not_authorized' THEN j.lookup WHEN 'too_few_in_sync' THEN j.unwritten ELSE u.error END AS error,
    coalesce(j.bootstrap, u.bootstrap) AS bootstrap, u.security, u.starts, j.session_told_ms AS session_ms, j.revoked, j.thrown_out, j.left_group,
    CASE WHEN j.revoked + j.thrown_out > 0 OR j.is_expired THEN j.back_ms END AS back_ms) AS facts,
  coalesce(u.proof, transform(j.witness, x -> named_struct('role', 'a member in the outage', 'event_id', x))
    || array(named_struct('role', 'authentication fails', 'event_id', j.authentication_id),
    named_struct('role', 'a connection fails', 'event_id', j.failed_id), named_struct('role', 'the broker was down', 'event_id', j.down_id),
    named_struct('role', 'another broker reports it down', 'event_id', CASE WHEN j.down_how IS NULL THEN j.missed_id END),
    named_struct('role', 'the broker was down, at an unknown time', 'event_id', j.unplaced_id),
    named_struct('role', 'too few replicas in sync', 'event_id', j.unwritten_id))) AS proof
FROM outage_with_code j
-- No outage has the id of a process or broker: each row is one or the other.
FULL OUTER JOIN unreached_with_code u ON u.subject = j.outage_id

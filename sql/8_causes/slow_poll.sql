-- One row for each time that a member left because of its poll timeout, without another cause.
-- Reads: rule_poll_timeout, coordinator_outage, process_trouble, generation, setting, worker_setting, event
-- Grain: event_id
-- A client checks its session before its polls, so a client that was paused for longer than both reports the expired session. A poll
-- timeout alone therefore shows a process that runs. A KIP-848 client does not check its session, and other libraries have their own order.
CREATE OR REPLACE TEMPORARY VIEW slow_poll (
  event_id      COMMENT 'Event in which it leaves',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  instance      COMMENT 'Run of the process',
  member_id     COMMENT 'Member id; NULL: unknown',
  cause         COMMENT 'poll_too_slow or unknown',
  alternatives  COMMENT 'Possible causes, if the lines do not decide',
  from_lo_ms    COMMENT 'Left at this time at the earliest (reference clock)',
  from_hi_ms    COMMENT 'Left at this time at the latest',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row for each time that a member left because of its poll timeout, without another cause.'
AS
WITH poll_timeout_leave AS (
  SELECT kafka_cluster, group_id, facts.process_id AS process_id, facts.instance AS instance, facts.member_id AS member_id,
    facts.limit_ms AS limit_ms, facts.left_at_ms AS left_ms, from_ms, to_ms, proof[0].event_id AS event_id
  FROM rule_poll_timeout
), session_limit AS (
  SELECT process_id, max(session_ms) AS session_ms
  FROM (
    SELECT process_id, session_ms FROM worker_setting
    UNION ALL
    SELECT process_id, try_cast(value AS BIGINT) FROM setting WHERE component = 'ConsumerConfig' AND key = 'session.timeout.ms'
  )
  GROUP BY process_id
), broker_assigned_group AS (
  SELECT kafka_cluster, group_id,
    bool_or(seen_by_broker) AS seen_by_broker FROM generation WHERE group_protocol <> 'classic' GROUP BY kafka_cluster, group_id
)
SELECT
  l.event_id AS event_id,
  l.kafka_cluster AS kafka_cluster,
  l.group_id AS group_id,
  l.process_id AS process_id,
  l.instance AS instance,
  l.member_id AS member_id,
  CASE WHEN s.group_id IS NULL AND coalesce(m.session_ms < l.limit_ms, true) AND coalesce(e.over_ms <= heartbeat_late_ms, true)
      OR s.seen_by_broker THEN 'poll_too_slow' ELSE 'unknown' END AS cause,
  CASE WHEN s.group_id IS NULL AND coalesce(m.session_ms < l.limit_ms, true) AND coalesce(e.over_ms <= heartbeat_late_ms, true)
      OR s.seen_by_broker THEN CAST(array() AS ARRAY<STRING>) ELSE array('poll_too_slow', 'process_paused') END AS alternatives,
  l.from_ms AS from_lo_ms,
  l.to_ms AS from_hi_ms,
  array(l.event_id) AS witness
FROM poll_timeout_leave l
LEFT JOIN session_limit m ON m.process_id = l.process_id
LEFT JOIN broker_assigned_group s ON s.kafka_cluster = l.kafka_cluster AND s.group_id = l.group_id
LEFT JOIN (
  SELECT event_id,
    try_cast(nullif(regexp_extract(message, 'exceeded by ([0-9]+) ?ms', 1),
      '') AS BIGINT) AS over_ms FROM event WHERE event = 'poll_timeout'
) e ON e.event_id = l.event_id
-- While its coordinator was down, or its process was paused or cut off, the timeout is an effect of that.
LEFT ANTI JOIN coordinator_outage o ON o.process_id = l.process_id AND o.instance = l.instance AND o.group_id = l.group_id
  AND o.was_member
  AND o.lost_ms <= l.left_ms AND coalesce(o.found_ms, l.left_ms) + outage_untroubled_ms >= l.left_ms
LEFT ANTI JOIN process_trouble t ON t.process_id = l.process_id AND t.instance = l.instance AND t.cause <> 'poll_too_slow'
  AND t.from_lo_ms <= l.to_ms AND coalesce(t.to_hi_ms, l.from_ms) + outage_untroubled_ms >= l.from_ms

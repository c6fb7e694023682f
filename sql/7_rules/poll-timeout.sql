-- One row for each time that a member exceeded its poll timeout and left, according to its own log or, without a line there, its coordinator's.
-- Reads: client_event, event, placed_event, clock_offset, config_value, coordinator_outage, process_pause, ownership
WITH member_line AS (
  SELECT c.kafka_cluster, c.group_id, c.process_id, c.instance, c.client, c.client_id, c.task, c.member_id, c.is_worker, c.stream_pos, c.at_ms,
    c.event, c.reason, c.event_id, t.timeout_ms, NULL AS broker, NULL AS printed
  FROM client_event c LEFT JOIN event t ON t.event_id = c.event_id AND t.event IN ('poll_timeout', 'leaving')
  UNION ALL
  -- Without debugging, librdkafka never prints the group.
  SELECT e.kafka_cluster, NULL, e.process_id, e.instance, coalesce(e.client_id, e.thread, '-'), e.client_id, e.task, e.member_id, false, e.stream_pos,
    unix_millis(e.ts), e.event, e.reason, e.event_id, e.timeout_ms, NULL, NULL
  FROM placed_event e LEFT ANTI JOIN client_event g ON g.event_id = e.event_id
  WHERE e.group_id IS NULL AND e.event IN ('poll_timeout', 'leaving')
  UNION ALL
  -- From 3.2 on a member says why it leaves (KIP-800): its coordinator prints that with the rebalance and with the leave. Its own line shows more.
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.instance, e.member_id, e.client_id, NULL, e.member_id,
    e.client_reason LIKE 'worker%' OR e.member_id RLIKE '^connect-([0-9]+|.+:[0-9]+)-[0-9a-f]{8}-', e.stream_pos, unix_millis(e.ts), 'leaving',
    e.client_reason, e.event_id, NULL, e.process_id,
    struct(e.rebalance_timeout_ms AS limit_ms, e.session_timeout_ms AS session_ms)
  FROM placed_event e LEFT ANTI JOIN client_event g ON g.group_id = e.group_id AND g.member_id = e.member_id AND g.event = 'leaving'
  WHERE e.event IN ('rebalance_preparing', 'member_left') AND e.client_reason LIKE '%poll timeout%'
), poll_timeout_leave AS (
  -- From 3.0 on a client prints a warning and the leave; both are one case, even if the host stalls in between. librdkafka's warning comes first,
  -- and its application prints the error that the next poll() returned, without a group and by its own logger: that can be long after.
  SELECT *, CASE WHEN event = 'poll_timeout' AND next_such.event = 'leaving' AND next_such.reason LIKE '%poll timeout%' THEN next_such.at_ms
    ELSE at_ms END AS left_ms
  FROM (
    SELECT *, coalesce(member_id, lag(member_id) IGNORE NULLS OVER w) AS who, lag(struct(at_ms, event)) OVER such AS last_such,
      lead(struct(at_ms, event, reason, printed)) OVER such AS next_such
    FROM member_line
    WINDOW w AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos),
      such AS (PARTITION BY process_id, group_id, CASE WHEN group_id IS NOT NULL THEN client END, event IN ('poll_timeout', 'leaving')
        ORDER BY stream_pos)
  )
  WHERE event = 'poll_timeout'
    OR event = 'leaving' AND (reason LIKE '%poll timeout%' OR reason LIKE '%poll interval%')
      AND (last_such IS NULL OR last_such.event = 'leaving' AND at_ms - last_such.at_ms > poll_repeats_ms)
), poll_limit AS (
  SELECT process_id, client_id, max(try_cast(value AS BIGINT)) AS limit_ms FROM config_value
  WHERE key = 'max.poll.interval.ms' GROUP BY process_id, client_id
), coordinator_loss AS (
  -- A consumer that looks for its coordinator does so inside poll(). It has no time to poll between finding it and the timeout.
  SELECT p.event_id, max(o.lost_ms) AS lost_ms, max_by(element_at(o.witness, 1), struct(o.lost_ms IS NOT NULL, o.lost_ms, o.client)) AS lost_id
  FROM poll_timeout_leave p
  JOIN coordinator_outage o ON o.process_id = p.process_id AND o.instance = p.instance AND o.group_id = p.group_id AND o.client = p.client
    AND p.at_ms BETWEEN o.lost_ms AND coalesce(o.found_ms, o.closed_ms, o.last_ms) + coordinator_together_ms
  WHERE o.was_member GROUP BY p.event_id
), way_back AS (
  -- What the consumer had to give up, and when it was given partitions again.
  SELECT p.event_id, min(CASE WHEN e.event = 'partitions_assigned' THEN struct(e.stream_pos, e.at_ms, e.event_id) END) AS back,
    min_by(e.partitions, e.stream_pos) FILTER (WHERE e.event = 'partitions_lost') AS lost
  FROM poll_timeout_leave p
  JOIN client_event e ON e.process_id = p.process_id AND e.instance = p.instance AND e.group_id = p.group_id AND e.client = p.client
    AND e.stream_pos > p.stream_pos
  WHERE NOT p.is_worker AND e.event IN ('partitions_assigned', 'partitions_lost') AND size(coalesce(e.partitions, array())) > 0
  GROUP BY p.event_id
), taken_meanwhile AS (
  -- Another member consumed one of them before it was back.
  SELECT DISTINCT p.event_id FROM poll_timeout_leave p JOIN way_back w ON w.event_id = p.event_id
  JOIN clock_offset k ON k.process_id = p.process_id AND k.is_island_reference
  JOIN ownership o ON o.kafka_cluster <=> p.kafka_cluster AND o.group_id = p.group_id AND o.resource_kind = 'partition'
    AND array_contains(w.lost, o.resource)
    -- It may be in the same process.
    AND NOT (o.process_id <=> p.process_id AND (p.who IS NULL OR o.member_id <=> p.who))
    AND coalesce(unix_millis(o.start_hi) < w.back.at_ms - k.lo_ms, true) AND coalesce(unix_millis(o.stop_hi) > p.at_ms - k.hi_ms, true)
), pause AS (
  -- A process that continues after a pause finds that its poll timeout has passed.
  SELECT p.event_id, max(z.least_ms) AS paused_ms, max(z.after_id) AS after_id FROM poll_timeout_leave p
  JOIN process_pause z ON z.process_id = p.process_id AND z.instance = p.instance AND p.at_ms BETWEEN z.after_ms AND z.after_ms + pause_noticed_ms
  GROUP BY p.event_id
)
SELECT 'warning' AS severity, 'proved' AS verdict, p.kafka_cluster, p.group_id, coalesce(p.who, p.client) AS subject, p.at_ms - o.hi_ms AS from_ms,
  p.left_ms - o.lo_ms AS to_ms,
  CASE WHEN p.broker IS NOT NULL THEN 'of_broker' WHEN z.event_id IS NOT NULL THEN 'paused' WHEN w.event_id IS NOT NULL THEN 'without_coordinator'
    WHEN p.is_worker THEN 'worker' ELSE 'consumer' END AS code,
  struct(coalesce(p.task, p.client) AS name, CASE WHEN p.broker IS NULL THEN p.process_id END AS process_id, p.broker,
    CASE WHEN p.broker IS NULL THEN p.instance END AS instance, p.who AS member_id, p.task, p.left_ms AS left_at_ms,
    coalesce(p.timeout_ms, l.limit_ms, p.printed.limit_ms, p.next_such.printed.limit_ms) AS limit_ms,
    coalesce(p.printed.session_ms, p.next_such.printed.session_ms) AS session_ms, p.is_worker,
    -- Only librdkafka prints the limit.
    p.timeout_ms IS NOT NULL AS is_librdkafka,
    w.lost_ms AS lost_at_ms, z.paused_ms, CASE WHEN t.event_id IS NULL THEN b.lost END AS lost,
    CASE WHEN t.event_id IS NULL THEN b.back.at_ms - p.left_ms END AS away_ms) AS facts,
  array(named_struct('role', 'leaves', 'event_id', p.event_id), named_struct('role', 'loses its coordinator', 'event_id', w.lost_id),
    named_struct('role', 'shows the pause', 'event_id', z.after_id), named_struct('role', 'has partitions again', 'event_id',
    b.back.event_id)) AS proof
FROM poll_timeout_leave p JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
LEFT JOIN poll_limit l ON l.process_id = p.process_id AND l.client_id = p.client_id
LEFT JOIN coordinator_loss w ON w.event_id = p.event_id
LEFT JOIN pause z ON z.event_id = p.event_id
LEFT JOIN way_back b ON b.event_id = p.event_id
LEFT JOIN taken_meanwhile t ON t.event_id = p.event_id

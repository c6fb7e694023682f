-- One row per group whose last rebalance had not ended when the logs end.
-- Reads: placed_event, process_life, client_event, fact_line, task_life, member_round, member_generation, member, generation
-- Reads: clock_offset, filtered_log, lost_range
-- Grain: kafka_cluster, group_id
-- Public: yes
-- Its coordinator prepares it, or members ask to join, but their logs show neither the end of its join phase nor an answer. A rebalance that ended
-- according to any line of the group is left out. Closed members and stopped processes no longer wait: if all members were closed, it had not ended
-- by then.
CREATE OR REPLACE TEMPORARY VIEW open_rebalance (
  kafka_cluster, group_id,
  incarnation     COMMENT 'Incarnation of the group''s metadata; NULL: the logs have none of its generations',
  last_generation COMMENT 'Last generation in the logs; NULL: none',
  protocol_type   COMMENT 'consumer or connect',
  rebalance_mode  COMMENT 'eager or cooperative, of the last generation',
  coordinator     COMMENT 'Broker that prepares it (its process); NULL: not in its log',
  began_ts        COMMENT 'The coordinator prepares it, or the first member asks, by that process''s clock',
  began_ms        COMMENT 'The same (milliseconds since 1970)',
  from_ts         COMMENT 'The same, on the reference clock',
  to_ts           COMMENT 'It had not ended then (reference clock): the logs end, or its last member was closed',
  from_ms         COMMENT 'from_ts (milliseconds since 1970)',
  to_ms           COMMENT 'to_ts (milliseconds since 1970)',
  reference_process_id,
  lasted_ms       COMMENT 'At least this long, milliseconds; NULL: a clock stepped',
  reason          COMMENT 'Reason as the broker printed it',
  member_id       COMMENT 'Member that the reason names',
  asked           COMMENT 'Members that had asked to join: process and task or client',
  awaited         COMMENT 'Members of the last generation that had not asked: process and task or client, or member id',
  awaited_processes COMMENT 'Their processes, if they have logs',
  has_member_logs COMMENT 'True when a member of the group has a log',
  is_given_up     COMMENT 'True when all members that had asked were closed, or their processes stopped, before they were answered',
  witness
)
AS
WITH latest_generation AS (
  SELECT
    kafka_cluster, group_id, max(struct(incarnation, generation)) AS last, max_by(protocol_type, struct(incarnation, generation)) AS protocol_type,
    max_by(rebalance_mode, struct(incarnation, generation)) AS rebalance_mode,
    max_by(struct(coordinator, unix_millis(coalesce(assigned_ts, stabilized_ts)) AS at_ms), struct(incarnation, generation)) AS settled
  FROM generation WHERE group_protocol = 'classic' GROUP BY kafka_cluster, group_id
), last_run AS (
  -- The last process run of each log, up to the line about its end, if any. If the log is filtered, or has a lost range in that run, the absence of a
  -- line proves nothing.
  SELECT l.process_id, l.instance, coalesce(l.ending_ms, l.last_ms) AS last_ms, l.ending_id IS NOT NULL AS is_ending, o.lo_ms, o.hi_ms, o.stepped,
    o.reference_process_id
  FROM process_life l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  LEFT ANTI JOIN filtered_log f ON f.process_id = l.process_id
  LEFT ANTI JOIN lost_range d ON d.process_id = l.process_id AND (d.instance = l.instance OR d.instance IS NULL)
  WHERE l.next_start_ms IS NULL
), last_coordinator_line AS (
  SELECT e.kafka_cluster, e.group_id, e.process_id,
    max_by(struct(e.event, e.instance, unix_millis(e.ts) AS at_ms, e.event_id, e.old_generation, e.reason, e.client_reason, e.member_id),
      e.stream_pos) AS last
  FROM placed_event e
  WHERE e.group_id IS NOT NULL AND e.event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'group_emptied',
    'group_died', 'group_unloaded',
    -- The group changed to a protocol without rebalances while it was in one (KIP-848).
    'group_converted', 'group_epoch_bumped')
  GROUP BY e.kafka_cluster, e.group_id, e.process_id
), open_preparation AS (
  SELECT w.kafka_cluster, w.group_id, w.process_id, w.last.at_ms AS at_ms, w.last.event_id AS event_id, w.last.member_id AS member_id,
    nullif(concat_ws('; client reason: ', w.last.reason, nullif(w.last.client_reason, '')), '') AS reason, l.last_ms, l.lo_ms, l.hi_ms, l.stepped,
    l.reference_process_id
  FROM last_coordinator_line w JOIN last_run l ON l.process_id = w.process_id AND l.instance = w.last.instance AND NOT l.is_ending
  LEFT JOIN latest_generation n ON n.kafka_cluster = w.kafka_cluster AND n.group_id = w.group_id
  -- Another log shows a generation that follows it.
  WHERE w.last.event = 'rebalance_preparing' AND coalesce(n.last.generation <= w.last.old_generation, true)
), last_member_line AS (
  SELECT kafka_cluster, group_id, process_id, client, max(task) AS task, max(client_id) AS client_id,
    max_by(struct(event, instance, stream_pos, at_ms, event_id), stream_pos) AS last
  FROM client_event
  WHERE event IN ('joining', 'joined', 'join_answered', 'synced', 'worker_assigned', 'partitions_assigned', 'assignment_received',
    'assignment_computed', 'leaving', 'poll_timeout', 'member_fenced', 'coordinator_lost', 'generation_reset', 'join_failed')
    -- Lines that a member prints while it is closed.
    AND NOT coalesce(event = 'leaving' AND reason LIKE '%being closed%' OR event = 'generation_reset' AND reason LIKE '%pro-actively%', false)
  GROUP BY kafka_cluster, group_id, process_id, client
), client_close AS (
  SELECT process_id, client, max(struct(stream_pos AS pos, at_ms)) AS closing
  FROM (
    SELECT process_id, client_id AS client, stream_pos, at_ms FROM fact_line
    WHERE event IN ('client_closed', 'close_timed_out', 'subscribed') AND client_id IS NOT NULL
    UNION ALL
    SELECT process_id, client, stream_pos, at_ms FROM client_event WHERE event = 'leaving' AND reason LIKE '%being closed%'
  )
  GROUP BY process_id, client
), last_generation AS (
  -- The last generation of each client.
  SELECT kafka_cluster, group_id, process_id, client, max_by(struct(incarnation, generation), round) AS last FROM member_round
  GROUP BY kafka_cluster, group_id, process_id, client
), last_settlement AS (
  SELECT n.kafka_cluster, n.group_id, n.settled.at_ms - o.lo_ms AS hi_ms, o.reference_process_id
  FROM latest_generation n JOIN clock_offset o ON o.process_id = n.settled.coordinator AND o.is_island_reference
  UNION ALL
  -- Without its coordinator's log, as its members print it.
  SELECT n.kafka_cluster, n.group_id, max(coalesce(r.synced.at_ms, r.joined.at_ms) - o.lo_ms), o.reference_process_id
  FROM latest_generation n
  JOIN member_round r ON r.kafka_cluster = n.kafka_cluster AND r.group_id = n.group_id AND r.incarnation = n.last.incarnation
    AND r.generation = n.last.generation
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
  WHERE n.settled.coordinator IS NULL GROUP BY n.kafka_cluster, n.group_id, o.reference_process_id
), join_request AS (
  SELECT s.kafka_cluster, s.group_id, s.process_id, s.client, s.client_id, s.task, s.last.at_ms AS at_ms, s.last.event_id AS event_id,
    least(c.closing.at_ms, t.ended.at_ms, l.last_ms) AS last_ms, l.lo_ms, l.hi_ms, l.stepped, l.reference_process_id,
    l.is_ending OR c.process_id IS NOT NULL OR t.process_id IS NOT NULL AS is_closed
  FROM last_member_line s JOIN last_run l ON l.process_id = s.process_id AND l.instance = s.last.instance
  LEFT JOIN client_close c ON c.process_id = s.process_id AND c.client = s.client AND c.closing.pos > s.last.stream_pos
  LEFT JOIN task_life t ON t.process_id = s.process_id AND t.instance = s.last.instance AND t.task = s.task AND t.ended.pos > s.last.stream_pos
  LEFT JOIN latest_generation n ON n.kafka_cluster = s.kafka_cluster AND n.group_id = s.group_id
  LEFT JOIN last_generation h ON h.kafka_cluster = s.kafka_cluster AND h.group_id = s.group_id AND h.process_id = s.process_id AND h.client = s.client
  LEFT JOIN last_settlement e ON e.kafka_cluster = s.kafka_cluster AND e.group_id = s.group_id AND e.reference_process_id = l.reference_process_id
  WHERE s.last.event = 'joining'
    -- It had the last generation, or asked when that existed: it asks for a later one.
    AND (n.last IS NULL OR h.last.incarnation = n.last.incarnation AND h.last.generation = n.last.generation
      OR coalesce(s.last.at_ms - l.hi_ms > e.hi_ms, false))
), any_evidence AS (
  SELECT kafka_cluster, group_id, true AS is_broker, process_id, CAST(NULL AS STRING) AS name, at_ms, event_id, member_id, reason, last_ms, lo_ms,
    hi_ms, stepped, reference_process_id, false AS is_closed
  FROM open_preparation
  UNION ALL
  SELECT kafka_cluster, group_id, false, process_id, concat_ws(' ', process_id, coalesce(task, client_id)), at_ms, event_id, NULL, NULL, last_ms,
    lo_ms, hi_ms, stepped, reference_process_id, is_closed
  FROM join_request
), evidence AS (
  -- Closed members show how long it lasts only if no other member does.
  SELECT *, CASE WHEN is_closed = is_given_up THEN last_ms END AS until_ms
  FROM (SELECT *, bool_and(is_closed) OVER (PARTITION BY kafka_cluster, group_id) AS is_given_up FROM any_evidence)
), first_evidence AS (
  -- The coordinator's, or else the earliest of a member: it gives the begin of the rebalance, and the clock.
  SELECT kafka_cluster, group_id,
    min(struct(NOT is_broker AS is_member, at_ms - hi_ms AS from_lo_ms, process_id, at_ms, lo_ms, hi_ms, reference_process_id)) AS began
  FROM evidence GROUP BY kafka_cluster, group_id
), rebalance_summary AS (
  SELECT s.kafka_cluster, s.group_id, max(f.began) AS began,
    max(CASE WHEN s.reference_process_id = f.began.reference_process_id THEN s.until_ms - s.hi_ms END) AS to_ms,
    max(CASE WHEN s.process_id = f.began.process_id THEN s.until_ms - f.began.at_ms
      WHEN s.reference_process_id = f.began.reference_process_id THEN s.until_ms - s.hi_ms - (f.began.at_ms - f.began.lo_ms) END) AS lasted_ms,
    bool_or(s.stepped) AS is_stepped, bool_or(s.is_given_up) AS is_given_up, max(CASE WHEN s.is_broker THEN s.process_id END) AS coordinator,
    max(s.reason) AS reason, max(s.member_id) AS member_id, array_sort(collect_set(s.name)) AS asked,
    sort_array(collect_list(struct(NOT s.is_broker AS is_member, s.at_ms, s.event_id))) AS lines
  FROM evidence s JOIN first_evidence f ON f.kafka_cluster = s.kafka_cluster AND f.group_id = s.group_id
  GROUP BY s.kafka_cluster, s.group_id
), awaited_member AS (
  SELECT g.kafka_cluster, g.group_id,
    array_sort(collect_set(CASE WHEN g.process_id IS NULL THEN g.member_id ELSE concat_ws(' ', g.process_id, coalesce(g.task, g.client_id))
      END)) AS awaited,
    array_sort(collect_set(g.process_id)) AS awaited_processes
  FROM member_generation g
  JOIN latest_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.last.incarnation = g.incarnation
    AND n.last.generation = g.generation
  LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.member_id
  LEFT ANTI JOIN join_request a ON a.kafka_cluster = g.kafka_cluster AND a.group_id = g.group_id AND a.process_id = g.process_id
    AND a.client_id <=> g.client_id
  WHERE coalesce(m.left_client, 'unknown') = 'unknown' AND coalesce(m.left_broker, 'unknown') = 'unknown'
    AND (g.process_id IS NULL OR g.process_id IN (SELECT process_id FROM last_run WHERE NOT is_ending))
  GROUP BY g.kafka_cluster, g.group_id
)
SELECT t.kafka_cluster, t.group_id, n.last.incarnation AS incarnation, n.last.generation AS last_generation, n.protocol_type, n.rebalance_mode,
  t.coordinator, timestamp_millis(t.began.at_ms) AS began_ts, t.began.at_ms AS began_ms,
  timestamp_millis(t.began.at_ms - (t.began.lo_ms + t.began.hi_ms) DIV 2) AS from_ts,
  timestamp_millis(greatest(t.to_ms, t.began.at_ms - (t.began.lo_ms + t.began.hi_ms) DIV 2)) AS to_ts,
  t.began.at_ms - (t.began.lo_ms + t.began.hi_ms) DIV 2 AS from_ms, greatest(t.to_ms, t.began.at_ms - (t.began.lo_ms + t.began.hi_ms) DIV 2) AS to_ms,
  t.began.reference_process_id AS reference_process_id, CASE WHEN NOT t.is_stepped THEN greatest(t.lasted_ms, 0L) END AS lasted_ms, t.reason,
  t.member_id, t.asked, coalesce(a.awaited, CAST(array() AS ARRAY<STRING>)) AS awaited,
  coalesce(a.awaited_processes, CAST(array() AS ARRAY<STRING>)) AS awaited_processes, c.group_id IS NOT NULL AS has_member_logs, t.is_given_up,
  transform(slice(t.lines, 1, 16), l -> l.event_id) AS witness
FROM rebalance_summary t LEFT JOIN latest_generation n ON n.kafka_cluster = t.kafka_cluster AND n.group_id = t.group_id
LEFT JOIN awaited_member a ON a.kafka_cluster = t.kafka_cluster AND a.group_id = t.group_id
LEFT JOIN (SELECT DISTINCT kafka_cluster, group_id FROM client_event) c ON c.kafka_cluster = t.kafka_cluster AND c.group_id = t.group_id
-- Groups that stop rebalance until their last member has left: these are left out.
WHERE NOT t.is_given_up OR coalesce(NOT t.is_stepped AND t.lasted_ms >= slow_rebalance_ms, false)

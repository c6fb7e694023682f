-- One row per generation in the log of its coordinator.
-- Reads: event, process_cluster, range_row, filtered_log
-- Grain: kafka_cluster, group_id, incarnation, generation
-- Within one broker, positions order the lines. If the coordinator moves, the brokers' own clocks order them, because operators keep these in sync.
-- If generation numbers contradict the clocks, the numbers win: the generation that follows another broker's last one is later. The incarnation rises
-- when the generation does not: back to 0 if the group's history was lost, to a higher number if a number repeats (ghost). A filtered log may have no
-- line that ends a join phase. A generation that was prepared there was reached if the next rebalance begins from it or a member joined it; the time
-- is then unknown. Such a log also does not show that a group was not deleted. A coordinator waits for a member for as long as its timers allow. If
-- it printed nothing while it waited, and the wait matches none of them, the coordinator itself may have been paused (a suspended host, a long
-- garbage collection) and did not wait for a member.
CREATE OR REPLACE TEMPORARY VIEW broker_generation (
  kafka_cluster, group_id, incarnation,
  incarnation_why   COMMENT 'Why this incarnation began',
  generation,
  process_id        COMMENT 'Broker',
  offsets_partition,
  prepared_ms       COMMENT 'Preparing to rebalance (milliseconds since 1970)',
  prepared_id COMMENT 'Its event',
  prepared_member   COMMENT 'Member that its reason names',
  reason, client_reason,
  stabilized_ms     COMMENT 'Stabilized: the join phase is over; NULL: the log is filtered and only shows its beginning',
  stabilized_id COMMENT 'Its event',
  member_count      COMMENT 'Number of members, if printed',
  assigned_ms       COMMENT 'The leader''s assignment arrived',
  assigned_id COMMENT 'Its event',
  leader_member_id,
  expired_member    COMMENT 'The last member that was removed during this rebalance, for missing heartbeats or a late join',
  expired_ms        COMMENT 'When',
  expired_id COMMENT 'Its event',
  expired_how       COMMENT 'session_timeout: no heartbeat; rebalance_timeout: it did not join in time; pending_timeout: it did not join again with
    its new member id',
  is_silent         COMMENT 'True if its log is silent from Preparing to that removal, and no timer is that long: it may have been paused',
  from_empty        COMMENT 'True if the group was empty before, so the coordinator waits for more members'
)
AS
WITH group_line AS (
  SELECT c.kafka_cluster, e.process_id, e.instance, e.group_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.generation,
    e.old_generation, e.offsets_partition,
    -- Members that did not join in time are printed as a list.
    coalesce(e.member_id, CASE WHEN e.event = 'member_expired' THEN get(e.members, 0) END) AS member_id,
    CASE WHEN e.event = 'member_expired' THEN CASE WHEN e.member_id IS NULL THEN 'rebalance_timeout'
      WHEN e.message LIKE 'Pending member%' THEN 'pending_timeout' ELSE 'session_timeout' END END AS expired_how,
    e.leader_member_id, e.reason, e.client_reason, e.member_count,
    -- Lines of a rebalance before Stabilized belong to the coming generation, those after it to the current one.
    count_if(e.event = 'group_stabilized') OVER (PARTITION BY e.process_id, c.kafka_cluster, e.group_id ORDER BY e.stream_pos
      ROWS UNBOUNDED PRECEDING) + CASE WHEN e.event IN ('rebalance_preparing', 'member_expired') THEN 1 ELSE 0 END AS phase
  FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.group_id IS NOT NULL
    AND e.event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'member_expired', 'group_died', 'group_emptied')
), line_of_generation AS (
  -- Each rebalance adds one to the generation. A rebalance prepared from another old generation led to a generation whose Stabilized line is missing.
  -- A rebalance ends with the process of its coordinator.
  SELECT *, event = 'rebalance_preparing' AND coalesce(old_generation + 1 = coming AND instance = coming_instance, true) AS is_preparation,
    event = 'assignment_from_leader' AND coalesce(generation = coming, true) AS is_assignment,
    event = 'member_expired' AND coalesce(stream_pos > max(CASE WHEN event = 'rebalance_preparing' AND old_generation + 1 <> coming
      THEN stream_pos END) OVER (PARTITION BY process_id, kafka_cluster, group_id, phase), true) AS is_removal
  FROM (
    SELECT *, max(CASE WHEN event = 'group_stabilized' THEN generation END) OVER one AS coming,
      max(CASE WHEN event = 'group_stabilized' THEN instance END) OVER one AS coming_instance
    FROM group_line WINDOW one AS (PARTITION BY process_id, kafka_cluster, group_id, phase)
  )
), join_phase AS (
  SELECT kafka_cluster, process_id, group_id, phase, max(offsets_partition) AS offsets_partition,
    min_by(at_ms, stream_pos) FILTER (WHERE is_preparation) AS prepared_ms, min_by(event_id, stream_pos) FILTER (WHERE is_preparation) AS prepared_id,
    min_by(member_id, stream_pos) FILTER (WHERE is_preparation) AS prepared_member,
    min_by(reason, stream_pos) FILTER (WHERE is_preparation) AS reason,
    min_by(client_reason, stream_pos) FILTER (WHERE is_preparation) AS client_reason,
    min_by(old_generation, stream_pos) FILTER (WHERE is_preparation) AS old_generation,
    max(generation) FILTER (WHERE event = 'group_stabilized') AS generation, max(at_ms) FILTER (WHERE event = 'group_stabilized') AS stabilized_ms,
    max(event_id) FILTER (WHERE event = 'group_stabilized') AS stabilized_id, max(stream_pos) FILTER (WHERE event = 'group_stabilized') AS pos,
    max(member_count) FILTER (WHERE event = 'group_stabilized') AS stabilized_members,
    max(member_count) FILTER (WHERE is_assignment) AS assigned_members, min(at_ms) FILTER (WHERE is_assignment) AS assigned_ms,
    min_by(event_id, stream_pos) FILTER (WHERE is_assignment) AS assigned_id, max(leader_member_id) FILTER (WHERE is_assignment) AS leader_member_id,
    max_by(member_id, stream_pos) FILTER (WHERE is_removal) AS expired_member, max(at_ms) FILTER (WHERE is_removal) AS expired_ms,
    max_by(event_id, stream_pos) FILTER (WHERE is_removal) AS expired_id, max_by(expired_how, stream_pos) FILTER (WHERE is_removal) AS expired_how,
    -- These lines come after this generation and explain a new incarnation that follows.
    bool_or(event = 'group_emptied') AS emptied_after, bool_or(event = 'group_died') AS died_after
  FROM line_of_generation GROUP BY kafka_cluster, process_id, group_id, phase
), prepared_rebalance AS (
  SELECT l.kafka_cluster, l.process_id, l.group_id, l.offsets_partition, l.at_ms, l.event_id, l.member_id, l.reason, l.client_reason,
    l.old_generation, l.old_generation + 1 AS generation, l.stream_pos,
    lead(l.old_generation) OVER (PARTITION BY l.process_id, l.kafka_cluster, l.group_id ORDER BY l.stream_pos) AS next_generation
  FROM group_line l LEFT SEMI JOIN filtered_log f ON f.process_id = l.process_id
  WHERE l.event = 'rebalance_preparing' AND l.old_generation IS NOT NULL
), last_joined_generation AS (
  SELECT c.kafka_cluster, e.group_id, max(e.generation) AS generation FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.event IN ('joined', 'synced', 'worker_assigned') GROUP BY c.kafka_cluster, e.group_id
), reached_generation AS (
  SELECT * FROM join_phase
  WHERE generation IS NOT NULL
  UNION ALL
  SELECT p.kafka_cluster, p.process_id, p.group_id, CAST(NULL AS BIGINT) AS phase, p.offsets_partition, p.at_ms, p.event_id, p.member_id, p.reason,
    p.client_reason, p.old_generation, p.generation, NULL, NULL, p.stream_pos, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, false
  FROM prepared_rebalance p LEFT JOIN last_joined_generation j ON j.kafka_cluster = p.kafka_cluster AND j.group_id = p.group_id
  LEFT ANTI JOIN join_phase g ON g.kafka_cluster = p.kafka_cluster AND g.group_id = p.group_id AND g.generation = p.generation
  WHERE CASE WHEN p.next_generation IS NULL THEN j.generation = p.generation ELSE p.next_generation >= p.generation END
), broker_sequence AS (
  -- A clock that was set back must not change the order of a broker's lines.
  SELECT *, max(coalesce(stabilized_ms, prepared_ms)) OVER lines AS monotonic_ms, lag(generation) OVER its AS last_of_broker,
    lead(generation) OVER its AS next_of_broker
  FROM reached_generation
  WINDOW its AS (PARTITION BY kafka_cluster, group_id, process_id ORDER BY pos),
    lines AS (PARTITION BY kafka_cluster, group_id, process_id ORDER BY pos ROWS UNBOUNDED PRECEDING)
), successor_lag AS (
  -- For each successor of another broker's last generation: how far its own clock places it too early, if at all.
  SELECT b.kafka_cluster, b.group_id, b.process_id, b.pos,
    CASE WHEN min(a.monotonic_ms) > b.monotonic_ms THEN min(a.monotonic_ms) - b.monotonic_ms + 1 END AS behind_ms
  FROM broker_sequence b
  JOIN broker_sequence a ON a.kafka_cluster = b.kafka_cluster AND a.group_id = b.group_id AND a.process_id <> b.process_id
    AND a.generation = b.generation - 1 AND coalesce(a.next_of_broker <> b.generation, true)
  WHERE coalesce(b.last_of_broker <> b.generation - 1, true) AND coalesce(b.old_generation, b.generation - 1) = b.generation - 1
  GROUP BY b.kafka_cluster, b.group_id, b.process_id, b.pos, b.monotonic_ms
), aligned_generation AS (
  SELECT t.*, t.monotonic_ms + coalesce(l.behind_ms, 0L) AS order_ms FROM broker_sequence t
  LEFT JOIN (
    SELECT kafka_cluster, group_id, process_id, max(behind_ms) AS behind_ms FROM successor_lag GROUP BY kafka_cluster, group_id, process_id
  ) l ON l.kafka_cluster = t.kafka_cluster AND l.group_id = t.group_id AND l.process_id = t.process_id
), ordered_generation AS (
  SELECT *, last_generation IS NULL OR generation <= last_generation AS is_new_incarnation
  FROM (
    SELECT *, lag(generation) OVER time AS last_generation, lag(emptied_after) OVER time AS emptied_before, lag(died_after) OVER time AS died_before
    FROM aligned_generation WINDOW time AS (PARTITION BY kafka_cluster, group_id ORDER BY order_ms, process_id, pos)
  )
), numbered_incarnation AS (
  SELECT *, count_if(is_new_incarnation) OVER so_far AS incarnation, coalesce(start_why, lag(start_why) IGNORE NULLS OVER time) AS incarnation_why
  FROM (
    SELECT b.*,
      CASE WHEN is_new_incarnation THEN CASE WHEN last_generation IS NULL THEN CASE WHEN coalesce(old_generation, generation - 1) = 0 THEN 'first'
        ELSE 'unknown' END WHEN coalesce(old_generation, generation - 1) > 0 THEN 'ghost'
        WHEN died_before THEN CASE WHEN emptied_before THEN 'expired_empty' ELSE 'deleted' END WHEN f.process_id IS NOT NULL THEN 'unknown'
        ELSE 'metadata_lost' END END AS start_why
    FROM ordered_generation b LEFT JOIN filtered_log f ON f.process_id = b.process_id
  )
  WINDOW time AS (PARTITION BY kafka_cluster, group_id ORDER BY order_ms, process_id, pos),
    so_far AS (PARTITION BY kafka_cluster, group_id ORDER BY order_ms, process_id, pos ROWS UNBOUNDED PRECEDING)
), group_timer AS (
  -- Timeouts printed in any log of the case, and Kafka's defaults.
  SELECT max(session_ms) AS session_ms, collect_set(rebalance_ms) AS rebalance_ms
  FROM (
    SELECT try_cast(config['session.timeout.ms'] AS BIGINT) AS session_ms,
      try_cast(coalesce(config['rebalance.timeout.ms'], config['max.poll.interval.ms']) AS BIGINT) AS rebalance_ms
    FROM event WHERE event = 'config_dumped'
    UNION ALL
    SELECT session_timeout_ms, rebalance_timeout_ms FROM event WHERE session_timeout_ms IS NOT NULL
    UNION ALL
    SELECT least_consumer_session_ms, explode(array(usual_poll_ms, usual_worker_rebalance_ms))
  )
), silent_wait AS (
  SELECT DISTINCT l.kafka_cluster, l.group_id, l.incarnation, l.generation FROM numbered_incarnation l CROSS JOIN group_timer t
  JOIN (SELECT process_id, explode(gaps) AS quiet FROM range_row) q ON q.process_id = l.process_id
    AND unix_millis(q.quiet.from_ts) <= l.prepared_ms + heartbeat_late_ms AND unix_millis(q.quiet.to_ts) >= l.expired_ms - heartbeat_late_ms
  WHERE l.expired_ms - l.prepared_ms >= coordinator_silent_ms
    AND NOT CASE WHEN l.expired_how <> 'rebalance_timeout' THEN l.expired_ms - l.prepared_ms <= t.session_ms + heartbeat_late_ms
      ELSE exists(t.rebalance_ms, x -> abs(l.expired_ms - l.prepared_ms - x) <= heartbeat_late_ms) END
)
SELECT l.kafka_cluster, l.group_id, l.incarnation, l.incarnation_why, l.generation, l.process_id, l.offsets_partition, prepared_ms, prepared_id,
  prepared_member, reason, client_reason, stabilized_ms, stabilized_id, coalesce(stabilized_members, assigned_members) AS member_count, assigned_ms,
  assigned_id, leader_member_id, expired_member, expired_ms, expired_id, expired_how, s.generation IS NOT NULL AS is_silent,
  coalesce(old_generation = 0 OR emptied_before OR last_generation IS NULL AND l.generation = 1, false) AS from_empty
FROM numbered_incarnation l
LEFT JOIN silent_wait s ON s.kafka_cluster = l.kafka_cluster AND s.group_id = l.group_id AND s.incarnation = l.incarnation
  AND s.generation = l.generation

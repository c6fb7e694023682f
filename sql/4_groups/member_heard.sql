-- One row per member whose session expired at its coordinator: until when its process was certainly alive.
-- Reads: placed_event, member, member_setting, clock_bound, process_cluster
-- Grain: kafka_cluster, group_id, member_id
-- A session expires one session timeout after the member's last request. But the coordinator itself restarts the timer when a join phase ends, an
-- assignment arrives or the group is loaded. So the lines of the last generation must be in the log and be older than that request, and a later line
-- must show that no other generation came between. A paused broker removes members late: its last line that is certainly before the removal shows
-- that the session had not expired at that time. KIP-848 members, static members, and those removed for not joining in time are excluded.
CREATE OR REPLACE TEMPORARY VIEW member_heard (
  kafka_cluster, group_id, member_id,
  generation    COMMENT 'Generation in which the coordinator heard from it',
  process_id,
  broker        COMMENT 'Coordinator''s process',
  session_ms    COMMENT 'Its session timeout',
  heard_lo_ms   COMMENT 'It sent a request at this time or later, by the coordinator''s clock (milliseconds since 1970)',
  alive_ms      COMMENT 'Certainly alive at this time, by its own clock',
  removed_ms    COMMENT 'Removed, by the coordinator''s clock',
  removed_id COMMENT 'Its event',
  witness       COMMENT 'Proof: join phase over, assignment, coordinator not paused, removal, same generation, session timeout; then the clocks'
)
AS
WITH coordinator_line AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.group_id, e.member_id,
    e.generation, e.old_generation, e.message
  FROM placed_event e
  WHERE e.broker_id IS NOT NULL AND e.group_id IS NOT NULL AND e.ts IS NOT NULL
    AND e.event IN ('group_stabilized', 'assignment_from_leader', 'rebalance_preparing', 'group_loaded', 'group_unloaded', 'member_expired')
), session_removal AS (
  SELECT l.kafka_cluster, l.group_id, l.member_id, l.process_id AS broker, l.instance, l.stream_pos, l.at_ms, l.event_id, s.value_ms AS session_ms,
    s.event_id AS session_id, m.process_id, r.resolution_ms, l.at_ms + r.resolution_ms - s.value_ms AS due_ms
  FROM coordinator_line l JOIN member m ON m.kafka_cluster = l.kafka_cluster AND m.group_id = l.group_id AND m.member_id = l.member_id
  JOIN member_setting s ON s.kafka_cluster = l.kafka_cluster AND s.group_id = l.group_id AND s.member_id = l.member_id
  JOIN process_cluster r ON r.process_id = l.process_id AND r.is_last
  WHERE l.event = 'member_expired' AND l.message LIKE '%has failed, removing it from the group%'
    AND m.process_id IS NOT NULL AND m.group_instance_id IS NULL AND s.setting = 'session.timeout.ms' AND s.value_how IN ('config', 'broker')
), broker_moment AS (
  SELECT e.process_id, e.instance, unix_millis(e.ts) AS at_ms, 0 AS is_mark, e.stream_pos,
    named_struct('at_ms', unix_millis(e.ts), 'event_id', e.event_id) AS line, CAST(NULL AS STRING) AS removed_id
  FROM placed_event e
  LEFT SEMI JOIN (SELECT DISTINCT broker, instance FROM session_removal) r ON r.broker = e.process_id AND r.instance = e.instance
  WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT broker, instance, at_ms - heartbeat_late_ms, 1, stream_pos, CAST(NULL AS STRUCT<at_ms: BIGINT, event_id: STRING>), event_id
  FROM session_removal
), broker_activity AS (
  SELECT removed_id, line FROM (
  SELECT
  removed_id, is_mark, lag(line) IGNORE NULLS OVER (PARTITION BY process_id, instance ORDER BY at_ms, is_mark, stream_pos, removed_id) AS line
  FROM broker_moment
  )
  WHERE is_mark = 1 AND line IS NOT NULL
), generation_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, stream_pos, at_ms, 0 AS is_mark, CAST(NULL AS STRING) AS removed_id,
    named_struct('event', event, 'at_ms', at_ms, 'event_id', event_id, 'generation', generation, 'old_generation', old_generation,
      'stabilized', coalesce(stabilized, lag(stabilized) IGNORE NULLS
        OVER (PARTITION BY kafka_cluster, group_id, process_id, instance ORDER BY stream_pos))) AS line
  FROM (
    SELECT *, CASE WHEN event = 'group_stabilized' THEN struct(generation, event_id) END AS stabilized
    FROM coordinator_line WHERE event <> 'member_expired'
  )
), generation_moment AS (
  SELECT kafka_cluster, group_id, process_id, instance, stream_pos, at_ms, is_mark, removed_id, line FROM generation_line
  UNION ALL
  SELECT kafka_cluster, group_id, broker, instance, stream_pos, due_ms, 1, event_id, NULL FROM session_removal
), surrounding_line AS (
  -- The group's last line before the request, and the first one after it.
  SELECT removed_id, is_mark,
    lag(line) IGNORE NULLS OVER (PARTITION BY kafka_cluster, group_id, process_id, instance ORDER BY at_ms, is_mark, stream_pos, removed_id)
      AS assigned,
    lag(line) IGNORE NULLS OVER (PARTITION BY kafka_cluster, group_id, process_id, instance
      ORDER BY -at_ms, -is_mark, -stream_pos, removed_id) AS still
  FROM generation_moment
), last_request AS (
  SELECT r.*, a.line AS awake, s.assigned, s.still, a.line.at_ms - r.session_ms - heartbeat_late_ms AS heard_ms
  FROM session_removal r JOIN broker_activity a ON a.removed_id = r.event_id
  JOIN surrounding_line s ON s.removed_id = r.event_id AND s.is_mark = 1
), valid_request AS (
  SELECT * FROM last_request
  WHERE assigned.event = 'assignment_from_leader' AND assigned.stabilized.generation = assigned.generation
    AND assigned.at_ms + resolution_ms < heard_ms
    AND (still.event = 'rebalance_preparing' AND still.old_generation = assigned.generation
      OR still.event = 'group_stabilized' AND still.generation = assigned.generation + 1)
), latest_request AS (
  SELECT p.kafka_cluster, p.group_id, p.member_id, max(struct(
    p.heard_ms, p.event_id, p.assigned.generation AS generation, p.process_id, p.broker, p.session_ms, p.at_ms, p.heard_ms - c.hi_ms AS alive_ms,
    array(p.assigned.stabilized.event_id, p.assigned.event_id, p.awake.event_id, p.event_id, p.still.event_id, p.session_id) || c.witness AS witness
  )) AS best
  FROM valid_request p JOIN clock_bound c ON c.from_process_id = p.process_id AND c.to_process_id = p.broker AND c.hi_ms IS NOT NULL
  GROUP BY p.kafka_cluster, p.group_id, p.member_id
)
SELECT kafka_cluster, group_id, member_id, best.generation, best.process_id, best.broker, best.session_ms, best.heard_ms AS heard_lo_ms,
  best.alive_ms, best.at_ms AS removed_ms, best.event_id AS removed_id, best.witness
FROM latest_request

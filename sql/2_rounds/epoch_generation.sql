-- One row per epoch of a group whose broker assigns partitions (KIP-848), in the log of its coordinator.
-- Reads: placed_event, broker_generation
-- Grain: kafka_cluster, group_id, incarnation, generation
-- There is no join phase: the epoch rises after a change, the coordinator computes a target assignment, and members move towards it one by one. If a
-- member leaves or is removed, most releases print neither that the epoch rises nor its number; the next assignment does. A classic group with
-- members that is converted continues its count. An empty one starts again at 1, as another incarnation of the group.
CREATE OR REPLACE TEMPORARY VIEW epoch_generation (
  kafka_cluster, group_id, incarnation,
  incarnation_why COMMENT 'Why this incarnation began',
  generation      COMMENT 'Group epoch',
  process_id      COMMENT 'Broker',
  bumped_ms       COMMENT 'When the epoch rose (milliseconds since 1970); if no line reports it, when the member left whose departure raised it, else
    when the assignment was computed',
  bumped_id COMMENT 'Its event',
  computed_ms     COMMENT 'The target assignment was computed',
  computed_id COMMENT 'Its event',
  assignor        COMMENT 'Assignor, if printed',
  member_count    COMMENT 'Number of members, counted from joins and leaves since the log began',
  cause           COMMENT 'What happened to a member since the previous epoch: member_joined, member_left, member_expired',
  cause_member    COMMENT 'That member'
)
AS
WITH group_line AS (
  SELECT
    e.kafka_cluster, e.process_id, e.group_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.generation, e.protocol, e.member_id
  FROM placed_event e
  WHERE e.group_id IS NOT NULL AND e.broker_id IS NOT NULL
    AND e.event IN ('group_epoch_bumped', 'target_assignment_computed', 'member_joined', 'member_left', 'member_expired')
), epoch_group AS (
  -- Members of classic groups leave and expire too, but such groups have no epochs.
  SELECT DISTINCT group_id FROM group_line WHERE event IN ('group_epoch_bumped', 'target_assignment_computed')
), line_with_rise AS (
  SELECT l.*, event = 'group_epoch_bumped' OR event = 'target_assignment_computed'
    AND coalesce(generation > max(generation) OVER (PARTITION BY process_id, kafka_cluster, l.group_id ORDER BY stream_pos
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true) AS is_rise
  FROM group_line l LEFT SEMI JOIN epoch_group s ON s.group_id = l.group_id
), line_with_phase AS (
  -- A member's change is logged before the rise that it causes, the assignment after it.
  SELECT *, count_if(is_rise) OVER w + CASE WHEN event IN ('member_joined', 'member_left', 'member_expired') THEN 1 ELSE 0 END AS phase,
    count_if(event = 'member_joined') OVER w - count_if(event = 'member_left') OVER w - count_if(event = 'member_expired') OVER w AS members
  FROM line_with_rise
  WINDOW w AS (PARTITION BY process_id, kafka_cluster, group_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), epoch_phase AS (
  SELECT kafka_cluster, process_id, group_id, phase, max(generation) FILTER (WHERE is_rise) AS generation,
    coalesce(min(at_ms) FILTER (WHERE event = 'group_epoch_bumped'),
      max_by(at_ms, stream_pos) FILTER (WHERE event IN ('member_left', 'member_expired')), min(at_ms) FILTER (WHERE is_rise)) AS bumped_ms,
    coalesce(max(event_id) FILTER (WHERE event = 'group_epoch_bumped'), max_by(event_id, stream_pos)
      FILTER (WHERE event IN ('member_left', 'member_expired')), max(event_id) FILTER (WHERE is_rise)) AS bumped_id,
    max(stream_pos) FILTER (WHERE is_rise) AS pos, max_by(members, stream_pos) FILTER (WHERE is_rise) AS members,
    min(at_ms) FILTER (WHERE event = 'target_assignment_computed') AS computed_ms,
    min_by(event_id, stream_pos) FILTER (WHERE event = 'target_assignment_computed') AS computed_id,
    max(protocol) FILTER (WHERE event = 'target_assignment_computed') AS assignor,
    max_by(event, stream_pos) FILTER (WHERE event LIKE 'member\\_%') AS cause,
    max_by(member_id, stream_pos) FILTER (WHERE event LIKE 'member\\_%') AS cause_member
  FROM line_with_phase GROUP BY kafka_cluster, process_id, group_id, phase
), broker_sequence AS (
  -- A clock that was set back must not change the order of a broker's lines.
  SELECT *, max(bumped_ms) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY pos ROWS UNBOUNDED PRECEDING) AS monotonic_ms
  FROM epoch_phase WHERE generation IS NOT NULL
), ordered_epoch AS (
  SELECT *, coalesce(generation <= lag(generation) OVER w, true) AS is_new_incarnation, lag(generation) OVER w IS NULL AS is_first
  FROM broker_sequence
  WINDOW w AS (PARTITION BY kafka_cluster, group_id ORDER BY monotonic_ms, process_id, pos)
), classic_incarnation AS (
  SELECT kafka_cluster, group_id, max(incarnation) AS lives, min_by(incarnation_why, struct(incarnation, generation)) AS why,
    collect_set(generation) AS generations
  FROM broker_generation GROUP BY kafka_cluster, group_id
), epoch_with_offset AS (
  -- An epoch and a classic generation with the same number belong to two incarnations.
  SELECT o.*, c.why, CASE WHEN bool_or(array_contains(c.generations, o.generation)) OVER (PARTITION BY o.kafka_cluster, o.group_id)
    THEN c.lives ELSE 0 END AS lives
  FROM ordered_epoch o LEFT JOIN classic_incarnation c ON c.kafka_cluster = o.kafka_cluster AND c.group_id = o.group_id
)
SELECT kafka_cluster, group_id, count_if(is_new_incarnation) OVER so_far + lives AS incarnation,
  coalesce(start_why, lag(start_why) IGNORE NULLS OVER time) AS incarnation_why, generation, process_id, bumped_ms, bumped_id, computed_ms,
  computed_id, assignor, CASE WHEN members > 0 THEN members END AS member_count, cause, cause_member
FROM (
  SELECT *, CASE WHEN is_new_incarnation THEN CASE WHEN NOT is_first THEN 'metadata_lost' WHEN lives > 0
    THEN 'converted' WHEN why IS NOT NULL THEN why
    WHEN generation = 1 THEN 'first' ELSE 'unknown' END END AS start_why
  FROM epoch_with_offset
)
WINDOW time AS (PARTITION BY kafka_cluster, group_id ORDER BY monotonic_ms, process_id, pos),
  so_far AS (PARTITION BY kafka_cluster, group_id ORDER BY monotonic_ms, process_id, pos ROWS UNBOUNDED PRECEDING)

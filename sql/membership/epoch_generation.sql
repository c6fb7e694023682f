-- One row per epoch of a group that the broker assigns (KIP-848), as its coordinator's log tells it.
-- Reads: event, process_cluster, broker_generation
-- Grain: kafka_cluster, group_id, incarnation, generation
-- There is no join phase: the epoch rises when something changed, a target assignment is computed, and members move towards it one by one.
-- When a member leaves or is removed, most releases print neither that the epoch rises nor to which number; the next assignment does.
-- A classic group with members that is converted goes on counting; an empty one begins again at 1: that is another life of the group.
CREATE OR REPLACE TEMPORARY VIEW epoch_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  incarnation   COMMENT 'Which life of the group',
  incarnation_why COMMENT 'Why this life began',
  generation    COMMENT 'Group epoch',
  process_id    COMMENT 'Broker',
  bumped_ms     COMMENT 'The epoch rose (milliseconds since 1970); where no line says so, when the member left that raised it, else when
    the assignment was computed',
  bumped_id     COMMENT 'Its event',
  computed_ms   COMMENT 'The target assignment was computed',
  computed_id   COMMENT 'Its event',
  assignor      COMMENT 'Assignor, where printed',
  member_count  COMMENT 'Members, counted from joins and leaves since the log began',
  cause         COMMENT 'What happened to a member since the epoch before: member_joined, member_left, member_expired',
  cause_member  COMMENT 'That member'
)
COMMENT 'One row per epoch of a group that the broker assigns (KIP-848), as its coordinator''s log tells it.'
AS
WITH line AS (
  SELECT c.kafka_cluster, e.process_id, e.group_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.generation,
    e.protocol, e.member_id
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.group_id IS NOT NULL AND e.broker_id IS NOT NULL
    AND e.event IN ('group_epoch_bumped', 'target_assignment_computed', 'member_joined', 'member_left', 'member_expired')
), served AS (
  -- Members of classic groups leave and expire, too: such groups have no epochs.
  SELECT DISTINCT group_id FROM line WHERE event IN ('group_epoch_bumped', 'target_assignment_computed')
), risen AS (
  SELECT l.*, event = 'group_epoch_bumped' OR event = 'target_assignment_computed'
    AND coalesce(generation > max(generation) OVER (PARTITION BY process_id, kafka_cluster, l.group_id ORDER BY stream_pos
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), true) AS is_rise
  FROM line l LEFT SEMI JOIN served s ON s.group_id = l.group_id
), phased AS (
  -- What happened to a member comes in front of the rise that it causes; the assignment comes behind it.
  SELECT *, count_if(is_rise) OVER w
    + CASE WHEN event IN ('member_joined', 'member_left', 'member_expired') THEN 1 ELSE 0 END AS phase,
    count_if(event = 'member_joined') OVER w - count_if(event = 'member_left') OVER w - count_if(event = 'member_expired') OVER w AS members
  FROM risen
  WINDOW w AS (PARTITION BY process_id, kafka_cluster, group_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), phase AS (
  SELECT
    kafka_cluster, process_id, group_id, phase,
    max(generation) FILTER (WHERE is_rise) AS generation,
    coalesce(min(at_ms) FILTER (WHERE event = 'group_epoch_bumped'),
      max_by(at_ms, stream_pos) FILTER (WHERE event IN ('member_left', 'member_expired')), min(at_ms) FILTER (WHERE is_rise)) AS bumped_ms,
    coalesce(max(event_id) FILTER (WHERE event = 'group_epoch_bumped'),
      max_by(event_id, stream_pos) FILTER (WHERE event IN ('member_left', 'member_expired')), max(event_id) FILTER (WHERE is_rise))
      AS bumped_id,
    max(stream_pos) FILTER (WHERE is_rise) AS pos,
    max_by(members, stream_pos) FILTER (WHERE is_rise) AS members,
    min(at_ms) FILTER (WHERE event = 'target_assignment_computed') AS computed_ms,
    min_by(event_id, stream_pos) FILTER (WHERE event = 'target_assignment_computed') AS computed_id,
    max(protocol) FILTER (WHERE event = 'target_assignment_computed') AS assignor,
    max_by(event, stream_pos) FILTER (WHERE event LIKE 'member\\_%') AS cause,
    max_by(member_id, stream_pos) FILTER (WHERE event LIKE 'member\\_%') AS cause_member
  FROM phased
  GROUP BY kafka_cluster, process_id, group_id, phase
), told AS (
  -- A clock that was set back does not put a broker's lines in another order.
  SELECT *, max(bumped_ms) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY pos ROWS UNBOUNDED PRECEDING) AS told_ms
  FROM phase WHERE generation IS NOT NULL
), ordered AS (
  SELECT *, coalesce(generation <= lag(generation) OVER w, true) AS begins, lag(generation) OVER w IS NULL AS is_first
  FROM told
  WINDOW w AS (PARTITION BY kafka_cluster, group_id ORDER BY told_ms, process_id, pos)
), classic AS (
  SELECT kafka_cluster, group_id, max(incarnation) AS lives, min_by(incarnation_why, struct(incarnation, generation)) AS why,
    collect_set(generation) AS generations
  FROM broker_generation
  GROUP BY kafka_cluster, group_id
), numbered AS (
  -- What an epoch and a classic generation have as their number belongs to two lives.
  SELECT o.*, c.why, CASE WHEN bool_or(array_contains(c.generations, o.generation)) OVER (PARTITION BY o.kafka_cluster, o.group_id)
    THEN c.lives ELSE 0 END AS lives
  FROM ordered o
  LEFT JOIN classic c ON c.kafka_cluster = o.kafka_cluster AND c.group_id = o.group_id
)
SELECT
  kafka_cluster, group_id, count_if(begins) OVER so_far + lives AS incarnation,
  coalesce(begun_why, lag(begun_why) IGNORE NULLS OVER time) AS incarnation_why,
  generation, process_id, bumped_ms, bumped_id, computed_ms, computed_id, assignor, CASE WHEN members > 0 THEN members END AS member_count,
    cause, cause_member
FROM (
  SELECT *, CASE WHEN begins THEN CASE WHEN NOT is_first THEN 'metadata_lost' WHEN lives > 0 THEN 'converted' WHEN why IS NOT NULL THEN why
    WHEN generation = 1 THEN 'first' ELSE 'unknown' END END AS begun_why
  FROM numbered
)
WINDOW
  time AS (PARTITION BY kafka_cluster, group_id ORDER BY told_ms, process_id, pos),
  so_far AS (PARTITION BY kafka_cluster, group_id ORDER BY told_ms, process_id, pos ROWS UNBOUNDED PRECEDING)

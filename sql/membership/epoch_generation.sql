-- One row per epoch of a group that the broker assigns (KIP-848), as its coordinator's log tells it.
-- Reads: event, process_cluster
-- Grain: kafka_cluster, group_id, incarnation, generation
-- There is no join phase: the epoch rises when something changed, a target assignment is computed, and members move towards it one by one.
CREATE OR REPLACE TEMPORARY VIEW epoch_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  incarnation   COMMENT 'Which life of the group',
  incarnation_why COMMENT 'Why this life began',
  generation    COMMENT 'Group epoch',
  process_id    COMMENT 'Broker',
  bumped_ms     COMMENT 'The epoch rose (milliseconds since 1970)',
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
), classic AS (
  SELECT DISTINCT group_id FROM event WHERE event = 'group_epoch_bumped'
), phased AS (
  -- What happened to a member comes in front of the rise that it causes; the assignment comes behind it.
  SELECT l.*, count_if(event = 'group_epoch_bumped') OVER w
    + CASE WHEN event IN ('member_joined', 'member_left', 'member_expired') THEN 1 ELSE 0 END AS phase,
    count_if(event = 'member_joined') OVER w - count_if(event = 'member_left') OVER w - count_if(event = 'member_expired') OVER w AS members
  FROM line l LEFT SEMI JOIN classic c ON c.group_id = l.group_id
  WINDOW w AS (PARTITION BY process_id, kafka_cluster, l.group_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), phase AS (
  SELECT
    kafka_cluster, process_id, group_id, phase,
    max(generation) FILTER (WHERE event = 'group_epoch_bumped') AS generation,
    min(at_ms) FILTER (WHERE event = 'group_epoch_bumped') AS bumped_ms,
    max(event_id) FILTER (WHERE event = 'group_epoch_bumped') AS bumped_id,
    max(stream_pos) FILTER (WHERE event = 'group_epoch_bumped') AS pos,
    max_by(members, stream_pos) FILTER (WHERE event = 'group_epoch_bumped') AS members,
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
)
SELECT
  kafka_cluster, group_id, count_if(begins) OVER so_far AS incarnation,
  coalesce(begun_why, lag(begun_why) IGNORE NULLS OVER time) AS incarnation_why,
  generation, process_id, bumped_ms, bumped_id, computed_ms, computed_id, assignor, CASE WHEN members > 0 THEN members END AS member_count,
    cause, cause_member
FROM (
  SELECT *, CASE WHEN begins THEN CASE WHEN NOT is_first THEN 'metadata_lost' WHEN generation = 1 THEN 'first' ELSE 'unknown' END END
    AS begun_why
  FROM ordered
)
WINDOW
  time AS (PARTITION BY kafka_cluster, group_id ORDER BY told_ms, process_id, pos),
  so_far AS (PARTITION BY kafka_cluster, group_id ORDER BY told_ms, process_id, pos ROWS UNBOUNDED PRECEDING)

-- One row per pair of log lines, one of a member and one of its coordinator, in which one must have happened before the other (KIP-848).
-- Reads: epoch_member, epoch_generation, event, process_cluster
-- Grain: rule, first, later
-- The group epoch rises after a member asked to join and before any member reaches it. A member receives the unknown-member error after it
-- was fenced. A member reports that it leaves before the coordinator reports that it left.
CREATE OR REPLACE TEMPORARY VIEW epoch_edge (
  rule          COMMENT 'Why the first line is earlier',
  f             COMMENT 'Process that printed the earlier line',
  first         COMMENT 'Earlier line: time, event',
  t             COMMENT 'Process that printed the later line',
  later         COMMENT 'Later line: time, event'
)
COMMENT 'One row per pair of log lines, one of a member and one of its coordinator, in which one must have happened before the other
    (KIP-848).'
AS
WITH epoch_pair AS (
  SELECT m.process_id, m.joining, m.reached, m.settled, m.member_id, g.process_id AS broker, g.cause, g.cause_member,
    struct(g.bumped_ms AS at_ms, g.bumped_id AS event_id) AS bumped
  FROM epoch_member m
  JOIN epoch_generation g ON g.kafka_cluster = m.kafka_cluster AND g.group_id = m.group_id AND g.incarnation = m.incarnation
    AND g.generation = m.generation
  WHERE m.process_id IS NOT NULL
), membership_loss AS (
  -- A member id lasts from the first join until its client closes, and the n-th loss in one log need not be the n-th in the other. Only ids
  -- that were fenced, or that left, exactly once in both logs are matched.
  SELECT c.kafka_cluster, e.group_id, e.member_id, e.broker_id IS NOT NULL AS is_broker, e.process_id,
    CASE WHEN e.event IN ('leaving', 'member_left') THEN 'left' ELSE 'fenced' END AS what,
    min(struct(unix_millis(e.ts) AS at_ms, e.event_id)) AS line, count(*) AS times
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.member_id IS NOT NULL AND (
    e.broker_id IS NOT NULL AND e.event IN ('member_left', 'member_expired', 'member_fenced_by_broker')
    OR e.event = 'member_fenced' AND e.cause RLIKE '(?i)unknown|fenced'
    OR e.event = 'leaving' AND e.state_to = 'LEAVING')
  GROUP BY c.kafka_cluster, e.group_id, e.member_id, e.broker_id IS NOT NULL, e.process_id,
    CASE WHEN e.event IN ('leaving', 'member_left') THEN 'left' ELSE 'fenced' END
)
SELECT 'the epoch rose, then a member had it' AS rule, broker AS f, bumped AS first, process_id AS t, reached AS later
FROM epoch_pair
UNION ALL
SELECT 'a member asked to join, then the epoch rose for it' AS rule, process_id AS f, joining AS first, broker AS t, bumped AS later
FROM epoch_pair
WHERE joining IS NOT NULL AND cause = 'member_joined' AND cause_member = member_id
UNION ALL
SELECT 'the member left, then the broker said so' AS rule, m.process_id AS f, m.line AS first, b.process_id AS t, b.line AS later
FROM membership_loss m JOIN membership_loss b ON b.kafka_cluster = m.kafka_cluster AND b.group_id = m.group_id
  AND b.member_id = m.member_id AND b.what = m.what
WHERE m.what = 'left' AND NOT m.is_broker AND b.is_broker AND m.times = 1 AND b.times = 1
UNION ALL
SELECT 'the broker removed the member, then the member was notified' AS rule, b.process_id AS f, b.line AS first, m.process_id AS t,
  m.line AS later
FROM membership_loss m JOIN membership_loss b ON b.kafka_cluster = m.kafka_cluster AND b.group_id = m.group_id
  AND b.member_id = m.member_id AND b.what = m.what
WHERE m.what = 'fenced' AND NOT m.is_broker AND b.is_broker AND m.times = 1 AND b.times = 1

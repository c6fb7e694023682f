-- One row per pair of log lines of two processes of which one must have happened before the other.
-- Reads: join_round, round_generation, broker_generation, event_row, process_cluster
-- Grain: rule, from_event_id, to_event_id
-- Every message is sent before it is received, and inside one process lines are in order. So a clock that shows `to` less than another
-- shows `from` is behind it by at least the difference. Only a member's first join of a generation counts.
CREATE OR REPLACE TEMPORARY VIEW clock_edge (
  rule            COMMENT 'Why the one came first',
  from_process_id COMMENT 'Process that printed the earlier line',
  from_event_id   COMMENT 'Earlier line',
  from_ts         COMMENT 'Its time, by its own clock',
  to_process_id   COMMENT 'Process that printed the later line',
  to_event_id     COMMENT 'Later line',
  to_ts           COMMENT 'Its time, by its own clock',
  hi_ms           COMMENT 'The later process''s clock is ahead of the earlier one''s by at most this'
)
COMMENT 'One row per pair of log lines of two processes of which one must have happened before the other.'
AS
WITH member AS (
  SELECT r.*, g.incarnation, g.broker_process_id
  FROM join_round r JOIN round_generation g USING (kafka_cluster, group_id, process_id, client, round)
), coordinated AS (
  SELECT
    m.*,
    b.process_id AS broker, b.prepared_ts, b.prepared_id, b.prepared_member, b.reason AS prepared_reason,
    b.stabilized_ts, b.stabilized_id, b.assigned_ts, b.assigned_id, b.leader_member_id AS broker_leader
  FROM member m
  JOIN broker_generation b
    ON b.kafka_cluster = m.kafka_cluster AND b.group_id = m.group_id AND b.incarnation = m.incarnation AND b.generation = m.generation
), left_group AS (
  SELECT c.kafka_cluster, e.process_id, e.group_id, e.member_id, e.ts, e.event_id, e.event, e.resolution_ms
  FROM event_row e JOIN process_cluster c USING (process_id)
  WHERE e.member_id IS NOT NULL AND (
    e.event IN ('leaving', 'member_left', 'member_added', 'member_expired')
    OR e.event = 'heartbeat_failed' AND coalesce(e.error, e.cause, e.reason) LIKE '%UNKNOWN\\_MEMBER\\_ID%'
  )
), edge AS (
  SELECT 'asked to join, then the join phase ended' AS rule, process_id AS f, joining_last_id AS fe, joining_last_ts AS ft,
    broker AS t, stabilized_id AS te, stabilized_ts AS tt, resolution_ms FROM coordinated
  UNION ALL
  SELECT 'the join phase ended, then the member joined', broker, stabilized_id, stabilized_ts,
    process_id, coalesce(joined_id, synced_id), coalesce(joined_ts, synced_ts), resolution_ms FROM coordinated
  UNION ALL
  SELECT 'the assignment arrived, then the member synced', broker, assigned_id, assigned_ts, process_id, synced_id, synced_ts, resolution_ms FROM coordinated
  UNION ALL
  -- Only from 2.6.1 on is a line printed between the leader's join and its assignment.
  SELECT 'the leader made the assignment, then it arrived', process_id, coalesce(computed_id, joined_id), coalesce(computed_ts, joined_ts),
    broker, assigned_id, assigned_ts, resolution_ms
  FROM coordinated WHERE is_leader OR member_id = broker_leader
  UNION ALL
  SELECT 'a member asked to join, then the rebalance that names it began', process_id, joining_first_id, joining_first_ts,
    broker, prepared_id, prepared_ts, resolution_ms
  FROM coordinated WHERE member_id = prepared_member AND prepared_reason NOT RLIKE '(?i)remov|expir|leave'
  UNION ALL
  -- A new member asks twice: only the second request carries the id that the broker gave, and that the reason names.
  SELECT 'a new member asked with its id, then the rebalance that names it began', process_id, joining_second_id, joining_second_ts,
    broker, prepared_id, prepared_ts, resolution_ms
  FROM coordinated
  WHERE member_id = prepared_member AND prepared_reason RLIKE '(?i)^adding new member' AND joining_count >= 2
    AND EXISTS (SELECT 1 FROM left_group a WHERE a.event = 'member_added' AND a.member_id = coordinated.member_id)
  UNION ALL
  SELECT 'the rebalance began, then the member learnt of it', broker, prepared_id, prepared_ts, process_id, rejoin_id, rejoin_ts, resolution_ms
  FROM coordinated
  UNION ALL
  SELECT 'the member asked, then the broker made its id', m.process_id, m.joining_first_id, m.joining_first_ts, a.process_id, a.event_id, a.ts, a.resolution_ms
  FROM member m JOIN left_group a ON a.event = 'member_added' AND a.member_id = m.member_id AND a.kafka_cluster = m.kafka_cluster
  UNION ALL
  SELECT 'the member left, then the broker said so', l.process_id, l.event_id, l.ts, b.process_id, b.event_id, b.ts, b.resolution_ms
  FROM left_group l JOIN left_group b ON l.event = 'leaving' AND b.event = 'member_left' AND b.member_id = l.member_id AND b.kafka_cluster = l.kafka_cluster
  UNION ALL
  SELECT 'the broker removed the member, then the member was told', b.process_id, b.event_id, b.ts, m.process_id, m.event_id, m.ts, m.resolution_ms
  FROM left_group b JOIN left_group m ON b.event = 'member_expired' AND m.event = 'heartbeat_failed' AND b.member_id = m.member_id
    AND b.kafka_cluster = m.kafka_cluster
  UNION ALL
  -- Without a coordinator's log: nobody joins a generation before everybody asked. Through the leader, so that the edges of a
  -- generation grow with its members and not with their square.
  SELECT 'one member asked to join, then another joined', f.process_id, f.joining_last_id, f.joining_last_ts,
    t.process_id, coalesce(t.joined_id, t.synced_id), coalesce(t.joined_ts, t.synced_ts), t.resolution_ms
  FROM member f JOIN member t ON f.kafka_cluster = t.kafka_cluster AND f.group_id = t.group_id AND f.incarnation = t.incarnation AND f.generation = t.generation
  WHERE f.process_id <> t.process_id AND f.broker_process_id IS NULL AND (f.is_leader OR t.is_leader)
  UNION ALL
  SELECT 'the leader joined, then the other synced', f.process_id, coalesce(f.computed_id, f.joined_id), coalesce(f.computed_ts, f.joined_ts),
    t.process_id, t.synced_id, t.synced_ts, t.resolution_ms
  FROM member f JOIN member t ON f.kafka_cluster = t.kafka_cluster AND f.group_id = t.group_id AND f.incarnation = t.incarnation AND f.generation = t.generation
  WHERE f.process_id <> t.process_id AND f.broker_process_id IS NULL AND f.is_leader
)
SELECT
  rule, f, fe, ft, t, te, tt,
  -- Printed times are cut to the layout's resolution, so the later one may be later by nearly that much.
  unix_millis(tt) - unix_millis(ft) + coalesce(resolution_ms, 1)
FROM edge
WHERE ft IS NOT NULL AND tt IS NOT NULL AND f <> t

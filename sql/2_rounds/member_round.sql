-- One row per join round of a member, with the lines of its coordinator about the same generation.
-- Reads: join_round, round_generation, broker_generation, event_row
-- Grain: process_id, group_id, client, round
CREATE OR REPLACE TEMPORARY VIEW member_round (
  kafka_cluster     COMMENT 'Kafka cluster',
  group_id          COMMENT 'Group',
  incarnation       COMMENT 'Incarnation of the group''s metadata',
  generation        COMMENT 'Generation',
  process_id        COMMENT 'Process',
  client            COMMENT 'Client inside the process',
  round             COMMENT 'Round of the client',
  member_id         COMMENT 'Member id',
  is_leader         COMMENT 'True for the leader, according to either side',
  is_entry          COMMENT 'True for the round in which the member got its id',
  is_fresh          COMMENT 'True if its join request was certainly before the end of the join phase; this can be unknown for a static
    member that returns to a stable group, or in a log that begins in the middle',
  resolution_ms     COMMENT 'Resolution of the printed times',
  joining_count     COMMENT 'How many times (Re-)joining was printed before it joined',
  joining_first     COMMENT 'First (Re-)joining: time, event',
  joining_second    COMMENT 'Second (Re-)joining: time, event',
  joining_last      COMMENT 'The last (Re-)joining, which was answered: time, event',
  rejoin            COMMENT 'When it learned that the group was rebalancing: time, event',
  joined            COMMENT 'Joined; up to 2.6.0 the sync also counts as the join: time, event',
  computed          COMMENT 'Leader: last line before it sends the assignment (2.6.1 and later): time, event',
  synced            COMMENT 'Synced: time, event',
  broker            COMMENT 'Broker whose log has the generation; NULL: none',
  prepared          COMMENT 'Broker: preparing: time, event',
  prepared_member   COMMENT 'Broker: member named in the reason',
  prepared_reason   COMMENT 'Broker: reason, verbatim',
  stabilized        COMMENT 'Broker: the join phase is over: time, event',
  assigned          COMMENT 'Broker: the assignment arrived: time, event',
  made              COMMENT 'Broker: the member''s id was created: time, event, broker, whether the member has to ask again with it, the
    next generation'
)
COMMENT 'One row per join round of a member, with the lines of its coordinator about the same generation.'
AS
WITH created_id AS (
  SELECT member_id, min_by(named_struct('at_ms', unix_millis(ts), 'event_id', event_id, 'process_id', process_id,
    'must_rejoin', message LIKE '%request the member to rejoin%', 'generation', next_generation), ts) AS made
  FROM (
    SELECT *, lag(CASE WHEN event = 'group_stabilized' THEN generation END) IGNORE NULLS
      OVER (PARTITION BY process_id, group_id ORDER BY -stream_pos) AS next_generation
    FROM event_row
    WHERE event IN ('member_added', 'group_stabilized')
  )
  WHERE event = 'member_added' AND member_id IS NOT NULL
  GROUP BY member_id
)
SELECT
  r.kafka_cluster, r.group_id, g.incarnation, r.generation, r.process_id, r.client, r.round, r.member_id,
  r.is_leader OR coalesce(r.member_id = b.leader_member_id, false) AS is_leader,
  -- The first logged round of an id is its entry only if no other generation came between.
  r.round = min(r.round) OVER (PARTITION BY r.process_id, r.client, r.member_id)
    AND coalesce(m.made.generation = r.generation, false) AS is_entry,
  -- A member that revokes its partitions and then asks to join asks for the first time.
  r.group_instance_id IS NULL AND (r.round > 1 OR r.is_found OR coalesce(r.taken_ms <= r.joining_first_ms, false)) AS is_fresh,
  r.resolution_ms,
  r.joining_count,
  struct(r.joining_first_ms AS at_ms, r.joining_first_id AS event_id) AS joining_first,
  struct(r.joining_second_ms AS at_ms, r.joining_second_id AS event_id) AS joining_second,
  struct(r.joining_last_ms AS at_ms, r.joining_last_id AS event_id) AS joining_last,
  struct(r.rejoin_ms AS at_ms, r.rejoin_id AS event_id) AS rejoin,
  struct(coalesce(r.joined_ms, r.synced_ms) AS at_ms, coalesce(r.joined_id, r.synced_id) AS event_id) AS joined,
  struct(coalesce(r.computed_ms, r.joined_ms) AS at_ms, coalesce(r.computed_id, r.joined_id) AS event_id) AS computed,
  struct(r.synced_ms AS at_ms, r.synced_id AS event_id) AS synced,
  b.process_id AS broker,
  struct(b.prepared_ms AS at_ms, b.prepared_id AS event_id) AS prepared,
  b.prepared_member,
  b.reason AS prepared_reason,
  struct(b.stabilized_ms AS at_ms, b.stabilized_id AS event_id) AS stabilized,
  struct(b.assigned_ms AS at_ms, b.assigned_id AS event_id) AS assigned,
  m.made
FROM join_round r
JOIN round_generation g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.process_id = r.process_id
  AND g.client = r.client AND g.round = r.round
LEFT JOIN broker_generation b
  ON b.kafka_cluster = r.kafka_cluster AND b.group_id = r.group_id AND b.incarnation = g.incarnation AND b.generation = r.generation
LEFT JOIN created_id m ON m.member_id = r.member_id

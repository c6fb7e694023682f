-- One row per pair of log lines of two processes where one must have happened before the other.
-- Reads: member_round, epoch_member, epoch_generation, placed_event, client_event, filtered_log, process_cluster
-- Grain: rule, from_event_id, to_event_id
-- Public: yes
-- Every message is sent before it is received, and inside one process lines are in order. So if a clock shows an earlier `to` than another clock
-- shows `from`, it is behind by at least the difference. Only a member's first join of a generation counts. If the lines of a process
-- are not in the order in which they were printed, it is unknown which of them belong together.
CREATE OR REPLACE TEMPORARY VIEW clock_edge (
  rule            COMMENT 'Why the earlier line came first',
  from_process_id COMMENT 'Process that printed the earlier line',
  from_event_id   COMMENT 'Earlier line',
  from_ts         COMMENT 'Its time, by its own clock',
  to_process_id   COMMENT 'Process that printed the later line',
  to_event_id     COMMENT 'Later line',
  to_ts           COMMENT 'Its time, by its own clock',
  hi_ms           COMMENT 'Most by which the clock of the later line''s process is ahead of the earlier line''s, milliseconds'
)
AS
WITH membership_end AS (
  -- A KIP-848 member id lasts until its client closes, and the n-th loss in one log need not be the n-th in the other. Only lines that appear once in
  -- their log are matched.
  SELECT e.kafka_cluster, e.member_id, e.process_id, e.event, CASE WHEN e.event IN ('leaving', 'member_left') THEN 'left' ELSE 'removed' END AS what,
    e.event IN ('member_left', 'member_expired', 'member_fenced_by_broker') AS is_broker, min(struct(unix_millis(e.ts) AS at_ms, e.event_id)) AS line
  FROM placed_event e
  WHERE e.member_id IS NOT NULL AND (
    e.event IN ('leaving', 'member_left', 'member_expired', 'member_fenced_by_broker')
    OR e.event = 'heartbeat_failed' AND coalesce(e.error, e.cause, e.reason) RLIKE 'UNKNOWN_MEMBER_ID|member id ([^ ]+ )?is not valid'
    OR e.event = 'rejoin_requested' AND e.reason LIKE 'The coordinator is not aware of this member%'
    OR e.event = 'member_fenced' AND e.cause RLIKE '(?i)unknown|fenced')
  GROUP BY e.kafka_cluster, e.member_id, e.process_id, e.event, e.state_to
  HAVING count(*) = 1
), id_response AS (
  -- A new member's first request is answered with the id that the broker made; it asks again with that id. If it joined, its round has it.
  SELECT c.process_id, c.group_id, c.member_id, c.at_ms, c.event_id, c.asked, c.asked_again
  FROM (
    SELECT process_id, group_id, member_id, at_ms, event_id, event, reason,
      lag(CASE WHEN event = 'joining' THEN struct(at_ms, event_id) END) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos) AS asked,
      lag(CASE WHEN event = 'joining' THEN struct(at_ms, event_id) END) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -stream_pos) AS asked_again
    FROM client_event WHERE event IN ('joining', 'rejoin_requested')
  ) c
  LEFT ANTI JOIN (SELECT DISTINCT member_id FROM member_round) m ON m.member_id = c.member_id
  WHERE c.event = 'rejoin_requested' AND c.member_id IS NOT NULL AND c.reason LIKE 'need to re-join with the given member-id%'
), kafkajs_entry AS (
  -- kafkajs prints no generation. Its first member of a group asks after the consumer is started, and has its id when it prints it.
  SELECT process_id, group_id, asked, min_by(member_id, stream_pos) AS member_id, min(struct(stream_pos, at_ms, event_id)) AS received
  FROM (
    SELECT *, min(CASE WHEN event = 'client_made' THEN struct(stream_pos, at_ms, event_id) END)
      OVER (PARTITION BY process_id, instance, group_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS asked
    FROM client_event WHERE event IN ('client_made', 'synced') AND instance = 0
  )
  WHERE event = 'synced' AND member_id IS NOT NULL AND generation IS NULL AND asked IS NOT NULL
  GROUP BY process_id, group_id, asked
), coordinator_mention AS (
  -- Its coordinator's lines about such a member.
  SELECT process_id, group_id, member_id, min(CASE WHEN event = 'member_added' THEN struct(unix_millis(ts) AS at_ms, event_id) END) AS made,
    min(CASE WHEN event = 'rebalance_preparing' THEN struct(unix_millis(ts) AS at_ms, event_id) END) AS prepared
  FROM placed_event
  WHERE member_id IS NOT NULL AND broker_id IS NOT NULL
    AND (event = 'member_added' OR event = 'rebalance_preparing' AND reason RLIKE '(?i)^adding new member')
  GROUP BY process_id, group_id, member_id
), static_line AS (
  SELECT process_id, member_id, old_member_id, event, struct(unix_millis(ts) AS at_ms, event_id) AS line,
    lag(CASE WHEN event IN ('static_member_replaced', 'member_added') THEN struct(event, old_member_id, unix_millis(ts) AS at_ms, event_id)
      END) IGNORE NULLS OVER (PARTITION BY process_id, instance, group_instance_id ORDER BY stream_pos) AS last
  FROM placed_event
  WHERE broker_id IS NOT NULL AND group_instance_id IS NOT NULL AND event IN ('static_member_replaced', 'member_added', 'member_fenced_by_broker')
), replaced_static_member AS (
  -- A static member that comes back gets a new id instead of the old one. Up to 2.8 its coordinator names it then; later ones name it when they
  -- refuse a request with the old id and no other member has replaced it since.
  SELECT process_id, member_id, min(made) AS made
  FROM (
    SELECT process_id, member_id, line AS made FROM static_line WHERE event = 'static_member_replaced'
    UNION ALL
    SELECT process_id, member_id, struct(last.at_ms AS at_ms, last.event_id AS event_id) FROM static_line
    WHERE event = 'member_fenced_by_broker' AND last.event = 'static_member_replaced' AND last.old_member_id = old_member_id
  )
  WHERE member_id IS NOT NULL GROUP BY process_id, member_id
), producer_line AS (
  SELECT e.kafka_cluster, e.process_id, e.transactional_id, e.producer_id, e.epoch, e.event, struct(unix_millis(e.ts) AS at_ms, e.event_id) AS line,
    lag(CASE WHEN e.event = 'producer_initializing' THEN struct(unix_millis(e.ts) AS at_ms, e.event_id) END) IGNORE NULLS
      OVER (PARTITION BY e.process_id, e.instance, e.client_id, e.transactional_id ORDER BY e.stream_pos) AS asked
  FROM placed_event e
  WHERE e.event IN ('producer_initializing', 'producer_id_set', 'transactional_id_initialized') AND e.transactional_id IS NOT NULL
), round_edge AS (
  -- Between a member and its coordinator, in one generation.
  SELECT e.rule, e.f, e.first, e.t, e.later FROM member_round m
  LATERAL VIEW inline(array(
  CASE WHEN is_fresh THEN
    named_struct('rule', 'asked to join, then the join phase ended', 'f', process_id, 'first', joining_last, 't', broker, 'later', stabilized) END,
  named_struct('rule', 'the join phase ended, then the member joined', 'f', broker, 'first', stabilized, 't', process_id, 'later', joined),
  named_struct('rule', 'the assignment arrived, then the member synced', 'f', broker, 'first', assigned, 't', process_id, 'later', synced),
  named_struct('rule', 'the rebalance began, then the member learnt of it', 'f', broker, 'first', prepared, 't', process_id, 'later', rejoin),
  -- Only from 2.6.1 on is a line printed between the leader's join and its assignment. A leader that prints the assignment of a generation sends
  -- it: no member had synced before. A leader that asks again once its assignment has arrived gets a later generation, unless it is static.
  CASE WHEN is_leader AND (is_fresh OR NOT coalesce(is_static, true) OR computed.event_id <> joined.event_id) THEN
    named_struct('rule', 'the leader made the assignment, then it arrived', 'f', process_id, 'first', computed, 't', broker, 'later', assigned) END,
  CASE WHEN member_id = prepared_member AND prepared_reason NOT RLIKE '(?i)remov|expir|leave' THEN
    named_struct('rule', 'a member asked to join, then the rebalance that names it began', 'f', process_id, 'first', joining_first, 't',
      broker, 'later', prepared) END,
  -- A new member asks twice: only the second request has the id that the broker gave, which the reason names.
  CASE WHEN is_entry AND member_id = prepared_member AND prepared_reason RLIKE '(?i)^adding new member' AND joining_count >= 2
    AND made.must_rejoin THEN
    named_struct('rule', 'a new member asked with its id, then the rebalance that names it began', 'f', process_id, 'first',
      joining_second, 't', broker, 'later', prepared) END,
  -- If a member that has to ask twice has a single request, it may be the second.
  CASE WHEN is_entry AND (joining_count >= 2 OR NOT made.must_rejoin) THEN
    named_struct('rule', 'the member asked, then the broker made its id', 'f', process_id, 'first', joining_first,
      't', made.process_id, 'later', struct(made.at_ms AS at_ms, made.event_id AS event_id)) END,
  CASE WHEN is_entry AND joining_count >= 2 AND asks_with_id AND made.must_rejoin THEN
    named_struct('rule', 'the broker assigned an id, then the member asked with it', 'f', made.process_id,
      'first', struct(made.at_ms AS at_ms, made.event_id AS event_id), 't', process_id, 'later', joining_last) END
  )) e AS rule, f, first, t, later
), pair_bound AS (
  SELECT f, t, min(later.at_ms - first.at_ms) AS hi_ms FROM round_edge WHERE later.at_ms IS NOT NULL AND first.at_ms IS NOT NULL GROUP BY f, t
), stepped_process AS (
  -- A process without a constant offset to most of the processes with which it exchanges messages: its clock stepped.
  SELECT a.f AS process_id FROM pair_bound a
  JOIN pair_bound b ON b.f = a.t AND b.t = a.f
  GROUP BY a.f
  HAVING 2 * count_if(a.hi_ms + b.hi_ms < -clock_jitter_ms) > count(*)
), any_edge AS (
  SELECT rule, f, first, t, later FROM round_edge
  UNION ALL
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT m.what, m.process_id, m.line, b.process_id AS broker, b.line AS broker_line FROM membership_end m
    JOIN membership_end b ON b.kafka_cluster = m.kafka_cluster AND b.member_id = m.member_id AND b.what = m.what AND b.is_broker AND NOT m.is_broker
  )
  LATERAL VIEW inline(array(CASE WHEN what = 'left' THEN named_struct('rule', 'the member left, then the broker said so', 'f', process_id, 'first',
      line, 't', broker, 'later', broker_line) END, CASE WHEN what = 'removed' THEN named_struct('rule',
      'the broker removed the member, then the member was notified', 'f', broker, 'first', broker_line, 't', process_id, 'later',
      line) END)) e AS rule, f, first, t, later
  UNION ALL
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT t.process_id, struct(t.at_ms, t.event_id) AS received, t.asked, t.asked_again, n.process_id AS broker, n.made, n.prepared
    FROM id_response t JOIN coordinator_mention n ON n.group_id = t.group_id AND n.member_id = t.member_id
  )
  LATERAL VIEW inline(array(named_struct('rule', 'the member asked, then the broker made its id', 'f', process_id, 'first', asked, 't', broker,
      'later', made), named_struct('rule', 'the broker assigned an id, then the member received it', 'f', broker, 'first', made, 't', process_id,
      'later', received), named_struct('rule', 'a new member asked with its id, then the rebalance that names it began', 'f', process_id, 'first',
      asked_again, 't', broker, 'later', prepared))) e AS rule, f, first, t, later
  UNION ALL
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT k.process_id, struct(k.asked.at_ms AS at_ms, k.asked.event_id AS event_id) AS asked,
      struct(k.received.at_ms AS at_ms, k.received.event_id AS event_id) AS received, n.process_id AS broker, n.made
    FROM kafkajs_entry k JOIN coordinator_mention n ON n.group_id = k.group_id AND n.member_id = k.member_id
  )
  LATERAL VIEW inline(array(named_struct('rule', 'the member asked, then the broker made its id', 'f', process_id, 'first', asked, 't', broker,
      'later', made), named_struct('rule', 'the broker assigned an id, then the member received it', 'f', broker, 'first', made, 't', process_id,
      'later', received))) e AS rule, f, first, t, later
  UNION ALL
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT m.process_id, m.joining_first, m.joined, r.process_id AS broker, r.made
    FROM (SELECT *, min(round) OVER (PARTITION BY process_id, client, member_id) AS first_round FROM member_round) m
    JOIN replaced_static_member r ON r.member_id = m.member_id
    WHERE m.round = m.first_round
  )
  LATERAL VIEW inline(array(named_struct('rule', 'the member asked, then the broker made its id', 'f', process_id, 'first', joining_first, 't',
      broker, 'later', made), named_struct('rule', 'the broker assigned an id, then the member received it', 'f', broker, 'first', made, 't',
      process_id, 'later', joined))) e AS rule, f, first, t, later
  UNION ALL
  -- The group epoch rises after a member asked to join and before any member reaches it (KIP-848).
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT m.process_id, m.joining, m.reached, m.member_id, g.process_id AS broker, g.cause, g.cause_member,
      struct(g.bumped_ms AS at_ms, g.bumped_id AS event_id) AS bumped
    FROM epoch_member m
    JOIN epoch_generation g ON g.kafka_cluster = m.kafka_cluster AND g.group_id = m.group_id AND g.incarnation = m.incarnation
      AND g.generation = m.generation
    WHERE m.process_id IS NOT NULL
  )
  LATERAL VIEW inline(array(named_struct('rule', 'the epoch rose, then a member had it', 'f', broker, 'first', bumped, 't', process_id, 'later',
      reached), CASE WHEN cause = 'member_joined' AND cause_member = member_id THEN named_struct('rule',
      'a member asked to join, then the epoch rose for it', 'f', process_id, 'first', joining, 't', broker, 'later', bumped) END)) e AS rule, f,
      first, t, later
  UNION ALL
  -- A transactional producer and its coordinator. Each epoch is given once.
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT p.process_id, p.line AS received, p.asked, b.process_id AS broker, b.line AS given
    FROM producer_line p JOIN producer_line b ON b.event = 'transactional_id_initialized' AND b.kafka_cluster = p.kafka_cluster
      AND b.transactional_id = p.transactional_id AND b.producer_id = p.producer_id AND b.epoch = p.epoch
    WHERE p.event = 'producer_id_set'
  )
  LATERAL VIEW inline(array(named_struct('rule', 'a producer asked for an epoch, then the coordinator gave it', 'f', process_id, 'first', asked, 't',
      broker, 'later', given), named_struct('rule', 'the coordinator gave an epoch, then the producer received it', 'f', broker, 'first', given, 't',
      process_id, 'later', received))) e AS rule, f, first, t, later
  UNION ALL
  -- Without a coordinator's log, or with one whose clock is wrong: no member joins a generation before all have asked. Through the leader, so that
  -- the edges of a generation grow with its members and not with their square.
  SELECT e.rule, e.f, e.first, e.t, e.later
  FROM (
    SELECT l.process_id AS leader, l.joining_last AS leader_joining, l.joined AS leader_joined, l.computed AS leader_computed, o.process_id AS other,
      o.joining_last, o.joined, o.synced, l.is_fresh AS leader_fresh, o.is_fresh, l.computed.event_id <> l.joined.event_id AS is_made
    FROM member_round l JOIN member_round o
      ON l.kafka_cluster = o.kafka_cluster AND l.group_id = o.group_id AND l.incarnation = o.incarnation AND l.generation = o.generation
    LEFT JOIN stepped_process d ON d.process_id = l.broker
    WHERE l.is_leader AND (l.stabilized.at_ms IS NULL OR d.process_id IS NOT NULL) AND l.process_id <> o.process_id
  )
  LATERAL VIEW inline(array(CASE WHEN leader_fresh THEN named_struct('rule', 'one member asked to join, then another joined', 'f', leader, 'first',
      leader_joining, 't', other, 'later', joined) END, CASE WHEN is_fresh THEN named_struct('rule', 'one member asked to join, then another joined',
      'f', other, 'first', joining_last, 't', leader, 'later', leader_joined) END,
      CASE WHEN leader_fresh OR is_made THEN named_struct('rule', 'the leader joined, then the other synced', 'f', leader, 'first', leader_computed,
      't', other, 'later', synced) END)) e AS rule, f, first, t, later
)
SELECT DISTINCT rule, f AS from_process_id, first.event_id AS from_event_id, timestamp_millis(first.at_ms) AS from_ts, t AS to_process_id,
  later.event_id AS to_event_id, timestamp_millis(later.at_ms) AS to_ts,
  -- Printed times are truncated to the layout's resolution, so the later one may be later by nearly that much.
  later.at_ms - first.at_ms + r.resolution_ms AS hi_ms
FROM any_edge JOIN process_cluster r ON r.process_id = t AND r.is_last
LEFT ANTI JOIN filtered_log u ON u.why = 'unordered' AND (u.process_id = f OR u.process_id = t)
WHERE first.at_ms IS NOT NULL AND later.at_ms IS NOT NULL AND f <> t

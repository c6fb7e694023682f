-- One row per join round of a member: the group incarnation of its generation, and the lines of its coordinator about that generation.
-- Reads: join_round, broker_generation, event_row
-- Grain: process_id, group_id, client, round
-- Numbers and member ids match an incarnation that a process saw with one in the coordinator's log; times decide if several match. If there are only
-- members' logs, the process that saw most incarnations counts them for all. Member ids do not outlive the group's metadata, so incarnations in which
-- both processes name the same member are the same one. If a coordinator repeats a number (a ghost), two incarnations have it; the nearer in time is
-- chosen.
CREATE OR REPLACE TEMPORARY VIEW member_round (
  kafka_cluster, group_id,
  incarnation     COMMENT 'Incarnation of the group''s metadata; 0 and below: before the first one in the coordinator''s log',
  generation, process_id, client,
  round COMMENT 'Round of the client',
  member_id,
  is_leader       COMMENT 'True for the leader, according to either side',
  is_entry        COMMENT 'True for the round in which the member got its id',
  is_fresh        COMMENT 'True if its join request was certainly before the end of the join phase; this can be unknown for a static member that
    returns to a stable group, or in a log that begins in the middle',
  is_static       COMMENT 'True for a static member',
  joining_count   COMMENT 'How many times (Re-)joining was printed before it joined',
  asks_with_id    COMMENT 'True if its client also prints the request with which a new member returns with its id, not only the first one',
  joining_first   COMMENT 'First (Re-)joining: time, event',
  joining_second COMMENT 'Second (Re-)joining: time, event',
  joining_last    COMMENT 'The last (Re-)joining, which was answered: time, event',
  rejoin          COMMENT 'When it learned that the group was rebalancing: time, event',
  joined          COMMENT 'Joined; up to 2.6.0 the sync also counts as the join: time, event',
  computed        COMMENT 'Leader: last line before it sends the assignment (2.6.1 and later): time, event',
  synced          COMMENT 'Synced: time, event',
  broker          COMMENT 'Broker whose log has the generation; NULL: none',
  prepared        COMMENT 'Broker: preparing: time, event',
  prepared_member COMMENT 'Broker: member named in the reason',
  prepared_reason COMMENT 'Broker: reason, verbatim',
  stabilized      COMMENT 'Broker: the join phase is over: time, event',
  assigned        COMMENT 'Broker: the assignment arrived: time, event',
  made            COMMENT 'Broker: the member''s id was created: time, event, broker, if the member must ask again, next generation'
)
AS
WITH named_round AS (
  SELECT kafka_cluster, group_id, process_id, client, round, generation, from_pos, member_id, roster, incarnations_seen AS seen,
    coalesce(joined_ms, synced_ms, worker_assigned_ms) AS at_ms,
    filter(concat(array(member_id, leader_member_id), coalesce(roster, array())), m -> m IS NOT NULL) AS names
  FROM join_round
), counting_process AS (
  -- `reference`: the process that saw most incarnations begin.
  SELECT *, max_by(struct(process_id, begun_ms), struct(size(begun_ms), rounds, process_id)) OVER (PARTITION BY kafka_cluster, group_id) AS reference
  FROM (
    SELECT kafka_cluster, group_id, process_id, count(*) AS rounds, sort_array(collect_list(CASE WHEN seen > last_seen THEN at_ms END)) AS begun_ms
    FROM (SELECT *, lag(seen) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos) AS last_seen FROM named_round)
    GROUP BY kafka_cluster, group_id, process_id
  )
), named_member AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id, seen, explode(names) AS name FROM named_round
), count_offset AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, mode(t.seen - o.seen, true) AS ahead FROM named_member o
  JOIN counting_process p ON p.kafka_cluster = o.kafka_cluster AND p.group_id = o.group_id AND p.process_id = o.process_id
  JOIN named_member t ON t.kafka_cluster = o.kafka_cluster AND t.group_id = o.group_id AND t.process_id = p.reference.process_id AND t.name = o.name
  GROUP BY o.kafka_cluster, o.group_id, o.process_id
), coordinator_generation AS (
  -- A ghost repeats a number without a loss of metadata: the previous incarnation continues, the `history` is the same.
  SELECT *, dense_rank() OVER (PARTITION BY kafka_cluster, group_id ORDER BY first_incarnation) AS history
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, coalesce(stabilized_ms, prepared_ms) AS at_ms, leader_member_id, prepared_member,
      max(CASE WHEN incarnation_why <> 'ghost' OR incarnation = 1 THEN incarnation END)
        OVER (PARTITION BY kafka_cluster, group_id ORDER BY incarnation) AS first_incarnation
    FROM broker_generation
  )
), match_candidate AS (
  SELECT s.kafka_cluster, s.group_id, s.process_id, s.seen, b.history,
    struct(count_if(array_contains(s.names, b.leader_member_id) OR array_contains(s.names, b.prepared_member)) AS named,
      count(DISTINCT s.generation) AS met, -avg(abs(s.at_ms - b.at_ms)) AS near) AS score
  FROM named_round s
  JOIN coordinator_generation b ON b.kafka_cluster = s.kafka_cluster AND b.group_id = s.group_id AND b.generation = s.generation
  GROUP BY s.kafka_cluster, s.group_id, s.process_id, s.seen, b.history
), process_match AS (
  -- Two incarnations that one process saw cannot be the same one.
  SELECT kafka_cluster, group_id, process_id, sort_array(collect_list(struct(seen, history))) AS matches
  FROM (
    SELECT kafka_cluster, group_id, process_id, history, max_by(seen, struct(score, seen)) AS seen
    FROM (
      SELECT kafka_cluster, group_id, process_id, seen, max_by(history, struct(score, history)) AS history, max(score) AS score
      FROM match_candidate GROUP BY kafka_cluster, group_id, process_id, seen
    )
    GROUP BY kafka_cluster, group_id, process_id, history
  )
  GROUP BY kafka_cluster, group_id, process_id
), leader_comparison AS (
  -- A member that is missing from the leader's list for that number was in another incarnation; a member that is in it was in the leader's.
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.seen, l.process_id AS leader_process, l.seen AS leader_seen,
    bool_or(array_contains(l.roster, r.member_id)) AS is_listed, min(l.at_ms) AS leader_ms
  FROM named_round r
  JOIN named_round l ON l.kafka_cluster = r.kafka_cluster AND l.group_id = r.group_id AND l.generation = r.generation AND l.process_id <> r.process_id
  LEFT ANTI JOIN count_offset k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id
  WHERE l.roster IS NOT NULL AND r.member_id IS NOT NULL GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.seen, l.process_id, l.seen
), absent_process AS (
  SELECT kafka_cluster, group_id, process_id, seen, min(leader_ms) AS other_ms FROM leader_comparison
  GROUP BY kafka_cluster, group_id, process_id, seen
  HAVING NOT bool_or(is_listed)
), separate_process AS (
  SELECT * FROM absent_process
  UNION ALL
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.seen, min(s.other_ms) FROM leader_comparison r
  JOIN absent_process s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.process_id = r.leader_process
    AND s.seen = r.leader_seen
  WHERE r.is_listed GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.seen
), round_history AS (
  SELECT s.kafka_cluster, s.group_id, s.process_id, s.client, s.round, s.generation, s.at_ms, c.matches IS NOT NULL AS is_matched,
    CASE
      WHEN c.matches IS NOT NULL THEN
        -- An incarnation that no coordinator logged is counted from the nearest logged one.
        coalesce(get(filter(c.matches, x -> x.seen = s.seen), 0).history,
          array_min(transform(c.matches, x -> struct(abs(x.seen - s.seen) AS far, x.history + s.seen - x.seen AS history))).history)
      WHEN k.ahead IS NOT NULL THEN 1 + s.seen + k.ahead
      WHEN a.other_ms IS NOT NULL THEN CASE WHEN s.at_ms < a.other_ms THEN 0 ELSE size(p.reference.begun_ms) + 2 END
      WHEN max(s.seen) OVER (PARTITION BY s.kafka_cluster, s.group_id, s.process_id) = size(p.reference.begun_ms) THEN 1 + s.seen
      ELSE 1 + size(filter(p.reference.begun_ms, t -> t <= s.at_ms))
    END AS history
  FROM named_round s
  JOIN counting_process p ON p.kafka_cluster = s.kafka_cluster AND p.group_id = s.group_id AND p.process_id = s.process_id
  LEFT JOIN count_offset k ON k.kafka_cluster = s.kafka_cluster AND k.group_id = s.group_id AND k.process_id = s.process_id
  LEFT JOIN process_match c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.process_id = s.process_id
  LEFT JOIN separate_process a ON a.kafka_cluster = s.kafka_cluster AND a.group_id = s.group_id AND a.process_id = s.process_id AND a.seen = s.seen
), group_history AS (
  SELECT kafka_cluster, group_id, sort_array(collect_list(struct(history, from_generation, incarnation))) AS begun,
    max(history) AS last_history, max(incarnation) AS last_incarnation
  FROM (
    SELECT kafka_cluster, group_id, history, incarnation, min(generation) AS from_generation
    FROM coordinator_generation GROUP BY kafka_cluster, group_id, history, incarnation
  )
  GROUP BY kafka_cluster, group_id
), round_incarnation AS (
  SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round,
    CASE WHEN NOT p.is_matched THEN p.history
      WHEN n.logged IS NOT NULL THEN array_min(transform(n.logged, x -> struct(abs(p.at_ms - x.at_ms) AS far, x.incarnation))).incarnation
      -- The coordinator's log does not have it: the last incarnation that had begun by this number.
      WHEN exists(h.begun, x -> x.history = p.history) THEN coalesce(
        array_max(filter(h.begun, x -> x.history = p.history AND x.from_generation <= p.generation)),
        array_min(filter(h.begun, x -> x.history = p.history))).incarnation
      WHEN p.history < 1 THEN p.history
      ELSE h.last_incarnation + p.history - h.last_history END AS incarnation
  FROM round_history p
  LEFT JOIN (
    SELECT kafka_cluster, group_id, history, generation, collect_list(struct(at_ms, incarnation)) AS logged FROM coordinator_generation
    GROUP BY kafka_cluster, group_id, history, generation
  ) n ON n.kafka_cluster = p.kafka_cluster AND n.group_id = p.group_id AND n.history = p.history AND n.generation = p.generation
  LEFT JOIN group_history h ON h.kafka_cluster = p.kafka_cluster AND h.group_id = p.group_id
), created_id AS (
  SELECT member_id, min_by(named_struct('at_ms', unix_millis(ts), 'event_id', event_id, 'process_id', process_id,
    'must_rejoin', message LIKE '%request the member to rejoin%', 'generation', next_generation), ts) AS made
  FROM (
    SELECT *, lag(CASE WHEN event = 'group_stabilized' THEN generation END) IGNORE NULLS
      OVER (PARTITION BY process_id, group_id ORDER BY -stream_pos) AS next_generation
    FROM event_row WHERE event IN ('member_added', 'group_stabilized')
  )
  WHERE event = 'member_added' AND member_id IS NOT NULL GROUP BY member_id
)
SELECT r.kafka_cluster, r.group_id, g.incarnation, r.generation, r.process_id, r.client, r.round, r.member_id,
  r.is_leader OR coalesce(r.member_id = b.leader_member_id, false) AS is_leader,
  -- The first logged round of an id is its entry only if no other generation came between.
  r.round = min(r.round) OVER (PARTITION BY r.process_id, r.client, r.member_id) AND coalesce(m.made.generation = r.generation, false) AS is_entry,
  -- A member that revokes its partitions and then asks to join asks for the first time.
  -- Without the coordinator's log it is unknown whether a member of another library is static, unless it keeps its id.
  coalesce(r.group_instance_id, t.group_instance_id) IS NULL AND (r.client_id IS NOT NULL OR b.process_id IS NOT NULL
    OR coalesce(r.member_id = lag(r.member_id) OVER (PARTITION BY r.process_id, r.group_id, r.client ORDER BY r.round), false))
    AND (r.round > 1 OR r.is_found OR coalesce(r.taken_ms <= r.joining_first_ms, false)) AS is_fresh,
  coalesce(r.group_instance_id, t.group_instance_id) IS NOT NULL AS is_static,
  r.joining_count, r.client_id IS NOT NULL AS asks_with_id, struct(r.joining_first_ms AS at_ms, r.joining_first_id AS event_id) AS joining_first,
  struct(r.joining_second_ms AS at_ms, r.joining_second_id AS event_id) AS joining_second,
  struct(r.joining_last_ms AS at_ms, r.joining_last_id AS event_id) AS joining_last, struct(r.rejoin_ms AS at_ms, r.rejoin_id AS event_id) AS rejoin,
  struct(coalesce(r.joined_ms, r.synced_ms) AS at_ms, coalesce(r.joined_id, r.synced_id) AS event_id) AS joined,
  struct(coalesce(r.computed_ms, r.joined_ms) AS at_ms, coalesce(r.computed_id, r.joined_id) AS event_id) AS computed,
  struct(r.synced_ms AS at_ms, r.synced_id AS event_id) AS synced, b.process_id AS broker,
  struct(b.prepared_ms AS at_ms, b.prepared_id AS event_id) AS prepared, b.prepared_member, b.reason AS prepared_reason,
  struct(b.stabilized_ms AS at_ms, b.stabilized_id AS event_id) AS stabilized, struct(b.assigned_ms AS at_ms, b.assigned_id AS event_id) AS assigned,
  m.made
FROM join_round r
JOIN round_incarnation g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.process_id = r.process_id
  AND g.client = r.client AND g.round = r.round
LEFT JOIN broker_generation b
  ON b.kafka_cluster = r.kafka_cluster AND b.group_id = r.group_id AND b.incarnation = g.incarnation AND b.generation = r.generation
LEFT JOIN created_id m ON m.member_id = r.member_id
-- Only Java's client prints that it is static. A coordinator names the group.instance.id, with which the id of a static member begins.
LEFT JOIN (
  SELECT DISTINCT group_id, group_instance_id FROM event_row WHERE broker_id IS NOT NULL AND group_instance_id IS NOT NULL AND group_id IS NOT NULL
) t ON t.group_id = r.group_id AND t.group_instance_id = left(r.member_id, length(r.member_id) - 37)

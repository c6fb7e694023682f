-- One row per join round: the group incarnation of its generation.
-- Reads: round_life, life_count, broker_generation
-- Grain: process_id, group_id, client, round
-- If a coordinator repeats a number, two incarnations have it; the nearer in time is chosen.
CREATE OR REPLACE TEMPORARY VIEW round_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  incarnation   COMMENT 'Incarnation of the group''s metadata; 0 and below: before the first one in the coordinator''s log',
  broker_process_id COMMENT 'Broker whose log has this generation; NULL: none'
)
COMMENT 'One row per join round: the group incarnation of its generation.'
AS
WITH coordinator_life AS (
  -- One row per generation in a coordinator's log, with the incarnation of its group.
  -- A ghost repeats a number without a loss of metadata: the previous incarnation continues.
  SELECT
    kafka_cluster, group_id, incarnation, generation, process_id,
    stabilized_ms,
    leader_member_id, prepared_member,
    dense_rank() OVER (PARTITION BY kafka_cluster, group_id ORDER BY whole) AS whole_life
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, process_id, coalesce(stabilized_ms, prepared_ms) AS stabilized_ms,
      leader_member_id, prepared_member,
      max(CASE WHEN incarnation_why <> 'ghost' OR incarnation = 1 THEN incarnation END)
        OVER (PARTITION BY kafka_cluster, group_id ORDER BY incarnation) AS whole
    FROM broker_generation
  )
), match_candidate AS (
  SELECT
    s.kafka_cluster, s.group_id, s.process_id, s.life, b.whole_life,
    struct(
      count_if(array_contains(s.names, b.leader_member_id) OR array_contains(s.names, b.prepared_member)) AS named,
      count(DISTINCT s.generation) AS met,
      -avg(abs(s.at_ms - b.stabilized_ms)) AS near
    ) AS score
  FROM round_life s
  JOIN coordinator_life b ON b.kafka_cluster = s.kafka_cluster AND b.group_id = s.group_id AND b.generation = s.generation
  GROUP BY s.kafka_cluster, s.group_id, s.process_id, s.life, b.whole_life
), best_match AS (
  -- Two incarnations that one process saw cannot be the same one.
  SELECT kafka_cluster, group_id, process_id, whole_life, max_by(life, struct(score, life)) AS life
  FROM (
    SELECT kafka_cluster, group_id, process_id, life, max_by(whole_life, struct(score, whole_life)) AS whole_life, max(score) AS score
    FROM match_candidate
    GROUP BY kafka_cluster, group_id, process_id, life
  )
  GROUP BY kafka_cluster, group_id, process_id, whole_life
), process_matches AS (
  SELECT kafka_cluster, group_id, process_id, sort_array(collect_list(struct(life, whole_life))) AS claims
  FROM best_match
  GROUP BY kafka_cluster, group_id, process_id
), leader_comparison AS (
  -- A member that is missing from the leader's list for that number was in another incarnation; a member that is in it was in the leader's.
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.life, l.process_id AS leader_process, l.life AS leader_life,
    bool_or(array_contains(l.roster, r.member_id)) AS is_listed, min(l.at_ms) AS leader_ms
  FROM round_life r
  JOIN round_life l ON l.kafka_cluster = r.kafka_cluster AND l.group_id = r.group_id AND l.generation = r.generation
    AND l.process_id <> r.process_id
  JOIN life_count k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id
  WHERE l.roster IS NOT NULL AND r.member_id IS NOT NULL AND k.ahead IS NULL
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.life, l.process_id, l.life
), absent_process AS (
  SELECT kafka_cluster, group_id, process_id, life, min(leader_ms) AS other_ms
  FROM leader_comparison
  GROUP BY kafka_cluster, group_id, process_id, life
  HAVING NOT bool_or(is_listed)
), separate_process AS (
  SELECT * FROM absent_process
  UNION ALL
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.life, min(s.other_ms)
  FROM leader_comparison r
  JOIN absent_process s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.process_id = r.leader_process
    AND s.life = r.leader_life
  WHERE r.is_listed
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.life
), round_whole_life AS (
  -- One row per join round: its incarnation of the group, without the ghosts of a coordinator. Numbers and member ids match an incarnation
  -- that a process saw with one in the coordinator's log; times decide if several match. If there are only members' logs, the process that
  -- saw most incarnations provides the count for all, and life_count links the others to it.
  SELECT
    s.kafka_cluster, s.group_id, s.process_id, s.client, s.round, s.generation, s.at_ms,
    c.claims IS NOT NULL AS is_claimed,
    CASE
      WHEN c.claims IS NOT NULL THEN
        -- An incarnation that no coordinator logged is counted from the nearest logged one.
        coalesce(get(filter(c.claims, x -> x.life = s.life), 0).whole_life,
          array_min(transform(c.claims, x -> struct(abs(x.life - s.life) AS far, x.whole_life + s.life - x.life AS whole_life))).whole_life)
      WHEN k.ahead IS NOT NULL THEN 1 + s.life + k.ahead
      WHEN a.other_ms IS NOT NULL THEN CASE WHEN s.at_ms < a.other_ms THEN 0 ELSE size(k.falls) + 2 END
      WHEN max(s.life) OVER (PARTITION BY s.kafka_cluster, s.group_id, s.process_id) = size(k.falls) THEN 1 + s.life
      ELSE 1 + size(filter(k.falls, t -> t <= s.at_ms))
    END AS whole_life
  FROM round_life s
  LEFT JOIN process_matches c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.process_id = s.process_id
  JOIN life_count k ON k.kafka_cluster = s.kafka_cluster AND k.group_id = s.group_id AND k.process_id = s.process_id
  LEFT JOIN separate_process a ON a.kafka_cluster = s.kafka_cluster AND a.group_id = s.group_id AND a.process_id = s.process_id
    AND a.life = s.life
), coordinator_match AS (
  SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round,
    min_by(struct(b.incarnation, b.process_id), struct(abs(p.at_ms - b.stabilized_ms), b.incarnation, b.process_id)) AS nearest
  FROM round_whole_life p
  JOIN coordinator_life b ON b.kafka_cluster = p.kafka_cluster AND b.group_id = p.group_id AND b.whole_life = p.whole_life
    AND b.generation = p.generation
  WHERE p.is_claimed
  GROUP BY p.kafka_cluster, p.group_id, p.process_id, p.client, p.round
), incarnation_list AS (
  SELECT kafka_cluster, group_id, whole_life, sort_array(collect_list(struct(from_generation, incarnation))) AS lives
  FROM (SELECT kafka_cluster, group_id, whole_life, incarnation, min(generation) AS from_generation FROM coordinator_life
    GROUP BY kafka_cluster, group_id, whole_life, incarnation)
  GROUP BY kafka_cluster, group_id, whole_life
), group_incarnations AS (
  SELECT kafka_cluster, group_id, max_by(lives, whole_life) AS last_lives, max(whole_life) AS whole_lives
  FROM incarnation_list
  GROUP BY kafka_cluster, group_id
)
SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round, p.generation,
  CASE
    WHEN m.nearest IS NOT NULL THEN m.nearest.incarnation
    WHEN NOT p.is_claimed THEN p.whole_life
    -- The coordinator's log does not have it: the last incarnation that had begun by this number.
    WHEN w.lives IS NOT NULL THEN coalesce(array_max(filter(w.lives, x -> x.from_generation <= p.generation)),
      array_min(w.lives)).incarnation
    WHEN p.whole_life < 1 THEN p.whole_life
    ELSE array_max(transform(f.last_lives, x -> x.incarnation)) + p.whole_life - f.whole_lives
  END AS incarnation,
  m.nearest.process_id AS broker_process_id
FROM round_whole_life p
LEFT JOIN coordinator_match m ON m.kafka_cluster = p.kafka_cluster AND m.group_id = p.group_id AND m.process_id = p.process_id
  AND m.client = p.client
  AND m.round = p.round
LEFT JOIN incarnation_list w ON w.kafka_cluster = p.kafka_cluster AND w.group_id = p.group_id AND w.whole_life = p.whole_life
LEFT JOIN group_incarnations f ON f.kafka_cluster = p.kafka_cluster AND f.group_id = p.group_id

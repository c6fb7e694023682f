-- One row per join round: its incarnation of the group, without the ghosts of a coordinator.
-- Reads: round_life, coordinator_life, life_count
-- Grain: process_id, group_id, client, round
-- Numbers and member ids match an incarnation that a process saw with one in the coordinator's log; times decide if several match. If there
-- are only members' logs, the process that saw most incarnations provides the count for all, and life_count links the others to it.
CREATE OR REPLACE TEMPORARY VIEW round_whole_life (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  at_ms         COMMENT 'When, by its own clock (milliseconds since 1970)',
  is_claimed    COMMENT 'True if a coordinator''s log has an incarnation that the process saw',
  whole_life    COMMENT 'Incarnation of the group''s metadata; 0 and below: before the first logged one'
)
COMMENT 'One row per join round: its incarnation of the group, without the ghosts of a coordinator.'
AS
WITH match_candidate AS (
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
)
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

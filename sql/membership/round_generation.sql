-- One row per join round: which life of the group its generation belongs to.
-- Reads: round_life, broker_generation
-- Grain: process_id, group_id, client, round
-- Which life of the coordinator's log a life seen by a process is, its numbers and member ids tell, and the times where those leave a
-- choice.
-- Where only members' logs are there, the process that saw most lives counts them for all; member ids, which do not outlive the group's
-- metadata, join the others to it.
CREATE OR REPLACE TEMPORARY VIEW round_generation (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  incarnation   COMMENT 'Which life of the group''s metadata; 0 and below: before the first life in the coordinator''s log',
  broker_process_id COMMENT 'Broker whose log has this generation; NULL when none has'
)
COMMENT 'One row per join round: which life of the group its generation belongs to.'
AS
WITH broker AS (
  -- A ghost repeats a number without loss: it goes on with the life that was.
  SELECT *, dense_rank() OVER (PARTITION BY kafka_cluster, group_id ORDER BY whole) AS whole_life
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, process_id, stabilized_ts, leader_member_id, prepared_member,
      max(CASE WHEN incarnation_why <> 'ghost' OR incarnation = 1 THEN incarnation END)
        OVER (PARTITION BY kafka_cluster, group_id ORDER BY incarnation) AS whole
    FROM broker_generation
  )
), candidate AS (
  SELECT
    s.kafka_cluster, s.group_id, s.process_id, s.life, b.whole_life,
    struct(
      count_if(array_contains(s.names, b.leader_member_id) OR array_contains(s.names, b.prepared_member)) AS named,
      count(DISTINCT s.generation) AS met,
      -avg(abs(unix_millis(s.ts) - unix_millis(b.stabilized_ts))) AS near
    ) AS score
  FROM round_life s
  JOIN broker b ON b.kafka_cluster = s.kafka_cluster AND b.group_id = s.group_id AND b.generation = s.generation
  GROUP BY s.kafka_cluster, s.group_id, s.process_id, s.life, b.whole_life
), claim AS (
  -- Two lives that one process saw are not the same life.
  SELECT kafka_cluster, group_id, process_id, whole_life, max_by(life, struct(score, life)) AS life
  FROM (
    SELECT kafka_cluster, group_id, process_id, life, max_by(whole_life, struct(score, whole_life)) AS whole_life, max(score) AS score
    FROM candidate
    GROUP BY kafka_cluster, group_id, process_id, life
  )
  GROUP BY kafka_cluster, group_id, process_id, whole_life
), claims AS (
  SELECT kafka_cluster, group_id, process_id, sort_array(collect_list(struct(life, whole_life))) AS claims
  FROM claim
  GROUP BY kafka_cluster, group_id, process_id
), most AS (
  SELECT kafka_cluster, group_id, max_by(struct(process_id, falls), struct(size(falls), rounds, process_id)) AS teller
  FROM (
    SELECT kafka_cluster, group_id, process_id, count(*) AS rounds,
      sort_array(collect_list(CASE WHEN life > last_life THEN ts END)) AS falls
    FROM (SELECT *, lag(life) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos) AS last_life FROM round_life)
    GROUP BY kafka_cluster, group_id, process_id
  )
  GROUP BY kafka_cluster, group_id
), named AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id, life, explode(names) AS name FROM round_life
), link AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, mode(t.life - o.life, true) AS ahead
  FROM named o
  JOIN most m ON m.kafka_cluster = o.kafka_cluster AND m.group_id = o.group_id
  JOIN named t ON t.kafka_cluster = o.kafka_cluster AND t.group_id = o.group_id AND t.process_id = m.teller.process_id AND t.name = o.name
  GROUP BY o.kafka_cluster, o.group_id, o.process_id
), roll AS (
  -- Who is not among the members that a leader tells for that number was in another life; who is, in the leader's.
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.life, l.process_id AS leader_process, l.life AS leader_life,
    bool_or(array_contains(l.told, r.member_id)) AS is_told, min(l.ts) AS leader_ts
  FROM round_life r
  JOIN round_life l ON l.kafka_cluster = r.kafka_cluster AND l.group_id = r.group_id AND l.generation = r.generation
    AND l.process_id <> r.process_id
  WHERE l.told IS NOT NULL AND r.member_id IS NOT NULL
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.life, l.process_id, l.life
), stranger AS (
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.life, min(r.leader_ts) AS other_ts
  FROM roll r
  LEFT ANTI JOIN link k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.life
  HAVING NOT bool_or(r.is_told)
), apart AS (
  SELECT * FROM stranger
  UNION ALL
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.life, min(s.other_ts)
  FROM roll r
  JOIN stranger s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.process_id = r.leader_process
    AND s.life = r.leader_life
  LEFT ANTI JOIN link k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id
  WHERE r.is_told
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.life
), placed AS (
  SELECT
    s.kafka_cluster, s.group_id, s.process_id, s.client, s.round, s.generation, s.ts, c.claims IS NOT NULL AS is_claimed,
    CASE
      WHEN c.claims IS NOT NULL THEN
        -- A life that no coordinator's log has is counted from the nearest one that is there.
        coalesce(get(filter(c.claims, x -> x.life = s.life), 0).whole_life,
          array_min(transform(c.claims, x -> struct(abs(x.life - s.life) AS far, x.whole_life + s.life - x.life AS whole_life))).whole_life)
      WHEN k.ahead IS NOT NULL THEN 1 + s.life + k.ahead
      WHEN a.other_ts IS NOT NULL THEN CASE WHEN s.ts < a.other_ts THEN 0 ELSE size(m.teller.falls) + 2 END
      WHEN max(s.life) OVER (PARTITION BY s.kafka_cluster, s.group_id, s.process_id) = size(m.teller.falls) THEN 1 + s.life
      ELSE 1 + size(filter(m.teller.falls, t -> t <= s.ts))
    END AS whole_life
  FROM round_life s
  LEFT JOIN claims c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.process_id = s.process_id
  LEFT JOIN most m ON m.kafka_cluster = s.kafka_cluster AND m.group_id = s.group_id
  LEFT JOIN link k ON k.kafka_cluster = s.kafka_cluster AND k.group_id = s.group_id AND k.process_id = s.process_id
  LEFT JOIN apart a ON a.kafka_cluster = s.kafka_cluster AND a.group_id = s.group_id AND a.process_id = s.process_id AND a.life = s.life
), met AS (
  SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round,
    min_by(struct(b.incarnation, b.process_id), struct(abs(unix_millis(p.ts) - unix_millis(b.stabilized_ts)), b.incarnation,
      b.process_id)) AS life
  FROM placed p
  JOIN broker b ON b.kafka_cluster = p.kafka_cluster AND b.group_id = p.group_id AND b.whole_life = p.whole_life
    AND b.generation = p.generation
  WHERE p.is_claimed
  GROUP BY p.kafka_cluster, p.group_id, p.process_id, p.client, p.round
), whole AS (
  SELECT kafka_cluster, group_id, whole_life, sort_array(collect_list(struct(from_generation, incarnation))) AS lives
  FROM (SELECT kafka_cluster, group_id, whole_life, incarnation, min(generation) AS from_generation FROM broker GROUP BY kafka_cluster,
    group_id, whole_life, incarnation)
  GROUP BY kafka_cluster, group_id, whole_life
), first AS (
  SELECT kafka_cluster, group_id, max_by(lives, whole_life) AS last_lives, max(whole_life) AS whole_lives
  FROM whole
  GROUP BY kafka_cluster, group_id
)
SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.round, p.generation,
  CASE
    WHEN m.life IS NOT NULL THEN m.life.incarnation
    WHEN NOT p.is_claimed THEN p.whole_life
    -- Not in the coordinator's log: the last of the lives that had begun by this number.
    WHEN w.lives IS NOT NULL THEN coalesce(array_max(filter(w.lives, x -> x.from_generation <= p.generation)),
      array_min(w.lives)).incarnation
    WHEN p.whole_life < 1 THEN p.whole_life
    ELSE array_max(transform(f.last_lives, x -> x.incarnation)) + p.whole_life - f.whole_lives
  END AS incarnation,
  m.life.process_id AS broker_process_id
FROM placed p
LEFT JOIN met m ON m.kafka_cluster = p.kafka_cluster AND m.group_id = p.group_id AND m.process_id = p.process_id AND m.client = p.client
  AND m.round = p.round
LEFT JOIN whole w ON w.kafka_cluster = p.kafka_cluster AND w.group_id = p.group_id AND w.whole_life = p.whole_life
LEFT JOIN first f ON f.kafka_cluster = p.kafka_cluster AND f.group_id = p.group_id

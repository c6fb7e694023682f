-- One row per member and generation.
-- Reads: member_round, join_round, event, process_cluster, client_event
-- Grain: kafka_cluster, group_id, incarnation, generation, member_id, process_id
CREATE OR REPLACE TEMPORARY VIEW member_generation (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  incarnation   COMMENT 'Which life of the group''s metadata',
  generation    COMMENT 'Generation',
  member_id     COMMENT 'Member id; NULL where the release prints none',
  process_id    COMMENT 'Process; NULL when only the leader''s line names the member',
  client_id     COMMENT 'client.id',
  task          COMMENT 'Connect task whose consumer this is',
  is_leader     COMMENT 'True for the leader',
  member_epoch  COMMENT 'KIP-848 epoch',
  state         COMMENT 'joined: never had its assignment; synced: had it',
  joining_ts    COMMENT 'Asked to join, by its own clock',
  joined_ts     COMMENT 'Joined, by its own clock',
  synced_ts     COMMENT 'Had its assignment, by its own clock',
  assigned      COMMENT 'Connectors and tasks, or partitions, that it was assigned',
  revoked       COMMENT 'Connectors and tasks that it had to give up',
  delay_ms      COMMENT 'Scheduled rebalance delay that it was told',
  paused_ms     COMMENT 'Eager consumers: from giving all up to being assigned again, milliseconds',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per member and generation.'
AS
WITH seen AS (
  SELECT
    r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.member_id, r.process_id, j.client, j.client_id, j.task, r.is_leader, r.round, j.instance,
    CASE WHEN r.synced.ts IS NOT NULL OR j.worker_assigned_ts IS NOT NULL THEN 'synced' ELSE 'joined' END AS state,
    r.joining_last.ts AS joining_ts, r.joined.ts AS joined_ts, r.synced.ts AS synced_ts,
    j.assigned, j.revoked, j.delay_ms,
    filter(array(r.joining_last.event_id, r.joined.event_id, j.synced_id, j.worker_assigned_id), e -> e IS NOT NULL) AS witness
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round AND j.kafka_cluster = r.kafka_cluster
), given AS (
  -- Releases that print no assignor's notice print what was added; for an eager member that is all.
  SELECT s.process_id, s.group_id, s.client, s.round,
    min_by(c.partitions, c.stream_pos) FILTER (WHERE c.event = 'partitions_assigned') AS partitions,
    min(c.ts) FILTER (WHERE c.event = 'partitions_assigned') AS given_ts
  FROM (SELECT *, lead(coalesce(joined_ts, synced_ts)) OVER (PARTITION BY process_id, group_id, client ORDER BY round) AS next_ts FROM seen) s
  JOIN client_event c ON c.process_id = s.process_id AND c.group_id = s.group_id AND c.client = s.client AND NOT c.is_worker
    AND c.event = 'partitions_assigned' AND c.ts >= coalesce(s.joined_ts, s.synced_ts) AND (s.next_ts IS NULL OR c.ts < s.next_ts)
  GROUP BY s.process_id, s.group_id, s.client, s.round
), taken AS (
  SELECT s.process_id, s.group_id, s.client, s.round, max(c.ts) AS taken_ts
  FROM (SELECT *, lag(coalesce(synced_ts, joined_ts)) OVER (PARTITION BY process_id, group_id, client ORDER BY round) AS last_ts FROM seen) s
  JOIN client_event c ON c.process_id = s.process_id AND c.group_id = s.group_id AND c.client = s.client
    AND c.event IN ('partitions_revoked', 'partitions_lost') AND size(c.partitions) > 0 AND c.ts <= coalesce(s.joined_ts, s.synced_ts) AND c.ts >= s.last_ts
  GROUP BY s.process_id, s.group_id, s.client, s.round
), told AS (
  -- The leader prints everybody's assignment: members without a log are known by it.
  SELECT c.kafka_cluster, e.group_id, e.generation, e.process_id AS leader_process, e.event_id, explode(e.assignment) AS (member_id, assigned)
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id
  WHERE e.event = 'assignment_computed' AND e.assignment IS NOT NULL AND e.generation IS NOT NULL
)
SELECT
  s.kafka_cluster, s.group_id, s.incarnation, s.generation, s.member_id, s.process_id, s.client_id, s.task, s.is_leader, CAST(NULL AS BIGINT),
  s.state, s.joining_ts, s.joined_ts, s.synced_ts, coalesce(s.assigned, g.partitions), s.revoked, s.delay_ms,
  unix_millis(g.given_ts) - unix_millis(t.taken_ts), s.witness
FROM seen s
LEFT JOIN given g ON g.process_id = s.process_id AND g.group_id = s.group_id AND g.client = s.client AND g.round = s.round
LEFT JOIN taken t ON t.process_id = s.process_id AND t.group_id = s.group_id AND t.client = s.client AND t.round = s.round
UNION ALL
SELECT
  t.kafka_cluster, t.group_id, s.incarnation, t.generation, t.member_id, NULL, NULL, NULL, false, NULL,
  'synced', NULL, NULL, NULL, t.assigned, NULL, NULL, NULL, array(t.event_id)
FROM told t
JOIN (SELECT DISTINCT kafka_cluster, group_id, generation, incarnation, process_id FROM seen) s
  ON s.kafka_cluster = t.kafka_cluster AND s.group_id = t.group_id AND s.generation = t.generation AND s.process_id = t.leader_process
LEFT ANTI JOIN seen k ON k.kafka_cluster = t.kafka_cluster AND k.group_id = t.group_id AND k.generation = t.generation AND k.member_id = t.member_id

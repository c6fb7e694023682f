-- One row per group whose members were told that it is rebalancing, with the rebalances that made them print it.
-- Reads: join_round, round_generation, generation, storm_round
-- Answers: "Heartbeat failed because the group is rebalancing" ("group is already rebalancing"): cause or effect, act or ignore?
-- Needs: a member's log; the coordinator's log tells who triggered the rebalance.
-- Silent when: nobody was told so; Connect workers print it at DEBUG only from 3.0.0 on.
-- Shown by: 3.9.1-consumers_eager, 2.4.0-worker_frozen.
CREATE OR REPLACE TEMPORARY VIEW rule_heartbeat_rebalancing (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per group whose members were told that it is rebalancing, with the rebalances that made them print it.'
AS
WITH told AS (
  SELECT j.kafka_cluster, j.group_id, g.incarnation, j.generation, j.process_id, j.rejoin_ts, j.rejoin_id
  FROM join_round j
  JOIN round_generation g ON g.kafka_cluster = j.kafka_cluster AND g.group_id = j.group_id AND g.process_id = j.process_id AND g.client = j.client AND g.round = j.round
  WHERE j.rejoin_id IS NOT NULL
), rebalance AS (
  SELECT t.kafka_cluster, t.group_id, t.incarnation, t.generation, count(DISTINCT t.process_id) AS members, min(t.rejoin_ts) AS ts, min(t.rejoin_id) AS event_id,
    max(g.trigger) AS trigger, max(g.trigger_member_id) AS trigger_member_id, max(g.reason) AS reason, max(g.witness[0]) AS cause_id
  FROM told t
  LEFT JOIN generation g ON g.kafka_cluster = t.kafka_cluster AND g.group_id = t.group_id AND g.incarnation = t.incarnation AND g.generation = t.generation
  GROUP BY t.kafka_cluster, t.group_id, t.incarnation, t.generation
), counted AS (
  SELECT kafka_cluster, group_id, array_join(transform(array_sort(collect_list(struct(-n AS rank, trigger, n))), x -> concat(x.n, ' by ', replace(x.trigger, '_', ' '))), ', ') AS triggers
  FROM (SELECT kafka_cluster, group_id, coalesce(trigger, 'unknown') AS trigger, count(*) AS n FROM rebalance GROUP BY kafka_cluster, group_id, coalesce(trigger, 'unknown'))
  GROUP BY kafka_cluster, group_id
), summed AS (
  SELECT kafka_cluster, group_id, count(*) AS rebalances, sum(members) AS lines, min(ts) AS from_ts, max(ts) AS to_ts,
    array_sort(collect_list(struct(ts, generation, trigger, trigger_member_id, event_id, cause_id))) AS all
  FROM rebalance GROUP BY kafka_cluster, group_id
)
SELECT
  'note', 'proved', s.kafka_cluster, s.group_id, s.group_id, s.from_ts, s.to_ts,
  concat('members of ', s.group_id, ' were told ', s.lines, CASE WHEN s.lines = 1 THEN ' time' ELSE ' times' END, ' that the group is rebalancing: an effect of ', s.rebalances, CASE WHEN s.rebalances = 1 THEN ' rebalance' ELSE ' rebalances' END),
  concat('The line answers a heartbeat while the group is rebalancing already; the member joins again and goes on. It tells nothing about the member that prints it. The rebalances: ', c.triggers, '. ',
    array_join(transform(slice(s.all, 1, 5), x -> concat('Generation ', x.generation, ': ', replace(coalesce(x.trigger, 'unknown'), '_', ' '), CASE WHEN x.trigger_member_id IS NOT NULL THEN concat(' (', x.trigger_member_id, ')') ELSE '' END)), '; '),
    CASE WHEN s.rebalances > 5 THEN concat('; and ', s.rebalances - 5, ' more') ELSE '' END, '.'),
  CASE WHEN r.n > 0 THEN 'Do nothing about the line; see the finding rebalance-storm of this group for what makes it rebalance again and again.'
    ELSE 'Ignore the line. Act only on the trigger of the rebalance, if that member should not have joined, left or fallen silent then.' END,
  slice(array_distinct(filter(flatten(transform(s.all, x -> array(x.cause_id, x.event_id))), e -> e IS NOT NULL)), 1, 12)
FROM summed s
LEFT JOIN counted c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id
LEFT JOIN (SELECT kafka_cluster, group_id, max(n) AS n FROM (SELECT kafka_cluster, group_id, kind, subject, count(*) AS n FROM storm_round GROUP BY kafka_cluster, group_id, kind, subject) WHERE n >= storm_returns GROUP BY kafka_cluster, group_id) r
  ON r.kafka_cluster = s.kafka_cluster AND r.group_id = s.group_id

-- One row per Kafka cluster whose __consumer_offsets has partitions with a single replica.
-- Reads: offsets_topic, offsets_replica, broker_generation, cluster_broker
-- Answers: is __consumer_offsets replicated badly, and which groups die with which broker?
-- Needs: a broker's log with the topic's creation, or with its configuration (KafkaConfig values).
-- Silent when: every partition has two replicas or more, or no line tells and offsets.topic.replication.factor is above 1. One broker alone: a note.
-- Shown by: 2.8.2-coordinator_lost; silent on 3.9.1-coordinator_moved.
CREATE OR REPLACE TEMPORARY VIEW rule_offsets_topic_single_replica (
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
COMMENT 'One row per Kafka cluster whose __consumer_offsets has partitions with a single replica.'
AS
WITH one AS (
  SELECT * FROM offsets_topic WHERE coalesce(replication_factor, configured) = 1 AND (exists_already OR brokers > 1)
), home AS (
  -- A group lives on one partition; with one replica it lives and dies with that partition's broker.
  SELECT g.kafka_cluster, g.group_id, max_by(coalesce(r.replicas[0], CAST(b.broker_id AS STRING)), g.stabilized_ts) AS broker
  FROM broker_generation g
  LEFT JOIN offsets_replica r ON r.kafka_cluster = g.kafka_cluster AND r.offsets_partition = g.offsets_partition AND size(r.replicas) = 1
  LEFT JOIN cluster_broker b ON b.process_id = g.process_id
  GROUP BY g.kafka_cluster, g.group_id
), of_broker AS (
  SELECT kafka_cluster, broker, array_sort(collect_list(group_id)) AS groups FROM home WHERE broker IS NOT NULL GROUP BY kafka_cluster, broker
), told AS (
  SELECT kafka_cluster, array_join(transform(array_sort(collect_list(struct(broker, groups))), x -> concat('broker ', x.broker, ': ', array_join(slice(x.groups, 1, 8), ', '),
    CASE WHEN size(x.groups) > 8 THEN concat(' and ', size(x.groups) - 8, ' more') ELSE '' END)), '; ') AS words
  FROM of_broker GROUP BY kafka_cluster
)
SELECT
  CASE WHEN o.brokers > 1 THEN 'warning' ELSE 'note' END,
  CASE WHEN o.replication_factor = 1 THEN 'proved' ELSE 'undecided' END,
  o.kafka_cluster, CAST(NULL AS STRING), '__consumer_offsets', o.created_ts, CAST(NULL AS TIMESTAMP),
  CASE WHEN o.brokers > 1 THEN concat('__consumer_offsets has one replica on ', o.brokers, ' brokers: each broker that goes takes its groups with it')
    ELSE '__consumer_offsets has one replica, on the only broker that these logs know' END,
  concat(
    CASE WHEN o.replication_factor = 1 THEN 'A broker''s log shows its partitions with a single replica each'
      ELSE concat('The brokers print offsets.topic.replication.factor = ', o.configured, '; the topic has as many replicas as it had when it was created, and no line here shows that') END,
    CASE WHEN o.configured IS NOT NULL AND o.replication_factor = 1 THEN concat(' (offsets.topic.replication.factor = ', o.configured, ')') ELSE '' END,
    '. While the broker of a group''s partition is away, the group has no coordinator: nobody can join, heartbeat or commit; if its disk is lost, committed offsets and generations are lost too.',
    CASE WHEN t.words IS NOT NULL THEN concat(' Groups by broker: ', t.words, '.') ELSE '' END),
  CASE WHEN o.brokers > 1 THEN concat(
      'offsets.topic.replication.factor (now ', coalesce(CAST(o.configured AS STRING), 'not printed'), ', default 3) only counts when the topic is created. Raise the replicas of the topic that is there to ', least(o.brokers, 3),
      ' with kafka-reassign-partitions.sh, and set the property to the same for the next cluster; with three replicas set min.insync.replicas=2 on the topic. The price: each commit is written ', least(o.brokers, 3), ' times.')
    ELSE 'Nothing to do for a cluster of one broker for tests. Before it gets more brokers, or real data, give the topic three replicas with kafka-reassign-partitions.sh.' END,
  concat(o.placed_ids, o.config_ids)
FROM one o LEFT JOIN told t USING (kafka_cluster)

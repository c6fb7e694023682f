-- One row per Kafka cluster that cannot create __consumer_offsets for lack of brokers.
-- Reads: offsets_topic, coordinator_outage
-- Answers: why is the group coordinator never available, for nobody?
-- Needs: the log of a broker (up to 2.7), or of the controller (KRaft) that refuses the creation.
-- Silent when: brokers are still starting: the topic was there later, or the failures ended within a minute.
-- Shown by: 3.9.1-offsets_topic_impossible; silent on all others.
CREATE OR REPLACE TEMPORARY VIEW rule_offsets_topic_unsatisfiable (
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
COMMENT 'One row per Kafka cluster that cannot create __consumer_offsets for lack of brokers.'
AS
WITH stuck AS (
  SELECT *, unix_millis(failed_to_ts) - unix_millis(failed_from_ts) AS lasted_ms FROM offsets_topic
  -- The topic may be made when the last broker has come.
  WHERE failures > 0 AND NOT exists_already AND required > coalesce(alive, brokers)
), waiting AS (
  SELECT kafka_cluster, array_sort(collect_set(process_id)) AS who, array_sort(collect_set(group_id)) AS groups FROM coordinator_outage WHERE never GROUP BY kafka_cluster
)
SELECT
  CASE WHEN s.lasted_ms >= 30000 THEN 'critical' ELSE 'warning' END, 'proved', s.kafka_cluster, CASE WHEN size(w.groups) = 1 THEN w.groups[0] END, '__consumer_offsets', s.failed_from_ts, CAST(NULL AS TIMESTAMP),
  concat('no group of this cluster can have a coordinator: __consumer_offsets needs ', s.required, ' replicas and there ', CASE WHEN coalesce(s.alive, s.brokers) = 1 THEN 'is 1 broker' ELSE concat('are ', coalesce(s.alive, s.brokers), ' brokers') END),
  concat('Its creation was refused ', s.failures, ' times from ', date_format(s.failed_from_ts, 'HH:mm:ss'), ' to ', date_format(s.failed_to_ts, 'HH:mm:ss'), ' and no line shows that it was ever made. ',
    'The first member that asks for a coordinator makes a broker create the topic with offsets.topic.replication.factor replicas; with fewer brokers registered that fails, and the member is told that the coordinator is not available, for ever.',
    CASE WHEN size(w.who) > 0 THEN concat(' Waiting: ', array_join(slice(w.who, 1, 8), ', '), CASE WHEN size(w.who) > 8 THEN concat(' and ', size(w.who) - 8, ' more') ELSE '' END, ' (', array_join(slice(w.groups, 1, 5), ', '), ').') ELSE '' END),
  concat('Start the missing brokers, or, where there are to be no more, set offsets.topic.replication.factor=', coalesce(s.alive, s.brokers), ' on the brokers (now ', coalesce(CAST(s.configured AS STRING), 'not printed'),
    ') and restart them; transaction.state.log.replication.factor and transaction.state.log.min.isr have the same trap. A single replica is fit for tests only: the groups are gone whenever that broker is.'),
  concat(s.failed_ids, s.config_ids)
FROM stuck s LEFT JOIN waiting w USING (kafka_cluster)

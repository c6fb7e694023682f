-- One row per setting that is dangerous by itself or does not agree with another one of the group.
-- Reads: setting, worker_setting, member_setting, cluster_broker, process_cluster, offsets_replica
-- Answers: what in the printed configurations asks for trouble?
-- Needs: the configurations that brokers, workers and clients print when they start, or the coordinator's lines about members.
-- Silent when: the values are Kafka's defaults or safer, or the cluster has too few brokers for anything better (then a note).
-- Shown by: 3.9.1-coordinator_moved; silent where nothing prints its configuration.
CREATE OR REPLACE TEMPORARY VIEW rule_risky_config (
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
COMMENT 'One row per setting that is dangerous by itself or does not agree with another one of the group.'
AS
WITH client AS (
  -- Timeouts of one client in one configuration: a consumer, or a Connect worker.
  SELECT c.kafka_cluster, s.process_id, s.component, s.client_id,
    max(s.value) FILTER (WHERE s.key = 'group.id') AS group_id,
    max(CASE WHEN s.key = 'session.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS session_ms,
    max(CASE WHEN s.key = 'heartbeat.interval.ms' THEN try_cast(s.value AS BIGINT) END) AS heartbeat_ms,
    max(CASE WHEN s.key = 'max.poll.interval.ms' THEN try_cast(s.value AS BIGINT) END) AS poll_ms,
    max(CASE WHEN s.key = 'rebalance.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS rebalance_ms,
    max(CASE WHEN s.key = 'task.shutdown.graceful.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS graceful_ms,
    max(CASE WHEN s.key = 'scheduled.rebalance.max.delay.ms' THEN try_cast(s.value AS BIGINT) END) AS delay_ms,
    max(s.value) FILTER (WHERE s.key = 'group.protocol') AS group_protocol,
    max(s.value) FILTER (WHERE s.key = 'connect.protocol') AS connect_protocol,
    max_by(s.event_id, struct(s.key = 'heartbeat.interval.ms', s.event_id)) AS event_id
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last
  WHERE s.component IN ('ConsumerConfig', 'DistributedConfig')
  GROUP BY c.kafka_cluster, s.process_id, s.component, s.client_id, s.task, s.connector
), member AS (
  -- KIP-848: session and heartbeat are the broker's.
  SELECT * FROM client WHERE coalesce(group_id, '') <> '' AND NOT lower(coalesce(group_protocol, 'classic')) = 'consumer'
), broker AS (
  SELECT c.kafka_cluster, s.process_id, s.key, TRY_CAST(s.value AS BIGINT) AS number, s.value, s.event_id
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last
  WHERE s.component = 'KafkaConfig'
), crowd AS (
  SELECT kafka_cluster, count(DISTINCT broker_id) AS brokers FROM cluster_broker GROUP BY kafka_cluster
), spread AS (
  -- One value of the group, by all its members that tell; a static difference between members makes rebalances unfair to some.
  SELECT kafka_cluster, group_id, setting, min(value_ms) AS low, max(value_ms) AS high, count(DISTINCT member_id) AS members,
    array_distinct(filter(array(min_by(event_id, struct(value_ms, event_id)), max_by(event_id, struct(value_ms, event_id))), x -> x IS NOT NULL)) AS witness
  FROM member_setting
  WHERE member_id IS NOT NULL AND value_how IN ('config', 'broker') AND setting IN ('session.timeout.ms', 'max.poll.interval.ms', 'rebalance.timeout.ms', 'scheduled.rebalance.max.delay.ms')
  GROUP BY kafka_cluster, group_id, setting
  HAVING min(value_ms) <> max(value_ms)
), topic AS (
  SELECT kafka_cluster, group_id, topic.what, topic.name, topic.rf, array_sort(collect_set(event_id)) AS witness
  FROM (SELECT w.kafka_cluster, w.group_id, w.event_id, explode(array(
    named_struct('what', 'config.storage.replication.factor', 'name', w.config_topic, 'rf', w.config_rf),
    named_struct('what', 'offset.storage.replication.factor', 'name', w.offset_topic, 'rf', w.offset_rf),
    named_struct('what', 'status.storage.replication.factor', 'name', w.status_topic, 'rf', w.status_rf))) AS topic FROM worker_setting w)
  WHERE topic.rf BETWEEN 1 AND 2
  GROUP BY kafka_cluster, group_id, topic.what, topic.name, topic.rf
), internal AS (
  SELECT kafka_cluster, group_id, array_sort(collect_list(struct(what, name, rf))) AS topics, max(rf) AS rf, slice(array_distinct(flatten(collect_list(witness))), 1, 6) AS witness
  FROM topic GROUP BY kafka_cluster, group_id
), offsets AS (
  -- What is so is more than what is configured: once the topic is there, the property changes nothing.
  SELECT b.kafka_cluster, b.key, min(b.number) AS number, array_sort(collect_set(b.event_id)) AS witness FROM broker b
  WHERE b.key IN ('transaction.state.log.replication.factor', 'default.replication.factor') OR b.key = 'offsets.topic.replication.factor' AND b.kafka_cluster NOT IN (SELECT kafka_cluster FROM offsets_replica WHERE kafka_cluster IS NOT NULL)
  GROUP BY b.kafka_cluster, b.key HAVING min(b.number) < 3
), found AS (
  SELECT 'warning' AS severity, kafka_cluster, group_id, 'heartbeat.interval.ms' AS subject,
    concat('heartbeat.interval.ms = ', heartbeat_ms, ' is more than a third of session.timeout.ms = ', session_ms, ' in ', array_join(slice(who, 1, 4), ', ')) AS headline,
    'A member is thrown out when no heartbeat arrives for the session timeout; with fewer than three in that time, one that is lost or late is enough.' AS explanation,
    concat('Set heartbeat.interval.ms (now ', heartbeat_ms, ') to ', session_ms DIV 3, ' or less, or raise session.timeout.ms to ', 3 * heartbeat_ms, ' or more: deaths are then noticed that much later.') AS advice, witness
  FROM (SELECT kafka_cluster, group_id, heartbeat_ms, session_ms, array_sort(collect_set(process_id)) AS who, slice(array_sort(collect_set(event_id)), 1, 6) AS witness
    FROM member WHERE heartbeat_ms * 3 > session_ms GROUP BY kafka_cluster, group_id, heartbeat_ms, session_ms)
  UNION ALL
  SELECT 'warning', kafka_cluster, group_id, 'task.shutdown.graceful.timeout.ms',
    concat('task.shutdown.graceful.timeout.ms = ', graceful_ms, ' is not below rebalance.timeout.ms = ', rebalance_ms, ' in ', array_join(slice(who, 1, 4), ', ')),
    'A worker waits for its tasks to stop before it joins again. When that may take as long as the rebalance, it is thrown out meanwhile, and its tasks are given away while they still run.',
    concat('Set task.shutdown.graceful.timeout.ms (now ', graceful_ms, ') well below rebalance.timeout.ms (now ', rebalance_ms, '): tasks that do not stop in time are then abandoned earlier.'), witness
  FROM (SELECT kafka_cluster, group_id, graceful_ms, rebalance_ms, array_sort(collect_set(process_id)) AS who, slice(array_sort(collect_set(event_id)), 1, 6) AS witness
    FROM member WHERE component = 'DistributedConfig' AND graceful_ms >= rebalance_ms GROUP BY kafka_cluster, group_id, graceful_ms, rebalance_ms)
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, setting,
    concat(setting, ' differs between the members of ', group_id, ': ', low, ' to ', high, ' ms'),
    CASE setting
      WHEN 'session.timeout.ms' THEN 'The death of one member is noticed sooner than that of another; how long tasks or partitions stay without an owner depends on who dies.'
      WHEN 'scheduled.rebalance.max.delay.ms' THEN 'The leader''s value counts, and who leads changes: lost tasks wait for a longer or shorter time by chance.'
      ELSE 'A rebalance waits for the slowest member as long as the largest value of the group allows: one member''s setting is everybody''s pause.' END,
    concat('Set ', setting, ' to one value on all ', members, ' members (now ', low, ' to ', high, '), unless the difference is meant.'), witness
  FROM spread
  UNION ALL
  SELECT 'warning', m.kafka_cluster, m.group_id, 'session.timeout.ms',
    concat('session.timeout.ms = ', m.session_ms, ' in ', m.process_id, ' is outside of what the brokers allow, ', b.low, ' to ', b.high),
    'The coordinator refuses such a member with INVALID_SESSION_TIMEOUT, so it never joins.',
    concat('Set session.timeout.ms (now ', m.session_ms, ') between group.min.session.timeout.ms (', b.low, ') and group.max.session.timeout.ms (', b.high, '), or widen these on the brokers.'),
    array_distinct(array(m.event_id, b.event_id))
  FROM member m
  JOIN (SELECT kafka_cluster, max(number) FILTER (WHERE key = 'group.min.session.timeout.ms') AS low, min(number) FILTER (WHERE key = 'group.max.session.timeout.ms') AS high, max(event_id) FILTER (WHERE key = 'group.min.session.timeout.ms') AS event_id
    FROM broker GROUP BY kafka_cluster) b ON b.kafka_cluster = m.kafka_cluster
  WHERE m.session_ms < b.low OR m.session_ms > b.high
  UNION ALL
  SELECT CASE WHEN c.brokers >= 3 THEN 'warning' ELSE 'note' END, i.kafka_cluster, i.group_id, 'replication of Connect''s topics',
    concat('Connect''s own topics of ', i.group_id, ' are asked for with fewer than 3 replicas: ', array_join(transform(i.topics, t -> concat(t.name, ' ', t.rf)), ', ')),
    concat(CASE WHEN i.rf = 1 THEN 'With the one broker that has a partition of them' ELSE 'With two brokers, or one of them and min.insync.replicas = 2,' END,
      ' the cluster loses its connectors'' configurations, source offsets or statuses, for a time or for good. The property counts only when the topic is made; kafka-topics --describe tells what is so.'),
    concat('Set ', array_join(transform(i.topics, t -> concat(t.what, ' (now ', t.rf, ')')), ', '), ' to 3', CASE WHEN c.brokers < 3 THEN ', once there are three brokers' ELSE '' END, '; topics that exist are brought there with kafka-reassign-partitions (forensics offsets-topic --topic NAME makes the file).'),
    i.witness
  FROM internal i LEFT JOIN crowd c ON c.kafka_cluster = i.kafka_cluster
  UNION ALL
  SELECT CASE WHEN c.brokers >= 3 AND o.key <> 'default.replication.factor' THEN 'warning' ELSE 'note' END, o.kafka_cluster, CAST(NULL AS STRING), o.key,
    concat('brokers have ', o.key, ' = ', o.number),
    CASE o.key
      WHEN 'offsets.topic.replication.factor' THEN 'When __consumer_offsets is made with it, each group loses its coordinator, its generation and its offsets with the broker that has its partition.'
      WHEN 'transaction.state.log.replication.factor' THEN 'When __transaction_state is made with it, transactional producers (exactly-once sources, Streams) stand still with the broker that has their partition.'
      ELSE 'Topics that are created without a number, also those of the tools around Kafka, have their records on so few brokers.' END,
    concat('Set ', o.key, ' (now ', o.number, ') to 3', CASE WHEN coalesce(c.brokers, 0) < 3 THEN ', once there are three brokers' ELSE '' END, ', before the topic is made; a topic that exists needs a reassignment. Each record then takes three times the space.'),
    slice(o.witness, 1, 4)
  FROM offsets o LEFT JOIN crowd c ON c.kafka_cluster = o.kafka_cluster
  UNION ALL
  SELECT 'warning', r.kafka_cluster, CAST(NULL AS STRING), 'transaction.state.log.min.isr',
    concat('brokers have transaction.state.log.min.isr = ', max(m.number), ' above transaction.state.log.replication.factor = ', min(r.number)),
    'Once the topic is made so, nothing can be written to it: transactional producers never begin.',
    concat('Set transaction.state.log.min.isr (now ', max(m.number), ') below the replication factor, 2 of 3.'),
    slice(array_sort(collect_set(m.event_id)), 1, 4)
  FROM broker r JOIN broker m ON m.process_id = r.process_id AND m.key = 'transaction.state.log.min.isr'
  WHERE r.key = 'transaction.state.log.replication.factor' AND m.number > r.number
  GROUP BY r.kafka_cluster
  UNION ALL
  SELECT 'note', kafka_cluster, CAST(NULL AS STRING), 'unclean.leader.election.enable',
    'brokers have unclean.leader.election.enable = true',
    'A replica that lacks records may become leader of __consumer_offsets: groups go back to an earlier generation and earlier offsets, and records are read again.',
    'Set unclean.leader.election.enable (now true) to false, Kafka''s default from 0.11.0 on: partitions then wait for a replica that is whole.',
    slice(array_sort(collect_set(event_id)), 1, 4)
  FROM broker WHERE key = 'unclean.leader.election.enable' AND value = 'true' GROUP BY kafka_cluster
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, 'connect.protocol',
    concat('workers of ', group_id, ' have connect.protocol = eager'),
    'Each rebalance stops every connector and task of the group and starts them again.',
    'Set connect.protocol (now eager) to sessioned, the default from 2.4.0 on, when every worker is of 2.4.1 or later (2.3.0 has KAFKA-9184 with the newer protocols); restart them one by one.',
    slice(array_sort(collect_set(event_id)), 1, 4)
  FROM member WHERE connect_protocol = 'eager' GROUP BY kafka_cluster, group_id
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, 'scheduled.rebalance.max.delay.ms',
    concat('workers of ', group_id, ' have scheduled.rebalance.max.delay.ms = 0'),
    'Tasks of a worker that is away for a moment move to others at once and back when it returns: each rolling restart moves everything twice. From 2.3.0 to 3.5.1, and in 3.6.0, lost tasks wait for one more rebalance (KAFKA-15693).',
    'Set scheduled.rebalance.max.delay.ms (now 0) to the time that a worker needs to restart; the default is 300000. Lost tasks stay without an owner as long.',
    slice(array_sort(collect_set(event_id)), 1, 4)
  FROM member WHERE component = 'DistributedConfig' AND delay_ms = 0 GROUP BY kafka_cluster, group_id
)
SELECT severity, 'proved', kafka_cluster, group_id, subject, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP), headline, explanation, advice, witness
FROM found

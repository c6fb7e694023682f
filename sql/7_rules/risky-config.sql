-- One row per setting that is dangerous by itself or conflicts with another one of the group.
-- Reads: setting, worker_setting, member_setting, cluster_broker, process_cluster, offsets_topic
-- Each case has its own numbers, so the facts of all cases come from one map.
WITH client_timeouts AS (
  -- Timeouts of one client in one configuration: a consumer, or a Connect worker.
  SELECT c.kafka_cluster, s.process_id, s.component, s.client_id, max(s.value) FILTER (WHERE s.key = 'group.id') AS group_id,
    max(CASE WHEN s.key = 'session.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS session_ms,
    max(CASE WHEN s.key = 'heartbeat.interval.ms' THEN try_cast(s.value AS BIGINT) END) AS heartbeat_ms,
    max(CASE WHEN s.key = 'rebalance.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS rebalance_ms,
    max(CASE WHEN s.key = 'task.shutdown.graceful.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS graceful_ms,
    max(CASE WHEN s.key = 'scheduled.rebalance.max.delay.ms' THEN try_cast(s.value AS BIGINT) END) AS delay_ms,
    max(s.value) FILTER (WHERE s.key = 'group.protocol') AS group_protocol,
    max(s.value) FILTER (WHERE s.key = 'connect.protocol') AS connect_protocol,
    max_by(s.event_id, struct(s.key = 'heartbeat.interval.ms', s.event_id)) AS event_id
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last
  WHERE s.component IN ('ConsumerConfig', 'DistributedConfig')
  GROUP BY c.kafka_cluster, s.process_id, s.component, s.client_id, s.task, s.connector
), classic_member AS (
  -- In KIP-848 the broker's settings define session and heartbeat.
  SELECT * FROM client_timeouts WHERE coalesce(group_id, '') <> '' AND NOT lower(coalesce(group_protocol, 'classic')) = 'consumer'
), broker_setting AS (
  SELECT c.kafka_cluster, s.process_id, s.key, try_cast(s.value AS BIGINT) AS number, s.value, s.event_id
  FROM setting s JOIN process_cluster c ON c.process_id = s.process_id AND c.is_last WHERE s.component = 'KafkaConfig'
), broker_count AS (
  SELECT kafka_cluster, count(DISTINCT broker_id) AS brokers FROM cluster_broker GROUP BY kafka_cluster
), differing_timeout AS (
  -- A permanent difference between members makes rebalances unfair to some.
  SELECT kafka_cluster, group_id, setting, min(value_ms) AS low_ms, max(value_ms) AS high_ms, count(DISTINCT member_id) AS members,
    array_distinct(array_compact(array(min_by(event_id, struct(value_ms, event_id)), max_by(event_id, struct(value_ms, event_id))))) AS event_ids
  FROM member_setting
  WHERE member_id IS NOT NULL AND value_how IN ('config', 'broker')
    AND setting IN ('session.timeout.ms', 'max.poll.interval.ms', 'rebalance.timeout.ms', 'scheduled.rebalance.max.delay.ms')
  GROUP BY kafka_cluster, group_id, setting
  HAVING min(value_ms) <> max(value_ms)
), allowed_session AS (
  SELECT kafka_cluster, max(number) FILTER (WHERE key = 'group.min.session.timeout.ms') AS low_ms,
    min(number) FILTER (WHERE key = 'group.max.session.timeout.ms') AS high_ms,
    max(event_id) FILTER (WHERE key = 'group.min.session.timeout.ms') AS event_id
  FROM broker_setting GROUP BY kafka_cluster
), few_topic_replicas AS (
  SELECT kafka_cluster, group_id, topic.setting, topic.name, topic.replicas, array_sort(collect_set(event_id)) AS event_ids
  FROM (
    SELECT w.kafka_cluster, w.group_id, w.event_id,
      explode(array(named_struct('setting', 'config.storage.replication.factor', 'name', w.config_topic, 'replicas', w.config_rf),
        named_struct('setting', 'offset.storage.replication.factor', 'name', w.offset_topic, 'replicas', w.offset_rf),
        named_struct('setting', 'status.storage.replication.factor', 'name', w.status_topic, 'replicas', w.status_rf))) AS topic
    FROM worker_setting w
  )
  WHERE topic.replicas > 0 AND topic.replicas < safe_replicas GROUP BY kafka_cluster, group_id, topic.setting, topic.name, topic.replicas
), group_topics AS (
  SELECT kafka_cluster, group_id, sort_array(collect_list(struct(setting, name, replicas))) AS topics, max(replicas) AS replicas,
    slice(array_distinct(flatten(sort_array(collect_list(event_ids)))), 1, 6) AS event_ids
  FROM few_topic_replicas GROUP BY kafka_cluster, group_id
), few_broker_replicas AS (
  -- Actual replicas have priority over the configuration, because the property has no effect on an existing topic.
  SELECT b.kafka_cluster, b.key, min(b.number) AS replicas, slice(array_sort(collect_set(b.event_id)), 1, 4) AS event_ids
  FROM broker_setting b
  WHERE b.key IN ('transaction.state.log.replication.factor', 'default.replication.factor') OR b.key = 'offsets.topic.replication.factor'
    AND b.kafka_cluster NOT IN (SELECT kafka_cluster FROM offsets_topic WHERE replication_factor IS NOT NULL AND kafka_cluster IS NOT NULL)
  GROUP BY b.kafka_cluster, b.key
  HAVING min(b.number) < safe_replicas
), risky_setting AS (
  SELECT 'warning' AS severity, kafka_cluster, group_id, 'heartbeat.interval.ms' AS subject, 'heartbeat_too_late' AS code,
    map('heartbeat_ms', heartbeat_ms, 'session_ms', session_ms) AS numbers, array_sort(collect_set(process_id)) AS process_ids,
    slice(array_sort(collect_set(event_id)), 1, 6) AS event_ids
  FROM classic_member WHERE heartbeat_ms * heartbeats_a_session > session_ms GROUP BY kafka_cluster, group_id, heartbeat_ms, session_ms
  UNION ALL
  SELECT 'warning', kafka_cluster, group_id, 'task.shutdown.graceful.timeout.ms', 'stop_outlasts_rebalance' AS code,
    map('graceful_ms', graceful_ms, 'rebalance_ms', rebalance_ms), array_sort(collect_set(process_id)), slice(array_sort(collect_set(event_id)), 1, 6)
  FROM classic_member WHERE component = 'DistributedConfig' AND graceful_ms >= rebalance_ms
  GROUP BY kafka_cluster, group_id, graceful_ms, rebalance_ms
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, setting,
    CASE setting WHEN 'session.timeout.ms' THEN 'sessions_differ' WHEN 'scheduled.rebalance.max.delay.ms' THEN 'delays_differ'
      ELSE 'pauses_differ' END AS code,
    map('low_ms', low_ms, 'high_ms', high_ms, 'members', members), NULL, event_ids
  FROM differing_timeout
  UNION ALL
  SELECT 'warning', m.kafka_cluster, m.group_id, 'session.timeout.ms', 'session_refused' AS code,
    map('session_ms', m.session_ms, 'low_ms', b.low_ms, 'high_ms', b.high_ms), array(m.process_id), array_distinct(array(m.event_id, b.event_id))
  FROM classic_member m JOIN allowed_session b ON b.kafka_cluster = m.kafka_cluster
  WHERE m.session_ms < b.low_ms OR m.session_ms > b.high_ms
  UNION ALL
  SELECT CASE WHEN c.brokers >= safe_replicas THEN 'warning' ELSE 'note' END, t.kafka_cluster, t.group_id, 'replication of Connect''s topics',
    'connect_topics' AS code, map('replicas', CAST(t.replicas AS BIGINT), 'brokers', c.brokers), NULL, t.event_ids
  FROM group_topics t LEFT JOIN broker_count c ON c.kafka_cluster = t.kafka_cluster
  UNION ALL
  SELECT CASE WHEN c.brokers >= safe_replicas AND f.key <> 'default.replication.factor' THEN 'warning' ELSE 'note' END, f.kafka_cluster, NULL, f.key,
    CASE f.key WHEN 'offsets.topic.replication.factor' THEN 'offsets_replicas'
      WHEN 'transaction.state.log.replication.factor' THEN 'transaction_replicas' ELSE 'default_replicas' END AS code,
    map('replicas', f.replicas, 'brokers', c.brokers), NULL, f.event_ids
  FROM few_broker_replicas f LEFT JOIN broker_count c ON c.kafka_cluster = f.kafka_cluster
  UNION ALL
  SELECT 'warning', r.kafka_cluster, NULL, 'transaction.state.log.min.isr', 'transaction_min_isr' AS code,
    map('min_isr', max(m.number), 'replicas', min(r.number)), NULL, slice(array_sort(collect_set(m.event_id)), 1, 4)
  FROM broker_setting r JOIN broker_setting m ON m.process_id = r.process_id AND m.key = 'transaction.state.log.min.isr'
  WHERE r.key = 'transaction.state.log.replication.factor' AND m.number > r.number GROUP BY r.kafka_cluster
  UNION ALL
  SELECT 'note', kafka_cluster, NULL, key, 'unclean_election' AS code, NULL, NULL, slice(array_sort(collect_set(event_id)), 1, 4)
  FROM broker_setting WHERE key = 'unclean.leader.election.enable' AND value = 'true' GROUP BY kafka_cluster, key
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, 'connect.protocol', 'eager_workers' AS code, NULL, NULL, slice(array_sort(collect_set(event_id)), 1, 4)
  FROM classic_member WHERE connect_protocol = 'eager' GROUP BY kafka_cluster, group_id
  UNION ALL
  SELECT 'note', kafka_cluster, group_id, 'scheduled.rebalance.max.delay.ms', 'no_delay' AS code,
    NULL, NULL, slice(array_sort(collect_set(event_id)), 1, 4)
  FROM classic_member WHERE component = 'DistributedConfig' AND delay_ms = 0 GROUP BY kafka_cluster, group_id
)
SELECT r.severity, 'proved' AS verdict, r.kafka_cluster, r.group_id, r.subject, CAST(NULL AS BIGINT) AS from_ms, CAST(NULL AS BIGINT) AS to_ms,
  r.code,
  struct(r.process_ids, t.topics, r.numbers['heartbeat_ms'] AS heartbeat_ms, r.numbers['session_ms'] AS session_ms,
    heartbeats_a_session AS heartbeats_wanted, r.numbers['graceful_ms'] AS graceful_ms, r.numbers['rebalance_ms'] AS rebalance_ms,
    r.numbers['low_ms'] AS low_ms, r.numbers['high_ms'] AS high_ms, r.numbers['members'] AS members, r.numbers['replicas'] AS replicas,
    r.numbers['min_isr'] AS min_isr, r.numbers['brokers'] AS brokers, safe_replicas AS replicas_wanted) AS facts,
  transform(r.event_ids, e -> named_struct('role', 'prints the setting', 'event_id', e)) AS proof
FROM risky_setting r
LEFT JOIN group_topics t ON r.code = 'connect_topics' AND t.kafka_cluster <=> r.kafka_cluster AND t.group_id <=> r.group_id

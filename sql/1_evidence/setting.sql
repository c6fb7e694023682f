-- One row per property that matters to groups, with the last value that a process printed and the client that it belongs to.
-- Reads: config_value
-- Grain: process_id, component, client_id, task, connector, key
-- A broker, worker, consumer or connector prints its configuration when it is created. The last printed value is in force.
CREATE OR REPLACE TEMPORARY VIEW setting (
  process_id,
  component  COMMENT 'Whose configuration: KafkaConfig (broker), DistributedConfig (worker), ConsumerConfig, ConnectorConfig, ...',
  client_id  COMMENT 'client.id within it; empty: none',
  task, connector,
  key        COMMENT 'Property',
  value      COMMENT 'Value as printed last; NULL: printed as null',
  event_id
)
AS
SELECT process_id, component, coalesce(client_id, '') AS client_id, task, connector, key,
  max_by(nullif(value, 'null'), struct(instance, ts IS NOT NULL, ts, event_id)) AS value,
  max_by(event_id, struct(instance, ts IS NOT NULL, ts, event_id)) AS event_id
FROM config_value
WHERE key IN ('group.id', 'group.instance.id', 'group.protocol', 'client.id', 'bootstrap.servers', 'security.protocol', 'sasl.mechanism',
    'isolation.level', 'enable.auto.commit', 'auto.offset.reset', 'session.timeout.ms', 'heartbeat.interval.ms', 'max.poll.interval.ms',
    'max.poll.records', 'rebalance.timeout.ms', 'request.timeout.ms', 'partition.assignment.strategy', 'scheduled.rebalance.max.delay.ms',
    'connect.protocol', 'worker.sync.timeout.ms', 'worker.unsync.backoff.ms', 'task.shutdown.graceful.timeout.ms', 'exactly.once.source.support',
    'config.storage.topic', 'offset.storage.topic', 'status.storage.topic', 'config.storage.replication.factor', 'offset.storage.replication.factor',
    'status.storage.replication.factor', 'offset.flush.interval.ms', 'listeners', 'advertised.listeners', 'rest.advertised.host.name',
    'rest.advertised.port', 'rest.advertised.listener', 'rest.host.name', 'rest.port', 'broker.id', 'node.id', 'process.roles',
    'offsets.topic.replication.factor', 'offsets.topic.num.partitions', 'offsets.retention.minutes', 'default.replication.factor',
    'min.insync.replicas', 'transaction.state.log.replication.factor', 'transaction.state.log.min.isr', 'group.initial.rebalance.delay.ms',
    'group.min.session.timeout.ms', 'group.max.session.timeout.ms', 'group.max.size', 'group.consumer.session.timeout.ms',
    'group.consumer.heartbeat.interval.ms', 'unclean.leader.election.enable', 'broker.session.timeout.ms', 'zookeeper.session.timeout.ms', 'name',
    'connector.class', 'tasks.max', 'topics', 'topics.regex', 'file', 'errors.tolerance')
GROUP BY process_id, component, coalesce(client_id, ''), task, connector, key

-- One row per Connect worker that printed its configuration: what of it matters to its group.
-- Reads: setting, process
-- Grain: process_id
CREATE OR REPLACE TEMPORARY VIEW worker_setting (
  process_id     COMMENT 'Worker',
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'group.id',
  config_topic   COMMENT 'config.storage.topic',
  offset_topic   COMMENT 'offset.storage.topic',
  status_topic   COMMENT 'status.storage.topic',
  config_rf      COMMENT 'config.storage.replication.factor',
  offset_rf      COMMENT 'offset.storage.replication.factor',
  status_rf      COMMENT 'status.storage.replication.factor',
  session_ms     COMMENT 'session.timeout.ms',
  heartbeat_ms   COMMENT 'heartbeat.interval.ms',
  rebalance_ms   COMMENT 'rebalance.timeout.ms',
  delay_ms       COMMENT 'scheduled.rebalance.max.delay.ms (2.3.0 and later)',
  graceful_ms    COMMENT 'task.shutdown.graceful.timeout.ms',
  flush_ms       COMMENT 'offset.flush.interval.ms',
  protocol       COMMENT 'connect.protocol (2.3.0 and later)',
  exactly_once   COMMENT 'exactly.once.source.support (3.3.0 and later)',
  bootstrap      COMMENT 'bootstrap.servers',
  security       COMMENT 'security.protocol',
  worker_url     COMMENT 'URL that it advertises',
  event_id       COMMENT 'Event that printed it'
)
COMMENT 'One row per Connect worker that printed its configuration: what of it matters to its group.'
AS
SELECT
  s.process_id, max(p.kafka_cluster),
  max(value) FILTER (WHERE key = 'group.id'),
  max(value) FILTER (WHERE key = 'config.storage.topic'),
  max(value) FILTER (WHERE key = 'offset.storage.topic'),
  max(value) FILTER (WHERE key = 'status.storage.topic'),
  max(CAST(value AS INT)) FILTER (WHERE key = 'config.storage.replication.factor'),
  max(CAST(value AS INT)) FILTER (WHERE key = 'offset.storage.replication.factor'),
  max(CAST(value AS INT)) FILTER (WHERE key = 'status.storage.replication.factor'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'session.timeout.ms'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'heartbeat.interval.ms'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'rebalance.timeout.ms'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'scheduled.rebalance.max.delay.ms'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'task.shutdown.graceful.timeout.ms'),
  max(CAST(value AS BIGINT)) FILTER (WHERE key = 'offset.flush.interval.ms'),
  max(value) FILTER (WHERE key = 'connect.protocol'),
  max(value) FILTER (WHERE key = 'exactly.once.source.support'),
  max(value) FILTER (WHERE key = 'bootstrap.servers'),
  max(value) FILTER (WHERE key = 'security.protocol'),
  max(p.worker_url),
  max_by(event_id, key = 'group.id')
FROM setting s JOIN process p USING (process_id)
WHERE s.component = 'DistributedConfig'
GROUP BY s.process_id

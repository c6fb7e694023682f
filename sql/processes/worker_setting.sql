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
  max(CASE WHEN s.key = 'group.id' THEN s.value END),
  max(CASE WHEN s.key = 'config.storage.topic' THEN s.value END),
  max(CASE WHEN s.key = 'offset.storage.topic' THEN s.value END),
  max(CASE WHEN s.key = 'status.storage.topic' THEN s.value END),
  max(CASE WHEN s.key = 'config.storage.replication.factor' THEN try_cast(s.value AS INT) END),
  max(CASE WHEN s.key = 'offset.storage.replication.factor' THEN try_cast(s.value AS INT) END),
  max(CASE WHEN s.key = 'status.storage.replication.factor' THEN try_cast(s.value AS INT) END),
  max(CASE WHEN s.key = 'session.timeout.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'heartbeat.interval.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'rebalance.timeout.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'scheduled.rebalance.max.delay.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'task.shutdown.graceful.timeout.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'offset.flush.interval.ms' THEN try_cast(s.value AS BIGINT) END),
  max(CASE WHEN s.key = 'connect.protocol' THEN s.value END),
  max(CASE WHEN s.key = 'exactly.once.source.support' THEN s.value END),
  max(CASE WHEN s.key = 'bootstrap.servers' THEN s.value END),
  max(CASE WHEN s.key = 'security.protocol' THEN s.value END),
  max(p.worker_url),
  max_by(s.event_id, struct(s.key = 'group.id', s.event_id))
FROM setting s JOIN process p ON p.process_id = s.process_id
WHERE s.component = 'DistributedConfig'
GROUP BY s.process_id

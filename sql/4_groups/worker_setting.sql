-- One row per Connect worker that printed its configuration: the settings that matter to its group.
-- Reads: setting, process
-- Grain: process_id
CREATE OR REPLACE TEMPORARY VIEW worker_setting (
  process_id, kafka_cluster, group_id,
  config_topic  COMMENT 'config.storage.topic',
  offset_topic  COMMENT 'offset.storage.topic',
  status_topic  COMMENT 'status.storage.topic',
  config_rf     COMMENT 'config.storage.replication.factor',
  offset_rf     COMMENT 'offset.storage.replication.factor',
  status_rf     COMMENT 'status.storage.replication.factor',
  session_ms    COMMENT 'session.timeout.ms',
  rebalance_ms  COMMENT 'rebalance.timeout.ms',
  protocol      COMMENT 'connect.protocol (2.3.0 and later)',
  bootstrap     COMMENT 'bootstrap.servers',
  security      COMMENT 'security.protocol',
  worker_url, event_id
)
AS
SELECT s.process_id, max(p.kafka_cluster) AS kafka_cluster, max(CASE WHEN s.key = 'group.id' THEN s.value END) AS group_id,
  max(CASE WHEN s.key = 'config.storage.topic' THEN s.value END) AS config_topic,
  max(CASE WHEN s.key = 'offset.storage.topic' THEN s.value END) AS offset_topic,
  max(CASE WHEN s.key = 'status.storage.topic' THEN s.value END) AS status_topic,
  max(CASE WHEN s.key = 'config.storage.replication.factor' THEN try_cast(s.value AS INT) END) AS config_rf,
  max(CASE WHEN s.key = 'offset.storage.replication.factor' THEN try_cast(s.value AS INT) END) AS offset_rf,
  max(CASE WHEN s.key = 'status.storage.replication.factor' THEN try_cast(s.value AS INT) END) AS status_rf,
  max(CASE WHEN s.key = 'session.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS session_ms,
  max(CASE WHEN s.key = 'rebalance.timeout.ms' THEN try_cast(s.value AS BIGINT) END) AS rebalance_ms,
  max(CASE WHEN s.key = 'connect.protocol' THEN s.value END) AS protocol, max(CASE WHEN s.key = 'bootstrap.servers' THEN s.value END) AS bootstrap,
  max(CASE WHEN s.key = 'security.protocol' THEN s.value END) AS security, max(p.worker_url) AS worker_url,
  max_by(s.event_id, struct(s.key = 'group.id', s.event_id)) AS event_id
FROM setting s JOIN process p ON p.process_id = s.process_id WHERE s.component = 'DistributedConfig' GROUP BY s.process_id

-- One row per partition in the output of kafka-topics --describe.
-- Reads: snapshot
-- Grain: event_id
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW topic_partition (
  topic              COMMENT 'Topic',
  partition          COMMENT 'Number of the partition',
  leader             COMMENT 'Broker id of the leader; NULL: it had none',
  replicas           COMMENT 'Broker ids of the replicas, the preferred leader first',
  isr                COMMENT 'Broker ids of the replicas in sync',
  replication_factor COMMENT 'Number of replicas of this partition',
  under_replicated   COMMENT 'True when not all replicas are in sync',
  adding             COMMENT 'Replicas that a reassignment in progress adds',
  removing           COMMENT 'Replicas that a reassignment in progress removes',
  elr                COMMENT 'Eligible leader replicas (4.0 and later); NULL: not printed',
  topic_id           COMMENT 'Topic id (2.8 and later)',
  config             COMMENT 'Configurations of the topic that are not the default',
  taken_ts           COMMENT 'Time of the output; NULL: not in the file',
  path, line,
  event_id           COMMENT 'Its id, for `forensics show`'
)
AS
WITH topic_description AS (
  SELECT file_id, topic, max(topic_id) AS topic_id, max_by(config, struct(line, event_id)) AS config FROM snapshot
  WHERE event = 'topic_described' GROUP BY file_id, topic
)
SELECT p.topic, try_cast(regexp_extract(p.partition, '-([0-9]+)$', 1) AS INT) AS partition, p.broker_id AS leader, p.replicas, p.isr,
  size(p.replicas) AS replication_factor, size(p.isr) < size(p.replicas) AS under_replicated,
  CASE WHEN p.columns['Adding Replicas'] <> '' THEN split(p.columns['Adding Replicas'], ',') END AS adding,
  CASE WHEN p.columns['Removing Replicas'] <> '' THEN split(p.columns['Removing Replicas'], ',') END AS removing,
  CASE p.columns['Elr'] WHEN 'N/A' THEN NULL WHEN '' THEN CAST(array() AS ARRAY<STRING>) ELSE split(p.columns['Elr'], ',') END AS elr,
  coalesce(p.topic_id, t.topic_id) AS topic_id, t.config, p.ts AS taken_ts, p.path, p.line, p.event_id
FROM snapshot p LEFT JOIN topic_description t ON t.file_id = p.file_id AND t.topic = p.topic WHERE p.event = 'partition_described'

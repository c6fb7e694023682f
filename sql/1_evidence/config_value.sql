-- One row per key of a configuration that a process printed, or that a properties file, a REST response, or a dump of Connect's config
-- topic contains.
-- Reads: event, snapshot
-- Grain: event_id, key
-- Public: yes
-- A printed value is one that the process ran with. A value from a file is a saved one: it has no process and usually no time.
CREATE OR REPLACE TEMPORARY VIEW config_value (
  process_id COMMENT 'Process that printed it; NULL: it comes from a file that is not a log',
  instance   COMMENT 'Process run that printed it',
  component  COMMENT 'Component with this configuration: KafkaConfig, DistributedConfig, ConsumerConfig, ... as printed; worker, broker, controller,
    connector, task, consumer, producer, client, streams, mirror_maker, zookeeper or topic for a file, by its content',
  client_id  COMMENT 'client.id within it',
  task       COMMENT 'Connect task that it belongs to',
  connector  COMMENT 'Connector that it belongs to',
  key        COMMENT 'Property',
  value      COMMENT 'Value as printed; secrets are never stored',
  ts         COMMENT 'When it was printed, by its own clock; for a file, the time of the value if the file shows it',
  event_id,
  source     COMMENT 'log, properties, connect_rest, connect_topic or topics_described',
  topic      COMMENT 'Topic that it belongs to',
  path, line
)
AS
WITH configured_client AS (
  -- Looked up once per configuration, not once per key.
  SELECT event_id, config['client.id'] AS client_id FROM event WHERE event = 'config_dumped' AND client_id IS NULL AND config['client.id'] IS NOT NULL
)
SELECT e.process_id, e.instance, e.component, coalesce(e.client_id, n.client_id) AS client_id, e.task, e.connector, kv.key, kv.value, e.ts,
  e.event_id, 'log' AS source, CAST(NULL AS STRING) AS topic, e.path, e.line
FROM event e LEFT JOIN configured_client n ON n.event_id = e.event_id
LATERAL VIEW explode(e.config) kv AS key, value
WHERE e.event = 'config_dumped'
UNION ALL
SELECT NULL AS process_id, NULL AS instance, coalesce(s.component, 'topic') AS component, s.client_id, s.task, s.connector, kv.key, kv.value, s.ts,
  s.event_id, s.source_kind AS source, s.topic, s.path, s.line
FROM snapshot s
LATERAL VIEW explode(s.config) kv AS key, value

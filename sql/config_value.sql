-- One row per key of a configuration that a process printed.
-- Reads: event
-- Grain: event_id, key
CREATE OR REPLACE TEMPORARY VIEW config_value (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  component  COMMENT 'Whose configuration: KafkaConfig, DistributedConfig, ConsumerConfig, ...',
  client_id  COMMENT 'client.id within it',
  task       COMMENT 'Connect task that it belongs to',
  connector  COMMENT 'Connector that it belongs to',
  key        COMMENT 'Property',
  value      COMMENT 'Value as printed; secrets are never stored',
  ts         COMMENT 'When it was printed, by its own clock',
  event_id   COMMENT 'Event'
)
COMMENT 'One row per key of a configuration that a process printed.'
AS
SELECT e.process_id, e.instance, e.component, coalesce(e.client_id, e.config['client.id']), e.task, e.connector, kv.key, kv.value, e.ts, e.event_id
FROM event e LATERAL VIEW explode(e.config) kv AS key, value
WHERE e.event = 'config_dumped'

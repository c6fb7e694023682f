-- One row per process whose log names tasks or a worker but has none of Kafka's INFO lines about them, and per consumer likewise.
-- Reads: event_row, copied_log, damaged_line, process_life
-- Computed: forensics.logs.quiet_log
-- Grain: process_id, client
-- Kafka logs starts, stops, joins and assignments at INFO. Without these lines the owners of tasks and partitions are unknown: the log proves no
-- ownership, and its silence does not mean that all is well. A sink task that starts has a consumer, named after it unless configured otherwise. A
-- consumer that is closed or that logs a warning is named too. One that prints only its settings may be in no group, so a coordinator must name it.
CREATE OR REPLACE TEMPORARY VIEW quiet_log (
  process_id STRING,
  client STRING  COMMENT 'client.id of the consumer; NULL: the tasks and the worker of the process',
  from_ms BIGINT COMMENT 'First line that names it, by the log''s clock (milliseconds since 1970)',
  to_ms BIGINT   COMMENT 'Last such line'
)

-- One row per failure to reach a broker, or to have a coordinator, that no outage of a member shows.
-- Reads: fact_line, worker_setting, process, client_event, coordinator_outage, filtered_log, setting, lost_membership, lost_range
-- Computed: forensics.coordinators.unreached
-- Grain: kafka_cluster, subject, how, to_ms
CREATE OR REPLACE TEMPORARY VIEW unreached (
  how           STRING COMMENT 'refused, no_broker (a worker gives up when it starts), unreachable (several processes without INFO lines cannot reach
    a broker), not_named (a client is never given a coordinator), not_stored (a broker cannot store a group)',
  kafka_cluster STRING, group_id STRING,
  subject       STRING COMMENT 'The process, or `broker` and the number of an unreachable one',
  processes     ARRAY<STRING> COMMENT 'Processes whose logs show it',
  from_ms       BIGINT COMMENT 'First line (its own clock, milliseconds since 1970)',
  to_ms         BIGINT COMMENT 'A later start worked; unreachable: last line; NULL: no line shows an end',
  broker_id     BIGINT COMMENT 'Broker that cannot be reached, or prints it',
  address       STRING COMMENT 'Its address',
  missed_by     STRING COMMENT 'Another broker that cannot reach it',
  failures      BIGINT COMMENT 'Lines about it, without those in which a worker gives up',
  error         STRING COMMENT 'Error as printed',
  bootstrap     STRING COMMENT 'bootstrap.servers of the worker',
  security      STRING COMMENT 'security.protocol of the worker',
  starts        BIGINT COMMENT 'Starts of the worker that failed',
  event_ids     ARRAY<STRING> COMMENT 'First events',
  given_up_ids  ARRAY<STRING> COMMENT 'Events in which the worker gives up'
)

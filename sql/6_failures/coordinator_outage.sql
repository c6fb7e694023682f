-- One row for each period in which one member had no coordinator that answered, with the effects on the member.
-- Reads: client_event, fact_line, task_life, process_life, clock_offset, process_cluster, broker_generation, filtered_log, process, lost_range
-- Reads: event_row, copied_log, damaged_line, process_start
-- Computed: forensics.coordinators.coordinator_outage
-- Grain: process_id, group_id, client, lost_ms
-- A member finds the address of its coordinator again immediately, often that of a broker that is down. So only a line that follows from a response,
-- or a discovery without another loss soon after, ends an outage. A member that never found a coordinator has an outage from its start. librdkafka
-- prints its requests. If the discovered coordinator first responds that it is not the coordinator, the member had not found one.
CREATE OR REPLACE TEMPORARY VIEW coordinator_outage (
  kafka_cluster STRING,
  group_id STRING,
  process_id STRING,
  instance INT,
  client STRING,
  client_id STRING,
  is_worker BOOLEAN,
  task STRING,
  never BOOLEAN COMMENT 'True if it never found a coordinator in this process run',
  was_member BOOLEAN COMMENT 'True if it had been a member before, or had had its coordinator for long',
  broker_id BIGINT COMMENT 'Coordinator that was lost first',
  broker STRING COMMENT 'Its address',
  new_broker_id BIGINT COMMENT 'Coordinator that finally answered; if none did, the last one that was named and refused the member',
  is_refused BOOLEAN COMMENT 'True if the broker named as the new coordinator refused the member because it was not the coordinator',
  lost_ms BIGINT COMMENT 'Lost, by its own clock (milliseconds since 1970)',
  found_ms BIGINT COMMENT 'It answered again, or was found and not lost again; NULL: not in the log',
  closed_ms BIGINT COMMENT 'The member was closed before it found one, by its own clock',
  back_ms BIGINT COMMENT 'Member again (assignment received after a join); NULL: it did not have to join, or never did',
  last_ms BIGINT COMMENT 'Last line of the process in this run before it reported that it was stopping',
  lost_lo_ms BIGINT COMMENT 'Lost at this time at the earliest (reference clock)',
  lost_hi_ms BIGINT COMMENT 'Lost at this time at the latest',
  found_hi_ms BIGINT COMMENT 'Found, or closed, at this time at the latest; NULL: neither',
  reference_process_id STRING,
  duration_ms BIGINT COMMENT 'From lost to found, or to the last line, milliseconds; NULL: its clock stepped, or may have stepped, in the meantime',
  certain_ms BIGINT COMMENT 'It certainly lasted this long: up to the last line of a client that was created again after a silence;
    NULL: as long as duration_ms',
  losses BIGINT COMMENT 'How often a loss was printed',
  flaps BIGINT COMMENT 'How often it was lost within coordinator_settled_ms of being found',
  causes ARRAY<STRING> COMMENT 'Causes as printed',
  revoked BOOLEAN COMMENT 'True if the worker revoked its work, or the consumer its partitions, because of it',
  thrown_out BOOLEAN COMMENT 'True if it had lost its membership when it returned',
  left_group BOOLEAN COMMENT 'True if its poll timeout expired in the meantime',
  witness ARRAY<STRING>
)

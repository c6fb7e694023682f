-- One row for each time that a member lost its group's coordinator.
-- Reads: client_event, clock_offset, coordinator_outage
-- Computed: forensics.coordinators.coordinator_episode
-- Grain: process_id, group_id, client, lost_ts
-- Public: yes
-- Repeated losses before the coordinator is found again are one episode. Whether others also lost it is reported only if the bounds of the clocks
-- leave no doubt, and not for clocks that no message relates.
CREATE OR REPLACE TEMPORARY VIEW coordinator_episode (
  kafka_cluster STRING,
  group_id STRING,
  process_id STRING COMMENT 'Process of the member',
  client STRING,
  broker STRING COMMENT 'Coordinator that was lost',
  broker_id BIGINT COMMENT 'Its broker id',
  lost_ts TIMESTAMP COMMENT 'Lost, by its own clock',
  lost_lo TIMESTAMP COMMENT 'Earliest time of the loss (reference clock)',
  lost_hi TIMESTAMP COMMENT 'Latest time of the loss',
  found_ts TIMESTAMP COMMENT 'Found again, by its own clock; NULL: not shown, or the client was closed before',
  closed_ts TIMESTAMP COMMENT 'Its client was closed before it found the coordinator, by its own clock; NULL: it was not',
  duration_ms BIGINT COMMENT 'From losing the coordinator to finding it, milliseconds; NULL: its clock stepped meanwhile, or may have',
  losses BIGINT COMMENT 'How often the loss was printed',
  cause STRING COMMENT 'Cause as printed, of the first loss',
  scope STRING COMMENT 'Who else had no coordinator at that time (lost within episodes_together_ms, or absent meanwhile): member: nobody else; group:
    other members of the group; broker: also members of other groups of that broker; NULL: unknown, because the clock bounds are too wide',
  witness ARRAY<STRING>
)

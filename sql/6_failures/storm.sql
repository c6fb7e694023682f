-- One row per cause that made a group rebalance again and again, or for each period in which a group rebalanced continuously without such a cause.
-- Reads: storm_round, generation, member_generation, process_life, member_setting
-- Computed: forensics.memberships.storm
-- Grain: kafka_cluster, group_id, kind, subject, from_ms
CREATE OR REPLACE TEMPORARY VIEW storm (
  kafka_cluster STRING, group_id STRING,
  kind          STRING COMMENT 'returning, connector, idle (as in storm_round), pace (none of these causes)',
  subject       STRING COMMENT 'The member, the connector or, if kind is pace, the group; idle: the member that triggered most rounds',
  how           STRING COMMENT 'As in storm_round, in most rounds',
  from_ms       BIGINT COMMENT 'First round (milliseconds since 1970)',
  to_ms         BIGINT COMMENT 'Last round',
  returns       BIGINT COMMENT 'How often the cause came back; pace: from the first generation to the last',
  updated       BIGINT COMMENT 'How often the connector was updated',
  removed       BIGINT COMMENT 'How often it was removed',
  state_changes BIGINT COMMENT 'How often its state was changed',
  generations   BIGINT COMMENT 'Generations of the group meanwhile; NULL: none is known',
  trigger       STRING COMMENT 'Most frequent trigger of these',
  rounds_ms     BIGINT COMMENT 'Sum of their durations, milliseconds; NULL: unknown',
  longest_ms    BIGINT COMMENT 'Longest of these',
  paused_ms     BIGINT COMMENT 'Longest idle time of a member, milliseconds; NULL: unknown',
  revoked       BIGINT COMMENT 'Connectors and tasks that members had to revoke',
  is_connect    BOOLEAN COMMENT 'True for a group of Connect workers',
  starts        BIGINT COMMENT 'Starts of the process of that name from storm_start_ms before the first round to the last round',
  delay_ms      BIGINT COMMENT 'scheduled.rebalance.max.delay.ms of the group; NULL: unknown',
  event_ids     ARRAY<STRING> COMMENT 'Events of the first rounds; pace: of the first and the last generation'
)

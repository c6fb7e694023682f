-- One row for each time that one cause made a group rebalance: a member that returned, a connector that changed, or a round without a change.
-- Reads: generation, member_generation, member, fact_line, clock_offset
-- Computed: forensics.memberships.storm_round
-- Grain: kafka_cluster, group_id, kind, subject, at_ms, event_id
-- A member is identified by its process and client, by its group.instance.id, or by its client id and host. A member known only by its id can never
-- return.
CREATE OR REPLACE TEMPORARY VIEW storm_round (
  kafka_cluster STRING, group_id STRING,
  kind     STRING COMMENT 'returning, connector, idle',
  subject  STRING COMMENT 'The member or the connector; idle: the member that triggered the round, or `nobody known`',
  at_ms    BIGINT COMMENT 'When (milliseconds since 1970)',
  how      STRING COMMENT 'How the member had left, how the connector changed (updated, removed, state), or the trigger of the round',
  event_id STRING COMMENT 'Event that shows it'
)

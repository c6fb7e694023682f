-- One row per occurrence that a rule found, with its finding and its cause.
-- Reads: root_cause, join_round, split_brain, ownership, lost_membership, unowned, member_round, member, member_place, generation
-- Reads: member_generation, clock_offset, rules
-- Grain: occurrence_id
-- Words: by rule
-- Public: yes
-- Computed: forensics.causes.occurrences
-- Causes come first. Repeated occurrences with the same subject, incident and case of a rule (its code) are one finding; those of many
-- subjects are too, from repeat_times on. Users search by name for tasks and partitions with two owners, so these stay separate for longer.
-- The same trouble in another incident is another finding, until one cause has produced it in repeat_times incidents. An effect appears
-- below its cause and does not begin before it. The levels are: a lost coordinator, a lost membership, rebalances, work without an owner or
-- with two, records read twice. A warning without a known cause is an incident of its own with an unknown cause. A late commit joins it if
-- the same log shows how its member lost its membership.
CREATE OR REPLACE TEMPORARY VIEW occurrence (
  occurrence_id STRING        COMMENT 'Stable id of the occurrence',
  finding_id    STRING        COMMENT 'Finding that it belongs to',
  rule          STRING        COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      STRING        COMMENT 'critical, warning or note',
  verdict       STRING        COMMENT 'proved or undecided',
  kafka_cluster STRING, group_id STRING,
  subject       STRING        COMMENT 'Its subject: a task, partition, member, process or topic',
  from_ts       TIMESTAMP     COMMENT 'From',
  to_ts         TIMESTAMP     COMMENT 'To; NULL: open, or a point in time',
  lasted_ms     BIGINT        COMMENT 'How long it lasted, milliseconds; NULL: unknown',
  headline      STRING        COMMENT 'One sentence',
  explanation   STRING        COMMENT 'The facts and their consequences',
  advice        STRING        COMMENT 'Recommended change: the property, its current value, the new value and the reason',
  witness       ARRAY<STRING>,
  witness_role  ARRAY<STRING> COMMENT 'Role of each of these events; NULL: none',
  code          STRING        COMMENT 'Case of the rule, in a closed vocabulary',
  facts         STRING        COMMENT 'Named facts of the sentences, as JSON; unknown facts are left out',
  incident_id   STRING        COMMENT 'Incident that it belongs to; NULL: none, for example for a risky setting',
  caused_by     STRING        COMMENT 'Finding that caused it; NULL: the incident''s root cause did',
  caused_how    STRING        COMMENT 'Fact that connects it to that finding or to the root cause: cause (it proves it), member, process_life,
    coordinator, generation, resource, connector or group; NULL: none'
)

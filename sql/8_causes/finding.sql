-- One row per finding of any rule: repeated occurrences are one finding, described by the worst of them.
-- Reads: rules, root_cause, join_round, split_brain, ownership, lost_membership, unowned, member_round, member, member_place, generation
-- Reads: member_generation, clock_offset
-- Grain: finding_id
-- Words: by view
-- Public: yes
-- Computed: forensics.causes.findings
-- The worst is the longest or, if no duration is known, the last. Occurrences that belong to a few incidents are one finding for each.
-- The cause of a repeated finding is that of its first occurrence: so no finding begins before the one that caused it.
CREATE OR REPLACE TEMPORARY VIEW finding (
  finding_id    STRING        COMMENT 'Stable id of the finding',
  rule          STRING        COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      STRING        COMMENT 'critical, warning or note',
  verdict       STRING        COMMENT 'proved or undecided',
  kafka_cluster STRING, group_id STRING,
  subject       STRING        COMMENT 'Its subject: a task, partition, member, process or topic; for repeated occurrences the first ten',
  from_ts       TIMESTAMP     COMMENT 'From; for repeated occurrences the first',
  to_ts         TIMESTAMP     COMMENT 'To; NULL: open; for repeated occurrences the end of the last',
  headline      STRING        COMMENT 'One sentence',
  explanation   STRING        COMMENT 'The facts and their consequences',
  advice        STRING        COMMENT 'Recommended change: the property, its current value, the new value and the reason',
  witness       ARRAY<STRING> COMMENT 'Events that prove it; for repeated occurrences those of the worst, first and last: the view
    occurrence has all',
  occurrences   BIGINT        COMMENT 'Number of occurrences',
  subjects      BIGINT        COMMENT 'Number of different subjects',
  worst_id      STRING        COMMENT 'The worst of its occurrences',
  worst_ms      BIGINT        COMMENT 'How long the worst lasted, milliseconds; NULL: unknown',
  witness_role  ARRAY<STRING> COMMENT 'Role of each of these events; NULL: repeated occurrences',
  code          STRING        COMMENT 'Case of the rule, in a closed vocabulary',
  facts         STRING        COMMENT 'Named facts of the worst occurrence, as JSON; unknown facts are left out',
  incident_id   STRING        COMMENT 'Incident that it belongs to, or its first occurrence (the view incident has all); NULL: none, for example
    for a risky setting',
  caused_by     STRING        COMMENT 'Finding that caused it, or its first occurrence; NULL: the incident''s root cause did',
  caused_how    STRING        COMMENT 'Fact that connects it to that finding or to the root cause: cause (it proves it), member, process_life,
    coordinator, generation, resource, connector or group; NULL: none'
)

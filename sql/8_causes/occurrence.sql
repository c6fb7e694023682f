-- One row per occurrence that a rule found, with its finding and its cause.
-- Reads: occurrence_fact, finding_cause
-- Grain: occurrence_id
-- Words: by rule
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW occurrence (
  occurrence_id COMMENT 'Stable id of the occurrence',
  finding_id    COMMENT 'Finding that it belongs to',
  rule          COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'Its subject: a task, partition, member, process or topic',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To; NULL: open, or a point in time',
  lasted_ms     COMMENT 'How long it lasted, milliseconds; NULL: unknown',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and their consequences',
  advice        COMMENT 'Recommended change: the property, its current value, the new value and the reason',
  witness       COMMENT 'Events that prove it',
  witness_role  COMMENT 'Role of each of these events; NULL: none',
  code          COMMENT 'Case of the rule, in a closed vocabulary',
  facts         COMMENT 'Named facts of the sentences, as JSON; unknown facts are left out',
  incident_id   COMMENT 'Incident that it belongs to; NULL: none, for example for a risky setting',
  caused_by     COMMENT 'Finding that caused it; NULL: the incident''s root cause did',
  caused_how    COMMENT 'Fact that connects it to that finding or to the root cause: cause (it proves it), member, process_life,
    coordinator, generation, resource, connector or group; NULL: none'
)
COMMENT 'One row per occurrence that a rule found, with its finding and its cause.'
AS
SELECT
  o.occurrence_id AS occurrence_id,
  c.finding_id AS finding_id,
  o.rule AS rule,
  o.severity AS severity,
  o.verdict AS verdict,
  o.kafka_cluster AS kafka_cluster,
  o.group_id AS group_id,
  o.subject AS subject,
  timestamp_millis(o.from_ms) AS from_ts,
  timestamp_millis(o.to_ms) AS to_ts,
  o.lasted_ms AS lasted_ms,
  CAST(NULL AS STRING) AS headline,
  CAST(NULL AS STRING) AS explanation,
  CAST(NULL AS STRING) AS advice,
  o.witness AS witness,
  o.witness_role AS witness_role,
  o.code AS code,
  o.facts AS facts,
  c.incident_id AS incident_id,
  c.caused_by AS caused_by,
  c.caused_how AS caused_how
FROM occurrence_fact o
JOIN finding_cause c ON c.occurrence_id = o.occurrence_id

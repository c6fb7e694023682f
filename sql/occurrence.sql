-- One row per time that a rule found something, the finding that it is told with, and what caused it.
-- Reads: occurrence_fact, finding_cause
-- Grain: occurrence_id
-- Words: by rule
CREATE OR REPLACE TEMPORARY VIEW occurrence (
  occurrence_id COMMENT 'Stable id of the occurrence',
  finding_id    COMMENT 'Finding that tells it',
  rule          COMMENT 'Rule, the name of its file under rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about: a task, partition, member, process or topic',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To; NULL: open, or a moment',
  lasted_ms     COMMENT 'How long it lasted, milliseconds; NULL: no line tells',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows from them',
  advice        COMMENT 'What to change: the property, its value, what to set and why',
  witness       COMMENT 'Events that prove it',
  witness_role  COMMENT 'What each of these events shows; NULL: it has no role of its own',
  code          COMMENT 'Which of the rule''s cases it is, in a closed vocabulary',
  facts         COMMENT 'The named facts that the sentences tell, as JSON; a fact that is not known is left out',
  incident_id   COMMENT 'Incident that it belongs to; NULL: none, as of a setting that is only a risk',
  caused_by     COMMENT 'Finding that it is an effect of; NULL: of the incident''s cause itself',
  caused_how    COMMENT 'Fact that joins it to that finding, or to the cause: cause (it proves it), member, process_life, coordinator,
    generation, resource, connector or group; NULL: nothing does'
)
COMMENT 'One row per time that a rule found something, the finding that it is told with, and what caused it.'
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

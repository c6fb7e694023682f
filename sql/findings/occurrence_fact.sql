-- One row per time that a rule found something: its facts, before it is told and its cause is known.
-- Reads: rule_finding
-- Grain: occurrence_id
-- `rule_finding` holds the rows of every file under rules/: a new rule is one new file there.
CREATE OR REPLACE TEMPORARY VIEW occurrence_fact (
  occurrence_id COMMENT 'Stable id of the occurrence',
  rule          COMMENT 'Rule, the name of its file under rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ms       COMMENT 'From (milliseconds since 1970)',
  to_ms         COMMENT 'To; NULL: open, or a moment',
  lasted_ms     COMMENT 'How long it lasted, milliseconds; NULL: no line tells',
  witness       COMMENT 'Events that prove it',
  witness_role  COMMENT 'What each of these events shows; NULL: it has no role of its own',
  code          COMMENT 'Which of the rule''s cases it is',
  facts         COMMENT 'Named facts, as JSON'
)
COMMENT 'One row per time that a rule found something: its facts, before it is told and its cause is known.'
AS
SELECT
  left(sha2(concat_ws('|', rule, kafka_cluster, group_id, subject, facts, CAST(timestamp_millis(from_ms) AS STRING)), 256), 12)
    AS occurrence_id,
  rule AS rule,
  severity AS severity,
  verdict AS verdict,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  subject AS subject,
  from_ms AS from_ms,
  to_ms AS to_ms,
  to_ms - from_ms AS lasted_ms,
  witness AS witness,
  witness_role AS witness_role,
  code AS code,
  facts AS facts
FROM rule_finding

-- One row for each time that a rule found something: its facts, before words are added and its cause is known.
-- Reads: rule_finding
-- Grain: occurrence_id
-- `rule_finding` has the rows of every file in rules/. A new rule is one new file there.
CREATE OR REPLACE TEMPORARY VIEW occurrence_fact (
  occurrence_id COMMENT 'Stable id of the occurrence',
  rule          COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'Subject',
  from_ms       COMMENT 'From (milliseconds since 1970)',
  to_ms         COMMENT 'To; NULL: open, or a moment',
  lasted_ms     COMMENT 'Duration, milliseconds; NULL: unknown',
  witness       COMMENT 'Events that prove it',
  witness_role  COMMENT 'What each of these events shows; NULL: it has no role of its own',
  code          COMMENT 'Case of the rule',
  facts         COMMENT 'Named facts, as JSON'
)
COMMENT 'One row for each time that a rule found something: its facts, before words are added and its cause is known.'
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

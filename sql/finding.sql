-- One row per finding of any rule.
-- Reads: rule_finding
-- Grain: finding_id
-- `rule_finding` holds the rows of every file under rules/: a new rule is one new file there.
CREATE OR REPLACE TEMPORARY VIEW finding (
  finding_id    COMMENT 'Stable id of the finding',
  rule          COMMENT 'Rule, the name of its file under rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about: a task, partition, member, process or topic',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To; NULL: open',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows from them',
  advice        COMMENT 'What to change: the property, its value, what to set and why',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per finding of any rule.'
AS
SELECT
  left(sha2(concat_ws('|', rule, kafka_cluster, group_id, subject, headline, CAST(from_ts AS STRING)), 256), 12),
  rule, severity, verdict, kafka_cluster, group_id, subject, from_ts, to_ts, headline, explanation, advice, witness
FROM rule_finding

-- One row per time that a rule found something: its facts, before it is told and its cause is known.
-- Reads: rule_finding
-- Grain: occurrence_id
-- `rule_finding` holds the rows of every file under rules/: a new rule is one new file there. What happens to one subject again and
-- again, in the same case of a rule (its code), is one finding; what happens to many, from repeat_times on too. Tasks and partitions that
-- had two owners are looked for by name: they stay apart longer.
CREATE OR REPLACE TEMPORARY VIEW occurrence_fact (
  occurrence_id COMMENT 'Stable id of the occurrence',
  finding_id    COMMENT 'Finding that tells it',
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
WITH told AS (
  SELECT
    left(sha2(concat_ws('|', rule, kafka_cluster, group_id, subject, facts, CAST(timestamp_millis(from_ms) AS STRING)), 256), 12)
      AS occurrence_id,
    rule, severity, verdict, kafka_cluster, group_id, subject, from_ms, to_ms, to_ms - from_ms AS lasted_ms,
    witness, witness_role, code, facts
  FROM rule_finding
), counted AS (
  SELECT *, count(*) OVER (PARTITION BY rule, severity, verdict, kafka_cluster, group_id, code) AS alike
  FROM told
), kind AS (
  SELECT *,
    concat_ws('|', rule, severity, verdict, coalesce(kafka_cluster, '-'), coalesce(group_id, '-'), code,
      CASE WHEN alike < CASE WHEN rule LIKE 'split-brain-%' THEN repeat_resources ELSE repeat_times END
        -- Who surely had it first, and who then, is another story each time.
        THEN concat_ws('|', coalesce(subject, '-'), CASE WHEN verdict = 'proved' THEN concat_ws('|',
          get_json_object(facts, '$.process_a'), get_json_object(facts, '$.process_b')) END)
      END) AS kind
  FROM counted
)
SELECT
  occurrence_id,
  -- One that happened once keeps its own id.
  CASE WHEN count(*) OVER (PARTITION BY kind) = 1 THEN occurrence_id ELSE left(sha2(kind, 256), 12) END AS finding_id,
  rule, severity, verdict, kafka_cluster, group_id, subject, from_ms, to_ms, lasted_ms, witness, witness_role, code, facts
FROM kind

-- One row per time that a rule found something: its facts, before it is told and its cause is known.
-- Reads: rule_finding
-- Grain: occurrence_id
-- `rule_finding` holds the rows of every file under rules/: a new rule is one new file there. What happens to one subject again and
-- again, for the same cause, is one finding; what happens to many, from repeat_times on too. The cause is what the advice says without
-- names and numbers: what asks for the same thing to be done is of one kind. Tasks and partitions that had two owners are looked for by
-- name: they stay apart longer.
CREATE OR REPLACE TEMPORARY VIEW occurrence_fact (
  occurrence_id COMMENT 'Stable id of the occurrence',
  finding_id    COMMENT 'Finding that tells it',
  rule          COMMENT 'Rule, the name of its file under rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To; NULL: open, or a moment',
  lasted_ms     COMMENT 'How long it lasted, milliseconds; NULL: no line tells',
  headline      COMMENT 'One sentence, of a rule that has no words of its own',
  explanation   COMMENT 'The facts and what follows from them, of such a rule',
  advice        COMMENT 'What to change, of such a rule',
  witness       COMMENT 'Events that prove it',
  witness_role  COMMENT 'What each of these events shows; NULL: it has no role of its own',
  code          COMMENT 'Which of the rule''s cases it is',
  facts         COMMENT 'Named facts, as JSON'
)
COMMENT 'One row per time that a rule found something: its facts, before it is told and its cause is known.'
AS
WITH told AS (
  SELECT
    left(sha2(concat_ws('|', rule, kafka_cluster, group_id, subject, coalesce(facts, headline), CAST(from_ts AS STRING)), 256), 12)
      AS occurrence_id,
    rule, severity, verdict, kafka_cluster, group_id, subject, from_ts, to_ts, unix_millis(to_ts) - unix_millis(from_ts) AS lasted_ms,
    headline, explanation, advice, witness, witness_role, code, facts,
    coalesce(code, concat_ws(' ', filter(split(coalesce(advice, ''), ' '), w -> NOT w RLIKE '[0-9/]'
      AND NOT array_contains(split(concat_ws(', ', subject, group_id), ', '), regexp_replace(w, '^[(]+|[(),;:.]+$', ''))))) AS cause
  FROM rule_finding
), counted AS (
  SELECT *, count(*) OVER (PARTITION BY rule, severity, verdict, kafka_cluster, group_id, cause) AS alike
  FROM told
), kind AS (
  SELECT *,
    concat_ws('|', rule, severity, verdict, coalesce(kafka_cluster, '-'), coalesce(group_id, '-'), cause,
      CASE WHEN alike < CASE WHEN rule LIKE 'split-brain-%' THEN repeat_resources ELSE repeat_times END
        THEN coalesce(subject, '-') END) AS kind
  FROM counted
)
SELECT
  occurrence_id,
  -- One that happened once keeps its own id.
  CASE WHEN count(*) OVER (PARTITION BY kind) = 1 THEN occurrence_id ELSE left(sha2(kind, 256), 12) END AS finding_id,
  rule, severity, verdict, kafka_cluster, group_id, subject, from_ts, to_ts, lasted_ms, headline, explanation, advice, witness,
  witness_role, code, facts
FROM kind

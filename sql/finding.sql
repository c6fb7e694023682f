-- One row per finding of any rule: what repeats is one finding, told by its worst occurrence.
-- Reads: occurrence
-- Grain: finding_id
-- Words: by view
-- The worst is the longest, or, where no length is known, the last. What repeats because of a few incidents is one finding for each.
-- What repeats is an effect of what its first occurrence is an effect of: so no finding begins before the one that caused it.
CREATE OR REPLACE TEMPORARY VIEW finding (
  finding_id    COMMENT 'Stable id of the finding',
  rule          COMMENT 'Rule, the name of its file under rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about: a task, partition, member, process or topic; of what repeats the first ten',
  from_ts       COMMENT 'From; of what repeats the first',
  to_ts         COMMENT 'To; NULL: open; of what repeats the end of the last',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows from them',
  advice        COMMENT 'What to change: the property, its value, what to set and why',
  witness       COMMENT 'Events that prove it; of what repeats those of the worst, first and last: the view occurrence has all',
  occurrences   COMMENT 'How often it happened',
  subjects      COMMENT 'To how many it happened',
  worst_id      COMMENT 'The worst of its occurrences',
  worst_ms      COMMENT 'How long the worst lasted, milliseconds; NULL: no line tells',
  witness_role  COMMENT 'What each of these events shows; NULL: what repeats has no such list',
  code          COMMENT 'Which of the rule''s cases it is, in a closed vocabulary',
  facts         COMMENT 'The named facts that the sentences tell, of the worst, as JSON; a fact that is not known is left out',
  incident_id   COMMENT 'Incident that it belongs to, of what repeats the first (the view incident has all); NULL: none, as of a
    setting that is only a risk',
  caused_by     COMMENT 'Finding that it is an effect of, of what repeats the first; NULL: of the incident''s cause itself',
  caused_how    COMMENT 'Fact that joins it to that finding, or to the cause: cause (it proves it), member, process_life, coordinator,
    generation, resource, connector or group; NULL: nothing does'
)
COMMENT 'One row per finding of any rule: what repeats is one finding, told by its worst occurrence.'
AS
WITH grouped AS (
  SELECT
    finding_id, rule, severity, verdict, kafka_cluster, group_id,
    count(DISTINCT occurrence_id) AS n, array_sort(collect_set(subject)) AS names,
    min(from_ts) AS first_ts, max(coalesce(to_ts, from_ts)) AS last_ts, max(to_ts) AS only_to_ts,
    max_by(struct(occurrence_id, subject, headline, explanation, advice, witness, lasted_ms, witness_role, code, facts),
      struct(coalesce(lasted_ms, -1), from_ts, occurrence_id)) AS worst,
    min_by(struct(incident_id, caused_by, caused_how), struct(from_ts, occurrence_id)) AS cause,
    min_by(witness, struct(from_ts, occurrence_id)) AS first_witness,
    max_by(witness, struct(from_ts, occurrence_id)) AS last_witness
  FROM occurrence
  GROUP BY finding_id, rule, severity, verdict, kafka_cluster, group_id
)
SELECT
  finding_id AS finding_id,
  rule AS rule,
  severity AS severity,
  verdict AS verdict,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  CASE WHEN n = 1 THEN worst.subject ELSE array_join(slice(names, 1, 10), ', ') END AS subject,
  first_ts AS from_ts,
  CASE WHEN n = 1 THEN only_to_ts ELSE last_ts END AS to_ts,
  worst.headline AS headline,
  worst.explanation AS explanation,
  worst.advice AS advice,
  CASE WHEN n = 1 THEN worst.witness
    ELSE array_distinct(concat(worst.witness, slice(first_witness, 1, 4), slice(last_witness, 1, 4))) END AS witness,
  n AS occurrences,
  CAST(size(names) AS BIGINT) AS subjects,
  worst.occurrence_id AS worst_id,
  worst.lasted_ms AS worst_ms,
  CASE WHEN n = 1 THEN worst.witness_role END AS witness_role,
  worst.code AS code,
  worst.facts AS facts,
  cause.incident_id AS incident_id,
  cause.caused_by AS caused_by,
  cause.caused_how AS caused_how
FROM grouped

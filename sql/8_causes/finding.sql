-- One row per finding of any rule: repeated occurrences are one finding, described by the worst of them.
-- Reads: occurrence
-- Grain: finding_id
-- Words: by view
-- Public: yes
-- The worst is the longest or, if no duration is known, the last. Occurrences that belong to a few incidents are one finding for each.
-- The cause of a repeated finding is that of its first occurrence: so no finding begins before the one that caused it.
CREATE OR REPLACE TEMPORARY VIEW finding (
  finding_id    COMMENT 'Stable id of the finding',
  rule          COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster, group_id,
  subject       COMMENT 'Its subject: a task, partition, member, process or topic; for repeated occurrences the first ten',
  from_ts       COMMENT 'From; for repeated occurrences the first',
  to_ts         COMMENT 'To; NULL: open; for repeated occurrences the end of the last',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and their consequences',
  advice        COMMENT 'Recommended change: the property, its current value, the new value and the reason',
  witness       COMMENT 'Events that prove it; for repeated occurrences those of the worst, first and last: the view occurrence has all',
  occurrences   COMMENT 'Number of occurrences',
  subjects      COMMENT 'Number of different subjects',
  worst_id      COMMENT 'The worst of its occurrences',
  worst_ms      COMMENT 'How long the worst lasted, milliseconds; NULL: unknown',
  witness_role  COMMENT 'Role of each of these events; NULL: repeated occurrences',
  code          COMMENT 'Case of the rule, in a closed vocabulary',
  facts         COMMENT 'Named facts of the worst occurrence, as JSON; unknown facts are left out',
  incident_id   COMMENT 'Incident that it belongs to, or its first occurrence (the view incident has all); NULL: none, for example
    for a risky setting',
  caused_by     COMMENT 'Finding that caused it, or its first occurrence; NULL: the incident''s root cause did',
  caused_how    COMMENT 'Fact that connects it to that finding or to the root cause: cause (it proves it), member, process_life,
    coordinator, generation, resource, connector or group; NULL: none'
)
AS
WITH finding_summary AS (
  SELECT finding_id, rule, severity, verdict, kafka_cluster, group_id, count(DISTINCT occurrence_id) AS n,
    array_sort(collect_set(subject)) AS names, min(from_ts) AS first_ts, max(coalesce(to_ts, from_ts)) AS last_ts, max(to_ts) AS only_to_ts,
    max_by(struct(occurrence_id, subject, headline, explanation, advice, witness, lasted_ms, witness_role, code, facts),
      struct(coalesce(lasted_ms, -1), from_ts, occurrence_id)) AS worst,
    min_by(struct(incident_id, caused_by, caused_how), struct(from_ts IS NOT NULL, from_ts, occurrence_id)) AS cause,
    min_by(witness, struct(from_ts IS NOT NULL, from_ts, occurrence_id)) AS first_witness,
    max_by(witness, struct(from_ts IS NOT NULL, from_ts, occurrence_id)) AS last_witness
  FROM occurrence GROUP BY finding_id, rule, severity, verdict, kafka_cluster, group_id
)
SELECT finding_id, rule, severity, verdict, kafka_cluster, group_id,
  CASE WHEN n = 1 THEN worst.subject ELSE array_join(slice(names, 1, 10), ', ') END AS subject, first_ts AS from_ts,
  CASE WHEN n = 1 THEN only_to_ts ELSE last_ts END AS to_ts, worst.headline AS headline, worst.explanation AS explanation, worst.advice AS advice,
  CASE WHEN n = 1 THEN worst.witness ELSE array_distinct(concat(worst.witness, slice(first_witness, 1, 4), slice(last_witness, 1, 4))) END AS witness,
  n AS occurrences, CAST(size(names) AS BIGINT) AS subjects, worst.occurrence_id AS worst_id, worst.lasted_ms AS worst_ms,
  CASE WHEN n = 1 THEN worst.witness_role END AS witness_role, worst.code AS code, worst.facts AS facts, cause.incident_id AS incident_id,
  cause.caused_by AS caused_by, cause.caused_how AS caused_how
FROM finding_summary

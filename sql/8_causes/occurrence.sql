-- One row per occurrence that a rule found, with its finding and its cause.
-- Reads: occurrence_fact, effect, root_cause
-- Grain: occurrence_id
-- Words: by rule
-- Public: yes
-- Causes come first. Repeated occurrences with the same subject, incident and case of a rule (its code) are one finding; those of many
-- subjects are too, from repeat_times on. Users search by name for tasks and partitions with two owners, so these stay separate for longer.
-- The same trouble in another incident is another finding, until one cause has produced it in repeat_times incidents. An effect appears
-- below its cause and does not begin before it. The levels are: a lost coordinator, a lost membership, rebalances, work without an owner or
-- with two, records read twice. A warning without a known cause is an incident of its own with an unknown cause. A late commit joins it if
-- the same log shows how its member lost its membership.
CREATE OR REPLACE TEMPORARY VIEW occurrence (
  occurrence_id COMMENT 'Stable id of the occurrence',
  finding_id    COMMENT 'Finding that it belongs to',
  rule          COMMENT 'Rule, the name of its file in sql/7_rules/',
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster, group_id,
  subject       COMMENT 'Its subject: a task, partition, member, process or topic',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To; NULL: open, or a point in time',
  lasted_ms     COMMENT 'How long it lasted, milliseconds; NULL: unknown',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and their consequences',
  advice        COMMENT 'Recommended change: the property, its current value, the new value and the reason',
  witness,
  witness_role  COMMENT 'Role of each of these events; NULL: none',
  code          COMMENT 'Case of the rule, in a closed vocabulary',
  facts         COMMENT 'Named facts of the sentences, as JSON; unknown facts are left out',
  incident_id   COMMENT 'Incident that it belongs to; NULL: none, for example for a risky setting',
  caused_by     COMMENT 'Finding that caused it; NULL: the incident''s root cause did',
  caused_how    COMMENT 'Fact that connects it to that finding or to the root cause: cause (it proves it), member, process_life,
    coordinator, generation, resource, connector or group; NULL: none'
)
AS
WITH occurrence_with_cause AS (
  SELECT o.*, e.incident_id, e.caused_how, r.cause,
    CASE WHEN o.rule IN ('offsets-topic-unsatisfiable', 'generation-reset', 'duplicate-declaration', 'group-id-collision', 'static-member-fenced')
        THEN 0
      WHEN o.rule = 'coordinator-unavailable' THEN 1
      WHEN o.rule IN ('session-timeout', 'poll-timeout', 'config-lag', 'sink-group-shared') THEN 2
      WHEN o.rule = 'rebalance-storm' THEN 3
      WHEN o.rule IN ('rebalance-waits-for-ghost', 'slow-rebalance', 'heartbeat-rebalancing') THEN 4
      WHEN o.rule IN ('unassigned-tasks', 'zombie-task', 'assigned-not-working', 'stuck-partition') THEN 5
      WHEN o.rule IN ('split-brain-task', 'split-brain-partition') THEN 6
      WHEN o.rule IN ('stale-commit', 'offset-reset') THEN 7 END AS level
  FROM occurrence_fact o LEFT JOIN effect e ON e.occurrence_id = o.occurrence_id AND e.kind = 'whole'
  LEFT JOIN root_cause r ON r.incident_id = e.incident_id
), unexplained_loss AS (
  SELECT p.occurrence_id, p.rule, p.from_ms, coalesce(p.to_ms, p.from_ms) AS to_ms, k.begun_ms, k.kafka_cluster, k.group_id,
    k.name AS process_id, k.number AS instance
  FROM occurrence_with_cause p JOIN effect k ON k.occurrence_id = p.occurrence_id AND k.kind = 'process'
  WHERE p.incident_id IS NULL AND p.severity <> 'note' AND p.rule IN ('session-timeout', 'stale-commit')
), stale_commit_cause AS (
  SELECT c.occurrence_id, max_by(p.occurrence_id, struct(p.from_ms IS NOT NULL, p.from_ms, p.occurrence_id)) AS cause_id,
    max(c.process_id) AS process_id
  FROM unexplained_loss c
  JOIN unexplained_loss p ON p.rule = 'session-timeout' AND p.kafka_cluster <=> c.kafka_cluster AND p.group_id = c.group_id
    AND p.process_id = c.process_id AND p.instance <=> c.instance AND p.from_ms <= c.begun_ms AND c.from_ms <= p.to_ms + outage_untroubled_ms
  WHERE c.rule = 'stale-commit' GROUP BY c.occurrence_id
), scoped_occurrence AS (
  -- Trouble that returns for months, each time as an incident of its own, is one finding from repeat_times incidents on.
  SELECT *,
    CASE WHEN max(cause_nth) OVER (PARTITION BY rule, severity, verdict, kafka_cluster, group_id, code, cause) < repeat_times THEN cause_key
      ELSE coalesce(cause, '-') END AS scope
  FROM (
    SELECT *, dense_rank() OVER (PARTITION BY rule, severity, verdict, kafka_cluster, group_id, code, cause ORDER BY cause_key) AS cause_nth
    FROM (
      SELECT p.*, b.cause_id, coalesce(p.incident_id, b.process_id, '-') AS cause_key
      FROM occurrence_with_cause p LEFT JOIN stale_commit_cause b ON b.occurrence_id = p.occurrence_id
    )
  )
), counted_occurrence AS (
  SELECT *, count(*) OVER (PARTITION BY rule, severity, verdict, kafka_cluster, group_id, code, scope) AS alike FROM scoped_occurrence
), keyed_occurrence AS (
  SELECT *,
    concat_ws('|', rule, severity, verdict, coalesce(kafka_cluster, '-'), coalesce(group_id, '-'), code,
      CASE WHEN alike < CASE WHEN rule LIKE 'split-brain-%' THEN repeat_resources ELSE repeat_times END
        -- The pair of processes, the earlier owner first, distinguishes proved findings. So does the producer that fenced another.
        THEN concat_ws('|', coalesce(subject, '-'), CASE WHEN verdict = 'proved' THEN concat_ws('|',
          get_json_object(facts, '$.process_a'), get_json_object(facts, '$.process_b'), get_json_object(facts, '$.other_process_id')) END)
      END) AS kind
  FROM counted_occurrence
), occurrence_finding AS (
  SELECT *,
    CASE
      -- A single occurrence keeps its own id.
      WHEN count(*) OVER (PARTITION BY kind, scope) = 1 THEN occurrence_id
      WHEN min(scope) OVER (PARTITION BY kind) = max(scope) OVER (PARTITION BY kind) THEN left(sha2(kind, 256), 12)
      ELSE left(sha2(concat_ws('|', kind, scope), 256), 12) END AS finding_id
  FROM keyed_occurrence
), common_fact AS (
  SELECT p.occurrence_id, p.finding_id, p.incident_id, p.rule, p.level, p.cause, p.from_ms, k.begun_ms, k.kind, k.group_id,
    -- The common part of two facts without NULL: an engine that compares NULLs would first pair all facts of an incident.
    coalesce(k.kafka_cluster, '') AS common_cluster, coalesce(k.name, '') AS common_name,
    CASE WHEN k.kind <> 'process' THEN coalesce(k.number, -1) ELSE -1 END AS common_number,
    CASE WHEN k.kind NOT IN ('process', 'connector') THEN coalesce(k.group_id, '') ELSE '' END AS common_group,
    CASE k.kind WHEN 'member' THEN 1 WHEN 'generation' THEN 2 WHEN 'resource' THEN 3 WHEN 'process' THEN 4 WHEN 'connector'
      THEN 5 WHEN 'group' THEN 6 END AS rank
  FROM occurrence_finding p JOIN effect k ON k.occurrence_id = p.occurrence_id
  WHERE p.incident_id IS NOT NULL AND p.level IS NOT NULL AND k.kind NOT IN ('broker', 'whole')
), parent_finding AS (
  SELECT c.occurrence_id, p.finding_id AS caused_by, CASE c.kind WHEN 'process' THEN 'process_life' ELSE c.kind END AS caused_how,
    row_number() OVER (PARTITION BY c.occurrence_id ORDER BY p.level DESC, c.rank,
      CASE WHEN p.group_id <=> c.group_id THEN 0 ELSE 1 END, p.from_ms DESC, p.occurrence_id) AS nth
  FROM common_fact c
  JOIN common_fact p ON p.incident_id = c.incident_id AND p.kind = c.kind AND p.level < c.level AND p.finding_id <> c.finding_id
    AND p.common_cluster = c.common_cluster AND p.common_name = c.common_name AND p.common_number = c.common_number
    AND p.common_group = c.common_group
  WHERE (p.from_ms IS NULL OR c.begun_ms IS NULL OR p.from_ms <= c.begun_ms)
    -- A whole group suffers only from trouble that affects all of it.
    AND (p.kind <> 'group' OR p.level <= 1)
    -- If one member loses its coordinator and its membership, both have the same cause.
    AND (p.rule <> 'coordinator-unavailable' OR p.cause NOT IN ('process_paused', 'member_cut_off', 'process_killed'))
    -- A stalled rebalance delays only the work that it assigns.
    AND (p.rule NOT IN ('rebalance-waits-for-ghost', 'slow-rebalance') OR c.rule = 'unassigned-tasks') AND p.rule <> 'heartbeat-rebalancing'
), stale_commit_finding AS (
  SELECT c.finding_id, max_by(p.finding_id, struct(p.from_ms IS NOT NULL, p.from_ms, p.occurrence_id)) AS caused_by
  FROM occurrence_finding c JOIN occurrence_finding p ON p.occurrence_id = c.cause_id GROUP BY c.finding_id
)
SELECT o.occurrence_id, o.finding_id, o.rule, o.severity, o.verdict, o.kafka_cluster, o.group_id, o.subject, timestamp_millis(o.from_ms) AS from_ts,
  timestamp_millis(o.to_ms) AS to_ts, o.lasted_ms, CAST(NULL AS STRING) AS headline, CAST(NULL AS STRING) AS explanation,
  CAST(NULL AS STRING) AS advice, o.witness, o.witness_role, o.code, o.facts,
  CASE WHEN o.incident_id IS NOT NULL THEN o.incident_id
    WHEN o.level > 0 AND o.severity <> 'note' THEN left(sha2(concat_ws('|', 'alone', coalesce(b.caused_by, o.finding_id)), 256), 12)
  END AS incident_id,
  coalesce(c.caused_by, b.caused_by) AS caused_by,
  CASE WHEN o.incident_id IS NOT NULL THEN coalesce(c.caused_how, o.caused_how) WHEN b.caused_by IS NOT NULL THEN 'process_life' END AS caused_how
FROM occurrence_finding o LEFT JOIN parent_finding c ON c.occurrence_id = o.occurrence_id AND c.nth = 1
LEFT JOIN stale_commit_finding b ON b.finding_id = o.finding_id

-- One row per root cause. Repetitions of one kind in one place, at most storm_gap_ms apart, are one root cause.
-- Reads: process_trouble, coordinator_trouble, restart, slow_poll, proved_cause
-- Grain: incident_id
-- A cause follows from views, even if no rule reports its effects. A configuration that a rule reports is a cause by itself.
CREATE OR REPLACE TEMPORARY VIEW root_cause (
  incident_id   COMMENT 'Stable id of the incident',
  cause         COMMENT 'Cause, in a closed vocabulary',
  alternatives  COMMENT 'Possible causes, if the lines do not decide',
  kafka_cluster COMMENT 'Kafka cluster id; NULL: none',
  group_ids     COMMENT 'Affected groups',
  worker_group_id COMMENT 'Group of the workers with which members of sinks were lost; NULL: none, or the process is known',
  sink_members  COMMENT 'Number of these members of sinks',
  subject       COMMENT 'Process, broker, group, connector or group.instance.id where it began',
  process_ids   COMMENT 'Processes where it began',
  times         COMMENT 'How often it happened',
  parts         COMMENT 'Each time: process, process run, lost members, and its bounds',
  from_lo_ms    COMMENT 'Began at this time at the earliest (reference clock); NULL: always',
  from_hi_ms    COMMENT 'Began at this time at the latest',
  to_lo_ms      COMMENT 'Ended at this time at the earliest; NULL: still open, or always',
  to_hi_ms      COMMENT 'Ended at this time at the latest',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per root cause; repetitions of one kind in one place are one.'
AS
WITH any_cause AS (
  SELECT t.cause, t.alternatives, t.kafka_cluster, t.group_ids, t.process_id AS subject, t.of_group_id, t.process_id, t.instance,
    t.member_ids,
    t.from_lo_ms, t.from_hi_ms, t.to_lo_ms, t.to_hi_ms, t.witness
  FROM process_trouble t
  UNION ALL
  SELECT c.cause, c.alternatives, c.kafka_cluster, c.group_ids, c.subject, NULL, c.process_id, c.instance, CAST(array() AS ARRAY<STRING>),
    c.from_lo_ms, c.from_hi_ms, c.to_lo_ms, c.to_hi_ms, c.witness
  FROM coordinator_trouble c
  UNION ALL
  SELECT CASE WHEN r.is_deployment THEN 'deployment' ELSE 'process_restarted' END, CAST(array() AS ARRAY<STRING>), r.kafka_cluster,
    filter(array(r.group_id), g -> g IS NOT NULL), CASE WHEN NOT r.is_deployment THEN r.process_id ELSE coalesce(r.group_id,
      'brokers') END,
    NULL, r.process_id, r.instance, CAST(array() AS ARRAY<STRING>), r.from_lo_ms, r.from_hi_ms, r.to_lo_ms, r.to_hi_ms, r.witness
  FROM restart r
  LEFT ANTI JOIN coordinator_trouble c ON c.process_id = r.process_id AND c.instance = r.instance
  UNION ALL
  SELECT s.cause, s.alternatives, s.kafka_cluster, array(s.group_id), s.process_id, NULL, s.process_id, s.instance,
    filter(array(s.member_id), m -> m IS NOT NULL), s.from_lo_ms, s.from_hi_ms, s.from_lo_ms, s.from_hi_ms, s.witness
  FROM slow_poll s
  UNION ALL
  SELECT p.cause, CAST(array() AS ARRAY<STRING>), p.kafka_cluster, p.group_ids, p.subject, NULL, p.process_id, CAST(NULL AS INT),
    CAST(array() AS ARRAY<STRING>), p.since_ms, p.from_ms, p.to_ms, p.to_ms, p.witness
  FROM proved_cause p
), cause_with_chain AS (
  -- Two clusters that declare many connectors twice are one cause. So are removals without any other evidence, if the members are of one
  -- group, or are members of sinks that were lost with the same worker.
  SELECT *, concat_ws('|', cause, array_join(alternatives, ','), coalesce(kafka_cluster, '-'), CASE
    WHEN cause = 'duplicate_declaration' AND size(group_ids) > 1 THEN array_join(group_ids, ',')
      WHEN subject IS NULL THEN coalesce(of_group_id, array_join(group_ids, ',')) ELSE subject END) AS chain
  FROM any_cause
), cause_with_previous AS (
  SELECT *, max(coalesce(to_hi_ms, from_hi_ms)) OVER (PARTITION BY chain ORDER BY from_lo_ms, process_id, instance, witness
    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_ms
  FROM cause_with_chain
), cause_in_chain AS (
  SELECT *, count_if(coalesce(from_lo_ms - last_ms > storm_gap_ms, false)) OVER (PARTITION BY chain
    ORDER BY from_lo_ms, process_id, instance, witness ROWS UNBOUNDED PRECEDING) AS nth
  FROM cause_with_previous
)
SELECT
  left(sha2(concat_ws('|', chain, CAST(nth AS STRING), CAST(min(from_lo_ms) AS STRING)), 256), 12) AS incident_id,
  max(cause) AS cause,
  max(alternatives) AS alternatives,
  max(kafka_cluster) AS kafka_cluster,
  array_sort(array_distinct(flatten(collect_list(group_ids)))) AS group_ids,
  max(CASE WHEN of_group_id IS NOT NULL AND NOT array_contains(group_ids, of_group_id) THEN of_group_id END) AS worker_group_id,
  count_if(of_group_id IS NOT NULL AND NOT array_contains(group_ids, of_group_id)) AS sink_members,
  coalesce(array_join(slice(array_sort(collect_set(subject)), 1, 10), ', '), '') AS subject,
  array_sort(collect_set(process_id)) AS process_ids,
  count(*) AS times,
  sort_array(collect_list(struct(from_lo_ms, from_hi_ms, to_lo_ms, to_hi_ms, process_id, instance, member_ids))) AS parts,
  min(from_lo_ms) AS from_lo_ms,
  min(from_hi_ms) AS from_hi_ms,
  max_by(to_lo_ms, struct(from_lo_ms IS NOT NULL, from_lo_ms, process_id, instance)) AS to_lo_ms,
  max_by(to_hi_ms, struct(from_lo_ms IS NOT NULL, from_lo_ms, process_id, instance)) AS to_hi_ms,
  slice(array_distinct(flatten(sort_array(collect_list(witness)))), 1, 24) AS witness
FROM cause_in_chain
GROUP BY chain, nth

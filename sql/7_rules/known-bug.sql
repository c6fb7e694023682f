-- One row per known bug that a process of an affected release shows in its log.
-- Reads: known_bug, process, fact_line, client_event, split_brain, unstarted_task, worker_setting, clock_offset, setting
-- Reads: join_round
-- parsers/known_bugs.toml lists the affected releases of each bug. This rule finds the evidence in the log.
WITH process_release AS (
  -- Apache Kafka's release as an array of numbers, which compare in order. The third number of a Confluent build counts Confluent's patch releases,
  -- which follow those of Apache Kafka closely.
  SELECT process_id, kafka_version AS printed,
    CASE WHEN version_how = 'confluent' THEN concat(transform(split(replace(version_range, '.x'), '[.]'), x -> try_cast(x AS INT)),
      slice(n, 3, 1)) ELSE n END AS numbers
  FROM (
    SELECT *, transform(split(regexp_extract(kafka_version, '^([0-9]+([.][0-9]+)+)', 1), '[.]'), x -> try_cast(x AS INT)) AS n
    FROM process WHERE kafka_version RLIKE '^[0-9]+[.][0-9]+'
  )
), proved_overlap AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, process_a, process_b, cause, ownership_a, unix_millis(from_lo) AS from_lo_ms,
    unix_millis(coalesce(to_hi, from_hi)) AS to_hi_ms, facts.a_start_hi_at_ms AS a_start_ms,
    transform(witness, w -> named_struct('role', 'shows the two owners', 'event_id', w)) AS proof
  FROM split_brain WHERE verdict = 'proved'
), bug_line AS (
  SELECT f.event_id, f.kafka_cluster, f.group_id, f.process_id, f.instance, f.stream_pos, f.event, f.message, f.task, f.partition,
    f.group_instance_id, f.at_ms, f.at_ms - o.lo_ms AS reference_ms, f.worker_group_id
  FROM fact_line f LEFT JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
), worker_line AS (
  SELECT * FROM client_event WHERE is_worker
), connector_restart AS (
  SELECT process_id, min(event_id) AS event_id FROM fact_line WHERE event = 'restart_executing' GROUP BY process_id
), self_revocation AS (
  SELECT process_id, instance, group_id, max(at_ms) AS at_ms, max_by(event_id, struct(at_ms IS NOT NULL, at_ms, event_id)) AS event_id
  FROM worker_line WHERE event = 'worker_revoking' GROUP BY process_id, instance, group_id
), source_task AS (
  -- Only a source task has a producer of this name.
  SELECT DISTINCT process_id, task FROM setting WHERE component = 'ProducerConfig' AND task IS NOT NULL
), worker_assignment AS (
  -- The assignment of a worker in a generation without its revocations, which since 2.3 is everything that it may run. A connector may have the same
  -- name as a task of another one.
  SELECT r.kafka_cluster, r.group_id, r.generation, r.leader_member_id, r.process_id, r.worker_assigned_id AS event_id,
    r.worker_assigned_ms - o.lo_ms AS reference_ms, r.generation = max(r.generation) OVER (PARTITION BY r.kafka_cluster, r.group_id) AS is_last,
    array_except(e.assigned_tasks, coalesce(e.revoked_tasks, CAST(array() AS ARRAY<STRING>))) AS tasks,
    array_except(e.assigned_connectors, coalesce(e.revoked_connectors, CAST(array() AS ARRAY<STRING>))) AS connectors
  FROM join_round r JOIN worker_line e ON e.event_id = r.worker_assigned_id
  LEFT JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
  WHERE r.is_worker AND r.leader_member_id IS NOT NULL
), assigned_resource AS (
  SELECT kafka_cluster, group_id, generation, leader_member_id, process_id, event_id, reference_ms, is_last, 'task' AS kind,
    explode(tasks) AS resource
  FROM worker_assignment
  UNION ALL
  SELECT kafka_cluster, group_id, generation, leader_member_id, process_id, event_id, reference_ms, is_last, 'connector', explode(connectors)
  FROM worker_assignment
), resource_assigned_twice AS (
  -- A leader uses each generation number once.
  SELECT kafka_cluster, group_id, generation, leader_member_id, resource, bool_or(is_last) AS is_last, max(reference_ms) AS reference_ms,
    array_sort(collect_set(process_id)) AS processes,
    transform(array_sort(collect_set(event_id)), e -> named_struct('role', 'shows the assignment of one worker', 'event_id', e)) AS proof
  FROM assigned_resource GROUP BY kafka_cluster, group_id, generation, leader_member_id, kind, resource
  HAVING min(process_id) <> max(process_id)
), bug_evidence AS (
  SELECT 'KAFKA-9184' AS bug, process_a AS process_id, kafka_cluster, group_id, resource AS subject, from_lo_ms AS reference_ms,
    ownership_a AS mark, proof
  FROM proved_overlap WHERE resource_kind = 'task' AND cause = 'kept_running_through_lost_coordinator'
  UNION ALL
  SELECT 'KAFKA-9841' AS bug, min(element_at(processes, 1)) OVER (PARTITION BY kafka_cluster, group_id), kafka_cluster, group_id, resource,
    reference_ms, CAST(generation AS STRING), proof
  FROM resource_assigned_twice
  UNION ALL
  SELECT 'KAFKA-13719' AS bug, r.process_id, s.kafka_cluster, s.group_id, s.resource, s.from_lo_ms, s.ownership_a,
    concat(s.proof, array(named_struct('role', 'restarts the connector with its tasks', 'event_id', r.event_id)))
  FROM proved_overlap s JOIN connector_restart r ON r.process_id IN (s.process_a, s.process_b)
  WHERE s.resource_kind = 'task' AND s.cause = 'restart_of_task_not_owned'
  UNION ALL
  SELECT 'KAFKA-14639' AS bug, process_a, kafka_cluster, group_id, resource, from_lo_ms, ownership_a, proof FROM proved_overlap
  WHERE resource_kind = 'partition' AND cause = 'same_generation_assigned_twice'
  UNION ALL
  -- It left its group because of its own poll timeout, and another worker started the task that it was still running.
  SELECT 'KAFKA-16056' AS bug, s.process_a, s.kafka_cluster, s.group_id, s.resource, s.from_lo_ms, s.ownership_a,
    concat(s.proof, array(named_struct('role', 'leaves after its poll timeout', 'event_id', c.event_id)))
  FROM proved_overlap s JOIN worker_line c ON c.process_id = s.process_a AND c.event = 'poll_timeout' AND c.group_id = s.group_id
  JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference
  WHERE s.resource_kind = 'task' AND c.at_ms - o.lo_ms BETWEEN s.from_lo_ms - bug_long_ms AND s.to_hi_ms
    -- The task already ran then, and was not asked to stop afterwards.
    AND s.a_start_ms <= c.at_ms AND NOT s.cause <=> 'graceful_stop_failed'
  UNION ALL
  SELECT 'KAFKA-9849' AS bug, f.process_id, f.kafka_cluster, f.worker_group_id, f.process_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'cannot read the config topic in time', 'event_id', f.event_id),
      named_struct('role', 'leaves the group', 'event_id', c.event_id))
  FROM bug_line f
  JOIN worker_line c ON c.process_id = f.process_id AND c.instance = f.instance AND c.event = 'leaving' AND c.stream_pos > f.stream_pos
    AND c.at_ms - f.at_ms < bug_short_ms
  WHERE f.event = 'config_read_timeout' AND f.worker_group_id IS NOT NULL
  UNION ALL
  SELECT 'KAFKA-9851' AS bug, d.process_id, d.kafka_cluster, d.group_id, d.task, d.from_ms, d.event_id,
    array(named_struct('role', 'revokes its tasks itself', 'event_id', c.event_id), named_struct('role', 'assigned again', 'event_id', d.event_id))
  FROM (
    SELECT kafka_cluster, group_id, process_id, explode(tasks) AS task, from_ms, event_ids[0] AS event_id FROM unstarted_task
  ) d
  JOIN self_revocation c ON c.process_id = d.process_id AND c.group_id = d.group_id
  JOIN clock_offset o ON o.process_id = d.process_id AND o.is_island_reference AND c.at_ms - (o.lo_ms + o.hi_ms) DIV 2 <= d.from_ms
  UNION ALL
  SELECT 'KAFKA-10763' AS bug, f.process_id, f.kafka_cluster, f.worker_group_id, f.process_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'skips the revocations', 'event_id', f.event_id))
  FROM bug_line f JOIN worker_setting w ON w.process_id = f.process_id AND w.protocol IN ('compatible', 'sessioned')
  WHERE f.event = 'revocation_skipped' AND f.worker_group_id IS NOT NULL
  UNION ALL
  SELECT 'KAFKA-10340' AS bug, f.process_id, f.kafka_cluster, f.worker_group_id, f.task, f.reference_ms, f.event_id,
    array(named_struct('role', 'the worker gives up on the task', 'event_id', f.event_id))
  FROM bug_line f JOIN source_task p ON p.process_id = f.process_id AND p.task = f.task
  WHERE f.event = 'task_stop_failed' AND f.worker_group_id IS NOT NULL
  UNION ALL
  SELECT 'KAFKA-13586' AS bug, f.process_id, f.kafka_cluster, f.worker_group_id, f.process_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'the herder ends', 'event_id', f.event_id))
  FROM bug_line f
  WHERE f.event = 'herder_failed'
    AND EXISTS (SELECT 1 FROM bug_line u WHERE u.process_id = f.process_id AND u.event = 'connector_config_updated'
      AND f.at_ms - u.at_ms BETWEEN 0 AND bug_short_ms)
  UNION ALL
  SELECT 'KAFKA-7941' AS bug, f.process_id, f.kafka_cluster, f.worker_group_id, f.process_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'the reading thread ends', 'event_id', f.event_id))
  FROM bug_line f WHERE f.event = 'internal_log_failed' AND f.message LIKE 'Unexpected exception in Thread[KafkaBasedLog%'
  UNION ALL
  SELECT 'KAFKA-12984' AS bug, f.process_id, f.kafka_cluster, f.group_id, coalesce(f.partition, f.group_id), f.reference_ms, f.event_id,
    array(named_struct('role', 'names the members that claim one partition', 'event_id', f.event_id))
  FROM bug_line f WHERE f.event = 'assignment_conflict' AND f.message LIKE 'Found multiple consumers%'
  UNION ALL
  SELECT 'KAFKA-10284' AS bug, f.process_id, f.kafka_cluster, f.group_id, f.group_instance_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'loads the group', 'event_id', l.event_id), named_struct('role', 'fences the member', 'event_id', f.event_id))
  FROM bug_line f
  JOIN bug_line l ON l.process_id = f.process_id AND l.event = 'group_loaded' AND l.group_id = f.group_id AND l.stream_pos < f.stream_pos
    AND f.at_ms - l.at_ms < group_loaded_ms
  WHERE f.event = 'member_fenced_by_broker' AND f.group_instance_id IS NOT NULL
  UNION ALL
  SELECT 'KAFKA-13636' AS bug, f.process_id, f.kafka_cluster, f.group_id, f.group_id, f.reference_ms, f.event_id,
    array(named_struct('role', 'expires offsets', 'event_id', f.event_id))
  FROM bug_line f
  WHERE f.event = 'offsets_expired' AND f.group_id IS NOT NULL
    AND EXISTS (SELECT 1 FROM bug_line g WHERE g.kafka_cluster = f.kafka_cluster AND g.group_id = f.group_id
      AND g.event = 'position_missing'
      AND abs(g.at_ms - f.at_ms) < bug_long_ms)
), affected_process AS (
  SELECT m.bug, m.kafka_cluster, m.group_id, m.process_id, min(m.reference_ms) AS from_ms, max(m.reference_ms) AS to_ms,
    array_sort(collect_set(m.subject)) AS subjects, count(DISTINCT m.mark) AS times, max(r.printed) AS printed, max(b.fixed) AS fixed,
    flatten(sort_array(collect_list(m.proof))) AS proof
  FROM bug_evidence m JOIN process_release r ON r.process_id = m.process_id
  JOIN known_bug b ON b.bug = m.bug AND r.numbers >= b.since AND (b.until IS NULL OR r.numbers < b.until)
  GROUP BY m.bug, m.kafka_cluster, m.group_id, m.process_id
)
SELECT 'warning' AS severity, 'proved' AS verdict, a.kafka_cluster, a.group_id, a.bug AS subject, a.from_ms, a.to_ms, a.bug AS code,
  struct(a.process_id, a.printed AS release, a.fixed, a.times, a.subjects, coalesce(w.processes, array(a.process_id)) AS processes,
    coalesce(w.is_open, false) AS is_open) AS facts,
  -- Proofs share lines; each line is cited once.
  slice(filter(a.proof, (p, i) -> array_position(transform(a.proof, q -> q.event_id), p.event_id) = i + 1), 1, 8) AS proof
FROM affected_process a
LEFT JOIN (
  SELECT kafka_cluster, group_id, array_sort(array_distinct(flatten(collect_list(processes)))) AS processes, bool_or(is_last) AS is_open
  FROM resource_assigned_twice GROUP BY kafka_cluster, group_id
) w ON a.bug = 'KAFKA-9841' AND w.kafka_cluster = a.kafka_cluster AND w.group_id = a.group_id

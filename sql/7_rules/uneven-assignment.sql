-- One row per group whose last generation left members without work, or put most tasks of a Connect group on few workers.
-- Reads: generation, member_generation, open_rebalance
-- Only generations whose members and their assignments are all in the logs count, and only if these assignments are all that the group
-- had before: a cooperative rebalance takes partitions away one generation before it gives them to others.
WITH member_share AS (
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation, coalesce(m.process_id, m.member_id) AS owner, m.task, m.assigned,
    size(coalesce(m.assigned, array())) AS parts,
    -- A task ends with its number; a connector of such a name counts as a task.
    size(filter(coalesce(m.assigned, array()), x -> x RLIKE '-[0-9]+$')) AS numbered, size(coalesce(m.revoked, array())) AS revoked,
    coalesce(m.delay_ms, 0L) AS delay_ms, m.member_id, m.witness, unix_millis(m.synced_ts) AS synced_ms
  FROM member_generation m
), generation_share AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.protocol_type, g.assignor, g.member_count,
    min(unix_millis(coalesce(g.assigned_ts, g.last_synced_ts, g.stabilized_ts))) AS from_ms, count(s.assigned) AS shown,
    count(DISTINCT s.member_id) AS members, sum(s.parts) AS parts, min(s.parts) AS least, max(s.parts) AS most, min(s.numbered) AS least_tasks,
    max(s.numbered) AS most_tasks, sum(s.numbered) AS tasks, count_if(s.parts = 0) AS idle, sum(s.revoked) AS revoked, max(s.delay_ms) AS delay_ms,
    count(s.task) AS sink_tasks, array_sort(collect_set(CASE WHEN s.parts = 0 THEN s.owner END)) AS idle_members,
    sort_array(collect_list(concat(s.owner, ': ', s.parts))) AS shares, sort_array(collect_list(concat(s.owner, ': ', s.numbered))) AS task_shares,
    slice(sort_array(array_distinct(flatten(collect_list(slice(s.witness, -1, 1))))), 1, 8) AS event_ids
  FROM generation g
  JOIN member_share s ON s.kafka_cluster = g.kafka_cluster AND s.group_id = g.group_id AND s.incarnation = g.incarnation
    AND s.generation = g.generation
  WHERE g.group_protocol = 'classic' AND g.is_count_told AND NOT coalesce(g.assignor LIKE 'stream%', false)
  GROUP BY g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.protocol_type, g.assignor, g.member_count
), settled_generation AS (
  -- Whole generations that give everything away that any generation of the group gave.
  SELECT *,
    shown = member_count AND members = member_count AND member_count > 1 AND sink_tasks = 0 AND revoked = 0 AND delay_ms = 0
      AND parts = max(parts) OVER (PARTITION BY kafka_cluster, group_id, incarnation) AS is_settled
  FROM generation_share
), judged_generation AS (
  SELECT *,
    CASE WHEN NOT is_settled THEN NULL
      WHEN protocol_type = 'consumer' AND idle > 0 AND parts < member_count AND parts > 0 THEN 'more_members'
      WHEN protocol_type = 'consumer' AND idle > 0 AND parts >= member_count THEN 'idle_members'
      -- Connectors and tasks are balanced apart, each to within one.
      WHEN protocol_type = 'connect' AND most_tasks - least_tasks >= 2 AND most - least >= uneven_tasks THEN 'piled_tasks' END AS code
  FROM settled_generation
), last_generation AS (
  SELECT g.*, s.since, s.since_ms FROM judged_generation g
  JOIN (
    SELECT kafka_cluster, group_id, max_by(incarnation, struct(incarnation, generation)) AS incarnation,
      max_by(generation, struct(incarnation, generation)) AS generation
    FROM generation GROUP BY kafka_cluster, group_id
  ) l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.incarnation = g.incarnation AND l.generation = g.generation
  JOIN (
    -- The first generation since the last one that is known to have been otherwise.
    SELECT a.kafka_cluster, a.group_id, a.incarnation, min(a.generation) AS since, min_by(a.from_ms, a.generation) AS since_ms
    FROM judged_generation a
    LEFT JOIN (SELECT kafka_cluster, group_id, incarnation, max(generation) AS generation FROM judged_generation WHERE code IS NULL
      GROUP BY kafka_cluster, group_id, incarnation) b
      ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.incarnation = a.incarnation
    WHERE a.code IS NOT NULL AND (b.generation IS NULL OR a.generation > b.generation) GROUP BY a.kafka_cluster, a.group_id, a.incarnation
  ) s ON s.kafka_cluster = g.kafka_cluster AND s.group_id = g.group_id AND s.incarnation = g.incarnation
  LEFT ANTI JOIN open_rebalance o ON o.kafka_cluster = g.kafka_cluster AND o.group_id = g.group_id
  WHERE g.code IS NOT NULL
)
SELECT CASE code WHEN 'piled_tasks' THEN 'warning' ELSE 'note' END AS severity, 'proved' AS verdict, kafka_cluster, group_id,
  concat('generation ', generation) AS subject, since_ms AS from_ms, CAST(NULL AS BIGINT) AS to_ms, code,
  struct(generation, since AS since_generation, member_count AS members, parts, idle, idle_members,
    CASE code WHEN 'piled_tasks' THEN task_shares ELSE shares END AS shares, least_tasks AS least, most_tasks AS most, tasks, assignor) AS facts,
  transform(event_ids, e -> named_struct('role', 'assigned', 'event_id', e)) AS proof
FROM last_generation

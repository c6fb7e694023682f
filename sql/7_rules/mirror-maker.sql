-- One row per period in which periodic work of MirrorMaker 2 failed or fell behind, and per two connectors that copied the same partitions
-- at the same time.
-- Reads: event, config_value, process_life, process_cluster, filtered_log, clock_offset
-- A flow is `source->target`, by the aliases of the two clusters; only cluster ids prove that two flows of this name are the same. MirrorMaker's own
-- driver runs a herder for each flow in one JVM, in the group `source-mm2` of the target cluster, and its connectors have the same names in all
-- flows. A task copies from the line with its partitions until it reports that it stopped, or as long as its process prints.
WITH mirror_line AS (
  SELECT e.process_id, e.instance, e.event, e.event_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.group_id, e.connector, e.task,
    e.client_id, e.client_kind, e.kafka_cluster_id, e.partitions, coalesce(e.duration_ms, 0) AS duration_ms,
    CASE WHEN e.event IN ('mirror_task_replicating', 'mirror_task_checkpointing', 'mirror_sync_failed') THEN e.text END AS flow,
    CASE WHEN e.event = 'mirror_group_sync_failed' THEN 'sync of a group''s offsets' ELSE e.operation END AS work,
    e.event LIKE 'mirror\\_%sync\\_failed' AS is_failed_line, coalesce(e.cause LIKE 'took too long%', false) AS is_late,
    coalesce(e.message LIKE '%currently using this group%', false) AS is_in_use,
    coalesce(e.root_error, e.error, regexp_extract(e.cause, '^\\w+(Exception|Error)$', 0)) AS error
  FROM event e WHERE e.event LIKE 'mirror\\_%' OR e.event = 'kafka_cluster_id' AND (e.task IS NOT NULL OR e.client_kind = 'Worker')
), printed_setting AS (
  SELECT process_id, instance, connector, key, max(value) AS printed FROM config_value
  WHERE source = 'log' AND component RLIKE '^Mirror(Source|Checkpoint)Config$' AND (key LIKE '%.interval.seconds' OR key LIKE 'replication.policy.%')
  GROUP BY process_id, instance, connector, key
  HAVING count(DISTINCT value) = 1
), mirror_process AS (
  SELECT l.process_id, l.instance, max(c.kafka_cluster) AS kafka_cluster, max(c.worker_group_id) AS group_id, max(f.flow) AS flow,
    max(o.reference_process_id) AS island, max(o.lo_ms) AS lo_ms, max(o.hi_ms) AS hi_ms, max(l.last_ms) AS last_ms,
    max(l.stopping_ms) AS stopping_ms, bool_or(o.stepped OR q.process_id IS NOT NULL) AS is_unsure
  FROM process_life l
  JOIN (SELECT process_id, instance, CASE WHEN count(DISTINCT flow) = 1 THEN max(flow) END AS flow FROM mirror_line
    WHERE event LIKE 'mirror\\_%' GROUP BY process_id, instance) f ON f.process_id = l.process_id AND f.instance = l.instance
  JOIN process_cluster c ON c.process_id = l.process_id AND c.instance = l.instance AND c.is_life_last
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  LEFT JOIN filtered_log q ON q.process_id = l.process_id
  GROUP BY l.process_id, l.instance
), work_interval AS (
  SELECT process_id, instance, CASE key WHEN 'refresh.topics.interval.seconds' THEN 'refreshing topics'
      WHEN 'refresh.groups.interval.seconds' THEN 'refreshing consumer groups'
      WHEN 'sync.topic.configs.interval.seconds' THEN 'syncing topic configs'
      WHEN 'sync.topic.acls.interval.seconds' THEN 'syncing topic ACLs'
      WHEN 'sync.group.offsets.interval.seconds' THEN 'sync idle consumer group offset from source to target' END AS work,
    max(try_cast(printed AS BIGINT)) * 1000 AS interval_ms
  FROM printed_setting GROUP BY process_id, instance, key
), work_line AS (
  SELECT m.*, p.kafka_cluster, p.group_id AS worker_group_id, p.flow AS only_flow, (p.lo_ms + p.hi_ms) DIV 2 AS ahead_ms,
    -- Work of a connector or task that is stopped while it starts fails too.
    m.is_failed_line AND NOT m.is_late AND coalesce(m.error NOT LIKE '%has already been closed%', true) AS is_failure,
    m.is_late OR m.event = 'mirror_synced' AND m.duration_ms > greatest(i.interval_ms, mirror_slow_ms) AS is_slow
  FROM mirror_line m JOIN mirror_process p ON p.process_id = m.process_id AND p.instance = m.instance
  LEFT JOIN work_interval i ON i.process_id = m.process_id AND i.instance = m.instance AND i.work = m.work
  WHERE m.work IS NOT NULL AND coalesce(m.at_ms < p.stopping_ms, true)
), trouble_line AS (
  SELECT *, count_if(coalesce(is_apart, true)) OVER (PARTITION BY process_id, instance ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS spell
  FROM (
    SELECT *, at_ms - lag(at_ms) OVER (PARTITION BY process_id, instance ORDER BY stream_pos) > storm_gap_ms AS is_apart
    FROM work_line
    WHERE is_failure OR is_slow)
), trouble AS (
  SELECT process_id, instance, spell, max(kafka_cluster) AS kafka_cluster, max(ahead_ms) AS ahead_ms, max(worker_group_id) AS group_id,
    array_sort(collect_set(coalesce(flow, only_flow))) AS flows,
    min(at_ms - duration_ms) AS from_ms, max(at_ms) AS to_ms, max(stream_pos) AS last_pos, count_if(is_failure) AS failures,
    -- At INFO, work that exceeded the limit prints its duration twice.
    greatest(count_if(is_slow AND event = 'mirror_synced'), count_if(is_late)) AS slow, max(duration_ms) AS longest_ms,
    array_sort(collect_set(work)) AS works, bool_and(is_in_use) AS is_in_use, array_sort(collect_set(group_id)) AS groups,
    max_by(error, -stream_pos) FILTER (WHERE is_failure AND error <> '') AS error,
    slice(sort_array(collect_list(struct(stream_pos, event_id, is_failure))), 1, 8) AS lines
  FROM trouble_line GROUP BY process_id, instance, spell
), ended_trouble AS (
  -- The same work was done in time afterwards. Its line names no flow.
  SELECT t.process_id, t.instance, t.spell, min(w.at_ms) AS again_ms, min_by(w.event_id, w.stream_pos) AS again_id
  FROM trouble t
  JOIN work_line w ON w.process_id = t.process_id AND w.instance = t.instance AND w.event = 'mirror_synced'
    AND NOT coalesce(w.is_slow, false) AND w.stream_pos > t.last_pos AND array_contains(t.works, w.work)
  GROUP BY t.process_id, t.instance, t.spell
), line_with_end AS (
  SELECT m.*, min(CASE WHEN event = 'mirror_stopped' OR event = 'mirror_task_replicating' THEN at_ms END)
      OVER (PARTITION BY process_id, instance, task ORDER BY stream_pos ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS end_ms
  FROM mirror_line m WHERE m.task IS NOT NULL
), copying_task AS (
  -- The driver's producers have the same client id in all flows, so the cluster that a flow copies to is that of its worker.
  SELECT m.process_id, m.instance, m.event_id, m.task, m.connector, m.flow, m.partitions, p.kafka_cluster, p.island, p.is_unsure,
    coalesce(p.group_id, concat(split(m.flow, '->')[0], '-mm2')) AS place,
    m.at_ms - p.lo_ms AS from_hi_ms, least(m.end_ms, p.last_ms) - p.hi_ms AS to_lo_ms, m.at_ms - p.hi_ms AS from_lo_ms,
    max(c.kafka_cluster_id) FILTER (WHERE c.client_kind = 'Consumer') AS source_id,
    coalesce(max(w.kafka_cluster_id), max(c.kafka_cluster_id) FILTER (WHERE c.client_id LIKE 'connector-producer-%'
      AND p.group_id IS NOT NULL)) AS target_id,
    max(r.printed) AS policy
  FROM line_with_end m JOIN mirror_process p ON p.process_id = m.process_id AND p.instance = m.instance
  LEFT JOIN mirror_line c ON c.event = 'kafka_cluster_id' AND c.process_id = m.process_id AND c.instance = m.instance AND c.task = m.task
    AND (c.client_id NOT LIKE '%->%' OR startswith(c.client_id, concat(m.flow, '|')))
  LEFT JOIN mirror_line w ON w.event = 'kafka_cluster_id' AND w.process_id = m.process_id AND w.instance = m.instance
    AND w.client_kind = 'Worker' AND w.group_id = coalesce(p.group_id, concat(split(m.flow, '->')[0], '-mm2'))
  LEFT JOIN printed_setting r ON r.process_id = m.process_id AND r.instance = m.instance AND r.connector = m.connector
    AND r.key = 'replication.policy.class'
  WHERE m.event = 'mirror_task_replicating'
  GROUP BY m.process_id, m.instance, m.event_id, m.task, m.connector, m.flow, m.partitions, p.kafka_cluster, p.island, p.is_unsure,
    p.group_id, m.at_ms, p.lo_ms, p.hi_ms, m.end_ms, p.last_ms
), doubled AS (
  SELECT 0 AS spell, a.flow, a.place, a.connector, b.place AS other_place, b.connector AS other_connector, max(a.kafka_cluster) AS kafka_cluster,
    max(coalesce(a.source_id = b.source_id AND a.target_id = b.target_id AND a.island = b.island AND NOT a.is_unsure AND NOT b.is_unsure,
      false)) AS is_sure,
    max(coalesce(a.source_id = b.source_id AND a.target_id = b.target_id, false)) AS is_same_clusters, max(a.source_id) AS source_id,
    max(a.target_id) AS target_id, array_sort(array_distinct(flatten(collect_list(array_intersect(a.partitions, b.partitions))))) AS partitions,
    array_sort(collect_set(a.process_id)) AS processes, array_sort(collect_set(b.process_id)) AS other_processes,
    min(greatest(a.from_lo_ms, b.from_lo_ms)) AS from_ms, max(CASE WHEN a.island = b.island THEN least(a.to_lo_ms, b.to_lo_ms) END) AS to_ms,
    max(CASE WHEN a.island = b.island THEN least(a.to_lo_ms, b.to_lo_ms) - greatest(a.from_hi_ms, b.from_hi_ms) END) AS both_ms,
    slice(array_sort(collect_set(a.event_id)), 1, 4) AS ids, slice(array_sort(collect_set(b.event_id)), 1, 4) AS other_ids
  FROM copying_task a
  JOIN copying_task b ON b.flow = a.flow AND arrays_overlap(a.partitions, b.partitions)
    AND (a.place < b.place OR a.place = b.place AND a.connector < b.connector)
    AND coalesce(a.source_id = b.source_id, true) AND coalesce(a.target_id = b.target_id, true) AND coalesce(a.policy = b.policy, true)
  WHERE NOT a.island <=> b.island OR least(a.to_lo_ms, b.to_lo_ms) > greatest(a.from_hi_ms, b.from_hi_ms)
  GROUP BY a.flow, a.place, a.connector, b.place, b.connector
)
SELECT CASE WHEN d.is_sure THEN 'critical' WHEN t.is_in_use OR t.failures + t.slow = 1 AND e.again_ms IS NOT NULL THEN 'note'
    ELSE 'warning' END AS severity,
  CASE WHEN NOT d.is_sure THEN 'undecided' ELSE 'proved' END AS verdict, coalesce(t.kafka_cluster, d.kafka_cluster) AS kafka_cluster,
  coalesce(d.place, t.group_id, CASE WHEN size(t.flows) = 1 THEN concat(split(t.flows[0], '->')[0], '-mm2') END) AS group_id,
  coalesce(t.process_id, d.flow) AS subject, coalesce(t.from_ms - t.ahead_ms, d.from_ms) AS from_ms,
  coalesce(e.again_ms - t.ahead_ms, t.to_ms - t.ahead_ms, d.to_ms) AS to_ms,
  CASE WHEN d.flow IS NOT NULL THEN 'doubled' WHEN t.is_in_use THEN 'group_in_use' WHEN t.failures > 0 THEN 'failed' ELSE 'slow' END AS code,
  struct(coalesce(t.flows, array(d.flow)) AS flows, t.process_id, t.works, t.groups, t.failures, t.slow, t.longest_ms,
    regexp_replace(t.error, '([a-z0-9_]{1,60}[.]){1,12}([A-Z])', '$2') AS error, t.to_ms - t.ahead_ms AS last_ms, e.again_ms - t.ahead_ms AS again_ms,
    d.connector, d.place, d.processes, d.other_connector, d.other_place, d.other_processes, d.partitions, d.both_ms, d.is_same_clusters) AS facts,
  concat(transform(coalesce(t.lines, array()), x -> named_struct('role', CASE WHEN x.is_failure THEN 'fails' ELSE 'takes too long' END, 'event_id',
    x.event_id)), array(named_struct('role', 'done in time again', 'event_id', e.again_id)),
    transform(coalesce(d.ids, array()), x -> named_struct('role', 'copies them', 'event_id', x)),
    transform(coalesce(d.other_ids, array()), x -> named_struct('role', 'copies them too', 'event_id', x))) AS proof
FROM trouble t
-- No time of trouble has the number of a pair: each row is one or the other.
FULL OUTER JOIN doubled d ON d.spell = t.spell
LEFT JOIN ended_trouble e ON e.process_id = t.process_id AND e.instance = t.instance AND e.spell = t.spell

-- One row per group whose committed offsets stood still, fell behind or went back between outputs of kafka-consumer-groups --describe.
-- Reads: lag_change
WITH change AS (
  SELECT *, from_offset = to_offset AS stands, what = 'commit_advanced' AND lag_growth > 0 AS falls_behind,
    unix_millis(from_ts) AS from_ms, unix_millis(to_ts) AS to_ms,
    -- The outputs may be of two clusters. If a topic was recreated, the offsets before and after it cannot be compared.
    bool_or(what = 'end_went_back') OVER (PARTITION BY series, group_id) AS is_mixed
  FROM lag_change WHERE from_ts IS NOT NULL AND to_ts IS NOT NULL
), numbered AS (
  SELECT *, count_if(NOT coalesce(stands, false)) OVER w AS stand, count_if(NOT coalesce(falls_behind, false)) OVER w AS fall
  FROM change WHERE NOT coalesce(is_mixed, false)
  WINDOW w AS (PARTITION BY series, group_id, partition ORDER BY from_ms, event_id ROWS UNBOUNDED PRECEDING)
), any_span AS (
  SELECT 'stands_still' AS code, kafka_cluster, group_id, series, partition, min(from_ms) AS from_ms, max(to_ms) AS to_ms, count(*) + 1 AS outputs,
    sum(lag_growth) AS lag_growth, max_by(to_end - to_offset, struct(to_ms, event_id)) AS lag, max(to_offset) AS offset,
    CAST(NULL AS BIGINT) AS before, max(owner) AS last_owner, min(owner) AS first_owner, max(to_member_id) AS member_id,
    min_by(from_event_id, struct(from_ms, event_id)) AS first_id, max_by(event_id, struct(to_ms, event_id)) AS last_id
  FROM numbered n WHERE n.stands
  GROUP BY n.kafka_cluster, n.group_id, n.series, n.partition, n.stand
  HAVING max(n.to_ms) - min(n.from_ms) >= commit_stands_ms AND sum(n.written) > 0
  UNION ALL
  SELECT 'falls_behind' AS code, kafka_cluster, group_id, series, partition, min(from_ms), max(to_ms), count(*) + 1, sum(lag_growth),
    max_by(to_end - to_offset, struct(to_ms, event_id)), max(to_offset), min(from_offset), max(owner), min(owner), max(to_member_id),
    min_by(from_event_id, struct(from_ms, event_id)), max_by(event_id, struct(to_ms, event_id))
  FROM numbered n WHERE n.falls_behind
  GROUP BY n.kafka_cluster, n.group_id, n.series, n.partition, n.fall
  HAVING count(*) >= stuck_steps AND max(n.to_ms) - min(n.from_ms) >= unassigned_long_ms
  UNION ALL
  SELECT 'went_back' AS code, kafka_cluster, group_id, series, partition, from_ms, to_ms, 2, lag_growth, to_end - to_offset, to_offset, from_offset,
    owner, owner, to_member_id, from_event_id, event_id
  FROM numbered WHERE what = 'commit_went_back'
), gravest_span AS (
  -- One finding for each group and kind: the partition whose lag grew most.
  SELECT *, row_number() OVER (PARTITION BY kafka_cluster, group_id, series, code ORDER BY lag_growth DESC, partition, from_ms) AS nth
  FROM any_span
), kind AS (
  SELECT kafka_cluster, group_id, series, code, sort_array(collect_set(partition)) AS partitions FROM any_span
  GROUP BY kafka_cluster, group_id, series, code
), moved AS (
  SELECT g.last_id, g.code, count(DISTINCT n.partition) AS others_moved
  FROM gravest_span g
  JOIN numbered n ON n.series = g.series AND n.group_id = g.group_id AND n.partition <> g.partition AND n.what = 'commit_advanced'
    AND n.from_ms >= g.from_ms AND n.to_ms <= g.to_ms
  WHERE g.nth = 1 GROUP BY g.last_id, g.code
)
SELECT CASE g.code WHEN 'stands_still' THEN 'warning' ELSE 'note' END AS severity, 'undecided' AS verdict, g.kafka_cluster, g.group_id,
  g.partition AS subject, g.from_ms, g.to_ms, g.code,
  struct(k.partitions, size(k.partitions) AS number, g.outputs, g.from_ms AS from_at_ms, g.to_ms AS to_at_ms, g.to_ms - g.from_ms AS lasted_ms,
    g.offset, g.before, g.lag, g.lag_growth, CASE WHEN g.first_owner = g.last_owner THEN g.first_owner ELSE 'changed' END AS owner,
    g.member_id, coalesce(m.others_moved, 0) AS others_moved) AS facts,
  array(named_struct('role', 'first output', 'event_id', g.first_id), named_struct('role', 'last output', 'event_id', g.last_id)) AS proof
FROM gravest_span g
JOIN kind k ON k.kafka_cluster <=> g.kafka_cluster AND k.group_id = g.group_id AND k.series = g.series AND k.code = g.code
LEFT JOIN moved m ON m.last_id = g.last_id AND m.code = g.code
WHERE g.nth = 1

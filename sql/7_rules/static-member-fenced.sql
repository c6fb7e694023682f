-- One row per group.instance.id that two members used at the same time, or per fenced member whose log does not print the id.
-- Reads: client_event, fact_line, clock_offset
WITH client_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, event, event_id, at_ms,
    coalesce(group_instance_id, lag(group_instance_id) IGNORE NULLS OVER w) AS group_instance_id,
    coalesce(member_id, lag(member_id) IGNORE NULLS OVER w) AS member_id,
    -- librdkafka prints the error, but not the group.instance.id.
    coalesce(coalesce(error, cause) RLIKE '(?i)same group[.]instance[.]id|fenced.?instance', false) AS is_static
  FROM client_event
  WINDOW w AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos)
), fencing_line AS (
  SELECT c.kafka_cluster, c.group_id, c.group_instance_id, c.process_id, c.instance, c.client, c.member_id, c.at_ms - o.hi_ms AS at_ms, c.event_id
  FROM client_line c JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference
  -- A member of the consumer protocol (KIP-848) is also fenced by its epoch, without any group.instance.id.
  WHERE c.event = 'member_fenced' AND c.group_instance_id IS NOT NULL
    OR c.event IN ('member_fenced', 'heartbeat_failed', 'join_failed', 'sync_failed') AND c.is_static
  UNION ALL
  -- Many members learn of it when they commit, and exit.
  SELECT f.kafka_cluster, f.group_id, f.group_instance_id, f.process_id, f.instance, f.client_id AS client, f.member_id,
    f.at_ms - o.hi_ms AS at_ms, f.event_id
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event = 'commit_failed' AND f.group_instance_id IS NOT NULL AND f.said RLIKE '(?i)group.instance.id'
  UNION ALL
  SELECT kafka_cluster, group_id, group_instance_id, CAST(NULL AS STRING) AS process_id, CAST(NULL AS INT) AS instance,
    CAST(NULL AS STRING) AS client, CAST(NULL AS STRING) AS member_id, at_ms, event_id
  FROM fact_line WHERE event = 'member_fenced_by_broker' AND group_instance_id IS NOT NULL
), static_id_users AS (
  SELECT kafka_cluster, group_id, group_instance_id, array_sort(collect_set(process_id)) AS users FROM client_event
  WHERE group_instance_id IS NOT NULL GROUP BY kafka_cluster, group_id, group_instance_id
), single_group_id AS (
  SELECT kafka_cluster, group_instance_id, max(group_id) AS group_id
  FROM (
    SELECT kafka_cluster, group_id, group_instance_id FROM static_id_users
    UNION
    SELECT kafka_cluster, group_id, group_instance_id FROM fact_line
    WHERE event = 'static_member_replaced' AND group_instance_id IS NOT NULL
  )
  GROUP BY kafka_cluster, group_instance_id
  HAVING count(*) = 1
), fencing_in_group AS (
  -- Not every line of a broker names the group. If only one group uses this id, it is that one.
  SELECT f.kafka_cluster, coalesce(f.group_id, u.group_id) AS group_id, f.group_instance_id, f.process_id, f.instance, f.client,
    f.member_id, f.at_ms, f.event_id
  FROM fencing_line f LEFT JOIN single_group_id u ON u.kafka_cluster = f.kafka_cluster AND u.group_instance_id = f.group_instance_id
), fenced_members AS (
  SELECT kafka_cluster, group_id, group_instance_id, array_sort(collect_set(process_id)) AS fenced, min(at_ms) AS first_ms, max(at_ms) AS last_ms,
    CASE WHEN count(DISTINCT process_id) = 1 THEN max(process_id) END AS process_id,
    CASE WHEN count(DISTINCT process_id, instance) = 1 THEN max(instance) END AS instance,
    CASE WHEN count(DISTINCT process_id, client) = 1 THEN nullif(max(client), '-') END AS client,
    CASE WHEN count(DISTINCT member_id) = 1 THEN max(member_id) END AS member_id, slice(array_sort(collect_list(event_id)), 1, 12) AS event_ids
  FROM fencing_in_group
  GROUP BY kafka_cluster, group_id, group_instance_id, CASE WHEN group_instance_id IS NULL THEN concat(process_id, ' ', client) END
), replaced_members AS (
  SELECT kafka_cluster, group_id, group_instance_id, count(*) AS times, slice(array_sort(collect_list(event_id)), 1, 4) AS event_ids
  FROM fact_line WHERE event = 'static_member_replaced' GROUP BY kafka_cluster, group_id, group_instance_id
)
SELECT 'critical' AS severity, 'proved' AS verdict, f.kafka_cluster, f.group_id,
  coalesce(f.group_instance_id, concat_ws(' ', f.process_id, f.client)) AS subject, f.first_ms AS from_ms, f.last_ms AS to_ms,
  CASE WHEN f.group_instance_id IS NULL THEN 'id_not_printed' ELSE 'fenced' END AS code,
  struct(f.process_id, f.instance, f.client, f.member_id, f.first_ms AS first_at_ms, f.fenced, u.users, array_except(u.users, f.fenced) AS others,
    r.times AS replacements) AS facts,
  concat(transform(f.event_ids, x -> named_struct('role', 'fenced', 'event_id', x)),
    transform(coalesce(r.event_ids, array()), x -> named_struct('role', 'broker replaced the member', 'event_id', x))) AS proof
FROM fenced_members f
LEFT JOIN static_id_users u ON u.kafka_cluster = f.kafka_cluster AND u.group_id <=> f.group_id AND u.group_instance_id = f.group_instance_id
LEFT JOIN replaced_members r ON r.kafka_cluster = f.kafka_cluster AND r.group_id <=> f.group_id AND r.group_instance_id = f.group_instance_id

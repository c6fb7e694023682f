-- One row per pair of connectors that are declared to do the same work.
-- Reads: config_value, process_cluster, fact_line, holding, clock_offset
WITH printed_line AS (
  -- Workers print two views of a connector: Connect's own, and the connector class's in the connector's context.
  SELECT c.kafka_cluster, c.worker_group_id AS place, c.worker_group_id AS group_id, v.connector,
    v.component RLIKE '^(Source|Sink)?ConnectorConfig$|EnrichedConnectorConfig$' AS by_connect,
    v.component, v.key, v.value, v.ts, v.event_id, unix_millis(v.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms
  FROM config_value v LEFT JOIN clock_offset o ON o.process_id = v.process_id AND o.is_island_reference
  JOIN process_cluster c ON c.process_id = v.process_id AND c.instance = v.instance AND c.is_life_last AND c.worker_group_id IS NOT NULL
  WHERE v.source = 'log' AND v.connector IS NOT NULL AND v.task IS NULL
    AND NOT v.component RLIKE '(Producer|Consumer|AdminClient|Task|Distributed|Converter|Transformation|Transforms|Predicate)Config$'
), printed_setting AS (
  SELECT kafka_cluster, place, group_id, connector, by_connect, component, key, max_by(value, struct(ts IS NOT NULL, ts, event_id)) AS value,
    max_by(event_id, struct(ts IS NOT NULL, ts, event_id)) AS event_id, min(at_ms) AS first_ms
  FROM printed_line GROUP BY kafka_cluster, place, group_id, connector, by_connect, component, key
), stored_setting AS (
  -- A file of REST answers or of the config topic has complete configurations. Two such files may be of one cluster, so only connectors of one file
  -- are compared.
  SELECT v.path AS place, v.connector, v.key, max_by(v.value, struct(v.ts IS NOT NULL, v.ts, v.line, v.event_id)) AS value,
    max_by(v.event_id, struct(v.ts IS NOT NULL, v.ts, v.line, v.event_id)) AS event_id
  FROM config_value v WHERE v.source IN ('connect_rest', 'connect_topic') AND v.component = 'connector' AND v.connector IS NOT NULL
  GROUP BY v.path, v.connector, v.key
), declaration AS (
  -- The settings that distinguish connectors: Connect's own settings for the input, and everything that the connector class prints.
  SELECT kafka_cluster, place, group_id, connector, 'log' AS source,
    max(CASE WHEN by_connect AND key = 'connector.class' THEN value END) AS connector_class, bool_or(by_connect AND key = 'topics') AS is_sink,
    array_sort(collect_set(CASE WHEN by_connect AND key IN ('topics', 'topics.regex', 'transforms')
      AND coalesce(value, '') NOT IN ('', '[]', 'null') THEN concat(key, '=', value) END)) AS connect_settings,
    array_sort(collect_set(CASE WHEN NOT by_connect AND key NOT IN ('name', 'tasks.max', 'connector.class', 'task.class')
      THEN concat(component, ': ', key, '=', coalesce(value, 'null')) END)) AS own_settings,
    array_sort(collect_set(event_id)) AS event_ids, min(first_ms) AS first_ms
  FROM printed_setting GROUP BY kafka_cluster, place, group_id, connector
  UNION ALL
  SELECT CAST(NULL AS STRING) AS kafka_cluster, place, CAST(NULL AS STRING) AS group_id, connector, 'file' AS source,
    max(CASE WHEN key = 'connector.class' THEN value END) AS connector_class, bool_or(key IN ('topics', 'topics.regex')) AS is_sink,
    array() AS connect_settings,
    array_sort(collect_set(CASE WHEN key NOT IN ('name', 'tasks.max', 'connector.class')
      THEN concat(key, '=', coalesce(value, 'null')) END)) AS own_settings,
    array_sort(collect_set(event_id)) AS event_ids, CAST(NULL AS BIGINT) AS first_ms
  FROM stored_setting GROUP BY place, connector
), deleted_connector AS (
  SELECT DISTINCT f.worker_group_id AS group_id, f.connector FROM fact_line f WHERE f.event = 'connector_config_removed' AND f.connector IS NOT NULL
), current_declaration AS (
  SELECT d.* FROM declaration d
  LEFT ANTI JOIN deleted_connector x ON x.group_id = d.group_id AND x.connector = d.connector
  WHERE d.connector_class IS NOT NULL AND size(d.own_settings) > 0
), equal_pair AS (
  SELECT a.kafka_cluster, a.source, a.connector_class, a.own_settings, a.is_sink, a.group_id, a.place, a.connector,
    b.group_id AS other_group_id, b.place AS other_place, b.connector AS other_connector,
    CASE WHEN a.first_ms IS NOT NULL AND b.first_ms IS NOT NULL THEN greatest(a.first_ms, b.first_ms) END AS both_ms,
    slice(a.event_ids, 1, 4) AS event_ids, slice(b.event_ids, 1, 4) AS other_event_ids
  FROM current_declaration a
  JOIN current_declaration b ON b.source = a.source AND b.connector_class = a.connector_class
    AND b.own_settings = a.own_settings AND b.connect_settings = a.connect_settings
    AND (coalesce(a.place, '') < coalesce(b.place, '') OR a.place <=> b.place AND a.connector < b.connector)
  WHERE (a.source = 'log' OR a.place = b.place)
    -- Sinks of the same name in one Kafka cluster share a group, so no record goes to both.
    AND NOT (a.is_sink AND a.connector = b.connector AND a.kafka_cluster <=> b.kafka_cluster)
), worker_process AS (
  SELECT DISTINCT process_id, worker_group_id AS group_id FROM process_cluster
), connector_with_work AS (
  SELECT DISTINCT w.group_id, regexp_replace(h.resource, '-[0-9]+$', '') AS connector FROM holding h
  JOIN worker_process w ON w.process_id = h.process_id
  WHERE h.resource_kind = 'task' AND h.first_sign_ms IS NOT NULL
), unique_pair AS (
  -- A file may repeat a pair that the logs already show.
  SELECT p.*,
    row_number() OVER (PARTITION BY least(p.connector, p.other_connector), greatest(p.connector, p.other_connector), p.connector_class,
      p.place = p.other_place ORDER BY CASE p.source WHEN 'log' THEN 0 ELSE 1 END, p.place, p.other_place, p.kafka_cluster, p.connector,
      p.other_connector) AS nth
  FROM equal_pair p
), double_declaration AS (
  SELECT p.*, x.group_id IS NOT NULL AND y.group_id IS NOT NULL AS has_both_run FROM unique_pair p
  LEFT JOIN connector_with_work x ON x.group_id = p.group_id AND x.connector = p.connector
  LEFT JOIN connector_with_work y ON y.group_id = p.other_group_id AND y.connector = p.other_connector
  WHERE p.nth = 1
)
SELECT CASE WHEN f.has_both_run THEN 'critical' ELSE 'warning' END AS severity, 'proved' AS verdict, f.kafka_cluster, f.group_id,
  CASE WHEN f.connector = f.other_connector THEN f.connector ELSE concat(f.connector, ', ', f.other_connector) END AS subject,
  CAST(NULL AS BIGINT) AS from_ms, CAST(NULL AS BIGINT) AS to_ms,
  CASE WHEN f.place = f.other_place THEN 'two_names'
    WHEN f.connector = f.other_connector THEN 'two_clusters'
    ELSE 'two_names_two_clusters' END AS code,
  struct(f.connector, f.other_connector, f.place, f.other_place, f.connector_class,
    transform(f.own_settings, x -> regexp_replace(x, '^[A-Za-z$]+: ', '')) AS settings, coalesce(f.is_sink, false) AS is_sink, f.has_both_run,
    f.both_ms AS both_at_ms) AS facts,
  concat(transform(f.event_ids, x -> named_struct('role', 'declares the first connector', 'event_id', x)),
    transform(f.other_event_ids, x -> named_struct('role', 'declares the second connector', 'event_id', x))) AS proof
FROM double_declaration f

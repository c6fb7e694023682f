-- One row per two connectors that are declared to do the same work.
-- Reads: config_value, process_cluster, worker_group, fact_line, holding
-- Answers: is one connector declared twice, in one Connect cluster or in two?
-- Needs: the connectors' own configuration as workers print it (from 2.3.0 on with the connector's name), or REST answers or a dump of the config topic beside the logs.
-- Silent when: two sinks read one topic into different places, or a sink of one name is in two clusters of one Kafka (sink-group-shared tells that).
-- Shown by: 3.9.1-connector_declared_twice, 3.9.1-two_clusters_one_connector; silent on 3.9.1-worker_frozen.
CREATE OR REPLACE TEMPORARY VIEW rule_duplicate_declaration (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per two connectors that are declared to do the same work.'
AS
WITH told AS (
  -- What workers print: Connect's own view of a connector, and what the connector's class prints of itself in the connector's context.
  SELECT c.kafka_cluster, g.group_id AS place, g.group_id, v.connector,
    v.component RLIKE '^(Source|Sink)?ConnectorConfig$|EnrichedConnectorConfig$' AS by_connect, v.component, v.key, v.value, v.ts, v.event_id
  FROM config_value v
  JOIN worker_group g ON g.process_id = v.process_id AND g.instance = v.instance
  JOIN process_cluster c ON c.process_id = v.process_id
  WHERE v.source = 'log' AND v.connector IS NOT NULL AND v.task IS NULL
    AND NOT v.component RLIKE '(Producer|Consumer|AdminClient|Task|Distributed|Converter|Transformation|Transforms|Predicate)Config$'
), printed AS (
  SELECT kafka_cluster, place, group_id, connector, by_connect, component, key, max_by(value, struct(ts, event_id)) AS value, max_by(event_id, struct(ts, event_id)) AS event_id
  FROM told GROUP BY kafka_cluster, place, group_id, connector, by_connect, component, key
), kept AS (
  -- A file of REST answers or of the config topic holds whole configurations; two such files may be of one cluster, so only connectors of one file are compared.
  SELECT CAST(NULL AS STRING) AS kafka_cluster, v.path AS place, CAST(NULL AS STRING) AS group_id, v.connector, v.key, max_by(v.value, struct(v.ts, v.line, v.event_id)) AS value, max_by(v.event_id, struct(v.ts, v.line, v.event_id)) AS event_id
  FROM config_value v
  WHERE v.source IN ('connect_rest', 'connect_topic') AND v.component = 'connector' AND v.connector IS NOT NULL
  GROUP BY v.path, v.connector, v.key
), declared AS (
  SELECT kafka_cluster, place, group_id, connector, 'log' AS source,
    max(value) FILTER (WHERE by_connect AND key = 'connector.class') AS class,
    bool_or(by_connect AND key = 'topics') AS is_sink,
    array_sort(collect_set(concat(key, '=', value)) FILTER (WHERE by_connect AND key IN ('topics', 'topics.regex', 'transforms') AND coalesce(value, '') NOT IN ('', '[]', 'null'))) AS main,
    array_sort(collect_set(concat(component, ': ', key, '=', coalesce(value, 'null'))) FILTER (WHERE NOT by_connect AND key NOT IN ('name', 'tasks.max', 'connector.class', 'task.class'))) AS own,
    array_sort(collect_set(event_id)) AS witness
  FROM printed GROUP BY kafka_cluster, place, group_id, connector
  UNION ALL
  SELECT kafka_cluster, place, group_id, connector, 'file',
    max(value) FILTER (WHERE key = 'connector.class'),
    bool_or(key IN ('topics', 'topics.regex')),
    array(),
    array_sort(collect_set(concat(key, '=', coalesce(value, 'null'))) FILTER (WHERE key NOT IN ('name', 'tasks.max', 'connector.class'))),
    array_sort(collect_set(event_id))
  FROM kept GROUP BY kafka_cluster, place, group_id, connector
), gone AS (
  SELECT DISTINCT g.group_id, f.connector FROM fact_line f JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance WHERE f.event = 'connector_config_removed' AND f.connector IS NOT NULL
), alive AS (
  SELECT d.* FROM declared d LEFT ANTI JOIN gone g ON g.group_id = d.group_id AND g.connector = d.connector WHERE d.class IS NOT NULL AND size(d.own) > 0
), pair AS (
  SELECT a.kafka_cluster, a.group_id AS a_group, b.group_id AS b_group, a.connector AS a, b.connector AS b, a.place AS a_place, b.place AS b_place, a.source, a.class, a.own, a.is_sink,
    concat(slice(a.witness, 1, 4), slice(b.witness, 1, 4)) AS witness
  FROM alive a
  JOIN alive b ON b.source = a.source AND b.class = a.class AND b.own = a.own AND b.main = a.main AND struct(a.place, a.connector) < struct(b.place, b.connector)
  WHERE (a.source = 'log' OR a.place = b.place)
    -- Sinks of one name in one Kafka share a group: no record goes to both.
    AND NOT (a.is_sink AND a.connector = b.connector AND a.kafka_cluster <=> b.kafka_cluster)
), ran AS (
  SELECT g.group_id, regexp_replace(h.resource, '-[0-9]+$', '') AS connector, min(h.first_sign_ts) AS ts
  FROM holding h JOIN (SELECT DISTINCT process_id, group_id FROM worker_group) g USING (process_id)
  WHERE h.resource_kind = 'task' AND h.first_sign_ts IS NOT NULL
  GROUP BY g.group_id, regexp_replace(h.resource, '-[0-9]+$', '')
), seen AS (
  -- A file repeats what logs have already told.
  SELECT p.*, row_number() OVER (PARTITION BY least(p.a, p.b), greatest(p.a, p.b), p.class, CASE WHEN p.a_place = p.b_place THEN 0 ELSE 1 END ORDER BY CASE p.source WHEN 'log' THEN 0 ELSE 1 END, p.a_place, p.b_place) AS n
  FROM pair p
)
SELECT
  CASE WHEN x.ts IS NOT NULL AND y.ts IS NOT NULL THEN 'critical' ELSE 'warning' END, 'proved', p.kafka_cluster, p.a_group,
  CASE WHEN p.a = p.b THEN p.a ELSE concat(p.a, ', ', p.b) END, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP),
  CASE WHEN p.a_place = p.b_place THEN concat('connectors ', p.a, ' and ', p.b, ' are declared to do the same work')
    WHEN p.a = p.b THEN concat('connector ', p.a, ' runs in two Connect clusters, ', p.a_place, ' and ', p.b_place)
    ELSE concat('connector ', p.a, ' of ', p.a_place, ' and connector ', p.b, ' of ', p.b_place, ' are declared to do the same work') END,
  concat('Both are ', p.class, ', and all that tells what they do is equal: ', left(array_join(transform(slice(p.own, 1, 6), t -> regexp_replace(t, '^[A-Za-z$]+: ', '')), ', '), 300),
    CASE WHEN size(p.own) > 6 THEN concat(' and ', size(p.own) - 6, ' more') ELSE '' END, '. Connect compares nothing but names, so it runs both: ',
    CASE WHEN p.is_sink THEN 'each consumes in a group of its own and writes every record to the same place a second time.' ELSE 'each reads the same source from its own offset and produces every record a second time.' END,
    CASE WHEN x.ts IS NOT NULL AND y.ts IS NOT NULL THEN ' Tasks of both ran.' ELSE '' END,
    ' Each task has one owner: no split brain is needed for this.'),
  concat('Decide which one stays and delete the other: DELETE /connectors/', p.b, '. If both are wanted, tell them apart by where they read or write. ',
    'Then look for records that the target has twice since the second one was created.'),
  p.witness
FROM seen p
LEFT JOIN ran x ON x.group_id = p.a_group AND x.connector = p.a
LEFT JOIN ran y ON y.group_id = p.b_group AND y.connector = p.b
WHERE p.n = 1

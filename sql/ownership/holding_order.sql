-- One row per ownership of a group's task, connector or partition, with its place among those of the same resource, the earliest first.
-- Reads: holding, ownership, clock_suspect, process_resolution, event_row
-- Grain: ownership_id
-- The order is that of the times on the reference clock. Of owners on clocks that nothing joins it means nothing: their generations tell.
-- Of one whose start is not in its log, what is known is since when it was there at the latest: by its lines, or because it was there
-- before its worker came to a generation that gave the same to another.
CREATE OR REPLACE TEMPORARY VIEW holding_order (
  ownership_id    COMMENT 'Ownership',
  kafka_cluster   COMMENT 'Kafka cluster',
  group_id        COMMENT 'Group',
  resource_kind   COMMENT 'task, connector or partition',
  resource        COMMENT 'What is owned',
  process_id      COMMENT 'Process',
  reference_process_id COMMENT 'Process on whose clock the times are',
  nth             COMMENT 'Its place among the ownerships of the resource',
  start_how       COMMENT 'seen: a line of its start is there; open: the log begins later; lost: the log lacks that line',
  known_ms        COMMENT 'It began then, or, where its start is not seen, before that; NULL: no line with a time tells',
  start_lo_ms     COMMENT 'Not owned before (milliseconds since 1970); NULL: owned when the log began',
  stop_hi_ms      COMMENT 'Surely not owned from then on; NULL: nothing says so',
  fifth_start_ms  COMMENT 'The fifth one after it began then, at the earliest; NULL: there is none, or the log does not tell',
  has_time        COMMENT 'True when a line that has a time tells of it',
  stop_how        COMMENT 'Which line says that it ended',
  start_pos       COMMENT 'Where its start stands in the log of its process; NULL: times tell',
  stop_pos        COMMENT 'Where its end stands there',
  is_stepped      COMMENT 'True when the clock of its process was set, so that its times do not order its own lines',
  generation      COMMENT 'Generation that assigned it',
  next_generation COMMENT 'Generation of the next ownership of the same owner; NULL: it is the last, or none is known',
  is_on_several_clocks COMMENT 'True when the ownerships of the resource stand on clocks that nothing joins'
)
COMMENT 'One row per ownership of a group''s task, connector or partition, with its place among those of the same resource.'
AS
WITH placed AS (
  -- A clock that was set while its process ran does not order the process's own lines; their places in the log do.
  -- Nor do times that are cut to seconds, of what a consumer gives up and gets again at once.
  SELECT h.ownership_id, s.process_id IS NOT NULL AS is_stepped, x.stream_pos AS start_pos, y.stream_pos AS stop_pos
  FROM holding h
  LEFT JOIN (SELECT DISTINCT process_id FROM clock_suspect) s ON s.process_id = h.process_id
  LEFT JOIN process_resolution r ON r.process_id = h.process_id
  LEFT JOIN event_row x ON x.event_id = h.start_id
  LEFT JOIN event_row y ON y.event_id = h.stop_id
  WHERE s.process_id IS NOT NULL OR h.resource_kind = 'partition' AND r.resolution_ms > 1
), owned AS (
  SELECT h.ownership_id, h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id, o.reference_process_id, h.instance,
    CASE WHEN h.resource_kind = 'partition' THEN h.owner ELSE '' END AS owner,
    unix_millis(o.start_lo) AS start_lo_ms, unix_millis(coalesce(o.start_lo, o.start_hi)) AS begun_ms, unix_millis(o.stop_hi) AS stop_hi_ms,
    coalesce(o.start_lo, o.start_hi, o.stop_lo, o.stop_hi) IS NOT NULL AS has_time,
    unix_millis(coalesce(o.start_hi, o.stop_lo)) AS there_ms, h.start_how, h.before_generation, h.stop_how, l.start_pos, l.stop_pos,
    coalesce(l.is_stepped, false) AS is_stepped, h.generation
  FROM holding h
  JOIN ownership o ON o.ownership_id = h.ownership_id
  LEFT JOIN placed l ON l.ownership_id = h.ownership_id
  WHERE h.group_id IS NOT NULL
), seen AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, process_id, generation, start_lo_ms
  FROM owned
  WHERE start_how = 'seen' AND generation IS NOT NULL
), preceded AS (
  -- A generation gives a task to one worker: who had it before generation N, had it before him to whom N - 1 gave it.
  SELECT ownership_id, min(follower_ms) AS follower_ms
  FROM (
    SELECT ownership_id, min(start_lo_ms) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id,
      process_id ORDER BY generation DESC, ownership_id NULLS FIRST ROWS UNBOUNDED PRECEDING) AS follower_ms
    FROM (
      SELECT *, CAST(NULL AS STRING) AS ownership_id FROM seen
      UNION ALL
      SELECT o.kafka_cluster, o.group_id, o.resource_kind, o.resource, o.reference_process_id, s.process_id, o.before_generation - 1, NULL,
        o.ownership_id
      FROM owned o
      JOIN (SELECT DISTINCT kafka_cluster, group_id, resource_kind, resource, reference_process_id, process_id FROM seen) s
        ON s.kafka_cluster = o.kafka_cluster AND s.group_id = o.group_id AND s.resource_kind = o.resource_kind AND s.resource = o.resource
        AND s.reference_process_id = o.reference_process_id AND s.process_id <> o.process_id
      WHERE o.start_how <> 'seen' AND o.before_generation IS NOT NULL
    )
  )
  WHERE ownership_id IS NOT NULL
  GROUP BY ownership_id
)
SELECT
  o.ownership_id AS ownership_id,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  resource_kind AS resource_kind,
  resource AS resource,
  process_id AS process_id,
  reference_process_id AS reference_process_id,
  row_number() OVER in_time AS nth,
  start_how AS start_how,
  CASE WHEN start_how = 'seen' THEN begun_ms ELSE coalesce(least(there_ms, follower_ms - 1), begun_ms) END AS known_ms,
  start_lo_ms AS start_lo_ms,
  stop_hi_ms AS stop_hi_ms,
  lead(start_lo_ms, 5) OVER in_time AS fifth_start_ms,
  has_time AS has_time,
  stop_how AS stop_how,
  start_pos AS start_pos,
  stop_pos AS stop_pos,
  is_stepped AS is_stepped,
  generation AS generation,
  lead(generation) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, process_id, owner
    ORDER BY instance, o.ownership_id) AS next_generation,
  min(reference_process_id) OVER of_resource <> max(reference_process_id) OVER of_resource AS is_on_several_clocks
FROM owned o
LEFT JOIN preceded p ON p.ownership_id = o.ownership_id
WINDOW
  of_resource AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource),
  in_time AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY begun_ms, o.ownership_id)

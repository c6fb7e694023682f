-- One row per ownership of a group's task, connector or partition, with its position among those of the same resource, the earliest first.
-- Reads: holding, ownership, clock_suspect, process_resolution, event_row
-- Grain: ownership_id
-- Times on the reference clock give the order. For owners on unrelated clocks this order means nothing, and their generations decide. If a
-- start is not in the log, only the latest possible start is known: from its own lines, or because it existed before its worker reached a
-- generation that assigned the resource to another worker.
CREATE OR REPLACE TEMPORARY VIEW holding_order (
  ownership_id    COMMENT 'Ownership',
  kafka_cluster   COMMENT 'Kafka cluster',
  group_id        COMMENT 'Group',
  resource_kind   COMMENT 'task, connector or partition',
  resource        COMMENT 'What is owned',
  process_id      COMMENT 'Process',
  reference_process_id COMMENT 'Process on whose clock the times are',
  nth             COMMENT 'Its position among the ownerships of the resource',
  start_how       COMMENT 'seen: the log has a line of its start; open: the log begins later; lost: the log lacks that line',
  known_ms        COMMENT 'It began then, or earlier if its start is not in the log; NULL: no line with a time shows it',
  start_lo_ms     COMMENT 'Not owned before (milliseconds since 1970); NULL: owned when the log began',
  stop_hi_ms      COMMENT 'Certainly not owned from this time on; NULL: unknown',
  fifth_start_ms  COMMENT 'Earliest start of the fifth one after it; NULL: there is none, or it is unknown',
  has_time        COMMENT 'True if a line with a time shows it',
  stop_how        COMMENT 'Kind of the line that ends it',
  start_pos       COMMENT 'Position of its start in the log of its process; NULL: times decide',
  stop_pos        COMMENT 'Position of its end in that log',
  is_stepped      COMMENT 'True if the clock of its process was set, so its times do not order its own lines',
  generation      COMMENT 'Generation that assigned it',
  next_generation COMMENT 'Generation of the next ownership of the same owner; NULL: it is the last, or unknown',
  is_on_several_clocks COMMENT 'True if the ownerships of the resource are on unrelated clocks'
)
COMMENT 'One row per ownership of a group''s task, connector or partition, with its position among those of the same resource.'
AS
WITH log_position AS (
  -- If a process's clock was set while it ran, positions in the log order its lines, not times. The same is true for times in whole seconds
  -- of partitions that a consumer releases and receives again immediately.
  SELECT h.ownership_id, s.process_id IS NOT NULL AS is_stepped, x.stream_pos AS start_pos, y.stream_pos AS stop_pos
  FROM holding h
  LEFT JOIN (SELECT DISTINCT process_id FROM clock_suspect) s ON s.process_id = h.process_id
  LEFT JOIN process_resolution r ON r.process_id = h.process_id
  LEFT JOIN event_row x ON x.event_id = h.start_id
  LEFT JOIN event_row y ON y.event_id = h.stop_id
  WHERE s.process_id IS NOT NULL OR h.resource_kind = 'partition' AND r.resolution_ms > 1
), ownership_time AS (
  SELECT h.ownership_id, h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id, o.reference_process_id, h.instance,
    CASE WHEN h.resource_kind = 'partition' THEN h.owner ELSE '' END AS owner,
    unix_millis(o.start_lo) AS start_lo_ms, unix_millis(coalesce(o.start_lo, o.start_hi)) AS started_ms,
      unix_millis(o.stop_hi) AS stop_hi_ms,
    coalesce(o.start_lo, o.start_hi, o.stop_lo, o.stop_hi) IS NOT NULL AS has_time,
    unix_millis(coalesce(o.start_hi, o.stop_lo)) AS shown_ms, h.start_how, h.before_generation, h.stop_how, l.start_pos, l.stop_pos,
    coalesce(l.is_stepped, false) AS is_stepped, h.generation
  FROM holding h
  JOIN ownership o ON o.ownership_id = h.ownership_id
  LEFT JOIN log_position l ON l.ownership_id = h.ownership_id
  WHERE h.group_id IS NOT NULL
), seen_start AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, process_id, generation, start_lo_ms
  FROM ownership_time
  WHERE start_how = 'seen' AND generation IS NOT NULL
), predecessor AS (
  -- A generation assigns a task to one worker. The owner before generation N therefore precedes the owner that N - 1 assigned it to.
  SELECT ownership_id, min(follower_ms) AS follower_ms
  FROM (
    SELECT ownership_id, min(start_lo_ms) OVER (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id,
      process_id ORDER BY generation DESC, ownership_id NULLS FIRST ROWS UNBOUNDED PRECEDING) AS follower_ms
    FROM (
      SELECT *, CAST(NULL AS STRING) AS ownership_id FROM seen_start
      UNION ALL
      SELECT o.kafka_cluster, o.group_id, o.resource_kind, o.resource, o.reference_process_id, s.process_id, o.before_generation - 1, NULL,
        o.ownership_id
      FROM ownership_time o
      JOIN (SELECT DISTINCT kafka_cluster, group_id, resource_kind, resource, reference_process_id, process_id FROM seen_start) s
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
  CASE WHEN start_how = 'seen' THEN started_ms ELSE coalesce(least(shown_ms, follower_ms - 1), started_ms) END AS known_ms,
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
FROM ownership_time o
LEFT JOIN predecessor p ON p.ownership_id = o.ownership_id
WINDOW
  of_resource AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource),
  in_time AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource ORDER BY started_ms, o.ownership_id)

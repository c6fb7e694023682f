-- One row per list of partitions that a consumer revokes, or owns, and that contradicts the lines before it: lines are missing.
-- Reads: owned_list, client_event
-- Grain: process_id, instance, event_id, is_wide
CREATE OR REPLACE TEMPORARY VIEW assignment_hole (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which run of the process',
  from_pos   COMMENT 'Last position that is surely before it',
  to_pos     COMMENT 'First position that is surely after it',
  is_wide    COMMENT 'True if a whole stretch may be missing; false if a single missing line explains it',
  event_id   COMMENT 'The list that contradicts the lines before it'
)
COMMENT 'One row per list of partitions of a consumer that contradicts the lines before it.'
AS
WITH assignment_line AS (
  -- An eager consumer's complete lists, its assignments, and the answers to its syncs.
  SELECT process_id, instance, client, stream_pos, event_id, 'list' AS kind, partitions, CAST(NULL AS BIGINT) AS next_pos
  FROM owned_list
  WHERE is_eager AND is_last
  UNION ALL
  SELECT process_id, instance, client, stream_pos, event_id, 'given', partitions, CAST(NULL AS BIGINT)
  FROM client_event
  WHERE event = 'partitions_assigned' AND partitions IS NOT NULL
  UNION ALL
  SELECT process_id, instance, client, stream_pos, event_id, 'synced', CAST(NULL AS ARRAY<STRING>), next_pos
  FROM (
    SELECT process_id, instance, client, stream_pos, event_id, event,
      lead(stream_pos) OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos) AS next_pos
    FROM client_event
    WHERE NOT is_worker
  )
  WHERE event = 'synced'
), line_with_previous AS (
  -- The partitions that it owns according to the lines before: its last assignment, or none after it revoked all.
  SELECT process_id, instance, stream_pos, event_id, kind, partitions,
    lag(CASE WHEN kind <> 'synced' THEN struct(stream_pos, kind, CASE WHEN kind = 'list' THEN array() ELSE partitions END AS partitions)
      END) IGNORE NULLS OVER in_order AS owned,
    lag(CASE WHEN kind = 'synced' THEN struct(stream_pos, next_pos) END) IGNORE NULLS OVER in_order AS synced
  FROM assignment_line
  WINDOW in_order AS (PARTITION BY process_id, instance, client ORDER BY stream_pos)
), mismatched_list AS (
  -- An eager consumer prints its assignment right after its generation. If the assignment is missing, it belongs there.
  SELECT process_id, instance, event_id, stream_pos, owned.stream_pos AS owned_pos, owned.kind = 'list' AS gave_up,
    CASE WHEN synced.stream_pos > owned.stream_pos THEN synced.stream_pos END AS synced_pos, synced.next_pos AS next_pos
  FROM line_with_previous
  WHERE kind = 'list' AND (size(array_except(partitions, owned.partitions)) > 0 OR size(array_except(owned.partitions, partitions)) > 0)
), member_line AS (
  SELECT process_id, instance, event, stream_pos, event_id, size(partitions) AS partition_count,
    min(stream_pos) OVER so_far AS first_pos,
    max(CASE WHEN event IN ('generation_reset', 'member_fenced') THEN stream_pos END) OVER so_far AS reset_pos,
    max(CASE WHEN event IN ('joined', 'synced', 'partitions_assigned', 'partitions_lost') THEN stream_pos END) OVER so_far AS settled_pos,
    max(CASE WHEN event IN ('joined', 'synced', 'partitions_assigned') THEN stream_pos END) OVER so_far AS got_pos
  FROM client_event
  WHERE NOT is_worker
  WINDOW so_far AS (PARTITION BY process_id, instance, group_id, client
    ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT
  process_id AS process_id,
  instance AS instance,
  CASE WHEN gave_up THEN coalesce(synced_pos, owned_pos) ELSE owned_pos END AS from_pos,
  CASE WHEN synced_pos IS NOT NULL THEN least(next_pos, stream_pos) ELSE stream_pos END AS to_pos,
  NOT gave_up OR synced_pos IS NULL AS is_wide,
  event_id AS event_id
FROM mismatched_list
UNION ALL
-- A consumer that lost its membership prints its partitions as lost, not as revoked, unless it joined again.
SELECT
  process_id AS process_id,
  instance AS instance,
  reset_pos AS from_pos,
  stream_pos AS to_pos,
  true AS is_wide,
  event_id AS event_id
FROM member_line
WHERE event = 'partitions_revoked' AND partition_count > 0 AND reset_pos > settled_pos
UNION ALL
-- It revokes partitions that were never assigned to it, in a generation that it never joined.
SELECT
  process_id AS process_id,
  instance AS instance,
  first_pos AS from_pos,
  stream_pos AS to_pos,
  true AS is_wide,
  event_id AS event_id
FROM member_line
WHERE event IN ('partitions_revoked', 'partitions_lost') AND partition_count > 0 AND got_pos IS NULL AND first_pos IS NOT NULL
  AND instance > 0

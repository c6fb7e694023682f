-- One row per client that a removed member may have been, if no client's line names the member's id.
-- Reads: removed_member, client_event, member_place, process_life, clock_offset
-- Grain: removed_id, member_id, process_id, instance
-- A coordinator makes a member id from the client id and a UUID. Old clients do not print the id; later ones print it after the response. The removed
-- member asked to join before the removal, and printed nothing more in that process run.
CREATE OR REPLACE TEMPORARY VIEW namesake (
  member_id,
  removed_id    COMMENT 'Event of the removal',
  process_id    COMMENT 'Process of a client of that name in that group',
  instance, client,
  last_ms       COMMENT 'Its last line about the group, by its own clock (milliseconds since 1970)',
  last_id       COMMENT 'Its event',
  all_went_on   COMMENT 'True if all of these clients ran on, and there are at least as many of them as members'
)
AS
WITH unidentified_removal AS (
  SELECT kafka_cluster, group_id, member_id, removed_id, removed_lo_ms, removed_hi_ms, reference_process_id,
    left(member_id, length(member_id) - 37) AS client_id
  FROM removed_member
  WHERE process_id IS NULL AND how = 'session' AND protocol = 'classic' AND member_id RLIKE '.-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
), removal_count AS (
  SELECT n.removed_id, n.member_id, count(*) AS members FROM unidentified_removal n
  JOIN unidentified_removal b ON b.kafka_cluster = n.kafka_cluster AND b.group_id = n.group_id AND b.client_id = n.client_id
    AND b.removed_lo_ms <= n.removed_hi_ms
  GROUP BY n.removed_id, n.member_id
), possible_client AS (
  SELECT c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, c.client,
    min(CASE WHEN c.event = 'joining' THEN c.at_ms END) AS asked_ms, max_by(struct(c.at_ms, c.event, c.event_id), c.stream_pos) AS last
  FROM client_event c
  LEFT SEMI JOIN (SELECT DISTINCT group_id, client_id FROM unidentified_removal) n ON n.group_id = c.group_id AND n.client_id = c.client_id
  -- A client with a known id is another member, and a client that left was not removed.
  LEFT ANTI JOIN member_place p ON p.group_id = c.group_id AND p.process_id = c.process_id AND p.instance = c.instance AND p.client = c.client
  GROUP BY c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, c.client
  HAVING NOT bool_or(c.event = 'leaving')
), candidate AS (
  SELECT n.member_id, n.removed_id, c.process_id, c.instance, c.client, c.last.at_ms AS last_ms,
    c.last.event_id AS last_id,
    (l.ending_ms IS NOT NULL OR coalesce(l.last_ms - o.hi_ms > n.removed_hi_ms, false))
      AND c.last.event NOT IN ('coordinator_lost', 'heartbeat_failed', 'join_failed', 'member_fenced', 'poll_timeout', 'sync_failed') AS went_on,
    m.members
  FROM unidentified_removal n JOIN removal_count m ON m.removed_id = n.removed_id AND m.member_id = n.member_id
  JOIN possible_client c ON c.kafka_cluster = n.kafka_cluster AND c.group_id = n.group_id AND c.client_id = n.client_id
  JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference AND o.reference_process_id = n.reference_process_id
  JOIN process_life l ON l.process_id = c.process_id AND l.instance = c.instance
  WHERE c.asked_ms - o.hi_ms <= n.removed_hi_ms AND c.last.at_ms - o.lo_ms < n.removed_lo_ms
)
SELECT member_id, removed_id, process_id, instance, client, last_ms, last_id,
  bool_and(went_on) OVER of_removed AND count(*) OVER of_removed >= members AS all_went_on
FROM candidate
WINDOW of_removed AS (PARTITION BY removed_id, member_id)

-- One row per client that a removed member may have been, where no line of any client names the member's id.
-- Reads: removed_member, client_event, member_place, process_life, clock_offset
-- Grain: removed_id, member_id, process_id, instance
-- A coordinator makes an id of the client id and a UUID. Old clients do not print it, and later ones print it when they are answered. Who
-- was removed asked to join before, and said nothing more in that life of its process.
CREATE OR REPLACE TEMPORARY VIEW namesake (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id that was removed',
  removed_id    COMMENT 'Event of the removal',
  process_id    COMMENT 'Process of a client of that name in that group',
  instance      COMMENT 'Life of the process',
  client        COMMENT 'Client inside the process',
  last_ms       COMMENT 'It said its last word of the group then, by its own clock (milliseconds since 1970)',
  last_event    COMMENT 'What that was',
  last_id       COMMENT 'Its event',
  went_on       COMMENT 'True when its process ran on after the removal, or said that it stops, and its last word tells no trouble',
  members       COMMENT 'So many members of that name were removed up to then that no line names',
  all_went_on   COMMENT 'True when all of these clients went on, and there are as many of them as of the members'
)
COMMENT 'One row per client that a removed member may have been, where no line of any client names the member''s id.'
AS
WITH nameless AS (
  SELECT kafka_cluster, group_id, member_id, removed_id, removed_lo_ms, removed_hi_ms, reference_process_id,
    left(member_id, length(member_id) - 37) AS client_id
  FROM removed_member
  WHERE process_id IS NULL AND how = 'session' AND protocol = 'classic'
    AND member_id RLIKE '.-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
), counted AS (
  SELECT n.removed_id, n.member_id, count(*) AS members
  FROM nameless n
  JOIN nameless b ON b.kafka_cluster = n.kafka_cluster AND b.group_id = n.group_id AND b.client_id = n.client_id
    AND b.removed_lo_ms <= n.removed_hi_ms
  GROUP BY n.removed_id, n.member_id
), client AS (
  SELECT c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, c.client,
    min(CASE WHEN c.event = 'joining' THEN c.at_ms END) AS asked_ms,
    max_by(struct(c.at_ms, c.event, c.event_id), c.stream_pos) AS last
  FROM client_event c
  LEFT SEMI JOIN (SELECT DISTINCT group_id, client_id FROM nameless) n ON n.group_id = c.group_id AND n.client_id = c.client_id
  -- Whose id is told is another member, and who left was not removed.
  LEFT ANTI JOIN member_place p ON p.group_id = c.group_id AND p.process_id = c.process_id AND p.instance = c.instance
    AND p.client = c.client
  GROUP BY c.kafka_cluster, c.group_id, c.client_id, c.process_id, c.instance, c.client
  HAVING NOT bool_or(c.event = 'leaving')
), candidate AS (
  SELECT n.kafka_cluster, n.group_id, n.member_id, n.removed_id, c.process_id, c.instance, c.client, c.last.at_ms AS last_ms,
    c.last.event AS last_event, c.last.event_id AS last_id,
    (l.ending_ms IS NOT NULL OR coalesce(l.last_ms - o.hi_ms > n.removed_hi_ms, false))
      AND c.last.event NOT IN ('coordinator_lost', 'heartbeat_failed', 'join_failed', 'member_fenced', 'poll_timeout', 'sync_failed')
      AS went_on,
    m.members
  FROM nameless n
  JOIN counted m ON m.removed_id = n.removed_id AND m.member_id = n.member_id
  JOIN client c ON c.kafka_cluster = n.kafka_cluster AND c.group_id = n.group_id AND c.client_id = n.client_id
  JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference AND o.reference_process_id = n.reference_process_id
  JOIN process_life l ON l.process_id = c.process_id AND l.instance = c.instance
  WHERE c.asked_ms - o.hi_ms <= n.removed_hi_ms AND c.last.at_ms - o.lo_ms < n.removed_lo_ms
)
SELECT
  kafka_cluster, group_id, member_id, removed_id, process_id, instance, client, last_ms, last_event, last_id, went_on, members,
  bool_and(went_on) OVER of_removed AND count(*) OVER of_removed >= members AS all_went_on
FROM candidate
WINDOW of_removed AS (PARTITION BY removed_id, member_id)

-- One row per line in which a consumer of a group starts to read a partition, with its progress according to later lines.
-- Reads: offset_line, process_cluster, join_round, member_round, event, clock_offset
-- Grain: process_id, client, resource, stream_pos
-- A reading lasts until the same consumer starts again or is assigned partitions again. Its progress is known from the offsets that it
-- tried to commit; it may have read further. Consumers that read without an assignment are not members.
CREATE OR REPLACE TEMPORARY VIEW position_start (
  kafka_cluster  COMMENT 'Kafka cluster',
  group_id       COMMENT 'Group',
  resource       COMMENT 'Topic partition',
  process_id     COMMENT 'Process',
  instance       COMMENT 'Which run of the process',
  client         COMMENT 'Client inside the process; for a sink task, the task',
  task           COMMENT 'Connect task whose consumer this is',
  member_id      COMMENT 'Member id',
  incarnation    COMMENT 'Incarnation of the group''s metadata',
  generation     COMMENT 'Generation (KIP-848: the member''s epoch) of the client at that time',
  stream_pos     COMMENT 'Order inside the process',
  at_ms          COMMENT 'When, by its own clock (milliseconds since 1970)',
  event_id       COMMENT 'Its event',
  how
    COMMENT 'committed: at the group''s committed offset; reset: there was no usable one; sought: where the application wanted',
  start_offset   COMMENT 'Offset at which it begins',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  start_lo_ms    COMMENT 'Started at this time at the earliest (reference clock)',
  start_hi_ms    COMMENT 'Started at this time at the latest',
  last_committed COMMENT 'Highest offset that it committed, by its own lines (DEBUG); NULL: unknown',
  asked_offset   COMMENT 'Highest offset that it asked to commit',
  asked_id       COMMENT 'Its event',
  refused_offset COMMENT 'Highest offset whose commit failed',
  refused_id     COMMENT 'Its event',
  final_offset
    COMMENT 'Offset of an automatic commit just before the consumer released the partition: everything that it read is below',
  fenced_by
    COMMENT 'group: a commit failed because it was no longer a member; group.instance.id: because another process has its static id',
  fenced_id      COMMENT 'Its event',
  taken          COMMENT 'How the partition was first taken from it: revoked, lost; NULL: unknown',
  taken_id       COMMENT 'Its event',
  any_refused    COMMENT 'True if any of its commits failed'
)
COMMENT 'One row per line in which a consumer of a group starts to read a partition, with its progress according to later lines.'
AS
WITH line_with_start AS (
  -- A new assignment starts a new reading, even if the line with the starting position is missing.
  SELECT *, CASE WHEN begun.is_start THEN begun.stream_pos END AS start_pos
  FROM (
    SELECT *,
      max(CASE WHEN kind IN ('start', 'given') THEN struct(stream_pos, kind = 'start' AS is_start) END) OVER (
        PARTITION BY process_id, instance, client, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS begun
    FROM offset_line
    WHERE resource IS NOT NULL
  )
), commit_summary AS (
  SELECT
    process_id, instance, client, resource, start_pos,
    max(at_offset) FILTER (WHERE kind = 'committed') AS last_committed,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'asked' AND at_offset IS NOT NULL) AS asked,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'refused' AND at_offset IS NOT NULL) AS refused,
    max_by(struct(at_offset, stream_pos), stream_pos) FILTER (WHERE kind = 'refused' AND how = 'automatic') AS automatic,
    max(stream_pos) FILTER (WHERE kind IN ('committed', 'asked', 'refused')) AS last_commit_pos,
    min(struct(stream_pos, how, event_id)) FILTER (WHERE kind = 'taken') AS taken
  FROM line_with_start
  WHERE start_pos IS NOT NULL
  GROUP BY process_id, instance, client, resource, start_pos
), start_line AS (
  SELECT o.*, d.last_committed, d.asked, d.refused, d.automatic, d.last_commit_pos, d.taken,
    lead(o.stream_pos) OVER (PARTITION BY o.process_id, o.instance, o.client, o.resource ORDER BY o.stream_pos) AS next_pos
  FROM offset_line o
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance, client FROM offset_line WHERE kind = 'given') g
    ON g.process_id = o.process_id AND g.instance = o.instance AND g.client = o.client
  LEFT JOIN commit_summary d ON d.process_id = o.process_id AND d.instance = o.instance AND d.client = o.client AND d.resource = o.resource
    AND d.start_pos = o.stream_pos
  WHERE o.kind = 'start' AND o.group_id IS NOT NULL
), client_moment AS (
  -- The revocation of a partition, among the client's join requests and assignments. Lines at the same position count as neither before nor
  -- after.
  SELECT process_id, instance, client, resource, stream_pos, taken.stream_pos AS pos, 0 AS rank, CAST(NULL AS BIGINT) AS given_pos,
    CAST(NULL AS BIGINT) AS joining_pos
  FROM start_line
  WHERE taken IS NOT NULL
  UNION ALL
  SELECT DISTINCT process_id, instance, client, NULL, NULL, stream_pos, 1, stream_pos, NULL FROM offset_line WHERE kind = 'given'
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id, thread, '-'), NULL, NULL, stream_pos, 2, NULL, stream_pos
  FROM event
  WHERE event = 'joining' AND client_kind = 'Consumer'
), adjacent_moment AS (
  SELECT process_id, instance, client, resource, stream_pos, next_given, last_joining
  FROM (
    SELECT *,
      lag(given_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY -pos, rank, resource) AS next_given,
      lag(joining_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY pos, rank, resource) AS last_joining
    FROM client_moment
  )
  WHERE rank = 0
), reading_span AS (
  SELECT o.*,
    -- It ends for good when the client is assigned partitions after this one was taken: a commit failure just after the loss still concerns
    -- it.
    least(o.next_pos, a.next_given) AS end_pos,
    -- An automatic commit has the complete position. If it is the last line about offsets, and no join request comes between it and the
    -- loss, nothing more was read.
    o.automatic.stream_pos = o.last_commit_pos AND o.automatic.stream_pos < o.taken.stream_pos
      AND NOT coalesce(a.last_joining > o.automatic.stream_pos, false) AS is_final
  FROM start_line o
  LEFT JOIN adjacent_moment a ON a.process_id = o.process_id AND a.instance = o.instance AND a.client = o.client AND a.resource = o.resource
    AND a.stream_pos = o.stream_pos
), failed_commit AS (
  SELECT s.process_id, s.client, s.resource, s.stream_pos, min(struct(r.stream_pos, r.fenced_by, r.event_id)) FILTER (
    WHERE r.fenced_by IS NOT NULL) AS fence
  FROM reading_span s
  JOIN offset_line r ON r.kind = 'refused' AND r.process_id = s.process_id AND r.instance = s.instance AND r.client = s.client
    AND r.stream_pos > s.stream_pos AND (s.end_pos IS NULL OR r.stream_pos < s.end_pos) AND (r.resource IS NULL OR r.resource = s.resource)
  GROUP BY s.process_id, s.client, s.resource, s.stream_pos
), membership AS (
  SELECT r.process_id, r.instance, coalesce(r.task, r.client) AS client, r.group_id, r.from_pos AS pos, r.member_id, g.incarnation,
    r.generation
  FROM join_round r
  JOIN member_round g ON g.process_id = r.process_id AND g.group_id = r.group_id AND g.client = r.client AND g.round = r.round
    AND g.kafka_cluster = r.kafka_cluster
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id), group_id, stream_pos, member_id, 1L, member_epoch
  FROM event
  WHERE event = 'member_state_changed' AND member_epoch > 0 AND group_id IS NOT NULL
), membership_at_start AS (
  -- The last membership before it.
  SELECT process_id, instance, client, resource, stream_pos, at
  FROM (
    SELECT process_id, instance, client, resource, stream_pos, rank, lag(held) IGNORE NULLS OVER (
      PARTITION BY process_id, instance, client, group_id
      ORDER BY pos, rank, resource, held.member_id, held.incarnation, held.generation) AS at
    FROM (
      SELECT process_id, instance, client, group_id, resource, stream_pos, stream_pos AS pos, 0 AS rank,
        CAST(NULL AS STRUCT<member_id: STRING, incarnation: BIGINT, generation: BIGINT>) AS held
      FROM reading_span
      UNION ALL
      SELECT process_id, instance, client, group_id, NULL, NULL, pos, 1, named_struct('member_id', member_id, 'incarnation', incarnation,
        'generation', generation)
      FROM membership
    )
  )
  WHERE rank = 0
), reading_of_member AS (
  SELECT s.*, m.at
  FROM reading_span s
  LEFT JOIN membership_at_start m ON m.process_id = s.process_id AND m.instance = s.instance AND m.client = s.client
    AND m.resource = s.resource
    AND m.stream_pos = s.stream_pos
)
SELECT
  c.kafka_cluster, s.group_id, s.resource, s.process_id, s.instance, s.client, s.task, s.at.member_id AS member_id,
    s.at.incarnation AS incarnation, s.at.generation AS generation,
  s.stream_pos, s.at_ms, s.event_id, s.how, s.at_offset AS start_offset,
  o.reference_process_id, s.at_ms - o.hi_ms AS start_lo_ms, s.at_ms - o.lo_ms AS start_hi_ms,
  s.last_committed, s.asked.at_offset AS asked_offset, s.asked.event_id AS asked_id, s.refused.at_offset AS refused_offset,
    s.refused.event_id AS refused_id,
  CASE WHEN s.is_final THEN s.automatic.at_offset END AS final_offset,
  r.fence.fenced_by AS fenced_by, r.fence.event_id AS fenced_id, s.taken.how AS taken, s.taken.event_id AS taken_id,
    r.process_id IS NOT NULL AS any_refused
FROM reading_of_member s
JOIN process_cluster c ON c.process_id = s.process_id AND c.instance = s.instance
  AND s.stream_pos >= c.from_pos AND coalesce(s.stream_pos < c.to_pos, true)
LEFT JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
LEFT JOIN failed_commit r ON r.process_id = s.process_id AND r.client = s.client AND r.resource = s.resource AND r.stream_pos = s.stream_pos

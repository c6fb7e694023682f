-- One row per line that says where a consumer of a group begins to read a partition, and what later lines say of how far it got.
-- Reads: offset_line, process_cluster, join_round, round_generation, event, clock_offset
-- Grain: process_id, client, resource, stream_pos
-- A reading lasts until the same consumer begins anew or is given partitions again. How far a consumer got is known by what it tried to
-- commit: it may have got further. Consumers that read without being given anything are no members.
CREATE OR REPLACE TEMPORARY VIEW position_start (
  kafka_cluster  COMMENT 'Kafka cluster',
  group_id       COMMENT 'Group',
  resource       COMMENT 'Topic partition',
  process_id     COMMENT 'Process',
  instance       COMMENT 'Which life of the process',
  client         COMMENT 'Client inside the process; of a sink task the task',
  task           COMMENT 'Connect task whose consumer this is',
  member_id      COMMENT 'Member id',
  incarnation    COMMENT 'Which life of the group''s metadata',
  generation     COMMENT 'Generation (KIP-848: the member''s epoch) of the client at that time',
  stream_pos     COMMENT 'Order inside the process',
  at_ms          COMMENT 'When, by its own clock (milliseconds since 1970)',
  event_id       COMMENT 'Its event',
  how
    COMMENT 'committed: at the group''s committed offset; reset: there was none that could be used; sought: where the application wanted',
  start_offset   COMMENT 'Offset at which it begins',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  start_lo_ms    COMMENT 'Began at the earliest then (reference clock)',
  start_hi_ms    COMMENT 'Began at the latest then',
  last_committed COMMENT 'Highest offset that it committed, by its own lines (DEBUG); NULL: no line says',
  asked_offset   COMMENT 'Highest offset that it asked to commit',
  asked_id       COMMENT 'Its event',
  refused_offset COMMENT 'Highest offset whose commit was refused',
  refused_id     COMMENT 'Its event',
  final_offset
    COMMENT 'Offset that an automatic commit named when the consumer was about to give the partition up: all that it read lies below',
  fenced_by
    COMMENT 'group: a commit was refused because it was no longer a member; group.instance.id: because another process has its static id',
  fenced_id      COMMENT 'Its event',
  taken          COMMENT 'How the partition was taken from it first: revoked, lost; NULL: no line says',
  taken_id       COMMENT 'Its event',
  any_refused    COMMENT 'True when any commit of it failed'
)
COMMENT 'One row per line that says where a consumer of a group begins to read a partition, and what later lines say of how far it got.'
AS
WITH turn AS (
  -- Given anew, a partition is read anew, also where the line that says from where is missing.
  SELECT *, CASE WHEN begun.is_start THEN begun.stream_pos END AS start_pos
  FROM (
    SELECT *,
      max(CASE WHEN kind IN ('start', 'given') THEN struct(stream_pos, kind = 'start' AS is_start) END) OVER (
        PARTITION BY process_id, instance, client, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS begun
    FROM offset_line
    WHERE resource IS NOT NULL
  )
), said AS (
  SELECT
    process_id, instance, client, resource, start_pos,
    max(at_offset) FILTER (WHERE kind = 'committed') AS last_committed,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'asked' AND at_offset IS NOT NULL) AS asked,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'refused' AND at_offset IS NOT NULL) AS refused,
    max_by(struct(at_offset, stream_pos), stream_pos) FILTER (WHERE kind = 'refused' AND how = 'automatic') AS automatic,
    max(stream_pos) FILTER (WHERE kind IN ('committed', 'asked', 'refused')) AS last_said_pos,
    min(struct(stream_pos, how, event_id)) FILTER (WHERE kind = 'taken') AS taken
  FROM turn
  WHERE start_pos IS NOT NULL
  GROUP BY process_id, instance, client, resource, start_pos
), based AS (
  SELECT o.*, d.last_committed, d.asked, d.refused, d.automatic, d.last_said_pos, d.taken,
    lead(o.stream_pos) OVER (PARTITION BY o.process_id, o.instance, o.client, o.resource ORDER BY o.stream_pos) AS next_pos
  FROM offset_line o
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance, client FROM offset_line WHERE kind = 'given') g
    ON g.process_id = o.process_id AND g.instance = o.instance AND g.client = o.client
  LEFT JOIN said d ON d.process_id = o.process_id AND d.instance = o.instance AND d.client = o.client AND d.resource = o.resource
    AND d.start_pos = o.stream_pos
  WHERE o.kind = 'start' AND o.group_id IS NOT NULL
), mark AS (
  -- Where a partition was taken, among the client's requests to join and what it was given. Lines at one place are neither before nor
  -- behind.
  SELECT process_id, instance, client, resource, stream_pos, taken.stream_pos AS pos, 0 AS rank, CAST(NULL AS BIGINT) AS given_pos,
    CAST(NULL AS BIGINT) AS joining_pos
  FROM based
  WHERE taken IS NOT NULL
  UNION ALL
  SELECT DISTINCT process_id, instance, client, NULL, NULL, stream_pos, 1, stream_pos, NULL FROM offset_line WHERE kind = 'given'
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id, thread, '-'), NULL, NULL, stream_pos, 2, NULL, stream_pos
  FROM event
  WHERE event = 'joining' AND client_kind = 'Consumer'
), around AS (
  SELECT process_id, instance, client, resource, stream_pos, next_given, last_joining
  FROM (
    SELECT *,
      lag(given_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY -pos, rank, resource) AS next_given,
      lag(joining_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY pos, rank, resource) AS last_joining
    FROM mark
  )
  WHERE rank = 0
), span AS (
  SELECT o.*,
    -- It ends for good when the client is given partitions after this one was taken: a refusal just after the loss still speaks of it.
    least(o.next_pos, a.next_given) AS end_pos,
    -- An automatic commit names the whole position: when it is the last word and no request to join lies between it and the loss, nothing
    -- more was read.
    o.automatic.stream_pos = o.last_said_pos AND o.automatic.stream_pos < o.taken.stream_pos
      AND NOT coalesce(a.last_joining > o.automatic.stream_pos, false) AS is_final
  FROM based o
  LEFT JOIN around a ON a.process_id = o.process_id AND a.instance = o.instance AND a.client = o.client AND a.resource = o.resource
    AND a.stream_pos = o.stream_pos
), refusal AS (
  SELECT s.process_id, s.client, s.resource, s.stream_pos, min(struct(r.stream_pos, r.fenced_by, r.event_id)) FILTER (
    WHERE r.fenced_by IS NOT NULL) AS fence
  FROM span s
  JOIN offset_line r ON r.kind = 'refused' AND r.process_id = s.process_id AND r.instance = s.instance AND r.client = s.client
    AND r.stream_pos > s.stream_pos AND (s.end_pos IS NULL OR r.stream_pos < s.end_pos) AND (r.resource IS NULL OR r.resource = s.resource)
  GROUP BY s.process_id, s.client, s.resource, s.stream_pos
), membership AS (
  SELECT r.process_id, r.instance, coalesce(r.task, r.client) AS client, r.group_id, r.from_pos AS pos, r.member_id, g.incarnation,
    r.generation
  FROM join_round r
  JOIN round_generation g ON g.process_id = r.process_id AND g.group_id = r.group_id AND g.client = r.client AND g.round = r.round
    AND g.kafka_cluster = r.kafka_cluster
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id), group_id, stream_pos, member_id, 1L, member_epoch
  FROM event
  WHERE event = 'member_state_changed' AND member_epoch > 0 AND group_id IS NOT NULL
), seated AS (
  -- The membership that it was of: the last before it.
  SELECT process_id, instance, client, resource, stream_pos, at
  FROM (
    SELECT process_id, instance, client, resource, stream_pos, rank, lag(held) IGNORE NULLS OVER (
      PARTITION BY process_id, instance, client, group_id
      ORDER BY pos, rank, resource, held.member_id, held.incarnation, held.generation) AS at
    FROM (
      SELECT process_id, instance, client, group_id, resource, stream_pos, stream_pos AS pos, 0 AS rank,
        CAST(NULL AS STRUCT<member_id: STRING, incarnation: BIGINT, generation: BIGINT>) AS held
      FROM span
      UNION ALL
      SELECT process_id, instance, client, group_id, NULL, NULL, pos, 1, named_struct('member_id', member_id, 'incarnation', incarnation,
        'generation', generation)
      FROM membership
    )
  )
  WHERE rank = 0
), placed AS (
  SELECT s.*, m.at
  FROM span s
  LEFT JOIN seated m ON m.process_id = s.process_id AND m.instance = s.instance AND m.client = s.client AND m.resource = s.resource
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
FROM placed s
JOIN process_cluster c ON c.process_id = s.process_id AND c.instance = s.instance
  AND s.stream_pos >= c.from_pos AND coalesce(s.stream_pos < c.to_pos, true)
LEFT JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
LEFT JOIN refusal r ON r.process_id = s.process_id AND r.client = s.client AND r.resource = s.resource AND r.stream_pos = s.stream_pos

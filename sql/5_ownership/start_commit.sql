-- One row per line in which a consumer of a group starts to read a partition, with what a dump shows that the group had committed there before.
-- Reads: offset_line, join_round, offset_commit, generation, clock_offset
-- Grain: event_id, resource
-- A commit of an earlier generation was before the start, and one of the start's own generation after it, if the partition was assigned just before:
-- nobody else could commit it. Without generations, the clocks decide, as far as they can. Only commits of members acknowledge records: a tool can
-- set any offset.
CREATE OR REPLACE TEMPORARY VIEW start_commit (
  kafka_cluster, group_id, resource, process_id, instance, client, stream_pos, event_id,
  member_id        COMMENT 'Member that starts',
  generation       COMMENT 'Generation in which it starts; NULL: unknown',
  how              COMMENT 'committed, reset or sought',
  at_offset        COMMENT 'Offset at which it starts',
  start_lo_ms      COMMENT 'Earliest time of the line (reference clock)',
  start_hi_ms      COMMENT 'Latest time of the line',
  reference_process_id,
  acknowledged_lo  COMMENT 'Members had certainly committed up to this offset before; NULL: no commit is certainly before',
  acknowledged_hi  COMMENT 'The commits of the dump that may be before go no further; -1: there are none; NULL: no bound',
  before           COMMENT 'Last commit that is certainly before, or its removal (offset NULL); NULL: none',
  is_whole         COMMENT 'True if the dump certainly has all commits of the partition before the start'
)
AS
WITH dumped_partition AS (
  SELECT kafka_cluster, group_id, partition AS resource,
    bool_and(is_next) AS is_whole, bool_and(generation IS NOT NULL) AS is_numbered,
    bool_and(committed_ts IS NOT NULL) AS is_timed, max(unix_millis(committed_ts)) AS last_ms,
    max(generation) AS last_number
  FROM offset_commit WHERE kafka_cluster IS NOT NULL GROUP BY kafka_cluster, group_id, partition
), dumped_group AS (
  -- Its numbers order commits only if they never restart.
  SELECT d.kafka_cluster, d.group_id, bool_and(d.is_whole) AS is_whole, max(d.last_ms) AS last_ms, max(d.last_number) AS last_number,
    coalesce(max(g.incarnations) = 1, false) AS has_one_incarnation, max(g.ahead_lo_ms) AS ahead_lo_ms, max(g.ahead_hi_ms) AS ahead_hi_ms,
    max(g.reference_process_id) AS reference_process_id
  FROM dumped_partition d
  LEFT JOIN (
    SELECT g.kafka_cluster, g.group_id, count(DISTINCT g.incarnation) AS incarnations,
      CASE WHEN count(*) = count(o.lo_ms) THEN min(o.lo_ms) END AS ahead_lo_ms,
      CASE WHEN count(*) = count(o.hi_ms) THEN max(o.hi_ms) END AS ahead_hi_ms,
      CASE WHEN count(DISTINCT o.reference_process_id) = 1 AND NOT bool_or(o.stepped) THEN max(o.reference_process_id) END AS reference_process_id
    FROM generation g LEFT JOIN clock_offset o ON o.process_id = g.coordinator AND o.is_island_reference
    GROUP BY g.kafka_cluster, g.group_id
  ) g ON g.kafka_cluster = d.kafka_cluster AND g.group_id = d.group_id
  GROUP BY d.kafka_cluster, d.group_id
), position_line AS (
  SELECT o.*, lag(o.kind) OVER (PARTITION BY o.process_id, o.instance, o.client, o.resource ORDER BY o.stream_pos, o.event_id) AS kind_before
  FROM offset_line o WHERE o.kind IN ('given', 'start') AND o.resource IS NOT NULL
), membership AS (
  SELECT r.process_id, r.instance, coalesce(r.task, r.client) AS client, r.group_id, r.from_pos AS pos, r.member_id, r.generation
  FROM join_round r
), start_of_member AS (
  SELECT * FROM (
    SELECT *, lag(held) IGNORE NULLS OVER (PARTITION BY process_id, instance, client, group_id ORDER BY stream_pos, rank, resource, held.member_id,
      held.generation) AS at
    FROM (
      SELECT kafka_cluster, group_id, resource, process_id, instance, client, stream_pos, event_id, how, at_offset, at_ms, kind_before, 0 AS rank,
        CAST(NULL AS STRUCT<member_id: STRING, generation: BIGINT>) AS held
      FROM position_line WHERE kind = 'start' AND group_id IS NOT NULL AND at_offset IS NOT NULL
      UNION ALL
      SELECT NULL, group_id, NULL, process_id, instance, client, pos, NULL, NULL, NULL, NULL, NULL, 1,
        named_struct('member_id', member_id, 'generation', generation)
      FROM membership
    )
  )
  WHERE rank = 0
), placed_start AS (
  SELECT s.*, s.at.member_id AS member_id, CASE WHEN d.has_one_incarnation THEN s.at.generation END AS number,
    coalesce(p.is_numbered, true) AS is_numbered,
    s.kind_before <=> 'given' AS is_fresh, s.at_ms - o.hi_ms AS start_lo_ms, s.at_ms - o.lo_ms AS start_hi_ms, o.reference_process_id,
    d.is_whole AS is_group_whole, d.last_number,
    CASE WHEN o.reference_process_id = d.reference_process_id AND NOT o.stepped AND coalesce(p.is_timed, true)
      THEN s.at_ms - o.hi_ms + d.ahead_lo_ms END AS from_ms,
    CASE WHEN o.reference_process_id = d.reference_process_id AND NOT o.stepped AND coalesce(p.is_timed, true)
      THEN s.at_ms - o.lo_ms + d.ahead_hi_ms END AS to_ms,
    d.last_ms
  FROM start_of_member s
  -- The dump of a group has all its partitions: without a record, nothing was committed there.
  LEFT JOIN dumped_partition p ON p.kafka_cluster = s.kafka_cluster AND p.group_id = s.group_id AND p.resource = s.resource
  JOIN dumped_group d ON d.kafka_cluster = s.kafka_cluster AND d.group_id = s.group_id
  LEFT JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
), known_commit AS (
  SELECT kafka_cluster, group_id, partition AS resource, offset, generation, unix_millis(committed_ts) AS at_ms, log_offset, event_id, made_by,
    CASE WHEN made_by = 'member' THEN offset END AS acknowledged, CASE WHEN made_by <=> 'outside' THEN NULL ELSE offset END AS perhaps
  FROM offset_commit WHERE kafka_cluster IS NOT NULL AND outcome NOT IN ('aborted', 'pending')
), on_axis AS (
  -- Twice: by generation and by time. A start is there twice: before the commits that are not certainly earlier, and after those that may be.
  SELECT 'number' AS axis, number AS key, r.rank, kafka_cluster, group_id, resource, event_id AS start_id, CAST(NULL AS BIGINT) AS log_offset,
    CAST(NULL AS STRING) AS commit_id, CAST(NULL AS BIGINT) AS acknowledged, CAST(NULL AS BIGINT) AS perhaps,
    CAST(NULL AS STRUCT<offset: BIGINT, made_by: STRING, at_ms: BIGINT, event_id: STRING>) AS record
  FROM placed_start CROSS JOIN (SELECT explode(array(0, 2)) AS rank) r WHERE number IS NOT NULL
  UNION ALL
  SELECT 'time', CASE WHEN r.rank = 0 THEN from_ms ELSE to_ms END, r.rank, kafka_cluster, group_id, resource, event_id, NULL, NULL, NULL, NULL, NULL
  FROM placed_start CROSS JOIN (SELECT explode(array(0, 2)) AS rank) r WHERE from_ms IS NOT NULL AND to_ms IS NOT NULL
  UNION ALL
  SELECT a.axis, CASE WHEN a.axis = 'time' THEN at_ms ELSE generation END, 1, kafka_cluster, group_id, resource, NULL, log_offset, event_id,
    acknowledged, perhaps, named_struct('offset', offset, 'made_by', made_by, 'at_ms', at_ms, 'event_id', event_id)
  FROM known_commit CROSS JOIN (SELECT explode(array('number', 'time')) AS axis) a
  WHERE CASE WHEN a.axis = 'time' THEN at_ms ELSE generation END IS NOT NULL
), on_axis_before AS (
  SELECT axis, rank, start_id, resource, max(acknowledged) OVER w AS acknowledged, max(perhaps) OVER w AS perhaps, lag(record) IGNORE NULLS OVER (
    PARTITION BY axis, kafka_cluster, group_id, resource ORDER BY key, rank, log_offset, commit_id, start_id) AS before
  FROM on_axis
  WINDOW w AS (
    PARTITION BY axis, kafka_cluster, group_id, resource ORDER BY key, rank, log_offset, commit_id, start_id ROWS UNBOUNDED PRECEDING)
), before_start AS (
  SELECT start_id, resource, max(acknowledged) FILTER (WHERE rank = 0) AS acknowledged_lo,
    max(coalesce(perhaps, -1)) FILTER (WHERE axis = 'number' AND rank = 0) AS earlier_number_to,
    max(coalesce(perhaps, -1)) FILTER (WHERE axis = 'number' AND rank = 2) AS same_number_to,
    max(coalesce(perhaps, -1)) FILTER (WHERE axis = 'time' AND rank = 2) AS time_to,
    max_by(before, axis) FILTER (WHERE axis = 'time' AND rank = 0) AS before_time,
    max_by(before, axis) FILTER (WHERE axis = 'number' AND rank = 0) AS before_number
  FROM on_axis_before WHERE start_id IS NOT NULL GROUP BY start_id, resource
), bounded_start AS (
  SELECT s.*, b.acknowledged_lo, least(
      CASE WHEN NOT s.is_numbered THEN NULL WHEN s.is_fresh THEN b.earlier_number_to ELSE b.same_number_to END, b.time_to) AS acknowledged_hi,
    CASE WHEN s.is_fresh AND s.number IS NOT NULL THEN b.before_number ELSE b.before_time END AS before
  FROM placed_start s LEFT JOIN before_start b ON b.start_id = s.event_id AND b.resource = s.resource
)
SELECT kafka_cluster, group_id, resource, process_id, instance, client, stream_pos, event_id, member_id, at.generation AS generation, how, at_offset,
  start_lo_ms, start_hi_ms, reference_process_id, acknowledged_lo, acknowledged_hi, before,
  -- A consumer that starts at the committed offset has read the last commit: if the dump has another one, some are missing from it.
  coalesce(is_group_whole AND (number <= last_number OR to_ms < last_ms) AND (how <> 'committed' OR before.offset = at_offset), false) AS is_whole
FROM bounded_start

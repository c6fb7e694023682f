-- One row per time that another consumer continued to read a partition, or the same one started again: the records that were read twice,
-- according to the logs.
-- Reads: offset_line, join_round, member_round, event, clock_offset, config_value, offset_commit, start_commit
-- Grain: kafka_cluster, group_id, resource, event_id
-- Public: yes
-- Records are read twice if the old reader had read them and they are at or after the offset where the new one began. The old reader's last
-- commit, even a refused one, is a lower bound of its position: it may have read more. The bound is exact if its last line is an automatic
-- commit, which always has the whole position. A record counts as read when poll() returns it. A reading lasts until
-- the same consumer starts again or is assigned partitions again. Consumers that read without an assignment are not members.
CREATE OR REPLACE TEMPORARY VIEW duplicate_ledger (
  kafka_cluster, group_id,
  resource        COMMENT 'Topic partition',
  old_process_id  COMMENT 'Process that had read it before',
  old_client      COMMENT 'Its client; for a sink task the task',
  old_member_id   COMMENT 'Its member id',
  old_generation  COMMENT 'Generation in which it started to read (KIP-848: its epoch)',
  new_process_id  COMMENT 'Process that continues; the same one if a consumer starts again',
  new_client      COMMENT 'Its client; for a sink task the task',
  new_member_id   COMMENT 'Its member id',
  new_generation  COMMENT 'Generation in which it started to read',
  incarnation     COMMENT 'Incarnation of the group''s metadata in which the new reader started',
  old_from        COMMENT 'Offset at which the old reader started',
  last_committed  COMMENT 'Highest offset that the old reader committed, by its own lines (DEBUG) or a dump of its commits; NULL: not shown',
  restarted_at    COMMENT 'Offset at which the new reader started',
  restarted_how COMMENT 'committed: at the group''s committed offset; reset: there was no usable one; sought: where the application wanted',
  restarted_lo    COMMENT 'Earliest time at which it started (reference clock)',
  restarted_hi    COMMENT 'Latest time at which it started',
  read_to         COMMENT 'Offset up to which the old reader had certainly read (not included); NULL: only its start is known',
  records_lo      COMMENT 'Minimum number of records read twice',
  records_hi      COMMENT 'Maximum number of records read twice; NULL: no bound',
  how             COMMENT 'automatic_commit: exact; refused_commit: the old reader''s commit up to read_to was refused; asked_commit: it asked to
    commit, and the logs do not show the outcome; committed: it had committed up to read_to; went_back: the new reader started at a lower offset than
    the old reader had; unknown: how far the old reader had read is unknown',
  committed_again_lo COMMENT 'Records from restarted_at on that members had certainly committed before, by a dump of __consumer_offsets; NULL: no
    dump shows it',
  committed_again_hi COMMENT 'They had committed no more; equal to committed_again_lo: exact; NULL: no bound, as the dump may lack commits',
  fenced_by COMMENT 'Why the old reader''s commits were refused afterwards: group, group.instance.id; NULL: no line shows that they were',
  reference_process_id,
  event_id        COMMENT 'Event that shows where the new reader started',
  witness
)
AS
WITH line_with_start AS (
  -- A new assignment starts a new reading, even if the line with the starting position is missing.
  SELECT *, CASE WHEN begun.is_start THEN begun.stream_pos END AS start_pos
  FROM (
    SELECT *,
      max(CASE WHEN kind IN ('start', 'given') THEN struct(stream_pos, kind = 'start' AS is_start) END) OVER (
        PARTITION BY process_id, instance, client, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS begun
    FROM offset_line WHERE resource IS NOT NULL
  )
), commit_summary AS (
  SELECT process_id, instance, client, resource, start_pos, max(at_offset) FILTER (WHERE kind = 'committed') AS last_committed,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'asked' AND at_offset IS NOT NULL) AS asked,
    max(struct(at_offset, event_id)) FILTER (WHERE kind = 'refused' AND at_offset IS NOT NULL) AS refused,
    max_by(struct(at_offset, stream_pos), stream_pos) FILTER (WHERE kind = 'refused' AND how = 'automatic') AS automatic,
    max(stream_pos) FILTER (WHERE kind IN ('committed', 'asked', 'refused')) AS last_commit_pos,
    min(struct(stream_pos, how, event_id)) FILTER (WHERE kind = 'taken') AS taken
  FROM line_with_start WHERE start_pos IS NOT NULL GROUP BY process_id, instance, client, resource, start_pos
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
  -- The revocation of a partition, among the client's join requests and assignments. Lines at the same position count as neither before nor after.
  SELECT process_id, instance, client, resource, stream_pos, taken.stream_pos AS pos, 0 AS rank, CAST(NULL AS BIGINT) AS given_pos,
    CAST(NULL AS BIGINT) AS joining_pos
  FROM start_line WHERE taken IS NOT NULL
  UNION ALL
  SELECT DISTINCT process_id, instance, client, NULL, NULL, stream_pos, 1, stream_pos, NULL FROM offset_line
  WHERE kind = 'given'
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id, thread, '-'), NULL, NULL, stream_pos, 2, NULL, stream_pos FROM event
  WHERE event = 'joining' AND client_kind = 'Consumer'
), adjacent_moment AS (
  SELECT process_id, instance, client, resource, stream_pos, next_given, last_joining
  FROM (
    SELECT *, lag(given_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY -pos, rank, resource) AS next_given,
      lag(joining_pos) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY pos, rank, resource) AS last_joining
    FROM client_moment
  )
  WHERE rank = 0
), reading_span AS (
  SELECT o.*,
    -- It ends for good when the client is assigned partitions after this one was taken: a commit failure just after the loss still concerns it.
    least(o.next_pos, a.next_given) AS end_pos,
    -- An automatic commit has the complete position. If it is the last line about offsets, and no join request comes between it and the loss, nothing
    -- more was read.
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
  SELECT r.process_id, r.instance, coalesce(r.task, r.client) AS client, r.group_id, r.from_pos AS pos, r.member_id, g.incarnation, r.generation
  FROM join_round r
  JOIN member_round g ON g.process_id = r.process_id AND g.group_id = r.group_id AND g.client = r.client AND g.round = r.round
    AND g.kafka_cluster = r.kafka_cluster
  UNION ALL
  SELECT process_id, instance, coalesce(task, client_id), group_id, stream_pos, member_id, 1L, member_epoch FROM event
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
  SELECT s.*, m.at FROM reading_span s
  LEFT JOIN membership_at_start m ON m.process_id = s.process_id AND m.instance = s.instance AND m.client = s.client AND m.resource = s.resource
    AND m.stream_pos = s.stream_pos
), position_start AS (
  -- Each line in which a consumer of a group starts to read a partition, with its progress according to later lines.
  SELECT s.kafka_cluster, s.group_id, s.resource, s.process_id, s.instance, s.client, s.at.member_id AS member_id, s.at.incarnation AS incarnation,
    s.at.generation AS generation, s.stream_pos, s.event_id, s.how, s.at_offset AS start_offset, o.reference_process_id,
    s.at_ms - o.hi_ms AS start_lo_ms, s.at_ms - o.lo_ms AS start_hi_ms, s.last_committed, s.asked, s.refused,
    CASE WHEN s.is_final THEN s.automatic.at_offset END AS final_offset, r.fence, s.taken, r.process_id IS NOT NULL AS any_refused
  FROM reading_of_member s LEFT JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
  LEFT JOIN failed_commit r ON r.process_id = s.process_id AND r.client = s.client AND r.resource = s.resource AND r.stream_pos = s.stream_pos
), auto_commit_client AS (
  -- An eager consumer with auto-commit commits before it releases its partitions; a refusal would be printed.
  SELECT process_id, instance, client_id,
    bool_and(coalesce(commits, 'false') = 'true' AND coalesce(protocol, 'classic') <> 'CONSUMER'
      AND (strategies IS NULL OR strategies RLIKE 'RangeAssignor|RoundRobinAssignor|[.]StickyAssignor')) AS is_eager
  FROM (
    SELECT process_id, instance, client_id, event_id, max(value) FILTER (WHERE key = 'enable.auto.commit') AS commits,
      max(upper(value)) FILTER (WHERE key = 'group.protocol') AS protocol,
      max(value) FILTER (WHERE key = 'partition.assignment.strategy') AS strategies
    FROM config_value
    WHERE component = 'ConsumerConfig' AND key IN ('enable.auto.commit', 'group.protocol', 'partition.assignment.strategy')
    GROUP BY process_id, instance, client_id, event_id
  )
  GROUP BY process_id, instance, client_id
), dumped_commit AS (
  SELECT kafka_cluster, group_id, partition AS resource, member_id, generation, max(offset) AS last_committed FROM offset_commit
  WHERE member_id IS NOT NULL AND kafka_cluster IS NOT NULL GROUP BY kafka_cluster, group_id, partition, member_id, generation
), commit_of_reading AS (
  -- What it committed after its start, and before a later one of the same member.
  SELECT s.event_id AS start_id, s.resource AS start_resource, max(c.last_committed) AS dumped_to
  FROM (
    SELECT *, lead(generation) OVER (
      PARTITION BY kafka_cluster, group_id, resource, member_id ORDER BY generation, stream_pos, event_id) AS next_generation
    FROM start_commit WHERE generation IS NOT NULL
  ) s
  JOIN dumped_commit c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.resource = s.resource AND c.member_id = s.member_id
    AND c.generation >= s.generation AND coalesce(c.generation < s.next_generation, true)
  GROUP BY s.event_id, s.resource
), start_with_previous AS (
  SELECT *,
    lag(struct(process_id, instance, client, member_id, generation, start_offset,
      greatest(last_committed, dumped_to) AS last_committed, asked, refused, final_offset, fence, taken, any_refused, event_id)) OVER (
      -- Generations order readers of any clock; if they are unknown, only readers whose clocks can be compared follow each other.
      PARTITION BY kafka_cluster, group_id, resource, CASE WHEN generation IS NULL THEN reference_process_id END
      ORDER BY incarnation, generation, start_lo_ms, process_id, stream_pos) AS old
  FROM position_start p LEFT JOIN commit_of_reading c ON c.start_id = p.event_id AND c.start_resource = p.resource
), start_with_progress AS (
  SELECT t.*, greatest(t.old.refused.at_offset, t.old.asked.at_offset, t.old.last_committed, t.old.final_offset) AS read_to,
    coalesce(a.is_eager, false) AND t.old.taken.how = 'revoked' AND NOT t.old.any_refused AND t.how = 'committed' AS is_clean
  FROM start_with_previous t
  LEFT JOIN auto_commit_client a ON a.process_id = t.old.process_id AND a.instance = t.old.instance AND a.client_id = t.old.client
  WHERE t.old IS NOT NULL
), start_with_extent AS (
  SELECT *, CASE WHEN is_clean THEN start_offset ELSE coalesce(greatest(read_to, old.start_offset), old.start_offset) END AS got_to,
    is_clean OR old.final_offset IS NOT NULL AND old.final_offset = read_to AS is_exact
  FROM start_with_progress
)
SELECT kafka_cluster, group_id, resource, old.process_id AS old_process_id, old.client AS old_client, old.member_id AS old_member_id,
  old.generation AS old_generation, process_id AS new_process_id, client AS new_client, member_id AS new_member_id, generation AS new_generation,
  incarnation, old.start_offset AS old_from, old.last_committed, start_offset AS restarted_at, how AS restarted_how,
  timestamp_millis(start_lo_ms) AS restarted_lo, timestamp_millis(start_hi_ms) AS restarted_hi,
  CASE WHEN got_to > old.start_offset OR is_exact THEN got_to END AS read_to,
  greatest(0L, got_to - greatest(start_offset, old.start_offset)) AS records_lo,
  CASE WHEN is_exact THEN greatest(0L, got_to - greatest(start_offset, old.start_offset)) END AS records_hi,
  CASE WHEN is_exact THEN 'automatic_commit'
    WHEN got_to = old.refused.at_offset AND got_to > old.start_offset THEN 'refused_commit'
    WHEN got_to = old.last_committed AND got_to > old.start_offset THEN 'committed'
    WHEN got_to = old.asked.at_offset AND got_to > old.start_offset THEN 'asked_commit'
    WHEN start_offset < old.start_offset THEN 'went_back'
    ELSE 'unknown' END AS how,
  CASE WHEN d.start_id IS NOT NULL THEN greatest(0L, d.acknowledged_lo - start_offset) END AS committed_again_lo,
  CASE WHEN d.is_whole THEN greatest(0L, d.acknowledged_hi - start_offset) END AS committed_again_hi,
  old.fence.fenced_by AS fenced_by, reference_process_id, event_id,
  filter(array_distinct(array(old.event_id, CASE WHEN got_to = old.refused.at_offset THEN old.refused.event_id
    WHEN got_to = old.asked.at_offset THEN old.asked.event_id END, old.taken.event_id, old.fence.event_id, event_id)), e -> e IS NOT NULL) AS witness
FROM start_with_extent
LEFT JOIN (SELECT event_id AS start_id, resource AS start_resource, acknowledged_lo, acknowledged_hi, is_whole FROM start_commit) d
  ON d.start_id = event_id AND d.start_resource = resource
-- A consumer that starts again at its position has read nothing twice.
WHERE old.process_id <> process_id OR old.instance <> instance OR old.client <> client OR got_to > start_offset OR start_offset < old.start_offset

-- One row per time that another consumer continued to read a partition, or the same one started again: the records that were read twice,
-- according to the logs.
-- Reads: position_start, config_value
-- Grain: kafka_cluster, group_id, resource, event_id
-- Public: yes
-- Records are read twice if the old reader had read them and they are at or after the offset where the new one began. The old reader's last
-- commit, even a refused one, is a lower bound of its position: it may have read more. The bound is exact if its last line is an automatic
-- commit, which always has the whole position. A record counts as read when poll() returns it.
CREATE OR REPLACE TEMPORARY VIEW duplicate_ledger (
  kafka_cluster   COMMENT 'Kafka cluster id',
  group_id        COMMENT 'Group',
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
  last_committed  COMMENT 'Highest offset that the old reader committed, by its own lines (DEBUG); NULL: not shown',
  restarted_at    COMMENT 'Offset at which the new reader started',
  restarted_how
    COMMENT 'committed: at the group''s committed offset; reset: there was no usable one; sought: where the application wanted',
  restarted_lo    COMMENT 'Earliest time at which it started (reference clock)',
  restarted_hi    COMMENT 'Latest time at which it started',
  read_to         COMMENT 'Offset up to which the old reader had certainly read (not included); NULL: only its start is known',
  records_lo      COMMENT 'Minimum number of records read twice',
  records_hi      COMMENT 'Maximum number of records read twice; NULL: no bound',
  how             COMMENT 'automatic_commit: exact; refused_commit: the old reader''s commit up to read_to was refused; asked_commit: it
    asked to commit, and the logs do not show the outcome; committed: it had committed up to read_to; went_back: the new reader started at a
    lower offset than the old reader had; unknown: how far the old reader had read is unknown',
  fenced_by
    COMMENT 'Why the old reader''s commits were refused afterwards: group, group.instance.id; NULL: no line shows that they were',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  event_id        COMMENT 'Event that shows where the new reader started',
  witness         COMMENT 'Events that prove it'
)
COMMENT 'One row per time that another consumer continued to read a partition, or the same one started again: the records that were read
    twice, according to the logs.'
AS
WITH auto_commit_client AS (
  -- An eager consumer with auto-commit commits before it releases its partitions; a refusal would be printed.
  SELECT process_id, instance, client_id,
    bool_and(coalesce(commits, 'false') = 'true' AND coalesce(protocol, 'classic') <> 'CONSUMER'
      AND (strategies IS NULL OR strategies RLIKE 'RangeAssignor|RoundRobinAssignor|[.]StickyAssignor')) AS is_eager
  FROM (
    SELECT process_id, instance, client_id, event_id,
      max(value) FILTER (WHERE key = 'enable.auto.commit') AS commits,
      max(upper(value)) FILTER (WHERE key = 'group.protocol') AS protocol,
      max(value) FILTER (WHERE key = 'partition.assignment.strategy') AS strategies
    FROM config_value
    WHERE component = 'ConsumerConfig' AND key IN ('enable.auto.commit', 'group.protocol', 'partition.assignment.strategy')
    GROUP BY process_id, instance, client_id, event_id
  )
  GROUP BY process_id, instance, client_id
), start_with_previous AS (
  SELECT *,
    lag(struct(process_id, instance, client, member_id, generation, start_offset, last_committed, asked_offset, asked_id, refused_offset,
      refused_id, final_offset,
      fenced_by, fenced_id, taken, taken_id, any_refused, event_id)) OVER (
      -- Generations order readers of any clock; if they are unknown, only readers whose clocks can be compared follow each other.
      PARTITION BY kafka_cluster, group_id, resource, CASE WHEN generation IS NULL THEN reference_process_id END
      ORDER BY incarnation, generation, start_lo_ms, process_id, stream_pos) AS old
  FROM position_start
), start_with_progress AS (
  SELECT t.*,
    greatest(t.old.refused_offset, t.old.asked_offset, t.old.last_committed, t.old.final_offset) AS read_to,
    coalesce(a.is_eager, false) AND t.old.taken = 'revoked' AND NOT t.old.any_refused AND t.how = 'committed' AS is_clean
  FROM start_with_previous t
  LEFT JOIN auto_commit_client a ON a.process_id = t.old.process_id AND a.instance = t.old.instance AND a.client_id = t.old.client
  WHERE t.old IS NOT NULL
), start_with_extent AS (
  SELECT *,
    CASE WHEN is_clean THEN start_offset ELSE coalesce(greatest(read_to, old.start_offset), old.start_offset) END AS got_to,
    is_clean OR old.final_offset IS NOT NULL AND old.final_offset = read_to AS is_exact
  FROM start_with_progress
)
SELECT
  kafka_cluster, group_id, resource, old.process_id AS old_process_id, old.client AS old_client, old.member_id AS old_member_id,
    old.generation AS old_generation, process_id AS new_process_id, client AS new_client, member_id AS new_member_id,
    generation AS new_generation, incarnation,
  old.start_offset AS old_from, old.last_committed, start_offset AS restarted_at, how AS restarted_how,
  timestamp_millis(start_lo_ms) AS restarted_lo, timestamp_millis(start_hi_ms) AS restarted_hi,
  CASE WHEN got_to > old.start_offset OR is_exact THEN got_to END AS read_to,
  greatest(0L, got_to - greatest(start_offset, old.start_offset)) AS records_lo,
  CASE WHEN is_exact THEN greatest(0L, got_to - greatest(start_offset, old.start_offset)) END AS records_hi,
  CASE
    WHEN is_exact THEN 'automatic_commit'
    WHEN got_to = old.refused_offset AND got_to > old.start_offset THEN 'refused_commit'
    WHEN got_to = old.last_committed AND got_to > old.start_offset THEN 'committed'
    WHEN got_to = old.asked_offset AND got_to > old.start_offset THEN 'asked_commit'
    WHEN start_offset < old.start_offset THEN 'went_back'
    ELSE 'unknown'
  END AS how,
  old.fenced_by, reference_process_id, event_id,
  filter(array_distinct(array(old.event_id,
    CASE WHEN got_to = old.refused_offset THEN old.refused_id WHEN got_to = old.asked_offset THEN old.asked_id END, old.taken_id,
      old.fenced_id, event_id)), e -> e IS NOT NULL) AS witness
FROM start_with_extent
-- A consumer that starts again at its position has read nothing twice.
WHERE old.process_id <> process_id OR old.instance <> instance OR old.client <> client OR got_to > start_offset
  OR start_offset < old.start_offset

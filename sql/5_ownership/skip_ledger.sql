-- One row for each occasion on which a consumer started to read a partition: the records before that place which no member had committed.
-- Reads: start_commit, duplicate_ledger
-- Grain: kafka_cluster, group_id, resource, event_id
-- Public: yes
-- What members had committed follows from a dump of __consumer_offsets. Without one, only starts above the position of the reader before have a row.
-- A consumer may process records that it never commits, so the range may contain some that the reader before had processed.
CREATE OR REPLACE TEMPORARY VIEW skip_ledger (
  kafka_cluster, group_id,
  resource        COMMENT 'Topic partition',
  process_id      COMMENT 'Process that starts to read',
  member_id       COMMENT 'Its member id',
  generation      COMMENT 'Generation in which it starts; NULL: unknown, or a KIP-848 group',
  committed_to    COMMENT 'Highest offset that members had certainly committed, or read, before; NULL: not shown',
  started_at      COMMENT 'Offset at which it started',
  started_how     COMMENT 'committed: at the group''s committed offset; reset: there was no usable one; sought: where the application wanted',
  started_lo      COMMENT 'Earliest time at which it started (reference clock)',
  started_hi      COMMENT 'Latest time at which it started',
  records_lo      COMMENT 'Minimum number of records before started_at that no member had committed',
  records_hi      COMMENT 'Maximum number of them; NULL: no bound',
  certainty       COMMENT 'exact, bounded or unknown',
  moved_by        COMMENT 'What set the position, if it is not the last commit of a member: outside (a commit while the group had no members: a tool
    such as kafka-consumer-groups --reset-offsets, or an API call), removed (the commit had expired or was deleted), nothing_committed, out_of_range
    (the committed offset no longer existed), application (it sought); NULL: it is that commit, or unknown',
  reason          COMMENT 'Why it is not exact: no_dump, missing_commits (the dump lacks some, or ends before), first_reader (how many records
    existed before is unknown), order_unknown (of some commits it is unknown whether they were before); NULL: it is exact',
  event_id        COMMENT 'Event that shows where it started',
  witness
)
AS
WITH known_start AS (
  SELECT s.kafka_cluster, s.group_id, s.resource, s.process_id, s.member_id, s.generation, s.at_offset, s.how, s.start_lo_ms, s.start_hi_ms,
    greatest(s.acknowledged_lo, d.read_to, d.last_committed) AS committed_to, s.acknowledged_hi, s.before, s.is_whole, true AS is_dumped, s.event_id
  FROM start_commit s
  LEFT JOIN duplicate_ledger d ON d.event_id = s.event_id AND d.resource = s.resource AND d.group_id = s.group_id
    AND d.kafka_cluster = s.kafka_cluster
  UNION ALL
  SELECT d.kafka_cluster, d.group_id, d.resource, d.new_process_id, d.new_member_id, d.new_generation, d.restarted_at, d.restarted_how,
    unix_millis(d.restarted_lo), unix_millis(d.restarted_hi), greatest(d.read_to, d.last_committed, d.old_from), NULL, NULL, false, false, d.event_id
  FROM duplicate_ledger d
  LEFT ANTI JOIN start_commit s ON s.event_id = d.event_id AND s.resource = d.resource
  WHERE d.restarted_how <> 'committed' AND d.restarted_at > greatest(d.read_to, d.last_committed, d.old_from)
), measured_start AS (
  SELECT *, greatest(0L, at_offset - greatest(committed_to, 0L)) AS most,
    -- What was committed before is known to the record: then so is the rest.
    is_whole AND acknowledged_hi >= 0 AND committed_to >= acknowledged_hi AS is_exact
  FROM known_start
)
SELECT kafka_cluster, group_id, resource, process_id, member_id, generation, committed_to, at_offset AS started_at, how AS started_how,
  timestamp_millis(start_lo_ms) AS started_lo, timestamp_millis(start_hi_ms) AS started_hi,
  CASE WHEN is_exact THEN most ELSE 0L END AS records_lo,
  CASE WHEN most = 0 OR committed_to IS NOT NULL OR is_whole AND acknowledged_hi < 0 THEN most END AS records_hi,
  CASE WHEN is_exact OR most = 0 THEN 'exact' WHEN committed_to IS NOT NULL OR is_whole AND acknowledged_hi < 0 THEN 'bounded'
    ELSE 'unknown' END AS certainty,
  CASE WHEN how = 'sought' THEN 'application'
    WHEN how = 'committed' AND before.offset = at_offset AND before.made_by = 'outside' THEN 'outside'
    WHEN how = 'reset' AND is_whole THEN CASE WHEN before IS NULL THEN 'nothing_committed' WHEN before.offset IS NULL THEN 'removed'
      ELSE 'out_of_range' END END AS moved_by,
  CASE WHEN is_exact OR most = 0 THEN NULL WHEN NOT is_dumped THEN 'no_dump' WHEN NOT is_whole THEN 'missing_commits'
    WHEN acknowledged_hi < 0 THEN 'first_reader' ELSE 'order_unknown' END AS reason,
  event_id, filter(array(before.event_id, event_id), e -> e IS NOT NULL) AS witness
FROM measured_start

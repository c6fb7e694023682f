-- One row per commit of a consumer group, or removal of one, in a dump of __consumer_offsets.
-- Reads: snapshot, generation
-- Grain: event_id
-- Public: yes
-- The coordinator writes commits and the group's generations into one log, so their order there says in which generation a commit was made, whatever
-- the clocks say. It accepts a commit without a generation only while the group has no members: from a tool, an API call, or a consumer without a
-- group assignment. Commits of a transaction are not checked in this way. The topic is compacted: where records are missing, the commit before and
-- the one that made it are unknown. The same record in dumps of several replicas is one row.
CREATE OR REPLACE TEMPORARY VIEW offset_commit (
  kafka_cluster        COMMENT 'Kafka cluster whose logs name the group; NULL: none, or several do, or dumps of the group contradict each other',
  group_id,
  topic                COMMENT 'Topic',
  partition            COMMENT 'Partition, topic-number',
  offset               COMMENT 'Committed offset: the next record to read; NULL: the commit was removed (a tombstone)',
  leader_epoch         COMMENT 'Leader epoch of the last record that was read; NULL: none',
  metadata             COMMENT 'Metadata that the application set',
  committed_ts         COMMENT 'Time of the commit, by the coordinator''s clock; of a transaction, when it ended',
  expire_ts            COMMENT 'Time at which it expires, as stored; NULL: by offsets.retention.minutes',
  offsets_partition    COMMENT 'Partition of __consumer_offsets',
  log_offset           COMMENT 'Offset of the record there; NULL: the console consumer does not print it',
  outcome              COMMENT 'last: the last one in the dump; earlier: another followed; removed: the last record removes the commit;
    aborted: its transaction ended without it; pending: its transaction is open',
  previous_offset      COMMENT 'Offset of the commit before; NULL: none, or it had been removed',
  is_next              COMMENT 'True if certainly no record is missing between the commit before (or the beginning of the log) and this one',
  generation           COMMENT 'Generation in which it was made, also of the group without members; NULL: unknown, or a KIP-848 group',
  member_id            COMMENT 'Member that had the partition in that generation; NULL: unknown',
  made_by              COMMENT 'member: while the group had members; outside: while it had none; NULL: unknown',
  path, line,
  event_id             COMMENT 'Its id, for `forensics show`'
)
AS
WITH dumped_record AS (
  SELECT *, event IN ('group_stored', 'group_removed') AS is_group, row_number() OVER (
      PARTITION BY group_id, partition, offsets_partition, log_offset, event LIKE 'group%', coalesce(log_offset, line), offset, ts,
        CASE WHEN log_offset IS NULL THEN file_id END
      ORDER BY log_run, path, line) AS nth
  FROM snapshot
  WHERE source_kind = 'offsets_dump' AND (event LIKE 'offset\\_%' OR event IN ('group_stored', 'group_removed'))
), group_conflict AS (
  -- Two dumps with different records at one place are of different clusters.
  SELECT DISTINCT group_id
  FROM (
    SELECT group_id FROM dumped_record WHERE nth = 1 AND NOT is_group AND log_offset IS NOT NULL
    GROUP BY group_id, partition, offsets_partition, log_offset HAVING count(*) > 1
  )
), cluster_of_group AS (
  SELECT g.group_id, max(g.kafka_cluster) AS kafka_cluster FROM generation g LEFT ANTI JOIN group_conflict c ON c.group_id = g.group_id
  GROUP BY g.group_id HAVING count(DISTINCT g.kafka_cluster) = 1
), with_generation AS (
  SELECT *, lag(CASE WHEN is_group THEN struct(generation, member_count, log_run, event, line) END) IGNORE NULLS OVER (
    PARTITION BY file_id, offsets_partition, group_id ORDER BY log_offset, line, event_id) AS held
  FROM dumped_record
), commit_line AS (
  SELECT *, held.log_run = log_run AND held.event = 'group_stored' AND producer_id IS NULL AND outcome NOT IN ('aborted', 'pending') AS is_placed
  FROM (
    SELECT *, CASE event WHEN 'offset_stored' THEN 'last' WHEN 'offset_removed' THEN 'removed' WHEN 'offset_aborted' THEN 'aborted'
      WHEN 'offset_pending' THEN 'pending' ELSE 'earlier' END AS outcome
    FROM with_generation WHERE NOT is_group AND nth = 1
  )
), commit_with_previous AS (
  SELECT *, lag(CASE WHEN outcome NOT IN ('aborted', 'pending') THEN struct(offset, log_run) END) IGNORE NULLS OVER (
    PARTITION BY group_id, partition, offsets_partition, CASE WHEN log_offset IS NULL THEN file_id END
    ORDER BY log_offset, line, event_id) AS before
  FROM commit_line
), generation_member AS (
  SELECT file_id, group_id, line, generation, p AS partition, max(member_id) AS member_id
  FROM snapshot LATERAL VIEW explode(assigned_partitions) x AS p
  WHERE source_kind = 'offsets_dump' AND event = 'member_stored'
  GROUP BY file_id, group_id, line, generation, p HAVING count(*) = 1
)
SELECT k.kafka_cluster, c.group_id, c.topic, c.partition, c.offset, c.leader_epoch, c.metadata, c.ts AS committed_ts,
  timestamp_millis(c.expire_ms) AS expire_ts, c.offsets_partition, c.log_offset, c.outcome, c.before.offset AS previous_offset,
  coalesce(coalesce(c.before.log_run, 0) = c.log_run, false) AS is_next,
  CASE WHEN c.is_placed AND c.held.member_count IS NOT NULL THEN c.held.generation END AS generation, m.member_id,
  -- The members of a KIP-848 group are counted in the dump; before it became one, it may have been a classic group.
  CASE WHEN c.producer_id IS NULL AND c.member_count > 0 THEN 'member' WHEN c.producer_id IS NULL AND c.member_count = 0 THEN 'outside'
    WHEN c.is_placed THEN CASE WHEN c.held.member_count > 0 THEN 'member' WHEN c.held.member_count = 0 THEN 'outside' END END AS made_by,
  c.path, c.line, c.event_id
FROM commit_with_previous c LEFT JOIN cluster_of_group k ON k.group_id = c.group_id
LEFT JOIN generation_member m ON c.is_placed AND m.file_id = c.file_id AND m.line = c.held.line AND m.group_id = c.group_id
  AND m.partition = c.partition

-- One row per commit of a consumer group, or removal of one, in a dump of __consumer_offsets.
-- Reads: event_row, generation, client_event
-- Computed: forensics.ownership.offset_commit
-- Grain: event_id
-- Public: yes
-- The coordinator writes commits and the group's generations into one log, so their order there says in which generation a commit was made, whatever
-- the clocks say. It accepts a commit without a generation only while the group has no members: from a tool, an API call, or a consumer without a
-- group assignment. Commits of a transaction are not checked in this way: its producer id shows whose process made them. The topic is compacted:
-- where records are missing, the commit before and the one that made it are unknown. The same record in dumps of several replicas is one row.
CREATE OR REPLACE TEMPORARY VIEW offset_commit (
  kafka_cluster STRING COMMENT 'Kafka cluster whose logs name the group; NULL: none, or several do, or dumps of the group contradict each other',
  group_id STRING,
  topic STRING COMMENT 'Topic',
  partition STRING COMMENT 'Partition, topic-number',
  offset BIGINT COMMENT 'Committed offset: the next record to read; NULL: the commit was removed (a tombstone)',
  leader_epoch BIGINT COMMENT 'Leader epoch of the last record that was read; NULL: none',
  metadata STRING COMMENT 'Metadata that the application set',
  committed_ts TIMESTAMP COMMENT 'Time of the commit, by the coordinator''s clock; of a transaction, when it ended',
  expire_ts TIMESTAMP COMMENT 'Time at which it expires, as stored; NULL: by offsets.retention.minutes',
  offsets_partition BIGINT COMMENT 'Partition of __consumer_offsets',
  log_offset BIGINT COMMENT 'Offset of the record there; NULL: the console consumer does not print it',
  outcome STRING COMMENT 'last: the last one in the dump; earlier: another followed; removed: the last record removes the commit;
    aborted: its transaction ended without it; pending: its transaction is open',
  previous_offset BIGINT COMMENT 'Offset of the commit before; NULL: none, or it had been removed',
  is_next BOOLEAN COMMENT 'True if certainly no record is missing between the commit before (or the beginning of the log) and this one',
  generation BIGINT COMMENT 'Generation in which it was made, also of the group without members; NULL: unknown, or a KIP-848 group',
  member_id STRING COMMENT 'Member that had the partition in that generation; NULL: unknown',
  made_by STRING COMMENT 'member: while the group had members; outside: while it had none; NULL: unknown',
  path STRING, line BIGINT,
  event_id STRING COMMENT 'Its id, for `forensics show`'
)

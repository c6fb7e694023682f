-- One row per offset that a source connector stored, or had removed, in a dump of Connect's offsets topic or an answer of GET /connectors/X/offsets.
-- Reads: event_row
-- Computed: forensics.tasks.source_offset
-- Grain: event_id
-- Public: yes
-- Connect prints the records of a source partition in their order. The topic is compacted, so records between two rows may be missing, and the first
-- row of a source partition need not be its first offset. What a task read is not stored: after a restart it reads from the last stored offset on.
CREATE OR REPLACE TEMPORARY VIEW source_offset (
  connector STRING COMMENT 'Connector; NULL: an answer of the REST API without its request',
  source_partition STRING COMMENT 'The connector''s own partition, as JSON with sorted keys',
  source_offset STRING COMMENT 'The offset in it, as JSON with sorted keys; NULL: it was removed',
  stored_ts TIMESTAMP COMMENT 'Time of the record, or of the answer; NULL: not in the file',
  log_offset BIGINT COMMENT 'Offset of the record in the topic (print.offset=true)',
  source STRING COMMENT 'connect_topic or connect_rest',
  outcome STRING COMMENT 'last: the last one in the file; earlier: another followed; removed: this record removes the offset',
  change STRING COMMENT 'Against the record before: first (of the file), forward, back (some numbers are lower and none is higher), snapshot_again (a
    snapshot had ended, or never began, and one runs), same, removed, after_removal, or other: the two cannot be compared; NULL: a REST answer',
  is_ordered BOOLEAN COMMENT 'True if offsets or times of the two records show their order; false: they contradict it, as in a topic that was printed
    twice; NULL: the file has neither',
  is_snapshot BOOLEAN COMMENT 'True if it was stored during a snapshot, false if it says that it was not; NULL: it says nothing (Debezium does)',
  previous_offset STRING COMMENT 'The record before in the file; NULL: none, or it removes the offset',
  previous_ts TIMESTAMP COMMENT 'Its time',
  path STRING, line BIGINT,
  previous_event_id STRING COMMENT 'Its id',
  event_id STRING COMMENT 'Id of this one, for `forensics show`'
)

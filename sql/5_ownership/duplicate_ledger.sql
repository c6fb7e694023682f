-- One row for each occasion on which another consumer continued to read a partition, or the same one started again: the records that were read twice,
-- according to the logs.
-- Reads: offset_line, join_round, member_round, clock_offset, config_value, offset_commit, start_commit
-- Reads: event_row, copied_log, damaged_line, process_start
-- Computed: forensics.ownership.duplicate_ledger
-- Grain: kafka_cluster, group_id, resource, event_id
-- Public: yes
-- Records are read twice if the old reader had read them and they are at or after the offset where the new one began. The old reader's last
-- commit, even a refused one, is a lower bound of its position: it may have read more. The bound is exact if its last line is an automatic
-- commit, which always has the whole position. A record counts as read when poll() returns it. A reading lasts until
-- the same consumer starts again or is assigned partitions again. Consumers that read without an assignment are not members.
CREATE OR REPLACE TEMPORARY VIEW duplicate_ledger (
  kafka_cluster STRING, group_id STRING,
  resource STRING COMMENT 'Topic partition',
  old_process_id STRING COMMENT 'Process that had read it before',
  old_client STRING COMMENT 'Its client; for a sink task the task',
  old_member_id STRING COMMENT 'Its member id',
  old_generation BIGINT COMMENT 'Generation in which it started to read (KIP-848: its epoch)',
  new_process_id STRING COMMENT 'Process that continues; the same one if a consumer starts again',
  new_client STRING COMMENT 'Its client; for a sink task the task',
  new_member_id STRING COMMENT 'Its member id',
  new_generation BIGINT COMMENT 'Generation in which it started to read',
  incarnation BIGINT COMMENT 'Incarnation of the group''s metadata in which the new reader started',
  old_from BIGINT COMMENT 'Offset at which the old reader started',
  last_committed BIGINT COMMENT 'Highest offset that the old reader committed, by its own lines (DEBUG) or a dump of its commits; NULL: not shown',
  restarted_at BIGINT COMMENT 'Offset at which the new reader started',
  restarted_how STRING COMMENT 'committed: at the group''s committed offset; reset: there was no usable one; sought: where the application wanted',
  restarted_lo TIMESTAMP COMMENT 'Earliest time at which it started (reference clock)',
  restarted_hi TIMESTAMP COMMENT 'Latest time at which it started',
  read_to BIGINT COMMENT 'Offset up to which the old reader had certainly read (not included); NULL: only its start is known',
  records_lo BIGINT COMMENT 'Minimum number of records read twice',
  records_hi BIGINT COMMENT 'Maximum number of records read twice; NULL: no bound',
  how STRING COMMENT 'automatic_commit: exact; refused_commit: the old reader''s commit up to read_to was refused; asked_commit: it asked to
    commit, and the logs do not show the outcome; committed: it had committed up to read_to; went_back: the new reader started at a lower offset
    than the old reader had; unknown: how far the old reader had read is unknown',
  committed_again_lo BIGINT COMMENT 'Records from restarted_at on that members had certainly committed before, by a dump of __consumer_offsets; NULL:
    no dump shows it',
  committed_again_hi BIGINT COMMENT 'They had committed no more; equal to committed_again_lo: exact; NULL: no bound, as the dump may lack commits',
  fenced_by STRING COMMENT 'Why the old reader''s commits were refused afterwards: group, group.instance.id; NULL: no line shows that they were',
  reference_process_id STRING,
  event_id STRING COMMENT 'Event that shows where the new reader started',
  witness ARRAY<STRING>
)

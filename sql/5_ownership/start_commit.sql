-- One row per line in which a consumer of a group starts to read a partition, with what a dump shows that the group had committed there before.
-- Reads: offset_line, join_round, offset_commit, generation, clock_offset
-- Computed: forensics.ownership.start_commit
-- Grain: event_id, resource
-- A commit of an earlier generation was before the start, and one of the start's own generation after it, if the partition was assigned just before:
-- nobody else could commit it. Without generations, the clocks decide, as far as they can. Only commits of members acknowledge records: a tool can
-- set any offset.
CREATE OR REPLACE TEMPORARY VIEW start_commit (
  kafka_cluster STRING, group_id STRING, resource STRING, process_id STRING, instance INT, client STRING, stream_pos BIGINT, event_id STRING,
  member_id STRING COMMENT 'Member that starts',
  generation BIGINT COMMENT 'Generation in which it starts; NULL: unknown',
  how STRING COMMENT 'committed, reset or sought',
  at_offset BIGINT COMMENT 'Offset at which it starts',
  start_lo_ms BIGINT COMMENT 'Earliest time of the line (reference clock)',
  start_hi_ms BIGINT COMMENT 'Latest time of the line',
  reference_process_id STRING,
  acknowledged_lo BIGINT COMMENT 'Members had certainly committed up to this offset before; NULL: no commit is certainly before',
  acknowledged_hi BIGINT COMMENT 'The commits of the dump that may be before go no further; -1: there are none; NULL: no bound',
  before STRUCT<offset: BIGINT, made_by: STRING, at_ms: BIGINT, event_id: STRING> COMMENT 'Last commit that is certainly before, or
    its removal (offset NULL); NULL: none',
  is_whole BOOLEAN COMMENT 'True if the dump certainly has all commits of the partition before the start'
)

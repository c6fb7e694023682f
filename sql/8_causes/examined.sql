-- One row for each case: what the answer about split brain is based on, or why nothing could be examined.
-- Reads: ownership, split_brain, coverage, process, member, generation, member_generation, clock_offset, source_file, rules, root_cause, join_round
-- Reads: lost_membership, unowned, member_round, member_place
-- Computed: forensics.examination.examined
-- Grain: code
-- Words: by view
-- Public: yes
-- That no pair of owners was found is an all-clear only within these limits, and none if `examined` is false.
CREATE OR REPLACE TEMPORARY VIEW examined (
  examined            BOOLEAN COMMENT 'An owner of at least one resource is known, and the case has logs of two members of a group, or the
    coordinator''s log shows that the group had only one member',
  code                STRING COMMENT 'Why nothing was examined: no_files, no_records, not_kafka, no_group_lines, no_coordinator, cut_lines,
    brokers_only, filtered, several_members, no_info, no_assignments, nothing_assigned, share_groups, no_signs or one_log; NULL: something was',
  note                STRING COMMENT 'The same in words; NULL: something was examined',
  tasks               BIGINT COMMENT 'Number of tasks with a known owner',
  connectors          BIGINT COMMENT 'Number of connectors with a known owner',
  partitions          BIGINT COMMENT 'Number of partitions with a known owner; one that two groups read counts twice',
  groups              BIGINT COMMENT 'Number of groups whose members owned them',
  owners              BIGINT COMMENT 'Number of processes with a log that owned them',
  members_without_log BIGINT COMMENT 'Number of members that appear only in other logs',
  members_unheard     BIGINT COMMENT 'Number of consumers whose log lacks their INFO lines',
  logs_cut            BIGINT COMMENT 'Number of logs with truncated lines',
  logs_damaged        BIGINT COMMENT 'Number of logs with damaged lines',
  files_unread        BIGINT COMMENT 'Number of files that could not be read, or not completely',
  ownerships          BIGINT COMMENT 'Number of rows of ownership',
  files               BIGINT COMMENT 'Number of logs that were read',
  records             BIGINT COMMENT 'Number of their records',
  from_ts             TIMESTAMP COMMENT 'First line of an owner''s log, on the reference clock',
  to_ts               TIMESTAMP COMMENT 'Last line of an owner''s log, on the reference clock',
  gaps                BIGINT COMMENT 'Number of silences in the owners'' logs',
  silent_ms           BIGINT COMMENT 'Time during which at least one of these logs is silent, milliseconds',
  groups_not_counted  ARRAY<STRING> COMMENT 'Groups whose number of members is not in the logs',
  groups_not_examined ARRAY<STRING> COMMENT 'Groups in the logs without any known owner',
  facts               STRUCT<read_paths: ARRAY<STRING>, file_notes: ARRAY<STRING>, is_forbidden: BOOLEAN, selected_groups: ARRAY<STRING>,
    owner_groups: ARRAY<STRING>, shared_logs: ARRAY<STRING>, absent: ARRAY<STRING>, absent_count: BIGINT,
    has_more_members: BOOLEAN, alone_from: BIGINT, alone_to: BIGINT>
    COMMENT 'Facts of the reason: files and why they were not read, groups, logs of several members, and members without a log; NULL: something was
    examined'
)

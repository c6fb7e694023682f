-- One row for each period of a process's time that the evidence covers or lacks, and per process that others name but whose log is missing.
-- Reads: event_row, range_row, unrecognised_row, process_start, process_life, process_cluster, evidence_file, member, member_generation, generation
-- Reads: shared_log, quiet_log, copied_log, damaged_line, filtered_log, lost_range, log_hole, client_event, ownership_pair, ownership, clock_offset
-- Reads: silent_member
-- Computed: forensics.logs.coverage
-- Grain: process_id, kind, from_ts, note
-- Words: by view
-- Public: yes
-- A claim that something did not happen is only as good as the coverage of that time.
CREATE OR REPLACE TEMPORARY VIEW coverage (
  process_id STRING COMMENT 'Process, or a name for the missing one',
  from_ts    TIMESTAMP COMMENT 'From, by its own clock',
  to_ts      TIMESTAMP COMMENT 'To, by its own clock',
  kind       STRING COMMENT 'covered, gap, missing_lines, truncated, unreadable, filtered, unordered, several_members, several_brokers, cut_lines,
    damaged, no_info, copy, many_owners or missing_process',
  note       STRING COMMENT 'Description',
  code       STRING COMMENT 'Same as kind; for a missing process, whether it is a member or the coordinator of a group',
  facts      STRUCT<lives: BIGINT, silent_ms: BIGINT, why: STRING, literal: STRING, from_line: BIGINT, to_line: BIGINT, path: STRING, reason: STRING,
    client: STRING, members: BIGINT, brokers: BIGINT, broker_ids: STRING, line_count: BIGINT, group_id: STRING, generation: BIGINT, clients:
    STRING, client_count: BIGINT, of_process: STRING, equal_lines: BIGINT, all_lines: BIGINT, own_lines: BIGINT, pairs: BIGINT, resources:
    STRING, generations: BIGINT, all_generations: BIGINT, loaded_by: STRING>
    COMMENT 'Facts of the description: process runs, length of a gap, why lines must be missing, a file and its fault, a group and its
    generations, a client and its members, a copy and its original'
)

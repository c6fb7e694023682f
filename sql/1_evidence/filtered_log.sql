-- One row per process whose log is a selection of its lines, for example by `grep`: lines that are absent may have been printed.
-- Reads: event_row, copied_log, damaged_line, process_start, range_row, evidence_file
-- Computed: forensics.logs.filtered_log
-- Grain: process_id
-- A filter leaves marks: separators, line numbers with gaps, or parts of records without their first lines. If not, the combination of lines shows
-- it: a coordinator prepares one rebalance after another and completes none, or members reach generation after generation without asking to join. A
-- single case may be a lost line; the pattern counts only if it has no exception. No conclusion may rest on the absence of a line from such a log.
-- The same is true if lines are not in the order in which they were printed, as in an export that sorts by second. Their times show that (threads
-- that write alternately put fewer than one line in a hundred before its time), or lines that one thread prints one after the other.
CREATE OR REPLACE TEMPORARY VIEW filtered_log (
  process_id STRING,
  why STRING        COMMENT 'separators, line_numbers, values (evidence_file), or the kind of line that never appears alone: rebalances_unended,
    rebalances_unprepared, rounds_unasked, answers_unasked, heartbeats_unsent, assignments_unstarted, starts_unmade, rounds_unassigned,
    settings_empty; unordered: its lines are not in the order in which they were printed; sorted: only those of the same millisecond are
    not',
  literal STRING    COMMENT 'A word in all of its lines; NULL: none is known',
  from_ms BIGINT    COMMENT 'First event, by the log''s clock (milliseconds since 1970)',
  to_ms BIGINT      COMMENT 'Last event'
)

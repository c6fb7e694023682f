-- One row per gap in a member's log where lines must be missing: rotated away, cut out, not copied, or lost one by one.
-- Reads: filtered_log, lost_range, event_row, copied_log, damaged_line, process_start, join_round, client_event, setting, owned_list, task_line
-- Computed: forensics.logs.log_hole
-- Grain: process_id, instance, to_pos
-- In a filtered log any line may be missing: between any two lines, and before the first and after the last. If several reasons point to the same
-- place, the row has the widest gap and the first of the reasons for it.
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id STRING, instance INT,
  from_pos BIGINT   COMMENT 'Last position that is certainly before it',
  to_pos BIGINT     COMMENT 'First position that is certainly after it',
  is_wide BOOLEAN    COMMENT 'True if a whole stretch may be missing, including ends and starts; false if a single missing line explains it',
  why STRING        COMMENT 'member_changed, generation_skipped or joined_unasked (its own log does not explain how it reached a generation);
    coordinator_ahead (the coordinator counted it in a later one); join_unanswered (no line shows what became of its join request); a reason of
    work_hole; filtered; lost (a row of lost_range)',
  event_id STRING   COMMENT 'First line that is certainly after it; NULL for a lost range'
)

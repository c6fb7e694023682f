-- One row per record with a name that contradicts all other lines: for example, only one line of a client names a group that differs in one letter.
-- Reads: event_row
-- Computed: forensics.logs.damaged_line
-- Grain: event_id
-- A process does not change the name of a group, a client or a member for one line and then print the old name again. Such a line is damaged, so it
-- proves nothing; the other lines are read without it. A real second member prints several lines, or a name that is not nearly the same. Ids of
-- members are unique: two that agree in one half are the same, and each belongs to one group.
CREATE OR REPLACE TEMPORARY VIEW damaged_line (
  event_id STRING, process_id STRING, stream_pos BIGINT,
  value STRING    COMMENT 'What the line prints',
  expected STRING COMMENT 'What the other lines print'
)

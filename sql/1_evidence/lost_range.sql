-- One row per process and place in its log where what was printed is lost: zero bytes, bytes that are no text, a cut end, or a packed file's fault.
-- Reads: range_row, event_row, counted_row, copied_log, process_start
-- Computed: forensics.logs.lost_range
-- Grain: process_id, from_pos
-- Before and after it, the log is as certain as any other. In between, any line may have been printed, so nothing may be concluded from the absence
-- of a line there. Several damaged places without a record between them are one.
CREATE OR REPLACE TEMPORARY VIEW lost_range (
  process_id STRING,
  before_instance INT COMMENT 'Run of the process before it; NULL: no line comes before',
  instance INT        COMMENT 'Run of the process after it; NULL: no line follows',
  from_pos BIGINT        COMMENT 'Last position that is certainly before it',
  to_pos BIGINT          COMMENT 'First position that is certainly after it',
  from_ms BIGINT         COMMENT 'Last line before it, by the log''s clock (milliseconds since 1970); NULL: it may have begun at any time before',
  to_ms BIGINT           COMMENT 'First line after it; NULL: it may have lasted to any time after',
  path STRING            COMMENT 'File',
  from_line BIGINT       COMMENT 'Its first line that is lost, or partly lost',
  to_line BIGINT         COMMENT 'The last of these lines',
  from_byte BIGINT       COMMENT 'First byte that is lost',
  to_byte BIGINT         COMMENT 'First byte after it',
  why STRING             COMMENT 'zero_bytes, no_text (bytes that are no text), unread (fault of a packed file) or cut_end (the file ends
    inside a record)'
)

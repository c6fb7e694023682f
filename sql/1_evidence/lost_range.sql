-- One row per process and place in its log where what was printed is lost: zero bytes, bytes that are no text, a cut end, or a packed file's fault.
-- Reads: range_row, event_row, counted_row, process_line
-- Grain: process_id, from_pos
-- Before and after it, the log is as certain as any other. In between, any line may have been printed, so nothing may be concluded from the absence
-- of a line there. Several damaged places without a record between them are one.
CREATE OR REPLACE TEMPORARY VIEW lost_range (
  process_id,
  before_instance COMMENT 'Run of the process before it; NULL: no line comes before',
  instance        COMMENT 'Run of the process after it; NULL: no line follows',
  from_pos        COMMENT 'Last position that is certainly before it',
  to_pos          COMMENT 'First position that is certainly after it',
  from_ms         COMMENT 'Last line before it, by the log''s clock (milliseconds since 1970); NULL: it may have begun at any time before',
  to_ms           COMMENT 'First line after it; NULL: it may have lasted to any time after',
  path            COMMENT 'File',
  from_line       COMMENT 'Its first line that is lost, or partly lost',
  to_line         COMMENT 'The last of these lines',
  from_byte       COMMENT 'First byte that is lost',
  to_byte         COMMENT 'First byte after it',
  why             COMMENT 'zero_bytes, no_text (bytes that are no text), unread (fault of a packed file) or cut_end (the file ends inside a record)'
)
AS
WITH lost AS (
  SELECT path, part.from_pos, part.to_pos, part.from_line, part.to_line, part.from_byte, part.to_byte, part.why
  FROM range_row LATERAL VIEW explode(lost) x AS part
), process_in_file AS (
  SELECT DISTINCT r.path, r.process_id
  FROM (SELECT path, process_id FROM event_row WHERE category <> 'snapshot' UNION ALL SELECT path, process_id FROM counted_row) r
  LEFT SEMI JOIN lost l ON l.path = r.path
), line_or_loss AS (
  -- The beginning of a cut record may still show its time, so it is before the loss.
  SELECT p.process_id, p.stream_pos, 0 AS turn, CAST(NULL AS STRING) AS path, p.instance, p.at_ms,
    CAST(NULL AS STRUCT<to_pos: BIGINT, from_line: BIGINT, to_line: BIGINT, from_byte: BIGINT, to_byte: BIGINT, why: STRING>) AS loss
  FROM process_line p LEFT SEMI JOIN process_in_file f ON f.process_id = p.process_id
  UNION ALL
  SELECT f.process_id, l.from_pos, 1, l.path, NULL, NULL, struct(l.to_pos, l.from_line, l.to_line, l.from_byte, l.to_byte, l.why)
  FROM lost l JOIN process_in_file f ON f.path = l.path
), loss_between_lines AS (
  SELECT process_id, path, loss, stream_pos AS loss_pos,
    lag(CASE WHEN turn = 0 THEN struct(stream_pos, instance, at_ms) END) IGNORE NULLS OVER (PARTITION BY process_id
      ORDER BY stream_pos, turn) AS before,
    lag(CASE WHEN turn = 0 THEN struct(stream_pos, instance, at_ms) END) IGNORE NULLS OVER (PARTITION BY process_id
      ORDER BY -stream_pos, -turn) AS after,
    turn
  FROM line_or_loss
)
SELECT process_id, before.instance AS before_instance, after.instance AS instance, coalesce(before.stream_pos, min(loss_pos) - 1) AS from_pos,
  coalesce(after.stream_pos, max(loss.to_pos) + 1) AS to_pos, before.at_ms AS from_ms, after.at_ms AS to_ms, min(path) AS path,
  min(loss.from_line) AS from_line, max(loss.to_line) AS to_line, min(loss.from_byte) AS from_byte, max(loss.to_byte) AS to_byte,
  min(loss.why) AS why
FROM loss_between_lines WHERE turn = 1 GROUP BY process_id, before.stream_pos, before.instance, before.at_ms, after.stream_pos,
  after.instance, after.at_ms

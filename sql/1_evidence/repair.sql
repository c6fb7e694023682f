-- One row per repair: lines that are not read as they appear in their file, because time, order or process is wrong or they appear twice.
-- Reads: range_row
-- Grain: path, process_id, byte_offset, kind
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW repair (
  path        COMMENT 'File, below the ingested folder',
  process_id  COMMENT 'Process (log stream) that the lines are attributed to',
  byte_offset COMMENT 'First byte of the first of these lines in the uncompressed file',
  kind        COMMENT 'What is wrong: daylight_saving or time_zone (from here on, local times have another offset), midnight (times have no
    date, and the next day begins), other_log (lines of another process begin), earlier_part (parts of a log were joined in the wrong order), repeated
    (a part appears twice), doubled (single lines appear twice at the same time), unordered (lines are not in the order of their times) or
    wrong_time (a few have an impossible time)',
  action      COMMENT 'What was done: time_shifted, separated (made a process of its own), moved or sorted (read where their times belong),
    left_out (only the first copy is read) or time_corrected (they have no time)',
  shift_ms    COMMENT 'Added to the printed times, milliseconds; NULL if the lines are left out',
  printed_ts  COMMENT 'Printed time of the first of these lines',
  first_ts    COMMENT 'Earliest time of these lines, corrected',
  last_ts     COMMENT 'Latest time of these lines, corrected',
  records     COMMENT 'Records that are left out because they are doubled; NULL for other kinds',
  witness     COMMENT 'Lines that show it: the two before the place and the two after it, or the first and the last doubled line'
)
AS
WITH decided AS (
  SELECT path, process_id, range_start - 1 AS byte_offset, coalesce(shift_why, 'doubled') AS kind, shift_ms, first_ts, last_ts, repeats, shift_ids
  FROM range_row WHERE shift_why IS NOT NULL OR repeats > 0
)
SELECT path, process_id, byte_offset, kind,
  CASE kind WHEN 'other_log' THEN 'separated' WHEN 'earlier_part' THEN 'moved' WHEN 'repeated' THEN 'left_out'
    WHEN 'doubled' THEN 'left_out' WHEN 'unordered' THEN 'sorted' WHEN 'wrong_time' THEN 'time_corrected' ELSE 'time_shifted' END AS action,
  CASE WHEN kind NOT IN ('repeated', 'doubled') THEN shift_ms END AS shift_ms,
  timestamp_millis(unix_millis(first_ts) - coalesce(shift_ms, 0)) AS printed_ts, first_ts, last_ts, repeats AS records, shift_ids AS witness
FROM decided

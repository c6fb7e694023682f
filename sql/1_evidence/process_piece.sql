-- One row per mebibyte of log, with at least one line, of a process that was seen starting: the starts before it, and in it.
-- Reads: event_row, counted_row, process_start
-- Grain: process_id, piece
-- The process run of a line follows from the starts before it. Pieces keep the arrays short even if a process starts thousands of times.
CREATE OR REPLACE TEMPORARY VIEW process_piece (
  process_id    COMMENT 'Process',
  piece         COMMENT 'Its lines have positions from piece times 1048576',
  starts_before COMMENT 'Starts before it',
  starts        COMMENT 'Positions of the starts in it, ascending'
)
COMMENT 'One row per mebibyte of log, with at least one line, of a process that was seen starting: the starts before it, and in it.'
AS
WITH log_piece AS (
  SELECT process_id, stream_pos DIV 1048576 AS piece FROM event_row
  UNION
  SELECT process_id, stream_pos DIV 1048576 FROM counted_row
), starts_in_piece AS (
  SELECT process_id, start_pos DIV 1048576 AS piece, sort_array(collect_list(start_pos)) AS starts
  FROM (SELECT process_id, explode(starts) AS start_pos FROM process_start)
  GROUP BY process_id, start_pos DIV 1048576
)
SELECT
  p.process_id AS process_id,
  p.piece AS piece,
  CAST(coalesce(sum(size(b.starts)) OVER (PARTITION BY p.process_id ORDER BY p.piece ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
    AS INT) AS starts_before,
  coalesce(b.starts, CAST(array() AS ARRAY<BIGINT>)) AS starts
FROM log_piece p
LEFT SEMI JOIN process_start s ON s.process_id = p.process_id
LEFT JOIN starts_in_piece b ON b.process_id = p.process_id AND b.piece = p.piece

-- One row per mebibyte of the log of a process that was seen starting, as far as it has lines: the starts before it, and in it.
-- Reads: event_row, counted_row, process_start
-- Grain: process_id, piece
-- Which life a line is of follows from the starts before it. A process that is started thousands of times has few of them in each piece.
CREATE OR REPLACE TEMPORARY VIEW process_piece (
  process_id    COMMENT 'Process',
  piece         COMMENT 'Its lines have positions from piece times 1048576 on',
  starts_before COMMENT 'Starts before it',
  starts        COMMENT 'Positions of the starts in it, ascending'
)
COMMENT 'One row per mebibyte of the log of a process that was seen starting, as far as it has lines: the starts before it, and in it.'
AS
WITH piece AS (
  SELECT process_id, stream_pos DIV 1048576 AS piece FROM event_row
  UNION
  SELECT process_id, stream_pos DIV 1048576 FROM counted_row
), begun AS (
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
FROM piece p
LEFT SEMI JOIN process_start s ON s.process_id = p.process_id
LEFT JOIN begun b ON b.process_id = p.process_id AND b.piece = p.piece

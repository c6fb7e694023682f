-- One row per recognised record: who printed it, when, what it is called, and what it tells.
-- Reads: event_row, process_piece, copied_log
-- Grain: event_id
-- Kept: no
-- What second witnesses say beside the logs (tools' outputs, REST answers, properties) is in the view `snapshot`.
-- The captures' comments come with the table, from the dictionary of captures.
CREATE OR REPLACE TEMPORARY VIEW event
COMMENT 'One row per recognised record: who printed it, when, what it is called, and what it tells.'
AS
SELECT
  r.*,
  coalesce(s.starts_before + size(filter(s.starts, p -> p <= r.stream_pos)), 0) AS instance
FROM event_row r
LEFT JOIN process_piece s ON s.process_id = r.process_id AND s.piece = r.stream_pos DIV 1048576
-- One process is not read twice.
LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id
WHERE r.category <> 'snapshot'

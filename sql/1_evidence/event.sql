-- One row per recognised record: its process, time, name and fields.
-- Reads: event_row, process_start, copied_log, damaged_line
-- Grain: event_id
-- Kept: no
-- Public: yes
-- Evidence other than logs (output of tools, REST responses, properties) is in the view `snapshot`. The captures' column comments come from the
-- dictionary of captures.
CREATE OR REPLACE TEMPORARY VIEW event
AS
SELECT
  r.*, coalesce(s.starts_before + CASE WHEN s.starts IS NULL THEN 0 ELSE size(filter(s.starts, x -> x.stream_pos <= r.stream_pos)) END, 0) AS instance
FROM event_row r LEFT JOIN process_start s ON s.process_id = r.process_id AND s.piece = r.stream_pos DIV 1048576
-- A copy of a log is not counted.
LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id
-- A damaged line proves nothing.
LEFT ANTI JOIN damaged_line d ON d.event_id = r.event_id
WHERE r.category <> 'snapshot'

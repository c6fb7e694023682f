-- One row per recognised record, either a row of `event` or only counted, with its position and time.
-- Reads: event_row, counted_row, process_start, copied_log
-- Grain: process_id, stream_pos
-- Kept: no
-- Any line that a process prints is a sign of life. Views that need times but no facts read this view.
CREATE OR REPLACE TEMPORARY VIEW process_line (
  process_id, instance, stream_pos, at_ms, resolution_ms, event,
  releases COMMENT 'Kafka releases that can have printed it',
  event_id COMMENT 'Its event; NULL: it is only counted'
)
AS
SELECT r.process_id,
  coalesce(s.starts_before + CASE WHEN s.starts IS NULL THEN 0 ELSE size(filter(s.starts, x -> x.stream_pos <= r.stream_pos)) END, 0) AS instance,
  r.stream_pos, unix_millis(r.ts) AS at_ms, r.resolution_ms, r.event, r.releases, r.event_id
FROM (
  SELECT process_id, stream_pos, ts, resolution_ms, event, releases, event_id FROM event_row WHERE category <> 'snapshot'
  UNION ALL
  SELECT process_id, stream_pos, ts, resolution_ms, event, releases, CAST(NULL AS STRING) AS event_id FROM counted_row
  -- A collection begins and ends while the program does not run.
  WHERE event <> 'gc_pause_began'
) r
LEFT JOIN process_start s ON s.process_id = r.process_id AND s.piece = r.stream_pos DIV 1048576
-- The lines of one process are not counted twice.
LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id

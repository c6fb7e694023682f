-- One row per recognised record, either a row of `event` or only counted, with its position and time.
-- Reads: event_row, counted_row, process_piece, copied_log
-- Grain: process_id, stream_pos
-- Kept: no
-- Any line that a process prints is a sign of life. Views that need times but no facts read this view.
CREATE OR REPLACE TEMPORARY VIEW process_line (
  process_id    COMMENT 'Process',
  instance      COMMENT 'Which run of the process',
  stream_pos    COMMENT 'Order inside the process',
  at_ms         COMMENT 'When, by its own clock (milliseconds since 1970)',
  resolution_ms COMMENT 'Resolution of the printed time',
  event         COMMENT 'What happened',
  releases      COMMENT 'Kafka releases that can have printed it',
  event_id      COMMENT 'Its event; NULL: it is only counted'
)
COMMENT 'One row per recognised record, either a row of event or only counted, with its position and time.'
AS
SELECT
  r.process_id AS process_id,
  coalesce(s.starts_before + size(filter(s.starts, p -> p <= r.stream_pos)), 0) AS instance,
  r.stream_pos AS stream_pos,
  unix_millis(r.ts) AS at_ms,
  r.resolution_ms AS resolution_ms,
  r.event AS event,
  r.releases AS releases,
  r.event_id AS event_id
FROM (
  SELECT process_id, stream_pos, ts, resolution_ms, event, releases, event_id FROM event_row WHERE category <> 'snapshot'
  UNION ALL
  SELECT process_id, stream_pos, ts, resolution_ms, event, releases, CAST(NULL AS STRING) AS event_id FROM counted_row
) r
LEFT JOIN process_piece s ON s.process_id = r.process_id AND s.piece = r.stream_pos DIV 1048576
-- The lines of one process are not counted twice.
LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id

-- One row per process: the resolution of its printed times.
-- Reads: process_line
-- Grain: process_id
CREATE OR REPLACE TEMPORARY VIEW process_resolution (
  process_id,
  resolution_ms COMMENT 'A printed time may be earlier than the true one by nearly this, milliseconds'
)
AS
SELECT process_id, coalesce(max(resolution_ms), 1) AS resolution_ms FROM process_line GROUP BY process_id

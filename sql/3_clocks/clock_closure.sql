-- One row per ordered pair of processes connected by a chain of edges: the narrowest bound on the second clock against the first.
-- Reads: clock_path
-- Grain: from_process_id, to_process_id
-- A cycle of bounds that no clocks can satisfy is contradictory. Paths through it are left out.
CREATE OR REPLACE TEMPORARY VIEW clock_closure (
  from_process_id COMMENT 'Process',
  to_process_id   COMMENT 'Process whose clock is measured',
  hi_ms           COMMENT 'Its clock is ahead of the first one''s by at most this, milliseconds',
  witness         COMMENT 'Lines of the chain, two per link'
)
COMMENT 'One row per ordered pair of processes connected by a chain of edges: the narrowest bound on the second clock against the first.'
AS
WITH contradictory_path AS (
  SELECT a.from_process_id, b.to_process_id
  FROM clock_path circle
  JOIN clock_path a ON a.to_process_id = circle.from_process_id
  JOIN clock_path b ON b.from_process_id = circle.from_process_id
  WHERE circle.from_process_id = circle.to_process_id AND circle.hi_ms < 0
)
SELECT p.from_process_id, p.to_process_id, p.hi_ms, p.witness
FROM clock_path p LEFT ANTI JOIN contradictory_path s ON s.from_process_id = p.from_process_id AND s.to_process_id = p.to_process_id

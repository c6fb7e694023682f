-- One row per process with the clock on which its times are comparable with those of others.
-- Reads: clock_offset, clock_setback, clock_suspect
-- Grain: process_id
-- This is the clock of its island's reference if the offset is known to within `clock_skew_ms`. A process with a less certain clock, for example one
-- that stepped, keeps its own clock: otherwise a duration between its lines and another's would consist of the uncertainty alone.
CREATE OR REPLACE TEMPORARY VIEW common_clock (
  process_id,
  clock_id   COMMENT 'Process whose clock its times are on: the reference of its island, or itself',
  ahead_ms   COMMENT 'How far its clock is ahead of that one, milliseconds (middle of the bounds)',
  is_steady  COMMENT 'False if that clock stepped',
  set_back   COMMENT 'Positions in its own log before which its own clock was set back; NULL: none',
  step_ms    COMMENT 'Its own clock stepped by at least this at an unknown position, milliseconds; NULL: no such step is known'
)
AS
WITH reference_offset AS (
  SELECT process_id, reference_process_id, lo_ms, hi_ms, stepped, coalesce(hi_ms - lo_ms <= clock_skew_ms, false) AS is_close
  FROM clock_offset WHERE is_island_reference
), setback_position AS (
  SELECT process_id, array_sort(collect_list(stream_pos)) AS set_back FROM clock_setback GROUP BY process_id
)
SELECT o.process_id, CASE WHEN o.is_close THEN o.reference_process_id ELSE o.process_id END AS clock_id,
  CASE WHEN o.is_close THEN (o.lo_ms + o.hi_ms) DIV 2 ELSE 0L END AS ahead_ms,
  NOT CASE WHEN o.is_close THEN coalesce(r.stepped, false) ELSE o.stepped END AS is_steady, s.set_back,
  CASE WHEN d.how = 'contradicted' THEN d.by_ms END AS step_ms
FROM reference_offset o LEFT JOIN reference_offset r ON r.process_id = o.reference_process_id
LEFT JOIN setback_position s ON s.process_id = o.process_id
LEFT JOIN clock_suspect d ON d.process_id = o.process_id

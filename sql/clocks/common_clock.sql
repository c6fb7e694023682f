-- One row per process and the clock by which its times are told beside those of others.
-- Reads: clock_offset, clock_setback, clock_suspect
-- Grain: process_id
-- That of its island's reference, where the two are known to less than `clock_skew_ms`. A process whose clock is known worse, as one that
-- stepped, has only its own: a length of time between its lines and another's would be made of the bounds alone.
CREATE OR REPLACE TEMPORARY VIEW common_clock (
  process_id COMMENT 'Process',
  clock_id   COMMENT 'Process whose clock tells its times: the reference of its island, or itself',
  ahead_ms   COMMENT 'How far its clock is ahead of that one, milliseconds (middle of the bounds)',
  is_steady  COMMENT 'False where the clock that tells them stepped',
  set_back   COMMENT 'Positions in its own log before which its own clock was set back; NULL: none',
  step_ms    COMMENT 'Its own clock stepped by at least this at a place that is not known, milliseconds; NULL: no such step is known'
)
COMMENT 'One row per process and the clock by which its times are told beside those of others.'
AS
WITH own AS (
  SELECT process_id, reference_process_id, lo_ms, hi_ms, stepped, coalesce(hi_ms - lo_ms <= clock_skew_ms, false) AS is_close
  FROM clock_offset
  WHERE is_island_reference
), setback AS (
  SELECT process_id, array_sort(collect_list(stream_pos)) AS set_back FROM clock_setback GROUP BY process_id
)
SELECT
  o.process_id AS process_id,
  CASE WHEN o.is_close THEN o.reference_process_id ELSE o.process_id END AS clock_id,
  CASE WHEN o.is_close THEN (o.lo_ms + o.hi_ms) DIV 2 ELSE 0L END AS ahead_ms,
  NOT CASE WHEN o.is_close THEN coalesce(r.stepped, false) ELSE o.stepped END AS is_steady,
  s.set_back AS set_back,
  CASE WHEN d.how = 'contradicted' THEN d.by_ms END AS step_ms
FROM own o
LEFT JOIN own r ON r.process_id = o.reference_process_id
LEFT JOIN setback s ON s.process_id = o.process_id
LEFT JOIN clock_suspect d ON d.process_id = o.process_id

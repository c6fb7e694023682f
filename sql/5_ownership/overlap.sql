-- One row per ownership pair: the least and greatest time for which both owned the resource, over every clock offset that the edges allow.
-- Reads: ownership_pair, holding, process_resolution, owner_line
-- Grain: a_id, b_id
-- Values are milliseconds on a's clock, with b's times shifted by the offset. For a fixed offset the overlap is the earlier end minus the
-- later start. Over all offsets it has no inner minimum, so the minimum is at one of the two bounds, and the maximum is at a bound or where
-- two starts or two ends coincide. An ownership without a known start is not certain at all, and a known one is certain only up to the last
-- line that shows it: no proof rests on a line that is not in the log. Printed times are truncated to the layout's resolution, so an event
-- may be nearly that much later than its printed time. That does not apply to two threads of one worker, whose lines are in order and which
-- restarts a task only after the previous thread has ended. A span that seems to end before it began, because its clock was set back, is no
-- bound.
CREATE OR REPLACE TEMPORARY VIEW overlap (
  a_id        COMMENT 'Ownership',
  b_id        COMMENT 'The other',
  certain_ms  COMMENT 'Both threads (holdings) certainly existed for at least this; at or below zero, or NULL: not certain',
  possible_ms COMMENT 'Both threads (holdings) existed for at most this; at or below zero: never both; NULL: no bound',
  work_possible_ms COMMENT 'Both were working for at most this; at or below zero: never both; NULL: no bound',
  a_from_ms   COMMENT 'On a''s clock: both certainly existed from this time on',
  a_to_ms     COMMENT 'On a''s clock: both certainly existed until this time',
  b_from_ms   COMMENT 'On b''s clock: both certainly existed from this time on',
  b_to_ms     COMMENT 'On b''s clock: both certainly existed until this time',
  a_work_to_ms COMMENT 'On a''s clock: neither had certainly stopped working before this time',
  b_work_to_ms COMMENT 'On b''s clock: neither had certainly stopped working before this time'
)
COMMENT 'One row per ownership pair: the least and greatest time for which both owned the resource.'
AS
WITH pair_with_resolution AS (
  SELECT r.a_id, r.b_id, r.lo_ms, r.hi_ms, struct(a.*) AS a, struct(b.*) AS b,
    least(a.stop_lo_ms, p.until_ms) AS a_until_ms, least(b.stop_lo_ms, q.until_ms) AS b_until_ms,
    CASE WHEN a.process_id = b.process_id AND a.resource_kind <> 'partition' THEN 0 ELSE x.resolution_ms END AS x_ms,
    CASE WHEN a.process_id = b.process_id AND a.resource_kind <> 'partition' THEN 0 ELSE y.resolution_ms END AS y_ms
  FROM ownership_pair r
  JOIN holding a ON a.ownership_id = r.a_id
  JOIN holding b ON b.ownership_id = r.b_id
  JOIN process_resolution x ON x.process_id = a.process_id
  JOIN process_resolution y ON y.process_id = b.process_id
  LEFT JOIN owner_line p ON p.ownership_id = r.a_id
  LEFT JOIN owner_line q ON q.ownership_id = r.b_id
  WHERE r.lo_ms IS NOT NULL AND r.hi_ms IS NOT NULL
), pair_span AS (
  -- NULL means no bound on that side; greatest and least ignore it.
  SELECT
    a_id, b_id, lo_ms AS l, hi_ms AS u,
    a.start_lo_ms AS a_start_lo, a.start_hi_ms + x_ms AS a_start_hi,
    a_until_ms AS a_stop_lo, a.stop_hi_ms + x_ms AS a_stop_hi, a.work_stop_hi_ms + x_ms AS a_work_hi,
    b.start_lo_ms AS b_start_lo, b.start_hi_ms + y_ms AS b_start_hi,
    b_until_ms AS b_stop_lo, b.stop_hi_ms + y_ms AS b_stop_hi, b.work_stop_hi_ms + y_ms AS b_work_hi
  FROM pair_with_resolution
), valid_span AS (
  SELECT a_id, b_id, l, u, a_start_lo, a_start_hi, a_stop_lo, b_start_lo, b_start_hi, b_stop_lo,
    CASE WHEN a_stop_hi < a_start_lo THEN NULL ELSE a_stop_hi END AS a_stop_hi,
    CASE WHEN a_work_hi < a_start_lo THEN NULL ELSE a_work_hi END AS a_work_hi,
    CASE WHEN b_stop_hi < b_start_lo THEN NULL ELSE b_stop_hi END AS b_stop_hi,
    CASE WHEN b_work_hi < b_start_lo THEN NULL ELSE b_work_hi END AS b_work_hi,
    a_start_hi IS NOT NULL AND a_stop_lo IS NOT NULL AND b_start_hi IS NOT NULL AND b_stop_lo IS NOT NULL AS is_shown
  FROM pair_span
), candidate_offset AS (
  SELECT *,
    array(l, u, greatest(l, least(u, b_stop_hi - a_stop_hi)), greatest(l, least(u, b_start_lo - a_start_lo))) AS ds,
    array(l, u, greatest(l, least(u, b_work_hi - a_work_hi)), greatest(l, least(u, b_start_lo - a_start_lo))) AS work_ds
  FROM valid_span
)
SELECT
  a_id, b_id,
  CASE WHEN is_shown
    THEN array_min(transform(array(l, u), d -> least(a_stop_lo, b_stop_lo - d) - greatest(a_start_hi, b_start_hi - d))) END AS certain_ms,
  array_max(transform(ds, d -> least(a_stop_hi, b_stop_hi - d) - greatest(a_start_lo, b_start_lo - d))) AS possible_ms,
  array_max(transform(work_ds, d -> least(a_work_hi, b_work_hi - d) - greatest(a_start_lo, b_start_lo - d))) AS work_possible_ms,
  CASE WHEN is_shown THEN greatest(a_start_hi, b_start_hi - l) END AS a_from_ms,
  CASE WHEN is_shown THEN least(a_stop_lo, b_stop_lo - u) END AS a_to_ms,
  CASE WHEN is_shown THEN greatest(b_start_hi, a_start_hi + u) END AS b_from_ms,
  CASE WHEN is_shown THEN least(b_stop_lo, a_stop_lo + l) END AS b_to_ms,
  least(a_work_hi, b_work_hi - u) AS a_work_to_ms,
  least(b_work_hi, a_work_hi + l) AS b_work_to_ms
FROM candidate_offset

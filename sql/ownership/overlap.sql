-- One row per ownership pair: how long both owned the resource at least and at most, over every clock offset that the edges allow.
-- Reads: ownership_pair, holding, process_resolution, owner_line
-- Grain: a_id, b_id
-- In milliseconds on a's clock, b's times shifted by the offset. For a fixed offset the overlap is the earlier end less the later start;
-- over the offsets it has no inner minimum, so the least is at one of the ends, and the most at an end or where two starts or two ends
-- meet. What is not known to have begun is not surely there at all, and what begun is surely there only to the last line that shows it: no
-- proof rests on a line that is not in the log. Printed times are cut to the layout's resolution: what surely was there at a printed time
-- may have come nearly that much later; not so between two threads of one worker, whose lines stand in order, and which starts a task again
-- only when it is done with the thread before. A span that seems to end before it began, because its clock was set back, bounds nothing.
CREATE OR REPLACE TEMPORARY VIEW overlap (
  a_id        COMMENT 'Ownership',
  b_id        COMMENT 'The other',
  certain_ms  COMMENT 'Both threads (holdings) surely there for at least this; at or below zero, or NULL: not surely',
  possible_ms COMMENT 'Both threads (holdings) there for at most this; at or below zero: never both; NULL: no bound',
  work_possible_ms COMMENT 'Both at work for at most this; at or below zero: never both; NULL: no bound',
  a_from_ms   COMMENT 'On a''s clock: both surely there from then on',
  a_to_ms     COMMENT 'On a''s clock: both surely there until then',
  b_from_ms   COMMENT 'On b''s clock: both surely there from then on',
  b_to_ms     COMMENT 'On b''s clock: both surely there until then',
  a_work_to_ms COMMENT 'On a''s clock: neither has surely stopped work until then',
  b_work_to_ms COMMENT 'On b''s clock: neither has surely stopped work until then'
)
COMMENT 'One row per ownership pair: how long both owned the resource at least and at most.'
AS
WITH padded AS (
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
), span AS (
  -- NULL: no bound on that side, which greatest and least leave out.
  SELECT
    a_id, b_id, lo_ms AS l, hi_ms AS u,
    a.start_lo_ms AS a_start_lo, a.start_hi_ms + x_ms AS a_start_hi,
    a_until_ms AS a_stop_lo, a.stop_hi_ms + x_ms AS a_stop_hi, a.work_stop_hi_ms + x_ms AS a_work_hi,
    b.start_lo_ms AS b_start_lo, b.start_hi_ms + y_ms AS b_start_hi,
    b_until_ms AS b_stop_lo, b.stop_hi_ms + y_ms AS b_stop_hi, b.work_stop_hi_ms + y_ms AS b_work_hi
  FROM padded
), sane AS (
  SELECT a_id, b_id, l, u, a_start_lo, a_start_hi, a_stop_lo, b_start_lo, b_start_hi, b_stop_lo,
    CASE WHEN a_stop_hi < a_start_lo THEN NULL ELSE a_stop_hi END AS a_stop_hi,
    CASE WHEN a_work_hi < a_start_lo THEN NULL ELSE a_work_hi END AS a_work_hi,
    CASE WHEN b_stop_hi < b_start_lo THEN NULL ELSE b_stop_hi END AS b_stop_hi,
    CASE WHEN b_work_hi < b_start_lo THEN NULL ELSE b_work_hi END AS b_work_hi,
    a_start_hi IS NOT NULL AND a_stop_lo IS NOT NULL AND b_start_hi IS NOT NULL AND b_stop_lo IS NOT NULL AS is_shown
  FROM span
), offsets AS (
  SELECT *,
    array(l, u, greatest(l, least(u, b_stop_hi - a_stop_hi)), greatest(l, least(u, b_start_lo - a_start_lo))) AS ds,
    array(l, u, greatest(l, least(u, b_work_hi - a_work_hi)), greatest(l, least(u, b_start_lo - a_start_lo))) AS work_ds
  FROM sane
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
FROM offsets

-- One row per ownership in a pair: the last line of its process that shows that it existed.
-- Reads: ownership_pair, holding, event_row, member_heard
-- Grain: ownership_id
-- A certain statement must follow from lines that can be cited, so it ends with this line. The coordinator heard from a removed member at
-- least until one session timeout before the removal.
CREATE OR REPLACE TEMPORARY VIEW owner_line (
  ownership_id COMMENT 'Ownership',
  until_ms     COMMENT 'Time of the last line at which it certainly existed, by its process''s own clock (milliseconds since 1970)',
  until_id     COMMENT 'Its event, or the removal if its coordinator heard from it last',
  heard_witness COMMENT 'The other lines that show that the coordinator heard from it; NULL: its own line shows it'
)
COMMENT 'One row per ownership in a pair: the last line of its process that shows that it existed.'
AS
WITH paired_ownership AS (
  SELECT a_id AS ownership_id FROM ownership_pair UNION SELECT b_id FROM ownership_pair
), ownership_end AS (
  SELECT h.ownership_id, h.process_id, h.start_hi_ms, least(h.seen_ms, h.stop_lo_ms) AS stop_lo_ms, h.heard_ms, h.heard_id
  FROM holding h LEFT SEMI JOIN paired_ownership c ON c.ownership_id = h.ownership_id
  WHERE h.stop_lo_ms IS NOT NULL AND h.seen_ms IS NOT NULL AND h.start_hi_ms IS NOT NULL
), process_moment AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms, 0 AS is_mark, e.stream_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
    CAST(NULL AS BIGINT) AS start_hi_ms, named_struct('at_ms', unix_millis(e.ts), 'event_id', e.event_id) AS line
  FROM event_row e LEFT SEMI JOIN (SELECT DISTINCT process_id FROM ownership_end) m ON m.process_id = e.process_id
  WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT process_id, stop_lo_ms, 1, 0, ownership_id, start_hi_ms, CAST(NULL AS STRUCT<at_ms: BIGINT, event_id: STRING>) FROM ownership_end
), ownership_with_line AS (
  SELECT ownership_id, start_hi_ms,
    lag(line) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY at_ms, is_mark, pos, ownership_id) AS last_line
  FROM process_moment
)
SELECT f.ownership_id, coalesce(m.heard_ms, f.last_line.at_ms) AS until_ms, coalesce(m.heard_id, f.last_line.event_id) AS until_id, CASE
  WHEN m.heard_id IS NOT NULL THEN w.witness END AS heard_witness
FROM ownership_with_line f
JOIN ownership_end m ON m.ownership_id = f.ownership_id
LEFT JOIN member_heard w ON w.removed_id = m.heard_id
WHERE f.last_line.at_ms >= f.start_hi_ms

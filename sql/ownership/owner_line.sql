-- One row per ownership that is compared with another: the last line of its process that shows it there.
-- Reads: ownership_pair, holding, event_row, member_heard
-- Grain: ownership_id
-- What is called certain has to follow from lines that can be shown: it ends with this one. A member that its coordinator removed was heard
-- one session timeout before.
CREATE OR REPLACE TEMPORARY VIEW owner_line (
  ownership_id COMMENT 'Ownership',
  until_ms     COMMENT 'Time of the last line at which it was surely there, by its process''s own clock (milliseconds since 1970)',
  until_id     COMMENT 'Its event; where its coordinator heard it last, the one that removed it',
  heard_witness COMMENT 'The other lines that show that the coordinator heard it; NULL: its own line shows it'
)
COMMENT 'One row per ownership that is compared with another: the last line of its process that shows it there.'
AS
WITH compared AS (
  SELECT a_id AS ownership_id FROM ownership_pair UNION SELECT b_id FROM ownership_pair
), mark AS (
  SELECT h.ownership_id, h.process_id, h.start_hi_ms, least(h.seen_ms, h.stop_lo_ms) AS stop_lo_ms, h.heard_ms, h.heard_id
  FROM holding h LEFT SEMI JOIN compared c ON c.ownership_id = h.ownership_id
  WHERE h.stop_lo_ms IS NOT NULL AND h.seen_ms IS NOT NULL AND h.start_hi_ms IS NOT NULL
), line AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms, 0 AS is_mark, e.stream_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
    CAST(NULL AS BIGINT) AS start_hi_ms, named_struct('at_ms', unix_millis(e.ts), 'event_id', e.event_id) AS line
  FROM event_row e LEFT SEMI JOIN (SELECT DISTINCT process_id FROM mark) m ON m.process_id = e.process_id
  WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT process_id, stop_lo_ms, 1, 0, ownership_id, start_hi_ms, CAST(NULL AS STRUCT<at_ms: BIGINT, event_id: STRING>) FROM mark
), followed AS (
  SELECT ownership_id, start_hi_ms,
    lag(line) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY at_ms, is_mark, pos, ownership_id) AS last_line
  FROM line
)
SELECT f.ownership_id, coalesce(m.heard_ms, f.last_line.at_ms) AS until_ms, coalesce(m.heard_id, f.last_line.event_id) AS until_id, CASE
  WHEN m.heard_id IS NOT NULL THEN w.witness END AS heard_witness
FROM followed f
JOIN mark m ON m.ownership_id = f.ownership_id
LEFT JOIN member_heard w ON w.removed_id = m.heard_id
WHERE f.last_line.at_ms >= f.start_hi_ms

-- One row per ownership that is compared with another: the last line of its process that shows it there.
-- Reads: ownership_pair, holding, event_row, member_heard
-- Grain: ownership_id
-- What is called certain has to follow from lines that can be shown: it ends with this one. A member that its coordinator removed was heard
-- one session timeout before.
CREATE OR REPLACE TEMPORARY VIEW owner_line (
  ownership_id COMMENT 'Ownership',
  until_ts     COMMENT 'Time of the last line at which it was surely there, by its process''s own clock',
  until_id     COMMENT 'Its event; where its coordinator heard it last, the one that removed it',
  heard_witness COMMENT 'The other lines that show that the coordinator heard it; NULL: its own line shows it'
)
COMMENT 'One row per ownership that is compared with another: the last line of its process that shows it there.'
AS
WITH compared AS (
  SELECT a_id AS ownership_id FROM ownership_pair UNION SELECT b_id FROM ownership_pair
), mark AS (
  SELECT h.ownership_id, h.process_id, h.start_hi_ts, least(h.seen_ts, h.stop_lo_ts) AS stop_lo_ts, h.heard_ts, h.heard_id
  FROM holding h LEFT SEMI JOIN compared c ON c.ownership_id = h.ownership_id
  WHERE h.stop_lo_ts IS NOT NULL AND h.seen_ts IS NOT NULL AND h.start_hi_ts IS NOT NULL
), line AS (
  SELECT e.process_id, e.ts, 0 AS is_mark, e.stream_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
    CAST(NULL AS TIMESTAMP) AS start_hi_ts,
    named_struct('ts', e.ts, 'event_id', e.event_id) AS line
  FROM event_row e LEFT SEMI JOIN mark m ON m.process_id = e.process_id
  WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT process_id, stop_lo_ts, 1, 0, ownership_id, start_hi_ts, CAST(NULL AS STRUCT<ts: TIMESTAMP, event_id: STRING>) FROM mark
), followed AS (
  SELECT ownership_id, start_hi_ts,
    last_value(line, true) OVER (PARTITION BY process_id ORDER BY ts, is_mark, pos, ownership_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS last_line
  FROM line
)
SELECT f.ownership_id, coalesce(m.heard_ts, f.last_line.ts) AS until_ts, coalesce(m.heard_id, f.last_line.event_id) AS until_id, CASE
  WHEN m.heard_id IS NOT NULL THEN w.witness END AS heard_witness
FROM followed f
JOIN mark m ON m.ownership_id = f.ownership_id
LEFT JOIN member_heard w ON w.removed_id = m.heard_id
WHERE f.last_line.ts >= f.start_hi_ts

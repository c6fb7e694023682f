-- One row per ownership pair whose owners certainly coexisted and both showed activity in that time.
-- Reads: overlap, holding, task_line, partition_work
-- Grain: a_id, b_id
-- Only activity of the resource itself counts, and only before its work had ended. Other lines of the process, and lines of a client that
-- is being closed, do not prove work.
CREATE OR REPLACE TEMPORARY VIEW pair_sign (
  a_id       COMMENT 'Ownership',
  b_id       COMMENT 'The other',
  a_first_ms COMMENT 'a''s first activity while both existed, by a''s clock; NULL: none',
  a_last_ms  COMMENT 'a''s last activity while both existed, by a''s clock',
  a_sign_id  COMMENT 'Its event',
  b_first_ms COMMENT 'b''s first activity while both existed, by b''s clock; NULL: none',
  b_last_ms  COMMENT 'b''s last activity while both existed, by b''s clock',
  b_sign_id  COMMENT 'Its event'
)
COMMENT 'One row per ownership pair whose owners certainly coexisted: the activity of each in that time.'
AS
WITH pair_side AS (
  SELECT a_id, b_id, 'a' AS side, a_id AS ownership_id, a_from_ms AS from_ms, least(a_to_ms, a_work_to_ms) AS to_ms FROM overlap
    WHERE certain_ms > 0
  UNION ALL
  SELECT a_id, b_id, 'b', b_id, b_from_ms, least(b_to_ms, b_work_to_ms) FROM overlap WHERE certain_ms > 0
), activity_line AS (
  SELECT process_id, resource_kind, resource, concat_ws('/', instance, life) AS owner, at_ms AS since_ms,
    at_ms, event_id
  FROM task_line
  WHERE is_work
  UNION ALL
  SELECT process_id, 'partition', resource, client, since_ms, at_ms, event_id
  FROM partition_work
), side_activity AS (
  SELECT s.a_id, s.b_id, s.side, min(g.at_ms) AS first_ms, max(g.at_ms) AS last_ms,
    max_by(g.event_id, struct(g.at_ms IS NOT NULL, g.at_ms, g.event_id)) AS sign_id
  FROM pair_side s
  JOIN holding h ON h.ownership_id = s.ownership_id
  JOIN activity_line g ON g.process_id = h.process_id AND g.resource_kind = h.resource_kind AND g.resource = h.resource
    AND g.owner = h.owner
    AND g.since_ms >= s.from_ms AND g.at_ms <= s.to_ms
  GROUP BY s.a_id, s.b_id, s.side
)
SELECT
  a_id, b_id,
  max(first_ms) FILTER (WHERE side = 'a') AS a_first_ms, max(last_ms) FILTER (WHERE side = 'a') AS a_last_ms,
    max(sign_id) FILTER (WHERE side = 'a') AS a_sign_id,
  max(first_ms) FILTER (WHERE side = 'b') AS b_first_ms, max(last_ms) FILTER (WHERE side = 'b') AS b_last_ms,
    max(sign_id) FILTER (WHERE side = 'b') AS b_sign_id
FROM side_activity
GROUP BY a_id, b_id

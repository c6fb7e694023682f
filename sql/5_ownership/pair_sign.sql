-- One row per ownership pair whose owners certainly coexisted and both showed activity in that time.
-- Reads: overlap, holding, task_line, event
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
WITH position_line AS (
  SELECT process_id, instance, coalesce(client_id, task, thread, '-') AS client, stream_pos, unix_millis(ts) AS at_ms, event_id,
    event IN ('position_set', 'position_reset', 'position_sought') AS is_jump,
    event = 'fetch_position' OR event = 'commit_sent' AND lower(message) RLIKE 'auto-?commit' AS is_progress,
    CASE WHEN `partition` IS NOT NULL THEN array(named_struct('resource', `partition`, 'position', `offset`))
      WHEN offsets IS NOT NULL THEN transform(map_entries(offsets), x -> named_struct('resource', x.key, 'position',
        x.value)) END AS positions
  FROM event
  WHERE event IN ('position_set', 'position_reset', 'position_sought', 'fetch_position', 'offset_committed', 'commit_sent', 'commit_failed')
), partition_position AS (
  SELECT process_id, instance, client, p.resource AS resource, stream_pos, at_ms, event_id, is_jump, is_progress, p.position AS position
  FROM position_line LATERAL VIEW explode(positions) x AS p
), position_with_previous AS (
  -- A position without a number (the end of the log) hides where the consumer was before.
  SELECT *, lag(CASE WHEN is_jump OR is_progress THEN struct(at_ms, position) END) IGNORE NULLS OVER (
    PARTITION BY process_id, instance, client, resource ORDER BY stream_pos, event_id) AS was
  FROM partition_position
), partition_work AS (
  -- One row per time between two lines in which a consumer certainly read records of a partition, or committed them. The first line shows
  -- the consumer's position, the second one a later position. A commit alone does not show the position: several may be in flight, and
  -- records that were read before a pause may be committed after it. An automatic commit always has the complete position.
  SELECT process_id, instance, client, resource, was.at_ms AS since_ms, was.position AS from_offset, at_ms, position AS to_offset, event_id
  FROM position_with_previous
  WHERE position > was.position AND NOT is_jump
), pair_side AS (
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

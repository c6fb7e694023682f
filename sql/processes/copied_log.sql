-- One row per process whose log is a copy of another one's, or a part of it, in other clothes: a container's output beside the file, an
-- excerpt, a second capture.
-- Reads: event_row
-- Grain: process_id
-- A coordinator gives a member id once, and no two processes say the same of the same task at the same millisecond, line after line.
-- One process that is read as two would own everything twice, so only the log with more lines is used.
CREATE OR REPLACE TEMPORARY VIEW copied_log (
  process_id   COMMENT 'Process as which the copy was read; its lines are left out',
  of_process   COMMENT 'The process whose log holds the same lines',
  equal_lines  COMMENT 'Lines about groups and tasks that both have, with the same time and text',
  line_count   COMMENT 'All such lines of the copy',
  from_ts      COMMENT 'First of them, by the log''s clock',
  to_ts        COMMENT 'Last of them'
)
COMMENT 'One row per process whose log is a copy of another one''s, or a part of it.'
AS
WITH line AS (
  -- What a process prints twice in a millisecond counts once.
  SELECT process_id, xxhash64(unix_millis(ts), event, client_id, member_id, task, message) AS content, min(ts) AS ts,
    max(resolution_ms) AS resolution_ms,
    bool_or(member_id <> '' OR task IS NOT NULL OR size(assigned_tasks) > 0 OR size(partitions) > 0
      OR event IN ('group_stabilized', 'rebalance_preparing')) AS names_owner
  FROM event_row
  WHERE ts IS NOT NULL AND category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
  GROUP BY process_id, xxhash64(unix_millis(ts), event, client_id, member_id, task, message)
), told AS (
  SELECT content, collect_set(process_id) AS tellers, bool_or(names_owner) AS names_owner
  FROM line
  GROUP BY content
  HAVING min(process_id) <> max(process_id)
), joined AS (
  -- Clocks that are read in two zones do not hide that one member joined one generation once.
  SELECT group_id, member_id, generation, event, collect_set(process_id) AS tellers
  FROM event_row
  WHERE event IN ('joined', 'synced') AND member_id <> '' AND generation IS NOT NULL
  GROUP BY group_id, member_id, generation, event
  HAVING min(process_id) <> max(process_id)
), teller AS (
  SELECT content, names_owner, false AS is_joined, tellers, explode(tellers) AS process_id FROM told
  UNION ALL
  SELECT CAST(NULL AS BIGINT) AS content, true AS names_owner, true AS is_joined, tellers, explode(tellers) AS process_id FROM joined
), pair AS (
  SELECT process_id, other, count(content) AS equal_lines, bool_or(names_owner) AS names_owner, bool_or(is_joined) AS is_joined
  FROM (SELECT content, names_owner, is_joined, process_id, explode(tellers) AS other FROM teller)
  WHERE process_id <> other
  GROUP BY process_id, other
), extent AS (
  SELECT process_id, min(ts) AS first_ts, max(ts) AS last_ts, count(*) AS line_count, max(resolution_ms) AS resolution_ms
  FROM line
  GROUP BY process_id
), beside AS (
  -- How many lines the one prints in the time that both logs cover.
  SELECT p.process_id, p.other, count(*) AS line_count
  FROM pair p
  JOIN extent a ON a.process_id = p.process_id
  JOIN extent b ON b.process_id = p.other
  JOIN line l ON l.process_id = p.process_id AND l.ts BETWEEN b.first_ts AND b.last_ts
  GROUP BY p.process_id, p.other
), copied AS (
  SELECT p.process_id, p.other, p.equal_lines, a.line_count, a.first_ts, a.last_ts,
    row_number() OVER (PARTITION BY p.process_id ORDER BY b.line_count DESC, p.other) AS nth
  FROM pair p
  JOIN extent a ON a.process_id = p.process_id
  JOIN extent b ON b.process_id = p.other
  LEFT JOIN beside x ON x.process_id = p.process_id AND x.other = p.other
  LEFT JOIN beside y ON y.process_id = p.other AND y.other = p.process_id
  WHERE (b.line_count > a.line_count OR b.line_count = a.line_count AND p.other < p.process_id)
    AND (p.is_joined OR p.names_owner AND
      -- Whole seconds are shared by much that two processes say alike.
      CASE WHEN greatest(a.resolution_ms, b.resolution_ms) <= copied_fine_ms
        THEN 100 * p.equal_lines >= copied_percent * least(x.line_count, y.line_count)
        ELSE p.equal_lines >= copied_least_lines AND 100 * p.equal_lines >= copied_coarse_percent * least(x.line_count, y.line_count) END)
)
SELECT
  process_id AS process_id,
  other AS of_process,
  equal_lines AS equal_lines,
  line_count AS line_count,
  first_ts AS from_ts,
  last_ts AS to_ts
FROM copied
WHERE nth = 1

-- One row per process whose log copies another one, or a part of it, in another format: a container's output next to the file, an excerpt,
-- a second capture.
-- Reads: event_row
-- Grain: process_id
-- A coordinator issues a member id only once, and no two processes print the same lines about the same task at the same millisecond. One process that
-- was read as two would own everything twice, so only the log with more lines is used.
CREATE OR REPLACE TEMPORARY VIEW copied_log (
  process_id  COMMENT 'Process under which the copy was read; its lines are ignored',
  of_process  COMMENT 'The process whose log contains the same lines',
  equal_lines COMMENT 'Lines about groups and tasks in both logs, with the same time and text',
  line_count  COMMENT 'All such lines of the copy',
  from_ms     COMMENT 'First of them, by the log''s clock (milliseconds since 1970)',
  to_ms       COMMENT 'Last of them'
)
AS
WITH equal_line AS (
  SELECT xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message) AS content, collect_set(process_id) AS processes,
    bool_or(member_id <> '' OR task IS NOT NULL OR size(assigned_tasks) > 0 OR size(partitions) > 0
      OR event IN ('group_stabilized', 'rebalance_preparing')) AS names_owner
  FROM event_row WHERE ts IS NOT NULL AND category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
  GROUP BY xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message)
  HAVING min(process_id) <> max(process_id)
), shared_join AS (
  -- A member joins a generation once, and a coordinator creates a member id once. That holds even if the clocks were read in two zones or the times
  -- are whole seconds.
  SELECT group_id, member_id, generation, event, collect_set(process_id) AS processes FROM event_row
  WHERE member_id <> '' AND (event IN ('joined', 'synced') AND generation IS NOT NULL
    OR event = 'member_added' AND message LIKE '%reated a new member id%')
  GROUP BY group_id, member_id, generation, event
  HAVING min(process_id) <> max(process_id)
), equal_line_process AS (
  SELECT content, names_owner, false AS is_joined, processes, explode(processes) AS process_id FROM equal_line
  UNION ALL
  SELECT CAST(NULL AS BIGINT) AS content, true AS names_owner, true AS is_joined, processes, explode(processes) AS process_id
  FROM shared_join
), log_pair AS (
  -- One row per process and another one whose log has some of the same lines, with the same time and text. Only lines about groups and tasks count,
  -- because two processes rarely print the same ones.
  SELECT process_id, other, count(content) AS equal_lines, coalesce(bool_or(names_owner), false) AS names_owner, bool_or(is_joined) AS is_joined
  FROM (SELECT content, names_owner, is_joined, process_id, explode(processes) AS other FROM equal_line_process) WHERE process_id <> other
  GROUP BY process_id, other
), group_line AS (
  -- Equal lines of one process in the same millisecond count once.
  SELECT r.process_id, xxhash64(unix_millis(r.ts), r.event, r.group_id, r.client_id, r.member_id, r.task, r.message) AS content,
    unix_millis(min(r.ts)) AS at_ms, max(r.group_id) AS group_id, max(r.resolution_ms) AS resolution_ms
  FROM event_row r LEFT SEMI JOIN (SELECT DISTINCT process_id FROM log_pair) p ON p.process_id = r.process_id
  WHERE r.ts IS NOT NULL AND r.category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
  GROUP BY r.process_id, xxhash64(unix_millis(r.ts), r.event, r.group_id, r.client_id, r.member_id, r.task, r.message)
), multi_worker_log AS (
  -- Logs with lines of several Connect workers. Such a log and a worker's own log are not copies of each other, whatever lines they share.
  SELECT process_id FROM event_row
  WHERE client_kind = 'Worker' AND group_id IS NOT NULL AND client_id NOT LIKE '%->%' GROUP BY process_id
  HAVING count(DISTINCT group_id, client_id) > 1
), log_extent AS (
  SELECT process_id, min(at_ms) AS first_ms, max(at_ms) AS last_ms, count(*) AS line_count, max(resolution_ms) AS resolution_ms,
    collect_set(group_id) AS groups
  FROM group_line GROUP BY process_id
), common_time AS (
  -- The number of lines that the process prints in the time that both logs cover.
  SELECT p.process_id, p.other, count(*) AS line_count FROM log_pair p
  JOIN log_extent a ON a.process_id = p.process_id
  JOIN log_extent b ON b.process_id = p.other
  JOIN group_line l ON l.process_id = p.process_id AND l.at_ms BETWEEN b.first_ms AND b.last_ms
  GROUP BY p.process_id, p.other
), copy_candidate AS (
  SELECT p.process_id, p.other, p.equal_lines, a.line_count, a.first_ms, a.last_ms,
    row_number() OVER (PARTITION BY p.process_id ORDER BY b.line_count DESC, p.other) AS nth
  FROM log_pair p JOIN log_extent a ON a.process_id = p.process_id
  JOIN log_extent b ON b.process_id = p.other
  LEFT JOIN common_time x ON x.process_id = p.process_id AND x.other = p.other
  LEFT JOIN common_time y ON y.process_id = p.other AND y.other = p.process_id
  LEFT JOIN multi_worker_log s ON s.process_id = p.process_id
  LEFT JOIN multi_worker_log t ON t.process_id = p.other
  WHERE (b.line_count > a.line_count
    OR b.line_count = a.line_count AND (b.resolution_ms < a.resolution_ms OR b.resolution_ms = a.resolution_ms AND p.other < p.process_id))
    -- Workers of several groups may print the same lines about tasks of the same name.
    AND (size(a.groups) = 0 OR size(b.groups) = 0 OR arrays_overlap(a.groups, b.groups)) AND (s.process_id IS NULL) = (t.process_id IS NULL)
    AND (p.is_joined OR p.names_owner AND
      -- If times are printed in whole seconds, two processes have many equal lines by chance.
      CASE WHEN greatest(a.resolution_ms, b.resolution_ms) <= copied_fine_ms
        THEN 100 * p.equal_lines >= copied_percent * least(x.line_count, y.line_count)
        ELSE p.equal_lines >= copied_least_lines AND 100 * p.equal_lines >= copied_coarse_percent * least(x.line_count, y.line_count) END)
)
SELECT process_id, other AS of_process, equal_lines, line_count, first_ms AS from_ms, last_ms AS to_ms FROM copy_candidate WHERE nth = 1

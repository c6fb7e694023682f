-- One row per process and another one whose log has some of the same lines, with the same time and text.
-- Reads: event_row
-- Grain: process_id, other
-- Only lines about groups and tasks count, because two processes rarely print the same ones.
CREATE OR REPLACE TEMPORARY VIEW log_pair (
  process_id  COMMENT 'Process',
  other       COMMENT 'The other one; each pair has two rows, one for each direction',
  equal_lines COMMENT 'Lines about groups and tasks in both logs, with the same time and text',
  names_owner COMMENT 'True if one of them shows an owner or a coordinator''s decision: no two processes print that at the same
    millisecond',
  is_joined   COMMENT 'True if both report that one member joined one generation, or that they created one member id'
)
COMMENT 'One row per process and another one whose log has some of the same lines, with the same time and text.'
AS
WITH equal_line AS (
  SELECT xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message) AS content, collect_set(process_id) AS processes,
    bool_or(member_id <> '' OR task IS NOT NULL OR size(assigned_tasks) > 0 OR size(partitions) > 0
      OR event IN ('group_stabilized', 'rebalance_preparing')) AS names_owner
  FROM event_row
  WHERE ts IS NOT NULL AND category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
  GROUP BY xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message)
  HAVING min(process_id) <> max(process_id)
), shared_join AS (
  -- A member joins a generation once, and a coordinator creates a member id once. That holds even if the clocks were read in two zones or
  -- the times are whole seconds.
  SELECT group_id, member_id, generation, event, collect_set(process_id) AS processes
  FROM event_row
  WHERE member_id <> '' AND (event IN ('joined', 'synced') AND generation IS NOT NULL
    OR event = 'member_added' AND message LIKE '%reated a new member id%')
  GROUP BY group_id, member_id, generation, event
  HAVING min(process_id) <> max(process_id)
), equal_line_process AS (
  SELECT content, names_owner, false AS is_joined, processes, explode(processes) AS process_id FROM equal_line
  UNION ALL
  SELECT CAST(NULL AS BIGINT) AS content, true AS names_owner, true AS is_joined, processes, explode(processes) AS process_id
  FROM shared_join
)
SELECT
  process_id AS process_id,
  other AS other,
  count(content) AS equal_lines,
  coalesce(bool_or(names_owner), false) AS names_owner,
  bool_or(is_joined) AS is_joined
FROM (SELECT content, names_owner, is_joined, process_id, explode(processes) AS other FROM equal_line_process)
WHERE process_id <> other
GROUP BY process_id, other

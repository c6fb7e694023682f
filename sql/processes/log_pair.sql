-- One row per process and another one whose log holds lines of it, with the same time and text.
-- Reads: event_row
-- Grain: process_id, other
-- Lines about groups and tasks only: there are few that two processes can say alike.
CREATE OR REPLACE TEMPORARY VIEW log_pair (
  process_id  COMMENT 'Process',
  other       COMMENT 'The other one; each pair stands twice, once either way',
  equal_lines COMMENT 'Lines about groups and tasks that both have, with the same time and text',
  names_owner COMMENT 'Whether one of them says who owns something, or what a coordinator decided: no two processes say that at the same
    millisecond',
  is_joined   COMMENT 'Whether both say that one member joined one generation, or that they made one member id'
)
COMMENT 'One row per process and another one whose log holds lines of it, with the same time and text.'
AS
WITH told AS (
  SELECT xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message) AS content, collect_set(process_id) AS tellers,
    bool_or(member_id <> '' OR task IS NOT NULL OR size(assigned_tasks) > 0 OR size(partitions) > 0
      OR event IN ('group_stabilized', 'rebalance_preparing')) AS names_owner
  FROM event_row
  WHERE ts IS NOT NULL AND category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
  GROUP BY xxhash64(unix_millis(ts), event, group_id, client_id, member_id, task, message)
  HAVING min(process_id) <> max(process_id)
), joined AS (
  -- Clocks that are read in two zones, or whole seconds, do not hide that one member joined one generation once, and that a coordinator
  -- makes a member id once.
  SELECT group_id, member_id, generation, event, collect_set(process_id) AS tellers
  FROM event_row
  WHERE member_id <> '' AND (event IN ('joined', 'synced') AND generation IS NOT NULL
    OR event = 'member_added' AND message LIKE '%reated a new member id%')
  GROUP BY group_id, member_id, generation, event
  HAVING min(process_id) <> max(process_id)
), teller AS (
  SELECT content, names_owner, false AS is_joined, tellers, explode(tellers) AS process_id FROM told
  UNION ALL
  SELECT CAST(NULL AS BIGINT) AS content, true AS names_owner, true AS is_joined, tellers, explode(tellers) AS process_id FROM joined
)
SELECT
  process_id AS process_id,
  other AS other,
  count(content) AS equal_lines,
  coalesce(bool_or(names_owner), false) AS names_owner,
  bool_or(is_joined) AS is_joined
FROM (SELECT content, names_owner, is_joined, process_id, explode(tellers) AS other FROM teller)
WHERE process_id <> other
GROUP BY process_id, other

-- One row per client whose log has indistinguishable lines of several members, either of several processes or of two clients of one
-- process.
-- Reads: event, merged_log
-- Grain: process_id, client
-- A coordinator issues an id only once: a client that joins with one id, then with another, never joins with the first again. If one does,
-- the log has lines of several clients that cannot be distinguished, for example all pods of a deployment logging to one file. The same is
-- true if two ids follow each other and both joined generations that the group had only once: the log of another client was appended. It is
-- also true if the second id begins at an earlier time than the first ended, in no later generation.
CREATE OR REPLACE TEMPORARY VIEW shared_log (
  process_id   COMMENT 'Process',
  client       COMMENT 'Client inside the process; NULL: Connect workers, each with a client id of its own',
  group_id     COMMENT 'Group',
  is_worker    COMMENT 'True for a Connect worker: its tasks cannot be distinguished either',
  member_count COMMENT 'Number of member ids that joined as this client; number of workers',
  from_ms      COMMENT 'First join, by the log''s clock (milliseconds since 1970)',
  to_ms        COMMENT 'Last join'
)
COMMENT 'One row per client whose log has indistinguishable lines of several members.'
AS
WITH join_line AS (
  SELECT process_id, coalesce(client_id, task, thread, '-') AS client, group_id, client_kind <=> 'Worker' AS is_worker, member_id,
    unix_millis(ts) AS at_ms, stream_pos, generation,
    lag(member_id) OVER (PARTITION BY process_id, coalesce(client_id, task, thread, '-'), group_id
      ORDER BY stream_pos) AS last_member
  FROM event
  WHERE event IN ('joined', 'synced') AND member_id <> '' AND group_instance_id IS NULL
), member_turn AS (
  -- Counts how often the id changes back to one that was there before.
  SELECT *, count_if(NOT member_id <=> last_member) OVER (PARTITION BY process_id, client, group_id, member_id
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS stretch
  FROM join_line
), unique_generation AS (
  -- Generations that the coordinator completed once, so the group was not recreated.
  SELECT group_id, generation FROM event WHERE event = 'group_stabilized' GROUP BY group_id, generation HAVING count(*) = 1
), shared_generation AS (
  SELECT j.process_id, j.client, j.group_id, j.generation
  FROM join_line j JOIN unique_generation o ON o.group_id = j.group_id AND o.generation = j.generation
  GROUP BY j.process_id, j.client, j.group_id, j.generation
  HAVING count(DISTINCT j.member_id) > 1
), member_stay AS (
  SELECT process_id, client, group_id, member_id, min(stream_pos) AS from_pos, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    min(generation) AS first_generation, max(generation) AS last_generation
  FROM join_line
  GROUP BY process_id, client, group_id, member_id
), appended_client AS (
  SELECT process_id, client FROM shared_generation GROUP BY process_id, client HAVING count(*) > 1
  UNION
  SELECT process_id, client
  FROM (
    SELECT *, max(to_ms) OVER before AS last_ms, max(last_generation) OVER before AS generation_before
    FROM member_stay
    WINDOW before AS (PARTITION BY process_id, client, group_id ORDER BY from_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  )
  WHERE last_ms - from_ms > clock_setback_ms + clock_jitter_ms AND first_generation <= generation_before
)
SELECT t.process_id AS process_id, t.client AS client, min(group_id) AS group_id, bool_or(is_worker) AS is_worker,
  count(DISTINCT member_id) AS member_count, min(at_ms) AS from_ms, max(at_ms) AS to_ms
FROM member_turn t LEFT JOIN appended_client a ON a.process_id = t.process_id AND a.client = t.client
-- For a log of several workers, merged_log has the row.
LEFT ANTI JOIN merged_log m ON m.process_id = t.process_id
GROUP BY t.process_id, t.client
HAVING max(stretch) > 1 OR max(a.client) IS NOT NULL
UNION ALL
SELECT process_id AS process_id, CAST(NULL AS STRING) AS client, group_id AS group_id, true AS is_worker,
  worker_count AS member_count,
  from_ms AS from_ms, to_ms AS to_ms
FROM merged_log
WHERE worker_count > 0

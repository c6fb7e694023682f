-- One row per client whose log has indistinguishable lines of several members, and per log with lines of several workers or brokers.
-- Reads: event
-- Grain: process_id, client
-- A coordinator issues an id only once: a client that joins with one id, then with another, never joins with the first again. If one does, the log
-- has lines of several clients that cannot be distinguished, for example all pods of a deployment logging to one file. The same is true if two ids
-- follow each other and both joined generations that the group had only once: the log of another client was appended. It is also true if the second
-- id begins at an earlier time than the first ended, in no later generation. A process run has at most one Connect worker or one broker, so lines of
-- two do not alternate in it. If the lines do not name their file, as in the output of `cat` or `grep -h`, the next process begins at an earlier time
-- than the previous one ended. A clock that was set back looks alike, but then the same process continues. MirrorMaker 2 runs one worker for each
-- pair of clusters, named after the pair, in a single process.
CREATE OR REPLACE TEMPORARY VIEW shared_log (
  process_id,
  client       COMMENT 'Client inside the process; NULL: Connect workers, each with a client id of its own, or brokers',
  group_id,
  is_worker    COMMENT 'True for a Connect worker: its tasks cannot be distinguished either',
  member_count COMMENT 'Number of member ids that joined as this client; number of workers',
  broker_count COMMENT 'Number of brokers',
  broker_ids   COMMENT 'Their ids; NULL: no brokers',
  from_ms      COMMENT 'First line of any of them, by the log''s clock (milliseconds since 1970)',
  to_ms        COMMENT 'Last line of any of them'
)
AS
WITH writer_line AS (
  SELECT process_id, instance, CAST(NULL AS BIGINT) AS broker_id, group_id, concat_ws('|', group_id, client_id) AS writer, unix_millis(ts) AS at_ms,
    stream_pos
  FROM event WHERE client_kind = 'Worker' AND group_id IS NOT NULL AND client_id NOT LIKE '%->%'
  UNION ALL
  SELECT process_id, instance, CAST(broker_id AS BIGINT), CAST(NULL AS STRING), concat('broker ', broker_id), unix_millis(ts), stream_pos
  FROM event
  WHERE broker_id IS NOT NULL AND event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'member_expired',
    'group_loaded', 'group_unloaded')
), writer_turn AS (
  -- Counts how often its lines resume after lines of another writer of the same kind.
  SELECT
    *, count_if(NOT writer <=> last_writer) OVER (PARTITION BY process_id, instance, writer ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS stretch
  FROM (SELECT *, lag(writer) OVER (PARTITION BY process_id, instance, broker_id IS NULL ORDER BY stream_pos) AS last_writer FROM writer_line)
), writer_extent AS (
  SELECT process_id, writer, max(group_id) AS group_id, max(broker_id) AS broker_id, min(stream_pos) AS from_pos, min(at_ms) AS from_ms,
    max(at_ms) AS to_ms, max(stretch) > 1 AS is_turned
  FROM writer_turn GROUP BY process_id, writer
), merged_log AS (
  SELECT process_id, nullif(array_join(array_sort(collect_set(group_id)), ' and '), '') AS group_id, count_if(broker_id IS NULL) AS worker_count,
    count_if(broker_id IS NOT NULL) AS broker_count,
    nullif(array_join(transform(array_sort(collect_set(broker_id)), id -> CAST(id AS STRING)), ', '), '') AS broker_ids, min(from_ms) AS from_ms,
    max(to_ms) AS to_ms
  FROM (
    SELECT *, max(to_ms) OVER (PARTITION BY process_id ORDER BY from_pos, writer ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
      - from_ms > clock_setback_ms + clock_jitter_ms AS is_earlier
    FROM writer_extent
  )
  GROUP BY process_id
  HAVING bool_or(is_turned) OR bool_or(coalesce(is_earlier, false))
), join_line AS (
  SELECT process_id, coalesce(client_id, task, thread, '-') AS client, group_id, client_kind <=> 'Worker' AS is_worker, member_id,
    unix_millis(ts) AS at_ms, stream_pos, generation,
    lag(member_id) OVER (PARTITION BY process_id, coalesce(client_id, task, thread, '-'), group_id ORDER BY stream_pos) AS last_member
  -- kafkajs prints the member id in each of its lines, which distinguishes them.
  FROM event WHERE event IN ('joined', 'synced') AND member_id <> '' AND group_instance_id IS NULL AND NOT logger <=> 'kafkajs'
), member_turn AS (
  -- Counts how often the id changes back to one that was there before.
  SELECT *, count_if(NOT member_id <=> last_member) OVER (PARTITION BY process_id, client, group_id, member_id
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS stretch
  FROM join_line
), unique_generation AS (
  -- Generations that the coordinator completed once, so the group was not recreated.
  SELECT group_id, generation FROM event WHERE event = 'group_stabilized' GROUP BY group_id, generation HAVING count(*) = 1
), shared_generation AS (
  SELECT j.process_id, j.client, j.group_id, j.generation FROM join_line j
  JOIN unique_generation o ON o.group_id = j.group_id AND o.generation = j.generation
  GROUP BY j.process_id, j.client, j.group_id, j.generation
  HAVING count(DISTINCT j.member_id) > 1
), member_stay AS (
  SELECT process_id, client, group_id, member_id, min(stream_pos) AS from_pos, min(at_ms) AS from_ms, max(at_ms) AS to_ms,
    min(generation) AS first_generation, max(generation) AS last_generation
  FROM join_line GROUP BY process_id, client, group_id, member_id
), appended_client AS (
  SELECT process_id, client FROM shared_generation
  GROUP BY process_id, client
  HAVING count(*) > 1
  UNION
  SELECT process_id, client
  FROM (
    SELECT *, max(to_ms) OVER before AS last_ms, max(last_generation) OVER before AS generation_before
    FROM member_stay WINDOW before AS (PARTITION BY process_id, client, group_id ORDER BY from_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  )
  WHERE last_ms - from_ms > clock_setback_ms + clock_jitter_ms AND first_generation <= generation_before
)
SELECT t.process_id, t.client, min(t.group_id) AS group_id, bool_or(t.is_worker) AS is_worker, count(DISTINCT t.member_id) AS member_count,
  0L AS broker_count, CAST(NULL AS STRING) AS broker_ids, min(t.at_ms) AS from_ms, max(t.at_ms) AS to_ms
FROM member_turn t LEFT JOIN appended_client a ON a.process_id = t.process_id AND a.client = t.client
LEFT ANTI JOIN merged_log m ON m.process_id = t.process_id
GROUP BY t.process_id, t.client
HAVING max(t.stretch) > 1 OR max(a.client) IS NOT NULL
UNION ALL
SELECT process_id, CAST(NULL AS STRING) AS client, group_id, worker_count > 0 AS is_worker, worker_count AS member_count, broker_count, broker_ids,
  from_ms, to_ms
FROM merged_log

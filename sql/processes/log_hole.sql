-- One row per place in a member's log where lines of it must be missing: rotated away, cut out, not copied, lost one by one.
-- Reads: join_round, client_event, task_line
-- Grain: process_id, instance, to_pos
-- A member's id changes with a word (fenced, left, generation reset) or with a new life: a change without either hides one of them.
-- A member that slept or was cut off while its group went on says so when it returns: a skipped generation without such a word is a hole. So is
-- membership without a request, a second start of a task whose end was never ordered (a worker refuses to start what it runs), a second order to
-- stop one (a worker forgets a task once it has waited for its end), commits of a task whose producer was closed in good order, clients that close in
-- good order though their task was neither asked to stop nor failed, and scheduled commits of a task that was given up on (the order to stop ends them).
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  from_pos   COMMENT 'Last position that is surely before it',
  to_pos     COMMENT 'First position that is surely after it',
  is_wide    COMMENT 'True when a whole stretch may be missing, with ends and starts in it; false when a single line that is not there explains it',
  why        COMMENT 'member_changed, generation_skipped, joined_unasked, started_twice, stopped_twice, worked_after_closing, closed_unasked or committed_after_stop',
  event_id   COMMENT 'First line that is surely after it'
)
COMMENT 'One row per place in a member''s log where lines of it must be missing.'
AS
WITH round AS (
  SELECT process_id, instance, group_id, client, generation, from_pos, joining_count, member_id,
    last_value(member_id, true) OVER so_far AS last_member, last_value(CASE WHEN member_id IS NOT NULL THEN from_pos END, true) OVER so_far AS last_member_pos, is_worker,
    lag(generation) OVER w AS last_generation, lag(from_pos) OVER w AS last_pos,
    max(joining_count) OVER (PARTITION BY process_id, group_id, client) AS most_asked,
    coalesce(synced_id, joined_id, worker_assigned_id) AS event_id
  FROM join_round
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos),
    so_far AS (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), changing AS (
  SELECT process_id, instance, group_id, client, last_member_pos AS last_pos, from_pos, event_id FROM round WHERE member_id <> last_member
), skipping AS (
  -- Up to 2.6.0 a round that failed after the join is not printed, only that it asked again.
  SELECT * FROM round WHERE generation - last_generation > greatest(joining_count, 1)
), trouble AS (
  SELECT process_id, instance, group_id, client, stream_pos
  FROM client_event
  WHERE event IN ('coordinator_lost', 'generation_reset', 'poll_timeout', 'member_fenced', 'leaving', 'worker_revoking', 'join_failed', 'sync_failed')
    -- Who hears in time that its group rebalances does not miss the generation.
    OR event = 'heartbeat_failed' AND NOT coalesce(error, cause, reason, '') RLIKE '(?i)rebalanc'
), life AS (
  SELECT process_id, instance, resource_kind, resource, life, max(stream_pos) AS last_pos,
    min(stream_pos) FILTER (WHERE kind = 'start') AS start_pos, min_by(event_id, stream_pos) FILTER (WHERE kind = 'start') AS start_id,
    bool_or(kind IN ('stop', 'failed', 'failed_stop', 'stopped', 'orphan_failed', 'closing', 'closed', 'leaving')) AS is_ended
  FROM task_line
  WHERE resource_kind = 'task'
  GROUP BY process_id, instance, resource_kind, resource, life
), again AS (
  SELECT process_id, instance, start_pos, start_id,
    lag(last_pos) OVER w AS last_pos, lag(is_ended) OVER w AS was_ended, lag(life) OVER w AS last_life
  FROM life
  WINDOW w AS (PARTITION BY process_id, instance, resource ORDER BY life)
), returned AS (
  SELECT process_id, instance, kind, event, app_kind, timeout_ms, by_schedule, life, stream_pos, event_id,
    max(CASE WHEN kind = 'stop' THEN stream_pos END) OVER before AS stop_pos,
    max(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER before AS closing_pos,
    max(CASE WHEN kind IN ('start', 'sign') THEN stream_pos END) OVER before AS sign_pos,
    max(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER before AS failed_stop_pos,
    max(CASE WHEN kind IN ('stop', 'failed', 'orphan_failed') THEN stream_pos END) OVER before AS ordered_pos,
    max(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER (PARTITION BY process_id, instance, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS given_up_pos
  FROM task_line
  WHERE resource_kind = 'task'
  WINDOW before AS (PARTITION BY process_id, instance, resource, life ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), hole AS (
  SELECT s.process_id, s.instance, s.last_pos AS from_pos, s.from_pos AS to_pos, 'member_changed' AS why, s.event_id, true AS is_wide
  FROM changing s
  LEFT ANTI JOIN trouble t ON t.process_id = s.process_id AND t.instance = s.instance AND t.group_id = s.group_id AND t.client = s.client
    AND t.stream_pos > s.last_pos AND t.stream_pos < s.from_pos
  UNION ALL
  SELECT s.process_id, s.instance, s.last_pos, s.from_pos, 'generation_skipped', s.event_id, true
  FROM skipping s
  LEFT ANTI JOIN trouble t ON t.process_id = s.process_id AND t.instance = s.instance AND t.group_id = s.group_id AND t.client = s.client
    AND t.stream_pos > s.last_pos AND t.stream_pos < s.from_pos
  UNION ALL
  SELECT process_id, instance, last_pos, from_pos, 'joined_unasked', event_id, false
  FROM round
  WHERE is_worker AND joining_count = 0 AND most_asked > 0 AND last_pos IS NOT NULL AND generation > last_generation
  UNION ALL
  SELECT process_id, instance, last_pos, start_pos, 'started_twice', start_id, false
  FROM again
  WHERE last_life > 0 AND NOT was_ended AND start_pos IS NOT NULL
  UNION ALL
  SELECT process_id, instance, stop_pos, stream_pos, 'stopped_twice', event_id, true
  FROM returned
  WHERE kind = 'stop' AND stop_pos IS NOT NULL
  UNION ALL
  SELECT process_id, instance, closing_pos, stream_pos, 'worked_after_closing', event_id, true
  FROM returned
  WHERE event = 'task_committing' AND closing_pos IS NOT NULL
  UNION ALL
  -- Whom a worker gave up on closes its clients when it likes, in a later life of its task too.
  SELECT process_id, instance, sign_pos, stream_pos, 'closed_unasked', event_id, false
  FROM returned
  WHERE (kind = 'closing' AND timeout_ms > 0 OR kind = 'closed' AND app_kind IN ('kafka.consumer', 'kafka.producer'))
    AND life > 0 AND ordered_pos IS NULL AND given_up_pos IS NULL AND sign_pos IS NOT NULL
  UNION ALL
  SELECT process_id, instance, failed_stop_pos, stream_pos, 'committed_after_stop', event_id, true
  FROM returned
  WHERE event = 'task_committing' AND by_schedule AND failed_stop_pos IS NOT NULL
)
SELECT process_id, instance, min(from_pos), to_pos, bool_or(is_wide), min_by(why, struct(NOT is_wide, why)), min(event_id)
FROM hole
GROUP BY process_id, instance, to_pos

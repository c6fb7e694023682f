-- One row per place in a member's log where lines of it must be missing: rotated away, cut out, not copied, lost one by one.
-- Reads: join_round, client_event, task_line, owned_list, event
-- Grain: process_id, instance, to_pos
-- A member's id changes with a word (fenced, left, generation reset) or with a new life: a change without either hides one of them. A
-- member that slept or was cut off while its group went on says so when it returns: a skipped generation without such a word is a hole.
-- So is membership without a request, a second start of a task whose end was never ordered (a worker refuses to start what it runs), a
-- second order to stop one (a worker forgets a task once it has waited for its end), commits of a task whose producer was closed in good
-- order, clients that close in good order though their task was neither asked to stop nor failed, scheduled commits of a task that
-- was given up on (the order to stop ends them), a consumer that gives up other partitions than it was given (eager), a member that its
-- coordinator knows in a later generation than its own log, and a task at work that was never started, in a log that begins with its
-- worker.
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  from_pos   COMMENT 'Last position that is surely before it',
  to_pos     COMMENT 'First position that is surely after it',
  is_wide
    COMMENT 'True when a whole stretch may be missing, with ends and starts in it; false when a single line that is not there explains it',
  why        COMMENT 'member_changed, generation_skipped, joined_unasked, started_twice, stopped_twice, worked_after_closing, closed_unasked, committed_after_stop, lists_differ, coordinator_ahead or worked_unstarted',
  event_id   COMMENT 'First line that is surely after it'
)
COMMENT 'One row per place in a member''s log where lines of it must be missing.'
AS
WITH round AS (
  SELECT process_id, instance, group_id, client, generation, from_pos, joining_count, member_id,
    last_value(member_id, true) OVER so_far AS last_member, last_value(CASE WHEN member_id IS NOT NULL THEN from_pos END, true)
      OVER so_far AS last_member_pos, is_worker,
    lag(generation) OVER w AS last_generation, lag(from_pos) OVER w AS last_pos,
    max(joining_count) OVER (PARTITION BY process_id, group_id, client) AS most_asked,
    max(joined_id) OVER (PARTITION BY process_id, group_id, client) IS NOT NULL AS prints_joins,
    coalesce(synced_id, joined_id, worker_assigned_id) AS event_id
  FROM join_round
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos),
    so_far AS (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), changing AS (
  SELECT process_id, instance, group_id, client, last_member_pos AS last_pos, from_pos, event_id, joining_count
  FROM round
  WHERE member_id <> last_member
  UNION ALL
  -- Who leaves names itself.
  SELECT r.process_id, r.instance, r.group_id, r.client, r.from_pos, e.stream_pos, e.event_id, 0
  FROM (
    SELECT process_id, instance, group_id, client, from_pos, member_id,
      lead(from_pos) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_pos
    FROM join_round
  ) r
  JOIN client_event e ON e.process_id = r.process_id AND e.instance = r.instance AND e.group_id = r.group_id AND e.client = r.client
    AND e.stream_pos > r.from_pos AND (r.next_pos IS NULL OR e.stream_pos < r.next_pos)
  WHERE e.event = 'leaving' AND e.member_id <> r.member_id
), skipping AS (
  -- Up to 2.6.0 a round that failed after the join is not printed, only that it asked again.
  SELECT * FROM round WHERE generation - last_generation > CASE WHEN prints_joins THEN 1 ELSE greatest(joining_count, 1) END
), trouble AS (
  SELECT process_id, instance, group_id, client, stream_pos, event IN ('coordinator_lost', 'worker_revoking') AS is_distance
  FROM client_event
  WHERE event IN ('coordinator_lost', 'generation_reset', 'poll_timeout', 'member_fenced', 'leaving', 'worker_revoking', 'join_failed',
    'sync_failed')
    -- Who hears in time that its group rebalances does not miss the generation.
    OR event = 'heartbeat_failed' AND NOT coalesce(error, cause, reason, '') RLIKE '(?i)rebalanc'
), listed AS (
  -- What an eager consumer has by the lines before: what it was given last, or nothing once it gave up all.
  SELECT process_id, instance, stream_pos, event_id, partitions, is_list,
    last_value(CASE WHEN is_list IS NOT NULL
      THEN struct(stream_pos, is_list, CASE WHEN is_list THEN array() ELSE partitions END AS partitions) END, true) OVER so_far AS before,
    last_value(CASE WHEN is_list IS NULL THEN struct(stream_pos, next_pos) END, true) OVER so_far AS synced
  FROM (
    SELECT process_id, instance, client, stream_pos, event_id, partitions, true AS is_list, CAST(NULL AS BIGINT) AS next_pos
    FROM owned_list
    WHERE is_eager AND is_last
    UNION ALL
    SELECT process_id, instance, client, stream_pos, event_id, partitions, false, CAST(NULL AS BIGINT)
    FROM client_event
    WHERE event = 'partitions_assigned' AND partitions IS NOT NULL
    UNION ALL
    SELECT process_id, instance, client, stream_pos, event_id, CAST(NULL AS ARRAY<STRING>), CAST(NULL AS BOOLEAN), next_pos
    FROM (
      SELECT *, lead(stream_pos) OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos) AS next_pos
      FROM client_event
      WHERE NOT is_worker
    )
    WHERE event = 'synced'
  )
  WINDOW so_far AS (PARTITION BY process_id, instance, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), differing AS (
  -- An eager consumer tells what it was given right after it is told its generation: where that is missing, it stood there.
  SELECT process_id, instance, event_id, before.stream_pos AS before_pos, before.is_list AS gave_up, stream_pos,
    CASE WHEN synced.stream_pos > before.stream_pos THEN synced.stream_pos END AS synced_pos, synced.next_pos AS next_pos
  FROM listed
  WHERE is_list AND (size(array_except(partitions, before.partitions)) > 0 OR size(array_except(before.partitions, partitions)) > 0)
), after_round AS (
  -- What a member's client prints behind a generation, up to the next.
  SELECT r.process_id, r.instance, r.group_id, r.member_id, r.client, r.generation, r.from_pos,
    array_sort(collect_list(struct(e.stream_pos, e.event, e.event_id, e.member_id))) AS lines
  FROM (
    SELECT process_id, instance, group_id, member_id, client, generation, from_pos,
      lead(from_pos) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_pos,
      lead(member_id) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_member
    FROM join_round
  ) r
  JOIN client_event e ON e.process_id = r.process_id AND e.instance = r.instance AND e.group_id = r.group_id AND e.client = r.client
    AND e.stream_pos > r.from_pos AND (r.next_pos IS NULL OR e.stream_pos < r.next_pos)
    AND e.event IN ('joining', 'leaving', 'partitions_revoked', 'partitions_lost', 'heartbeat_failed', 'member_fenced', 'generation_reset',
      'poll_timeout')
  WHERE r.member_id IS NULL OR NOT r.member_id <=> r.next_member
  GROUP BY r.process_id, r.instance, r.group_id, r.member_id, r.client, r.generation, r.from_pos
), known AS (
  -- The membership is over with the first line that says so. Requests before it may have been answered unheard.
  SELECT process_id, instance, generation, from_pos, group_id,
    -- Releases that do not print the id with the generation print it when it is no longer valid.
    coalesce(member_id, get(filter(lines, x -> x.member_id IS NOT NULL), 0).member_id) AS member_id,
    size(filter(lines, x -> x.event = 'joining' AND (over IS NULL OR x.stream_pos < over.stream_pos))) AS asked_count,
    coalesce(over, element_at(lines, -1)) AS last
  FROM (
    SELECT *, get(filter(lines, x -> x.event IN ('leaving', 'partitions_lost', 'member_fenced', 'generation_reset')), 0) AS over
      FROM after_round
  )
), counted AS (
  -- A coordinator that names a member as leaving, removed, or asking anew knows it in the generation that the group then has. Member ids
  -- are unique, also where no line says which cluster the coordinator is of.
  SELECT group_id, member_id, max(generation) AS generation
  FROM (
    SELECT e.group_id, e.member_id, e.event, e.reason,
      -- Not the generation that was stabilised last: a member that leaves while others join is told as gone behind the generation that has
      -- it no more.
      last_value(e.old_generation, true) OVER (PARTITION BY e.group_id, e.process_id, e.instance
        ORDER BY e.stream_pos ROWS UNBOUNDED PRECEDING) AS generation
    FROM event e
    WHERE e.event IN ('rebalance_preparing', 'member_expired', 'member_left') AND e.broker_id IS NOT NULL
  )
  WHERE member_id IS NOT NULL AND (event IN ('member_expired', 'member_left') OR event = 'rebalance_preparing'
    AND NOT lower(reason) LIKE 'adding new member%')
  GROUP BY group_id, member_id
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
    max(CASE WHEN event = 'task_started' THEN stream_pos END) OVER before AS started_pos,
    max(CASE WHEN kind IN ('stop', 'failed', 'orphan_failed') THEN stream_pos END) OVER before AS ordered_pos,
    max(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER (PARTITION BY process_id, instance, resource
      ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS given_up_pos
  FROM task_line
  WHERE resource_kind = 'task'
  WINDOW before AS (PARTITION BY process_id, instance, resource, life ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), unstarted AS (
  SELECT t.process_id, t.instance, t.resource, min(t.stream_pos) AS to_pos, min_by(t.event_id, t.stream_pos) AS event_id
  FROM task_line t
  LEFT SEMI JOIN task_line s ON s.process_id = t.process_id AND s.instance = t.instance AND s.resource_kind = 'task' AND s.kind = 'start'
  WHERE t.resource_kind = 'task' AND t.life = 0 AND t.instance > 0 AND t.kind IN ('sign', 'stop', 'leaving', 'closing')
    AND NOT t.by_schedule
  GROUP BY t.process_id, t.instance, t.resource
), hole AS (
  SELECT s.process_id, s.instance, s.last_pos AS from_pos, s.from_pos AS to_pos, 'member_changed' AS why, s.event_id, true AS is_wide
  FROM changing s
  -- A lost coordinator takes no id away. Who learns only from the coordinator's answer that its id is no longer valid asks again.
  LEFT ANTI JOIN trouble t ON t.process_id = s.process_id AND t.instance = s.instance AND t.group_id = s.group_id AND t.client = s.client
    AND t.stream_pos > s.last_pos AND t.stream_pos < s.from_pos AND (NOT t.is_distance OR s.joining_count > 1)
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
  -- A thread says once that it begins.
  SELECT process_id, instance, started_pos, stream_pos, 'started_twice', event_id, true
  FROM returned
  WHERE event = 'task_started' AND started_pos IS NOT NULL AND given_up_pos IS NULL
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
  UNION ALL
  SELECT process_id, instance, CASE WHEN gave_up THEN coalesce(synced_pos, before_pos) ELSE before_pos END,
    CASE WHEN synced_pos IS NOT NULL THEN least(next_pos, stream_pos) ELSE stream_pos END, 'lists_differ', event_id,
    NOT gave_up OR synced_pos IS NULL
  FROM differing
  UNION ALL
  -- Who lost its membership gives up what it had as lost, not as revoked, unless it joined again.
  SELECT process_id, instance, reset_pos, stream_pos, 'lists_differ', event_id, true
  FROM (
    SELECT process_id, instance, event, partitions, stream_pos, event_id,
      max(CASE WHEN event IN ('generation_reset', 'member_fenced') THEN stream_pos END) OVER before AS reset_pos,
      max(CASE WHEN event IN ('joined', 'synced', 'partitions_assigned', 'partitions_lost') THEN stream_pos END) OVER before AS got_pos
    FROM client_event
    WHERE NOT is_worker
    WINDOW before AS (PARTITION BY process_id, instance, group_id, client
      ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
  )
  WHERE event = 'partitions_revoked' AND size(partitions) > 0 AND reset_pos > got_pos
  UNION ALL
  -- It gives up what it was never given, in a generation that it never joined.
  SELECT process_id, instance, first_pos, stream_pos, 'lists_differ', event_id, true
  FROM (
    SELECT process_id, instance, event, partitions, stream_pos, event_id,
      min(stream_pos) OVER (PARTITION BY process_id, instance, group_id, client) AS first_pos,
      count_if(event IN ('partitions_assigned', 'joined', 'synced')) OVER (PARTITION BY process_id, instance, group_id, client
        ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS got_count
    FROM client_event
    WHERE NOT is_worker
  )
  WHERE event IN ('partitions_revoked', 'partitions_lost') AND size(partitions) > 0 AND got_count = 0 AND instance > 0
    AND first_pos < stream_pos
  UNION ALL
  -- Who asked to join and did not get the answer may be a member of that generation without knowing it.
  SELECT k.process_id, k.instance, k.from_pos, k.last.stream_pos, 'coordinator_ahead', k.last.event_id, true
  FROM known k JOIN counted n ON n.group_id = k.group_id AND n.member_id = k.member_id
  WHERE n.generation - k.generation > k.asked_count
  UNION ALL
  -- It was not yet there at the last assignment without it.
  SELECT u.process_id, u.instance, coalesce(max(a.stream_pos), 0), u.to_pos, 'worked_unstarted', u.event_id, true
  FROM unstarted u
  LEFT JOIN client_event a ON a.process_id = u.process_id AND a.instance = u.instance AND a.event = 'worker_assigned'
    AND a.stream_pos < u.to_pos
    AND NOT array_contains(coalesce(a.assigned_tasks, array()), u.resource)
  GROUP BY u.process_id, u.instance, u.resource, u.to_pos, u.event_id
)
SELECT
  process_id, instance,
  min(from_pos) AS from_pos,
  to_pos,
  bool_or(is_wide) AS is_wide,
  min_by(why, struct(NOT is_wide, why)) AS why,
  min(event_id) AS event_id
FROM hole
GROUP BY process_id, instance, to_pos

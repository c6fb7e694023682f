-- One row for each period in which a stream thread had a Kafka Streams task, active or standby.
-- Reads: placed_event, clock_offset, process_life
-- Grain: process_id, instance, thread, task, role, start_pos
-- Public: yes
-- Each assignment that a thread prints is complete. It keeps a task until an assignment without it, until it loses all of them, or until it
-- ends. An active task that has state is processed only after it was restored. The partitions of active tasks are in `ownership`.
CREATE OR REPLACE TEMPORARY VIEW stream_task (
  kafka_cluster,
  group_id      COMMENT 'application.id; NULL: the application has its own client.id, so the thread''s name does not contain it',
  task          COMMENT 'Task: subtopology and partition, such as 0_3',
  role          COMMENT 'active or standby',
  process_id, instance,
  thread        COMMENT 'Stream thread',
  start_pos     COMMENT 'Position of the assignment in the log of the process',
  start_lo      COMMENT 'Earliest time of the assignment (reference clock of the island)',
  start_hi      COMMENT 'Latest time of the assignment',
  stop_lo       COMMENT 'Had it at least until this time',
  stop_hi       COMMENT 'Had it at most until this time; NULL: no bound',
  stop_how      COMMENT 'reassigned, lost (it missed a rebalance), fenced, ended (the thread), restarted (the process); NULL: open',
  witness
)
AS
WITH thread_line AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.stream_pos, e.event, e.event_id, unix_millis(e.ts) AS at_ms, e.resolution_ms,
    e.thread_name AS thread, coalesce(e.active_tasks, array()) AS active_tasks, coalesce(e.standby_tasks, array()) AS standby_tasks,
    coalesce(e.group_id, nullif(regexp_extract(e.thread_name, '^(.+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 1), '')) AS group_id,
    CASE e.event WHEN 'streams_tasks_assigned' THEN 'reassigned' WHEN 'streams_tasks_lost' THEN 'lost'
      WHEN 'streams_thread_fenced' THEN 'fenced' ELSE 'ended' END AS how
  FROM placed_event e
  WHERE e.thread_name IS NOT NULL AND (
    e.event = 'streams_tasks_assigned' AND e.active_tasks IS NOT NULL
    -- The second line of a loss reports how long it took.
    OR e.event = 'streams_tasks_lost' AND e.duration_ms IS NULL
    OR e.event IN ('streams_thread_fenced', 'streams_died')
    OR e.event = 'streams_thread_state' AND e.state_to IN ('PENDING_SHUTDOWN', 'DEAD'))
), numbered_line AS (
  SELECT *, row_number() OVER (PARTITION BY process_id, instance, thread ORDER BY stream_pos) AS nth FROM thread_line
), task_in_line AS (
  SELECT n.*, t.role, t.task FROM numbered_line n
  LATERAL VIEW inline(concat(transform(active_tasks, x -> named_struct('role', 'active', 'task', x)),
      transform(standby_tasks, x -> named_struct('role', 'standby', 'task', x)))) t AS role, task
  WHERE n.event = 'streams_tasks_assigned'
), task_run AS (
  -- Consecutive assignments with the task are one row.
  SELECT *, nth - row_number() OVER (PARTITION BY process_id, instance, thread, role, task ORDER BY nth) AS run FROM task_in_line
), task_span AS (
  SELECT kafka_cluster, process_id, instance, thread, role, task, run, max(group_id) AS group_id, min(nth) AS first_nth, max(nth) AS last_nth,
    min(stream_pos) AS start_pos, min_by(at_ms, nth) AS start_ms, min_by(resolution_ms, nth) AS resolution_ms, min_by(event_id, nth) AS start_id
  FROM task_run GROUP BY kafka_cluster, process_id, instance, thread, role, task, run
)
SELECT s.kafka_cluster, s.group_id, s.task, s.role, s.process_id, s.instance, s.thread, s.start_pos,
  timestamp_millis(s.start_ms - o.hi_ms) AS start_lo, timestamp_millis(s.start_ms + s.resolution_ms - o.lo_ms) AS start_hi,
  timestamp_millis(coalesce(n.at_ms, l.last_ms) - o.hi_ms) AS stop_lo,
  timestamp_millis(coalesce(n.at_ms + n.resolution_ms, l.end_ms, l.next_start_ms) - o.lo_ms) AS stop_hi,
  CASE WHEN n.event_id IS NOT NULL THEN n.how WHEN l.next_start_ms IS NOT NULL THEN 'restarted' END AS stop_how,
  filter(array(s.start_id, n.event_id, CASE WHEN n.event_id IS NULL THEN coalesce(l.end_id, l.next_start_id) END), x -> x IS NOT NULL) AS witness
FROM task_span s JOIN clock_offset o ON o.process_id = s.process_id AND o.is_island_reference
JOIN process_life l ON l.process_id = s.process_id AND l.instance = s.instance
LEFT JOIN numbered_line n ON n.process_id = s.process_id AND n.instance = s.instance AND n.thread = s.thread AND n.nth = s.last_nth + 1

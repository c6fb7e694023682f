-- One row per ownership of a task, a connector or a partition, by its process's own clock, and with its bounds on the reference clock of its island.
-- Reads: task_holding, partition_holding, event_row, member_heard, clock_offset, process_cluster, process_life
-- Grain: ownership_id
-- A certain statement must follow from lines that can be cited: `until_ms` is the last line before the certain end, or the last request
-- that the coordinator received from a member that it removed later. Printed times are truncated to the layout's resolution, so the true one may be
-- later by nearly that.
CREATE OR REPLACE TEMPORARY VIEW holding (
  ownership_id, kafka_cluster, group_id, resource_kind, resource, process_id,
  owner          COMMENT 'Distinguishes two owners in one process: the client, or the n-th start',
  member_id,
  instance       COMMENT 'n-th start of it in the process',
  generation     COMMENT 'Generation that assigned it',
  start_lo_ms    COMMENT 'Not owned before (milliseconds since 1970); NULL: owned when the log began',
  start_hi_ms    COMMENT 'Certainly owned from this time on',
  start_how      COMMENT 'seen: the log has a line of its start; open: the log begins later; lost: the log lacks that line',
  before_generation COMMENT 'open or lost: its member owned it before it was assigned that generation; NULL: unknown',
  stop_asked_ms  COMMENT 'When its stop was requested',
  first_sign_ms  COMMENT 'First sign of life',
  last_sign_ms   COMMENT 'Last sign of life',
  work_stop_lo_ms COMMENT 'Certainly working until this time',
  work_stop_hi_ms COMMENT 'Certainly not working from this time on; NULL: unknown',
  stop_lo_ms     COMMENT 'Certainly owned until this time',
  seen_ms        COMMENT 'Last line that shows it owned by itself; NULL: none',
  stop_hi_ms     COMMENT 'Certainly not owned from this time on; NULL: unknown',
  phase_end      COMMENT 'What it was doing in its last line',
  stop_how       COMMENT 'Kind of the line that ends it',
  is_stop_lost   COMMENT 'True if lines are missing after the last one that is certainly its own, so its end is, or may be, among them',
  start_id       COMMENT 'Event of the start',
  start_sign_id  COMMENT 'First event that shows it',
  start_witness  COMMENT 'Events that link that event to it; NULL: the event shows it by itself',
  not_before_id  COMMENT 'Event before which it was not owned; NULL: owned when the log began',
  stop_asked_id  COMMENT 'Event of the stop request',
  last_sign_id   COMMENT 'Event of the last sign of life',
  stop_id        COMMENT 'Event that ends it; its place in the log is known',
  end_id         COMMENT 'Row of machine_event that shows that it had ended before that event; NULL: none does',
  until_ms       COMMENT 'Last line of its process, or of its coordinator, that shows it owned; NULL: none after its start',
  until_id       COMMENT 'Its event, or the removal if its coordinator heard from it last',
  heard_witness  COMMENT 'The other lines that show that the coordinator heard from it; NULL: a line of its own shows it',
  is_overdue     COMMENT 'True for a task that its worker abandoned, or that ran on longer than its stop timeout',
  reference_process_id, stepped COMMENT 'True when no constant offset fits the clock of its process',
  ahead_lo_ms    COMMENT 'The clock of its process is ahead of the reference''s by at least this, milliseconds',
  ahead_hi_ms    COMMENT 'By at most this',
  resolution_ms  COMMENT 'Resolution of the times that its process prints',
  from_lo_ms     COMMENT 'start_lo_ms on the reference clock, at the earliest',
  from_hi_ms     COMMENT 'start_hi_ms on it, at the latest',
  to_lo_ms       COMMENT 'stop_lo_ms on it, at the earliest',
  to_hi_ms       COMMENT 'stop_hi_ms on it, at the latest',
  work_to_hi_ms  COMMENT 'work_stop_hi_ms on it, at the latest'
)
AS
WITH any_holding AS (
  SELECT left(sha2(concat_ws('|', start_id, start_sign_id, stop_id, resource_kind, resource, process_id, process_instance, life), 256),
      16) AS ownership_id,
    kafka_cluster, group_id, resource_kind, resource, process_id, process_instance, concat_ws('/', process_instance, life) AS owner, member_id,
    row_number() OVER (PARTITION BY process_id, resource_kind, resource ORDER BY process_instance, life) AS instance, generation, start_lo_ms,
    start_hi_ms, start_how, before_generation, stop_asked_ms, first_sign_ms, last_sign_ms,
    -- Lines that a thread prints while it is closed show that it exists, but not that it works.
    least(work_stop_lo_ms, work_stop_hi_ms) AS work_stop_lo_ms, work_stop_hi_ms, stop_lo_ms, seen_ms, stop_hi_ms, phase_end, stop_how, is_stop_lost,
    start_id, start_sign_id, CAST(NULL AS ARRAY<STRING>) AS start_witness, not_before_id, stop_asked_id, last_sign_id, stop_id,
    CAST(NULL AS BIGINT) AS heard_ms, CAST(NULL AS STRING) AS heard_id, is_overdue
  FROM task_holding WHERE start_id IS NOT NULL OR start_sign_id IS NOT NULL OR stop_asked_id IS NOT NULL
  UNION ALL
  SELECT left(sha2(concat_ws('|', coalesce(start_id, shown_id), resource, process_id, client), 256), 16), kafka_cluster, group_id, 'partition',
    resource, process_id, process_instance, client, member_id,
    row_number() OVER (PARTITION BY process_id, group_id, client, resource ORDER BY from_pos), generation,
    CASE WHEN start_how = 'seen' THEN start_ms END, start_hi_ms, start_how, before_generation, NULL, start_hi_ms, NULL, NULL, stop_hi_ms, stop_lo_ms,
    stop_lo_ms, stop_hi_ms, CASE WHEN stop_how = 'process_restarted' THEN 'gone' WHEN stop_how IS NULL THEN 'running' ELSE 'stopping' END, stop_how,
    is_stop_lost, start_id, start_sign_id,
    -- If its last line revokes the partition, that line is already the stop event.
    CASE WHEN start_how = 'open' AND NOT shown_id <=> stop_id THEN array(shown_id) END, start_id, NULL, NULL, stop_id, heard_ms, heard_id, false
  FROM partition_holding
), timed_holding AS (
  SELECT ownership_id, process_id, start_hi_ms, least(seen_ms, stop_lo_ms) AS stop_lo_ms, heard_ms, heard_id FROM any_holding
  WHERE stop_lo_ms IS NOT NULL AND seen_ms IS NOT NULL AND start_hi_ms IS NOT NULL
), process_moment AS (
  SELECT e.process_id, unix_millis(e.ts) AS at_ms, 0 AS is_end, e.stream_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
    named_struct('at_ms', unix_millis(e.ts), 'event_id', e.event_id) AS line
  FROM event_row e LEFT SEMI JOIN (SELECT DISTINCT process_id FROM timed_holding) m ON m.process_id = e.process_id WHERE e.ts IS NOT NULL
  UNION ALL
  SELECT process_id, stop_lo_ms, 1, 0, ownership_id, CAST(NULL AS STRUCT<at_ms: BIGINT, event_id: STRING>) FROM timed_holding
), last_line AS (
  SELECT h.ownership_id, coalesce(h.heard_ms, l.line.at_ms) AS until_ms, coalesce(h.heard_id, l.line.event_id) AS until_id,
    CASE WHEN h.heard_id IS NOT NULL THEN w.witness END AS heard_witness
  FROM (
    SELECT ownership_id, lag(line) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY at_ms, is_end, pos, ownership_id) AS line FROM process_moment
  ) l
  JOIN timed_holding h ON h.ownership_id = l.ownership_id
  LEFT JOIN member_heard w ON w.removed_id = h.heard_id
  WHERE l.line.at_ms >= h.start_hi_ms
)
SELECT h.ownership_id, h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id, h.owner, h.member_id, h.instance, h.generation,
  h.start_lo_ms, h.start_hi_ms, h.start_how, h.before_generation, h.stop_asked_ms, h.first_sign_ms, h.last_sign_ms, h.work_stop_lo_ms,
  h.work_stop_hi_ms, h.stop_lo_ms, h.seen_ms, h.stop_hi_ms, h.phase_end, h.stop_how, h.is_stop_lost, h.start_id, h.start_sign_id, h.start_witness,
  h.not_before_id, h.stop_asked_id, h.last_sign_id, h.stop_id,
  CASE WHEN h.stop_how = 'process_restarted' THEN p.end_id END AS end_id, l.until_ms, l.until_id, l.heard_witness, h.is_overdue,
  o.reference_process_id, o.stepped, o.lo_ms AS ahead_lo_ms, o.hi_ms AS ahead_hi_ms, r.resolution_ms, h.start_lo_ms - o.hi_ms AS from_lo_ms,
  h.start_hi_ms + r.resolution_ms - o.lo_ms AS from_hi_ms, h.stop_lo_ms - o.hi_ms AS to_lo_ms,
  h.stop_hi_ms + r.resolution_ms - o.lo_ms AS to_hi_ms, h.work_stop_hi_ms + r.resolution_ms - o.lo_ms AS work_to_hi_ms
FROM any_holding h LEFT JOIN last_line l ON l.ownership_id = h.ownership_id
JOIN clock_offset o ON o.process_id = h.process_id AND o.is_island_reference
JOIN process_cluster r ON r.process_id = h.process_id AND r.is_last
LEFT JOIN process_life p ON p.process_id = h.process_id AND p.instance = h.process_instance

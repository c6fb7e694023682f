-- One row per run of a Connect worker whose log ends without shutdown lines, before the coordinator logged that it left: lines are missing.
-- Reads: event, member_place, process_life, clock_offset, quiet_log
-- Grain: process_id, instance
-- In every release a worker prints that it shuts down, or that it revokes its own tasks. A worker that leaves a group is running, so it was
-- not killed. A consumer of an old release may leave without a line. The coordinator may log the departure after the process has exited.
CREATE OR REPLACE TEMPORARY VIEW early_end (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which run of the process',
  last_ms    COMMENT 'Its last line, by its own clock (milliseconds since 1970); if another run follows, the last line that is certainly its
    own',
  next_start_ms COMMENT 'First line of the next run in the same log, by its own clock; NULL: there is none',
  left_ms    COMMENT 'The last of its members left at this time or later, by its own clock',
  event_id   COMMENT 'Line of the coordinator that shows the departure'
)
COMMENT 'One row per run of a Connect worker whose log ends before its coordinator logged that it left.'
AS
WITH departure AS (
  SELECT p.process_id, p.instance, l.last_ms, l.next_start_ms, unix_millis(e.ts) - b.hi_ms + o.lo_ms AS left_ms, e.event_id
  FROM member_place p
  JOIN process_life l ON l.process_id = p.process_id AND l.instance = p.instance AND l.is_worker
    AND l.ending_id IS NULL
  JOIN event e ON e.group_id = p.group_id AND e.member_id = p.member_id AND e.event = 'member_left' AND e.broker_id IS NOT NULL
  JOIN clock_offset b ON b.process_id = e.process_id AND b.is_island_reference AND NOT b.stepped
  JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference AND NOT o.stepped
    AND o.reference_process_id = b.reference_process_id
  LEFT ANTI JOIN quiet_log q ON q.process_id = p.process_id AND q.client IS NULL
)
SELECT
  process_id AS process_id,
  instance AS instance,
  max(last_ms) AS last_ms,
  max(next_start_ms) AS next_start_ms,
  max(left_ms) AS left_ms,
  max_by(event_id, struct(left_ms IS NOT NULL, left_ms, event_id)) AS event_id
FROM departure
WHERE left_ms - last_ms > coordinator_together_ms AND coalesce(left_ms <= next_start_ms, true)
GROUP BY process_id, instance

-- One row per Connect worker whose log ends, without a word of its end, before its coordinator heard it leave: the rest is not here.
-- Reads: event, member_place, process_life, clock_offset, quiet_log
-- Grain: process_id
-- Whatever its release, a worker that stops, or that takes a task from itself, prints that it does. What leaves a group is at work: it was
-- not killed. A consumer of an old release may leave without a word. The coordinator may hear of it when the process is gone.
CREATE OR REPLACE TEMPORARY VIEW early_end (
  process_id COMMENT 'Process',
  last_ms    COMMENT 'Last line of its log, by its own clock (milliseconds since 1970)',
  left_ms    COMMENT 'The last of its members left then or later, by its own clock',
  event_id   COMMENT 'Line of the coordinator that tells'
)
COMMENT 'One row per Connect worker whose log ends before its coordinator heard it leave.'
AS
WITH departure AS (
  SELECT p.process_id, l.last_ms, unix_millis(e.ts) - b.hi_ms + o.lo_ms AS left_ms, e.event_id
  FROM member_place p
  JOIN process_life l ON l.process_id = p.process_id AND l.instance = p.instance AND l.is_worker AND l.next_start_ms IS NULL
    AND l.ending_id IS NULL
  JOIN event e ON e.group_id = p.group_id AND e.member_id = p.member_id AND e.event = 'member_left' AND e.broker_id IS NOT NULL
  JOIN clock_offset b ON b.process_id = e.process_id AND b.is_island_reference AND NOT b.stepped
  JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference AND NOT o.stepped
    AND o.reference_process_id = b.reference_process_id
  LEFT ANTI JOIN quiet_log q ON q.process_id = p.process_id
)
SELECT
  process_id AS process_id,
  max(last_ms) AS last_ms,
  max(left_ms) AS left_ms,
  max_by(event_id, struct(left_ms, event_id)) AS event_id
FROM departure
WHERE left_ms - last_ms > coordinator_together_ms
GROUP BY process_id

-- One row per life of a process that another follows in its log, and how it ended.
-- Reads: process_life, fact_line, client_event, member_place, member_removal, event, clock_offset, cluster_broker, shared_log
-- Reads: life_start, clock_step, broker_missed
-- Grain: process_id, instance
-- A worker says that it stops, whatever its release. A client that closes leaves its group, or says that it was closed, in releases from
-- 2.4 on: of an earlier one only its coordinator can tell whether it left. How: stopped (it said so), left (it left its groups in order),
-- failed (it gave up while it started), starting (it had not started yet), died (its coordinator heard no more of it, or its controller
-- of a broker), unknown. That a process says nothing of its end may be for lines that are missing. Where the reference's own clock was
-- set while it was away, the times of its next life are put on the clock as it was before.
CREATE OR REPLACE TEMPORARY VIEW process_ending (
  process_id    COMMENT 'Process',
  instance      COMMENT 'Life that ended',
  is_broker     COMMENT 'True for a broker',
  is_worker     COMMENT 'True for a Connect worker',
  how           COMMENT 'stopped, left, failed, starting, died or unknown',
  last_ms       COMMENT 'It was there then, by its own clock: the first line of its end, or its last line',
  next_ms       COMMENT 'First line of its next life, by its own clock',
  from_lo_ms    COMMENT 'Ended at the earliest then (reference clock); NULL where the log begins with the end',
  from_hi_ms    COMMENT 'Ended at the latest then',
  to_lo_ms      COMMENT 'Its next life began at the earliest then',
  to_hi_ms      COMMENT 'Its next life began at the latest then',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  witness       COMMENT 'Events that tell: of the end, of the next start'
)
COMMENT 'One row per life of a process that another follows in its log, and how it ended.'
AS
WITH life AS (
  SELECT process_id, instance, is_broker, is_worker, last_ms, next_start_ms AS next_ms, next_start_id, ending_ms, ending_id,
    CASE WHEN ending_id IS NULL THEN last_ms ELSE ending_lo_ms END AS there_ms
  FROM process_life p
  -- Of a log that several workers print to, no start is known to be that of the worker before it.
  LEFT ANTI JOIN shared_log s ON s.process_id = p.process_id AND s.is_worker
  WHERE last_ms IS NOT NULL
), failed AS (
  SELECT process_id, instance, min(event_id) AS event_id
  FROM fact_line
  WHERE event IN ('connect_start_failed', 'herder_failed', 'broker_failed')
  GROUP BY process_id, instance
), started AS (
  -- Until it has started, a process that is told to stop says nothing.
  SELECT process_id, instance FROM fact_line WHERE event IN ('herder_starting', 'broker_started', 'coordinator_elected', 'group_loaded')
  UNION
  SELECT process_id, instance FROM client_event
  UNION
  SELECT process_id, instance FROM event WHERE broker_id IS NOT NULL AND event IN ('group_stabilized', 'rebalance_preparing')
), client AS (
  -- A process's last word on each membership that it had.
  SELECT process_id, instance, client,
    max_by(CASE WHEN event = 'leaving' THEN 'left' ELSE 'in' END, struct(at_ms IS NOT NULL, at_ms, stream_pos)) AS last,
      max_by(event_id, struct(at_ms IS NOT NULL, at_ms, stream_pos)) AS event_id
  FROM (
    SELECT process_id, instance, client, event, at_ms, stream_pos, event_id
    FROM client_event
    WHERE event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned', 'joining', 'leaving')
    UNION ALL
    SELECT f.process_id, f.instance, f.client_id, 'leaving', f.at_ms, f.stream_pos, f.event_id
    FROM fact_line f
    WHERE f.event = 'client_closed' AND f.client_id IS NOT NULL
  )
  GROUP BY process_id, instance, client
), clients AS (
  SELECT c.process_id, c.instance, bool_and(c.last = 'left') AS all_left, max(CASE WHEN c.last = 'left' THEN c.event_id END) AS event_id
  FROM client c
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance, client FROM client_event) m
    ON m.process_id = c.process_id AND m.instance = c.instance AND m.client = c.client
  GROUP BY c.process_id, c.instance
), coordinator AS (
  -- Its coordinator heard that it leaves: of a worker what the worker itself says counts, not what its tasks' consumers do.
  SELECT p.process_id, p.instance, max(unix_millis(e.ts) - b.lo_ms + o.hi_ms) AS left_ms,
    max_by(e.event_id, struct(e.ts IS NOT NULL, e.ts, e.event_id)) AS left_id
  FROM member_place p
  JOIN (SELECT process_id, client, max(is_worker) AS is_worker FROM client_event GROUP BY process_id, client) c
    ON c.process_id = p.process_id AND c.client = p.client
  JOIN process_life l ON l.process_id = p.process_id AND l.instance = p.instance AND (c.is_worker OR NOT l.is_worker)
  JOIN event e ON e.group_id = p.group_id AND e.member_id = p.member_id AND e.event = 'member_left' AND e.broker_id IS NOT NULL
  JOIN clock_offset b ON b.process_id = e.process_id AND b.is_island_reference
  JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference AND o.reference_process_id = b.reference_process_id
  GROUP BY p.process_id, p.instance
), removed AS (
  -- Removals after its last line; those before it was paused, or cut off, and came back.
  SELECT m.process_id, m.instance, max(m.own_lo_ms) AS own_lo_ms,
    min_by(m.removed_id, struct(m.removed_hi_ms IS NOT NULL, m.removed_hi_ms, m.removed_id)) AS removed_id
  FROM member_removal m
  JOIN life l ON l.process_id = m.process_id AND l.instance = m.instance AND m.own_lo_ms >= l.last_ms
  WHERE NOT m.was_closed
  GROUP BY m.process_id, m.instance
), missed AS (
  -- A broker's end in others' words. One that did not close its logs recovers them when it starts again.
  SELECT l.process_id, l.instance, min(m.event_id) AS event_id
  FROM life l
  JOIN cluster_broker n ON n.process_id = l.process_id
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  JOIN broker_missed m ON m.kafka_cluster = n.kafka_cluster AND m.broker_id = n.broker_id AND m.process_id <> l.process_id
    AND m.reference_process_id = o.reference_process_id
  WHERE l.is_broker AND m.at_lo_ms > l.last_ms - o.lo_ms AND m.at_hi_ms < l.next_ms - o.hi_ms
  GROUP BY l.process_id, l.instance
  UNION ALL
  SELECT l.process_id, l.instance, min(f.event_id)
  FROM life l
  JOIN fact_line f ON f.process_id = l.process_id AND f.instance = l.instance + 1 AND f.event = 'unclean_start'
  WHERE l.is_broker
  GROUP BY l.process_id, l.instance
), told AS (
  SELECT process_id, instance, min(event_id) AS event_id FROM missed GROUP BY process_id, instance
), judged AS (
  SELECT l.process_id, l.instance, l.is_broker, l.is_worker, coalesce(l.ending_ms, l.last_ms) AS last_ms, l.there_ms, l.next_ms,
    l.next_start_id,
    CASE
      WHEN f.event_id IS NOT NULL THEN 'failed'
      WHEN l.ending_id IS NOT NULL THEN 'stopped'
      WHEN b.process_id IS NULL THEN 'starting'
      WHEN l.is_broker AND t.event_id IS NOT NULL THEN 'died'
      WHEN r.own_lo_ms >= l.last_ms THEN 'died'
      WHEN o.left_ms >= l.last_ms - coordinator_together_ms THEN 'left'
      WHEN c.all_left THEN 'left'
      ELSE 'unknown'
    END AS how,
    array(coalesce(f.event_id, l.ending_id), CASE WHEN l.ending_id IS NULL THEN t.event_id END,
      CASE WHEN l.ending_id IS NULL AND r.own_lo_ms >= l.last_ms THEN r.removed_id END,
      CASE WHEN l.ending_id IS NULL THEN coalesce(o.left_id, c.event_id) END, l.next_start_id) AS witness
  FROM life l
  LEFT JOIN started b ON b.process_id = l.process_id AND b.instance = l.instance
  LEFT JOIN failed f ON f.process_id = l.process_id AND f.instance = l.instance
  LEFT JOIN clients c ON c.process_id = l.process_id AND c.instance = l.instance
  LEFT JOIN coordinator o ON o.process_id = l.process_id AND o.instance = l.instance
  LEFT JOIN removed r ON r.process_id = l.process_id AND r.instance = l.instance
  LEFT JOIN told t ON t.process_id = l.process_id AND t.instance = l.instance
  WHERE l.next_ms IS NOT NULL
), set_meanwhile AS (
  -- Its clock was set after a line of this life, or of one before, and before a line of one after it: perhaps while it was away.
  SELECT l.process_id, l.instance, CASE WHEN count(c.lo_ms) > 0 THEN least(min(c.lo_ms), 0L) END AS lo_ms,
    CASE WHEN count(c.hi_ms) = count(*) THEN greatest(max(c.hi_ms), 0L) END AS hi_ms
  FROM life l
  JOIN life_start b ON b.process_id = l.process_id AND b.instance = l.instance + 1
  JOIN clock_step c ON c.process_id = l.process_id AND c.before_pos < b.stream_pos AND c.after_pos >= b.stream_pos
  GROUP BY l.process_id, l.instance
), set_right AS (
  -- Between its own lines and another's clock the bounds of the offset allow for a clock that was set.
  SELECT j.*,
    CASE WHEN m.process_id IS NULL THEN j.next_ms ELSE greatest(j.next_ms - m.hi_ms, j.there_ms) END AS next_lo_ms,
    CASE WHEN m.process_id IS NULL THEN j.next_ms WHEN m.lo_ms IS NOT NULL THEN greatest(j.next_ms - m.lo_ms, j.there_ms) END AS next_hi_ms
  FROM judged j
  LEFT JOIN clock_offset o ON o.process_id = j.process_id AND o.reference_process_id = j.process_id AND o.is_island_reference
  LEFT JOIN set_meanwhile m ON m.process_id = o.process_id AND m.instance = j.instance
)
SELECT
  j.process_id AS process_id,
  j.instance AS instance,
  j.is_broker AS is_broker,
  j.is_worker AS is_worker,
  j.how AS how,
  j.last_ms AS last_ms,
  j.next_ms AS next_ms,
  j.there_ms - o.hi_ms AS from_lo_ms,
  -- One that was removed for its silence had perhaps lost its network, and ended later.
  CASE WHEN j.how IN ('stopped', 'failed') THEN j.last_ms ELSE j.next_hi_ms END - o.lo_ms AS from_hi_ms,
  j.next_lo_ms - o.hi_ms AS to_lo_ms,
  j.next_hi_ms - o.lo_ms AS to_hi_ms,
  o.reference_process_id AS reference_process_id,
  filter(j.witness, w -> w IS NOT NULL) AS witness
FROM set_right j
JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference

-- One row per process run that another follows in the same log, with the way in which it ended.
-- Reads: process_life, fact_line, client_event, member_place, removed_member, event, clock_offset, cluster_broker, shared_log, broker_absence
-- Reads: process_cluster
-- Grain: process_id, instance
-- In every release a worker prints that it stops. From 2.4 on a client that closes leaves its group or prints that it was closed; in earlier releases
-- only its coordinator can show whether it left. How: stopped (it printed so), left (it left its groups cleanly), failed (it gave up while starting),
-- starting (it had not started yet), died (its coordinator, or for a broker its controller, no longer heard from it), unknown. If a process prints
-- nothing about its end, lines may be missing. If the reference's own clock was set while its process was down, the times of the next run are
-- converted to the previous clock.
CREATE OR REPLACE TEMPORARY VIEW process_ending (
  process_id, instance, is_broker, is_worker, kafka_cluster,
  group_id      COMMENT 'Its group: its worker''s, else the first of its consumers''; NULL for a broker',
  how           COMMENT 'stopped, left, failed, starting, died or unknown',
  is_deployment COMMENT 'For a clean restart (stopped or left): true if other processes of the group, or other brokers, restarted before or after it,
    within storm_gap_ms; NULL: not a clean restart, or of no group',
  last_ms       COMMENT 'It was running at this time, by its own clock: the first line of its end, or its last line',
  next_ms       COMMENT 'First line of its next run, by its own clock',
  from_lo_ms    COMMENT 'Ended at this time at the earliest (reference clock); NULL: the log begins with the end',
  from_hi_ms    COMMENT 'Ended at this time at the latest',
  to_lo_ms      COMMENT 'Its next run began at this time at the earliest',
  to_hi_ms      COMMENT 'Its next run began at this time at the latest',
  reference_process_id, witness
)
AS
WITH process_run AS (
  SELECT process_id, instance, is_broker, is_worker, last_ms, next_start_ms AS next_ms, next_start_id, next_start_pos, ending_ms, ending_id,
    CASE WHEN ending_id IS NULL THEN last_ms ELSE ending_lo_ms END AS running_ms
  FROM process_life p
  -- In a log with the lines of several workers, it is unknown which worker a start belongs to.
  LEFT ANTI JOIN shared_log s ON s.process_id = p.process_id AND s.is_worker
  WHERE last_ms IS NOT NULL
), start_failure AS (
  SELECT process_id, instance, min(event_id) AS event_id FROM fact_line
  WHERE event IN ('connect_start_failed', 'herder_failed', 'broker_failed') GROUP BY process_id, instance
), started_run AS (
  -- Before it has started, a process that is asked to stop prints nothing.
  SELECT process_id, instance FROM client_event
  UNION
  SELECT process_id, instance FROM process_life WHERE has_started
), client_end AS (
  -- A process's last line about each of its memberships.
  SELECT
    process_id, instance, client, max_by(CASE WHEN event = 'leaving' THEN 'left' ELSE 'in' END, struct(at_ms IS NOT NULL, at_ms, stream_pos)) AS last,
    max_by(event_id, struct(at_ms IS NOT NULL, at_ms, stream_pos)) AS event_id
  FROM (
    SELECT process_id, instance, client, event, at_ms, stream_pos, event_id
    FROM client_event WHERE event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned', 'joining', 'leaving')
    UNION ALL
    SELECT f.process_id, f.instance, f.client_id, 'leaving', f.at_ms, f.stream_pos, f.event_id
    FROM fact_line f WHERE f.event = 'client_closed' AND f.client_id IS NOT NULL
  )
  GROUP BY process_id, instance, client
), client_end_summary AS (
  SELECT c.process_id, c.instance, bool_and(c.last = 'left') AS all_left, max(CASE WHEN c.last = 'left' THEN c.event_id END) AS event_id
  FROM client_end c
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance, client FROM client_event) m
    ON m.process_id = c.process_id AND m.instance = c.instance AND m.client = c.client
  GROUP BY c.process_id, c.instance
), logged_departure AS (
  -- Its coordinator logged that it left. For a worker only its own membership counts, not those of its tasks' consumers.
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
), removal_after_end AS (
  -- Removals after its last line. Before earlier ones the process was paused or cut off, and came back.
  SELECT m.process_id, m.instance, max(m.own_lo_ms) AS own_lo_ms,
    min_by(m.removed_id, struct(m.removed_hi_ms IS NOT NULL, m.removed_hi_ms, m.removed_id)) AS removed_id
  FROM removed_member m JOIN process_run l ON l.process_id = m.process_id AND l.instance = m.instance AND m.own_lo_ms >= l.last_ms
  WHERE NOT m.was_closed GROUP BY m.process_id, m.instance
), missing_broker AS (
  -- Evidence of a broker's end in other logs. A broker that did not close its logs recovers them when it starts again.
  SELECT l.process_id, l.instance, min(m.event_id) AS event_id FROM process_run l
  JOIN cluster_broker n ON n.process_id = l.process_id
  JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  JOIN broker_absence m ON m.how = 'reported' AND m.kafka_cluster = n.kafka_cluster AND m.broker_id = n.broker_id AND m.process_id <> l.process_id
    AND m.reference_process_id = o.reference_process_id
  WHERE l.is_broker AND m.from_lo_ms > l.last_ms - o.lo_ms AND m.from_hi_ms < l.next_ms - o.hi_ms GROUP BY l.process_id, l.instance
  UNION ALL
  SELECT l.process_id, l.instance, min(f.event_id) FROM process_run l
  JOIN fact_line f ON f.process_id = l.process_id AND f.instance = l.instance + 1 AND f.event = 'unclean_start'
  WHERE l.is_broker GROUP BY l.process_id, l.instance
), reported_missing AS (
  SELECT process_id, instance, min(event_id) AS event_id FROM missing_broker GROUP BY process_id, instance
), ended_run AS (
  SELECT l.process_id, l.instance, l.is_broker, l.is_worker, coalesce(l.ending_ms, l.last_ms) AS last_ms, l.running_ms, l.next_ms, l.next_start_id,
    CASE WHEN f.event_id IS NOT NULL THEN 'failed'
      WHEN l.ending_id IS NOT NULL THEN 'stopped'
      WHEN l.is_broker AND t.event_id IS NOT NULL THEN 'died'
      WHEN b.process_id IS NULL THEN 'starting'
      WHEN r.own_lo_ms >= l.last_ms THEN 'died'
      WHEN o.left_ms >= l.last_ms - coordinator_together_ms THEN 'left'
      WHEN c.all_left THEN 'left'
      ELSE 'unknown' END AS how,
    array(coalesce(f.event_id, l.ending_id), CASE WHEN l.ending_id IS NULL THEN t.event_id END,
      CASE WHEN l.ending_id IS NULL AND r.own_lo_ms >= l.last_ms THEN r.removed_id END,
      CASE WHEN l.ending_id IS NULL THEN coalesce(o.left_id, c.event_id) END, l.next_start_id) AS witness
  FROM process_run l LEFT JOIN started_run b ON b.process_id = l.process_id AND b.instance = l.instance
  LEFT JOIN start_failure f ON f.process_id = l.process_id AND f.instance = l.instance
  LEFT JOIN client_end_summary c ON c.process_id = l.process_id AND c.instance = l.instance
  LEFT JOIN logged_departure o ON o.process_id = l.process_id AND o.instance = l.instance
  LEFT JOIN removal_after_end r ON r.process_id = l.process_id AND r.instance = l.instance
  LEFT JOIN reported_missing t ON t.process_id = l.process_id AND t.instance = l.instance
  WHERE l.next_ms IS NOT NULL
), clock_step_while_down AS (
  -- Its clock was set after a line of this run or an earlier one, and before a line of a later one, so perhaps while it was down.
  SELECT l.process_id, l.instance, CASE WHEN count(c.place.hi_ms) = count(*) THEN greatest(max(c.place.hi_ms), 0L) END AS hi_ms
  FROM process_run l JOIN (SELECT process_id, explode(step.places) AS place FROM clock_offset WHERE is_island_reference) c
    ON c.process_id = l.process_id AND c.place.before_pos < l.next_start_pos AND c.place.after_pos >= l.next_start_pos
  GROUP BY l.process_id, l.instance
), ended_run_on_old_clock AS (
  -- Between its own lines and another clock the bounds of the offset already allow for a clock step.
  SELECT j.*, CASE WHEN m.process_id IS NULL THEN j.next_ms ELSE greatest(j.next_ms - m.hi_ms, j.running_ms) END AS next_lo_ms,
    CASE WHEN m.process_id IS NULL THEN j.next_ms END AS next_hi_ms
  FROM ended_run j
  LEFT JOIN clock_offset o ON o.process_id = j.process_id AND o.reference_process_id = j.process_id AND o.is_island_reference
  LEFT JOIN clock_step_while_down m ON m.process_id = o.process_id AND m.instance = j.instance
), run_end AS (
  SELECT j.process_id, j.instance, j.is_broker, j.is_worker, j.how, j.last_ms, j.next_ms, j.running_ms - o.hi_ms AS from_lo_ms,
    -- A member that was removed for missing heartbeats may have lost its network, and ended later.
    CASE WHEN j.how IN ('stopped', 'failed') THEN j.last_ms ELSE j.next_hi_ms END - o.lo_ms AS from_hi_ms,
    j.next_lo_ms - o.hi_ms AS to_lo_ms, j.next_hi_ms - o.lo_ms AS to_hi_ms, o.reference_process_id, filter(j.witness, w -> w IS NOT NULL) AS witness
  FROM ended_run_on_old_clock j JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
), consumer_group AS (
  SELECT process_id, instance, min(group_id) AS group_id FROM client_event WHERE group_id IS NOT NULL GROUP BY process_id, instance
), cluster_of_broker AS (
  SELECT process_id, max(kafka_cluster) AS kafka_cluster FROM cluster_broker WHERE process_id IS NOT NULL GROUP BY process_id
), run_end_of_group AS (
  SELECT e.*, coalesce(b.kafka_cluster, c.kafka_cluster) AS kafka_cluster,
    CASE WHEN NOT e.is_broker THEN coalesce(c.worker_group_id, g.group_id) END AS group_id
  FROM run_end e LEFT JOIN consumer_group g ON g.process_id = e.process_id AND g.instance = e.instance
  LEFT JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND c.is_life_last
  LEFT JOIN cluster_of_broker b ON b.process_id = e.process_id
), restart AS (
  -- It printed that it stops, or left its group, and came back.
  SELECT *, lag(to_hi_ms) OVER (PARTITION BY kafka_cluster, is_broker, group_id ORDER BY from_lo_ms, process_id, instance) AS previous_ms
  FROM run_end_of_group WHERE how IN ('stopped', 'left') AND from_lo_ms IS NOT NULL AND (is_broker OR group_id IS NOT NULL)
), restart_in_series AS (
  SELECT *, count_if(previous_ms IS NULL OR from_lo_ms - previous_ms > storm_gap_ms) OVER (PARTITION BY kafka_cluster, is_broker, group_id
    ORDER BY from_lo_ms, process_id, instance ROWS UNBOUNDED PRECEDING) AS series
  FROM restart
), deployment AS (
  SELECT process_id, instance, min(process_id) OVER s <> max(process_id) OVER s AS is_deployment FROM restart_in_series
  WINDOW s AS (PARTITION BY kafka_cluster, is_broker, group_id, series)
)
SELECT e.process_id, e.instance, e.is_broker, e.is_worker, e.kafka_cluster, e.group_id, e.how, d.is_deployment, e.last_ms, e.next_ms, e.from_lo_ms,
  e.from_hi_ms, e.to_lo_ms, e.to_hi_ms, e.reference_process_id, e.witness
FROM run_end_of_group e LEFT JOIN deployment d ON d.process_id = e.process_id AND d.instance = e.instance

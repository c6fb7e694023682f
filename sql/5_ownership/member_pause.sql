-- One row for each time in which a working member had nothing to do, until it received its next assignment.
-- Reads: partition_holding, task_holding, client_event, join_round, clock_setback, clock_suspect, process_line, fact_line
-- Grain: process_id, group_id, client, from_ms
-- Eager members revoke everything before they join; cooperative ones pause only if they lose all that they own. A member with an empty
-- assignment has nothing to do, so that is not a pause. For a worker the pause lasts from the stop request of its last task to the start of
-- the next one. If the process's clock was set in the meantime, the duration is unknown and there is no row.
CREATE OR REPLACE TEMPORARY VIEW member_pause (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  instance      COMMENT 'Which run of the process',
  client        COMMENT 'Client inside the process',
  from_ms       COMMENT 'It released the last of its partitions or tasks, by its own clock (milliseconds since 1970)',
  from_id       COMMENT 'Its event',
  to_ms         COMMENT 'It had its next assignment; NULL: none is logged',
  round         COMMENT 'Round of the client with that assignment',
  is_sure       COMMENT 'False: lines are missing, so it may have begun earlier, or there may have been two pauses',
  is_renewed    COMMENT 'True: its process closed it in the meantime, and the next client of that name is another member, so this is not a
    pause'
)
COMMENT 'One row for each time in which a working member had nothing to do, until it received its next assignment.'
AS
WITH worker AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id, instance, client FROM client_event WHERE is_worker
), single_herder AS (
  -- Lines of tasks do not name their herder, so a process with several herders is excluded.
  SELECT process_id, instance FROM worker GROUP BY process_id, instance HAVING count(*) = 1
), active_span AS (
  SELECT kafka_cluster, group_id, process_id, process_instance AS instance, client, start_ms, stop_hi_ms AS stop_ms, stop_id,
    -- The line of the release is not the first one after it.
    coalesce(stop_lo_ms < stop_hi_ms AND stop_how IN ('revoked', 'lost', 'client_closed', 'not_listed'), false) AS is_late
  FROM partition_holding
  UNION ALL
  SELECT w.kafka_cluster, w.group_id, w.process_id, w.instance, w.client, coalesce(h.start_hi_ms, h.start_lo_ms),
    coalesce(h.stop_asked_ms, h.work_stop_hi_ms, h.stop_hi_ms),
    coalesce(h.stop_asked_id, h.stop_id), false
  FROM task_holding h
  JOIN worker w ON w.process_id = h.process_id AND w.instance = h.process_instance AND w.group_id = h.group_id
  JOIN single_herder a ON a.process_id = w.process_id AND a.instance = w.instance
  WHERE h.resource_kind = 'task'
), span_with_previous AS (
  SELECT *,
    -- An open span ends last.
    max(struct(stop_ms IS NULL AS is_open, stop_ms AS at_ms, is_late, stop_id)) OVER (PARTITION BY kafka_cluster, group_id, process_id,
      instance, client
      ORDER BY start_ms, stop_ms, stop_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until,
    max(struct(stop_ms IS NULL AS is_open, stop_ms AS at_ms, is_late, stop_id)) OVER (PARTITION BY kafka_cluster, group_id, process_id,
      instance, client) AS last,
    row_number() OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client
      ORDER BY start_ms DESC, stop_ms, stop_id) AS from_end
  FROM active_span
), idle_span AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, until.at_ms AS from_ms, until.stop_id AS from_id, start_ms AS to_ms,
    until.is_late
  FROM span_with_previous
  WHERE until.at_ms < start_ms
  UNION ALL
  SELECT kafka_cluster, group_id, process_id, instance, client, last.at_ms, last.stop_id, NULL, last.is_late
  FROM span_with_previous
  WHERE from_end = 1 AND last.at_ms IS NOT NULL
), assignment_time AS (
  -- An empty assignment ends the pause too.
  SELECT process_id, instance, group_id, client, array_sort(collect_list(at_ms)) AS times
  FROM client_event
  WHERE event = 'partitions_assigned' OR event = 'worker_assigned' AND coalesce(size(assigned_tasks), 0) = 0
  GROUP BY process_id, instance, group_id, client
), idle_span_with_assignment AS (
  SELECT g.*, get(filter(a.times, t -> t >= g.from_ms), 0) AS assigned_ms
  FROM idle_span g
  LEFT JOIN assignment_time a ON a.process_id = g.process_id AND a.instance = g.instance AND a.group_id = g.group_id AND a.client = g.client
), ended_span AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, from_ms, from_id, coalesce(least(to_ms, assigned_ms), to_ms,
    assigned_ms) AS to_ms,
    is_late
  FROM idle_span_with_assignment
), client_renewal AS (
  SELECT process_id, instance, client_id, collect_list(at_ms) AS times
  FROM fact_line
  WHERE event IN ('client_closed', 'subscribed') AND client_id IS NOT NULL
  GROUP BY process_id, instance, client_id
), repeated_time AS (
  SELECT b.process_id, l.at_ms AS from_ms, l.at_ms + b.by_ms AS to_ms
  FROM clock_setback b
  JOIN process_line l ON l.process_id = b.process_id AND l.stream_pos = b.stream_pos
), timed_round AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, round, coalesce(worker_assigned_ms, synced_ms, joined_ms) AS at_ms,
    -- The member released partitions again before its next generation, or printed its sync: the line of its assignment is missing.
    NOT coalesce(is_worker, false) AND given_ms IS NULL AND (synced_id IS NOT NULL AND joined_id IS NOT NULL
      OR coalesce(lead(taken_ms) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client ORDER BY round)
        > coalesce(synced_ms, joined_ms), false)) AS is_incomplete
  FROM join_round
)
SELECT p.kafka_cluster, p.group_id, p.process_id, p.instance, p.client, p.from_ms, p.from_id, p.to_ms, max(r.round) AS round,
  NOT p.is_late AND NOT coalesce(bool_or(r.is_incomplete), false) AS is_sure, p.is_renewed
FROM (
  SELECT e.*, coalesce(exists(n.times, t -> t >= e.from_ms AND coalesce(t <= e.to_ms, true)), false) AS is_renewed
  FROM ended_span e
  LEFT JOIN client_renewal n ON n.process_id = e.process_id AND n.instance = e.instance AND n.client_id = e.client
) p
LEFT ANTI JOIN repeated_time b ON b.process_id = p.process_id AND p.from_ms <= b.to_ms AND coalesce(p.to_ms >= b.from_ms, true)
-- For a clock step at an unknown position only a minimum size is known.
LEFT ANTI JOIN clock_suspect s ON s.process_id = p.process_id AND s.how = 'contradicted' AND p.to_ms - p.from_ms >= s.by_ms
LEFT JOIN timed_round r ON r.kafka_cluster = p.kafka_cluster AND r.group_id = p.group_id AND r.process_id = p.process_id
  AND r.instance = p.instance AND r.client = p.client AND r.at_ms BETWEEN p.from_ms AND p.to_ms
GROUP BY p.kafka_cluster, p.group_id, p.process_id, p.instance, p.client, p.from_ms, p.from_id, p.to_ms, p.is_late,
  p.is_renewed

-- One row per member and generation.
-- Reads: member_round, join_round, epoch_member, placed_event, event, log_hole, broker_generation, partition_holding, task_holding, client_event
-- Reads: process_line, fact_line, clock_offset
-- Grain: kafka_cluster, group_id, incarnation, generation, member_id, process_id
-- Public: yes
-- A pause is time in which a working member had nothing to do. Eager members revoke everything before they join; cooperative ones pause
-- only if they lose all that they own. An empty assignment is not a pause. For a worker it lasts from the stop request of its last task to
-- the start of the next one. If the clock was set in the meantime, it is unknown.
CREATE OR REPLACE TEMPORARY VIEW member_generation (
  kafka_cluster, group_id, incarnation, generation,
  member_id     COMMENT 'Member id; where the release prints none, from the leader''s line and what each was given; NULL: unknown',
  process_id    COMMENT 'Process; NULL: only the leader''s line names the member',
  client_id, task,
  is_leader     COMMENT 'True for the leader',
  member_epoch  COMMENT 'KIP-848: the member''s epoch',
  state         COMMENT 'joined: never received its assignment; synced: received it; KIP-848: its last state in that epoch',
  joining_ts    COMMENT 'Asked to join, by its own clock',
  joined_ts     COMMENT 'Joined, by its own clock',
  synced_ts     COMMENT 'Received its assignment, by its own clock',
  assigned      COMMENT 'Connectors and tasks, or partitions, that it was assigned',
  revoked       COMMENT 'Connectors and tasks that it had to revoke',
  delay_ms      COMMENT 'Scheduled rebalance delay in its assignment',
  paused_from_ts COMMENT 'It had released the last of its work, by its own clock; NULL: it kept working, or had nothing',
  paused_to_ts  COMMENT 'It received its next assignment, or one of its tasks ran again, by its own clock',
  paused_ms     COMMENT 'Idle time before this generation gave it work, milliseconds; 0: it kept working;
    NULL: its first generation, its log does not show it, or its clock stepped meanwhile',
  is_pause_known COMMENT 'False: it was in an earlier generation, and its idle time is unknown: lines of its log
    are missing, its log begins in that time, or its clock stepped',
  witness
)
AS
WITH worker AS (
  -- Lines of tasks do not name their herder, so a process with several herders is excluded.
  SELECT max(kafka_cluster) AS kafka_cluster, max(group_id) AS group_id, process_id, instance, max(client) AS client
  FROM (SELECT DISTINCT kafka_cluster, group_id, process_id, instance, client FROM client_event WHERE is_worker)
  GROUP BY process_id, instance
  HAVING count(*) = 1
), active_span AS (
  -- The line of a release may not be the first one after it.
  SELECT kafka_cluster, group_id, process_id, process_instance AS instance, client, start_ms, stop_hi_ms AS stop_ms,
    coalesce(stop_lo_ms < stop_hi_ms AND stop_how IN ('revoked', 'lost', 'client_closed', 'not_listed'), false) AS is_late
  FROM partition_holding
  UNION ALL
  SELECT w.kafka_cluster, w.group_id, w.process_id, w.instance, w.client, coalesce(h.start_hi_ms, h.start_lo_ms),
    coalesce(h.stop_asked_ms, h.work_stop_hi_ms, h.stop_hi_ms), false
  FROM task_holding h JOIN worker w ON w.process_id = h.process_id AND w.instance = h.process_instance AND w.group_id = h.group_id
  WHERE h.resource_kind = 'task'
), span_with_previous AS (
  -- An open span ends last.
  SELECT *, max(stop) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client
      ORDER BY start_ms, stop_ms, is_late ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until,
    max(stop) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client) AS last,
    row_number() OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client ORDER BY start_ms DESC) = 1 AS is_last
  FROM (SELECT *, struct(stop_ms IS NULL AS is_open, stop_ms AS at_ms, is_late) AS stop FROM active_span)
), idle_span AS (
  -- An empty assignment ends the pause too.
  SELECT kafka_cluster, group_id, process_id, instance, client, from_ms, is_late, least(to_ms, assigned_ms) AS to_ms
  FROM (
    SELECT *, lag(CASE WHEN NOT is_idle THEN from_ms END) IGNORE NULLS
      OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -from_ms, is_idle, to_ms, kafka_cluster) AS assigned_ms
    FROM (
      SELECT kafka_cluster, group_id, process_id, instance, client, until.at_ms AS from_ms, start_ms AS to_ms, until.is_late, true AS is_idle
      FROM span_with_previous WHERE until.at_ms < start_ms
      UNION ALL
      SELECT kafka_cluster, group_id, process_id, instance, client, last.at_ms, NULL, last.is_late, true
      FROM span_with_previous WHERE is_last AND last.at_ms IS NOT NULL
      UNION ALL
      SELECT NULL, group_id, process_id, instance, client, at_ms, NULL, false, false FROM client_event
      WHERE event = 'partitions_assigned' OR event = 'worker_assigned' AND coalesce(size(assigned_tasks), 0) = 0
    )
  )
  WHERE is_idle
), repeated_time AS (
  SELECT l.process_id, l.at_ms AS from_ms, l.at_ms - c.place.hi_ms AS to_ms
  FROM (SELECT process_id, explode(step.places) AS place FROM clock_offset WHERE is_island_reference) c
  JOIN process_line l ON l.process_id = c.process_id AND l.stream_pos = c.place.after_pos AND c.place.hi_ms IS NOT NULL
), timed_round AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, round, coalesce(worker_assigned_ms, synced_ms, joined_ms) AS at_ms,
    -- The member released partitions again before its next generation, or printed its sync: the line of its assignment is missing.
    NOT coalesce(is_worker, false) AND given_ms IS NULL AND (synced_id IS NOT NULL AND joined_id IS NOT NULL
      OR coalesce(lead(taken_ms) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client ORDER BY round)
        > coalesce(synced_ms, joined_ms), false)) AS is_incomplete
  FROM join_round
), member_pause AS (
  -- A pause belongs to the last round that its client reached in it. A round in it is incomplete, or the client was renewed in it, if the last one
  -- before its end is in it.
  SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.from_ms, p.to_ms,
    CASE WHEN p.reached.at_ms >= p.from_ms THEN p.reached.round END AS round,
    NOT p.is_late AND NOT coalesce(p.incomplete_ms >= p.from_ms, false) AS is_sure, coalesce(p.renewed_ms >= p.from_ms, false) AS is_renewed
  FROM (
    SELECT *, max(CASE WHEN round IS NOT NULL THEN struct(at_ms, round) END) OVER of_member AS reached,
      max(CASE WHEN is_incomplete THEN at_ms END) OVER of_member AS incomplete_ms,
      max(CASE WHEN round IS NULL AND to_ms IS NULL THEN at_ms END) OVER of_client AS renewed_ms
    FROM (
      SELECT kafka_cluster, group_id, process_id, instance, client, to_ms AS at_ms, from_ms, to_ms, is_late, CAST(NULL AS BIGINT) AS round,
        false AS is_incomplete
      FROM idle_span WHERE to_ms IS NOT NULL
      UNION ALL
      SELECT kafka_cluster, group_id, process_id, instance, client, at_ms, NULL, NULL, false, round, is_incomplete FROM timed_round
      WHERE at_ms IS NOT NULL
      UNION ALL
      SELECT NULL, NULL, process_id, instance, client_id, at_ms, NULL, NULL, false, NULL, false FROM fact_line
      WHERE event IN ('client_closed', 'subscribed') AND client_id IS NOT NULL AND at_ms IS NOT NULL
    )
    WINDOW of_member AS (PARTITION BY process_id, instance, client, kafka_cluster, group_id ORDER BY at_ms, to_ms NULLS FIRST
        ROWS UNBOUNDED PRECEDING),
      of_client AS (PARTITION BY process_id, instance, client ORDER BY at_ms, to_ms NULLS FIRST ROWS UNBOUNDED PRECEDING)
  ) p
  LEFT ANTI JOIN repeated_time b ON b.process_id = p.process_id AND p.from_ms <= b.to_ms AND p.to_ms >= b.from_ms
  -- For a clock step at an unknown position only a minimum size is known.
  LEFT ANTI JOIN clock_offset s ON s.process_id = p.process_id AND s.is_island_reference AND p.to_ms - p.from_ms >= s.step.least_ms
  WHERE p.to_ms IS NOT NULL
), own_round AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.member_id AS own_member_id, r.process_id, j.client, j.client_id, j.task,
    r.is_leader, r.round, j.instance,
    CASE WHEN r.synced.event_id IS NOT NULL OR j.worker_assigned_id IS NOT NULL THEN 'synced' ELSE 'joined' END AS state,
    r.joining_last.at_ms AS joining_ms, r.joined.at_ms AS joined_ms, r.synced.at_ms AS synced_ms,
    -- Releases without the assignor's line print the added partitions; for an eager member these are all.
    coalesce(j.assigned, j.given) AS assigned, j.revoked, j.delay_ms, p.from_ms AS paused_from_ms, p.to_ms AS paused_to_ms,
    coalesce(p.is_renewed, false) AS is_renewed, j.is_later, j.is_given OR r.synced.event_id IS NOT NULL AS is_given,
    j.is_first_here AND j.gives_all_up AS is_begun_before,
    CASE WHEN p.from_ms IS NULL THEN CASE WHEN j.is_later AND j.is_given AND (j.had_nothing OR j.gave_up
        OR NOT j.gives_all_up AND NOT j.is_new AND h.process_id IS NULL) THEN 0L END
      WHEN p.is_sure AND NOT coalesce(p.is_renewed, false) AND NOT coalesce(exists(k.step.set_back,
        x -> x > j.last_pos AND coalesce(x <= j.next_pos, true)), false) AND NOT coalesce(p.to_ms - p.from_ms >= k.step.least_ms, false)
        THEN p.to_ms - p.from_ms END AS paused_ms,
    filter(array(r.joining_last.event_id, r.joined.event_id, j.synced_id, j.worker_assigned_id), e -> e IS NOT NULL) AS own_witness
  FROM member_round r
  JOIN (
    SELECT process_id, kafka_cluster, group_id, client, client_id, task, round, instance, worker_assigned_id, synced_id, assigned, given, revoked,
      delay_ms, from_pos, coalesce(is_worker, false) AS is_worker, worker_assigned_id IS NOT NULL OR given IS NOT NULL AS is_given,
      -- A client that had a generation before and has an assignment now kept working, unless a pause is known.
      coalesce(lag(instance) OVER in_order = instance, false) AS is_later,
      -- Its log shows neither its start with the find of its coordinator, nor what it released: it may have been a member before.
      NOT coalesce(is_worker, false) AND instance = 0 AND lag(round) OVER in_order IS NULL AND NOT coalesce(is_found, true)
        AND taken_ms IS NULL AND joining_count < 2 AS is_first_here,
      coalesce(size(coalesce(lag(assigned) OVER in_order, lag(given) OVER in_order)) = 0, false) AS had_nothing,
      -- An eager member certainly paused. Its lines show both ends, or some are missing.
      CASE WHEN coalesce(is_worker, false) THEN coalesce(protocol = 'default', false)
        ELSE coalesce(protocol, max(protocol) OVER (PARTITION BY process_id, group_id, client), '') NOT LIKE '%cooperative%'
          AND coalesce(protocol, '') NOT LIKE 'stream%' END AS gives_all_up,
      coalesce(given_ms <= taken_ms, false) AS gave_up, coalesce(lag(member_id) OVER in_order <> member_id, false) AS is_new,
      coalesce(lag(from_pos) OVER in_order, -1L) AS last_pos, lead(from_pos) OVER in_order AS next_pos
    FROM join_round
    WINDOW in_order AS (PARTITION BY process_id, group_id, client ORDER BY round)
  ) j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round AND j.kafka_cluster = r.kafka_cluster
  LEFT JOIN (
    SELECT process_id, group_id, client, round, min(from_ms) AS from_ms, max(to_ms) AS to_ms,
      bool_and(coalesce(is_sure, true)) AS is_sure, bool_and(coalesce(is_renewed, false)) AS is_renewed
    FROM member_pause WHERE round IS NOT NULL GROUP BY process_id, group_id, client, round
  ) p ON p.process_id = r.process_id AND p.group_id = r.group_id AND p.client = r.client AND p.round = r.round
  LEFT JOIN clock_offset k ON k.process_id = r.process_id AND k.is_island_reference
  LEFT JOIN (
    SELECT DISTINCT process_id, group_id, client, round
    FROM (
      SELECT *, max(to_pos) OVER (PARTITION BY process_id, instance ORDER BY from_pos, round NULLS FIRST ROWS UNBOUNDED PRECEDING) AS hole_pos
      FROM (
        SELECT process_id, instance, group_id, client, round, from_pos, CAST(NULL AS BIGINT) AS to_pos,
          lag(from_pos) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY round) AS last_pos
        FROM join_round
        UNION ALL
        SELECT process_id, instance, NULL, NULL, NULL, from_pos, to_pos, NULL FROM log_hole
      )
    )
    WHERE hole_pos > last_pos
  ) h ON h.process_id = r.process_id AND h.group_id = r.group_id AND h.client = r.client AND h.round = r.round
), leader_assignment AS (
  -- The leader prints the assignment of all members: members without a log are known from it.
  SELECT e.kafka_cluster, e.group_id, e.generation, e.process_id AS leader_process, e.event_id, explode(e.assignment) AS (member_id, assigned)
  FROM placed_event e WHERE e.event = 'assignment_computed' AND e.assignment IS NOT NULL AND e.generation IS NOT NULL
  UNION ALL
  -- Up to 2.3 that line names no generation: it belongs to the round that contains it.
  SELECT r.kafka_cluster, r.group_id, r.generation, r.process_id, e.event_id, explode(e.assignment)
  FROM event e JOIN join_round r ON r.computed_id = e.event_id WHERE e.assignment IS NOT NULL AND e.generation IS NULL
), identified_round AS (
  -- A release that prints no member ids prints its assignment, and in one generation each partition or task is assigned to one member.
  SELECT kafka_cluster, group_id, generation, process_id, client, round, member_id, event_id
  FROM (
    SELECT *, count(*) OVER (PARTITION BY kafka_cluster, group_id, generation, member_id) AS takers
    FROM (
      SELECT o.kafka_cluster, o.group_id, o.generation, o.process_id, o.client, o.round, min(t.member_id) AS member_id, min(t.event_id) AS event_id
      FROM own_round o
      JOIN (SELECT kafka_cluster, group_id, generation, member_id, event_id, assigned, explode(assigned) AS resource FROM leader_assignment) t
        ON t.kafka_cluster = o.kafka_cluster AND t.group_id = o.group_id AND t.generation = o.generation AND t.resource = array_min(o.assigned)
      LEFT ANTI JOIN own_round k ON k.kafka_cluster = t.kafka_cluster AND k.group_id = t.group_id AND k.generation = t.generation
        AND k.own_member_id = t.member_id
      WHERE o.own_member_id IS NULL GROUP BY o.kafka_cluster, o.group_id, o.generation, o.process_id, o.client, o.round
      HAVING count(DISTINCT t.member_id) = 1 AND max(size(array_except(o.assigned, t.assigned))) = 0
    )
  )
  WHERE takers = 1
), identified_member AS (
  SELECT o.*, coalesce(o.own_member_id, m.member_id) AS member_id,
    CASE WHEN m.event_id IS NULL THEN o.own_witness ELSE array_union(o.own_witness, array(m.event_id)) END AS witness
  FROM own_round o
  LEFT JOIN identified_round m ON m.kafka_cluster = o.kafka_cluster AND m.group_id = o.group_id AND m.generation = o.generation
    AND m.process_id = o.process_id AND m.client = o.client AND m.round = o.round
), member_with_pause AS (
  SELECT *, coalesce(paused_ms IS NOT NULL OR NOT is_later AND NOT coalesce(is_begun_before, false)
    OR NOT is_given AND paused_from_ms IS NULL OR is_renewed, true) AS is_pause_known
  FROM identified_member
)
SELECT s.kafka_cluster, s.group_id, s.incarnation, s.generation, s.member_id, s.process_id, s.client_id, s.task, s.is_leader,
  CAST(NULL AS BIGINT) AS member_epoch, s.state, timestamp_millis(s.joining_ms) AS joining_ts, timestamp_millis(s.joined_ms) AS joined_ts,
  timestamp_millis(s.synced_ms) AS synced_ts, s.assigned, s.revoked, s.delay_ms,
  timestamp_millis(CASE WHEN NOT s.is_renewed THEN s.paused_from_ms END) AS paused_from_ts,
  timestamp_millis(CASE WHEN NOT s.is_renewed THEN s.paused_to_ms END) AS paused_to_ts, s.paused_ms, s.is_pause_known, s.witness
FROM member_with_pause s
UNION ALL
SELECT t.kafka_cluster, t.group_id, s.incarnation, t.generation, t.member_id, NULL AS process_id, NULL AS client_id, NULL AS task, false AS is_leader,
  NULL AS member_epoch,
  -- An assignment that its coordinator never received reached no member.
  CASE WHEN b.generation IS NOT NULL AND b.assigned_ms IS NULL THEN 'joined' ELSE 'synced' END AS state, NULL AS joining_ts, NULL AS joined_ts,
  NULL AS synced_ts, CASE WHEN b.generation IS NULL OR b.assigned_ms IS NOT NULL THEN t.assigned END AS assigned, NULL AS revoked, NULL AS delay_ms,
  NULL AS paused_from_ts, NULL AS paused_to_ts, NULL AS paused_ms, NULL AS is_pause_known, array(t.event_id) AS witness
FROM leader_assignment t
JOIN (SELECT DISTINCT kafka_cluster, group_id, generation, incarnation, process_id FROM identified_member) s
  ON s.kafka_cluster = t.kafka_cluster AND s.group_id = t.group_id AND s.generation = t.generation AND s.process_id = t.leader_process
LEFT ANTI JOIN identified_member k ON k.kafka_cluster = t.kafka_cluster AND k.group_id = t.group_id AND k.generation = t.generation
  AND k.member_id = t.member_id
LEFT JOIN broker_generation b ON b.kafka_cluster = t.kafka_cluster AND b.group_id = t.group_id AND b.incarnation = s.incarnation
  AND b.generation = t.generation
UNION ALL
SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation, m.member_id, m.process_id, m.client_id, m.task, false AS is_leader,
  m.generation AS member_epoch, lower(m.state) AS state, timestamp_millis(m.joining.at_ms) AS joining_ts,
  timestamp_millis(m.reached.at_ms) AS joined_ts, timestamp_millis(m.settled.at_ms) AS synced_ts, m.assigned, m.revoked, NULL AS delay_ms,
  timestamp_millis(p.from_ms) AS paused_from_ts, timestamp_millis(p.to_ms) AS paused_to_ts,
  CASE WHEN p.from_ms IS NOT NULL THEN CASE WHEN p.is_sure THEN p.to_ms - p.from_ms END
    WHEN m.joining IS NULL AND m.process_id IS NOT NULL THEN 0L END AS paused_ms,
  CASE WHEN m.process_id IS NOT NULL THEN coalesce(p.is_sure, true) END AS is_pause_known, m.witness
FROM epoch_member m
LEFT JOIN (
  -- A pause belongs to the epoch that its client had reached when it ended.
  SELECT kafka_cluster, group_id, reached.member_id, reached.generation, min(from_ms) AS from_ms, max(to_ms) AS to_ms, bool_and(is_sure) AS is_sure
  FROM (
    SELECT *, max(CASE WHEN from_ms IS NULL THEN struct(at_ms, generation, member_id) END) OVER (
      PARTITION BY process_id, client, kafka_cluster, group_id ORDER BY at_ms, from_ms NULLS FIRST ROWS UNBOUNDED PRECEDING) AS reached
    FROM (
      SELECT kafka_cluster, group_id, process_id, client_id AS client, reached.at_ms, generation, member_id, CAST(NULL AS BIGINT) AS from_ms,
        CAST(NULL AS BIGINT) AS to_ms, CAST(NULL AS BOOLEAN) AS is_sure
      FROM epoch_member WHERE process_id IS NOT NULL AND reached.at_ms IS NOT NULL
      UNION ALL
      SELECT kafka_cluster, group_id, process_id, client, to_ms, NULL, NULL, from_ms, to_ms, coalesce(is_sure, true) FROM member_pause
      WHERE NOT coalesce(is_renewed, false)
    )
  )
  WHERE from_ms IS NOT NULL GROUP BY kafka_cluster, group_id, reached.member_id, reached.generation
) p ON p.kafka_cluster = m.kafka_cluster AND p.group_id = m.group_id AND p.member_id = m.member_id AND p.generation = m.generation

-- One row per time in which a task, connector or partition that had had an owner had none.
-- Reads: ownership, member, join_round, clock_offset, generation, member_generation, broker_generation, log_hole, event, process_cluster
-- Reads: member_heard
-- Grain: kafka_cluster, group_id, resource_kind, resource, previous_ownership_id
-- Public: yes
-- Certain from `from_hi` to `to_lo`, possible from `from_lo` to `to_hi`. Owners whose clocks cannot be compared have no row: one
-- may have had it while the other had not. It is never certain if a member of a generation in between, whose assignment no line
-- shows, may have had it.
CREATE OR REPLACE TEMPORARY VIEW unowned (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  resource_kind COMMENT 'task, connector or partition',
  resource      COMMENT 'Resource without an owner',
  from_lo       COMMENT 'Earliest time at which its last owner lost it (reference clock)',
  from_hi       COMMENT 'Latest time at which its last owner lost it; NULL: no line shows that it did',
  to_lo         COMMENT 'Earliest time at which its next owner had it; NULL: no later owner in the logs',
  to_hi         COMMENT 'Latest time at which its next owner had it',
  certain_ms    COMMENT 'Without an owner for at least this long, milliseconds; NULL: no later owner',
  possible_ms   COMMENT 'Without an owner for at most this long, milliseconds; NULL: no bound',
  why           COMMENT 'failure: it failed; scheduled_delay: a Connect group held it for a worker''s return; process_gone: its process
    died or was restarted; expired: the broker removed its owner for silence; left_group: its owner left or lost the group; restart: the
    same member stopped and started it; rebalance: it moved; unknown',
  delay_ms      COMMENT 'Scheduled rebalance delay of the group meanwhile, milliseconds',
  previous_ownership_id COMMENT 'Last ownership before',
  previous_process_id   COMMENT 'Its process',
  previous_member_id    COMMENT 'Its member id',
  next_ownership_id     COMMENT 'First ownership after; NULL: none',
  next_process_id       COMMENT 'Its process',
  next_member_id        COMMENT 'Its member id',
  generation    COMMENT 'Generation that gave it to its next owner',
  reference_process_id  COMMENT 'Process on whose clock the bounds are',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per time in which a task, connector or partition that had had an owner had none.'
AS
WITH owned_time AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, ownership_id, process_id, member_id, generation, witness,
    unix_millis(coalesce(start_lo, start_hi)) AS begun_lo_ms, start_lo IS NULL AS is_before_log, unix_millis(start_hi) AS start_hi_ms,
    unix_millis(stop_lo) AS stop_lo_ms,
    -- An open one ends last.
    struct(stop_hi IS NULL AS is_open, unix_millis(stop_hi) AS stop_hi_ms, unix_millis(stop_lo) AS stop_lo_ms, ownership_id, process_id,
      member_id, phase_end, stop_how, witness, generation, start_lo IS NULL AS is_before_log) AS this
  FROM ownership
), owner_with_previous AS (
  SELECT *, max(this) OVER before AS previous, max(stop_lo_ms) OVER before AS previous_stop_ms
  FROM owned_time
  WINDOW before AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id ORDER BY begun_lo_ms,
    ownership_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), island_count AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, count(DISTINCT reference_process_id) AS islands FROM ownership
    GROUP BY kafka_cluster, group_id, resource_kind, resource
), last_owner AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, max(this) AS previous, max(stop_lo_ms) AS previous_stop_ms
  FROM owned_time
  GROUP BY kafka_cluster, group_id, resource_kind, resource, reference_process_id
), coordinator_contact AS (
  -- A member whose log ends, and which its coordinator heard later, in the last generation of its log: it still had its assignment.
  SELECT h.kafka_cluster, h.group_id, h.member_id, h.process_id, max(h.alive_ms - o.hi_ms) AS alive_ms, max(o.reference_process_id)
    AS reference_process_id
  FROM member_heard h
  JOIN (SELECT process_id, group_id, member_id, max(generation) AS generation FROM join_round WHERE synced_id IS NOT NULL
    GROUP BY process_id, group_id, member_id) r
    ON r.process_id = h.process_id AND r.group_id = h.group_id AND r.member_id = h.member_id AND r.generation = h.generation
  JOIN clock_offset o ON o.process_id = h.process_id AND o.is_island_reference
  GROUP BY h.kafka_cluster, h.group_id, h.member_id, h.process_id
), gap_candidate AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, previous, previous_stop_ms,
    ownership_id AS next_ownership_id, process_id AS next_process_id, member_id AS next_member_id, generation,
    -- An owner that had it before its log begins may have had it immediately.
    CASE WHEN is_before_log THEN previous_stop_ms ELSE begun_lo_ms END AS begun_lo_ms, start_hi_ms, witness
  FROM owner_with_previous
  WHERE previous IS NOT NULL AND previous_stop_ms < coalesce(start_hi_ms, begun_lo_ms)
    AND (NOT previous.is_open OR previous_stop_ms < begun_lo_ms)
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, previous, previous_stop_ms, NULL, NULL, NULL, NULL, NULL,
    NULL, NULL
  FROM last_owner
  WHERE NOT previous.is_open
), unowned_gap AS (
  SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous,
    greatest(g.previous_stop_ms, CASE WHEN h.alive_ms < coalesce(g.begun_lo_ms, g.start_hi_ms) THEN h.alive_ms END) AS previous_stop_ms,
    g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation, g.begun_lo_ms, g.start_hi_ms, g.witness
  FROM gap_candidate g
  LEFT JOIN coordinator_contact h ON g.previous.is_open AND g.resource_kind = 'partition' AND h.kafka_cluster = g.kafka_cluster
    AND h.group_id = g.group_id AND h.member_id = g.previous.member_id AND h.process_id = g.previous.process_id
    AND h.reference_process_id = g.reference_process_id
), certain_gap AS (
  -- Other possible owners matter only if the last owner had certainly ended before the next one began: only then is a gap certain. Each of
  -- these has a last owner of its own, so the generations in between belong to no other gap of the same resource.
  SELECT * FROM unowned_gap WHERE begun_lo_ms > previous.stop_hi_ms
), generation_share AS (
  -- The assignments of each generation's members, from the logs or from its leader.
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation,
    -- A member that joined and got no assignment before the next rebalance had nothing, unless its log lacks lines.
    count_if(m.process_id IS NOT NULL AND (m.assigned IS NOT NULL OR m.state = 'joined' AND h.process_id IS NULL)) AS shown,
    flatten(collect_list(CASE WHEN m.process_id IS NOT NULL THEN m.assigned END)) AS assigned,
    flatten(collect_list(m.revoked)) AS revoked, coalesce(max(m.delay_ms), 0L) AS delay_ms
  FROM member_generation m
  LEFT JOIN (SELECT DISTINCT process_id FROM log_hole) h ON h.process_id = m.process_id
  GROUP BY m.kafka_cluster, m.group_id, m.incarnation, m.generation
), incarnation_count AS (
  SELECT kafka_cluster, group_id, max(incarnation) - min(incarnation) AS restarts FROM generation GROUP BY kafka_cluster, group_id
), generation_members AS (
  -- If no log has the number of members, there may be one more than the logs show.
  SELECT n.kafka_cluster, n.group_id, n.generation, n.member_count, n.seen_by_members, coalesce(s.shown, 0L) AS shown,
    coalesce(s.assigned, array()) AS assigned, coalesce(s.revoked, array()) AS revoked, coalesce(s.delay_ms, 0L) AS delay_ms,
    n.group_protocol, b.member_count IS NOT NULL OR coalesce(n.group_protocol <> 'classic', false) AS is_known
  FROM generation n
  LEFT JOIN generation_share s ON s.kafka_cluster = n.kafka_cluster AND s.group_id = n.group_id AND s.incarnation = n.incarnation
    AND s.generation = n.generation
  LEFT JOIN broker_generation b ON b.kafka_cluster = n.kafka_cluster AND b.group_id = n.group_id AND b.incarnation = n.incarnation
    AND b.generation = n.generation
), known_generation AS (
  -- Generations without members have no row: their coordinator prints that the group is empty.
  SELECT kafka_cluster, group_id, generation FROM generation_members
  UNION
  SELECT c.kafka_cluster, e.group_id, e.generation
  FROM event e JOIN process_cluster c ON c.process_id = e.process_id AND c.instance = e.instance AND e.stream_pos >= c.from_pos
    AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.event = 'group_emptied' AND e.generation IS NOT NULL
), numbered_generation AS (
  SELECT *, CAST(row_number() OVER (PARTITION BY kafka_cluster, group_id ORDER BY generation, member_count, shown) AS BIGINT) AS nth
  FROM generation_members
), gap_edge AS (
  -- How many generations come before each end of a gap, without it and with it.
  SELECT next_ownership_id, is_end, is_with, count(counted_generation) OVER so_far AS counted_before,
    count(known_generation) OVER so_far AS known_before
  FROM (
    SELECT kafka_cluster, group_id, generation, 1 AS turn, CAST(NULL AS STRING) AS next_ownership_id, false AS is_end, false AS is_with,
      generation AS counted_generation, CAST(NULL AS BIGINT) AS known_generation
    FROM generation_members
    UNION ALL
    SELECT kafka_cluster, group_id, generation, 1, NULL, false, false, NULL, generation FROM known_generation
    UNION ALL
    SELECT kafka_cluster, group_id, previous.generation, 0, next_ownership_id, false, false, NULL, NULL FROM certain_gap
    UNION ALL
    SELECT kafka_cluster, group_id, previous.generation, 2, next_ownership_id, false, true, NULL, NULL FROM certain_gap
    UNION ALL
    SELECT kafka_cluster, group_id, generation, 0, next_ownership_id, true, false, NULL, NULL FROM certain_gap
    UNION ALL
    SELECT kafka_cluster, group_id, generation, 2, next_ownership_id, true, true, NULL, NULL FROM certain_gap
  )
  WHERE generation IS NOT NULL
  WINDOW so_far AS (PARTITION BY kafka_cluster, group_id ORDER BY generation, turn ROWS UNBOUNDED PRECEDING)
), gap_range AS (
  -- The generations from the last owner's to the next one's, by number, and how many between them are known.
  SELECT next_ownership_id, max(CASE WHEN NOT is_end AND NOT is_with THEN counted_before END) + 1 AS first_nth,
    max(CASE WHEN is_end AND is_with THEN counted_before END) AS last_nth,
    max(CASE WHEN is_end AND NOT is_with THEN known_before END) - max(CASE WHEN NOT is_end AND is_with THEN known_before END)
      AS known_between
  FROM gap_edge
  WHERE next_ownership_id IS NOT NULL
  GROUP BY next_ownership_id
), generation_in_gap AS (
  SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous, g.next_ownership_id,
    g.generation AS next_generation, g.nth, n.generation
  FROM (
    SELECT g.*, explode(sequence(r.first_nth, r.last_nth)) AS nth
    FROM certain_gap g
    JOIN gap_range r ON r.next_ownership_id = g.next_ownership_id AND r.first_nth <= r.last_nth
  ) g
  JOIN numbered_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.nth = g.nth
), broker_assigned_group AS (
  -- KIP-848: only a member's own lines show its partitions, not epochs.
  SELECT kafka_cluster, group_id, bool_and(seen_by_broker) AS is_seen, max(coordinator) AS coordinator
  FROM generation
  WHERE group_protocol <> 'classic'
  GROUP BY kafka_cluster, group_id
), member_without_log AS (
  -- A member of such a group without log lines, from its coordinator's first line about it to the one about its end.
  SELECT m.kafka_cluster, m.group_id, unix_millis(m.first_ts) - o.hi_ms AS from_ms,
    CASE WHEN m.left_broker <> 'unknown' THEN unix_millis(m.last_ts) - o.lo_ms END AS to_ms, o.reference_process_id
  FROM broker_assigned_group b
  JOIN member m ON m.kafka_cluster = b.kafka_cluster AND m.group_id = b.group_id AND m.process_id IS NULL
  JOIN clock_offset o ON o.process_id = b.coordinator AND o.is_island_reference
), latest_other_member AS (
  -- Until when the members without logs that had joined by the time of the next owner were members.
  SELECT next_ownership_id, member_until_ms
  FROM (
    SELECT next_ownership_id, max(to_ms) OVER (PARTITION BY kafka_cluster, group_id, reference_process_id ORDER BY at_ms, turn
      ROWS UNBOUNDED PRECEDING) AS member_until_ms
    FROM (
      SELECT kafka_cluster, group_id, reference_process_id, from_ms AS at_ms, 0 AS turn, CAST(NULL AS STRING) AS next_ownership_id,
        coalesce(to_ms, 9000000000000000) AS to_ms
      FROM member_without_log
      WHERE from_ms IS NOT NULL
      UNION ALL
      SELECT g.kafka_cluster, g.group_id, g.reference_process_id, g.begun_lo_ms, 1, g.next_ownership_id, NULL
      FROM certain_gap g
      JOIN broker_assigned_group b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
    )
  )
  WHERE next_ownership_id IS NOT NULL
), possible_other_owner AS (
  -- A generation assigns a resource to one member: if a log shows it, no other member can have had it.
  SELECT DISTINCT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
  FROM generation_in_gap g
  JOIN numbered_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.nth = g.nth
  WHERE NOT array_contains(n.assigned, g.resource)
    AND (n.member_count > n.shown AND n.group_protocol <=> 'classic' OR n.member_count > n.seen_by_members
      -- A resource that a generation revokes from one worker goes to another in the next; a delay holds for a lost worker what it had, but
      -- not what it had been asked to revoke.
      OR NOT n.is_known AND NOT array_contains(n.revoked, g.resource)
        AND (n.delay_ms = 0
          OR NOT (g.previous.is_open OR coalesce(g.previous.phase_end = 'gone' OR g.previous.stop_how = 'worker_stopped', false)))
        AND n.generation > g.previous.generation AND n.generation < g.next_generation)
  UNION
  -- A generation in between assigned it to a member, perhaps to the last owner, which had released it; the line about it is missing.
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM generation_in_gap g
  JOIN member_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.generation
    AND g.generation > g.previous.generation AND g.generation < g.next_generation AND n.process_id IS NOT NULL
    AND array_contains(n.assigned, g.resource)
  LEFT JOIN clock_offset o ON o.process_id = n.process_id AND o.reference_process_id = g.reference_process_id
  WHERE g.resource_kind = 'partition' AND (n.process_id <> g.previous.process_id OR NOT n.member_id <=> g.previous.member_id
    OR unix_millis(n.synced_ts) - o.hi_ms > g.previous.stop_lo_ms)
  UNION
  -- A generation in between has no line.
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM certain_gap g
  JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts = 0
  JOIN gap_range r ON r.next_ownership_id = g.next_ownership_id
  WHERE g.generation - g.previous.generation > 1 AND r.known_between < g.generation - g.previous.generation - 1
  UNION
  -- If generations start again, their numbers do not show which were in between.
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM certain_gap g
  JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts > 0
  JOIN (SELECT DISTINCT kafka_cluster, group_id FROM generation_members WHERE NOT is_known OR member_count > seen_by_members) u
    ON u.kafka_cluster = g.kafka_cluster AND u.group_id = g.group_id
  WHERE NOT (g.generation <=> g.previous.generation AND g.previous.member_id <=> g.next_member_id)
  UNION
  -- The last owner's generation is unknown: another may have had it since, except where the same member stops and starts it.
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM certain_gap g
  LEFT JOIN broker_assigned_group b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
  WHERE g.previous.generation IS NULL AND (g.previous.is_before_log OR g.resource_kind = 'partition' AND b.group_id IS NULL)
    AND NOT (g.resource_kind <> 'partition' AND g.previous.process_id = g.next_process_id AND g.previous.member_id <=> g.next_member_id)
  UNION
  -- A later owner by the same or an earlier generation: the line that gave it a later one is missing.
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM certain_gap g
  JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts = 0
  WHERE g.generation < g.previous.generation OR g.generation = g.previous.generation AND g.next_process_id <> g.previous.process_id
  UNION
  SELECT g.previous.ownership_id, g.next_ownership_id
  FROM certain_gap g
  JOIN broker_assigned_group b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
  LEFT JOIN (SELECT kafka_cluster, group_id, min(reference_process_id) AS least_id, max(reference_process_id) AS greatest_id
  FROM member_without_log
    GROUP BY kafka_cluster, group_id) s ON s.kafka_cluster = g.kafka_cluster AND s.group_id = g.group_id
  LEFT JOIN latest_other_member m ON m.next_ownership_id = g.next_ownership_id
  WHERE NOT b.is_seen OR s.least_id <> g.reference_process_id OR s.greatest_id <> g.reference_process_id
    OR m.member_until_ms >= g.previous_stop_ms
), assignment_delay AS (
  SELECT j.kafka_cluster, j.group_id, j.worker_assigned_ms - o.hi_ms AS assigned_ms, j.delay_ms, j.worker_assigned_id,
    o.reference_process_id,
    CAST(row_number() OVER (PARTITION BY j.kafka_cluster, j.group_id, o.reference_process_id
      ORDER BY j.worker_assigned_ms - o.hi_ms, j.worker_assigned_id) AS BIGINT) AS nth
  FROM join_round j JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.delay_ms > 0 AND j.worker_assigned_ms IS NOT NULL
), delay_edge AS (
  -- The number of the last delay before a gap, and of the last one in it.
  SELECT next_ownership_id, turn, count(nth) OVER (PARTITION BY kafka_cluster, group_id, reference_process_id ORDER BY at_ms, turn
    ROWS UNBOUNDED PRECEDING) AS so_far
  FROM (
    SELECT kafka_cluster, group_id, reference_process_id, assigned_ms AS at_ms, 1 AS turn, CAST(NULL AS STRING) AS next_ownership_id, nth
    FROM assignment_delay
    UNION ALL
    SELECT kafka_cluster, group_id, reference_process_id, previous_stop_ms, 0, next_ownership_id, NULL FROM unowned_gap
    UNION ALL
    SELECT kafka_cluster, group_id, reference_process_id, coalesce(start_hi_ms, begun_lo_ms), 2, next_ownership_id, NULL FROM unowned_gap
  )
  WHERE at_ms IS NOT NULL
), delay_range AS (
  SELECT next_ownership_id, max(CASE WHEN turn = 0 THEN so_far END) + 1 AS first_nth, max(CASE WHEN turn = 2 THEN so_far END) AS last_nth
  FROM delay_edge
  WHERE next_ownership_id IS NOT NULL
  GROUP BY next_ownership_id
), gap_delay AS (
  SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.ownership_id,
    max(struct(d.delay_ms IS NOT NULL AS is_known, d.delay_ms, d.worker_assigned_id)) AS delay
  FROM (
    SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous.ownership_id AS ownership_id,
      explode(sequence(r.first_nth, r.last_nth)) AS nth
    FROM unowned_gap g
    JOIN delay_range r ON r.next_ownership_id = g.next_ownership_id AND r.first_nth <= r.last_nth
  ) g
  JOIN assignment_delay d ON d.kafka_cluster = g.kafka_cluster AND d.group_id = g.group_id
    AND d.reference_process_id = g.reference_process_id
    AND d.nth = g.nth
  GROUP BY g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.ownership_id
)
SELECT
  g.kafka_cluster, g.group_id, g.resource_kind, g.resource,
  timestamp_millis(g.previous_stop_ms) AS from_lo, timestamp_millis(g.previous.stop_hi_ms) AS from_hi,
  timestamp_millis(g.begun_lo_ms) AS to_lo, timestamp_millis(g.start_hi_ms) AS to_hi,
  CASE
    WHEN g.begun_lo_ms IS NULL THEN NULL
    WHEN h.next_ownership_id IS NOT NULL THEN 0L
    WHEN NOT g.previous.is_open THEN greatest(0L, g.begun_lo_ms - g.previous.stop_hi_ms)
    ELSE 0L
  END AS certain_ms,
  g.start_hi_ms - g.previous_stop_ms AS possible_ms,
  CASE
    WHEN g.previous.phase_end = 'failed' THEN 'failure'
    WHEN d.delay IS NOT NULL AND g.resource_kind <> 'partition' THEN 'scheduled_delay'
    WHEN g.previous.phase_end = 'gone' THEN 'process_gone'
    WHEN m.left_broker = 'expired' AND (g.previous.stop_how IS NULL OR g.previous.stop_how = 'lost') THEN 'expired'
    WHEN g.previous.stop_how = 'lost' OR g.previous.stop_how IN ('client_closed', 'worker_stopped') AND g.resource_kind = 'partition'
      THEN 'left_group'
    WHEN g.previous.process_id = g.next_process_id AND g.previous.member_id = g.next_member_id AND g.resource_kind <> 'partition'
      THEN 'restart'
    WHEN g.next_ownership_id IS NOT NULL THEN 'rebalance'
    ELSE 'unknown'
  END AS why,
  d.delay.delay_ms AS delay_ms,
  g.previous.ownership_id AS previous_ownership_id, g.previous.process_id AS previous_process_id,
    g.previous.member_id AS previous_member_id, g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation,
  g.reference_process_id,
  filter(array_distinct(concat(slice(g.previous.witness, -1, 1), coalesce(slice(g.witness, 1, 1), array()),
    array(d.delay.worker_assigned_id))), e -> e IS NOT NULL) AS witness
FROM unowned_gap g
JOIN island_count i ON i.kafka_cluster = g.kafka_cluster AND i.group_id <=> g.group_id AND i.resource_kind = g.resource_kind
  AND i.resource = g.resource AND i.islands = 1
LEFT JOIN gap_delay d ON d.kafka_cluster = g.kafka_cluster AND d.group_id <=> g.group_id AND d.resource_kind = g.resource_kind
  AND d.resource = g.resource AND d.ownership_id = g.previous.ownership_id
LEFT JOIN possible_other_owner h ON h.previous_ownership_id = g.previous.ownership_id AND h.next_ownership_id = g.next_ownership_id
LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.previous.member_id

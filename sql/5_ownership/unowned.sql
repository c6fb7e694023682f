-- One row for each time in which a task, connector or partition that had had an owner had none.
-- Reads: ownership, join_round, member_heard, clock_offset, member, generation, member_generation, broker_generation, log_hole, placed_event
-- Reads: lost_range
-- Grain: kafka_cluster, group_id, resource_kind, resource, previous_ownership_id
-- Public: yes
-- Certain from `from_hi` to `to_lo`, possible from `from_lo` to `to_hi`. Owners whose clocks cannot be compared have no row: one may have had it
-- while the other had not. It is never certain if a member of a generation in between, whose assignment no line shows, may have had it. Of several
-- owners before, the one that ended last counts.
CREATE OR REPLACE TEMPORARY VIEW unowned (
  kafka_cluster, group_id, resource_kind,
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
  reference_process_id, witness,
  may_be_owned  COMMENT 'True if another member may have owned it in between'
)
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
  SELECT *, max(this) OVER before AS previous, max(stop_lo_ms) OVER before AS previous_stop_ms FROM owned_time
  WINDOW before AS (PARTITION BY kafka_cluster, group_id, resource_kind, resource, reference_process_id ORDER BY begun_lo_ms,
    ownership_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), single_island AS (
  -- Owners whose clocks cannot be compared: one may have had it while the other had not.
  SELECT kafka_cluster, group_id, resource_kind, resource FROM ownership
  GROUP BY kafka_cluster, group_id, resource_kind, resource
  HAVING count(DISTINCT reference_process_id) = 1
), last_owner AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, max(this) AS previous, max(stop_lo_ms) AS previous_stop_ms
  FROM owned_time GROUP BY kafka_cluster, group_id, resource_kind, resource, reference_process_id
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
  WHERE previous IS NOT NULL AND previous_stop_ms < coalesce(start_hi_ms, begun_lo_ms) AND (NOT previous.is_open OR previous_stop_ms < begun_lo_ms)
  UNION ALL
  SELECT kafka_cluster, group_id, resource_kind, resource, reference_process_id, previous, previous_stop_ms, NULL, NULL, NULL, NULL, NULL, NULL, NULL
  FROM last_owner WHERE NOT previous.is_open
), gap AS (
  SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous,
    greatest(g.previous_stop_ms, CASE WHEN h.alive_ms < coalesce(g.begun_lo_ms, g.start_hi_ms) THEN h.alive_ms END) AS previous_stop_ms,
    g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation, g.begun_lo_ms, g.start_hi_ms, g.witness
  FROM gap_candidate g
  JOIN single_island i ON i.kafka_cluster = g.kafka_cluster AND i.group_id <=> g.group_id AND i.resource_kind = g.resource_kind
    AND i.resource = g.resource
  LEFT JOIN coordinator_contact h ON g.previous.is_open AND g.resource_kind = 'partition' AND h.kafka_cluster = g.kafka_cluster
    AND h.group_id = g.group_id AND h.member_id = g.previous.member_id AND h.process_id = g.previous.process_id
    AND h.reference_process_id = g.reference_process_id
), certain_gap AS (
  -- Another possible owner matters only if the last owner had certainly ended before the next one began.
  SELECT * FROM gap WHERE begun_lo_ms > previous.stop_hi_ms
), generation_share AS (
  -- The assignments of each generation's members, from the logs or from its leader.
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation,
    -- A member that joined and got no assignment before the next rebalance had nothing, unless its log lacks lines.
    count_if(m.process_id IS NOT NULL AND (m.assigned IS NOT NULL OR m.state = 'joined' AND h.process_id IS NULL)) AS shown,
    flatten(collect_list(CASE WHEN m.process_id IS NOT NULL THEN m.assigned END)) AS assigned,
    flatten(collect_list(m.revoked)) AS revoked, max(m.delay_ms) AS delay_ms
  FROM member_generation m LEFT JOIN (SELECT DISTINCT process_id FROM log_hole) h ON h.process_id = m.process_id
  GROUP BY m.kafka_cluster, m.group_id, m.incarnation, m.generation
), known_generation AS (
  -- If no log has the number of members, there may be one more than the logs show.
  SELECT n.kafka_cluster, n.group_id, n.generation, n.group_protocol, n.member_count, n.seen_by_members, coalesce(s.shown, 0L) AS shown,
    coalesce(s.assigned, array()) AS assigned, coalesce(s.revoked, array()) AS revoked, coalesce(s.delay_ms, 0L) AS delay_ms,
    b.member_count IS NOT NULL OR coalesce(n.group_protocol <> 'classic', false) AS is_counted
  FROM generation n
  LEFT JOIN generation_share s ON s.kafka_cluster = n.kafka_cluster AND s.group_id = n.group_id AND s.incarnation = n.incarnation
    AND s.generation = n.generation
  LEFT JOIN broker_generation b ON b.kafka_cluster = n.kafka_cluster AND b.group_id = n.group_id AND b.incarnation = n.incarnation
    AND b.generation = n.generation
  UNION ALL
  SELECT e.kafka_cluster, e.group_id, e.generation, 'classic', 0, 0, 0L, CAST(array() AS ARRAY<STRING>), CAST(array() AS ARRAY<STRING>), 0L, true
  FROM placed_event e WHERE e.event = 'group_emptied' AND e.generation IS NOT NULL
), group_history AS (
  SELECT g.kafka_cluster, g.group_id, max(g.incarnation) > min(g.incarnation) AS has_restarted,
    -- KIP-848: only a member's own lines show its partitions, not epochs.
    bool_or(g.group_protocol <> 'classic') AS is_broker_assigned,
    bool_and(g.seen_by_broker OR g.group_protocol = 'classic') AND max(m.group_id) IS NULL AS has_all_logs
  FROM generation g
  LEFT JOIN (SELECT DISTINCT kafka_cluster, group_id FROM member WHERE process_id IS NULL) m ON m.kafka_cluster = g.kafka_cluster
    AND m.group_id = g.group_id
  GROUP BY g.kafka_cluster, g.group_id
), generation_in_gap AS (
  SELECT *, explode(sequence(previous.generation, generation)) AS between_generation FROM certain_gap
  WHERE generation - previous.generation BETWEEN 0 AND gap_generations_most
), possible_owner AS (
  SELECT g.next_ownership_id FROM generation_in_gap g
  LEFT JOIN known_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.between_generation
  WHERE CASE WHEN n.generation IS NULL THEN g.between_generation > g.previous.generation AND g.between_generation < g.generation
    -- A generation assigns a resource to one member: if a log shows it, no other member can have had it.
    ELSE NOT array_contains(n.assigned, g.resource)
      AND (n.member_count > n.shown AND n.group_protocol <=> 'classic' OR n.member_count > n.seen_by_members
        -- A resource that a generation revokes from one worker goes to another in the next; a delay holds for a lost worker what it had,
        -- but not what it had been asked to revoke.
        OR NOT n.is_counted AND NOT array_contains(n.revoked, g.resource)
          AND (n.delay_ms = 0
            OR NOT (g.previous.is_open OR coalesce(g.previous.phase_end = 'gone' OR g.previous.stop_how = 'worker_stopped', false)))
          AND n.generation > g.previous.generation AND n.generation < g.generation) END
  UNION
  -- A generation in between assigned it to a member, perhaps to the last owner, which had released it; the line about it is missing.
  SELECT g.next_ownership_id FROM generation_in_gap g
  JOIN member_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.between_generation
    AND n.generation > g.previous.generation AND n.generation < g.generation AND n.process_id IS NOT NULL AND array_contains(n.assigned, g.resource)
  LEFT JOIN clock_offset o ON o.process_id = n.process_id AND o.reference_process_id = g.reference_process_id
  WHERE g.resource_kind = 'partition' AND (n.process_id <> g.previous.process_id OR NOT n.member_id <=> g.previous.member_id
    OR unix_millis(n.synced_ts) - o.hi_ms > g.previous.stop_lo_ms)
  UNION
  -- A member's log lacks lines in the gap: it may have had it meanwhile.
  SELECT g.next_ownership_id FROM certain_gap g
  JOIN (SELECT DISTINCT kafka_cluster, group_id, process_id FROM member_generation WHERE process_id IS NOT NULL) m
    ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id
  JOIN lost_range d ON d.process_id = m.process_id
  LEFT JOIN clock_offset o ON o.process_id = m.process_id AND o.reference_process_id = g.reference_process_id
  WHERE coalesce(d.from_ms - o.hi_ms < g.begun_lo_ms, true) AND coalesce(d.to_ms - o.lo_ms > g.previous.stop_hi_ms, true)
  UNION
  SELECT g.next_ownership_id FROM certain_gap g
  LEFT JOIN group_history h ON h.kafka_cluster = g.kafka_cluster AND h.group_id = g.group_id
  WHERE h.is_broker_assigned AND NOT h.has_all_logs
    -- If generations start again, their numbers do not show which were in between.
    OR h.has_restarted AND NOT (g.generation <=> g.previous.generation AND g.previous.member_id <=> g.next_member_id)
    -- A later owner by the same or an earlier generation: the line that gave it a later one is missing.
    OR g.generation < g.previous.generation OR g.generation = g.previous.generation AND g.next_process_id <> g.previous.process_id
    OR g.generation - g.previous.generation > gap_generations_most
    -- One of their generations is unknown: another may have had it since, except where the same member stops and starts it.
    OR (g.previous.generation IS NULL OR g.generation IS NULL) AND g.group_id IS NOT NULL
    AND CASE WHEN g.resource_kind = 'partition' THEN NOT coalesce(h.is_broker_assigned, false)
      ELSE NOT coalesce(g.previous.process_id = g.next_process_id AND g.previous.member_id = g.next_member_id, false) END
), assignment_delay AS (
  SELECT j.kafka_cluster, j.group_id, j.worker_assigned_ms - o.hi_ms AS assigned_ms, j.delay_ms, j.worker_assigned_id, o.reference_process_id
  FROM join_round j JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.delay_ms > 0 AND j.worker_assigned_ms IS NOT NULL
), gap_delay AS (
  -- The first delay in the gap is the longest: those after it are the rest of it.
  SELECT next_ownership_id, delay
  FROM (
    SELECT next_ownership_id, to_ms, lag(delay) IGNORE NULLS OVER (PARTITION BY kafka_cluster, group_id, reference_process_id
      ORDER BY -at_ms, turn, delay.worker_assigned_id) AS delay
    FROM (
      SELECT kafka_cluster, group_id, reference_process_id, assigned_ms AS at_ms, 0 AS turn, CAST(NULL AS STRING) AS next_ownership_id,
        CAST(NULL AS BIGINT) AS to_ms, struct(assigned_ms, delay_ms, worker_assigned_id) AS delay
      FROM assignment_delay
      UNION ALL
      SELECT kafka_cluster, group_id, reference_process_id, previous_stop_ms, 1, next_ownership_id, coalesce(start_hi_ms, begun_lo_ms), NULL
      FROM gap WHERE previous_stop_ms IS NOT NULL AND next_ownership_id IS NOT NULL
    )
  )
  WHERE next_ownership_id IS NOT NULL AND delay.assigned_ms <= to_ms
), ownership_gap AS (
  SELECT g.*, p.next_ownership_id IS NOT NULL AS may_be_owned FROM gap g LEFT JOIN possible_owner p ON p.next_ownership_id = g.next_ownership_id
)
SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, timestamp_millis(g.previous_stop_ms) AS from_lo,
  timestamp_millis(g.previous.stop_hi_ms) AS from_hi, timestamp_millis(g.begun_lo_ms) AS to_lo, timestamp_millis(g.start_hi_ms) AS to_hi,
  CASE WHEN g.begun_lo_ms IS NULL THEN NULL
    WHEN g.may_be_owned THEN 0L
    WHEN NOT g.previous.is_open THEN greatest(0L, g.begun_lo_ms - g.previous.stop_hi_ms)
    ELSE 0L END AS certain_ms,
  g.start_hi_ms - g.previous_stop_ms AS possible_ms,
  CASE WHEN g.previous.phase_end = 'failed' THEN 'failure'
    WHEN d.delay IS NOT NULL AND g.resource_kind <> 'partition' THEN 'scheduled_delay'
    WHEN g.previous.phase_end = 'gone' THEN 'process_gone'
    WHEN m.left_broker = 'expired' AND (g.previous.stop_how IS NULL OR g.previous.stop_how = 'lost') THEN 'expired'
    WHEN g.previous.stop_how = 'lost' OR g.previous.stop_how IN ('client_closed', 'worker_stopped')
      AND g.resource_kind = 'partition' THEN 'left_group'
    WHEN g.previous.process_id = g.next_process_id AND g.previous.member_id = g.next_member_id AND g.resource_kind <> 'partition' THEN 'restart'
    WHEN g.next_ownership_id IS NOT NULL THEN 'rebalance'
    ELSE 'unknown' END AS why,
  d.delay.delay_ms AS delay_ms, g.previous.ownership_id AS previous_ownership_id, g.previous.process_id AS previous_process_id,
  g.previous.member_id AS previous_member_id, g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation, g.reference_process_id,
  filter(array_distinct(concat(slice(g.previous.witness, -1, 1), coalesce(slice(g.witness, 1, 1), array()),
    array(d.delay.worker_assigned_id))), e -> e IS NOT NULL) AS witness, g.may_be_owned
FROM ownership_gap g
LEFT JOIN gap_delay d ON d.next_ownership_id = g.next_ownership_id
LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.previous.member_id

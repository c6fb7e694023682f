-- One row per gap between two owners in which another member may have owned the resource.
-- Reads: ownership_gap, member, clock_offset, generation, member_generation, broker_generation, log_hole, event, process_cluster
-- Grain: previous_ownership_id, next_ownership_id
-- A member of a generation in between may have owned it if no line shows that member's assignment.
CREATE OR REPLACE TEMPORARY VIEW gap_owner (
  previous_ownership_id COMMENT 'Last ownership before the gap',
  next_ownership_id     COMMENT 'First ownership after it'
)
COMMENT 'One row per gap between two owners in which another member may have owned the resource.'
AS
WITH certain_gap AS (
  -- Other possible owners matter only if the last owner had certainly ended before the next one began: only then is a gap certain. Each of
  -- these has a last owner of its own, so the generations in between belong to no other gap of the same resource.
  SELECT * FROM ownership_gap WHERE begun_lo_ms > previous.stop_hi_ms
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
)
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
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM generation_in_gap g
JOIN member_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.generation
  AND g.generation > g.previous.generation AND g.generation < g.next_generation AND n.process_id IS NOT NULL
  AND array_contains(n.assigned, g.resource)
LEFT JOIN clock_offset o ON o.process_id = n.process_id AND o.reference_process_id = g.reference_process_id
WHERE g.resource_kind = 'partition' AND (n.process_id <> g.previous.process_id OR NOT n.member_id <=> g.previous.member_id
  OR unix_millis(n.synced_ts) - o.hi_ms > g.previous.stop_lo_ms)
UNION
-- A generation in between has no line.
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM certain_gap g
JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts = 0
JOIN gap_range r ON r.next_ownership_id = g.next_ownership_id
WHERE g.generation - g.previous.generation > 1 AND r.known_between < g.generation - g.previous.generation - 1
UNION
-- If generations start again, their numbers do not show which were in between.
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM certain_gap g
JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts > 0
JOIN (SELECT DISTINCT kafka_cluster, group_id FROM generation_members WHERE NOT is_known OR member_count > seen_by_members) u
  ON u.kafka_cluster = g.kafka_cluster AND u.group_id = g.group_id
WHERE NOT (g.generation <=> g.previous.generation AND g.previous.member_id <=> g.next_member_id)
UNION
-- The last owner's generation is unknown: another may have had it since, except where the same member stops and starts it.
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM certain_gap g
LEFT JOIN broker_assigned_group b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
WHERE g.previous.generation IS NULL AND (g.previous.is_before_log OR g.resource_kind = 'partition' AND b.group_id IS NULL)
  AND NOT (g.resource_kind <> 'partition' AND g.previous.process_id = g.next_process_id AND g.previous.member_id <=> g.next_member_id)
UNION
-- A later owner by the same or an earlier generation: the line that gave it a later one is missing.
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM certain_gap g
JOIN incarnation_count l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id AND l.restarts = 0
WHERE g.generation < g.previous.generation OR g.generation = g.previous.generation AND g.next_process_id <> g.previous.process_id
UNION
SELECT g.previous.ownership_id AS previous_ownership_id, g.next_ownership_id
FROM certain_gap g
JOIN broker_assigned_group b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
LEFT JOIN (SELECT kafka_cluster, group_id, min(reference_process_id) AS least_id, max(reference_process_id) AS greatest_id
FROM member_without_log
  GROUP BY kafka_cluster, group_id) s ON s.kafka_cluster = g.kafka_cluster AND s.group_id = g.group_id
LEFT JOIN latest_other_member m ON m.next_ownership_id = g.next_ownership_id
WHERE NOT b.is_seen OR s.least_id <> g.reference_process_id OR s.greatest_id <> g.reference_process_id
  OR m.member_until_ms >= g.previous_stop_ms

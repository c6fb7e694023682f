-- One row per member whose log ends although it had not left, while its group continued.
-- Reads: member_round, join_round, epoch_member, event, placed_event, client_event, fact_line, process_life, process, member, member_generation
-- Reads: generation, broker_generation, clock_offset, shared_log, filtered_log, process_cluster
-- Grain: process_id, instance, kafka_cluster, group_id, client
-- Other members in a later generation prove nothing about it, because its log may have been copied before. It was in that generation if another log
-- names it there, or if its coordinator removed no member that it may be before: a generation has all members that were not removed. It was not in it
-- if the leader's list of all members does not name it. A member that its coordinator removed first has no row: its log ends with its membership.
CREATE OR REPLACE TEMPORARY VIEW silent_member (
  kafka_cluster, group_id, member_id, process_id, instance, client,
  how           COMMENT 'continued: it was in a later generation; gone: the group continued without it; unassigned: its log ends before the assignment
    of its last generation; unknown',
  may_be_back   COMMENT 'True if a member of its name whose log is missing is in a later generation',
  generation    COMMENT 'Last generation in its log; NULL: it had not joined yet',
  last_ms       COMMENT 'Last line of its process, by its own clock (milliseconds since 1970)',
  until_ms      COMMENT 'Its group''s last known generation was complete at this time at the earliest, by its own clock; NULL: clocks do not compare',
  last_lo_ms    COMMENT 'It existed at least until this time: the last line of its process (reference clock)',
  gone_hi_ms    COMMENT 'gone: the others had joined the next generation at this time',
  reference_process_id, witness
)
AS
WITH silent_run AS (
  -- Its log ends with this run, without any line of an end.
  SELECT l.process_id, l.instance, l.last_ms, coalesce(l.is_worker, false) AS is_worker FROM process_life l
  LEFT ANTI JOIN (SELECT process_id FROM shared_log WHERE member_count > 0 UNION SELECT process_id FROM filtered_log) s ON s.process_id = l.process_id
  -- Another log has its next lines.
  LEFT ANTI JOIN (SELECT explode(same_process_ids) AS process_id, unix_millis(last_ts) AS last_ms FROM process) p
    ON p.process_id = l.process_id AND p.last_ms > l.last_ms
  WHERE l.next_start_ms IS NULL AND l.ending_id IS NULL AND NOT l.is_broker AND l.last_ms IS NOT NULL
), client_last AS (
  SELECT process_id, instance, group_id, client, max(left_pos) AS left_pos, max(asked_pos) AS asked_pos
  FROM (
    SELECT process_id, instance, group_id, client, CASE WHEN event <> 'joining' THEN stream_pos END AS left_pos,
      CASE WHEN event = 'joining' THEN stream_pos END AS asked_pos
    FROM client_event WHERE event IN ('leaving', 'member_fenced', 'joining')
    UNION ALL
    SELECT f.process_id, f.instance, c.group_id, f.client_id, f.stream_pos, NULL
    FROM fact_line f
    JOIN (SELECT DISTINCT process_id, group_id, client FROM client_event) c ON c.process_id = f.process_id AND c.client = f.client_id
    WHERE f.event = 'client_closed'
  )
  GROUP BY process_id, instance, group_id, client
), membership AS (
  SELECT r.kafka_cluster, r.group_id, j.process_id, j.instance, j.client, j.is_worker, j.group_instance_id IS NOT NULL AS is_static, j.from_pos,
    r.incarnation, r.generation, r.member_id, coalesce(j.worker_assigned_id, j.synced_id, j.joined_id) AS event_id, j.synced_id IS NULL AS is_open
  FROM join_round j
  JOIN member_round r ON r.process_id = j.process_id AND r.group_id = j.group_id AND r.client = j.client AND r.round = j.round
  UNION ALL
  SELECT m.kafka_cluster, m.group_id, e.process_id, e.instance, coalesce(e.client_id, e.task, e.thread, '-'), false, m.group_instance_id IS NOT NULL,
    e.stream_pos, m.incarnation, m.generation, m.member_id, e.event_id, false
  FROM epoch_member m JOIN event e ON e.event_id = m.reached.event_id AND e.process_id = m.process_id
  UNION ALL
  -- It may have joined later.
  SELECT c.kafka_cluster, c.worker_group_id, c.process_id, c.instance, '-', true, false, -1L, -9223372036854775807L, NULL, NULL, NULL, false
  FROM process_cluster c LEFT ANTI JOIN join_round j ON j.process_id = c.process_id AND j.instance = c.instance
  WHERE c.worker_group_id IS NOT NULL AND c.is_life_last
), open_membership AS (
  SELECT m.kafka_cluster, m.group_id, m.process_id, m.instance, m.client, s.last_ms, bool_or(m.is_static) AS is_static,
    -- The consumers of a worker's tasks come and go.
    bool_or(s.is_worker) AND NOT bool_or(m.is_worker) AS is_of_task, coalesce(max(a.asked_pos) > max(m.from_pos), false) AS is_asking,
    max_by(struct(m.incarnation, m.generation, m.member_id, m.from_pos, m.event_id, m.is_open), m.from_pos) AS last
  FROM silent_run s JOIN membership m ON m.process_id = s.process_id AND m.instance = s.instance
  LEFT JOIN client_last a ON a.process_id = m.process_id AND a.instance = m.instance AND a.group_id = m.group_id AND a.client = m.client
  WHERE NOT coalesce(a.left_pos > greatest(m.from_pos, a.asked_pos), false)
  GROUP BY m.kafka_cluster, m.group_id, m.process_id, m.instance, m.client, s.last_ms
), generation_list AS (
  SELECT kafka_cluster, group_id, incarnation, generation, count(*) AS members FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, generation
), listed_generation AS (
  SELECT n.kafka_cluster, n.group_id, n.incarnation, n.generation, n.seen_by_broker, get(n.witness, 0) AS event_id, n.leader_member_id,
    coalesce(n.group_protocol, 'classic') = 'classic' AS is_classic, unix_millis(n.stabilized_ts) AS stabilized_ms,
    coalesce(n.assigned_ts, n.last_synced_ts) IS NOT NULL AS is_assigned, n.is_count_told AND n.member_count = l.members AS is_listed
  FROM generation n
  LEFT JOIN generation_list l ON l.kafka_cluster = n.kafka_cluster AND l.group_id = n.group_id AND l.incarnation = n.incarnation
    AND l.generation = n.generation
), generation_step AS (
  -- From the last to the first: a membership follows all generations that are later than its own.
  SELECT process_id, instance, kafka_cluster, group_id, client, is_generation,
    max(CASE WHEN is_generation THEN at END) OVER (PARTITION BY kafka_cluster, group_id) AS final,
    lag(CASE WHEN is_generation THEN at END) IGNORE NULLS OVER (PARTITION BY kafka_cluster, group_id
      ORDER BY -at.incarnation, -at.generation, is_generation) AS next
  FROM (
    SELECT NULL AS process_id, NULL AS instance, kafka_cluster, group_id, NULL AS client, true AS is_generation, struct(incarnation, generation) AS at
    FROM listed_generation
    UNION ALL
    SELECT process_id, instance, kafka_cluster, group_id, client, false, struct(last.incarnation, last.generation) FROM open_membership
    WHERE last.incarnation IS NOT NULL
  )
), last_led AS (
  SELECT kafka_cluster, group_id, leader_member_id, max(struct(incarnation, generation)) AS led FROM listed_generation
  GROUP BY kafka_cluster, group_id, leader_member_id
), later_generation AS (
  SELECT s.process_id, s.instance, s.kafka_cluster, s.group_id, s.client, s.final,
    struct(n.incarnation, n.generation, n.seen_by_broker, n.stabilized_ms, n.is_classic, n.is_listed, n.event_id) AS next
  FROM generation_step s
  JOIN listed_generation n ON n.kafka_cluster = s.kafka_cluster AND n.group_id = s.group_id AND n.incarnation = s.next.incarnation
    AND n.generation = s.next.generation
  WHERE NOT s.is_generation
), removal AS (
  -- Once by its id, and once for members whose id is unknown.
  SELECT *, explode(array(member_id, '')) AS of_id
  FROM (
    SELECT kafka_cluster, group_id, unix_millis(ts) AS at_ms,
      explode(coalesce(CASE WHEN member_id IS NULL THEN members END, array(member_id))) AS member_id
    FROM placed_event WHERE event IN ('member_expired', 'member_left') AND broker_id IS NOT NULL AND group_id IS NOT NULL
  )
), first_removal AS (
  -- By the coordinator's clock. A member whose id is unknown may be any whose process is unknown.
  SELECT m.process_id, m.instance, m.kafka_cluster, m.group_id, m.client, min(r.at_ms) AS at_ms
  FROM open_membership m
  LEFT JOIN listed_generation n ON n.kafka_cluster = m.kafka_cluster AND n.group_id = m.group_id AND n.incarnation = m.last.incarnation
    AND n.generation = m.last.generation
  JOIN removal r ON r.kafka_cluster = m.kafka_cluster AND r.group_id = m.group_id AND r.of_id = coalesce(m.last.member_id, '')
    AND coalesce(r.at_ms >= n.stabilized_ms, true)
  LEFT JOIN member k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.member_id = r.member_id
  WHERE m.last.member_id IS NOT NULL OR coalesce(k.process_id = m.process_id, true)
  GROUP BY m.process_id, m.instance, m.kafka_cluster, m.group_id, m.client
), later_presence AS (
  SELECT kafka_cluster, group_id, incarnation, coalesce(process_id, member_id) AS who, max(generation) AS generation FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, coalesce(process_id, member_id)
), unlogged_name AS (
  SELECT kafka_cluster, group_id, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS name,
    max(struct(incarnation, generation)) AS final
  FROM member_generation WHERE process_id IS NULL AND member_id IS NOT NULL GROUP BY kafka_cluster, group_id,
    regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')
), classified AS (
  SELECT m.*, u.name IS NOT NULL AS may_be_back, g.next, coalesce(g.final, struct(m.last.incarnation, m.last.generation)) AS final,
    CASE WHEN g.next IS NULL THEN CASE WHEN m.last.is_open AND o.is_assigned AND d.at_ms IS NULL THEN 'unassigned' END
      WHEN p.generation > m.last.generation OR l.led.incarnation > m.last.incarnation
        OR l.led.incarnation = m.last.incarnation AND l.led.generation > m.last.generation THEN 'continued'
      WHEN d.at_ms <= g.next.stabilized_ms OR d.at_ms IS NOT NULL AND (m.is_static OR NOT g.next.is_classic)
        -- It may be in a later generation with a new id.
        THEN CASE WHEN m.is_asking THEN 'unknown' END
      WHEN g.next.incarnation = m.last.incarnation AND g.next.seen_by_broker AND g.next.is_classic AND NOT m.is_static THEN 'continued'
      WHEN g.next.incarnation = m.last.incarnation AND g.next.is_listed AND m.last.member_id IS NOT NULL AND q.generation IS NULL
        AND NOT g.next.seen_by_broker THEN 'gone'
      WHEN NOT m.is_of_task THEN 'unknown' END AS how
  FROM open_membership m
  LEFT JOIN later_generation g ON g.process_id = m.process_id AND g.instance = m.instance AND g.kafka_cluster = m.kafka_cluster
    AND g.group_id = m.group_id AND g.client = m.client
  LEFT JOIN last_led l ON l.kafka_cluster = m.kafka_cluster AND l.group_id = m.group_id AND l.leader_member_id = m.last.member_id
  LEFT JOIN first_removal d ON d.process_id = m.process_id AND d.instance = m.instance AND d.kafka_cluster = m.kafka_cluster
    AND d.group_id = m.group_id AND d.client = m.client
  LEFT JOIN unlogged_name u ON u.kafka_cluster = m.kafka_cluster AND u.group_id = m.group_id
    AND u.name = regexp_replace(m.last.member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')
    AND (u.final.incarnation > m.last.incarnation OR u.final.incarnation = m.last.incarnation AND u.final.generation > m.last.generation)
  LEFT JOIN listed_generation o ON o.kafka_cluster = m.kafka_cluster AND o.group_id = m.group_id AND o.incarnation = m.last.incarnation
    AND o.generation = m.last.generation
  LEFT JOIN later_presence p ON p.kafka_cluster = m.kafka_cluster AND p.group_id = m.group_id AND p.incarnation = m.last.incarnation
    AND p.who = m.last.member_id
  -- Another client of its process is in a later generation.
  LEFT JOIN later_presence q ON q.kafka_cluster = m.kafka_cluster AND q.group_id = m.group_id AND q.incarnation = m.last.incarnation
    AND q.who = m.process_id AND q.generation >= g.next.generation
), generation_moment AS (
  -- A join phase ends at one moment for all members that are present.
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, o.reference_process_id, max(r.at_ms - o.hi_ms) AS lo_ms,
    min(r.at_ms - o.lo_ms) AS hi_ms
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, process_id, coalesce(joined.at_ms, synced.at_ms) AS at_ms FROM member_round
    UNION ALL
    SELECT kafka_cluster, group_id, incarnation, generation, process_id, stabilized_ms FROM broker_generation
  ) r
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
  WHERE r.at_ms IS NOT NULL GROUP BY r.kafka_cluster, r.group_id, r.incarnation, r.generation, o.reference_process_id
)
SELECT c.kafka_cluster, c.group_id, c.last.member_id AS member_id, c.process_id, c.instance, c.client, c.how, c.may_be_back,
  c.last.generation AS generation,
  c.last_ms, f.lo_ms + o.lo_ms AS until_ms, c.last_ms - o.hi_ms AS last_lo_ms, CASE WHEN c.how = 'gone' THEN n.hi_ms END AS gone_hi_ms,
  o.reference_process_id, array_compact(array(c.last.event_id, c.next.event_id)) AS witness
FROM classified c JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference
LEFT JOIN generation_moment n ON n.kafka_cluster = c.kafka_cluster AND n.group_id = c.group_id AND n.incarnation = c.next.incarnation
  AND n.generation = c.next.generation AND n.reference_process_id = o.reference_process_id
LEFT JOIN generation_moment f ON f.kafka_cluster = c.kafka_cluster AND f.group_id = c.group_id AND f.incarnation = c.final.incarnation
  AND f.generation = c.final.generation AND f.reference_process_id = o.reference_process_id
-- A log that continued after that lacks these lines elsewhere, or the client ended quietly.
WHERE c.how = 'gone' AND c.last_ms - o.hi_ms <= n.hi_ms
  OR c.how IN ('continued', 'unassigned', 'unknown') AND coalesce(c.last_ms - o.hi_ms <= f.hi_ms + heartbeat_late_ms, true)

-- One row per member whose process prints nothing more and whose group continued without it, if no coordinator's log shows it.
-- Reads: member_round, join_round, client_event, fact_line, process_life, member_generation, generation, clock_offset, shared_log, filtered_log
-- Grain: process_id, instance, kafka_cluster, group_id, client
-- Other members in a later generation prove nothing, because the log may have been copied before. The generation was without it if the leader's list
-- of all members does not name it.
CREATE OR REPLACE TEMPORARY VIEW vanished_member (
  kafka_cluster, group_id, member_id, process_id, instance, client,
  last_lo_ms    COMMENT 'It existed at least until this time: the last line of its process (reference clock, milliseconds since 1970)',
  gone_hi_ms    COMMENT 'The others had joined the next generation at this time',
  reference_process_id, witness
)
AS
WITH silent_run AS (
  -- Its log ends with this run, without any line of an end.
  SELECT l.process_id, l.instance, l.last_ms FROM process_life l
  LEFT ANTI JOIN (SELECT process_id FROM shared_log WHERE member_count > 0 UNION SELECT process_id FROM filtered_log) s ON s.process_id = l.process_id
  WHERE l.next_start_ms IS NULL AND l.ending_id IS NULL AND NOT l.is_broker AND l.last_ms IS NOT NULL
), departed_client AS (
  SELECT c.process_id, c.instance, c.group_id, c.client, max(c.stream_pos) AS pos
  FROM (
    SELECT process_id, instance, group_id, client, stream_pos FROM client_event WHERE event IN ('leaving', 'member_fenced')
    UNION ALL
    SELECT f.process_id, f.instance, c.group_id, f.client_id, f.stream_pos
    FROM fact_line f
    JOIN (SELECT DISTINCT process_id, group_id, client FROM client_event) c ON c.process_id = f.process_id AND c.client = f.client_id
    WHERE f.event = 'client_closed'
  ) c
  GROUP BY c.process_id, c.instance, c.group_id, c.client
), last_membership AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, j.process_id, j.instance, j.client, s.last_ms,
    max_by(struct(r.generation, r.member_id, j.from_pos, coalesce(j.worker_assigned_id, j.synced_id, j.joined_id) AS event_id), r.round) AS last
  FROM silent_run s JOIN join_round j ON j.process_id = s.process_id AND j.instance = s.instance
  JOIN member_round r ON r.process_id = j.process_id AND r.group_id = j.group_id AND r.client = j.client AND r.round = j.round
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, j.process_id, j.instance, j.client, s.last_ms
), generation_list AS (
  SELECT kafka_cluster, group_id, incarnation, generation, count(*) AS members FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, generation
), listed_generation AS (
  SELECT n.kafka_cluster, n.group_id, n.incarnation, n.generation, n.seen_by_broker, n.witness[0] AS event_id,
    n.is_count_told AND n.member_count = l.members AS is_listed,
    lag(n.generation) OVER (PARTITION BY n.kafka_cluster, n.group_id, n.incarnation ORDER BY n.generation) AS last_generation
  FROM generation n
  LEFT JOIN generation_list l ON l.kafka_cluster = n.kafka_cluster AND l.group_id = n.group_id AND l.incarnation = n.incarnation
    AND l.generation = n.generation
), later_presence AS (
  SELECT kafka_cluster, group_id, incarnation, coalesce(process_id, member_id) AS who, max(generation) AS generation FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, coalesce(process_id, member_id)
), missing_member AS (
  SELECT m.*, n.generation AS next_generation, n.event_id AS next_event_id FROM last_membership m
  JOIN listed_generation n ON n.kafka_cluster = m.kafka_cluster AND n.group_id = m.group_id AND n.incarnation = m.incarnation
    AND n.last_generation = m.last.generation AND n.is_listed AND NOT n.seen_by_broker
  LEFT ANTI JOIN departed_client a ON a.process_id = m.process_id AND a.instance = m.instance AND a.group_id = m.group_id
    AND a.client = m.client AND a.pos > m.last.from_pos
  -- It is in a later generation itself.
  LEFT ANTI JOIN later_presence p ON p.kafka_cluster = m.kafka_cluster AND p.group_id = m.group_id AND p.incarnation = m.incarnation
    AND p.who IN (m.process_id, m.last.member_id) AND p.generation >= n.generation
  WHERE m.last.member_id IS NOT NULL
)
-- A join phase ends at one moment for all members that are present.
SELECT m.kafka_cluster, m.group_id, m.last.member_id AS member_id, m.process_id, m.instance, m.client, m.last_ms - o.hi_ms AS last_lo_ms,
  min(coalesce(r.joined.at_ms, r.synced.at_ms) - p.lo_ms) AS gone_hi_ms, o.reference_process_id,
  array_compact(array(m.last.event_id, m.next_event_id)) AS witness
FROM missing_member m JOIN clock_offset o ON o.process_id = m.process_id AND o.is_island_reference
JOIN member_round r ON r.kafka_cluster = m.kafka_cluster AND r.group_id = m.group_id AND r.incarnation = m.incarnation
  AND r.generation = m.next_generation
JOIN clock_offset p ON p.process_id = r.process_id AND p.is_island_reference AND p.reference_process_id = o.reference_process_id
GROUP BY m.kafka_cluster, m.group_id, m.last, m.process_id, m.instance, m.client, m.last_ms, m.next_event_id, o.hi_ms, o.reference_process_id
HAVING m.last_ms - o.hi_ms <= min(coalesce(r.joined.at_ms, r.synced.at_ms) - p.lo_ms)

-- One row per member whose process prints nothing more and whose group continued without it, if no coordinator's log shows it.
-- Reads: member_round, join_round, client_event, fact_line, process_life, member_generation, generation, clock_offset, lost_membership
-- Reads: shared_log, filtered_log
-- Grain: process_id, instance, kafka_cluster, group_id, client
-- Other members in a later generation prove nothing, because the log may have been copied before. The generation was without it if the
-- leader's list of all members does not name it. The other evidence is a delay that began with that generation, in which no worker was
-- assigned the lost work, and a later assignment of this member's work to others, provided that no other known worker was lost with that
-- generation.
CREATE OR REPLACE TEMPORARY VIEW vanished_member (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id; NULL: unknown',
  process_id    COMMENT 'Its process',
  instance      COMMENT 'Run of the process, the last one in its log',
  client        COMMENT 'Client inside the process',
  generation    COMMENT 'Its last generation',
  next_generation COMMENT 'The next generation of the others',
  how           COMMENT 'list: the leader names all members, but not this one; delay: its work waited for a worker to return',
  last_lo_ms    COMMENT 'It existed at least until this time: the last line of its process (reference clock, milliseconds since 1970)',
  gone_hi_ms    COMMENT 'The others had joined the next generation at this time',
  reference_process_id COMMENT 'Process on whose clock the bounds are',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per member whose process prints nothing more and whose group continued without it.'
AS
WITH silent_run AS (
  -- Its log ends with this run, without any line of an end.
  SELECT l.process_id, l.instance, l.last_ms
  FROM process_life l
  LEFT ANTI JOIN lost_membership x ON x.process_id = l.process_id AND x.instance = l.instance
  LEFT ANTI JOIN (SELECT process_id FROM shared_log WHERE member_count > 0 UNION SELECT process_id FROM filtered_log) s
    ON s.process_id = l.process_id
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
    max_by(struct(r.generation, r.member_id, j.assigned, j.is_worker, coalesce(j.delay_ms, 0L) AS delay_ms, j.from_pos,
      coalesce(j.worker_assigned_id, j.synced_id, j.joined_id) AS event_id), r.round) AS last
  FROM silent_run s
  JOIN join_round j ON j.process_id = s.process_id AND j.instance = s.instance
  JOIN member_round r ON r.process_id = j.process_id AND r.group_id = j.group_id AND r.client = j.client AND r.round = j.round
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, j.process_id, j.instance, j.client, s.last_ms
), next_generation_of AS (
  -- The next known generation after that of a membership.
  SELECT kafka_cluster, group_id, incarnation, generation, next_generation
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, is_asked,
      min(CASE WHEN NOT is_asked THEN generation END) OVER (PARTITION BY kafka_cluster, group_id, incarnation
        ORDER BY generation DESC, is_asked DESC ROWS UNBOUNDED PRECEDING) AS next_generation
    FROM (
      SELECT kafka_cluster, group_id, incarnation, generation, false AS is_asked FROM generation
      UNION ALL
      SELECT DISTINCT kafka_cluster, group_id, incarnation, last.generation, true FROM last_membership
    )
  )
  WHERE is_asked AND next_generation IS NOT NULL
), continued_group AS (
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.process_id, m.instance, m.client, m.last_ms, m.last, f.next_generation
  FROM last_membership m
  LEFT ANTI JOIN departed_client a ON a.process_id = m.process_id AND a.instance = m.instance AND a.group_id = m.group_id
    AND a.client = m.client
    AND a.pos > m.last.from_pos
  JOIN next_generation_of f ON f.kafka_cluster = m.kafka_cluster AND f.group_id = m.group_id AND f.incarnation = m.incarnation
    AND f.generation = m.last.generation
), generation_size AS (
  SELECT kafka_cluster, group_id, incarnation, generation, count(*) AS members, coalesce(bool_or(delay_ms > 0), false) AS is_delayed,
    min_by(element_at(witness, 1), struct(coalesce(member_id, ''), coalesce(process_id, ''))) FILTER (WHERE delay_ms > 0) AS delay_id
  FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, generation
), last_of_member AS (
  SELECT kafka_cluster, group_id, incarnation, member_id, max(generation) AS generation
  FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, member_id
), last_of_process AS (
  SELECT kafka_cluster, group_id, incarnation, process_id, max(generation) AS generation
  FROM member_generation
  GROUP BY kafka_cluster, group_id, incarnation, process_id
), last_of_resource AS (
  SELECT kafka_cluster, group_id, incarnation, given, max(generation) AS generation
  FROM (SELECT kafka_cluster, group_id, incarnation, generation, explode(assigned) AS given FROM member_generation)
  GROUP BY kafka_cluster, group_id, incarnation, given
), reassigned_work AS (
  SELECT DISTINCT l.kafka_cluster, l.incarnation, l.process_id, l.instance, l.group_id, l.client
  FROM (SELECT kafka_cluster, group_id, incarnation, process_id, instance, client, next_generation, explode(last.assigned) AS given
    FROM continued_group) l
  JOIN last_of_resource g ON g.kafka_cluster = l.kafka_cluster AND g.group_id = l.group_id AND g.incarnation = l.incarnation
    AND g.given = l.given
    AND g.generation >= l.next_generation
), member_missing AS (
  SELECT l.process_id, l.instance, l.group_id, l.client, l.last, l.kafka_cluster, l.incarnation, l.last_ms, l.next_generation,
    n.members, n.is_delayed, n.delay_id, g.process_id IS NOT NULL AS is_given_on
  FROM continued_group l
  JOIN generation_size n ON n.kafka_cluster = l.kafka_cluster AND n.group_id = l.group_id AND n.incarnation = l.incarnation
    AND n.generation = l.next_generation
  -- It is in a later generation itself.
  LEFT ANTI JOIN last_of_member m ON m.kafka_cluster = l.kafka_cluster AND m.group_id = l.group_id AND m.incarnation = l.incarnation
    AND coalesce(m.member_id, '') = coalesce(l.last.member_id, '') AND m.generation >= l.next_generation
  LEFT ANTI JOIN last_of_process p ON p.kafka_cluster = l.kafka_cluster AND p.group_id = l.group_id AND p.incarnation = l.incarnation
    AND p.process_id = l.process_id AND p.generation >= l.next_generation
  LEFT JOIN reassigned_work g ON g.kafka_cluster = l.kafka_cluster AND g.incarnation = l.incarnation AND g.process_id = l.process_id
    AND g.instance = l.instance AND g.group_id = l.group_id AND g.client = l.client
), missing_processes AS (
  -- The processes that were in a generation but not in the next one.
  SELECT l.kafka_cluster, l.group_id, l.incarnation, l.generation, l.next_generation, min(b.process_id) AS one, max(b.process_id) AS other
  FROM (SELECT DISTINCT kafka_cluster, group_id, incarnation, last.generation, next_generation FROM continued_group) l
  JOIN member_generation b ON b.kafka_cluster = l.kafka_cluster AND b.group_id = l.group_id AND b.incarnation = l.incarnation
    AND b.generation = l.generation
  LEFT ANTI JOIN member_generation n ON n.kafka_cluster = l.kafka_cluster AND n.group_id = l.group_id AND n.incarnation = l.incarnation
    AND n.generation = l.next_generation AND n.process_id = b.process_id
  GROUP BY l.kafka_cluster, l.group_id, l.incarnation, l.generation, l.next_generation
), missing_with_evidence AS (
  SELECT s.*, n.is_count_told AND n.member_count = s.members AND s.last.member_id IS NOT NULL AS is_listed,
    s.last.is_worker AND s.last.delay_ms = 0 AND s.is_delayed AND s.is_given_on
      AND coalesce(o.one = s.process_id AND o.other = s.process_id, true) AS is_delay,
    n.witness AS next_witness
  FROM member_missing s
  JOIN generation n ON n.kafka_cluster = s.kafka_cluster AND n.group_id = s.group_id AND n.incarnation = s.incarnation
    AND n.generation = s.next_generation
  LEFT JOIN missing_processes o ON o.kafka_cluster = s.kafka_cluster AND o.group_id = s.group_id AND o.incarnation = s.incarnation
    AND o.generation = s.last.generation AND o.next_generation = s.next_generation
  WHERE NOT n.seen_by_broker
), next_generation_time AS (
  -- A join phase ends at one moment for all members that are present.
  SELECT t.process_id, t.instance, t.group_id, t.client, o.reference_process_id, t.last_ms - o.hi_ms AS last_lo_ms,
    min(coalesce(r.joined.at_ms, r.synced.at_ms) - p.lo_ms) AS joined_hi_ms
  FROM missing_with_evidence t
  JOIN clock_offset o ON o.process_id = t.process_id AND o.is_island_reference
  JOIN member_round r ON r.kafka_cluster = t.kafka_cluster AND r.group_id = t.group_id AND r.incarnation = t.incarnation
    AND r.generation = t.next_generation
  JOIN clock_offset p ON p.process_id = r.process_id AND p.is_island_reference AND p.reference_process_id = o.reference_process_id
  GROUP BY t.process_id, t.instance, t.group_id, t.client, o.reference_process_id, t.last_ms - o.hi_ms
)
SELECT
  t.kafka_cluster AS kafka_cluster,
  t.group_id AS group_id,
  t.last.member_id AS member_id,
  t.process_id AS process_id,
  t.instance AS instance,
  t.client AS client,
  t.last.generation AS generation,
  t.next_generation AS next_generation,
  CASE WHEN t.is_listed THEN 'list' ELSE 'delay' END AS how,
  a.last_lo_ms AS last_lo_ms,
  a.joined_hi_ms AS gone_hi_ms,
  a.reference_process_id AS reference_process_id,
  array_compact(array(t.last.event_id, element_at(t.next_witness, 1), CASE WHEN NOT t.is_listed THEN t.delay_id END)) AS witness
FROM missing_with_evidence t
JOIN next_generation_time a ON a.process_id = t.process_id AND a.instance = t.instance AND a.group_id = t.group_id AND a.client = t.client
WHERE (t.is_listed OR t.is_delay) AND a.last_lo_ms <= a.joined_hi_ms

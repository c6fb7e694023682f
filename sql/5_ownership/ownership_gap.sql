-- One row per end of an ownership after which no known owner had the resource, with the next owner, if any.
-- Reads: ownership, join_round, member_heard, clock_offset
-- Grain: kafka_cluster, group_id, resource_kind, resource, reference_process_id, next_ownership_id
-- Of several owners before, the one that ended last counts. Resources whose owners' clocks cannot be compared have no row.
CREATE OR REPLACE TEMPORARY VIEW ownership_gap (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  resource_kind COMMENT 'task, connector or partition',
  resource      COMMENT 'Resource',
  reference_process_id COMMENT 'Process on whose clock the times are',
  previous      COMMENT 'Last ownership before: ownership_id, process_id, member_id, generation, stop_lo_ms, stop_hi_ms, ...',
  previous_stop_ms COMMENT 'Its owner certainly had it until this time (reference clock, milliseconds since 1970)',
  next_ownership_id COMMENT 'First ownership after; NULL: none',
  next_process_id COMMENT 'Its process',
  next_member_id COMMENT 'Its member id',
  generation    COMMENT 'Generation that gave it to its next owner',
  begun_lo_ms   COMMENT 'Earliest time at which its next owner had it',
  start_hi_ms   COMMENT 'Latest time at which its next owner had it',
  witness       COMMENT 'Events that prove the next ownership'
)
COMMENT 'One row per end of an ownership after which no known owner had the resource, with the next owner, if any.'
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
), single_island AS (
  -- Owners whose clocks cannot be compared: one may have had it while the other had not.
  SELECT kafka_cluster, group_id, resource_kind, resource
  FROM ownership
  GROUP BY kafka_cluster, group_id, resource_kind, resource
  HAVING count(DISTINCT reference_process_id) = 1
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
)
SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous,
  greatest(g.previous_stop_ms, CASE WHEN h.alive_ms < coalesce(g.begun_lo_ms, g.start_hi_ms) THEN h.alive_ms END) AS previous_stop_ms,
  g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation, g.begun_lo_ms, g.start_hi_ms, g.witness
FROM gap_candidate g
JOIN single_island i ON i.kafka_cluster = g.kafka_cluster AND i.group_id <=> g.group_id AND i.resource_kind = g.resource_kind
  AND i.resource = g.resource
LEFT JOIN coordinator_contact h ON g.previous.is_open AND g.resource_kind = 'partition' AND h.kafka_cluster = g.kafka_cluster
  AND h.group_id = g.group_id AND h.member_id = g.previous.member_id AND h.process_id = g.previous.process_id
  AND h.reference_process_id = g.reference_process_id

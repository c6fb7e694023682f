-- One row per generation of a classic group according to its members: when they asked, joined and synced, and whom they waited for.
-- Reads: member_round, join_round, clock_offset, process_cluster
-- Grain: kafka_cluster, group_id, incarnation, generation
-- Times are on the members' common clock (middle of its bounds). Clocks can only be compared within an island: the island with the most members of
-- the generation gives its times. A static member that returns to a stable group, perhaps in another member's place, receives the current generation.
-- It asks after the end of the join phase, so no member waited, and the request shows nothing about the rebalance.
CREATE OR REPLACE TEMPORARY VIEW member_side (
  kafka_cluster, group_id, incarnation, generation, is_worker, protocol, leader_member_id,
  island         COMMENT 'Process whose clock gives the times, as in clock_offset',
  asked_ms       COMMENT 'The first asked to join',
  joined_ms      COMMENT 'The first joined',
  synced_ms      COMMENT 'The last received its assignment',
  span_ms        COMMENT 'It lasted at least this long, milliseconds; NULL: clocks stepped meanwhile, or may have',
  members        COMMENT 'Number of members whose logs have it',
  askers         COMMENT 'Number of members whose request is known',
  listed_members COMMENT 'Number of members in the list of the leader of a consumer group',
  last_joiner    COMMENT 'Member that asked last; NULL: their clocks cannot be compared',
  asked_first    COMMENT 'First member that asked for a rebalance on its own initiative: asked_ms, member_id, asked_reason',
  first_request  COMMENT 'First request to join: at_ms, event_id',
  first_answer   COMMENT 'First answer to a known request: at_ms, event_id',
  last_request   COMMENT 'Last request to join: at_ms, member_id, event_id',
  clocks         COMMENT 'Number of clocks of the requests',
  clock_id COMMENT 'One of them',
  is_steady      COMMENT 'False if one of these clocks stepped',
  is_set_back COMMENT 'True if one of them was set back meanwhile',
  delay          COMMENT 'Scheduled rebalance delay of the workers: delay_ms, worker_assigned_id',
  witness
)
AS
WITH round_on_common_clock AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, r.process_id, r.member_id, r.is_leader, j.is_worker, j.group_instance_id,
    j.asked_reason, j.protocol, j.leader_member_id, j.delay_ms, j.worker_assigned_id, size(j.roster) AS listed_members,
    -- Old releases print no member id.
    coalesce(j.group_instance_id, r.member_id, concat_ws(' ', r.process_id, r.client)) AS asker, coalesce(c.clock_id, r.process_id) AS island,
    c.clock_id, c.is_steady, c.ahead_ms,
    coalesce(r.joining_first.at_ms - c.hi_ms - (r.stabilized.at_ms - k.lo_ms) - s.resolution_ms > 0, false) AS is_late,
    coalesce(exists(c.step.set_back, p -> p > j.joining_first_pos AND p <= j.from_pos), false) AS is_set_back,
    coalesce(r.synced.at_ms - r.joining_first.at_ms >= c.step.least_ms, false) AS may_have_stepped, r.joining_first, r.joining_last,
    r.joined, r.synced, coalesce(r.synced.event_id, r.joined.event_id, j.worker_assigned_id) AS event_id
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round
    AND j.kafka_cluster = r.kafka_cluster
  LEFT JOIN clock_offset c ON c.process_id = r.process_id AND c.is_island_reference
  LEFT JOIN clock_offset k ON k.process_id = r.broker AND k.is_island_reference AND NOT k.stepped AND k.reference_process_id = c.reference_process_id
    AND NOT c.stepped
  LEFT JOIN process_cluster s ON s.process_id = r.broker AND s.is_last
), timed_round AS (
  SELECT *, CASE WHEN NOT is_late THEN joining_first.at_ms - ahead_ms END AS asked_ms,
    CASE WHEN NOT is_late THEN joining_last.at_ms - ahead_ms END AS joining_ms, CASE WHEN NOT is_late THEN joined.at_ms - ahead_ms END AS joined_ms,
    CASE WHEN NOT is_late THEN synced.at_ms - ahead_ms END AS synced_ms
  FROM round_on_common_clock
), generation_island AS (
  SELECT
    kafka_cluster, group_id, incarnation, generation, max_by(island, struct(members, island)) AS island, count(*) AS islands, max(span_ms) AS span_ms
  FROM (
    SELECT kafka_cluster, group_id, incarnation, generation, island, count(DISTINCT process_id) AS members,
      CASE WHEN NOT bool_or(is_set_back OR may_have_stepped) THEN max(synced_ms) - min(asked_ms) END AS span_ms
    FROM timed_round GROUP BY kafka_cluster, group_id, incarnation, generation, island
  )
  GROUP BY kafka_cluster, group_id, incarnation, generation
), round_in_island AS (
  SELECT t.*, i.islands, i.span_ms, t.island = i.island AS is_timed FROM timed_round t
  JOIN generation_island i ON i.kafka_cluster = t.kafka_cluster AND i.group_id = t.group_id AND i.incarnation = t.incarnation
    AND i.generation = t.generation
)
SELECT kafka_cluster, group_id, incarnation, generation, bool_or(is_worker) AS is_worker, max(protocol) AS protocol,
  coalesce(max(leader_member_id), max(member_id) FILTER (WHERE is_leader)) AS leader_member_id, max(CASE WHEN is_timed THEN island END) AS island,
  min(asked_ms) FILTER (WHERE is_timed) AS asked_ms, min(joined_ms) FILTER (WHERE is_timed) AS joined_ms,
  max(synced_ms) FILTER (WHERE is_timed) AS synced_ms, max(span_ms) AS span_ms,
  -- A static member that comes back has another member id.
  count(DISTINCT asker) AS members,
  count(DISTINCT CASE WHEN joining_ms IS NOT NULL THEN asker END) AS askers, max(listed_members) AS listed_members,
  -- Each member's last request counts: the others waited for the last member to ask.
  max_by(member_id, struct(joining_ms, member_id)) FILTER (WHERE joining_ms IS NOT NULL AND islands = 1) AS last_joiner,
  min(struct(NOT is_timed AS is_untimed, asked_ms, member_id, asked_reason)) FILTER (WHERE asked_reason IS NOT NULL) AS asked_first,
  min(CASE WHEN joining_ms IS NOT NULL THEN struct(asked_ms AS at_ms, joining_first.event_id) END) AS first_request,
  min(CASE WHEN joining_ms IS NOT NULL AND joined_ms IS NOT NULL THEN struct(joined_ms AS at_ms, joined.event_id) END) AS first_answer,
  max(struct(joining_ms IS NOT NULL AS is_timed, joining_ms AS at_ms, member_id IS NOT NULL AS is_named, member_id, joining_last.event_id))
    FILTER (WHERE NOT is_late) AS last_request,
  count(DISTINCT clock_id) FILTER (WHERE NOT is_late) AS clocks, min(clock_id) FILTER (WHERE NOT is_late) AS clock_id,
  bool_and(is_steady) FILTER (WHERE NOT is_late) AS is_steady, bool_or(is_set_back) FILTER (WHERE NOT is_late) AS is_set_back,
  max(struct(delay_ms IS NOT NULL AS is_known, delay_ms, worker_assigned_id)) FILTER (WHERE NOT is_late) AS delay,
  slice(array_sort(collect_list(event_id)), 1, 50) AS witness
FROM round_in_island GROUP BY kafka_cluster, group_id, incarnation, generation

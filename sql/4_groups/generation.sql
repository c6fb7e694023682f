-- One row per generation of a group, from the coordinator's side, the members' side, or both.
-- Reads: broker_generation, epoch_generation, epoch_member, member_side, clock_offset, join_round, placed_event
-- Grain: kafka_cluster, group_id, incarnation, generation
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW generation (
  kafka_cluster, group_id,
  incarnation          COMMENT 'Incarnation of the group''s metadata: generations restart when it is lost or deleted',
  incarnation_why      COMMENT 'Why that incarnation began: first, deleted, expired_empty, metadata_lost, ghost, converted (an empty group of the
    other protocol), unknown',
  generation           COMMENT 'Generation; for a KIP-848 group its epoch',
  protocol_type        COMMENT 'consumer, connect, share or streams',
  group_protocol       COMMENT 'classic, or assigned by the broker: consumer (KIP-848), share (KIP-932), streams (KIP-1071)',
  rebalance_mode       COMMENT 'eager, cooperative or server; NULL: unknown',
  assignor             COMMENT 'Chosen assignor or Connect protocol',
  coordinator          COMMENT 'Broker that coordinated it (its process)',
  prepared_ts          COMMENT 'Broker: the rebalance began',
  stabilized_ts        COMMENT 'Broker: all members joined',
  assigned_ts          COMMENT 'Broker: the leader''s assignment arrived',
  first_asked_ts       COMMENT 'Members: the first asked to join, on their common clock (middle of its bounds)',
  first_joined_ts      COMMENT 'Members: the first joined, on their common clock (middle of its bounds)',
  last_synced_ts       COMMENT 'Members: the last received its assignment, on their common clock (middle of its bounds)',
  join_ms              COMMENT 'Broker: from preparing to stabilized, milliseconds',
  sync_ms              COMMENT 'Broker: from stabilized to the assignment, milliseconds',
  duration_ms          COMMENT 'From preparing to the assignment; without a broker''s log, from the first request to the last sync of members whose
    clocks can be compared, otherwise the longest of them, milliseconds; NULL: clocks stepped meanwhile',
  leader_member_id     COMMENT 'Leader',
  member_count         COMMENT 'Number of members: from the broker''s log, else the leader''s, else the number of members in the logs',
  is_count_told        COMMENT 'True when the broker or the leader prints the number; otherwise there may have been more',
  trigger              COMMENT 'Why the group rebalanced, in a closed vocabulary',
  trigger_inferred     COMMENT 'True when no line gives a reason and it follows from earlier events',
  trigger_member_id    COMMENT 'Member that triggered it',
  asked_why            COMMENT 'Why a member requested it, by its own lines or the coordinator''s: topic_metadata_changed, subscription_changed,
    partitions_to_revoke (the second step of a cooperative rebalance), enforced (by the application), tasks_corrupted, probing, followup, shutdown (of
    Streams); NULL: no line shows it',
  asked_member_id      COMMENT 'That member',
  reason               COMMENT 'Reason as the broker printed it, with that of the client',
  waited_for_member_id COMMENT 'Member that the join phase waited for',
  waited_why           COMMENT 'last_joiner, expired (no heartbeat), not_rejoined (removed, because it had not asked to join in time) or
    pending_expired (it never came back with the member id that it was given)',
  seen_by_broker       COMMENT 'True when the coordinator''s log has it; false if a filtered log has only its beginning',
  seen_by_members      COMMENT 'Number of members whose logs have it',
  witness
)
AS
WITH both_sides AS (
  SELECT coalesce(b.kafka_cluster, m.kafka_cluster) AS kafka_cluster, coalesce(b.group_id, m.group_id) AS group_id,
    coalesce(b.incarnation, m.incarnation) AS incarnation, coalesce(b.generation, m.generation) AS generation, b.incarnation_why,
    b.process_id AS broker, b.prepared_ms, b.prepared_id, b.prepared_member, b.reason, b.client_reason, b.stabilized_ms, b.stabilized_id,
    b.assigned_ms, b.assigned_id, b.member_count, b.leader_member_id AS broker_leader, b.expired_member, b.expired_ms, b.expired_how,
    coalesce(b.is_silent, false) AS is_silent, m.asked_ms, m.joined_ms, m.synced_ms, m.span_ms, m.members, m.askers, m.listed_members, m.protocol,
    m.is_worker, m.leader_member_id, m.last_joiner, m.asked_first, m.witness,
    -- Members had asked before: the rebalance began earlier. The removal of a member that is late, or was never a member, ends a wait and does not
    -- start a rebalance.
    coalesce(k.clock_id = m.island AND b.expired_ms - k.ahead_ms > m.asked_ms + heartbeat_late_ms, false)
      OR coalesce(b.expired_how IN ('rebalance_timeout', 'pending_timeout'), false) AS is_expired_later
  FROM broker_generation b
  FULL OUTER JOIN member_side m
    ON m.kafka_cluster = b.kafka_cluster AND m.group_id = b.group_id AND m.incarnation = b.incarnation AND m.generation = b.generation
  LEFT JOIN clock_offset k ON k.process_id = b.process_id AND k.is_island_reference
), generation_with_previous AS (
  SELECT *,
    CASE WHEN asked RLIKE 'metadata has changed' THEN 'topic_metadata_changed'
      WHEN asked RLIKE 'subscription has changed|received assignment' THEN 'subscription_changed'
      WHEN asked RLIKE 'revoke partitions' THEN 'partitions_to_revoke'
      WHEN asked RLIKE 'enforced by user' THEN 'enforced'
      WHEN asked RLIKE 'tasks corrupted' THEN 'tasks_corrupted'
      WHEN asked RLIKE 'probing rebalance' THEN 'probing'
      WHEN asked RLIKE 'followup rebalance' THEN 'followup'
      WHEN asked RLIKE 'shutdown requested' THEN 'shutdown' END AS asked_why,
    -- A member whose request is missing may have asked later.
    CASE WHEN askers >= coalesce(member_count, listed_members, members) THEN last_joiner END AS last_of_all,
    lag(leader_member_id) OVER w AS previous_leader, lag(members) OVER w AS previous_members, lag(listed_members) OVER w AS previous_listed,
    lag(member_count) OVER w AS previous_count
  FROM (
    SELECT *, lower(coalesce(nullif(client_reason, 'not provided'), CASE WHEN reason IS NULL THEN asked_first.asked_reason END)) AS asked
    FROM both_sides
  )
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
), group_line AS (
  SELECT kafka_cluster, group_id, CASE WHEN is_worker THEN 'connect' ELSE 'consumer' END AS kind, protocol,
    -- Only the incremental protocol prints the revocations of an assignment.
    is_worker AND size(revoked) > 0 AS is_cooperative
  FROM join_round
  UNION ALL
  -- A share group and another group cannot have the same name.
  SELECT e.kafka_cluster, e.group_id, CASE WHEN e.client_kind = 'ShareConsumer' OR e.protocol_type = 'share' THEN 'share' ELSE 'streams' END,
    CAST(NULL AS STRING), false
  FROM placed_event e
  WHERE e.group_id IS NOT NULL AND (e.client_kind = 'ShareConsumer' OR e.broker_id IS NOT NULL AND e.protocol_type IN ('share', 'streams')
    OR e.logger LIKE '%StreamsMembershipManager')
), group_facts AS (
  -- Protocol type and mode of a group, from any line of the case; its protocol, if it only ever had one.
  SELECT kafka_cluster, group_id,
    CASE WHEN bool_or(kind = 'share') THEN 'share' WHEN bool_or(kind = 'streams') THEN 'streams' WHEN bool_or(kind = 'connect') THEN 'connect'
      ELSE 'consumer' END AS protocol_type,
    CASE WHEN count(DISTINCT protocol) = 1 THEN max(protocol) END AS protocol,
    CASE WHEN bool_or(is_cooperative) THEN 'cooperative' END AS rebalance_mode
  FROM group_line GROUP BY kafka_cluster, group_id
), epoch_row AS (
  SELECT coalesce(g.kafka_cluster, m.kafka_cluster) AS kafka_cluster, coalesce(g.group_id, m.group_id) AS group_id,
    coalesce(g.incarnation, m.incarnation) AS incarnation, coalesce(g.generation, m.generation) AS generation,
    coalesce(g.incarnation_why, 'unknown') AS incarnation_why, g.assignor, g.process_id AS broker, g.bumped_ms, g.bumped_id, g.computed_ms,
    g.computed_id, g.member_count, g.cause, g.cause_member, m.reached_ms, m.settled_ms, m.members, m.seen, m.witness
  FROM epoch_generation g
  FULL OUTER JOIN (
    SELECT e.kafka_cluster, e.group_id, e.incarnation, e.generation, min(e.reached.at_ms - (o.lo_ms + o.hi_ms) DIV 2) AS reached_ms,
      max(e.settled.at_ms - (o.lo_ms + o.hi_ms) DIV 2) AS settled_ms, count(DISTINCT e.member_id) AS members,
      count(DISTINCT CASE WHEN e.process_id IS NOT NULL THEN e.member_id END) AS seen,
      slice(array_sort(collect_list(e.reached.event_id)), 1, 50) AS witness
    FROM epoch_member e LEFT JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
    GROUP BY e.kafka_cluster, e.group_id, e.incarnation, e.generation
  ) m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.incarnation = g.incarnation AND m.generation = g.generation
)
SELECT o.kafka_cluster, o.group_id, o.incarnation,
  coalesce(o.incarnation_why, CASE WHEN o.incarnation = 1 THEN 'first' ELSE 'unknown' END) AS incarnation_why, o.generation,
  coalesce(f.protocol_type, CASE WHEN o.is_worker THEN 'connect' WHEN o.is_worker IS NOT NULL THEN 'consumer' END) AS protocol_type,
  'classic' AS group_protocol,
  CASE WHEN coalesce(o.protocol, f.protocol) IN ('compatible', 'sessioned') OR coalesce(o.protocol, f.protocol) LIKE 'cooperative%' THEN 'cooperative'
    WHEN coalesce(o.protocol, f.protocol) IN ('default', 'range', 'roundrobin', 'sticky') THEN 'eager'
    ELSE f.rebalance_mode END AS rebalance_mode,
  coalesce(o.protocol, f.protocol) AS assignor, o.broker AS coordinator, timestamp_millis(o.prepared_ms) AS prepared_ts,
  timestamp_millis(o.stabilized_ms) AS stabilized_ts, timestamp_millis(o.assigned_ms) AS assigned_ts, timestamp_millis(o.asked_ms) AS first_asked_ts,
  timestamp_millis(o.joined_ms) AS first_joined_ts, timestamp_millis(o.synced_ms) AS last_synced_ts, o.stabilized_ms - o.prepared_ms AS join_ms,
  o.assigned_ms - o.stabilized_ms AS sync_ms, coalesce(coalesce(o.assigned_ms, o.stabilized_ms) - o.prepared_ms, o.span_ms) AS duration_ms,
  coalesce(o.broker_leader, o.leader_member_id) AS leader_member_id, coalesce(o.member_count, o.listed_members, o.members) AS member_count,
  coalesce(o.member_count, o.listed_members) IS NOT NULL AS is_count_told,
  CASE WHEN o.reason RLIKE '(?i)^adding new member' THEN 'member_joined'
    WHEN o.reason RLIKE '(?i)heartbeat expiration' THEN 'member_expired'
    WHEN o.reason RLIKE '(?i)leavegroup' THEN 'member_left'
    WHEN o.reason RLIKE '(?i)^leader .*(re-)?joining' THEN 'leader_rejoined'
    WHEN o.reason RLIKE '(?i)^downgrade group' AND o.reason NOT RLIKE '(?i)static member' THEN 'member_gone'
    WHEN o.reason RLIKE '(?i)static member' THEN 'static_member_changed'
    WHEN o.reason RLIKE '(?i)^updating metadata' THEN 'member_metadata_changed'
    WHEN o.reason RLIKE '(?i)joining group during' THEN 'member_rejoined'
    WHEN o.reason RLIKE '(?i)pending sync' THEN 'member_never_synced'
    WHEN o.reason RLIKE '(?i)storing group assignment' THEN 'assignment_not_stored'
    WHEN o.reason RLIKE '(?i)over capacity' THEN 'group_over_capacity'
    WHEN o.reason IS NOT NULL THEN 'other'
    WHEN o.expired_member IS NOT NULL AND NOT o.is_expired_later THEN 'member_expired'
    WHEN o.generation = 1 THEN 'group_created'
    WHEN o.member_count IS NULL AND o.listed_members > o.previous_listed THEN 'member_joined'
    WHEN o.member_count IS NULL AND o.listed_members < o.previous_listed THEN 'member_gone'
    WHEN coalesce(o.member_count, o.members) > coalesce(o.previous_count, o.previous_members) THEN 'member_joined'
    WHEN coalesce(o.member_count, o.members) < coalesce(o.previous_count, o.previous_members) THEN 'member_gone'
    ELSE 'unknown' END AS trigger,
  o.reason IS NULL AS trigger_inferred,
  coalesce(o.prepared_member, CASE WHEN o.reason IS NULL AND NOT o.is_expired_later THEN o.expired_member END) AS trigger_member_id, o.asked_why,
  CASE WHEN o.asked_why IS NOT NULL THEN coalesce(o.prepared_member, o.asked_first.member_id) END AS asked_member_id,
  nullif(concat_ws('; client reason: ', o.reason, nullif(o.client_reason, '')), '') AS reason,
  -- The rebalance waited for a member that was removed for silence, else for the last one to ask, if the others had to wait for it. Not if the
  -- coordinator may have been paused meanwhile.
  CASE WHEN o.is_silent THEN NULL WHEN o.expired_ms > o.prepared_ms THEN o.expired_member ELSE o.last_of_all END AS waited_for_member_id,
  CASE WHEN o.is_silent THEN NULL WHEN o.expired_ms > o.prepared_ms THEN CASE o.expired_how WHEN 'rebalance_timeout' THEN 'not_rejoined'
    WHEN 'pending_timeout' THEN 'pending_expired' ELSE 'expired' END
    WHEN o.last_of_all IS NOT NULL THEN 'last_joiner' END AS waited_why,
  o.stabilized_ms IS NOT NULL AS seen_by_broker, coalesce(o.members, 0) AS seen_by_members,
  filter(array_distinct(concat(array(o.prepared_id, o.stabilized_id, o.assigned_id), coalesce(o.witness, array()))), e -> e IS NOT NULL) AS witness
FROM generation_with_previous o LEFT JOIN group_facts f ON f.kafka_cluster = o.kafka_cluster AND f.group_id = o.group_id
-- Members of the classic protocol join an epoch as if it were a generation: the epoch's row counts them.
LEFT ANTI JOIN epoch_row e ON o.broker IS NULL AND e.kafka_cluster = o.kafka_cluster AND e.group_id = o.group_id
  AND e.incarnation = o.incarnation AND e.generation = o.generation
UNION ALL
SELECT e.kafka_cluster, e.group_id, e.incarnation, e.incarnation_why, e.generation,
  CASE WHEN f.protocol_type IN ('share', 'streams') THEN f.protocol_type ELSE 'consumer' END AS protocol_type,
  CASE WHEN f.protocol_type IN ('share', 'streams') THEN f.protocol_type ELSE 'consumer' END AS group_protocol,
  'server' AS rebalance_mode, e.assignor, e.broker AS coordinator, timestamp_millis(e.bumped_ms) AS prepared_ts, NULL AS stabilized_ts,
  timestamp_millis(e.computed_ms) AS assigned_ts, NULL AS first_asked_ts, timestamp_millis(e.reached_ms) AS first_joined_ts,
  timestamp_millis(e.settled_ms) AS last_synced_ts, NULL AS join_ms, NULL AS sync_ms, e.computed_ms - e.bumped_ms AS duration_ms,
  NULL AS leader_member_id, coalesce(e.member_count, CASE WHEN e.broker IS NULL THEN e.members + coalesce(c.members, 0) END) AS member_count,
  e.member_count IS NOT NULL AS is_count_told, coalesce(e.cause, 'unknown') AS trigger, true AS trigger_inferred, e.cause_member AS trigger_member_id,
  NULL AS asked_why, NULL AS asked_member_id, NULL AS reason, NULL AS waited_for_member_id, NULL AS waited_why,
  e.broker IS NOT NULL AS seen_by_broker, coalesce(e.seen, 0) + coalesce(c.members, 0) AS seen_by_members,
  filter(array_distinct(concat(array(e.bumped_id, e.computed_id), coalesce(e.witness, array()), coalesce(c.witness, array()))),
    x -> x IS NOT NULL) AS witness
FROM epoch_row e LEFT JOIN group_facts f ON f.kafka_cluster = e.kafka_cluster AND f.group_id = e.group_id
LEFT JOIN member_side c ON c.kafka_cluster = e.kafka_cluster AND c.group_id = e.group_id AND c.incarnation = e.incarnation
  AND c.generation = e.generation
-- When the group is converted, a member's classic generation is its first epoch.
LEFT ANTI JOIN broker_generation b ON e.broker IS NULL AND b.kafka_cluster = e.kafka_cluster AND b.group_id = e.group_id
  AND b.incarnation = e.incarnation AND b.generation = e.generation

-- One row for each time that one client became a member of one generation, from the client's own lines.
-- Reads: client_event
-- Grain: process_id, group_id, client, round
-- Up to 2.6.0 only the sync is printed (`synced`), which also counts as the join. A member may receive its current generation again (a static member
-- that returns to a stable group); that is the same round.
CREATE OR REPLACE TEMPORARY VIEW join_round (
  kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, group_instance_id, task,
  round              COMMENT 'n-th generation of this client, over all its process runs in this log',
  generation,
  member_id          COMMENT 'Member id; NULL if the release prints none',
  protocol,
  leader_member_id   COMMENT 'Leader in the worker''s assignment line',
  is_leader          COMMENT 'True if a line that only a leader prints is in the log, or the assignment names this member',
  from_pos           COMMENT 'Position of the first line that gives the generation',
  is_found           COMMENT 'True if the log has an earlier discovery of the coordinator by the client, so it does not begin in the middle of a
    membership',
  joining_count      COMMENT 'How many times (Re-)joining was printed before it joined',
  joining_first_ms   COMMENT 'First (Re-)joining of the round (milliseconds since 1970)',
  joining_first_id COMMENT 'Its event',
  joining_first_pos  COMMENT 'Its position',
  joining_second_ms  COMMENT 'Second (Re-)joining of the round',
  joining_second_id COMMENT 'Its event',
  joining_last_ms    COMMENT 'The last (Re-)joining, which was answered',
  joining_last_id COMMENT 'Its event',
  rejoin_ms          COMMENT 'When the client learned that the group was already rebalancing',
  rejoin_id COMMENT 'Its event',
  asked_reason       COMMENT 'Why it asked to join on its own initiative, as printed; NULL: it did not, or the line gives no reason',
  joined_ms          COMMENT 'Successfully joined (2.6.1 and later)',
  joined_id COMMENT 'Its event',
  computed_ms        COMMENT 'Leader: Finished assignment',
  computed_id COMMENT 'Its event',
  synced_ms          COMMENT 'Successfully synced; up to 2.6.0 Successfully joined',
  synced_id COMMENT 'Its event',
  worker_assigned_ms COMMENT 'Connect: Joined group ... got assignment',
  worker_assigned_id COMMENT 'Its event',
  assigned           COMMENT 'Assignment: tasks and connectors of a worker; partitions of a consumer as its assignor received them',
  revoked            COMMENT 'Tasks and connectors that the assignment revokes',
  delay_ms,
  given_ms           COMMENT 'Consumer: first partitions assigned after the sync',
  given              COMMENT 'Consumer: partitions assigned then; for an eager member the complete assignment',
  roster             COMMENT 'Leader of a consumer group: all members of that generation',
  incarnations_seen  COMMENT 'Incarnations of the group that the process had seen begin by then; 0: the one that it saw first',
  taken_ms           COMMENT 'Consumer: partitions revoked before it joined'
)
AS
WITH round_event AS (
  SELECT *,
    -- Up to 2.2 the Connect herder printed no generation, so its assignment belongs to the previous sync.
    CASE WHEN event = 'joined' THEN generation
      -- A sync response names no generation, so it belongs to the previous join.
      WHEN event = 'synced' THEN coalesce(generation, lag(CASE WHEN event = 'joined' THEN generation END) IGNORE NULLS OVER life)
      WHEN event = 'worker_assigned' THEN coalesce(generation, lag(CASE WHEN event = 'synced' THEN generation END) IGNORE NULLS OVER life) END AS got
  FROM client_event
  WHERE event IN ('coordinator_discovered', 'joining', 'joined', 'synced', 'assignment_computed', 'assignment_received', 'worker_assigned',
    'rejoin_requested', 'heartbeat_failed', 'partitions_assigned', 'partitions_revoked', 'partitions_lost', 'leaving')
  WINDOW life AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
), event_with_previous AS (
  SELECT
    *, lag(got) IGNORE NULLS OVER in_order AS last_got, lag(CASE WHEN got IS NOT NULL THEN member_id END) IGNORE NULLS OVER in_order AS last_member,
    lag(CASE WHEN got IS NOT NULL THEN event END) IGNORE NULLS OVER in_order AS last_got_by,
    lag(CASE WHEN got IS NOT NULL THEN instance END) IGNORE NULLS OVER in_order AS last_instance,
    coalesce(bool_or(event = 'coordinator_discovered') OVER before, false) AS is_found
  FROM round_event
  WINDOW in_order AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos),
    before AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), round_start AS (
  -- A member that asks again in a stable group receives its current generation. That does not start a new round.
  SELECT *, CASE
    WHEN got IS NULL THEN 0
    WHEN last_got IS NULL OR got <> last_got OR instance <> last_instance THEN 1
    WHEN member_id <> last_member THEN 1
    ELSE 0 END AS is_new_round
  FROM event_with_previous
), numbered_event AS (
  SELECT *, CASE WHEN got IS NOT NULL THEN sum(is_new_round) OVER (PARTITION BY process_id, group_id, client
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) END AS got_round
  FROM round_start
), event_of_round AS (
  SELECT *,
    CASE WHEN got IS NOT NULL THEN got_round
      WHEN event IN ('assignment_received', 'partitions_assigned') OR event = 'assignment_computed'
        AND (generation = last_got OR generation IS NULL AND last_got_by = 'joined')
        THEN lag(got_round) IGNORE NULLS OVER (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
      -- Up to 2.6.0 the leader's assignment is printed before the only line with the generation.
      ELSE lag(CASE WHEN got IS NOT NULL THEN CASE WHEN is_new_round = 1 THEN got_round ELSE 0 END END) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -stream_pos) END AS round,
    -- The kind of the next line: one with a generation, or one that follows from a generation whose line is missing.
    lag(CASE WHEN got IS NOT NULL THEN 'got' WHEN event IN ('assignment_received', 'partitions_assigned') THEN 'given' END) IGNORE NULLS
      OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -stream_pos) AS next_kind
  FROM numbered_event
), event_with_request AS (
  SELECT *, max(CASE WHEN got IS NOT NULL THEN member_id END) OVER one AS member_of_round,
    -- If a member left while it waited and asked again, or was closed and recreated under the same name, its earlier request belongs to no
    -- generation. If it received an assignment after it asked, that request belongs to a different generation.
    event IN ('joining', 'rejoin_requested', 'heartbeat_failed')
      AND stream_pos < max(CASE WHEN event = 'leaving' AND stream_pos < last_asked THEN stream_pos END) OVER one AS in_vain,
    event = 'joining' AND (next_kind = 'given' OR coalesce(stream_pos < max(CASE WHEN event = 'assignment_computed'
      AND generation < got_of_round THEN stream_pos END) OVER one, false))
      OR event = 'assignment_computed' AND coalesce(generation <> got_of_round, false) AS is_of_another
  FROM (SELECT *, max(CASE WHEN event = 'joining' THEN stream_pos END) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance,
    client, round) AS last_asked, max(got) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client, round) AS got_of_round
    FROM event_of_round)
  WHERE round IS NOT NULL AND round > 0
  WINDOW one AS (PARTITION BY kafka_cluster, group_id, process_id, instance, client, round)
), round AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, max(client_id) AS client_id, max(is_worker) AS is_worker,
    max(group_instance_id) AS group_instance_id, max(task) AS task, round, max(got) AS generation,
    max_by(member_id, stream_pos) FILTER (WHERE got IS NOT NULL AND member_id IS NOT NULL) AS member_id,
    max(protocol) FILTER (WHERE got IS NOT NULL) AS protocol,
    max_by(leader_member_id, stream_pos) FILTER (WHERE leader_member_id IS NOT NULL) AS leader_member_id,
    coalesce(bool_or(event = 'assignment_computed'), false)
      OR coalesce(max(leader_member_id) = max(CASE WHEN got IS NOT NULL THEN member_id END), false) AS is_leader,
    min(stream_pos) FILTER (WHERE got IS NOT NULL) AS from_pos, coalesce(bool_or(is_found), false) AS is_found,
    count_if(event = 'joining') AS joining_count, min(at_ms) FILTER (WHERE event = 'joining') AS joining_first_ms,
    min_by(event_id, stream_pos) FILTER (WHERE event = 'joining') AS joining_first_id,
    min(stream_pos) FILTER (WHERE event = 'joining') AS joining_first_pos,
    get(sort_array(collect_list(at_ms) FILTER (WHERE event = 'joining')), 1) AS joining_second_ms,
    get(sort_array(collect_list(struct(stream_pos, event_id)) FILTER (WHERE event = 'joining')), 1).event_id AS joining_second_id,
    max_by(at_ms, stream_pos) FILTER (WHERE event = 'joining') AS joining_last_ms,
    max_by(event_id, stream_pos) FILTER (WHERE event = 'joining') AS joining_last_id,
    max(stream_pos) FILTER (WHERE event = 'joining') AS joining_last_pos, min_by(at_ms, stream_pos) FILTER (WHERE is_notification) AS rejoin_ms,
    min_by(event_id, stream_pos) FILTER (WHERE is_notification) AS rejoin_id,
    -- Other reasons come from other members, or follow from a response.
    min_by(reason, stream_pos) FILTER (WHERE event = 'rejoin_requested' AND lower(reason) RLIKE concat('metadata has changed',
      '|subscription has changed|received assignment|revoke partitions|enforced by user|shutdown requested|tasks corrupted',
      '|probing rebalance|followup rebalance')) AS asked_reason,
    min_by(at_ms, stream_pos) FILTER (WHERE event = 'joined') AS joined_ms, min_by(event_id, stream_pos) FILTER (WHERE event = 'joined') AS joined_id,
    min_by(at_ms, stream_pos) FILTER (WHERE event = 'assignment_computed') AS computed_ms,
    min_by(event_id, stream_pos) FILTER (WHERE event = 'assignment_computed') AS computed_id,
    min_by(at_ms, stream_pos) FILTER (WHERE event = 'synced') AS synced_ms, min_by(event_id, stream_pos) FILTER (WHERE event = 'synced') AS synced_id,
    min_by(at_ms, stream_pos) FILTER (WHERE event = 'worker_assigned') AS worker_assigned_ms,
    min_by(event_id, stream_pos) FILTER (WHERE event = 'worker_assigned') AS worker_assigned_id,
    max_by(CASE WHEN event = 'worker_assigned' THEN concat(coalesce(assigned_connectors, array()), coalesce(assigned_tasks, array()))
      ELSE partitions END, stream_pos) FILTER (WHERE event IN ('worker_assigned', 'assignment_received')) AS assigned,
    max_by(concat(coalesce(revoked_connectors, array()), coalesce(revoked_tasks, array())), stream_pos)
      FILTER (WHERE event = 'worker_assigned') AS revoked,
    max_by(delay_ms, stream_pos) FILTER (WHERE event = 'worker_assigned') AS delay_ms,
    min(at_ms) FILTER (WHERE event = 'partitions_assigned') AS given_ms,
    min_by(partitions, stream_pos) FILTER (WHERE event = 'partitions_assigned') AS given,
    min_by(roster, stream_pos) FILTER (WHERE event = 'assignment_computed') AS roster,
    max(at_ms) FILTER (WHERE event IN ('partitions_revoked', 'partitions_lost') AND size(partitions) > 0) AS taken_ms
  FROM (
    SELECT *,
      -- A member is notified of the rebalance that ends its own generation but may miss it: it may join a later one next.
      (event = 'rejoin_requested' AND reason LIKE '%already rebalancing%'
        OR event = 'heartbeat_failed' AND coalesce(error, cause, reason) RLIKE '(?i)rebalanc')
        AND last_got + 1 = got_of_round AND last_instance = instance AND coalesce(last_member = member_of_round, true) AS is_notification
    FROM event_with_request WHERE NOT coalesce(in_vain, false) AND NOT coalesce(is_of_another, false)
  )
  GROUP BY kafka_cluster, group_id, process_id, instance, client, round
), round_with_previous AS (
  SELECT *, lag(struct(generation, from_pos, client)) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos) AS last FROM round
)
SELECT kafka_cluster, group_id, process_id, instance, client, client_id, is_worker, group_instance_id, task, round, generation, member_id, protocol,
  leader_member_id, is_leader, from_pos, is_found, joining_count, joining_first_ms, joining_first_id, joining_first_pos, joining_second_ms,
  joining_second_id, joining_last_ms, joining_last_id, rejoin_ms, rejoin_id, asked_reason, joined_ms, joined_id, computed_ms, computed_id, synced_ms,
  synced_id, worker_assigned_ms, worker_assigned_id, assigned, revoked, delay_ms, given_ms, given, roster,
  -- A process sees a new incarnation begin if one of its clients asks to join after another client had a generation, and receives a lower one or,
  -- unless it is a static member, the same one. A slow client may still print the previous generation: it asked to join before the other client
  -- received a higher one.
  count_if(generation < last.generation AND (client = last.client OR joining_last_pos > last.from_pos)
    OR generation = last.generation AND group_instance_id IS NULL AND joining_first_pos > last.from_pos)
    OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos ROWS UNBOUNDED PRECEDING) AS incarnations_seen,
  taken_ms
FROM round_with_previous

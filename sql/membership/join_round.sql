-- One row per time that one client became a member of one generation, from the client's own lines.
-- Reads: client_event
-- Grain: process_id, group_id, client, round
-- Up to 2.6.0 only the sync is printed (`synced`); it stands for the join. A member may get the generation it already has again
-- (a static member that returns to a stable group); that is the same round.
CREATE OR REPLACE TEMPORARY VIEW join_round (
  kafka_cluster     COMMENT 'Kafka cluster',
  group_id          COMMENT 'Group',
  process_id        COMMENT 'Process',
  instance          COMMENT 'Which life of the process',
  client            COMMENT 'Client inside the process',
  client_id         COMMENT 'client.id',
  is_worker         COMMENT 'True for a Connect worker',
  group_instance_id COMMENT 'group.instance.id of a static member',
  task              COMMENT 'Connect task whose consumer this is',
  round             COMMENT 'n-th generation that this client was a member of, over all its lives in this log',
  generation        COMMENT 'Generation',
  member_id         COMMENT 'Member id; NULL where the release prints none',
  protocol          COMMENT 'Assignor or Connect protocol',
  leader_member_id  COMMENT 'Leader as the worker''s assignment names it',
  is_leader         COMMENT 'True when the line that only a leader prints was seen, or the assignment names this member',
  from_pos          COMMENT 'Position of the first line that gives the generation',
  is_found
    COMMENT 'True when the client''s discovery of the coordinator was seen before: the log does not begin in the middle of a membership',
  joining_count     COMMENT 'How many times (Re-)joining was printed before it got in',
  joining_first_ms  COMMENT 'First (Re-)joining of the round (milliseconds since 1970)',
  joining_first_id  COMMENT 'Its event',
  joining_first_pos COMMENT 'Its position',
  joining_second_ms COMMENT 'Second (Re-)joining of the round',
  joining_second_id COMMENT 'Its event',
  joining_last_ms   COMMENT 'The (Re-)joining that was answered',
  joining_last_id   COMMENT 'Its event',
  joining_last_pos  COMMENT 'Its position',
  rejoin_ms         COMMENT 'When the client learnt that the group was already rebalancing',
  rejoin_id         COMMENT 'Its event',
  asked_reason      COMMENT 'Why it asked to join of its own accord, as it says; NULL: it did not, or does not say',
  joined_ms         COMMENT 'Successfully joined (2.6.1 and later)',
  joined_id         COMMENT 'Its event',
  computed_ms       COMMENT 'Leader: Finished assignment',
  computed_id       COMMENT 'Its event',
  synced_ms         COMMENT 'Successfully synced; up to 2.6.0 Successfully joined',
  synced_id         COMMENT 'Its event',
  worker_assigned_ms COMMENT 'Connect: Joined group ... got assignment',
  worker_assigned_id COMMENT 'Its event',
  assigned          COMMENT 'Assignment: tasks and connectors of a worker, partitions of a consumer as its assignor was told',
  revoked           COMMENT 'Tasks and connectors that the assignment revokes',
  delay_ms          COMMENT 'Scheduled rebalance delay',
  given_ms          COMMENT 'Consumer: first partitions given after the sync',
  given             COMMENT 'Consumer: partitions given then; of an eager member that is all',
  taken_ms          COMMENT 'Consumer: partitions given up before it joined',
  resolution_ms     COMMENT 'How exact the printed times are'
)
COMMENT 'One row per time that one client became a member of one generation, from the client''s own lines.'
AS
WITH line AS (
  SELECT
    *,
    -- The Connect herder printed no generation up to 2.2: its assignment belongs to the sync before it.
    CASE
      WHEN event = 'joined' THEN generation
      -- An answer to a sync names no generation: it is of the join before it.
      WHEN event = 'synced' THEN coalesce(generation, lag(CASE WHEN event = 'joined' THEN generation END) IGNORE NULLS OVER life)
      WHEN event = 'worker_assigned' THEN coalesce(generation, lag(CASE WHEN event = 'synced' THEN generation END) IGNORE NULLS OVER life)
    END AS got
  FROM client_event
  WHERE event IN ('coordinator_discovered', 'joining', 'joined', 'synced', 'assignment_computed', 'assignment_received', 'worker_assigned',
    'rejoin_requested', 'heartbeat_failed',
    'partitions_assigned', 'partitions_revoked', 'partitions_lost', 'leaving')
  WINDOW life AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
), change AS (
  SELECT
    *,
    lag(got) IGNORE NULLS OVER in_order AS last_got,
    lag(CASE WHEN got IS NOT NULL THEN member_id END) IGNORE NULLS OVER in_order AS last_member,
    lag(CASE WHEN got IS NOT NULL THEN event END) IGNORE NULLS OVER in_order AS last_got_by,
    lag(CASE WHEN got IS NOT NULL THEN instance END) IGNORE NULLS OVER in_order AS last_instance,
    coalesce(bool_or(event = 'coordinator_discovered') OVER before, false) AS is_found
  FROM line
  WINDOW
    in_order AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos),
    before AS (PARTITION BY process_id, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), begun AS (
  -- A member that asks again in a stable group is given the generation it has: that begins nothing.
  SELECT *, CASE
      WHEN got IS NULL THEN 0
      WHEN last_got IS NULL OR got <> last_got OR instance <> last_instance THEN 1
      WHEN member_id <> last_member THEN 1
      ELSE 0 END AS begins
  FROM change
), numbered AS (
  SELECT *, CASE WHEN got IS NOT NULL THEN sum(begins) OVER (PARTITION BY process_id, group_id, client
    ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) END AS got_round
  FROM begun
), placed AS (
  SELECT
    *,
    CASE
      WHEN got IS NOT NULL THEN got_round
      WHEN event IN ('assignment_received', 'partitions_assigned') OR event = 'assignment_computed'
        AND (generation = last_got OR generation IS NULL AND last_got_by = 'joined')
        THEN lag(got_round) IGNORE NULLS OVER (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
      -- Up to 2.6.0 the leader's assignment is printed before the only line that gives the generation.
      ELSE lag(CASE WHEN got IS NOT NULL THEN CASE WHEN begins = 1 THEN got_round ELSE 0 END END) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -stream_pos)
    END AS round,
    -- What comes next: a generation that it gets, or what a generation gave it whose line is not here.
    lag(CASE WHEN got IS NOT NULL THEN 'got' WHEN event IN ('assignment_received', 'partitions_assigned') THEN 'given' END) IGNORE NULLS
      OVER (PARTITION BY process_id, instance, group_id, client ORDER BY -stream_pos) AS next_kind
  FROM numbered
), asked AS (
  SELECT
    *,
    max(got) OVER one AS generation_of_round,
    max(CASE WHEN got IS NOT NULL THEN member_id END) OVER one AS member_of_round,
    -- Who left while it waited, or was closed and made anew under its name, and asked again, asked in vain before: that is of no
    -- generation. Who was given something after it asked got a generation that this is not.
    event IN ('joining', 'rejoin_requested', 'heartbeat_failed')
      AND stream_pos < max(CASE WHEN event = 'leaving' AND stream_pos < last_asked THEN stream_pos END) OVER one AS in_vain,
    event = 'joining' AND (next_kind = 'given' OR coalesce(stream_pos < max(CASE WHEN event = 'assignment_computed'
      AND generation < got_of_round THEN stream_pos END) OVER one, false))
      OR event = 'assignment_computed' AND coalesce(generation <> got_of_round, false) AS is_of_another
  FROM (SELECT *, max(CASE WHEN event = 'joining' THEN stream_pos END) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance,
    client, round) AS last_asked, max(got) OVER (PARTITION BY kafka_cluster, group_id, process_id, instance, client, round) AS got_of_round
    FROM placed)
  WHERE round IS NOT NULL AND round > 0
  WINDOW one AS (PARTITION BY kafka_cluster, group_id, process_id, instance, client, round)
)
SELECT
  kafka_cluster,
  group_id,
  process_id,
  instance,
  client,
  max(client_id) AS client_id,
  max(is_worker) AS is_worker,
  max(group_instance_id) AS group_instance_id,
  max(task) AS task,
  round,
  max(got) AS generation,
  max_by(member_id, stream_pos) FILTER (WHERE got IS NOT NULL AND member_id IS NOT NULL) AS member_id,
  max(protocol) FILTER (WHERE got IS NOT NULL) AS protocol,
  max_by(leader_member_id, stream_pos) FILTER (WHERE leader_member_id IS NOT NULL) AS leader_member_id,
  coalesce(bool_or(event = 'assignment_computed'), false)
    OR coalesce(max(leader_member_id) = max(CASE WHEN got IS NOT NULL THEN member_id END), false) AS is_leader,
  min(stream_pos) FILTER (WHERE got IS NOT NULL) AS from_pos,
  coalesce(bool_or(is_found), false) AS is_found,
  count_if(event = 'joining') AS joining_count,
  min(at_ms) FILTER (WHERE event = 'joining') AS joining_first_ms,
  min_by(event_id, stream_pos) FILTER (WHERE event = 'joining') AS joining_first_id,
  min(stream_pos) FILTER (WHERE event = 'joining') AS joining_first_pos,
  get(sort_array(collect_list(at_ms) FILTER (WHERE event = 'joining')), 1) AS joining_second_ms,
  get(sort_array(collect_list(struct(stream_pos, event_id)) FILTER (WHERE event = 'joining')), 1).event_id AS joining_second_id,
  max_by(at_ms, stream_pos) FILTER (WHERE event = 'joining') AS joining_last_ms,
  max_by(event_id, stream_pos) FILTER (WHERE event = 'joining') AS joining_last_id,
  max(stream_pos) FILTER (WHERE event = 'joining') AS joining_last_pos,
  min_by(at_ms, stream_pos) FILTER (WHERE is_told) AS rejoin_ms,
  min_by(event_id, stream_pos) FILTER (WHERE is_told) AS rejoin_id,
  -- Other reasons are somebody else's, or follow from an answer.
  min_by(reason, stream_pos) FILTER (WHERE event = 'rejoin_requested' AND lower(reason) RLIKE concat('metadata has changed',
    '|subscription has changed|received assignment|revoke partitions|enforced by user|shutdown requested|tasks corrupted',
    '|probing rebalance|followup rebalance')) AS asked_reason,
  min_by(at_ms, stream_pos) FILTER (WHERE event = 'joined') AS joined_ms,
  min_by(event_id, stream_pos) FILTER (WHERE event = 'joined') AS joined_id,
  min_by(at_ms, stream_pos) FILTER (WHERE event = 'assignment_computed') AS computed_ms,
  min_by(event_id, stream_pos) FILTER (WHERE event = 'assignment_computed') AS computed_id,
  min_by(at_ms, stream_pos) FILTER (WHERE event = 'synced') AS synced_ms,
  min_by(event_id, stream_pos) FILTER (WHERE event = 'synced') AS synced_id,
  min_by(at_ms, stream_pos) FILTER (WHERE event = 'worker_assigned') AS worker_assigned_ms,
  min_by(event_id, stream_pos) FILTER (WHERE event = 'worker_assigned') AS worker_assigned_id,
  max_by(CASE
      WHEN event = 'worker_assigned' THEN concat(coalesce(assigned_connectors, array()), coalesce(assigned_tasks, array()))
      ELSE partitions
    END, stream_pos) FILTER (WHERE event IN ('worker_assigned', 'assignment_received')) AS assigned,
  max_by(concat(coalesce(revoked_connectors, array()), coalesce(revoked_tasks, array())), stream_pos) FILTER (
    WHERE event = 'worker_assigned') AS revoked,
  max_by(delay_ms, stream_pos) FILTER (WHERE event = 'worker_assigned') AS delay_ms,
  min(at_ms) FILTER (WHERE event = 'partitions_assigned') AS given_ms,
  min_by(partitions, stream_pos) FILTER (WHERE event = 'partitions_assigned') AS given,
  max(at_ms) FILTER (WHERE event IN ('partitions_revoked', 'partitions_lost') AND size(partitions) > 0) AS taken_ms,
  max(resolution_ms) AS resolution_ms
FROM (
  SELECT
    *,
    -- A member that hears of a rebalance hears of the one that ends its own generation, and may miss it: the next that it gets need not be
    -- that.
    (event = 'rejoin_requested' AND reason LIKE '%already rebalancing%'
      OR event = 'heartbeat_failed' AND coalesce(error, cause, reason) RLIKE '(?i)rebalanc')
      AND last_got + 1 = generation_of_round AND last_instance = instance AND coalesce(last_member = member_of_round, true) AS is_told
  FROM asked
  WHERE NOT coalesce(in_vain, false) AND NOT coalesce(is_of_another, false)
)
GROUP BY kafka_cluster, group_id, process_id, instance, client, round

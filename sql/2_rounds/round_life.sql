-- One row per join round: how many incarnations of the group its process had seen begin by then.
-- Reads: join_round, event
-- Grain: process_id, group_id, client, round
-- A process sees a new incarnation begin if one of its clients asks to join after another client had a generation, and receives a lower one
-- or, unless it is a static member, the same one.
CREATE OR REPLACE TEMPORARY VIEW round_life (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  client        COMMENT 'Client inside the process',
  round         COMMENT 'Round of the client',
  generation    COMMENT 'Generation',
  at_ms         COMMENT 'When, by its own clock (milliseconds since 1970)',
  from_pos      COMMENT 'Position of the first line that gives the generation',
  names         COMMENT 'Member ids in its lines: its own, the leader''s, and all members if it leads a consumer group',
  member_id     COMMENT 'Its member id',
  roster        COMMENT 'Leader of a consumer group: all members of that generation',
  life          COMMENT 'Incarnations of the group that the process had seen begin; 0: the one that it saw first'
)
COMMENT 'One row per join round: how many incarnations of the group its process had seen begin by then.'
AS
WITH leader_roster AS (
  -- The leader of a consumer group prints all assignments by member id.
  SELECT event_id, map_keys(assignment) AS names FROM event WHERE event = 'assignment_computed' AND assignment IS NOT NULL
), round_with_previous AS (
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.client, r.round, r.generation,
    coalesce(r.joined_ms, r.synced_ms, r.worker_assigned_ms) AS at_ms,
    r.from_pos, r.joining_last_pos, r.joining_first_pos, r.group_instance_id, r.member_id, t.names AS roster,
      filter(concat(array(r.member_id, r.leader_member_id), coalesce(t.names, array())), m -> m IS NOT NULL) AS names,
    lag(struct(r.generation, r.from_pos, r.client)) OVER (PARTITION BY r.kafka_cluster, r.group_id, r.process_id
      ORDER BY r.from_pos) AS last
  FROM join_round r LEFT JOIN leader_roster t ON t.event_id = r.computed_id
)
SELECT kafka_cluster, group_id, process_id, client, round, generation, at_ms, from_pos, names, member_id, roster,
  -- A slow client may still print the previous generation, because it asked for it before the other client received a higher one.
  count_if(generation < last.generation AND (client = last.client OR joining_last_pos > last.from_pos)
      OR generation = last.generation AND group_instance_id IS NULL AND joining_first_pos > last.from_pos)
    OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos ROWS UNBOUNDED PRECEDING) AS life
FROM round_with_previous

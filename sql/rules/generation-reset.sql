-- One row per time that a group's metadata was lost and its generations began again.
-- Reads: generation, offsets_topic
-- Answers: why did the generation fall back to 1, and what was lost?
-- Needs: the coordinator's log, or a member's log before and after.
-- Silent when: an empty group was deleted or expired, or the coordinator repeated a number (a ghost): nothing was lost.
-- Shown by: 4.1.1-generation_reset; silent on all others.
CREATE OR REPLACE TEMPORARY VIEW rule_generation_reset (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per time that a group''s metadata was lost and its generations began again.'
AS
WITH last_of AS (
  SELECT kafka_cluster, group_id, incarnation, max(generation) AS last_generation, max_by(witness, generation) AS witness FROM generation GROUP BY kafka_cluster, group_id, incarnation
), fresh AS (
  SELECT kafka_cluster, group_id, incarnation, min(generation) AS generation, min_by(coordinator, generation) AS coordinator, min_by(protocol_type, generation) AS protocol_type,
    min_by(coalesce(prepared_ts, stabilized_ts, first_joined_ts, last_synced_ts), generation) AS ts, min_by(witness, generation) AS witness, max(incarnation_why) AS why, bool_or(seen_by_broker) AS seen_by_broker
  FROM generation
  WHERE incarnation_why = 'metadata_lost'
  GROUP BY kafka_cluster, group_id, incarnation
)
SELECT
  'critical', 'proved', f.kafka_cluster, f.group_id, concat('generation ', f.generation), f.ts, CAST(NULL AS TIMESTAMP),
  concat(f.group_id, ' lost its metadata: generation ', p.last_generation, ' was followed by generation ', f.generation),
  concat('Nothing deleted the group and it was not empty, yet its coordinator',
    CASE WHEN f.coordinator IS NOT NULL THEN concat(' (', f.coordinator, ')') ELSE '' END, ' knew nothing of it any more and began with generation ', f.generation,
    '. What is in __consumer_offsets beside the generation is lost with it: the committed offsets of this partition''s groups',
    CASE WHEN f.protocol_type = 'connect' THEN '. A Connect worker group commits nothing there, but the groups of its sinks (connect-NAME) do' ELSE '' END,
    '. Members start at the committed offset; where there is none, auto.offset.reset decides: latest skips records, earliest reads all of them again.'),
  concat('Find what happened to the partition of __consumer_offsets that holds the group: a wiped or new disk, an unclean leader election (unclean.leader.election.enable), a topic deleted by hand. ',
    CASE WHEN o.replication_factor = 1 OR o.replication_factor IS NULL AND o.configured = 1
      THEN concat('It has one replica (offsets.topic.replication.factor = ', coalesce(CAST(o.configured AS STRING), 'not printed'), '): with three, on three brokers, the loss of a disk costs nothing.')
      ELSE 'With three replicas and min.insync.replicas=2 the loss of one disk costs nothing.' END,
    ' Check the positions of every consumer that commits there (position_set and position_reset events) before you trust what was read since.'),
  slice(array_distinct(concat(slice(p.witness, -2, 2), slice(f.witness, 1, 6))), 1, 8)
FROM fresh f
LEFT JOIN last_of p ON p.kafka_cluster = f.kafka_cluster AND p.group_id = f.group_id AND p.incarnation = f.incarnation - 1
LEFT JOIN offsets_topic o ON o.kafka_cluster = f.kafka_cluster

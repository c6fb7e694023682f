-- One row per group: what kind of group it is, as any line of the case tells.
-- Reads: join_round
-- Grain: kafka_cluster, group_id
CREATE OR REPLACE TEMPORARY VIEW group_facts (
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  protocol_type  COMMENT 'connect or consumer; NULL when no member''s log is there',
  protocol       COMMENT 'Assignor or Connect protocol, when the group only ever had one',
  rebalance_mode COMMENT 'eager or cooperative, as far as a release or protocol tells'
)
COMMENT 'One row per group: what kind of group it is, as any line of the case tells.'
AS
SELECT
  kafka_cluster,
  group_id,
  CASE WHEN bool_or(is_worker) THEN 'connect' ELSE 'consumer' END AS protocol_type,
  CASE WHEN count(DISTINCT protocol) = 1 THEN max(protocol) END AS protocol,
  -- Only the incremental protocol prints what an assignment revokes.
  CASE WHEN bool_or(is_worker) AND bool_or(size(revoked) > 0) THEN 'cooperative' END AS rebalance_mode
FROM join_round
GROUP BY kafka_cluster, group_id

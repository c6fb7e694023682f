-- One row per group: its protocol type and mode, from any line of the case.
-- Reads: join_round, placed_event
-- Grain: kafka_cluster, group_id
CREATE OR REPLACE TEMPORARY VIEW group_facts (
  kafka_cluster, group_id,
  protocol_type  COMMENT 'connect, consumer, share or streams (with the broker''s protocol, KIP-1071); NULL if unknown',
  protocol       COMMENT 'Assignor or Connect protocol, if the group only ever had one',
  rebalance_mode COMMENT 'eager or cooperative, if a release or protocol shows it'
)
AS
WITH group_line AS (
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
)
SELECT kafka_cluster, group_id,
  CASE WHEN bool_or(kind = 'share') THEN 'share' WHEN bool_or(kind = 'streams') THEN 'streams' WHEN bool_or(kind = 'connect') THEN 'connect'
    ELSE 'consumer' END AS protocol_type,
  CASE WHEN count(DISTINCT protocol) = 1 THEN max(protocol) END AS protocol,
  CASE WHEN bool_or(is_cooperative) THEN 'cooperative' END AS rebalance_mode
FROM group_line GROUP BY kafka_cluster, group_id

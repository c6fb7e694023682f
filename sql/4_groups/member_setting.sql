-- One row per member and timeout: the value in force according to its group, and who printed it.
-- Reads: member, config_value, event, placed_event
-- Grain: kafka_cluster, group_id, member_id, setting
-- The member's own configuration has priority, then the coordinator's lines about the member, then the value that all other members of the group
-- share.
CREATE OR REPLACE TEMPORARY VIEW member_setting (
  kafka_cluster, group_id,
  member_id     COMMENT 'Member id; NULL: the value that all members of the group share',
  setting       COMMENT 'session.timeout.ms, heartbeat.interval.ms, max.poll.interval.ms, rebalance.timeout.ms or scheduled.rebalance.max.delay.ms',
  value_ms      COMMENT 'Value, milliseconds',
  value_how     COMMENT 'config: the member printed it; broker: the coordinator printed it; group: the value of the other members',
  event_id
)
AS
WITH printed_setting AS (
  -- A worker's settings belong to its process, whichever client prints them.
  SELECT v.process_id, v.component = 'DistributedConfig' AS is_worker,
    CASE WHEN v.component = 'ConsumerConfig' THEN v.client_id ELSE '' END AS client_id,
    v.key AS setting, try_cast(v.value AS BIGINT) AS value_ms, v.event_id
  FROM config_value v
  WHERE v.component IN ('DistributedConfig', 'ConsumerConfig') AND v.value RLIKE '^[0-9]+$'
    AND v.key IN ('session.timeout.ms', 'heartbeat.interval.ms', 'max.poll.interval.ms', 'rebalance.timeout.ms', 'scheduled.rebalance.max.delay.ms')
), member_kind AS (
  -- The member id of a worker begins with a client id that no consumer has. Its process prints a worker configuration.
  SELECT m.kafka_cluster, m.group_id, m.member_id, m.process_id, m.client_id, e.is_worker FROM member m
  JOIN (
    SELECT process_id, group_id, bool_or(client_kind <=> 'Worker') AS is_worker FROM event WHERE group_id IS NOT NULL GROUP BY process_id, group_id
  ) e ON e.process_id = m.process_id AND e.group_id = m.group_id
), unique_setting AS (
  -- Settings with the same value in all configurations that a process printed for one client.
  SELECT process_id, is_worker, client_id, setting, max(struct(event_id, value_ms)) AS found FROM printed_setting
  GROUP BY process_id, is_worker, client_id, setting
  HAVING count(DISTINCT value_ms) = 1
), member_value AS (
  SELECT k.kafka_cluster, k.group_id, k.member_id, a.setting, struct(a.found.value_ms, a.found.event_id) AS found
  FROM member_kind k
  JOIN unique_setting a ON a.process_id = k.process_id AND a.is_worker = k.is_worker
    AND a.client_id = CASE WHEN k.is_worker THEN '' ELSE k.client_id END
), coordinator_value AS (
  SELECT kafka_cluster, group_id, member_id, setting, max(struct(value_ms, event_id)) AS found
  FROM (
    SELECT kafka_cluster, group_id, member_id, event_id, 'session.timeout.ms' AS setting, session_timeout_ms AS value_ms
    FROM placed_event WHERE broker_id IS NOT NULL
    UNION ALL
    SELECT kafka_cluster, group_id, member_id, event_id, explode(array('max.poll.interval.ms', 'rebalance.timeout.ms')), rebalance_timeout_ms
    FROM placed_event WHERE broker_id IS NOT NULL
  )
  WHERE member_id IS NOT NULL AND value_ms IS NOT NULL GROUP BY kafka_cluster, group_id, member_id, setting
), group_value AS (
  SELECT kafka_cluster, group_id, setting, max(found) AS found FROM (SELECT * FROM member_value UNION ALL SELECT * FROM coordinator_value)
  GROUP BY kafka_cluster, group_id, setting
  HAVING count(DISTINCT found.value_ms) = 1
)
SELECT kafka_cluster, group_id, member_id, setting, found.value_ms, 'config' AS value_how, found.event_id FROM member_value
UNION ALL
SELECT t.kafka_cluster, t.group_id, t.member_id, t.setting, t.found.value_ms AS value_ms, 'broker' AS value_how, t.found.event_id AS event_id
FROM coordinator_value t
LEFT ANTI JOIN member_value o ON o.kafka_cluster = t.kafka_cluster AND o.group_id = t.group_id AND o.member_id = t.member_id AND o.setting = t.setting
UNION ALL
SELECT kafka_cluster, group_id, NULL AS member_id, setting, found.value_ms, 'group' AS value_how, found.event_id FROM group_value

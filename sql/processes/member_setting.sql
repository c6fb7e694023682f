-- One row per member and timeout that its group knows it by: the value in force, and who printed it.
-- Reads: member, config_value, event, process_cluster
-- Grain: kafka_cluster, group_id, member_id, setting
-- A member's own configuration comes first, then what the coordinator printed of the member, then what all others of the group have in
-- common.
CREATE OR REPLACE TEMPORARY VIEW member_setting (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  member_id     COMMENT 'Member id; NULL: what all members of the group have in common',
  setting
    COMMENT 'session.timeout.ms, heartbeat.interval.ms, max.poll.interval.ms, rebalance.timeout.ms or scheduled.rebalance.max.delay.ms',
  value_ms      COMMENT 'Value, milliseconds',
  value_how     COMMENT 'config: the member printed it; broker: the coordinator did; group: the other members'' value',
  event_id      COMMENT 'Event that printed it'
)
COMMENT 'One row per member and timeout that its group knows it by: the value in force, and who printed it.'
AS
WITH printed AS (
  -- A worker's settings are its process's, whatever client prints them.
  SELECT v.process_id, v.component = 'DistributedConfig' AS is_worker, CASE WHEN v.component = 'ConsumerConfig' THEN v.client_id ELSE ''
    END AS client_id, v.key AS setting, try_cast(v.value AS BIGINT) AS value_ms, v.event_id
  FROM config_value v
  WHERE v.component IN ('DistributedConfig', 'ConsumerConfig') AND v.value RLIKE '^[0-9]+$'
    AND v.key IN ('session.timeout.ms', 'heartbeat.interval.ms', 'max.poll.interval.ms', 'rebalance.timeout.ms',
      'scheduled.rebalance.max.delay.ms')
), kind AS (
  SELECT m.kafka_cluster, m.group_id, m.member_id, m.process_id, m.client_id,
    -- A worker's member id begins with a client id that no consumer has; its process prints a worker's configuration.
    e.is_worker
  FROM member m
  JOIN (SELECT process_id, group_id, bool_or(client_kind <=> 'Worker') AS is_worker FROM event WHERE group_id IS NOT NULL
    GROUP BY process_id, group_id) e
    ON e.process_id = m.process_id AND e.group_id = m.group_id
), alike AS (
  -- What all that a process printed of one client agree on.
  SELECT process_id, is_worker, client_id, setting, max(struct(event_id, value_ms)) AS found
  FROM printed
  GROUP BY process_id, is_worker, client_id, setting
  HAVING count(DISTINCT value_ms) = 1
), own AS (
  SELECT k.kafka_cluster, k.group_id, k.member_id, a.setting, struct(a.found.value_ms, a.found.event_id) AS found
  FROM kind k
  JOIN alike a ON a.process_id = k.process_id AND a.is_worker = k.is_worker
    AND a.client_id = CASE WHEN k.is_worker THEN '' ELSE k.client_id END
), told AS (
  SELECT c.kafka_cluster, e.group_id, e.member_id, e.setting, max(struct(e.value_ms, e.event_id)) AS found
  FROM (
    SELECT process_id, instance, stream_pos, group_id, member_id, event_id, 'session.timeout.ms' AS setting, session_timeout_ms AS value_ms
    FROM event WHERE broker_id IS NOT NULL
    UNION ALL
    SELECT process_id, instance, stream_pos, group_id, member_id, event_id, explode(array('max.poll.interval.ms', 'rebalance.timeout.ms')),
      rebalance_timeout_ms
    FROM event WHERE broker_id IS NOT NULL
  ) e
  JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.member_id IS NOT NULL AND e.value_ms IS NOT NULL
  GROUP BY c.kafka_cluster, e.group_id, e.member_id, e.setting
), common AS (
  SELECT kafka_cluster, group_id, setting, max(found) AS found
  FROM (SELECT kafka_cluster, group_id, setting, found FROM own UNION ALL SELECT kafka_cluster, group_id, setting, found FROM told)
  GROUP BY kafka_cluster, group_id, setting
  HAVING count(DISTINCT found.value_ms) = 1
)
SELECT kafka_cluster, group_id, member_id, setting, found.value_ms, 'config' AS value_how, found.event_id FROM own
UNION ALL
SELECT t.kafka_cluster, t.group_id, t.member_id, t.setting, t.found.value_ms AS value_ms, 'broker' AS value_how,
  t.found.event_id AS event_id
FROM told t LEFT ANTI JOIN own o ON o.kafka_cluster = t.kafka_cluster AND o.group_id = t.group_id AND o.member_id = t.member_id
  AND o.setting = t.setting
UNION ALL
SELECT kafka_cluster, group_id, NULL AS member_id, setting, found.value_ms, 'group' AS value_how, found.event_id FROM common

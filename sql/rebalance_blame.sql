-- One row per generation and part of its rebalance: what the time went by with, who was waited for, and which setting decided it.
-- Reads: generation, broker_generation, member_round, member, member_setting, config_value, join_round, clock_offset
-- Grain: kafka_cluster, group_id, incarnation, generation, part
-- `detection`: from the last sign that the coordinator can have had of a lost member to the rebalance. `waiting`: the join phase. `sync`: from
-- the join phase to the leader's assignment. `scheduled_delay`: a Connect group kept lost tasks for a worker to come back. What another value
-- would have given follows from the printed times alone; nothing is said where the value in force is not printed.
CREATE OR REPLACE TEMPORARY VIEW rebalance_blame (
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  incarnation   COMMENT 'Which life of the group''s metadata',
  generation    COMMENT 'Generation; of a KIP-848 group its epoch',
  part          COMMENT 'detection, waiting, sync or scheduled_delay',
  from_ts       COMMENT 'Began, by the coordinator''s clock (without its log on the reference clock, the middle of its bounds); of a detection: the last sign of the member came no later; NULL: no line tells',
  to_ts         COMMENT 'Ended; NULL: as far as the logs go it did not',
  ms            COMMENT 'How long, milliseconds; of a detection at least so long',
  member_id     COMMENT 'Member that the time went by with: lost, waited for, or leading',
  process_id    COMMENT 'Its process, where its log is here',
  setting       COMMENT 'Setting that decided how long it took; NULL: none does',
  value_ms      COMMENT 'Its value, milliseconds; NULL: not printed',
  value_how     COMMENT 'config: the member printed it; broker: the coordinator did; group: the other members'' value; assignment: the workers'' assignment names it',
  what_if       COMMENT 'What another value would have given, and what it costs',
  inferred      COMMENT 'True when no line gives the reason and it follows from what happened before',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per generation and part of its rebalance: what the time went by with, who was waited for, and which setting decided it.'
AS
WITH asked AS (
  -- When each member asked, on the coordinator's clock: who asked late made the others wait.
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation,
    min(unix_millis(r.joining_first.ts) - (o.lo_ms + o.hi_ms) DIV 2) AS first_ms,
    max(struct(unix_millis(r.joining_last.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms, r.member_id, r.joining_last.event_id AS event_id)) AS last,
    min(unix_millis(r.joined.ts) - (o.lo_ms + o.hi_ms) DIV 2) AS joined_ms
  FROM member_round r
  JOIN clock_offset o ON o.process_id = r.process_id AND o.is_island_reference
  WHERE r.joining_last.ts IS NOT NULL
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, r.generation
), broker_value AS (
  SELECT process_id, key, max_by(CAST(value AS BIGINT), struct(ts, event_id)) AS value_ms, max_by(event_id, struct(ts, event_id)) AS event_id
  FROM config_value
  WHERE component = 'KafkaConfig' AND key IN ('group.initial.rebalance.delay.ms', 'group.consumer.session.timeout.ms') AND value RLIKE '^[0-9]+$'
  GROUP BY process_id, key
), told AS (
  SELECT r.kafka_cluster, r.group_id, r.incarnation, r.generation, max(struct(j.delay_ms, j.worker_assigned_id)) AS delay
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round AND j.kafka_cluster = r.kafka_cluster
  GROUP BY r.kafka_cluster, r.group_id, r.incarnation, r.generation
), base AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.group_protocol, g.protocol_type, g.coordinator, g.prepared_ts, g.stabilized_ts, g.assigned_ts, g.trigger,
    g.trigger_inferred, g.trigger_member_id, g.reason, g.leader_member_id, g.member_count, coalesce(g.assigned_ts, g.last_synced_ts) AS settled_ts,
    b.from_empty, b.expired_member, b.expired_ts, b.expired_id, b.expired_how, b.prepared_id, b.stabilized_id, b.assigned_id,
    a.first_ms, a.last, a.joined_ms, t.delay, coalesce(t.delay.delay_ms, 0) AS delay_ms
  FROM generation g
  LEFT JOIN broker_generation b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id AND b.incarnation = g.incarnation AND b.generation = g.generation
  LEFT JOIN asked a ON a.kafka_cluster = g.kafka_cluster AND a.group_id = g.group_id AND a.incarnation = g.incarnation AND a.generation = g.generation
  LEFT JOIN told t ON t.kafka_cluster = g.kafka_cluster AND t.group_id = g.group_id AND t.incarnation = g.incarnation AND t.generation = g.generation
), turn AS (
  SELECT *,
    lag(delay_ms) OVER w AS last_delay_ms,
    -- Descending, because a frame that ends at the partition's end is computed anew for each row.
    max_by(CASE WHEN delay_ms = 0 THEN settled_ts END, CASE WHEN delay_ms = 0 THEN -generation END) OVER (
      PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS undelayed_ts
  FROM base
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
), part AS (
  SELECT kafka_cluster, group_id, incarnation, generation, protocol_type, 'detection' AS part, CAST(NULL AS TIMESTAMP) AS from_ts, prepared_ts AS to_ts,
    coalesce(trigger_member_id, expired_member) AS member_id,
    CASE WHEN group_protocol = 'consumer' THEN 'group.consumer.session.timeout.ms' ELSE 'session.timeout.ms' END AS setting,
    coordinator, trigger_inferred AS inferred, CAST(NULL AS BIGINT) AS late_ms, array(expired_id, prepared_id) AS witness
  FROM turn
  WHERE trigger = 'member_expired' AND coalesce(expired_how, '') <> 'rebalance_timeout'
  UNION ALL
  SELECT t.kafka_cluster, t.group_id, t.incarnation, t.generation, t.protocol_type, 'detection', NULL, t.prepared_ts, t.trigger_member_id,
    CASE WHEN t.protocol_type = 'connect' THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END,
    t.coordinator, t.reason NOT LIKE '%poll timeout%', NULL, array(t.prepared_id)
  FROM turn t JOIN member m ON m.kafka_cluster = t.kafka_cluster AND m.group_id = t.group_id AND m.member_id = t.trigger_member_id
  WHERE t.trigger = 'member_left' AND (m.left_client = 'poll_timeout' OR t.reason LIKE '%poll timeout%')
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, protocol_type, 'waiting', prepared_ts, stabilized_ts,
    CASE WHEN from_empty THEN NULL WHEN expired_ts > prepared_ts THEN expired_member ELSE last.member_id END,
    CASE
      WHEN from_empty THEN 'group.initial.rebalance.delay.ms'
      WHEN expired_ts > prepared_ts AND expired_how = 'session_timeout' THEN 'session.timeout.ms'
      WHEN expired_ts > prepared_ts THEN CASE WHEN protocol_type = 'connect' THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END
      WHEN last.at_ms IS NOT NULL THEN 'heartbeat.interval.ms'
    END,
    coordinator, NOT (from_empty OR coalesce(expired_ts > prepared_ts, false)), last.at_ms - unix_millis(prepared_ts),
    array(prepared_id, CASE WHEN expired_ts > prepared_ts THEN expired_id WHEN NOT from_empty THEN last.event_id END, stabilized_id)
  FROM turn
  WHERE prepared_ts IS NOT NULL AND stabilized_ts IS NOT NULL
  UNION ALL
  -- Without the coordinator's log: from the first request to join to the first answer.
  SELECT kafka_cluster, group_id, incarnation, generation, protocol_type, 'waiting', timestamp_millis(first_ms), timestamp_millis(joined_ms), last.member_id, NULL,
    coordinator, true, last.at_ms - first_ms, array(last.event_id)
  FROM turn
  WHERE prepared_ts IS NULL AND joined_ms >= first_ms
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, protocol_type, 'sync', stabilized_ts, assigned_ts, leader_member_id, NULL,
    coordinator, false, NULL, array(stabilized_id, assigned_id)
  FROM turn
  WHERE stabilized_ts IS NOT NULL AND assigned_ts IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, protocol_type, 'scheduled_delay', settled_ts, undelayed_ts, CASE WHEN trigger IN ('member_expired', 'member_left') THEN trigger_member_id END,
    'scheduled.rebalance.max.delay.ms', coordinator, false, delay_ms, array(delay.worker_assigned_id)
  FROM turn
  WHERE delay_ms > 0 AND coalesce(last_delay_ms, 0) = 0
), valued AS (
  SELECT p.*, m.process_id,
    coalesce(s.value_ms, c.value_ms, b.value_ms, CASE WHEN p.part = 'scheduled_delay' THEN p.late_ms END) AS value_ms,
    CASE WHEN s.value_ms IS NOT NULL THEN s.value_how WHEN c.value_ms IS NOT NULL THEN 'group' WHEN b.value_ms IS NOT NULL THEN 'config'
      WHEN p.part = 'scheduled_delay' THEN 'assignment' END AS value_how,
    coalesce(s.event_id, c.event_id, b.event_id) AS value_id
  FROM part p
  LEFT JOIN member m ON m.kafka_cluster = p.kafka_cluster AND m.group_id = p.group_id AND m.member_id = p.member_id
  LEFT JOIN member_setting s ON s.kafka_cluster = p.kafka_cluster AND s.group_id = p.group_id AND s.member_id = p.member_id AND s.setting = p.setting
  LEFT JOIN member_setting c ON c.kafka_cluster = p.kafka_cluster AND c.group_id = p.group_id AND c.member_id IS NULL AND c.setting = p.setting
  LEFT JOIN broker_value b ON b.process_id = p.coordinator AND b.key = p.setting
), busy AS (
  -- A member learns of a rebalance with its next heartbeat. One that asks later than that was between two polls: there the interval of polls is the limit.
  SELECT v.*, v.part = 'waiting' AND v.setting = 'heartbeat.interval.ms' AND v.late_ms > v.value_ms * 1.2 + 200 AS is_busy, l.value_ms AS limit_ms, l.value_how AS limit_how, l.event_id AS limit_id
  FROM valued v
  LEFT JOIN member_setting l ON l.kafka_cluster = v.kafka_cluster AND l.group_id = v.group_id AND l.member_id = v.member_id
    AND l.setting = CASE WHEN v.protocol_type = 'connect' THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END
), decided AS (
  SELECT kafka_cluster, group_id, incarnation, generation, part,
    CASE WHEN part = 'detection' THEN timestamp_millis(unix_millis(to_ts) - value_ms) ELSE from_ts END AS from_ts, to_ts,
    CASE WHEN part = 'detection' THEN value_ms ELSE unix_millis(to_ts) - unix_millis(from_ts) END AS ms,
    member_id, process_id, late_ms, inferred, witness,
    CASE WHEN is_busy THEN CASE WHEN protocol_type = 'connect' THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END ELSE setting END AS setting,
    CASE WHEN is_busy THEN limit_ms ELSE value_ms END AS value_ms, CASE WHEN is_busy THEN limit_how ELSE value_how END AS value_how,
    CASE WHEN is_busy THEN limit_id ELSE value_id END AS value_id, is_busy
  FROM busy
), offered AS (
  SELECT *,
    CASE
      WHEN setting = 'session.timeout.ms' THEN CASE WHEN value_ms > 10000 THEN 10000L WHEN value_ms > 6000 THEN 6000L END
      WHEN setting = 'group.consumer.session.timeout.ms' THEN CASE WHEN value_ms > 45000 THEN 45000L END
      WHEN setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms') THEN CASE WHEN value_ms > 60000 THEN 60000L END
      WHEN setting = 'heartbeat.interval.ms' THEN CASE WHEN value_ms > 1000 THEN 1000L END
      WHEN setting = 'group.initial.rebalance.delay.ms' THEN CASE WHEN value_ms > 0 THEN 0L END
      WHEN setting = 'scheduled.rebalance.max.delay.ms' THEN CASE WHEN value_ms > 60000 THEN 60000L WHEN value_ms > 0 THEN 0L END
    END AS other_ms
  FROM decided
)
SELECT
  kafka_cluster, group_id, incarnation, generation, part, from_ts, to_ts, ms, member_id, process_id, setting, value_ms, value_how,
  CASE
    WHEN other_ms IS NULL THEN CASE
      WHEN setting = 'session.timeout.ms' AND value_ms IS NOT NULL THEN concat('session.timeout.ms ', value_ms, ' is at the least that brokers allow unless group.min.session.timeout.ms is lower; nothing would be noticed much sooner') END
    WHEN part = 'detection' AND setting IN ('session.timeout.ms', 'group.consumer.session.timeout.ms') THEN concat(
      setting, ' ', value_ms, ' -> ', other_ms, ' would have noticed it ', round((value_ms - other_ms) / 1000.0, 1), ' s sooner; cost: a silence of more than ', round(other_ms / 1000.0, 1), ' s counts as death')
    WHEN part = 'detection' THEN concat(
      setting, ' ', value_ms, ' -> ', other_ms, ' would have noticed it ', round((value_ms - other_ms) / 1000.0, 1), ' s sooner; cost: work of more than ', round(other_ms / 1000.0, 1), ' s between two polls counts as stuck')
    WHEN setting = 'group.initial.rebalance.delay.ms' THEN concat(
      setting, ' ', value_ms, ' -> 0 would have ended the join phase up to ', round(least(ms, value_ms) / 1000.0, 1), ' s sooner; cost: a rebalance more for each member that comes while a group starts')
    WHEN setting = 'heartbeat.interval.ms' AND late_ms > other_ms THEN concat(
      setting, ' ', value_ms, ' -> ', other_ms, ': the last member would have learnt of the rebalance up to ', round((late_ms - other_ms) / 1000.0, 1), ' s sooner; cost: ', round(value_ms / other_ms, 1), ' times as many heartbeats')
    WHEN part = 'waiting' AND setting = 'session.timeout.ms' THEN concat(
      setting, ' ', value_ms, ' -> ', other_ms, ' would have put the silent member out up to ', round(least(ms, value_ms - other_ms) / 1000.0, 1), ' s sooner; cost: a silence of more than ', round(other_ms / 1000.0, 1), ' s counts as death')
    WHEN part = 'waiting' AND setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms') THEN CASE WHEN ms > other_ms THEN concat(
        setting, ' ', value_ms, ' -> ', other_ms, ' would have ended the wait ', round((ms - other_ms) / 1000.0, 1), ' s sooner, without that member; cost: a member that needs longer between two polls is put out')
      ELSE concat('the member was busy between two polls; ', setting, ' ', value_ms, ' only limits that: shorter rounds of work end the wait sooner') END
    WHEN part = 'scheduled_delay' AND coalesce(ms, value_ms) > other_ms THEN concat(
      setting, ' ', value_ms, ' -> ', other_ms, ' would have given the tasks to others ', round((coalesce(ms, value_ms) - other_ms) / 1000.0, 1), ' s sooner; cost: a worker that is back later than ', round(other_ms / 1000.0, 1), ' s moves its tasks twice')
  END,
  inferred,
  filter(array_distinct(concat(witness, array(value_id))), e -> e IS NOT NULL)
FROM offered

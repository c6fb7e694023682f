-- One row per generation and part of its rebalance: the time spent, the member waited for, and the setting that decided it.
-- Reads: generation, broker_generation, member, member_setting, config_value, member_side, clock_offset
-- Grain: kafka_cluster, group_id, incarnation, generation, part
-- Words: by view
-- Public: yes
-- `detection`: from the last request that the coordinator can have received from a lost member to the rebalance. `waiting`: the join phase. `sync`:
-- from the join phase to the leader's assignment. `scheduled_delay`: tasks that a Connect group held for the missing worker's return. The effect of
-- another value follows only from printed times; it is NULL if the value in force is not printed.
CREATE OR REPLACE TEMPORARY VIEW rebalance_blame (
  kafka_cluster, group_id, incarnation,
  generation    COMMENT 'Generation; for a KIP-848 group its epoch',
  part          COMMENT 'detection, waiting, sync or scheduled_delay',
  from_ts       COMMENT 'Start, by the coordinator''s clock, else by the members'' common clock (middle of bounds); NULL: unknown',
  to_ts         COMMENT 'End; NULL: it had not ended when the logs end, or only clocks that cannot be compared show it',
  ms            COMMENT 'Duration, milliseconds; for a detection at least this: the last request of the member was not after its start',
  member_id     COMMENT 'Member that took the time: lost, waited for, or leading',
  process_id    COMMENT 'Its process, if it has a log',
  setting       COMMENT 'Setting that decided the duration; NULL: none',
  value_ms      COMMENT 'Its value, milliseconds; NULL: not printed',
  value_how     COMMENT 'Source of the value: config (the member), broker (the coordinator), group (the other members) or assignment',
  other_ms      COMMENT 'Another value for comparison, milliseconds; NULL: none is useful',
  sooner_ms     COMMENT 'With that value it would have ended at most this much sooner (a detection exactly this), milliseconds',
  what_if       COMMENT 'The same in words, with the cost of that value',
  code          COMMENT 'Case of what_if; NULL: none',
  inferred      COMMENT 'True when no line gives the reason and it follows from earlier events',
  witness
)
AS
WITH broker_setting AS (
  SELECT process_id, key, max_by(try_cast(value AS BIGINT), struct(ts IS NOT NULL, ts, event_id)) AS value_ms,
    max_by(event_id, struct(ts IS NOT NULL, ts, event_id)) AS event_id
  FROM config_value
  WHERE component = 'KafkaConfig' AND value RLIKE '^[0-9]+$'
    AND key IN ('group.initial.rebalance.delay.ms', 'group.consumer.session.timeout.ms', 'group.share.session.timeout.ms',
      'group.streams.session.timeout.ms')
  GROUP BY process_id, key
), rebalance_facts AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, g.group_protocol, g.protocol_type, g.coordinator, g.trigger, g.trigger_inferred,
    g.trigger_member_id, g.reason, g.leader_member_id, g.member_count, unix_millis(g.prepared_ts) AS prepared_ms,
    unix_millis(g.stabilized_ts) AS stabilized_ms, unix_millis(g.assigned_ts) AS assigned_ms,
    unix_millis(coalesce(g.assigned_ts, g.last_synced_ts)) AS settled_ms, b.from_empty, b.expired_member, b.expired_id, b.expired_how, b.prepared_id,
    b.stabilized_id, b.assigned_id,
    -- Removed while the others waited.
    coalesce(b.expired_ms > unix_millis(g.prepared_ts) AND NOT coalesce(b.is_silent, false), false) AS has_waited_in_vain,
    coalesce(b.is_silent, false) AS is_silent,
    CASE WHEN g.protocol_type = 'connect' THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END AS poll_setting,
    -- No member is reported as the last if their clocks cannot be compared, or if a member's request is missing.
    CASE WHEN a.clocks = 1 AND NOT a.is_set_back THEN a.first_request.at_ms END AS first_ms, a.first_answer.at_ms AS joined_ms,
    a.first_request.event_id AS first_id, a.first_answer.event_id AS joined_id, CASE WHEN a.clocks = 1 THEN a.last_request.at_ms END AS last_ms,
    CASE WHEN a.clocks = 1 AND a.askers >= coalesce(g.member_count, 1) THEN struct(a.last_request.member_id, a.last_request.event_id) END AS last,
    -- How late the last member asked, if its clock and the coordinator's can be compared.
    CASE WHEN a.clocks = 1 AND a.askers >= coalesce(g.member_count, 1) AND a.clock_id = k.clock_id
      THEN a.last_request.at_ms - (unix_millis(g.prepared_ts) - k.ahead_ms) END AS late_ms,
    -- The clock that gives its end: none if it stepped, or if there are several.
    CASE WHEN g.assigned_ts IS NOT NULL THEN CASE WHEN coalesce(k.is_steady, true) THEN g.coordinator END
      WHEN a.clocks = 1 AND a.is_steady THEN a.clock_id END AS settled_by,
    a.delay, coalesce(a.delay.delay_ms, 0) AS delay_ms
  FROM generation g LEFT JOIN clock_offset k ON k.process_id = g.coordinator AND k.is_island_reference
  LEFT JOIN broker_generation b ON b.kafka_cluster = g.kafka_cluster AND b.group_id = g.group_id
    AND b.incarnation = g.incarnation AND b.generation = g.generation
  LEFT JOIN member_side a ON a.kafka_cluster = g.kafka_cluster AND a.group_id = g.group_id
    AND a.incarnation = g.incarnation AND a.generation = g.generation
), rebalance_with_next AS (
  SELECT *, lag(delay_ms) OVER (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation) AS last_delay_ms,
    -- Descending, because a frame that ends at the partition's end is recomputed for each row.
    max_by(CASE WHEN delay_ms = 0 THEN struct(settled_ms, settled_by) END, CASE WHEN delay_ms = 0 THEN -generation END)
      OVER (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS undelayed
  FROM rebalance_facts
), rebalance_part AS (
  SELECT kafka_cluster, group_id, incarnation, generation, poll_setting, 'detection' AS part, CAST(NULL AS BIGINT) AS from_ms, prepared_ms AS to_ms,
    coalesce(trigger_member_id, expired_member) AS member_id,
    CASE WHEN group_protocol <> 'classic' THEN concat('group.', group_protocol, '.session.timeout.ms') ELSE 'session.timeout.ms' END AS setting,
    coordinator, trigger_inferred AS inferred, CAST(NULL AS BIGINT) AS late_ms,
    -- Another may have been removed while they waited.
    array(CASE WHEN coalesce(expired_member = trigger_member_id, true) THEN expired_id END, prepared_id) AS witness
  FROM rebalance_with_next WHERE trigger = 'member_expired'
  UNION ALL
  SELECT t.kafka_cluster, t.group_id, t.incarnation, t.generation, t.poll_setting, 'detection', NULL, t.prepared_ms, t.trigger_member_id,
    t.poll_setting, t.coordinator, t.reason NOT LIKE '%poll timeout%', NULL, array(t.prepared_id)
  FROM rebalance_with_next t
  JOIN member m ON m.kafka_cluster = t.kafka_cluster AND m.group_id = t.group_id AND m.member_id = t.trigger_member_id
  WHERE t.trigger = 'member_left' AND (m.left_client = 'poll_timeout' OR t.reason LIKE '%poll timeout%')
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, poll_setting, 'waiting', prepared_ms, stabilized_ms,
    -- The join phase ends when the last member has asked: if it does not, it waits for a member without log lines, or one that has gone.
    CASE WHEN from_empty OR is_silent THEN NULL WHEN has_waited_in_vain THEN expired_member
      WHEN coalesce(stabilized_ms - prepared_ms - late_ms <= heartbeat_late_ms, true) THEN last.member_id END,
    CASE WHEN from_empty THEN 'group.initial.rebalance.delay.ms'
      WHEN is_silent THEN NULL
      WHEN has_waited_in_vain AND expired_how IN ('session_timeout', 'pending_timeout') THEN 'session.timeout.ms'
      WHEN has_waited_in_vain THEN poll_setting
      WHEN stabilized_ms - prepared_ms - late_ms <= heartbeat_late_ms THEN 'heartbeat.interval.ms' END,
    coordinator, NOT (from_empty OR has_waited_in_vain), late_ms,
    array(prepared_id, CASE WHEN has_waited_in_vain THEN expired_id WHEN NOT from_empty THEN last.event_id END, stabilized_id)
  FROM rebalance_with_next WHERE prepared_ms IS NOT NULL AND stabilized_ms IS NOT NULL
  UNION ALL
  -- Without the coordinator's log: from the first request to join to the first answer.
  SELECT kafka_cluster, group_id, incarnation, generation, poll_setting, 'waiting', first_ms, joined_ms,
    CASE WHEN joined_ms - last_ms <= heartbeat_late_ms THEN last.member_id END, NULL,
    coordinator, true, last_ms - first_ms, array(first_id, last.event_id, joined_id)
  FROM rebalance_with_next WHERE (prepared_ms IS NULL OR stabilized_ms IS NULL) AND joined_ms >= first_ms
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, poll_setting, 'sync', stabilized_ms, assigned_ms, leader_member_id, NULL, coordinator,
    false, NULL, array(stabilized_id, assigned_id)
  FROM rebalance_with_next WHERE stabilized_ms IS NOT NULL AND assigned_ms IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, group_id, incarnation, generation, poll_setting, 'scheduled_delay', settled_ms,
    CASE WHEN undelayed.settled_by = settled_by THEN undelayed.settled_ms END,
    CASE WHEN trigger IN ('member_expired', 'member_left') THEN trigger_member_id END,
    'scheduled.rebalance.max.delay.ms', coordinator, false, delay_ms, array(delay.worker_assigned_id)
  FROM rebalance_with_next WHERE delay_ms > 0 AND coalesce(last_delay_ms, 0) = 0
), part_with_setting AS (
  SELECT p.*, m.process_id, coalesce(s.value_ms, c.value_ms, b.value_ms, CASE WHEN p.part = 'scheduled_delay' THEN p.late_ms END) AS value_ms,
    CASE WHEN s.value_ms IS NOT NULL THEN s.value_how WHEN c.value_ms IS NOT NULL THEN 'group' WHEN b.value_ms IS NOT NULL THEN 'config'
      WHEN p.part = 'scheduled_delay' THEN 'assignment' END AS value_how,
    coalesce(s.event_id, c.event_id, b.event_id) AS value_id
  FROM rebalance_part p LEFT JOIN member m ON m.kafka_cluster = p.kafka_cluster AND m.group_id = p.group_id AND m.member_id = p.member_id
  LEFT JOIN member_setting s ON s.kafka_cluster = p.kafka_cluster AND s.group_id = p.group_id AND s.member_id = p.member_id AND s.setting = p.setting
  LEFT JOIN member_setting c ON c.kafka_cluster = p.kafka_cluster AND c.group_id = p.group_id AND c.member_id IS NULL AND c.setting = p.setting
  LEFT JOIN broker_setting b ON b.process_id = p.coordinator AND b.key = p.setting
), part_with_limit AS (
  -- A member learns of a rebalance with its next heartbeat. One that asks later than that was between two polls: there the interval of polls is the
  -- limit.
  SELECT v.*, l.value_ms AS limit_ms, l.value_how AS limit_how, l.event_id AS limit_id,
    v.part = 'waiting' AND v.setting = 'heartbeat.interval.ms'
      AND v.late_ms > v.value_ms * (100 + heartbeat_slack_percent) / 100 + heartbeat_slack_ms AS is_busy
  FROM part_with_setting v
  LEFT JOIN member_setting l ON l.kafka_cluster = v.kafka_cluster AND l.group_id = v.group_id AND l.member_id = v.member_id
    AND l.setting = v.poll_setting
), decided_part AS (
  SELECT kafka_cluster, group_id, incarnation, generation, part, to_ms, member_id, process_id, late_ms, inferred, witness,
    CASE WHEN part = 'detection' THEN to_ms - value_ms ELSE from_ms END AS from_ms,
    CASE WHEN part = 'detection' THEN value_ms ELSE to_ms - from_ms END AS ms, CASE WHEN is_busy THEN poll_setting ELSE setting END AS setting,
    CASE WHEN is_busy THEN limit_ms ELSE value_ms END AS value_ms, CASE WHEN is_busy THEN limit_how ELSE value_how END AS value_how,
    CASE WHEN is_busy THEN limit_id ELSE value_id END AS value_id
  FROM part_with_limit
), compared_part AS (
  -- The first of these values that is below the one in force.
  SELECT *,
    CASE WHEN setting = 'session.timeout.ms' THEN CASE WHEN value_ms > other_session_ms THEN other_session_ms
        WHEN value_ms > least_session_ms THEN least_session_ms END
      WHEN setting = 'group.consumer.session.timeout.ms' THEN CASE WHEN value_ms > least_consumer_session_ms THEN least_consumer_session_ms END
      WHEN setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms') THEN CASE WHEN value_ms > other_poll_ms THEN other_poll_ms END
      WHEN setting = 'heartbeat.interval.ms' THEN CASE WHEN value_ms > other_heartbeat_ms THEN other_heartbeat_ms END
      WHEN setting = 'group.initial.rebalance.delay.ms' THEN CASE WHEN value_ms > 0 THEN 0L END
      WHEN setting = 'scheduled.rebalance.max.delay.ms' THEN CASE WHEN value_ms > other_delay_ms THEN other_delay_ms
        WHEN value_ms > 0 THEN 0L END END AS other_ms
  FROM decided_part
), coded_part AS (
  SELECT *,
    CASE WHEN setting = 'session.timeout.ms' AND value_ms IS NOT NULL AND other_ms IS NULL THEN 'least_session'
      WHEN other_ms IS NULL THEN NULL
      WHEN part = 'detection' AND setting IN ('session.timeout.ms', 'group.consumer.session.timeout.ms') THEN 'silence_noticed_sooner'
      WHEN part = 'detection' THEN 'stuck_noticed_sooner'
      WHEN setting = 'group.initial.rebalance.delay.ms' THEN 'start_delayed_less'
      WHEN setting = 'heartbeat.interval.ms' AND late_ms > other_ms THEN 'rebalance_learnt_sooner'
      WHEN part = 'waiting' AND setting = 'session.timeout.ms' THEN 'silent_put_out_sooner'
      WHEN part = 'waiting' AND setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms') AND ms > other_ms THEN 'busy_put_out_sooner'
      WHEN part = 'waiting' AND setting IN ('max.poll.interval.ms', 'rebalance.timeout.ms') THEN 'busy_came_in_time'
      WHEN part = 'scheduled_delay' AND coalesce(ms, value_ms) > other_ms THEN 'tasks_given_sooner' END AS code
  FROM compared_part
)
SELECT kafka_cluster, group_id, incarnation, generation, part, timestamp_millis(from_ms) AS from_ts, timestamp_millis(to_ms) AS to_ts, ms, member_id,
  process_id, setting, value_ms, value_how, CASE WHEN code IS NOT NULL THEN other_ms END AS other_ms,
  CASE code
    WHEN 'silence_noticed_sooner' THEN value_ms - other_ms WHEN 'stuck_noticed_sooner' THEN value_ms - other_ms
    WHEN 'start_delayed_less' THEN least(ms, value_ms)
    WHEN 'rebalance_learnt_sooner' THEN late_ms - other_ms
    WHEN 'silent_put_out_sooner' THEN least(ms, value_ms - other_ms)
    WHEN 'busy_put_out_sooner' THEN ms - other_ms
    -- A longer time also has other reasons.
    WHEN 'tasks_given_sooner' THEN least(ms, value_ms) - other_ms END AS sooner_ms,
  CAST(NULL AS STRING) AS what_if, code, inferred, filter(array_distinct(concat(witness, array(value_id))), e -> e IS NOT NULL) AS witness
FROM coded_part

-- One row per time that one cause made a group rebalance again: a member that returned, a connector that changed again, or a round without
-- a change.
-- Reads: generation, member_generation, member, fact_line, worker_group, clock_offset
-- Grain: kafka_cluster, group_id, kind, subject, at_ms
-- A member is identified by its process and client, by its group.instance.id, or by its client id and host. A member known only by its id can never
-- return.
CREATE OR REPLACE TEMPORARY VIEW storm_round (
  kafka_cluster, group_id,
  kind COMMENT 'returning (a member left and joined again), connector (its configuration changed), idle (same members and assignment as before)',
  subject       COMMENT 'Member''s process or client, connector, or the member that asked for the idle round',
  at_ms         COMMENT 'When (reference clock, middle of its bounds; milliseconds since 1970)',
  how           COMMENT 'returning: how the previous membership ended; connector: updated, removed or state; idle: trigger',
  event_id
)
AS
WITH group_round AS (
  SELECT kafka_cluster, group_id, incarnation, generation,
    unix_millis(coalesce(stabilized_ts, first_joined_ts, last_synced_ts, prepared_ts)) AS at_ms, trigger, trigger_member_id, witness[0] AS event_id,
    -- Older coordinators print no member count, only the reason of the rebalance.
    CASE WHEN is_count_told OR NOT trigger_inferred AND trigger IN ('leader_rejoined', 'member_rejoined', 'member_metadata_changed', 'other')
      THEN member_count END AS member_count
  FROM generation
), member_name AS (
  SELECT kafka_cluster, group_id, member_id, left_client, left_broker, task,
    coalesce(concat(process_id, CASE WHEN task IS NOT NULL THEN concat(' (task ', task, ')') ELSE '' END), group_instance_id, CASE
      WHEN client_host IS NOT NULL THEN concat(client_id, ' at ', client_host) END, member_id) AS place
  FROM member
), membership AS (
  SELECT n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task, min(r.at_ms) AS at_ms, max(r.at_ms) AS last_ms,
    min_by(r.event_id, struct(r.at_ms IS NOT NULL, r.at_ms, r.event_id)) AS event_id
  FROM member_generation g JOIN member_name n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.member_id = g.member_id
  JOIN group_round r ON r.kafka_cluster = g.kafka_cluster AND r.group_id = g.group_id AND r.incarnation = g.incarnation
    AND r.generation = g.generation
  GROUP BY n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task
  UNION ALL
  -- Only the coordinator's log is available: the member that triggered the rebalance by joining.
  SELECT n.kafka_cluster, n.group_id, n.place, n.member_id, n.left_client, n.left_broker, n.task, r.at_ms, r.at_ms AS last_ms, r.event_id
  FROM group_round r
  JOIN member_name n ON n.kafka_cluster = r.kafka_cluster AND n.group_id = r.group_id AND n.member_id = r.trigger_member_id
  LEFT ANTI JOIN member_generation g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.member_id = r.trigger_member_id
  WHERE r.trigger = 'member_joined'
), membership_edge AS (
  SELECT kafka_cluster, group_id, place, member_id, task, at_ms, 0 AS is_end, event_id, CAST(NULL AS STRING) AS ended FROM membership
  UNION ALL
  SELECT kafka_cluster, group_id, place, member_id, task, last_ms AS at_ms, 1 AS is_end, event_id,
    coalesce(nullif(left_client, 'unknown'), nullif(left_broker, 'unknown'), 'gone')
  FROM membership
), edge_with_previous AS (
  -- Several consumers of one process join one after the other, which is no return: one of them must have ended since the last join.
  SELECT *, lag(is_end) OVER w AS after_end, lag(ended) OVER w AS last_ended FROM membership_edge
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, place ORDER BY at_ms, is_end, member_id)
), reporting_worker AS (
  -- All workers read the changes, so only the worker with the most lines counts.
  SELECT f.kafka_cluster, w.group_id, f.process_id,
    row_number() OVER (PARTITION BY f.kafka_cluster, w.group_id ORDER BY count(*) DESC, f.process_id) AS nth
  FROM fact_line f JOIN worker_group w ON w.process_id = f.process_id AND w.instance = f.instance
  WHERE f.event IN ('connector_config_updated', 'connector_config_removed', 'connector_target_state_changed')
  GROUP BY f.kafka_cluster, w.group_id, f.process_id
), round_signature AS (
  SELECT g.kafka_cluster, g.group_id, g.incarnation, g.generation, count(*) AS seen, bool_and(g.state = 'synced' AND g.assigned IS NOT NULL) AS whole,
    coalesce(max(size(g.revoked)), 0) > 0 AS revokes,
    sha2(array_join(array_sort(collect_list(concat_ws('|', coalesce(n.place, g.member_id), array_join(array_sort(g.assigned), ',')))), ';'),
      256) AS sign
  FROM member_generation g
  LEFT JOIN member_name n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.member_id = g.member_id
  GROUP BY g.kafka_cluster, g.group_id, g.incarnation, g.generation
), unchanged_round AS (
  -- There must be no other members: if no line prints their number, others may have come and gone. Partitions that are revoked in one round are gone,
  -- or assigned to another member, in the next.
  SELECT r.*, s.sign = lag(s.sign) OVER w AND s.whole AND lag(s.whole) OVER w AND s.seen = r.member_count AND lag(s.seen = r.member_count)
    OVER w AND r.generation = lag(r.generation) OVER w + 1 AND NOT lag(s.revokes) OVER w AS same, lag(r.at_ms) OVER w AS last_ms
  FROM group_round r
  JOIN round_signature s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.incarnation = r.incarnation
    AND s.generation = r.generation
  WINDOW w AS (PARTITION BY r.kafka_cluster, r.group_id, r.incarnation ORDER BY r.generation)
), connector_change AS (
  SELECT f.kafka_cluster, w.group_id, f.connector, f.event, f.at_ms - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms, f.event_id
  FROM fact_line f JOIN reporting_worker w ON w.kafka_cluster = f.kafka_cluster AND w.process_id = f.process_id AND w.nth = 1
  JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('connector_config_updated', 'connector_config_removed', 'connector_target_state_changed') AND f.connector IS NOT NULL
)
SELECT kafka_cluster, group_id, 'returning' AS kind, place AS subject, at_ms, last_ended AS how, event_id FROM edge_with_previous
-- A sink task's consumer that its worker stops and starts is not the cause; the worker's group is. If no line shows its end, it may be one.
WHERE is_end = 0 AND after_end = 1 AND place <> member_id AND NOT (task IS NOT NULL AND last_ended IN ('left', 'gone'))
UNION ALL
SELECT kafka_cluster, group_id, 'connector' AS kind, connector AS subject, at_ms,
  CASE event WHEN 'connector_config_updated' THEN 'updated' WHEN 'connector_config_removed' THEN 'removed' ELSE 'state' END AS how, event_id
FROM connector_change
UNION ALL
SELECT i.kafka_cluster, i.group_id, 'idle' AS kind, coalesce(n.place, i.trigger_member_id, 'nobody known') AS subject, i.at_ms, i.trigger AS how,
  i.event_id
FROM unchanged_round i
LEFT JOIN member_name n ON n.kafka_cluster = i.kafka_cluster AND n.group_id = i.group_id AND n.member_id = i.trigger_member_id
LEFT ANTI JOIN connector_change c ON c.kafka_cluster = i.kafka_cluster AND c.group_id = i.group_id
  AND c.at_ms <= i.at_ms AND c.at_ms >= i.last_ms - storm_change_ms
WHERE i.same

-- One row per rolling restart of a group: two or more of its processes left it on purpose, one after another, and came back.
-- Reads: client_event, process_ending, clock_offset, generation, unowned, member_setting
-- A process that leaves a second time within storm_gap_ms begins another one; more often than that it is a storm. A member that was
-- removed because its session timed out, or left because it exceeded the poll timeout, did not leave on purpose.
WITH member_step AS (
  SELECT e.*, o.lo_ms + (o.hi_ms - o.lo_ms) DIV 2 AS ahead_ms,
    lead(struct(event, at_ms, event_id)) OVER (PARTITION BY e.process_id, group_id, client ORDER BY stream_pos, event_id) AS next
  FROM client_event e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE task IS NULL AND group_id IS NOT NULL AND at_ms IS NOT NULL
    AND (event IN ('joining', 'joined', 'synced', 'worker_assigned', 'partitions_assigned')
      OR event = 'leaving' AND coalesce(reason, 'closed') LIKE '%clos%')
), departure AS (
  SELECT kafka_cluster, group_id, process_id, client, member_id, is_worker, group_instance_id IS NOT NULL AS is_static,
    at_ms - ahead_ms AS left_ms, next.at_ms - ahead_ms AS back_ms, next.at_ms - at_ms AS away_ms, event_id, next.event_id AS back_id
  FROM member_step WHERE event = 'leaving' AND next.event <> 'leaving' AND next.at_ms >= at_ms
  UNION ALL
  -- Before 2.4 clients do not print that they leave.
  SELECT r.kafka_cluster, r.group_id, r.process_id, '-' AS client, NULL, true, false, r.from_hi_ms, r.to_hi_ms, r.to_hi_ms - r.from_lo_ms,
    r.witness[0], element_at(r.witness, -1)
  FROM process_ending r
  LEFT ANTI JOIN (SELECT process_id, group_id FROM member_step WHERE event = 'leaving') m ON m.process_id = r.process_id AND m.group_id = r.group_id
  WHERE NOT r.is_broker AND r.is_deployment IS NOT NULL
), departure_in_series AS (
  SELECT *, count_if(coalesce(left_ms - last_ms > storm_gap_ms, true)) OVER (PARTITION BY kafka_cluster, group_id
    ORDER BY left_ms, process_id, client ROWS UNBOUNDED PRECEDING) AS series
  FROM (SELECT *, lag(back_ms) OVER (PARTITION BY kafka_cluster, group_id ORDER BY left_ms, process_id, client) AS last_ms FROM departure)
), departure_in_round AS (
  SELECT *, max(nth) OVER (PARTITION BY kafka_cluster, group_id, series) AS most
  FROM (
    SELECT *, row_number() OVER (PARTITION BY kafka_cluster, group_id, series, process_id, client ORDER BY left_ms, event_id) AS nth
    FROM departure_in_series
  )
), rolling AS (
  SELECT d.kafka_cluster, d.group_id, d.series, d.nth, bool_or(d.is_worker) AS is_connect, count(*) AS restarts,
    array_sort(collect_set(d.process_id)) AS processes, min(d.left_ms) AS from_ms, max(d.back_ms) AS to_ms, max(d.away_ms) AS away_ms,
    max(s.value_ms) AS session_ms, count_if(d.is_static) AS static_members,
    count_if(NOT d.is_worker AND NOT d.is_static AND d.away_ms < s.value_ms) AS short_restarts,
    slice(flatten(transform(sort_array(collect_list(struct(d.left_ms, d.event_id, d.back_id))), x -> array(
      named_struct('role', 'leaves', 'event_id', x.event_id), named_struct('role', 'is back', 'event_id', x.back_id)))), 1, 12) AS proof
  FROM departure_in_round d
  LEFT JOIN member_setting s ON s.kafka_cluster = d.kafka_cluster AND s.group_id = d.group_id AND s.member_id = d.member_id
    AND s.setting = 'session.timeout.ms'
  WHERE d.most < storm_returns GROUP BY d.kafka_cluster, d.group_id, d.series, d.nth HAVING count(DISTINCT d.process_id) > 1
), rolling_until AS (
  -- The last return, and the rebalances that follow from it.
  SELECT *, least(to_ms + storm_edge_ms, lead(from_ms) OVER (PARTITION BY kafka_cluster, group_id ORDER BY from_ms, nth)) AS until_ms FROM rolling
), rebalance AS (
  SELECT r.kafka_cluster, r.group_id, r.from_ms, count(*) AS rebalances, count_if(g.trigger IN ('member_left', 'member_gone')) AS by_leaving,
    count_if(g.trigger = 'member_joined') AS by_joining, count_if(g.trigger = 'member_expired') AS by_expiry,
    max(g.rebalance_mode = 'eager') AS is_eager, max(g.group_protocol = 'classic') AS is_classic,
    coalesce(max(g.assignor <> g.last_assignor OR g.group_protocol <> g.last_protocol), false) AS is_changed
  FROM rolling_until r
  JOIN (
    SELECT *, unix_millis(coalesce(prepared_ts, first_asked_ts, stabilized_ts, first_joined_ts, last_synced_ts)) AS at_ms,
      lag(assignor) OVER w AS last_assignor, lag(group_protocol) OVER w AS last_protocol
    FROM generation
    WINDOW w AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
  ) g ON g.kafka_cluster = r.kafka_cluster AND g.group_id = r.group_id AND g.at_ms BETWEEN r.from_ms - heartbeat_late_ms AND r.until_ms
  GROUP BY r.kafka_cluster, r.group_id, r.from_ms
), resource_without_owner AS (
  SELECT r.kafka_cluster, r.group_id, r.from_ms, u.resource, max(u.resource_kind) AS kind, sum(u.certain_ms) AS idle_ms,
    sum(CASE u.why WHEN 'scheduled_delay' THEN u.certain_ms END) AS held_ms, max(u.delay_ms) AS delay_ms
  FROM rolling_until r
  JOIN unowned u ON u.kafka_cluster = r.kafka_cluster AND u.group_id = r.group_id AND u.resource_kind <> 'connector'
    AND u.why <> 'failure' AND u.certain_ms > 0 AND unix_millis(u.from_hi) BETWEEN r.from_ms - heartbeat_late_ms AND r.until_ms
  GROUP BY r.kafka_cluster, r.group_id, r.from_ms, u.resource
), without_owner AS (
  SELECT kafka_cluster, group_id, from_ms, count(*) AS resources, max(kind) AS kind, max(struct(idle_ms, resource)) AS longest,
    sum(idle_ms) AS idle_ms, count(held_ms) AS held, max(held_ms) AS held_ms, max(delay_ms) AS delay_ms
  FROM resource_without_owner GROUP BY kafka_cluster, group_id, from_ms
)
SELECT 'note' AS severity, 'proved' AS verdict, r.kafka_cluster, r.group_id, array_join(slice(r.processes, 1, 10), ', ') AS subject, r.from_ms,
  r.to_ms, CASE WHEN r.is_connect THEN 'workers' ELSE 'consumers' END AS code,
  struct(r.processes, r.restarts, r.to_ms - r.from_ms AS lasted_ms, b.rebalances, b.by_leaving, b.by_joining, b.by_expiry,
    coalesce(o.resources, 0) AS resources, o.kind, o.longest.resource AS longest_resource, o.longest.idle_ms AS longest_ms, o.idle_ms AS sum_ms,
    o.held, o.held_ms, o.delay_ms, r.away_ms, r.session_ms, r.short_restarts, r.static_members, b.is_changed, b.is_eager, b.is_classic) AS facts,
  r.proof
FROM rolling_until r JOIN rebalance b ON b.kafka_cluster = r.kafka_cluster AND b.group_id = r.group_id AND b.from_ms = r.from_ms
LEFT JOIN without_owner o ON o.kafka_cluster = r.kafka_cluster AND o.group_id = r.group_id AND o.from_ms = r.from_ms

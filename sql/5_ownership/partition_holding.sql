-- One row per unbroken time in which one consumer held one partition, by the consumer's own clock.
-- Reads: client_event, event, process_life, task_life, log_hole, member_heard, owned_list, open_partition
-- Grain: process_id, client, resource, from_pos
-- Holding a partition is not working on it: a consumer that is paused beyond its session keeps its assignment until it learns of the loss. An eager
-- member revokes everything before it asks to join. If it asked to join, or joined, without a revocation, that line is missing; the same is true if
-- it was closed. Its holding is then certain until the line before. A member that misses its poll timeout leaves through its heartbeat thread and
-- revokes its partitions in its next poll, so it held them when it left. Spring's monitor later reports the missing poll and the assigned partitions.
-- A partition that is missing from a later list of all owned partitions was revoked before, by a missing line. Partitions that a consumer held when
-- its log begins follow from later lines (open_partition). A member that its coordinator hears from in the generation that assigned a partition still
-- holds it, even if it prints nothing. A KIP-848 consumer whose assignment is known only from the line that compares it with its partitions holds the
-- new ones later, when it leaves that state; before, it revokes others, commits, and waits for its application to poll. If such a line revokes a
-- partition, and no other line does, it is certainly held until that line.
CREATE OR REPLACE TEMPORARY VIEW partition_holding (
  kafka_cluster, group_id,
  resource      COMMENT 'Topic partition',
  process_id,
  process_instance COMMENT 'Which run of the process',
  client, member_id,
  generation    COMMENT 'Generation that assigned it',
  before_generation COMMENT 'It held the partition before it joined that generation, if the log begins later than the holding; NULL: it does not',
  from_pos      COMMENT 'Position of the assignment, or just before the consumer''s first line',
  start_ms      COMMENT 'Assigned, or the consumer''s first line if the log begins later (milliseconds since 1970)',
  start_hi_ms   COMMENT 'Certainly held from this time on; NULL: no line shows that it was held',
  start_how     COMMENT 'seen: a line assigns it; open: the log begins later',
  start_id      COMMENT 'Event of the assignment; NULL: the log begins later',
  start_sign_id COMMENT 'Event at start_hi_ms',
  shown_id      COMMENT 'Event that shows that it held the partition, if the log begins later; NULL: it does not',
  stop_lo_ms    COMMENT 'Certainly held until this time',
  stop_hi_ms    COMMENT 'Certainly no longer held from this time on; NULL: unknown',
  stop_how      COMMENT 'revoked, lost, client_closed, client_made_again, tasks_stopped (all tasks of the sink), process_restarted, not_listed
    (missing from a later list of all owned partitions); NULL: unknown',
  stop_id       COMMENT 'Its event',
  is_stop_lost  COMMENT 'True if lines are missing after the last one at which it was certainly held, so its end is, or may be, among them',
  heard_ms      COMMENT 'Its coordinator certainly heard from it at this time, after its last line; NULL: unknown',
  heard_id      COMMENT 'Line in which the coordinator removed it'
)
AS
WITH last_open_line AS (
  -- Lines that only an open consumer prints. Any other line with its name may come from its closing.
  SELECT process_id, instance, group_id, client, max(at_ms) AS last_line_ms
  FROM (
    SELECT process_id, instance, group_id, client, at_ms FROM client_event WHERE NOT is_worker
    UNION ALL
    SELECT process_id, instance, group_id, client_id, unix_millis(ts)
    FROM event
    WHERE event IN ('heartbeat_sent', 'heartbeat_ok', 'fetch_position', 'position_set', 'offset_committed') AND client_id IS NOT NULL
  )
  GROUP BY process_id, instance, group_id, client
), assignment_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, stream_pos, at_ms, event_id, event,
    coalesce(member_id, lag(member_id) IGNORE NULLS OVER w) AS member_id, coalesce(generation, lag(generation) IGNORE NULLS OVER w) AS generation,
    lead(event) OVER w AS next_event, partitions
  FROM client_event WHERE NOT is_worker
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
), rejoin_or_close AS (
  -- The points at which an eager member took part in another rebalance, or a member left or was closed, with the time of the previous line.
  SELECT process_id, instance, client, sort_array(collect_list(struct(stream_pos, event, last_ms))) AS marks
  FROM (
    SELECT process_id, instance, client, stream_pos, event, is_overdue,
      coalesce(protocol, lag(protocol) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos),
        min(CASE WHEN protocol IS NOT NULL THEN struct(stream_pos, protocol) END) OVER (PARTITION BY process_id, instance,
          client).protocol) AS protocol,
      -- Without the lines that may come between the missing line and this one.
      max(CASE WHEN event NOT IN ('leaving', 'client_closed', 'coordinator_discovered', 'partitions_revoked', 'partitions_lost', 'rejoin_requested',
        'join_failed', 'generation_reset', 'member_fenced') OR is_overdue THEN at_ms END)
        OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_ms
    FROM (
      SELECT process_id, instance, client, stream_pos, at_ms, event, protocol,
        event = 'leaving' AND (coalesce(reason LIKE '%poll timeout%', false)
          OR lag(event) OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos) <=> 'poll_timeout') AS is_overdue
      FROM client_event WHERE NOT is_worker
      UNION ALL
      SELECT process_id, instance, client_id, stream_pos, unix_millis(ts), event, CAST(NULL AS STRING), false
      FROM event WHERE event = 'client_closed' AND client_id IS NOT NULL
    )
  )
  WHERE event = 'leaving' AND NOT is_overdue OR event = 'client_closed' OR event IN ('joining', 'joined', 'synced')
    AND coalesce(protocol, '') NOT LIKE '%cooperative%' AND coalesce(protocol, '') NOT LIKE 'stream%'
  GROUP BY process_id, instance, client
), consumer_creation AS (
  -- A consumer prints its configuration when it is created. A client id that is created again has no partitions from before.
  SELECT process_id, instance, config['client.id'] AS client,
    sort_array(collect_list(struct(stream_pos AS pos, false AS is_own, unix_millis(ts) AS at_ms, 'client_made_again' AS how, event_id))) AS lines
  FROM event WHERE event = 'config_dumped' AND component = 'ConsumerConfig' AND config['client.id'] <> ''
  GROUP BY process_id, instance, config['client.id']
), all_assigned AS (
  -- All partitions that a consumer ever had.
  SELECT kafka_cluster, group_id, process_id, instance, client, array_distinct(flatten(collect_list(partitions))) AS partitions
  FROM (
    SELECT kafka_cluster, group_id, process_id, instance, client, partitions FROM assignment_line WHERE event = 'partitions_assigned'
    UNION ALL
    SELECT kafka_cluster, group_id, process_id, instance, client, array(resource) FROM open_partition
  )
  GROUP BY kafka_cluster, group_id, process_id, instance, client
), unlisted_loss AS (
  -- A consumer reports that it loses all partitions, and the line that names them is missing.
  SELECT process_id, instance, client, stream_pos, at_ms, event_id
  FROM (
    SELECT process_id, instance, client_id AS client, stream_pos, unix_millis(ts) AS at_ms, event_id, event,
      lead(event) OVER (PARTITION BY process_id, instance, client_id ORDER BY stream_pos) AS next_event
    FROM event
    WHERE event IN ('assignment_given_up', 'partitions_assigned', 'partitions_lost', 'partitions_revoked') AND client_id IS NOT NULL
  )
  WHERE event = 'assignment_given_up' AND coalesce(next_event, 'partitions_assigned') = 'partitions_assigned'
), partition_change AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, o.instance, o.client, o.member_id, o.generation, o.from_pos - 1 AS stream_pos, o.from_ms AS at_ms,
    o.from_id AS event_id, l.last_line_ms, o.resource, 'given' AS what, false AS is_late, false AS is_announced, o.before_generation, o.shown_id
  FROM open_partition o
  JOIN last_open_line l ON l.process_id = o.process_id AND l.instance = o.instance AND l.group_id = o.group_id AND l.client = o.client
  UNION ALL
  SELECT g.kafka_cluster, g.group_id, g.process_id, g.instance, g.client, g.member_id, g.generation, g.stream_pos, g.at_ms, g.event_id,
    l.last_line_ms, explode(g.partitions) AS resource,
    CASE g.event WHEN 'partitions_assigned' THEN 'given' WHEN 'partitions_revoked' THEN 'revoked' ELSE 'lost' END AS what,
    -- A KIP-848 member first prints the partitions that it is about to revoke. If there is only its listener's line, and it does not leave, that
    -- first line is missing.
    k.event <=> 'partitions_revoked' AND g.generation IS NULL AND NOT g.next_event <=> 'leaving' AS is_late,
    k.event <=> 'reconciling' AS is_announced, NULL, NULL
  FROM assignment_line g
  JOIN last_open_line l ON l.process_id = g.process_id AND l.instance = g.instance AND l.group_id = g.group_id AND l.client = g.client
  LEFT JOIN (
    SELECT event_id, event FROM event WHERE event = 'partitions_revoked' AND logger LIKE '%ConsumerRebalanceListenerInvoker' OR event = 'reconciling'
  ) k ON k.event_id = g.event_id
  WHERE g.event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost')
  UNION ALL
  SELECT g.kafka_cluster, g.group_id, l.process_id, l.instance, l.client, CAST(NULL AS STRING), CAST(NULL AS BIGINT), l.stream_pos, l.at_ms,
    l.event_id, CAST(NULL AS BIGINT), explode(array_except(g.partitions, l.partitions)), 'not_listed', true, false, NULL, NULL
  FROM owned_list l JOIN all_assigned g ON g.process_id = l.process_id AND g.instance = l.instance AND g.client = l.client WHERE l.is_sure
  UNION ALL
  SELECT g.kafka_cluster, g.group_id, u.process_id, u.instance, u.client, CAST(NULL AS STRING), CAST(NULL AS BIGINT), u.stream_pos,
    u.at_ms, u.event_id, CAST(NULL AS BIGINT), explode(g.partitions), 'lost', false, false, NULL, NULL
  FROM unlisted_loss u JOIN all_assigned g ON g.process_id = u.process_id AND g.instance = u.instance AND g.client = u.client
), change_sequence AS (
  -- A KIP-848 consumer prints in one line the partitions that it owned and those that it receives.
  SELECT m.*, lag(what) OVER w AS last_what
  FROM (
    SELECT m.*, get(filter(k.lines, x -> x.pos > m.stream_pos), 0) AS next_made
    FROM partition_change m LEFT JOIN consumer_creation k ON k.process_id = m.process_id AND k.instance = m.instance AND k.client = m.client
  ) m
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client, next_made.pos, resource ORDER BY stream_pos, what = 'given', what)
), holding_change AS (
  -- If an eager member is assigned again a partition that it still holds, that is one holding.
  SELECT *, lead(struct(stream_pos AS pos, NOT is_late AS is_own, at_ms, what AS how, event_id)) OVER w AS next FROM change_sequence
  WHERE what = 'given' AND NOT (last_what <=> 'given') OR what <> 'given' AND last_what = 'given'
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client, next_made.pos, resource ORDER BY stream_pos, what = 'given', what)
), client_close AS (
  SELECT process_id, instance, client_id AS client,
    sort_array(collect_list(struct(stream_pos AS pos, true AS is_own, unix_millis(ts) AS at_ms, 'client_closed' AS how, event_id))) AS lines
  FROM event WHERE event = 'client_closed' AND client_id IS NOT NULL GROUP BY process_id, instance, client_id
), sink_stop AS (
  SELECT process_id, instance, concat('connect-', connector) AS group_id,
    sort_array(collect_set(struct(ended.pos, false AS is_own, ended.at_ms, 'tasks_stopped' AS how, ended.event_id))) AS lines
  FROM task_life WHERE is_last GROUP BY process_id, instance, connector
), doubtful_list AS (
  SELECT process_id, instance, client, sort_array(collect_list(struct(stream_pos, partitions))) AS lists FROM owned_list
  WHERE NOT is_sure GROUP BY process_id, instance, client
), reconciled_list AS (
  -- All partitions of a KIP-848 consumer at the moment when it has reconciled its assignment, or lists them; and those that it revokes.
  SELECT process_id, instance, client, sort_array(collect_list(struct(stream_pos, at_ms, event_id, partitions, revoked))) AS lists
  FROM (
    SELECT process_id, instance, client, stream_pos, at_ms, event_id, partitions, CAST(array() AS ARRAY<STRING>) AS revoked FROM owned_list
    UNION ALL
    SELECT process_id, instance, client_id, stream_pos, unix_millis(ts), event_id, CAST(array() AS ARRAY<STRING>), revoked_partitions
    FROM event WHERE event = 'reconciling' AND client_kind = 'Consumer' AND client_id IS NOT NULL AND size(revoked_partitions) > 0
    UNION ALL
    SELECT process_id, instance, client_id, stream_pos, unix_millis(ts), event_id, target, CAST(array() AS ARRAY<STRING>)
    FROM (
      SELECT process_id, instance, client_id, stream_pos, ts, event_id, state_from, state_to, lag(assigned_partitions) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, client_id ORDER BY stream_pos) AS target
      FROM event WHERE event IN ('reconciling', 'member_state_changed') AND client_kind = 'Consumer' AND client_id IS NOT NULL
    )
    WHERE state_from = 'RECONCILING' AND state_to IN ('ACKNOWLEDGING', 'STABLE') AND target IS NOT NULL
  )
  GROUP BY process_id, instance, client
), holding_start AS (
  SELECT c.*, a.marks, d.lists, r.lists AS later_lists,
    get(filter(k.lines, x -> x.pos > c.stream_pos AND (c.next_made IS NULL OR x.pos < c.next_made.pos)), 0) AS closing,
    get(filter(s.lines, x -> x.pos > c.stream_pos), 0) AS stopping, p.next_start_ms, p.next_start_id
  FROM holding_change c LEFT JOIN client_close k ON k.process_id = c.process_id AND k.instance = c.instance AND k.client = c.client
  LEFT JOIN sink_stop s ON s.process_id = c.process_id AND s.instance = c.instance AND s.group_id = c.group_id
  LEFT JOIN rejoin_or_close a ON a.process_id = c.process_id AND a.instance = c.instance AND a.client = c.client
  LEFT JOIN doubtful_list d ON d.process_id = c.process_id AND d.instance = c.instance AND d.client = c.client
  LEFT JOIN reconciled_list r ON r.process_id = c.process_id AND r.instance = c.instance AND r.client = c.client
  LEFT JOIN process_life p ON p.process_id = c.process_id AND p.instance = c.instance
  WHERE c.what = 'given'
), holding_end AS (
  -- The earliest line that reports the end.
  SELECT *, array_min(array_compact(array(next, closing, stopping, next_made))) AS end_line FROM holding_start
), poll_monitor AS (
  -- The line names no client, so it counts only if a single client ever had that partition.
  SELECT u.process_id, u.instance, u.resource, sort_array(collect_list(struct(u.stream_pos, u.at_ms))) AS lines
  FROM (
    SELECT process_id, instance, stream_pos, unix_millis(ts) AS at_ms, explode(partitions) AS resource
    FROM event WHERE event = 'poll_overdue' AND ts IS NOT NULL
  ) u
  JOIN (
    SELECT process_id, instance, resource FROM holding_change
    WHERE what = 'given' GROUP BY process_id, instance, resource HAVING min(group_id) = max(group_id) AND min(client) = max(client)
  ) c ON c.process_id = u.process_id AND c.instance = u.instance AND c.resource = u.resource
  GROUP BY u.process_id, u.instance, u.resource
), wide_gap AS (
  SELECT process_id, instance, sort_array(collect_list(struct(from_pos, to_pos))) AS gaps FROM log_hole WHERE is_wide GROUP BY process_id, instance
), bounded_end AS (
  SELECT e.*,
    CASE WHEN NOT e.is_announced THEN struct(e.at_ms, e.event_id)
      ELSE get(transform(filter(e.later_lists, x -> x.stream_pos > e.stream_pos AND (e.end_line IS NULL OR x.stream_pos <= e.end_line.pos)
        AND array_contains(x.partitions, e.resource)), x -> struct(x.at_ms AS at_ms, x.event_id AS event_id)), 0) END AS held,
    CASE WHEN NOT coalesce(e.end_line.is_own, false) THEN get(filter(e.later_lists, x -> x.stream_pos > e.stream_pos
      AND (e.end_line IS NULL OR x.stream_pos < e.end_line.pos) AND array_contains(x.revoked, e.resource)), 0).at_ms END AS revoked_ms,
    -- A whole stretch is missing, perhaps with its end and another start.
    exists(coalesce(h.gaps, array()), x -> x.to_pos > e.stream_pos AND (e.end_line IS NULL OR x.from_pos < e.end_line.pos))
      OR exists(coalesce(e.lists, array()), x -> x.stream_pos > e.stream_pos AND (e.end_line IS NULL OR x.stream_pos < e.end_line.pos)
        AND NOT array_contains(x.partitions, e.resource)) AS has_gap,
    get(filter(e.marks, x -> x.stream_pos > e.stream_pos AND (e.end_line IS NULL OR x.stream_pos <= e.end_line.pos)
    AND (x.event NOT IN ('leaving', 'client_closed') OR e.end_line IS NULL OR e.end_line.how = 'client_closed')), 0).last_ms AS asked_ms
  FROM holding_end e LEFT JOIN wide_gap h ON h.process_id = e.process_id AND h.instance = e.instance
), certain_end AS (
  SELECT b.*, get(filter(reverse(u.lines), x -> x.stream_pos > b.stream_pos AND coalesce(x.stream_pos < b.end_line.pos, true)), 0).at_ms
      AS monitored_ms,
    -- Up to 2.6 a consumer closes without a line, so only its own lines prove that it still existed.
    CASE WHEN held IS NULL THEN NULL WHEN has_gap THEN held.at_ms WHEN asked_ms IS NOT NULL THEN greatest(held.at_ms, asked_ms)
      WHEN end_line.is_own THEN end_line.at_ms WHEN revoked_ms IS NOT NULL THEN greatest(held.at_ms, revoked_ms)
      WHEN end_line IS NULL THEN greatest(held.at_ms, last_line_ms) ELSE held.at_ms END AS own_ms,
    CASE WHEN NOT has_gap AND asked_ms IS NULL AND revoked_ms IS NULL AND NOT coalesce(end_line.is_own, false)
      THEN m.alive_ms END AS heard_ms, m.removed_id
  FROM bounded_end b
  LEFT JOIN member_heard m ON m.kafka_cluster = b.kafka_cluster AND m.group_id = b.group_id AND m.member_id = b.member_id
    AND m.process_id = b.process_id AND m.generation = b.generation
  LEFT JOIN poll_monitor u ON u.process_id = b.process_id AND u.instance = b.instance AND u.resource = b.resource
), certain_holding AS (
  SELECT *, coalesce(heard_ms > seen_ms AND heard_ms <= coalesce(end_line.at_ms, next_start_ms, heard_ms), false) AS is_heard
  FROM (
    SELECT *, CASE WHEN coalesce(asked_ms, revoked_ms) IS NOT NULL OR has_gap OR held IS NULL THEN own_ms
      ELSE greatest(own_ms, monitored_ms) END AS seen_ms
    FROM certain_end
  )
)
SELECT kafka_cluster, group_id, resource, process_id, instance AS process_instance, client, member_id, generation, before_generation,
  stream_pos AS from_pos, at_ms AS start_ms, held.at_ms AS start_hi_ms, CASE WHEN shown_id IS NULL THEN 'seen' ELSE 'open' END AS start_how,
  CASE WHEN shown_id IS NULL THEN event_id END AS start_id, held.event_id AS start_sign_id, shown_id,
  CASE WHEN is_heard THEN heard_ms ELSE seen_ms END AS stop_lo_ms, coalesce(end_line.at_ms, next_start_ms) AS stop_hi_ms,
  CASE WHEN end_line IS NOT NULL THEN end_line.how WHEN next_start_ms IS NOT NULL THEN 'process_restarted' END AS stop_how,
  coalesce(end_line.event_id, next_start_id) AS stop_id, has_gap OR coalesce(asked_ms, revoked_ms) IS NOT NULL AS is_stop_lost,
  CASE WHEN is_heard THEN heard_ms END AS heard_ms, CASE WHEN is_heard THEN removed_id END AS heard_id
FROM certain_holding

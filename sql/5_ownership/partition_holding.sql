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
-- partition, and no other line does, it is certainly held until that line. An eager client of another library revokes everything before it rejoins,
-- and prints only its new assignment, which ends all its holdings before.
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
    (missing from a later list of all owned partitions), assigned_again (a later assignment is complete); NULL: unknown',
  stop_id       COMMENT 'Its event',
  is_stop_lost  COMMENT 'True if lines are missing after the last one at which it was certainly held, so its end is, or may be, among them',
  heard_ms      COMMENT 'Its coordinator certainly heard from it at this time, after its last line; NULL: unknown',
  heard_id      COMMENT 'Line in which the coordinator removed it'
)
AS
WITH rejoin_or_close AS (
  -- The points at which an eager member took part in another rebalance, or a member left or was closed, with the time of the previous line.
  SELECT process_id, instance, client, stream_pos, event NOT IN ('leaving', 'client_closed') AS is_rejoin, last_ms
  FROM (
    SELECT process_id, instance, client, stream_pos, event, is_overdue,
      coalesce(protocol, lag(protocol) IGNORE NULLS OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos),
        min(CASE WHEN protocol IS NOT NULL THEN struct(stream_pos, protocol) END) OVER (PARTITION BY process_id, instance,
          client).protocol) AS protocol,
      -- Without the lines that may come between the missing line and this one.
      max(CASE WHEN event NOT IN ('leaving', 'client_closed', 'coordinator_discovered', 'partitions_revoked', 'partitions_lost', 'rejoin_requested',
        'join_failed', 'generation_reset', 'member_fenced') OR is_overdue OR is_unannounced THEN at_ms END)
        OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_ms
    FROM (
      SELECT process_id, instance, client, stream_pos, at_ms, event, protocol, is_unannounced,
        event = 'leaving' AND (coalesce(reason LIKE '%poll timeout%', false)
          OR lag(event) OVER (PARTITION BY process_id, instance, client ORDER BY stream_pos) <=> 'poll_timeout') AS is_overdue
      FROM client_event WHERE NOT is_worker
      UNION ALL
      SELECT process_id, instance, client_id, stream_pos, unix_millis(ts), event, CAST(NULL AS STRING), false, false
      FROM event WHERE event = 'client_closed' AND client_id IS NOT NULL
    )
  )
  WHERE event = 'leaving' AND NOT is_overdue OR event IN ('client_closed', 'client_made') OR event IN ('joining', 'joined', 'synced')
    AND coalesce(protocol, '') NOT LIKE '%cooperative%' AND coalesce(protocol, '') NOT LIKE 'stream%'
), unlisted_loss AS (
  -- A consumer loses all partitions, and the line that names them is missing: it reports this, or (kafkajs) that it must rejoin as another member, or
  -- it has another, complete assignment.
  SELECT process_id, instance, client, stream_pos, at_ms, event_id,
    CASE WHEN event IN ('leaving', 'rejoin_requested', 'session_ended') THEN 'lost' ELSE 'assigned_again' END AS how
  FROM client_event
  WHERE event = 'session_ended' AND reason IS NOT NULL
    OR is_unannounced AND (event <> 'rejoin_requested' OR reason LIKE 'The coordinator is not aware of this member%')
  UNION ALL
  SELECT process_id, instance, client, stream_pos, at_ms, event_id, 'lost'
  FROM (
    SELECT process_id, instance, client_id AS client, stream_pos, unix_millis(ts) AS at_ms, event_id, event,
      lead(event) OVER (PARTITION BY process_id, instance, client_id ORDER BY stream_pos) AS next_event
    FROM event
    WHERE event IN ('assignment_given_up', 'partitions_assigned', 'partitions_lost', 'partitions_revoked') AND client_id IS NOT NULL
  )
  WHERE event = 'assignment_given_up' AND coalesce(next_event, 'partitions_assigned') = 'partitions_assigned'
), numbered_list AS (
  SELECT *, row_number() OVER (PARTITION BY process_id, instance, client, is_sure ORDER BY stream_pos) AS nth FROM owned_list
), partition_change AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, member_id, generation, from_pos - 1 AS stream_pos, from_ms AS at_ms,
    from_id AS event_id, resource, 'given' AS what, false AS is_late, false AS is_announced, before_generation, shown_id
  FROM open_partition
  UNION ALL
  SELECT g.kafka_cluster, g.group_id, g.process_id, g.instance, g.client, g.member_id, g.generation, g.stream_pos, g.at_ms, g.event_id,
    explode(g.partitions) AS resource,
    CASE g.event WHEN 'partitions_revoked' THEN 'revoked' WHEN 'partitions_lost' THEN 'lost' ELSE 'given' END AS what,
    -- A KIP-848 member first prints the partitions that it is about to revoke. If there is only its listener's line, and it does not leave, that
    -- first line is missing.
    k.event <=> 'partitions_revoked' AND g.generation IS NULL AND NOT g.next_event <=> 'leaving' AS is_late,
    k.event <=> 'reconciling' AS is_announced, NULL, NULL
  FROM (
    SELECT kafka_cluster, group_id, process_id, instance, client, stream_pos, at_ms, event_id, event,
      -- A session that has ended is not the one of the next assignment.
      coalesce(member_id, lag(CASE WHEN event <> 'session_ended' THEN member_id END) IGNORE NULLS OVER w) AS member_id,
      coalesce(generation, lag(CASE WHEN event <> 'session_ended' THEN generation END) IGNORE NULLS OVER w) AS generation,
      lead(event) OVER w AS next_event, partitions
    FROM client_event WHERE NOT is_worker
    WINDOW w AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos)
  ) g
  LEFT JOIN (
    SELECT event_id, event FROM event WHERE event = 'partitions_revoked' AND logger LIKE '%ConsumerRebalanceListenerInvoker' OR event = 'reconciling'
  ) k ON k.event_id = g.event_id
  WHERE g.event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost', 'synced')
), placed_change AS (
  -- For each line that changes what a consumer holds: the next line of each kind, of the consumer, its group (tasks of a sink) or its process. The
  -- time of a request to join, and of a close, is that of the line before; `number` is a list's number, or the position at which a gap begins.
  SELECT change.*, process_id, instance, group_id, client, stream_pos, next_made, next_closed, next_lost, next_rejoin, next_mark, next_sure_nth,
    next_doubtful_nth, next_stopped, gap_from_pos
  FROM (
    SELECT *,
      lag(CASE WHEN what = 'made' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER of_client AS next_made,
      lag(CASE WHEN what = 'closed' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER of_client AS next_closed,
      lag(CASE WHEN what IN ('assigned_again', 'lost') THEN struct(stream_pos AS pos, at_ms, event_id, what AS how) END) IGNORE NULLS OVER of_client
        AS next_lost,
      lag(CASE WHEN what = 'rejoin' THEN struct(stream_pos AS pos, at_ms AS last_ms) END) IGNORE NULLS OVER of_client AS next_rejoin,
      lag(CASE WHEN what IN ('leave', 'rejoin') THEN struct(stream_pos AS pos, at_ms AS last_ms) END) IGNORE NULLS OVER of_client AS next_mark,
      lag(CASE WHEN what = 'sure_list' THEN number END) IGNORE NULLS OVER of_client AS next_sure_nth,
      lag(CASE WHEN what = 'doubtful_list' THEN number END) IGNORE NULLS OVER of_client AS next_doubtful_nth,
      lag(CASE WHEN what = 'stopped' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS
        OVER (PARTITION BY process_id, instance, group_id ORDER BY -stream_pos, what, event_id) AS next_stopped,
      min(CASE WHEN what = 'gap' THEN number END) OVER (PARTITION BY process_id, instance ORDER BY -stream_pos, what ROWS UNBOUNDED PRECEDING)
        AS gap_from_pos
    FROM (
      -- In alphabetical order this kind comes before all others in the same line.
      SELECT process_id, instance, group_id, client, stream_pos, 'a change' AS what, CAST(NULL AS BIGINT) AS at_ms, CAST(NULL AS STRING) AS event_id,
        CAST(NULL AS BIGINT) AS number,
        struct(kafka_cluster, member_id, generation, at_ms, event_id, resource, what, is_late, is_announced, before_generation, shown_id) AS change
      FROM partition_change
      UNION ALL
      -- A consumer prints its configuration when it is created. A client id that is created again has no partitions from before.
      SELECT process_id, instance, NULL, config['client.id'], stream_pos, 'made', unix_millis(ts), event_id, NULL, NULL
      FROM event WHERE event = 'config_dumped' AND component = 'ConsumerConfig' AND config['client.id'] <> ''
      UNION ALL
      SELECT process_id, instance, NULL, client_id, stream_pos, 'closed', unix_millis(ts), event_id, NULL, NULL
      FROM event WHERE event = 'client_closed' AND client_id IS NOT NULL
      UNION ALL
      SELECT process_id, instance, NULL, client, stream_pos, how, at_ms, event_id, NULL, NULL FROM unlisted_loss
      UNION ALL
      SELECT process_id, instance, NULL, client, stream_pos, CASE WHEN is_rejoin THEN 'rejoin' ELSE 'leave' END, last_ms, NULL, NULL, NULL
      FROM rejoin_or_close
      UNION ALL
      SELECT process_id, instance, NULL, client, stream_pos, CASE WHEN is_sure THEN 'sure_list' ELSE 'doubtful_list' END, NULL, NULL, nth, NULL
      FROM numbered_list
      UNION ALL
      SELECT process_id, instance, concat('connect-', connector), NULL, ended.pos, 'stopped', ended.at_ms, ended.event_id, NULL, NULL
      FROM task_life WHERE is_last AND ended IS NOT NULL
      UNION ALL
      SELECT process_id, instance, NULL, NULL, to_pos, 'gap', NULL, NULL, from_pos, NULL FROM log_hole WHERE is_wide
    )
    WINDOW of_client AS (PARTITION BY process_id, instance, client ORDER BY -stream_pos, what, group_id)
  )
  WHERE what = 'a change'
), list_without AS (
  -- The first list after an assignment that does not name the partition: the next one, or the one after the lists in a row that name it.
  SELECT g.process_id, g.instance, g.group_id, g.client, g.resource, g.stream_pos AS given_pos, g.next_made, l.is_sure, l.stream_pos, l.at_ms,
    l.event_id
  FROM (
    SELECT process_id, instance, group_id, client, resource, stream_pos, next_made,
      explode(map(true, next_sure_nth, false, next_doubtful_nth)) AS (is_sure, next_nth)
    FROM placed_change WHERE what = 'given'
  ) g
  LEFT JOIN (
    SELECT process_id, instance, client, is_sure, resource, nth,
      max(nth) OVER (PARTITION BY process_id, instance, client, is_sure, resource, run) AS last_nth
    FROM (
      SELECT *, nth - row_number() OVER (PARTITION BY process_id, instance, client, is_sure, resource ORDER BY nth) AS run
      FROM (SELECT process_id, instance, client, is_sure, nth, explode(array_distinct(partitions)) AS resource FROM numbered_list)
    )
  ) r ON r.process_id = g.process_id AND r.instance = g.instance AND r.client = g.client AND r.is_sure = g.is_sure
    AND r.resource = g.resource AND r.nth = g.next_nth
  JOIN numbered_list l ON l.process_id = g.process_id AND l.instance = g.instance AND l.client = g.client AND l.is_sure = g.is_sure
    AND l.nth = coalesce(r.last_nth + 1, g.next_nth)
), change_sequence AS (
  -- A KIP-848 consumer prints in one line the partitions that it owned and those that it receives. What ends a holding without naming the partition
  -- is in the sequence once for each assignment that it may end.
  SELECT *, lag(what) OVER (PARTITION BY process_id, instance, group_id, client, next_made.pos, resource ORDER BY stream_pos, what = 'given', what)
    AS last_what
  FROM (
    SELECT kafka_cluster, group_id, process_id, instance, client, member_id, generation, stream_pos, at_ms, event_id, resource, what,
      is_late, is_announced, before_generation, shown_id, next_made, next_closed, next_rejoin, next_mark, next_stopped, gap_from_pos
    FROM placed_change
    UNION ALL
    SELECT NULL, group_id, process_id, instance, client, NULL, NULL, stream_pos, at_ms, event_id, resource, 'not_listed', true, false, NULL, NULL,
      next_made, NULL, NULL, NULL, NULL, NULL
    FROM list_without WHERE is_sure AND (next_made IS NULL OR stream_pos < next_made.pos)
    UNION ALL
    SELECT NULL, group_id, process_id, instance, client, NULL, NULL, next_lost.pos, next_lost.at_ms, next_lost.event_id, resource,
      next_lost.how, next_lost.how = 'assigned_again', false, NULL, NULL, next_made, NULL, NULL, NULL, NULL, NULL
    FROM placed_change WHERE what = 'given' AND next_lost IS NOT NULL AND (next_made IS NULL OR next_lost.pos < next_made.pos)
  )
), holding_change AS (
  -- If an eager member is assigned again a partition that it still holds, that is one holding.
  SELECT *, lead(struct(stream_pos AS pos, NOT is_late AS is_own, at_ms, what AS how, event_id)) OVER w AS next FROM change_sequence
  WHERE what = 'given' AND NOT (last_what <=> 'given') OR what <> 'given' AND last_what = 'given'
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client, next_made.pos, resource ORDER BY stream_pos, what = 'given', what)
), holding_with_list AS (
  -- The first list with the partition after each assignment, and the first one that revokes it. A list has all partitions of a KIP-848 consumer at
  -- the moment when it has reconciled its assignment, or lists them.
  SELECT *
  FROM (
    SELECT *, lag(CASE WHEN what = 'listed' THEN struct(stream_pos AS pos, at_ms, event_id) END) IGNORE NULLS OVER w AS next_list,
      lag(CASE WHEN what = 'revoked' THEN struct(stream_pos AS pos, at_ms) END) IGNORE NULLS OVER w AS next_revocation
    FROM (
      SELECT process_id, instance, group_id, client, resource, stream_pos, what, at_ms, event_id FROM holding_change WHERE what = 'given'
      UNION ALL
      SELECT process_id, instance, NULL, client, explode(partitions), stream_pos, 'listed', at_ms, event_id FROM owned_list
      UNION ALL
      SELECT process_id, instance, NULL, client_id, explode(revoked_partitions), stream_pos, 'revoked', unix_millis(ts), event_id
      FROM event WHERE event = 'reconciling' AND client_kind = 'Consumer' AND client_id IS NOT NULL
      UNION ALL
      SELECT process_id, instance, NULL, client_id, explode(target), stream_pos, 'listed', unix_millis(ts), event_id
      FROM (
        SELECT process_id, instance, client_id, stream_pos, ts, event_id, state_from, state_to, lag(assigned_partitions) IGNORE NULLS
          OVER (PARTITION BY process_id, instance, client_id ORDER BY stream_pos) AS target
        FROM event WHERE event IN ('reconciling', 'member_state_changed') AND client_kind = 'Consumer' AND client_id IS NOT NULL
      )
      WHERE state_from = 'RECONCILING' AND state_to IN ('ACKNOWLEDGING', 'STABLE')
    )
    WINDOW w AS (PARTITION BY process_id, instance, client, resource ORDER BY -stream_pos, what, group_id)
  )
  WHERE what = 'given' AND (next_list IS NOT NULL OR next_revocation IS NOT NULL)
), holding_end AS (
  -- The earliest line that reports the end.
  SELECT c.*, coalesce(p.end_ms, p.next_start_ms) AS next_start_ms, p.next_start_id,
    l.next_list, l.next_revocation, d.stream_pos AS doubt_pos, o.last_line_ms,
    -- Sail needs a `how` that may be NULL in every struct of the array.
    array_min(filter(array(struct(c.next.pos AS pos, c.next.is_own AS is_own, c.next.at_ms AS at_ms, c.next.how AS how, c.next.event_id AS event_id),
      struct(c.next_closed.pos AS pos, true AS is_own, c.next_closed.at_ms AS at_ms,
        CASE WHEN c.next_closed IS NOT NULL THEN 'client_closed' END AS how, c.next_closed.event_id AS event_id),
      struct(c.next_stopped.pos AS pos, false AS is_own, c.next_stopped.at_ms AS at_ms,
        CASE WHEN c.next_stopped IS NOT NULL THEN 'tasks_stopped' END AS how, c.next_stopped.event_id AS event_id),
      struct(c.next_made.pos AS pos, false AS is_own, c.next_made.at_ms AS at_ms,
        CASE WHEN c.next_made IS NOT NULL THEN 'client_made_again' END AS how, c.next_made.event_id AS event_id)),
      x -> x.pos IS NOT NULL)) AS end_line
  FROM holding_change c
  JOIN (
    -- The last line that only an open consumer prints. Any other line with its name may come from its closing.
    SELECT process_id, instance, group_id, client, max(at_ms) AS last_line_ms
    FROM (
      SELECT process_id, instance, group_id, client, at_ms FROM client_event WHERE NOT is_worker
      UNION ALL
      SELECT process_id, instance, group_id, client_id, unix_millis(ts)
      FROM event
      WHERE event IN ('heartbeat_sent', 'heartbeat_ok', 'fetch_position', 'position_set', 'offset_committed') AND client_id IS NOT NULL
    )
    GROUP BY process_id, instance, group_id, client
  ) o ON o.process_id = c.process_id AND o.instance = c.instance AND o.group_id = c.group_id AND o.client = c.client
  LEFT JOIN process_life p ON p.process_id = c.process_id AND p.instance = c.instance
  LEFT JOIN holding_with_list l ON l.process_id = c.process_id AND l.instance = c.instance AND l.group_id = c.group_id AND l.client = c.client
    AND l.resource = c.resource AND l.stream_pos = c.stream_pos
  LEFT JOIN list_without d ON NOT d.is_sure AND d.process_id = c.process_id AND d.instance = c.instance AND d.group_id = c.group_id
    AND d.client = c.client AND d.resource = c.resource AND d.given_pos = c.stream_pos
  WHERE c.what = 'given'
), poll_monitor AS (
  -- The line names no client, so it counts only if a single client ever had that partition: for the holding before it.
  SELECT process_id, instance, resource, holding.from_pos AS from_pos, max(struct(stream_pos, at_ms)).at_ms AS at_ms
  FROM (
    SELECT process_id, instance, resource, stream_pos, at_ms, is_line, min(client) OVER of_resource = max(client) OVER of_resource
        AND min(group_id) OVER of_resource = max(group_id) OVER of_resource AS is_of_one,
      lag(CASE WHEN NOT is_line THEN struct(stream_pos AS from_pos, end_pos AS to_pos) END) IGNORE NULLS OVER in_order AS holding
    FROM (
      SELECT process_id, instance, group_id, client, resource, stream_pos, at_ms, end_line.pos AS end_pos, false AS is_line FROM holding_end
      UNION ALL
      SELECT process_id, instance, NULL, NULL, explode(partitions), stream_pos, unix_millis(ts), NULL, true
      FROM event WHERE event = 'poll_overdue' AND ts IS NOT NULL
    )
    WINDOW of_resource AS (PARTITION BY process_id, instance, resource),
      in_order AS (PARTITION BY process_id, instance, resource ORDER BY stream_pos, NOT is_line, client)
  )
  WHERE is_line AND is_of_one AND holding IS NOT NULL AND coalesce(stream_pos < holding.to_pos, true)
  GROUP BY process_id, instance, resource, holding.from_pos
), bounded_end AS (
  SELECT b.*, u.at_ms AS monitored_ms, m.alive_ms, m.removed_id,
    CASE WHEN NOT b.is_announced THEN struct(b.at_ms, b.event_id)
      WHEN b.next_list.pos <= coalesce(b.end_line.pos, b.next_list.pos) THEN struct(b.next_list.at_ms, b.next_list.event_id) END AS held,
    CASE WHEN NOT coalesce(b.end_line.is_own, false) AND (b.end_line IS NULL OR b.next_revocation.pos < b.end_line.pos)
      THEN b.next_revocation.at_ms END AS revoked_ms,
    -- A whole stretch is missing, perhaps with its end and another start.
    coalesce(b.gap_from_pos < coalesce(b.end_line.pos, b.gap_from_pos + 1), false)
      OR coalesce(b.doubt_pos < coalesce(b.end_line.pos, b.doubt_pos + 1), false) AS has_gap,
    CASE WHEN b.end_line IS NULL THEN b.next_mark.last_ms
      WHEN b.end_line.how = 'client_closed' AND b.next_mark.pos <= b.end_line.pos THEN b.next_mark.last_ms
      WHEN b.end_line.how <> 'client_closed' AND b.next_rejoin.pos <= b.end_line.pos THEN b.next_rejoin.last_ms END AS asked_ms
  FROM holding_end b
  LEFT JOIN member_heard m ON m.kafka_cluster = b.kafka_cluster AND m.group_id = b.group_id AND m.member_id = b.member_id
    AND m.process_id = b.process_id AND m.generation = b.generation
  LEFT JOIN poll_monitor u ON u.process_id = b.process_id AND u.instance = b.instance AND u.resource = b.resource AND u.from_pos = b.stream_pos
), certain_end AS (
  SELECT *,
    -- Up to 2.6 a consumer closes without a line, so only its own lines prove that it still existed.
    CASE WHEN held IS NULL THEN NULL WHEN has_gap THEN held.at_ms WHEN asked_ms IS NOT NULL THEN greatest(held.at_ms, asked_ms)
      WHEN end_line.is_own THEN greatest(end_line.at_ms, monitored_ms) WHEN revoked_ms IS NOT NULL THEN greatest(held.at_ms, revoked_ms)
      WHEN end_line IS NULL THEN greatest(held.at_ms, last_line_ms, monitored_ms) ELSE greatest(held.at_ms, monitored_ms) END AS seen_ms,
    CASE WHEN NOT has_gap AND asked_ms IS NULL AND revoked_ms IS NULL AND NOT coalesce(end_line.is_own, false)
      AND alive_ms <= coalesce(end_line.at_ms, next_start_ms, alive_ms) THEN struct(alive_ms, removed_id) END AS heard
  FROM bounded_end
)
SELECT kafka_cluster, group_id, resource, process_id, instance AS process_instance, client, member_id, generation, before_generation,
  stream_pos AS from_pos, at_ms AS start_ms, held.at_ms AS start_hi_ms, CASE WHEN shown_id IS NULL THEN 'seen' ELSE 'open' END AS start_how,
  CASE WHEN shown_id IS NULL THEN event_id END AS start_id, held.event_id AS start_sign_id, shown_id,
  CASE WHEN heard.alive_ms > seen_ms THEN heard.alive_ms ELSE seen_ms END AS stop_lo_ms, coalesce(end_line.at_ms, next_start_ms) AS stop_hi_ms,
  CASE WHEN end_line IS NOT NULL THEN end_line.how WHEN next_start_ms IS NOT NULL THEN 'process_restarted' END AS stop_how,
  coalesce(end_line.event_id, next_start_id) AS stop_id,
  has_gap OR coalesce(asked_ms, revoked_ms) IS NOT NULL AND NOT end_line.how <=> 'assigned_again' AS is_stop_lost,
  CASE WHEN heard.alive_ms > seen_ms THEN heard.alive_ms END AS heard_ms, CASE WHEN heard.alive_ms > seen_ms THEN heard.removed_id END AS heard_id
FROM certain_end

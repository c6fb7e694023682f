-- One row per outage of a group's coordinator that affected its members, over all of them.
-- Reads: coordinator_outage, client_event, worker_setting, setting, filtered_log, lost_range, lost_membership
-- Grain: outage_id
CREATE OR REPLACE TEMPORARY VIEW group_outage (
  outage_id            COMMENT 'Stable id of the outage',
  kafka_cluster, group_id,
  reference_process_id COMMENT 'Process on whose clock the bounds are; `-` for members that never found a coordinator',
  never                COMMENT 'True when they never found a coordinator',
  from_ms              COMMENT 'First loss, at the earliest (reference clock, milliseconds since 1970)',
  first_lost_ms        COMMENT 'First loss, at the latest',
  last_lost_lo_ms      COMMENT 'Last member''s loss, at the earliest',
  last_lost_ms         COMMENT 'Last member''s loss, at the latest',
  to_ms                COMMENT 'All found one again, or were closed, at the latest; NULL: not all',
  open                 COMMENT 'True if a member found none before the end of its log',
  longest_ms           COMMENT 'Longest of the members'' outages, milliseconds',
  each_lo_ms           COMMENT 'Shortest of the members'' outages without those of late members, milliseconds',
  each_hi_ms           COMMENT 'Longest of the members'' outages without those of late members, milliseconds',
  served_ms            COMMENT 'The first member found a coordinator again, at the latest; NULL: none did',
  late                 COMMENT 'Processes of late members, which still had none outage_late_ms after the first had one again',
  session_ms           COMMENT 'session.timeout.ms of the members; 10000 if it is not printed',
  session_told_ms      COMMENT 'session.timeout.ms of the members as their logs print it; NULL: they do not print it',
  who                  COMMENT 'Processes of the members',
  members              COMMENT 'Members',
  is_worker            COMMENT 'True if a Connect worker is among them',
  is_sink              COMMENT 'True if a sink task''s consumer is among them',
  broker_id,
  broker               COMMENT 'Its address',
  new_broker_id        COMMENT 'Coordinator that finally answered',
  causes               COMMENT 'Causes as printed',
  losses               COMMENT 'How often a loss was printed',
  flaps                COMMENT 'How often a member lost it within coordinator_settled_ms of finding it',
  is_settled           COMMENT 'True if the logs of all members continue for coordinator_settled_ms after they found it',
  revoked              COMMENT 'Processes that revoked their work because of it',
  thrown_out           COMMENT 'Processes that had lost their membership when they returned',
  left_group           COMMENT 'True if a poll timeout expired in the meantime',
  back_ms              COMMENT 'From the loss to being a member with an assignment again, the longest, milliseconds',
  bootstrap            COMMENT 'bootstrap.servers of a member',
  clients              COMMENT 'Members'' own spans: process, process run, from, to, by its own clock',
  witness
)
AS
WITH coordinator_contact AS (
  SELECT process_id, instance, group_id, client, at_ms FROM client_event
  WHERE event IN ('joined', 'synced')
  UNION ALL
  SELECT process_id, instance, group_id, client, found_ms FROM coordinator_outage
  WHERE found_ms IS NOT NULL
), recovery_by_other_client AS (
  -- A client that lost its coordinator once, and whose log shows no recovery. Its process could reach the coordinator when that answered another
  -- client of the process.
  SELECT o.process_id, o.instance, o.group_id, o.client, o.lost_ms, min(a.at_ms) AS answered_ms
  FROM coordinator_outage o
  JOIN coordinator_contact a ON a.process_id = o.process_id AND a.instance = o.instance AND a.group_id = o.group_id AND a.client <> o.client
    AND a.at_ms >= o.lost_ms
  WHERE NOT o.never AND o.losses = 1 AND o.found_ms IS NULL AND o.closed_ms IS NULL
  GROUP BY o.process_id, o.instance, o.group_id, o.client, o.lost_ms
), outage_with_settings AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, o.instance, o.client, o.client_id, o.is_worker, o.task, o.never, o.was_member, o.broker_id,
    o.broker, o.new_broker_id, o.lost_ms, coalesce(o.found_ms, f.answered_ms) AS found_ms, o.closed_ms, o.back_ms, o.last_ms, o.lost_lo_ms,
    o.lost_hi_ms, coalesce(o.found_hi_ms, f.answered_ms - o.lost_ms + o.lost_hi_ms) AS found_hi_ms,
    CASE WHEN o.duration_ms IS NOT NULL THEN coalesce(f.answered_ms - o.lost_ms, o.duration_ms) END AS duration_ms, o.losses, o.flaps,
    o.causes, o.revoked, o.thrown_out, o.left_group, o.witness,
    -- A client that never found a coordinator has no reference clock; such clients of one group form one outage.
    CASE WHEN o.never THEN '-' ELSE o.reference_process_id END AS reference_process_id,
    coalesce(try_cast(s.value AS BIGINT), w.session_ms, least_session_default_ms) AS session_ms,
    coalesce(try_cast(s.value AS BIGINT), w.session_ms) AS session_told_ms, coalesce(w.bootstrap, b.value) AS bootstrap,
    m.process_id IS NOT NULL AS is_lost
  FROM coordinator_outage o
  LEFT JOIN recovery_by_other_client f ON f.process_id = o.process_id AND f.instance = o.instance AND f.group_id = o.group_id
    AND f.client = o.client AND f.lost_ms = o.lost_ms
  -- Without a recovery in a filtered log, or before a lost range, the length and the end of the outage are unknown.
  LEFT ANTI JOIN filtered_log l ON l.process_id = o.process_id AND coalesce(o.found_ms, f.answered_ms) IS NULL
  LEFT ANTI JOIN lost_range d ON d.process_id = o.process_id AND coalesce(o.found_ms, f.answered_ms, o.closed_ms) IS NULL
    AND coalesce(d.to_ms >= o.lost_ms, true)
  LEFT JOIN (SELECT DISTINCT process_id, group_id, client, noticed_ms FROM lost_membership
    -- A refusal without a member id is not reported by itself.
    WHERE kind <> 'refused' OR member_id IS NOT NULL) m ON m.process_id = o.process_id
    AND m.group_id = o.group_id AND m.client = o.client AND m.noticed_ms = o.lost_ms
  LEFT JOIN worker_setting w ON w.process_id = o.process_id AND o.is_worker
  LEFT JOIN setting s ON s.process_id = o.process_id AND s.component = 'ConsumerConfig' AND s.key = 'session.timeout.ms' AND s.client_id = o.client_id
  LEFT JOIN setting b ON b.process_id = o.process_id AND b.component = 'ConsumerConfig' AND b.key = 'bootstrap.servers' AND b.client_id = o.client_id
), relevant_outage AS (
  SELECT * FROM outage_with_settings
  -- A client that closes while it waits for its first coordinator counts only if it waited long.
  WHERE (was_member OR found_ms IS NULL AND (closed_ms IS NULL OR duration_ms > session_ms))
    -- A worker revokes its work one heartbeat interval after it notices the loss, long before the session expires.
    -- One whose session expired had no answer for longer than that. If its membership was lost too, that is reported.
    AND (duration_ms > session_ms OR revoked AND is_worker OR left_group
      OR NOT is_lost AND exists(causes, c -> c RLIKE 'session (timed out|expired)')
      -- A member that keeps finding and losing it has none either. Twice is normal while a broker restarts, unless the log ends meanwhile.
      OR flaps >= flaps_many OR flaps > 1 AND last_ms - found_ms <= coordinator_settled_ms)
), outage_with_start AS (
  -- An outage without a recovery lasts, so no other one begins after it.
  SELECT *, lost_lo_ms > outage_apart_ms + max(found_hi_ms) OVER before AND count_if(found_hi_ms IS NULL) OVER before = 0 AS is_first
  FROM relevant_outage
  WINDOW before AS (PARTITION BY kafka_cluster, group_id, reference_process_id, never
    ORDER BY lost_lo_ms, process_id, instance, client ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), numbered_outage AS (
  SELECT *,
    count_if(is_first) OVER (PARTITION BY kafka_cluster, group_id, reference_process_id, never
    ORDER BY lost_lo_ms, process_id, instance, client ROWS UNBOUNDED PRECEDING) AS n
  FROM outage_with_start
), outage_with_id AS (
  SELECT *, left(sha2(concat_ws('|', kafka_cluster, group_id, reference_process_id, never, n), 256), 16) AS outage_id,
    min(CASE WHEN found_ms IS NOT NULL THEN found_hi_ms END) OVER (PARTITION BY kafka_cluster, group_id, reference_process_id, never, n) AS served_ms
  FROM numbered_outage
), outage_of_member AS (
  -- Only the member itself explains why it had no coordinator when another member had one again.
  SELECT *, coalesce(closed_ms IS NULL AND lost_hi_ms <= served_ms
    AND coalesce(found_ms, last_ms) - lost_ms + lost_lo_ms > served_ms + outage_late_ms, false) AS is_late
  FROM outage_with_id
)
SELECT outage_id, kafka_cluster, group_id, reference_process_id, never, min(lost_lo_ms) AS from_ms, min(lost_hi_ms) AS first_lost_ms,
  max(lost_lo_ms) AS last_lost_lo_ms, max(lost_hi_ms) AS last_lost_ms,
  CASE WHEN NOT bool_or(found_ms IS NULL AND closed_ms IS NULL) THEN max(found_hi_ms) END AS to_ms,
  bool_or(found_ms IS NULL AND closed_ms IS NULL) AS open, max(duration_ms) AS longest_ms,
  min(CASE WHEN NOT is_late THEN duration_ms END) AS each_lo_ms, max(CASE WHEN NOT is_late THEN duration_ms END) AS each_hi_ms,
  max(served_ms) AS served_ms, array_sort(collect_set(CASE WHEN is_late THEN process_id END)) AS late, max(session_ms) AS session_ms,
  max(session_told_ms) AS session_told_ms, array_sort(collect_set(process_id)) AS who, count(DISTINCT process_id, client) AS members,
  bool_or(is_worker) AS is_worker, bool_or(task IS NOT NULL) AS is_sink, max(broker_id) AS broker_id, max(broker) AS broker,
  max(new_broker_id) AS new_broker_id, array_sort(array_distinct(flatten(collect_list(causes)))) AS causes, sum(losses) AS losses,
  sum(flaps) AS flaps, bool_and(coalesce(last_ms - found_ms > coordinator_settled_ms, closed_ms IS NOT NULL)) AS is_settled,
  count(DISTINCT CASE WHEN revoked THEN process_id END) AS revoked, count(DISTINCT CASE WHEN thrown_out THEN process_id END) AS thrown_out,
  bool_or(left_group) AS left_group, max(back_ms - lost_ms) AS back_ms, max(bootstrap) AS bootstrap,
  sort_array(collect_set(struct(process_id, instance, lost_ms AS from_ms, coalesce(found_ms, closed_ms, last_ms) AS to_ms))) AS clients,
  slice(array_distinct(flatten(sort_array(collect_list(witness)))), 1, 16) AS witness
FROM outage_of_member GROUP BY outage_id, kafka_cluster, group_id, reference_process_id, never

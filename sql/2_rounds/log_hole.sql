-- One row per gap in a member's log where lines must be missing: rotated away, cut out, not copied, or lost one by one.
-- Reads: work_hole, filtered_log, lost_range, event, join_round, client_event, setting
-- Grain: process_id, instance, to_pos
-- In a filtered log any line may be missing: between any two lines, and before the first and after the last. If several reasons point to the same
-- place, the row has the widest gap and the first of the reasons for it.
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id, instance,
  from_pos   COMMENT 'Last position that is certainly before it',
  to_pos     COMMENT 'First position that is certainly after it',
  is_wide    COMMENT 'True if a whole stretch may be missing, including ends and starts; false if a single missing line explains it',
  why        COMMENT 'member_changed, generation_skipped or joined_unasked (its own log does not explain how it reached a generation);
    coordinator_ahead (the coordinator counted it in a later one); join_unanswered (no line shows what became of its join request); a reason of
    work_hole; filtered; lost (a row of lost_range)',
  event_id   COMMENT 'First line that is certainly after it; NULL for a lost range'
)
AS
WITH client_line AS (
  SELECT e.process_id, e.instance, e.group_id, e.client, e.stream_pos, e.event_id, e.event, e.member_id, r.from_pos,
    e.event IN ('coordinator_lost', 'worker_revoking') AS is_distance,
    e.event IN ('coordinator_lost', 'generation_reset', 'poll_timeout', 'member_fenced', 'leaving', 'worker_revoking', 'join_failed',
      'sync_failed')
      -- A member that learns in time of its group's rebalance does not miss the generation.
      OR e.event = 'heartbeat_failed' AND NOT coalesce(e.error, e.cause, e.reason, '') RLIKE '(?i)rebalanc'
      OR e.is_unannounced AND e.event = 'rejoin_requested' AND NOT e.reason RLIKE '(?i)rebalanc' AS is_trouble
  FROM client_event e
  LEFT JOIN join_round r ON r.process_id = e.process_id AND r.instance = e.instance AND r.group_id = e.group_id AND r.client = e.client
    AND r.from_pos = e.stream_pos
), round_line AS (
  -- Each line of a group's client, with the generation that it follows and the last line before it that can end a membership. `loss_pos` leaves out
  -- lines that do not invalidate the member id: a lost coordinator, a worker that revokes its work.
  SELECT process_id, instance, group_id, client, stream_pos, event_id, event, member_id, max(from_pos) OVER before AS round_pos,
    max(CASE WHEN is_trouble THEN stream_pos END) OVER before AS trouble_pos,
    max(CASE WHEN is_trouble AND NOT is_distance THEN stream_pos END) OVER before AS loss_pos
  FROM client_line
  WINDOW before AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), reached_round AS (
  SELECT r.process_id, r.instance, r.group_id, r.client, r.is_worker, r.generation, r.member_id, r.from_pos, r.joining_count,
    coalesce(r.synced_id, r.joined_id, r.worker_assigned_id) AS event_id, l.trouble_pos, l.loss_pos,
    lag(r.generation) OVER in_order AS last_generation, lag(r.from_pos) OVER in_order AS last_pos,
    lag(r.member_id) IGNORE NULLS OVER in_order AS last_member,
    lag(CASE WHEN r.member_id IS NOT NULL THEN r.from_pos END) IGNORE NULLS OVER in_order AS last_member_pos,
    max(r.joining_count) OVER (PARTITION BY r.process_id, r.group_id, r.client) AS most_asked,
    max(r.joined_id) OVER (PARTITION BY r.process_id, r.group_id, r.client) IS NOT NULL AS prints_joins
  FROM join_round r
  JOIN round_line l ON l.process_id = r.process_id AND l.instance = r.instance AND l.group_id = r.group_id AND l.client = r.client
    AND l.stream_pos = r.from_pos
  WINDOW in_order AS (PARTITION BY r.process_id, r.instance, r.group_id, r.client ORDER BY r.from_pos)
), membership_hole AS (
  -- One row per place where a member reached a generation in a way that its log does not explain: lines are missing. A member id changes only with a
  -- line (fenced, left, generation reset) or in a new process run. A change without either means that such a line is missing. A member that was
  -- paused or cut off while its group continued prints errors when it returns, so a skipped generation without such an error is a gap. Membership
  -- without a join request is a gap too.
  SELECT process_id, instance, last_member_pos AS from_pos, from_pos AS to_pos, true AS is_wide, 'member_changed' AS why, event_id
  FROM reached_round
  -- A member that learns only from the coordinator's response that its id is no longer valid asks again.
  WHERE member_id <> last_member AND NOT coalesce(CASE WHEN joining_count > 1 THEN trouble_pos ELSE loss_pos END > last_member_pos, false)
  UNION ALL
  -- A leaving member prints its own id.
  SELECT e.process_id, e.instance, r.from_pos, e.stream_pos AS to_pos, true AS is_wide, 'member_changed' AS why, e.event_id
  FROM round_line e
  JOIN join_round r ON r.process_id = e.process_id AND r.instance = e.instance AND r.group_id = e.group_id AND r.client = e.client
    AND r.from_pos = e.round_pos
  WHERE e.event = 'leaving' AND e.member_id <> r.member_id AND NOT coalesce(e.loss_pos > r.from_pos, false)
  UNION ALL
  SELECT process_id, instance, last_pos AS from_pos, from_pos AS to_pos, true AS is_wide, 'generation_skipped' AS why, event_id FROM reached_round
  -- Up to 2.6.0 a round that failed after the join is not printed, only the next join request.
  WHERE generation - last_generation > CASE WHEN prints_joins THEN 1 ELSE greatest(joining_count, 1) END
    AND NOT coalesce(trouble_pos > last_pos, false)
  UNION ALL
  SELECT process_id, instance, last_pos AS from_pos, from_pos AS to_pos, false AS is_wide, 'joined_unasked' AS why, event_id FROM reached_round
  WHERE is_worker AND joining_count = 0 AND most_asked > 0 AND last_pos IS NOT NULL AND generation > last_generation
), membership_round AS (
  SELECT process_id, instance, group_id, client, generation, member_id, from_pos,
    lead(member_id) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_member
  FROM join_round
), lines_after_round AS (
  -- The lines of a member's client after a generation, up to the next one.
  SELECT process_id, instance, group_id, client, round_pos, sort_array(collect_list(struct(stream_pos, event, event_id, member_id))) AS lines
  FROM round_line
  WHERE round_pos IS NOT NULL AND event IN ('joining', 'leaving', 'partitions_revoked', 'partitions_lost', 'heartbeat_failed',
    'member_fenced', 'generation_reset', 'poll_timeout')
  GROUP BY process_id, instance, group_id, client, round_pos
), membership_end_line AS (
  SELECT process_id, instance, group_id, client, round_pos, lines,
    get(filter(lines, x -> x.event IN ('leaving', 'partitions_lost', 'member_fenced', 'generation_reset')), 0) AS end_line
  FROM lines_after_round
), final_round AS (
  -- The first line that reports the end of a membership ends it. Requests before it may have been answered without a logged response.
  SELECT r.process_id, r.instance, r.generation, r.from_pos, r.group_id,
    -- Releases that do not print the id with the generation print it when it is no longer valid.
    coalesce(r.member_id, get(filter(e.lines, x -> x.member_id IS NOT NULL), 0).member_id) AS member_id,
    size(filter(e.lines, x -> x.event = 'joining' AND (e.end_line IS NULL OR x.stream_pos < e.end_line.stream_pos))) AS asked_count,
    coalesce(e.end_line, element_at(e.lines, -1)) AS last
  FROM membership_round r
  JOIN membership_end_line e ON e.process_id = r.process_id AND e.instance = r.instance AND e.group_id = r.group_id AND e.client = r.client
    AND e.round_pos = r.from_pos
  WHERE r.member_id IS NULL OR NOT r.member_id <=> r.next_member
), coordinator_generation AS (
  -- A coordinator that reports a member as leaving, removed or joining again knows it in the group's current generation. Member ids are unique even
  -- if the coordinator's cluster is unknown.
  SELECT group_id, member_id, max(generation) AS generation
  FROM (
    SELECT group_id, member_id, event, reason,
      -- This is not the last stabilised generation: if a member leaves while others join, its departure is logged after the generation without it.
      coalesce(old_generation, lag(old_generation) IGNORE NULLS OVER (PARTITION BY group_id, process_id, instance ORDER BY stream_pos)) AS generation
    FROM event WHERE event IN ('rebalance_preparing', 'member_expired', 'member_left') AND broker_id IS NOT NULL
  )
  WHERE member_id IS NOT NULL AND (event IN ('member_expired', 'member_left') OR event = 'rebalance_preparing'
    AND NOT lower(reason) LIKE 'adding new member%')
  GROUP BY group_id, member_id
), unheard_generation AS (
  -- One row per membership that the coordinator counted in a later generation than the member's own log: lines in between are missing.
  SELECT k.process_id, k.instance, k.from_pos, k.last.stream_pos AS to_pos, k.last.event_id FROM final_round k
  JOIN coordinator_generation n ON n.group_id = k.group_id AND n.member_id = k.member_id
  -- A member whose join was never answered may be in that generation without knowing it.
  WHERE n.generation - k.generation > k.asked_count
), join_timeout AS (
  SELECT process_id, component = 'DistributedConfig' AS is_worker, CASE WHEN component = 'ConsumerConfig' THEN client_id END AS client,
    max(try_cast(value AS BIGINT)) AS timeout_ms
  FROM setting
  WHERE component = 'DistributedConfig' AND key = 'rebalance.timeout.ms' OR component = 'ConsumerConfig' AND key = 'max.poll.interval.ms'
  GROUP BY process_id, component = 'DistributedConfig', CASE WHEN component = 'ConsumerConfig' THEN client_id END
), unanswered_join AS (
  -- One row per join request without an answer, although the coordinator answers when the rebalance timeout has passed, and a client that has lost
  -- its coordinator prints that: the answer is missing, and with it what the member was assigned.
  SELECT j.process_id AS process_id, j.instance AS instance, j.stream_pos AS from_pos, coalesce(j.next.stream_pos, p.last_pos) AS to_pos,
    coalesce(j.next.event_id, p.last_id) AS event_id
  FROM (
    SELECT process_id, instance, client, is_worker, event, stream_pos, at_ms,
      lead(struct(stream_pos, at_ms, event, event_id)) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos) AS next
    FROM client_event
  ) j
  JOIN (
    SELECT process_id, instance, max(stream_pos) AS last_pos, max_by(event_id, stream_pos) AS last_id, max_by(unix_millis(ts), stream_pos) AS last_ms
    FROM event GROUP BY process_id, instance
  ) p ON p.process_id = j.process_id AND p.instance = j.instance
  LEFT JOIN join_timeout t ON t.process_id = j.process_id AND t.is_worker = j.is_worker AND (j.is_worker OR t.client = j.client)
  WHERE j.event = 'joining' AND (j.next IS NULL OR j.next.event IN ('joining', 'worker_rebalance_started', 'heartbeat_failed', 'leaving',
    'partitions_revoked'))
    AND coalesce(j.next.at_ms, p.last_ms) - j.at_ms > heartbeat_late_ms
      + coalesce(t.timeout_ms, CASE WHEN j.is_worker THEN usual_worker_rebalance_ms ELSE usual_poll_ms END)
), filtered_line AS (
  SELECT e.process_id, e.instance, e.stream_pos, e.event_id,
    coalesce(lag(e.stream_pos) OVER (PARTITION BY e.process_id, e.instance ORDER BY e.stream_pos), e.stream_pos - 1) AS last_pos
  FROM event e LEFT SEMI JOIN filtered_log f ON f.process_id = e.process_id
), gap AS (
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM membership_hole
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, true, 'coordinator_ahead', event_id FROM unheard_generation
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, true, 'join_unanswered', event_id FROM unanswered_join
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM work_hole
  UNION ALL
  -- It may hide the end of one run and the start of the next.
  SELECT process_id, explode(array_distinct(array_compact(array(before_instance, instance)))), from_pos, to_pos, true, 'lost', NULL FROM lost_range
  UNION ALL
  SELECT process_id, instance, last_pos, stream_pos, true, 'filtered', event_id FROM filtered_line
  UNION ALL
  SELECT process_id, instance, max(stream_pos), max(stream_pos) + 1, true, 'filtered', max_by(event_id, stream_pos) FROM filtered_line
  GROUP BY process_id, instance
)
SELECT process_id, instance, min(from_pos) AS from_pos, to_pos, bool_or(is_wide) AS is_wide, min_by(why, struct(NOT is_wide, why)) AS why,
  min(event_id) AS event_id
FROM gap GROUP BY process_id, instance, to_pos

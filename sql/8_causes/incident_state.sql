-- One row per incident: whether it is over when the logs end, what is still open, and which process has to be stopped or started.
-- Reads: root_cause, occurrence, split_brain, incident_gap, open_rebalance, process_life, clock_offset, client_event, lost_membership
-- Grain: incident_id
-- It is over when its cause is over, and so are all effects: one owner instead of two, an owner for every resource, a coordinator for every
-- member. A log that simply ends shows no end. If both owners' logs continue until the last log ends, both are still running; if one ends
-- earlier, the state is unknown. Two owners that were separated only by a shutdown at the end of the logs would otherwise still be two.
CREATE OR REPLACE TEMPORARY VIEW incident_state (
  incident_id   COMMENT 'Incident',
  state         COMMENT 'over, open (not over when the logs end) or unknown',
  over_ms       COMMENT 'Over at this time (reference clock, milliseconds since 1970); NULL: not over, or unknown',
  over_how      COMMENT 'ended; shut_down: it lasted until one of its processes was shut down (open: at the end of the logs); else NULL',
  shown_ms      COMMENT 'The logs show it until this time; NULL: it is over',
  still         COMMENT 'What is not over, the most serious first: two_owners, broker_away, process_away, rebalance, offsets_topic,
    no_coordinator, not_stored, declared, clock, not_started, failed',
  targets       COMMENT 'Processes or brokers to stop or start; for an incident that ended with a shutdown, those that were shut down'
)
AS
WITH run_end AS (
  SELECT l.process_id, l.ending_ms - o.hi_ms AS ending_lo_ms, l.last_ms - o.lo_ms AS last_ms, o.reference_process_id
  FROM process_life l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
), island_end AS (
  SELECT reference_process_id, max(last_ms) AS last_ms FROM run_end GROUP BY reference_process_id
), log_end AS (
  SELECT l.process_id, max(l.last_ms) AS last_ms, max(i.last_ms) AS end_ms FROM run_end l
  JOIN island_end i ON i.reference_process_id = l.reference_process_id
  GROUP BY l.process_id
), incident_occurrence AS (
  SELECT o.incident_id, r.incident_id IS NULL AS is_alone, o.rule, o.code, o.verdict, o.kafka_cluster, o.group_id, o.subject,
    unix_millis(o.from_ts) AS from_ms, unix_millis(o.to_ts) AS to_ms, o.facts
  FROM occurrence o LEFT JOIN root_cause r ON r.incident_id = o.incident_id WHERE o.incident_id IS NOT NULL
), owner_pair AS (
  SELECT DISTINCT t.incident_id, s.ownership_a, s.ownership_b, s.process_a, s.process_b, unix_millis(s.to_hi) AS to_ms,
    least(a.last_ms, b.last_ms) AS shown_ms, greatest(a.end_ms, b.end_ms) AS end_ms,
    least(a.last_ms, b.last_ms) >= greatest(a.end_ms, b.end_ms) - coordinator_settled_ms AS is_seen
  FROM incident_occurrence t
  JOIN split_brain s ON s.kafka_cluster <=> t.kafka_cluster AND s.group_id <=> t.group_id AND s.verdict = 'proved'
    AND array_contains(split(t.subject, ', '), s.resource) AND unix_millis(s.from_lo) BETWEEN t.from_ms AND coalesce(t.to_ms, t.from_ms)
  JOIN log_end a ON a.process_id = s.process_a
  JOIN log_end b ON b.process_id = s.process_b
  WHERE t.rule IN ('split-brain-task', 'split-brain-partition') AND t.verdict = 'proved'
), shutdown_process AS (
  SELECT p.ownership_a, p.ownership_b, array_sort(collect_set(l.process_id)) AS processes
  FROM (SELECT ownership_a, ownership_b, to_ms, explode(array(process_a, process_b)) AS process_id FROM owner_pair WHERE to_ms IS NOT NULL) p
  JOIN run_end l ON l.process_id = p.process_id AND p.to_ms BETWEEN l.ending_lo_ms AND l.last_ms + heartbeat_late_ms
  GROUP BY p.ownership_a, p.ownership_b
), owner_pair_end AS (
  SELECT p.*, s.processes, s.processes IS NOT NULL AND p.to_ms >= p.end_ms - coordinator_settled_ms AS is_last
  FROM owner_pair p LEFT JOIN shutdown_process s ON s.ownership_a = p.ownership_a AND s.ownership_b = p.ownership_b
), member_return AS (
  -- A member that left because of its poll timeout is back when its process is a member again. If no clock places the end of another trouble, a
  -- process that is a member again after every loss is back too, at an unknown time.
  SELECT r.incident_id, min(j.at_ms - o.lo_ms) AS back_ms
  FROM (SELECT incident_id, to_hi_ms, group_ids, explode(process_ids) AS process_id FROM root_cause WHERE cause = 'poll_too_slow') r
  JOIN client_event j ON j.process_id = r.process_id AND array_contains(r.group_ids, j.group_id)
    AND j.event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned')
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.at_ms - o.lo_ms > r.to_hi_ms GROUP BY r.incident_id
  UNION ALL
  SELECT r.incident_id, NULL
  FROM (SELECT incident_id, group_ids, explode(process_ids) AS process_id FROM root_cause WHERE to_hi_ms IS NULL AND cause <> 'poll_too_slow') r
  JOIN lost_membership l ON l.process_id = r.process_id AND array_contains(r.group_ids, l.group_id)
  GROUP BY r.incident_id HAVING count_if(l.back_ms IS NULL) = 0
), incident_part AS (
  -- For each part of an incident: its end, or what is still open. If an open part leaves no lines, its state is unknown. NULL: over, at an unknown
  -- time.
  SELECT r.incident_id,
    CASE WHEN r.cause = 'poll_too_slow' THEN b.back_ms
      WHEN r.cause NOT IN ('duplicate_declaration', 'group_id_collision', 'offsets_topic_impossible') THEN r.to_hi_ms END AS to_ms,
    CASE WHEN r.cause IN ('duplicate_declaration', 'group_id_collision') THEN 'declared'
      WHEN r.cause = 'offsets_topic_impossible' THEN 'offsets_topic'
      WHEN r.cause = 'clock_wrong' THEN 'clock'
      WHEN r.cause = 'poll_too_slow' AND b.incident_id IS NULL THEN 'process_away'
      WHEN r.to_hi_ms IS NOT NULL OR b.incident_id IS NOT NULL THEN NULL
      WHEN r.cause = 'broker_down' OR array_contains(r.alternatives, 'broker_down') THEN 'broker_away'
      WHEN size(r.process_ids) = 1 THEN 'process_away' END AS still,
    -- A connector that is stable for a while may change again.
    CASE WHEN r.cause = 'connector_churn' THEN e.last_ms - r.to_hi_ms < storm_gap_ms
      WHEN r.cause = 'clock_wrong' THEN r.from_lo_ms IS NOT NULL
      WHEN r.cause IN ('duplicate_declaration', 'group_id_collision', 'offsets_topic_impossible') THEN false
      -- A log that ends soon after the member left does not show that it stayed away.
      WHEN r.cause = 'poll_too_slow' THEN b.incident_id IS NULL AND coalesce(e.last_ms - r.to_hi_ms < coordinator_settled_ms, true)
      WHEN b.incident_id IS NOT NULL THEN NULL
      ELSE r.to_hi_ms IS NULL AND (r.subject = '' OR array_contains(r.alternatives, 'lines_missing')
        OR r.cause = 'coordinator_moved'
        -- It is also unknown if a broker that was possibly down is back. Members without a coordinator are separate evidence.
        OR r.cause = 'unknown' AND array_contains(r.alternatives, 'broker_down')) END AS is_unknown,
    CAST(NULL AS BIGINT) AS shown_ms,
    CASE WHEN r.to_hi_ms IS NULL AND (r.cause = 'broker_down' OR array_contains(r.alternatives, 'broker_down')) THEN array(r.subject)
      WHEN (r.to_hi_ms IS NULL OR r.cause = 'poll_too_slow') AND b.incident_id IS NULL AND size(r.process_ids) = 1 THEN r.process_ids
      ELSE CAST(array() AS ARRAY<STRING>) END AS targets
  FROM root_cause r LEFT JOIN member_return b ON b.incident_id = r.incident_id
  CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e
  UNION ALL
  SELECT incident_id, to_ms, CASE WHEN to_ms IS NULL OR is_last THEN 'two_owners' END, to_ms IS NULL AND NOT is_seen,
    CASE WHEN is_last THEN to_ms WHEN to_ms IS NULL THEN shown_ms END,
    CASE WHEN to_ms IS NULL OR is_last THEN array(process_a) ELSE CAST(array() AS ARRAY<STRING>) END
  FROM owner_pair_end
  UNION ALL
  SELECT incident_id, unix_millis(to_ts), NULL, false, NULL, CAST(array() AS ARRAY<STRING>) FROM incident_gap
  WHERE to_ts IS NOT NULL
  UNION ALL
  SELECT t.incident_id, NULL, 'rebalance', false, r.to_ms, r.awaited_processes FROM incident_occurrence t
  JOIN open_rebalance r ON r.kafka_cluster = t.kafka_cluster AND r.group_id = t.group_id AND NOT r.is_given_up
  WHERE t.rule = 'slow-rebalance' AND t.code = 'unfinished'
  UNION ALL
  SELECT incident_id, coalesce(to_ms, from_ms),
    CASE WHEN rule = 'coordinator-unavailable' AND coalesce(try_cast(get_json_object(facts, '$.is_open') AS BOOLEAN), to_ms IS NULL)
        THEN CASE WHEN code = 'not_stored' THEN code ELSE 'no_coordinator' END
      WHEN rule = 'assigned-not-working' AND to_ms IS NULL THEN CASE WHEN code LIKE 'failed%' THEN 'failed' ELSE 'not_started' END END,
    -- If the cause of a member's removal is unknown, so is its whereabouts, unless it returned. A log that ends soon after a refused commit does not
    -- show that the next one succeeded. A stuck partition may have moved on without a line.
    is_alone AND (rule = 'session-timeout' AND code = 'stayed_away'
      OR rule = 'stale-commit' AND coalesce(e.last_ms - coalesce(to_ms, from_ms) < coordinator_settled_ms, true))
      OR rule = 'stuck-partition' AND to_ms IS NULL,
    NULL, CAST(array() AS ARRAY<STRING>)
  FROM incident_occurrence CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e
  WHERE rule NOT IN ('split-brain-task', 'split-brain-partition')
), incident_summary AS (
  SELECT incident_id, CASE WHEN count(is_unknown) = count(*) THEN max(to_ms) END AS to_ms,
    bool_or(coalesce(still IS NOT NULL AND NOT is_unknown, false)) AS is_open, bool_or(coalesce(is_unknown, false)) AS is_unknown,
    -- If something is known to be open, unknown parts are not reported as open.
    array_intersect(array('two_owners', 'broker_away', 'process_away', 'rebalance', 'offsets_topic', 'no_coordinator', 'declared',
      'clock', 'not_started', 'failed', 'not_stored'), CASE WHEN bool_or(still IS NOT NULL AND NOT is_unknown)
      THEN collect_set(CASE WHEN NOT is_unknown THEN still END) ELSE collect_set(still) END) AS still,
    min(shown_ms) AS shown_ms, array_sort(array_distinct(flatten(collect_list(targets)))) AS targets
  FROM incident_part GROUP BY incident_id
), incident_shutdown AS (
  SELECT incident_id, array_sort(array_distinct(flatten(collect_list(processes)))) AS shut_ids, bool_and(to_ms IS NOT NULL) AS is_all
  FROM owner_pair_end GROUP BY incident_id HAVING count(processes) > 0
)
SELECT s.incident_id, CASE WHEN s.is_open THEN 'open' WHEN s.is_unknown THEN 'unknown' ELSE 'over' END AS state,
  CASE WHEN NOT s.is_open AND NOT s.is_unknown THEN s.to_ms END AS over_ms,
  CASE WHEN p.is_all AND (NOT s.is_open AND NOT s.is_unknown OR s.is_open AND array_join(s.still, ',') = 'two_owners') THEN 'shut_down'
    WHEN NOT s.is_open AND NOT s.is_unknown THEN 'ended' END AS over_how,
  CASE WHEN s.is_open OR s.is_unknown THEN coalesce(s.shown_ms, e.last_ms) END AS shown_ms, s.still,
  CASE WHEN NOT s.is_open AND NOT s.is_unknown AND p.incident_id IS NOT NULL THEN p.shut_ids ELSE s.targets END AS targets
FROM incident_summary s LEFT JOIN incident_shutdown p ON p.incident_id = s.incident_id
CROSS JOIN (SELECT max(last_ms) AS last_ms FROM island_end) e

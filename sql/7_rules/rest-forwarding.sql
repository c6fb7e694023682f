-- One row per worker, target and kind of failure: REST requests that a Connect worker could not forward to its leader or another worker.
-- Reads: placed_event, worker_setting, member, clock_offset, process_life
WITH clock_lead AS (
  SELECT process_id, reference_process_id, (lo_ms + hi_ms) DIV 2 AS ahead_ms FROM clock_offset WHERE is_island_reference
), worker_line AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event, e.event_id, e.message, e.http_status,
    lower(concat_ws(' ', e.error, e.root_error)) AS cause_text, e.error, regexp_extract(e.url, '^([a-z]+://[^/]+)', 1) AS url, e.leader_url,
    e.leader_member_id, e.generation, e.worker_group_id,
    CASE WHEN e.event IN ('rest_forward_failed', 'rest_no_leader') THEN true
      WHEN e.event = 'connector_reconfigure_failed' THEN coalesce(e.message LIKE 'Request to leader%'
        OR e.error RLIKE 'forward REST request|leader.s REST interface is empty', false)
      WHEN e.event = 'rest_request' THEN e.http_status = 409
      ELSE false END AS is_failure
  FROM placed_event e
  WHERE e.event IN ('rest_forward_failed', 'rest_no_leader', 'connector_reconfigure_failed', 'worker_assigned', 'worker_rebalance_started')
    OR e.event = 'joining' AND e.client_kind = 'Worker' OR e.event = 'rest_request' AND e.http_status = 409
), failure_line AS (
  SELECT * FROM (
  SELECT *,
  lag(CASE WHEN event = 'worker_assigned' AND leader_member_id IS NOT NULL
  THEN struct(leader_member_id AS member_id, leader_url AS url, generation, event_id) END) IGNORE NULLS OVER before AS leader,
  lag(CASE WHEN NOT is_failure AND event <> 'connector_reconfigure_failed' THEN event END) IGNORE NULLS OVER before AS last_step
  FROM worker_line
  WINDOW before AS (PARTITION BY process_id, instance ORDER BY stream_pos)
  )
  WHERE is_failure
), failure AS (
  SELECT f.kafka_cluster, f.worker_group_id AS group_id, f.process_id, k.reference_process_id, f.at_ms - k.ahead_ms AS reference_ms, f.event_id,
    f.message, f.error, coalesce(nullif(f.url, ''), regexp_extract(f.leader.url, '^([a-z]+://[^/]+)', 1)) AS target,
    f.url IS NOT NULL AND f.url <> '' AS is_named,
    f.leader.member_id AS leader_member_id, f.leader.url AS leader_url, f.leader.generation AS leader_generation, f.leader.event_id AS leader_id,
    coalesce(f.last_step <> 'worker_assigned', false) AS is_rebalancing,
    CASE WHEN f.event IN ('rest_request', 'rest_no_leader') OR f.cause_text RLIKE 'conflicting operation|rebalance|409' THEN 'conflict'
      WHEN f.cause_text RLIKE 'signature' THEN 'signature'
      WHEN f.cause_text RLIKE 'ssl|pkix|certificate|trust anchors' THEN 'tls'
      WHEN f.cause_text RLIKE 'connectexception|connection refused|noroutetohost|unknownhost|unresolved|timeout|timed out|closedchannel|eof'
        THEN 'network'
      WHEN f.cause_text RLIKE 'interface is empty' THEN 'no_url'
      ELSE 'other' END AS kind
  FROM failure_line f JOIN clock_lead k ON k.process_id = f.process_id
), worker_address AS (
  SELECT kafka_cluster, group_id, process_id, regexp_extract(worker_url, '^([a-z]+://[^/]+)', 1) AS address FROM worker_setting
  WHERE worker_url IS NOT NULL
), address_owner AS (
  SELECT address, array_sort(collect_set(process_id)) AS processes, max(kafka_cluster) AS kafka_cluster, max(group_id) AS group_id,
    count(DISTINCT coalesce(kafka_cluster, ''), coalesce(group_id, '')) AS groups
  FROM worker_address GROUP BY address
), placed_failure AS (
  SELECT f.*, a.processes AS target_processes, a.group_id AS target_group,
    a.groups = 1 AND (NOT a.group_id <=> f.group_id OR NOT a.kafka_cluster <=> f.kafka_cluster) AS is_of_other_group,
    f.target RLIKE '^[a-z]+://(localhost|127[.]|0[.]0[.]0[.]0|\\[::1?\\])' AS is_loopback, m.process_id AS leader_process_id
  FROM failure f LEFT JOIN address_owner a ON a.address = f.target
  LEFT JOIN (SELECT kafka_cluster, group_id, member_id, max(process_id) AS process_id FROM member GROUP BY kafka_cluster, group_id, member_id) m
    ON m.kafka_cluster = f.kafka_cluster AND m.group_id = f.group_id AND m.member_id = f.leader_member_id
), target_run AS (
  -- Whether the target's log shows that it had stopped, or that it was starting again. A log that just ends shows neither.
  SELECT f.event_id, bool_or(coalesce(l.stopping_ms, CASE WHEN l.next_start_ms IS NOT NULL THEN l.last_ms END) - k.ahead_ms < f.reference_ms
    AND coalesce(l.next_start_ms - k.ahead_ms > f.reference_ms, true)) AS is_down
  FROM placed_failure f JOIN process_life l ON size(f.target_processes) = 1 AND l.process_id = f.target_processes[0]
  JOIN clock_lead k ON k.process_id = l.process_id AND k.reference_process_id = f.reference_process_id
  GROUP BY f.event_id
), judged_failure AS (
  SELECT f.*,
    CASE WHEN f.kind = 'conflict' THEN 'conflict'
      WHEN f.kind IN ('signature', 'tls', 'other', 'no_url') THEN 'refused'
      WHEN f.is_of_other_group THEN 'other_environment'
      WHEN f.is_loopback THEN 'loopback'
      WHEN t.is_down THEN 'target_gone'
      ELSE 'unreachable' END AS code
  FROM placed_failure f LEFT JOIN target_run t ON t.event_id = f.event_id
), finding_row AS (
  SELECT kafka_cluster, group_id, process_id, code, CASE WHEN code <> 'conflict' THEN target END AS target, min(reference_ms) AS from_ms,
    max(reference_ms) AS to_ms, count(*) AS times, count_if(is_rebalancing) AS rebalancing, min(kind) AS kind, min(error) AS said,
    max(target_group) AS target_group, max(target_processes) AS target_processes, bool_or(is_named) AS is_named,
    max_by(leader_member_id, struct(reference_ms, event_id)) AS leader_member_id, max_by(leader_url, struct(reference_ms, event_id)) AS leader_url,
    max_by(leader_generation, struct(reference_ms, event_id)) AS leader_generation,
    max_by(leader_process_id, struct(reference_ms, event_id)) AS leader_process_id, slice(sort_array(collect_list(event_id)), 1, 5) AS event_ids,
    max_by(leader_id, struct(reference_ms, event_id)) AS leader_id
  FROM judged_failure GROUP BY kafka_cluster, group_id, process_id, code, CASE WHEN code <> 'conflict' THEN target END
)
SELECT
  -- A worker retries a request that it could not sign yet.
  CASE WHEN code IN ('conflict', 'target_gone') OR kind = 'signature' AND times < storm_returns THEN 'note' ELSE 'warning' END AS severity,
  CASE WHEN code IN ('other_environment', 'loopback', 'target_gone') AND is_named THEN 'proved' ELSE 'undecided' END AS verdict, kafka_cluster,
  group_id, process_id AS subject, from_ms, to_ms, code,
  struct(process_id, target, is_named, target_group, target_processes, times, rebalancing, kind, said, leader_member_id, leader_url,
    leader_generation, leader_process_id) AS facts,
  concat(transform(event_ids, e -> named_struct('role', 'the request fails', 'event_id', e)),
    filter(array(named_struct('role', 'names the leader', 'event_id', leader_id)), x -> x.event_id IS NOT NULL)) AS proof
FROM finding_row

-- One row per member that the broker removed for missing heartbeats, according to the broker's log or, without one, the member's own.
-- Reads: expired_session
-- Other rules report a member that had left, or had stopped polling, before the broker removed it.
SELECT CASE WHEN coalesce(ending_id, closing_id, namesake) IS NOT NULL AND again_id IS NULL AND NOT left_client <=> 'expired' THEN 'note'
    ELSE 'warning' END AS severity,
  'proved' AS verdict, kafka_cluster, group_id, coalesce(member_id, process_id) AS subject,
  CASE WHEN how IN ('own_words', 'told_by_coordinator', 'not_known') THEN coalesce(last_ms, at_ms) ELSE at_ms END AS from_ms,
  CASE WHEN how = 'expired' THEN at_ms ELSE coalesce(again_ms, at_ms) END AS to_ms,
  CASE WHEN how = 'own_words' THEN 'own_words' WHEN how = 'told_by_coordinator' THEN 'told_by_coordinator' WHEN how = 'not_known' THEN 'not_known'
    WHEN how = 'no_answer' THEN 'no_answer'
    WHEN paused_id IS NOT NULL THEN 'broker_paused'
    WHEN process_id IS NULL AND namesake IS NOT NULL THEN 'abandoned'
    WHEN process_id IS NULL AND shared_log IS NOT NULL THEN 'in_shared_log'
    WHEN process_id IS NULL THEN CASE WHEN again_id IS NULL THEN 'unknown_process' ELSE 'unknown_rejoined' END
    WHEN left_client = 'expired' THEN 'came_back'
    WHEN again_id IS NOT NULL THEN 'rejoined'
    WHEN ending_id IS NOT NULL THEN 'ended'
    WHEN closing_id IS NOT NULL THEN 'closed'
    WHEN ran_on THEN 'ran_on'
    ELSE 'stayed_away' END AS code,
  struct(member_id, process_id, instance, client, task, group_instance_id, broker, at_ms AS removed_at_ms, session_ms, broker_protocol, last_event,
    last_ms AS last_at_ms, again_ms AS again_at_ms, ending_ms AS ending_at_ms, closing_ms AS closed_at_ms, lost_ms AS lost_at_ms, shared_log,
    namesake, coalesce(namesake_processes, CAST(array() AS ARRAY<STRING>)) AS namesake_processes, paused_ms) AS facts,
  CASE WHEN how = 'expired' THEN array(named_struct('role', 'removed for missing heartbeats', 'event_id', event_id),
      named_struct('role', 'last group line of the member', 'event_id', last_id),
      named_struct('role', 'joins again', 'event_id', again_id), named_struct('role', 'its process stops', 'event_id', ending_id),
      named_struct('role', 'loses its coordinator', 'event_id', lost_id), named_struct('role', 'is closed', 'event_id', closing_id),
      named_struct('role', 'shows that the coordinator was paused', 'event_id', paused_id))
    ELSE filter(array(named_struct('role', 'no answer to a heartbeat for a session timeout', 'event_id', last_id),
      named_struct('role', 'the coordinator no longer knows the member', 'event_id', event_id)), p -> p.event_id IS NOT NULL) END AS proof
FROM expired_session

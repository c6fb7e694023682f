-- One row per member id that its own process names, with that process.
-- Reads: placed_event, client_event, process_life, shared_log
-- Grain: group_id, member_id
-- A release that prints no member id when it joins still prints it when it is refused. Member ids are unique even if the cluster's name is uncertain.
CREATE OR REPLACE TEMPORARY VIEW member_place (
  kafka_cluster, group_id, member_id, process_id, instance, client,
  client_id     COMMENT 'client.id; NULL: the line has none',
  task,
  known_how     COMMENT 'own_line, or refused: only the refusal names it',
  event_id
)
AS
WITH member_line AS (
  SELECT e.kafka_cluster, coalesce(e.group_id, k.group_id) AS group_id, e.process_id, e.instance, e.stream_pos, e.event_id,
    coalesce(e.client_id, e.task, e.thread, k.client, '-') AS client, e.client_id, e.task,
    CASE WHEN e.member_id IS NULL THEN 'refused' ELSE 'own_line' END AS known_how,
    coalesce(e.member_id, regexp_extract(coalesce(e.cause, e.error, e.reason, ''), 'member id ([^ ,]+) is not valid', 1)) AS member_id
  FROM placed_event e
  -- Clients that print no client id (before 1.0, other libraries) are recognised by lines that only a member prints.
  LEFT JOIN client_event k ON k.event_id = e.event_id
  WHERE coalesce(e.group_id, k.group_id) IS NOT NULL AND e.broker_id IS NULL
    AND (e.client_kind IS NOT NULL OR e.client_id IS NOT NULL OR k.event_id IS NOT NULL) AND (e.member_id IS NOT NULL OR e.event = 'heartbeat_failed')
    -- A leader prints the ids of the members that it assigns to.
    AND e.event NOT LIKE 'leader\\_%' AND e.event <> 'assignment_conflict'
), ranked_line AS (
  SELECT l.*, row_number() OVER (PARTITION BY l.group_id, l.member_id ORDER BY l.known_how, l.stream_pos, l.process_id, l.event_id) AS nth
  FROM member_line l LEFT ANTI JOIN (SELECT DISTINCT process_id FROM process_life WHERE is_broker) b ON b.process_id = l.process_id
  -- A log of several members identifies none of them.
  LEFT ANTI JOIN shared_log s ON s.process_id = l.process_id AND (s.is_worker OR s.client = l.client)
  WHERE l.member_id <> ''
)
SELECT kafka_cluster, group_id, member_id, process_id, instance, client, client_id, task, known_how, event_id FROM ranked_line WHERE nth = 1

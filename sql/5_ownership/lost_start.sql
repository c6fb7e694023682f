-- One row per task or connector whose start is missing from its worker's log, with other bounds on its start.
-- Reads: task_line, join_round, round_line, client_event, process_line, event, clock_closure, process_resolution
-- Grain: process_id, instance, resource_kind, resource, life
-- A worker's assignment names everything that it may run. As long as its log has each of its generations from the first on, and no loss of
-- membership, it runs nothing that none of them names. An earlier membership cannot have been lost unseen if no silence before its first
-- generation is as long as a session. A member id belongs to one consumer. A coordinator's line with the id shows that consumer, and its
-- task, before the task's own log does. So does a request that the consumer cancels, because the same client sent it. A worker starts
-- nothing between the response to its sync and the assignment, which it prints after it has stopped its revoked work. A task that works in
-- between therefore existed before.
CREATE OR REPLACE TEMPORARY VIEW lost_start (
  process_id     COMMENT 'Worker',
  instance       COMMENT 'Which run of the process',
  resource_kind  COMMENT 'task or connector',
  resource       COMMENT 'Task or connector',
  life           COMMENT 'life of task_line; 0: the log has no line of a start',
  not_before_ms  COMMENT 'Certainly not started before this time, by the worker''s clock (milliseconds since 1970); NULL: no assignment
    shows it',
  not_before_id  COMMENT 'The assignment without it',
  generation     COMMENT 'Generation of the last assignment before its first line, if that names it; NULL: it does not, or there is none',
  is_skipped     COMMENT 'True if the last assignment before its first line does not name it, so it started after that',
  before_generation COMMENT 'It existed before its worker was assigned that generation; NULL: none follows',
  there_ms       COMMENT 'Certainly existed from this time on, before its own first line, by the worker''s clock; NULL: no other line shows
    it',
  there_id       COMMENT 'Line that shows it: the coordinator''s line with its consumer, the cancelled request, or the sync',
  there_witness  COMMENT 'Events that link that line to it: the line with its member id, then the clocks; its activity before the
    assignment'
)
COMMENT 'One row per task or connector whose start is missing from its worker''s log, with other bounds on its start.'
AS
WITH first_line AS (
  SELECT process_id, instance, resource_kind, resource, life, min(stream_pos) AS from_pos, min(at_ms) AS from_ms,
    min(struct(stream_pos, event_id)) FILTER (WHERE kind IN ('sign', 'leaving') OR kind = 'closing' AND timeout_ms > 0) AS sign
  FROM task_line
  WHERE kind <> 'order'
  GROUP BY process_id, instance, resource_kind, resource, life
  -- The log has the end of the connector's construction, but not its beginning.
  HAVING life = 0 OR min_by(event, stream_pos) FILTER (WHERE kind = 'start') = 'connector_started'
), assignment AS (
  SELECT e.process_id, e.instance, e.stream_pos, e.at_ms, e.event_id, j.generation, j.from_pos, j.member_id, j.joining_first_pos,
    j.synced_id, array_union(j.assigned, coalesce(j.revoked, array())) AS listed, j.assigned, l.trouble_pos, j.first_pos, j.client,
    j.group_id
  FROM client_event e
  LEFT SEMI JOIN (SELECT DISTINCT process_id, instance FROM first_line) f ON f.process_id = e.process_id AND f.instance = e.instance
  JOIN (
    SELECT *, min(from_pos) OVER (PARTITION BY process_id, instance, group_id, client) AS first_pos FROM join_round WHERE is_worker
  ) j ON j.process_id = e.process_id AND j.instance = e.instance AND j.worker_assigned_id = e.event_id
  JOIN round_line l ON l.process_id = j.process_id AND l.instance = j.instance AND l.group_id = j.group_id AND l.client = j.client
    AND l.stream_pos = j.from_pos
  WHERE e.event = 'worker_assigned' AND j.assigned IS NOT NULL
), time_before_assignment AS (
  -- From the line of the herder's start, or the first line of the process run, to its first assignment.
  SELECT a.process_id, a.instance, a.stream_pos, max(p.stream_pos) AS since_pos
  FROM (
    SELECT process_id, instance, min(stream_pos) AS stream_pos
    FROM assignment
    WHERE instance > 0
    GROUP BY process_id, instance
    -- The lines of several workers in one process cannot be distinguished.
    HAVING count(DISTINCT struct(group_id, client)) = 1
  ) a
  LEFT JOIN process_line p ON p.process_id = a.process_id AND p.instance = a.instance AND p.event = 'herder_starting'
    AND p.stream_pos < a.stream_pos
  GROUP BY a.process_id, a.instance, a.stream_pos
), covered_worker AS (
  SELECT process_id, instance
  FROM (
    SELECT o.process_id, o.instance, p.at_ms - lag(p.at_ms) OVER (PARTITION BY o.process_id, o.instance ORDER BY p.stream_pos) AS silence_ms
    FROM time_before_assignment o
    JOIN process_line p ON p.process_id = o.process_id AND p.instance = o.instance AND p.at_ms IS NOT NULL
      AND coalesce(p.stream_pos >= o.since_pos, true) AND p.stream_pos <= o.stream_pos
  )
  GROUP BY process_id, instance
  HAVING max(silence_ms) < least_session_ms
), numbered_assignment AS (
  SELECT a.*, lag(a.generation) OVER in_order AS last_generation, lag(a.member_id) OVER in_order AS last_member,
    row_number() OVER in_order AS nth
  FROM assignment a
  JOIN covered_worker w ON w.process_id = a.process_id AND w.instance = a.instance
  WINDOW in_order AS (PARTITION BY a.process_id, a.instance ORDER BY a.stream_pos)
), unbroken_assignment AS (
  SELECT process_id, instance, stream_pos, at_ms, event_id, listed
  FROM (
    SELECT *, count_if(NOT coalesce(trouble_pos IS NULL
      AND CASE WHEN nth = 1 THEN joining_first_pos IS NOT NULL AND from_pos = first_pos ELSE generation = last_generation + 1 END
      AND coalesce(member_id = last_member, true), false))
      OVER (PARTITION BY process_id, instance ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS broken
    FROM numbered_assignment
  )
  WHERE broken = 0 AND at_ms IS NOT NULL
), first_mention AS (
  SELECT process_id, instance, resource, min(stream_pos) AS stream_pos
  FROM (SELECT process_id, instance, stream_pos, explode(listed) AS resource FROM unbroken_assignment)
  GROUP BY process_id, instance, resource
), last_without AS (
  SELECT f.process_id, f.instance, f.resource_kind, f.resource, f.life, max(struct(s.stream_pos, s.at_ms, s.event_id)) AS last
  FROM first_line f
  JOIN unbroken_assignment s ON s.process_id = f.process_id AND s.instance = f.instance AND s.stream_pos < f.from_pos
  LEFT JOIN first_mention m ON m.process_id = f.process_id AND m.instance = f.instance AND m.resource = f.resource
  WHERE m.stream_pos IS NULL OR s.stream_pos < m.stream_pos
  GROUP BY f.process_id, f.instance, f.resource_kind, f.resource, f.life
), adjacent_assignment AS (
  SELECT f.process_id, f.instance, f.resource_kind, f.resource, f.life,
    max(CASE WHEN a.stream_pos < f.from_pos THEN struct(a.stream_pos, a.generation, array_contains(a.assigned, f.resource) AS is_named) END)
      AS before_it,
    min(CASE WHEN a.stream_pos > f.from_pos THEN struct(a.stream_pos, a.generation) END) AS after_it
  FROM first_line f
  JOIN assignment a ON a.process_id = f.process_id AND a.instance = f.instance
  GROUP BY f.process_id, f.instance, f.resource_kind, f.resource, f.life
), coordinator_mention AS (
  -- The coordinator's first line with a member id that the task's own consumer prints.
  SELECT n.process_id, n.instance, n.resource_kind, n.resource, n.life,
    min_by(struct(e.at_ms + r.resolution_ms + c.hi_ms AS at_ms, e.event_id, array(n.event_id) || c.witness AS witness),
      struct(e.at_ms + r.resolution_ms + c.hi_ms, e.event_id)) AS line
  FROM (
    SELECT t.process_id, t.instance, t.resource_kind, t.resource, t.life, t.own_member_id, min_by(t.event_id, t.stream_pos) AS event_id
    FROM task_line t
    LEFT SEMI JOIN first_line f ON f.process_id = t.process_id AND f.instance = t.instance AND f.resource_kind = t.resource_kind
      AND f.resource = t.resource AND f.life = t.life
    WHERE t.own_member_id <> '' AND t.life = 0
    GROUP BY t.process_id, t.instance, t.resource_kind, t.resource, t.life, t.own_member_id
  ) n
  JOIN (
    SELECT member_id, process_id, min(unix_millis(ts)) AS at_ms,
      min_by(event_id, struct(ts IS NOT NULL, ts, stream_pos, event_id)) AS event_id
    FROM event
    WHERE broker_id IS NOT NULL AND member_id <> '' AND ts IS NOT NULL
    GROUP BY member_id, process_id
  ) e ON e.member_id = n.own_member_id
  JOIN process_resolution r ON r.process_id = e.process_id
  JOIN clock_closure c ON c.from_process_id = e.process_id AND c.to_process_id = n.process_id
  GROUP BY n.process_id, n.instance, n.resource_kind, n.resource, n.life
), cancelled_request AS (
  SELECT f.process_id, f.instance, f.resource_kind, f.resource, f.life,
    min_by(struct(unix_millis(e.ts) - e.duration_ms AS at_ms, e.event_id, CAST(array() AS ARRAY<STRING>) AS witness),
      struct(unix_millis(e.ts) - e.duration_ms, e.event_id)) AS line
  FROM first_line f
  JOIN task_line t ON t.process_id = f.process_id AND t.instance = f.instance AND t.resource_kind = f.resource_kind
    AND t.resource = f.resource AND t.life = f.life
  JOIN event e ON e.event_id = t.event_id AND e.event = 'request_cancelled' AND e.duration_ms > 0
  WHERE f.life = 0
  GROUP BY f.process_id, f.instance, f.resource_kind, f.resource, f.life
), activity_before_assignment AS (
  SELECT f.process_id, f.instance, f.resource_kind, f.resource, f.life,
    struct(s.at_ms, s.event_id, array(f.sign.event_id) AS witness) AS line
  FROM first_line f
  JOIN assignment a ON a.process_id = f.process_id AND a.instance = f.instance AND a.stream_pos > f.sign.stream_pos
  JOIN client_event s ON s.event_id = a.synced_id AND s.stream_pos < f.sign.stream_pos AND s.at_ms IS NOT NULL
  WHERE f.life = 0
), earliest_evidence AS (
  SELECT process_id, instance, resource_kind, resource, life,
    min_by(line, struct(line.at_ms IS NOT NULL, line.at_ms, line.event_id)) AS line
  FROM (
    SELECT process_id, instance, resource_kind, resource, life, line FROM coordinator_mention
    UNION ALL
    SELECT process_id, instance, resource_kind, resource, life, line FROM cancelled_request
    UNION ALL
    SELECT process_id, instance, resource_kind, resource, life, line FROM activity_before_assignment
  )
  GROUP BY process_id, instance, resource_kind, resource, life
)
SELECT
  f.process_id AS process_id,
  f.instance AS instance,
  f.resource_kind AS resource_kind,
  f.resource AS resource,
  f.life AS life,
  w.last.at_ms AS not_before_ms,
  w.last.event_id AS not_before_id,
  CASE WHEN a.before_it.is_named THEN a.before_it.generation END AS generation,
  coalesce(NOT a.before_it.is_named, false) AS is_skipped,
  a.after_it.generation AS before_generation,
  CASE WHEN t.line.at_ms < f.from_ms THEN t.line.at_ms END AS there_ms,
  CASE WHEN t.line.at_ms < f.from_ms THEN t.line.event_id END AS there_id,
  CASE WHEN t.line.at_ms < f.from_ms THEN t.line.witness END AS there_witness
FROM first_line f
LEFT JOIN last_without w ON w.process_id = f.process_id AND w.instance = f.instance AND w.resource_kind = f.resource_kind
  AND w.resource = f.resource AND w.life = f.life
LEFT JOIN adjacent_assignment a ON a.process_id = f.process_id AND a.instance = f.instance AND a.resource_kind = f.resource_kind
  AND a.resource = f.resource AND a.life = f.life
LEFT JOIN earliest_evidence t ON t.process_id = f.process_id AND t.instance = f.instance AND t.resource_kind = f.resource_kind
  AND t.resource = f.resource AND t.life = f.life

-- One row per partition that its owner kept but did not read for a long time, or sink task that kept retrying.
-- Reads: placed_event, offset_line, clock_offset, log_hole
-- Some lines prove it: the same record fails again and again, a position cannot be set, a partition is paused while others advance.
-- Where only positions show it, a partition that had advanced stops while others of its group advance; it may have had no new records.
WITH partition_line AS (
  SELECT kafka_cluster, process_id, instance, event, stream_pos, unix_millis(ts) AS at_ms, event_id, group_id, resource, message, error,
    CASE WHEN event IN ('record_unreadable', 'position_out_of_range') THEN `offset` END AS at_offset,
    event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost', 'partitions_resumed', 'position_sought', 'position_reset') AS is_change
  FROM (
    SELECT *, explode(CASE WHEN event = 'task_retrying' THEN array(task) WHEN `partition` IS NOT NULL THEN array(`partition`)
      ELSE partitions END) AS resource
    FROM placed_event
    WHERE ts IS NOT NULL AND (event IN ('record_unreadable', 'fetch_failed', 'partitions_paused', 'partitions_resumed', 'position_sought',
        'position_reset', 'partitions_assigned', 'partitions_revoked', 'partitions_lost')
      -- Kafka Streams pauses partitions while it restores their state.
      OR event = 'pauses_dropped' AND NOT coalesce(client_id LIKE '%-StreamThread-%', false)
      OR event = 'task_retrying' AND message LIKE '%RetriableException from SinkTask%'
      OR event = 'position_out_of_range' AND message LIKE '%raising error%' OR event = 'position_missing' AND partitions IS NOT NULL)
  )
), line_in_order AS (
  SELECT l.*, l.at_ms - (o.lo_ms + o.hi_ms) DIV 2 AS reference_ms,
    -- Exceptions name no group: it is that of the last assignment.
    coalesce(l.group_id, lag(l.group_id) IGNORE NULLS OVER w) AS owner_group,
    count_if(is_change) OVER (PARTITION BY l.process_id, resource ORDER BY l.stream_pos, l.event_id ROWS UNBOUNDED PRECEDING) AS part
  FROM partition_line l JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
  WINDOW w AS (PARTITION BY l.process_id, resource ORDER BY l.stream_pos, l.event_id)
), hindering_line AS (
  -- An offset that fails for long while its owner keeps the partition was not passed in between. A later owner may return to it.
  SELECT *, at_offset IS NULL OR count(*) OVER w >= stuck_steps AND max(reference_ms) OVER w - min(reference_ms) OVER w >= unassigned_ms
      AS is_one_owner
  FROM line_in_order WHERE NOT is_change
  WINDOW w AS (PARTITION BY process_id, resource, part, event, at_offset)
), hindrance AS (
  SELECT kafka_cluster, owner_group AS group_id, resource, event AS kind, at_offset, is_one_owner, count(*) AS times,
    min(struct(reference_ms, event_id, process_id)) AS first,
    max(struct(reference_ms, event_id, process_id, part, coalesce(error, message) AS said)) AS last
  FROM hindering_line
  GROUP BY kafka_cluster, owner_group, resource, event, at_offset, is_one_owner, CASE WHEN is_one_owner THEN concat(process_id, ' ', part) END
), hindered_span AS (
  SELECT h.*, h.first.reference_ms AS from_ms, n.event AS ended_how, n.event_id AS ended_id,
    CASE WHEN h.kind IN ('partitions_paused', 'record_unreadable', 'position_out_of_range')
      THEN coalesce(n.reference_ms, h.last.reference_ms) ELSE h.last.reference_ms END AS to_ms
  FROM hindrance h
  LEFT JOIN line_in_order n ON n.is_change AND n.process_id = h.last.process_id AND n.resource = h.resource AND n.part = h.last.part + 1
    AND h.kind <> 'pauses_dropped'
), position AS (
  -- Offsets in the order of their lines: those at which reading begins, and those of commits.
  SELECT *, lag(at_offset) OVER (PARTITION BY kafka_cluster, group_id, resource ORDER BY reference_ms, event_id) AS last_offset
  FROM (
    SELECT p.kafka_cluster, p.group_id, p.resource, p.process_id, p.at_offset, p.event_id, p.at_ms - (o.lo_ms + o.hi_ms) DIV 2 AS reference_ms
    FROM offset_line p JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
    WHERE p.kind IN ('start', 'committed', 'asked') AND p.at_offset IS NOT NULL AND p.group_id IS NOT NULL
  )
), advance AS (
  SELECT *, count_if(at_offset > last_offset) OVER (PARTITION BY kafka_cluster, group_id ORDER BY reference_ms, event_id, resource
    ROWS UNBOUNDED PRECEDING) AS advances
  FROM position
), still_span AS (
  SELECT kafka_cluster, group_id, resource, at_offset, count(*) AS times, min(reference_ms) AS from_ms, max(reference_ms) AS to_ms,
    max(advances) - min(advances) AS others_moved, min(struct(reference_ms, event_id)) AS first,
    max(struct(reference_ms, event_id, process_id)) AS last
  FROM advance GROUP BY kafka_cluster, group_id, resource, at_offset
), usual_stillness AS (
  -- How long the other partitions of the group that move stood still at most, on average. Producers may fill partitions in turn.
  SELECT *, (sum_ms - longest_ms) DIV nullif(partitions - 1, 0) AS usual_ms
  FROM (
    SELECT *, sum(longest_ms) OVER w AS sum_ms, count(*) OVER w AS partitions
    FROM (
      SELECT kafka_cluster, group_id, resource, max(to_ms - from_ms) AS longest_ms
      FROM still_span GROUP BY kafka_cluster, group_id, resource HAVING count(*) > stuck_steps
    )
    WINDOW w AS (PARTITION BY kafka_cluster, group_id)
  )
), unusual_stillness AS (
  SELECT s.* FROM still_span s
  JOIN usual_stillness u ON u.kafka_cluster = s.kafka_cluster AND u.group_id = s.group_id AND u.resource = s.resource
  WHERE s.to_ms - s.from_ms >= greatest(unassigned_ms, stuck_times * u.usual_ms) AND s.others_moved >= stuck_steps
), paused_span AS (
  SELECT h.first.event_id AS first_id, h.resource, count_if(a.at_offset > a.last_offset) AS others_moved
  FROM hindered_span h
  JOIN advance a ON a.kafka_cluster = h.kafka_cluster AND a.group_id = h.group_id AND a.resource <> h.resource
    AND a.reference_ms BETWEEN h.from_ms AND h.to_ms
  -- The line that resumes it may be missing.
  LEFT ANTI JOIN log_hole o ON o.process_id = h.first.process_id
  WHERE h.kind = 'partitions_paused' AND h.to_ms - h.from_ms >= unassigned_ms GROUP BY h.first.event_id, h.resource
), any_span AS (
  SELECT h.kafka_cluster, h.group_id, h.resource, h.first.process_id AS process_id, h.last.process_id AS last_process_id, h.at_offset, h.is_one_owner,
    h.times, h.from_ms, h.to_ms, h.last.said AS said, h.ended_how, coalesce(p.others_moved, 0) AS others_moved,
    CASE h.kind WHEN 'partitions_paused' THEN 'paused' WHEN 'pauses_dropped' THEN 'was_paused' WHEN 'task_retrying' THEN 'sink_retries'
      WHEN 'fetch_failed' THEN 'fetch_fails' WHEN 'record_unreadable' THEN 'unreadable' ELSE 'no_position' END AS code,
    array(named_struct('role', 'first', 'event_id', h.first.event_id), named_struct('role', 'last', 'event_id',
      nullif(h.last.event_id, h.first.event_id)), named_struct('role', 'ends it', 'event_id', h.ended_id)) AS proof
  FROM hindered_span h LEFT JOIN paused_span p ON p.first_id = h.first.event_id AND p.resource = h.resource
  WHERE h.kind = 'pauses_dropped' OR h.to_ms - h.from_ms >= unassigned_ms AND (h.kind = 'partitions_paused' OR h.times >= stuck_steps)
  UNION ALL
  SELECT s.kafka_cluster, s.group_id, s.resource, s.last.process_id, s.last.process_id, s.at_offset, true, s.times, s.from_ms, s.to_ms,
    NULL, NULL, s.others_moved, 'stands_still' AS code, array(named_struct('role', 'first position', 'event_id', s.first.event_id),
      named_struct('role', 'same position', 'event_id', s.last.event_id))
  FROM unusual_stillness s
  LEFT ANTI JOIN hindered_span h ON h.kafka_cluster = s.kafka_cluster AND h.group_id = s.group_id AND h.resource = s.resource
    AND h.from_ms <= s.to_ms AND h.to_ms >= s.from_ms
), longest_span AS (
  -- One finding for each partition and kind: the longest time.
  SELECT *, count(*) OVER (PARTITION BY kafka_cluster, group_id, resource, code) AS spans,
    row_number() OVER (PARTITION BY kafka_cluster, group_id, resource, code ORDER BY to_ms - from_ms DESC, from_ms, process_id) AS nth,
    is_one_owner AND (code = 'unreadable' AND at_offset IS NOT NULL OR code = 'no_position' OR code = 'paused' AND others_moved > 0) AS is_proved
  FROM any_span
)
SELECT
  -- A record that cannot be read is a fault even if the consumer went on soon.
  CASE WHEN code = 'unreadable' OR is_proved AND (ended_how IS NULL OR to_ms - from_ms >= unassigned_long_ms) THEN 'warning'
    ELSE 'note' END AS severity,
  CASE WHEN is_proved THEN 'proved' ELSE 'undecided' END AS verdict, kafka_cluster, group_id, resource AS subject, from_ms,
  CASE WHEN code NOT IN ('unreadable', 'no_position', 'paused') OR ended_how IS NOT NULL THEN to_ms END AS to_ms, code,
  struct(process_id, CASE WHEN last_process_id <> process_id THEN last_process_id END AS last_process_id, at_offset AS offset, is_one_owner, times,
    spans, to_ms - from_ms AS lasted_ms, said, ended_how, others_moved) AS facts,
  filter(proof, x -> x.event_id IS NOT NULL) AS proof
FROM longest_span WHERE nth = 1

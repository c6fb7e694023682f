-- One row per period in which brokers could not store or load the progress of a share group, or its members lost their share sessions.
-- Reads: placed_event, clock_offset
-- Only failures are logged: no line shows that a later write succeeded, nor that a record was delivered again.
WITH share_line AS (
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.event_id, e.operation, e.partition, e.member_id,
    unix_millis(e.ts) - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms,
    regexp_replace(coalesce(e.root_error, e.error), '([a-z0-9_]{1,60}[.]){1,12}([A-Z])', '$2') AS error,
    CASE WHEN e.event = 'share_session_failed' THEN 'session_lost' WHEN e.operation RLIKE '^write' THEN 'state_not_written'
      ELSE 'state_not_loaded' END AS code
  FROM placed_event e JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.event = 'share_session_failed' OR e.event = 'share_state_failed' AND e.operation RLIKE '^(write|read state$|initialize$|Error initializing)'
), line_with_pause AS (
  SELECT *, at_ms - lag(at_ms) OVER (PARTITION BY kafka_cluster, group_id, code ORDER BY at_ms, event_id) > storm_gap_ms AS is_apart FROM share_line
), numbered_line AS (
  SELECT *, count_if(coalesce(is_apart, true)) OVER (PARTITION BY kafka_cluster, group_id, code ORDER BY at_ms, event_id
    ROWS UNBOUNDED PRECEDING) AS spell
  FROM line_with_pause
), failure AS (
  SELECT kafka_cluster, group_id, code, spell, min(at_ms) AS from_ms, max(at_ms) AS to_ms, count(*) AS times,
    array_sort(collect_set(partition)) AS partitions, array_sort(collect_set(process_id)) AS processes, array_sort(collect_set(error)) AS errors,
    array_sort(collect_set(member_id)) AS members, slice(sort_array(collect_list(struct(at_ms, event_id))), 1, 6) AS lines
  FROM numbered_line GROUP BY kafka_cluster, group_id, code, spell
)
SELECT CASE WHEN code = 'session_lost' THEN 'note' ELSE 'warning' END AS severity, 'proved' AS verdict, kafka_cluster, group_id,
  array_join(slice(processes, 1, 10), ', ') AS subject, from_ms, to_ms, code,
  struct(group_id, processes, times, partitions, members, errors) AS facts,
  transform(lines, x -> named_struct('role', CASE WHEN code = 'session_lost' THEN 'the session is lost' ELSE 'fails' END,
    'event_id', x.event_id)) AS proof
FROM failure

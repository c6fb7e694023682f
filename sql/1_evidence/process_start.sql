-- One row per process that was seen starting, with the positions of its starts.
-- Reads: event_row
-- Grain: process_id
-- A start is the first line after some work that only a starting JVM prints (category `start`; there are dozens, so it does not matter
-- which of them are missing). If the log begins later or the release prints none, it is a herder that starts again. A log that begins in
-- the middle of a run has instance 0 before its first start.
CREATE OR REPLACE TEMPORARY VIEW process_start (
  process_id COMMENT 'Process (one log stream)',
  starts     COMMENT 'Positions at which a JVM reports that it starts, ascending',
  start_lines COMMENT 'Position, time, event id and event of each start, ascending'
)
COMMENT 'One row per process that was seen starting: where in its log stream.'
AS
WITH start_or_work_line AS (
  SELECT process_id, stream_pos, unix_millis(ts) AS at_ms, event_id, event, coalesce(group_id, '-') AS group_id,
    CASE
      WHEN category = 'start' OR event = 'process_started' OR event = 'config_dumped'
        AND component IN ('DistributedConfig', 'StandaloneConfig') THEN 'start'
      WHEN event = 'herder_starting' THEN 'herder'
      ELSE 'work' END AS kind
  FROM event_row
  -- Work: lines that a process prints only after it has started.
  WHERE category = 'start' OR event IN ('process_started', 'herder_starting', 'config_dumped')
    AND (event <> 'config_dumped' OR component IN ('DistributedConfig', 'StandaloneConfig'))
    OR category IN ('membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
), line_sequence AS (
  SELECT *,
    lag(kind) OVER by_place AS last_kind,
    -- "Kafka Connect worker initializing" comes a moment before the line that every release prints. The run begins there.
    CASE WHEN event = 'process_started' AND lag(event) OVER by_place = 'process_initializing' THEN lag(struct(stream_pos, at_ms, event_id))
      OVER by_place
      ELSE struct(stream_pos, at_ms, event_id) END AS at
  FROM start_or_work_line
  WHERE kind <> 'herder'
  WINDOW by_place AS (PARTITION BY process_id ORDER BY stream_pos)
), start_line AS (
  -- The lines of one start, up to the first line of its work.
  SELECT *, count_if(kind = 'start' AND coalesce(last_kind, 'work') = 'work')
    OVER (PARTITION BY process_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS run
  FROM line_sequence
  WHERE kind = 'start'
), numbered_start AS (
  SELECT *, count_if(event = 'process_started')
    OVER (PARTITION BY process_id, run ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS nth_start
  FROM start_line
), process_start_line AS (
  -- A process that fails while starting, and restarts repeatedly, does no work in between.
  SELECT process_id, at.stream_pos, at.at_ms, at.event_id, event, group_id
  FROM numbered_start
  WHERE coalesce(last_kind, 'work') = 'work' OR event = 'process_started' AND nth_start > 1
), herder_start AS (
  -- MirrorMaker 2 starts several herders in one JVM, one for each group.
  SELECT process_id, stream_pos, at_ms, event_id, event, life, row_number() OVER (PARTITION BY process_id, life, event, group_id
    ORDER BY stream_pos) AS nth
  FROM (
    SELECT process_id, stream_pos, at_ms, event_id, event, group_id,
      count_if(event <> 'herder_starting') OVER (PARTITION BY process_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS life
    FROM (
      SELECT process_id, stream_pos, at_ms, event_id, event, group_id FROM process_start_line
      UNION ALL
      SELECT process_id, stream_pos, at_ms, event_id, event, group_id FROM start_or_work_line WHERE kind = 'herder'
    )
  )
), streams_start AS (
  -- An instance of Kafka Streams prints its version when it is created. If the state directory has kept its id, and the one before did not
  -- end, that one was in a process that is gone: two instances in one process cannot use the same directory.
  SELECT process_id, stream_pos, at_ms, event_id, event
  FROM (
    SELECT process_id, stream_pos, unix_millis(ts) AS at_ms, event_id, event,
      lag(coalesce(state_to, 'CREATED')) OVER (PARTITION BY process_id, thread_name ORDER BY stream_pos) AS last_state
    FROM event_row
    WHERE thread_name IS NOT NULL AND (event = 'kafka_version' AND message LIKE 'Kafka Streams version%'
      OR event = 'streams_client_state')
  )
  WHERE event = 'kafka_version' AND last_state NOT IN ('CREATED', 'NOT_RUNNING', 'ERROR')
), detected_start AS (
  SELECT process_id, struct(stream_pos, at_ms, event_id, event) AS line
  FROM herder_start
  WHERE event <> 'herder_starting' OR nth > 1 OR life = 0
  UNION ALL
  SELECT process_id, struct(stream_pos, at_ms, event_id, event) AS line FROM streams_start
)
SELECT process_id, sort_array(collect_list(line.stream_pos)) AS starts, sort_array(collect_list(line)) AS start_lines
FROM detected_start
GROUP BY process_id

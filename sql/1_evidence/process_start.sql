-- One row per mebibyte of log, with at least one line, of a process that was seen starting: the starts before it, and in it.
-- Reads: event_row, counted_row
-- Grain: process_id, piece
-- A start is the first line after some work that only a starting JVM prints (category `start`; there are dozens, so it does not matter which of them
-- are missing). If the log begins later or the release prints none, it is a herder that starts again. A log that begins in the middle of a run has
-- instance 0 before its first start. The run of a line follows from the starts before it; pieces keep the arrays short even if a process starts
-- thousands of times.
CREATE OR REPLACE TEMPORARY VIEW process_start (
  process_id,
  piece         COMMENT 'Its lines have positions from piece times 1048576',
  starts_before COMMENT 'Starts before it',
  starts        COMMENT 'Starts in it, ascending: position, time, event, run that begins (1: the first start in the log); NULL: none'
)
AS
WITH start_or_work_line AS (
  SELECT process_id, stream_pos, unix_millis(ts) AS at_ms, event_id, event, coalesce(group_id, '-') AS group_id,
    CASE WHEN category = 'start' OR event IN ('process_started', 'config_dumped') THEN 'start'
      WHEN event = 'herder_starting' THEN 'herder'
      ELSE 'work' END AS kind
  FROM event_row
  -- Work: lines that a process prints only after it has started.
  WHERE category IN ('start', 'membership', 'assignment', 'task', 'connector', 'coordinator', 'broker_group')
    -- A start that failed is over, too: the next line of a start is that of another one.
    OR event IN ('process_started', 'herder_starting', 'connect_start_failed')
    OR event = 'config_dumped' AND component IN ('DistributedConfig', 'StandaloneConfig')
), line_sequence AS (
  SELECT *, lag(kind) OVER by_place AS last_kind,
    -- "Kafka Connect worker initializing" comes a moment before the line that every release prints. The run begins there.
    CASE WHEN event = 'process_started' AND lag(event) OVER by_place = 'process_initializing'
      THEN lag(struct(stream_pos, at_ms, event_id)) OVER by_place ELSE struct(stream_pos, at_ms, event_id) END AS at
  FROM start_or_work_line WHERE kind <> 'herder'
  WINDOW by_place AS (PARTITION BY process_id ORDER BY stream_pos)
), start_line AS (
  -- The lines of one start, up to the first line of its work.
  SELECT *, count_if(kind = 'start' AND coalesce(last_kind, 'work') = 'work')
    OVER (PARTITION BY process_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS run
  FROM line_sequence WHERE kind = 'start'
), numbered_start AS (
  SELECT *, count_if(event = 'process_started') OVER (PARTITION BY process_id, run ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS nth_start
  FROM start_line
), any_start_line AS (
  -- A process that fails while starting, and restarts repeatedly, does no work in between.
  SELECT process_id, at.stream_pos, at.at_ms, at.event_id, event, group_id FROM numbered_start
  WHERE coalesce(last_kind, 'work') = 'work' OR event = 'process_started' AND nth_start > 1
), progress AS (
  -- What the next lines say of a start, and what the lines before it say of the run before.
  SELECT *, lag(what) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY -stream_pos) AS next_what,
    lag(run_what) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY -stream_pos) AS next_run_what,
    lag(run_what) IGNORE NULLS OVER (PARTITION BY process_id ORDER BY stream_pos) AS last_run_what
  FROM (
    SELECT *, CASE WHEN what IN ('runs', 'stops') THEN what END AS run_what
    FROM (
      SELECT process_id, stream_pos, CAST(NULL AS STRING) AS what FROM any_start_line
      UNION ALL
      SELECT process_id, stream_pos, CASE WHEN event LIKE '%_started' THEN 'runs' WHEN root_error LIKE '%BindException%' THEN 'in use'
        WHEN event LIKE '%_failed' THEN 'fails' ELSE 'stops' END
      FROM event_row
      WHERE event IN ('herder_started', 'broker_started', 'process_stopping', 'herder_stopping')
        -- A broker that shuts down after it prints the failure ends with the lines of an orderly stop, which would be those of the run before.
        OR event IN ('connect_start_failed', 'broker_failed') AND root_error LIKE '%BindException%' AND message NOT LIKE '%Prepare to shutdown%'
        -- Before it starts anything else, a worker reads its configuration.
        OR event = 'connect_start_failed' AND coalesce(root_error, error) RLIKE 'ConfigExc|NoSuchFileExc'
    )
  )
), process_start_line AS (
  -- A worker or broker that finds its address in use was started beside the run before it, which goes on in the same log. So was a worker that
  -- cannot start, if the next line of a run is that it stops: only a worker that had started prints it.
  SELECT a.* FROM any_start_line a
  LEFT ANTI JOIN progress p ON p.process_id = a.process_id AND p.stream_pos = a.stream_pos AND p.what IS NULL AND p.last_run_what = 'runs'
    AND (p.next_what = 'in use' OR p.next_what = 'fails' AND p.next_run_what = 'stops')
), herder_start AS (
  -- MirrorMaker 2 starts several herders in one JVM, one for each group.
  SELECT process_id, stream_pos, at_ms, event_id, event, life,
    row_number() OVER (PARTITION BY process_id, life, event, group_id ORDER BY stream_pos) AS nth
  FROM (
    SELECT *, count_if(event <> 'herder_starting') OVER (PARTITION BY process_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS life
    FROM (
      SELECT process_id, stream_pos, at_ms, event_id, event, group_id FROM process_start_line
      UNION ALL
      SELECT process_id, stream_pos, at_ms, event_id, event, group_id FROM start_or_work_line WHERE kind = 'herder'
    )
  )
), streams_start AS (
  -- An instance of Kafka Streams prints its version when it is created. If the state directory has kept its id, and the one before did not end, that
  -- one was in a process that is gone: two instances in one process cannot use the same directory.
  SELECT process_id, stream_pos, at_ms, event_id, event
  FROM (
    SELECT process_id, stream_pos, unix_millis(ts) AS at_ms, event_id, event,
      lag(coalesce(state_to, 'CREATED')) OVER (PARTITION BY process_id, thread_name ORDER BY stream_pos) AS last_state
    FROM event_row
    WHERE thread_name IS NOT NULL AND (event = 'kafka_version' AND message LIKE 'Kafka Streams version%' OR event = 'streams_client_state')
  )
  WHERE event = 'kafka_version' AND last_state NOT IN ('CREATED', 'NOT_RUNNING', 'ERROR')
), numbered_process_start AS (
  SELECT *, row_number() OVER (PARTITION BY process_id ORDER BY stream_pos) AS instance, stream_pos DIV 1048576 AS piece
  FROM (
    SELECT process_id, stream_pos, at_ms, event_id, event FROM herder_start WHERE event <> 'herder_starting' OR nth > 1 OR life = 0
    UNION ALL
    SELECT process_id, stream_pos, at_ms, event_id, event FROM streams_start
  )
), log_piece AS (
  SELECT process_id, stream_pos DIV 1048576 AS piece FROM event_row
  UNION
  SELECT process_id, stream_pos DIV 1048576 FROM counted_row
), piece_start AS (
  SELECT process_id, piece, sort_array(collect_list(struct(stream_pos, at_ms, event_id, instance))) AS starts FROM numbered_process_start
  GROUP BY process_id, piece
)
SELECT process_id, piece, starts_before, starts
FROM (
  SELECT l.process_id, l.piece, s.starts, count(s.starts) OVER (PARTITION BY l.process_id) AS pieces_with_start,
    CAST(coalesce(sum(size(s.starts)) OVER (PARTITION BY l.process_id ORDER BY l.piece ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
      AS INT) AS starts_before
  FROM log_piece l LEFT JOIN piece_start s ON s.process_id = l.process_id AND s.piece = l.piece
)
WHERE pieces_with_start > 0

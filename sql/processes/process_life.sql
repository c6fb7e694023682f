-- One row per life of a process: from its first to its last line in the log, and what ended it.
-- Reads: event, process_line, range_row, life_start, clock_setback
-- Grain: process_id, instance
-- A log that just ends proves no death; a start further down in the same stream does.
CREATE OR REPLACE TEMPORARY VIEW process_life (
  process_id   COMMENT 'Process',
  instance     COMMENT 'Which life of the process; 0 is one that began before the log',
  first_ms     COMMENT 'First line (milliseconds since 1970)',
  last_ms      COMMENT 'Last line; of a life that another follows, the last line that is surely its own',
  stopping_ms  COMMENT 'When it said that it was stopping',
  ending_ms    COMMENT 'First of all lines that only a process prints that stops; NULL: there is none',
  ending_id    COMMENT 'Its event',
  ending_lo_ms COMMENT 'It was not stopping yet before that: the time of this line, where it is the first that a process prints that stops,
    else of the line before',
  next_start_ms COMMENT 'First line of the next life in the same stream; NULL when there is none',
  next_start_id COMMENT 'Its event',
  is_broker    COMMENT 'True for a broker',
  is_worker    COMMENT 'True for a Connect worker'
)
COMMENT 'One row per life of a process: from its first to its last line in the log, and what ended it.'
AS
WITH span AS (
  SELECT process_id, instance, min(at_ms) AS first_ms, max(at_ms) AS last_ms FROM process_line GROUP BY process_id, instance
), fact AS (
  SELECT
    process_id,
    instance,
    max(at_ms) FILTER (WHERE task IS NOT NULL OR client_kind IS NOT NULL OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%'
      AND event <> 'herder_starting') AS last_work_ms,
    -- The first word is the hook's; where that is missing, what follows it says so too.
    coalesce(max(at_ms) FILTER (WHERE event = 'process_stopping'), min(at_ms) FILTER (WHERE is_last_word)) AS stopping_ms,
    min(at_ms) FILTER (WHERE is_last_word) AS ending_ms,
    min_by(event_id, struct(at_ms IS NOT NULL, at_ms, stream_pos, event_id)) FILTER (WHERE is_last_word) AS ending_id,
    -- Where the hook's word is missing, what follows it may come much later.
    min_by(CASE WHEN event = 'process_stopping' THEN at_ms ELSE before_ms END, struct(at_ms IS NOT NULL, at_ms, stream_pos, event_id))
      FILTER (WHERE is_last_word) AS ending_lo_ms,
    bool_or(event IN ('group_stabilized', 'rebalance_preparing', 'coordinator_elected', 'group_loaded', 'group_epoch_bumped',
        'target_assignment_computed')
      OR event = 'config_dumped' AND component = 'KafkaConfig'
      -- At WARN a broker prints none of these, but is known by its own classes and its replica fetchers.
      OR component = 'ReplicaFetcher' OR logger RLIKE '^kafka[.](server|controller|cluster|log|network|raft|zk)[.][A-Z]') AS is_broker,
    bool_or(client_kind <=> 'Worker' OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%') AS is_worker
  FROM (
    SELECT *, unix_millis(ts) AS at_ms, event IN ('process_stopping', 'herder_stopping', 'work_stopping', 'worker_stopping',
      'worker_stopped', 'herder_stopped',
      'process_stopped') AS is_last_word,
      lag(unix_millis(ts)) OVER (PARTITION BY process_id, instance ORDER BY stream_pos) AS before_ms
    FROM event
  )
  GROUP BY process_id, instance
), life AS (
  SELECT s.process_id, s.instance, s.first_ms, s.last_ms, f.last_work_ms, f.stopping_ms, f.ending_ms, f.ending_id, f.ending_lo_ms,
    f.is_broker, f.is_worker
  FROM span s LEFT JOIN fact f ON f.process_id = s.process_id AND f.instance = s.instance
), ranges AS (
  -- The earliest and the latest time are not the first and the last of a clock that was set back.
  SELECT r.process_id, unix_millis(max(r.last_ts)) AS last_ms, unix_millis(min(r.first_ts)) AS first_ms
  FROM range_row r LEFT ANTI JOIN clock_setback s ON s.process_id = r.process_id
  GROUP BY r.process_id
), ordered AS (
  SELECT l.*, b.at_ms AS next_start_ms, b.event_id AS next_start_id, row_number() OVER w AS nth
  FROM life l
  LEFT JOIN life_start b ON b.process_id = l.process_id AND b.instance = l.instance + 1
  WINDOW w AS (PARTITION BY l.process_id ORDER BY l.instance)
)
SELECT
  o.process_id,
  o.instance,
  CASE WHEN o.nth = 1 THEN least(o.first_ms, r.first_ms) ELSE o.first_ms END AS first_ms,
  CASE
    WHEN o.next_start_ms IS NULL THEN greatest(o.last_ms, r.last_ms)
    -- What is taken for a start is not always the first that a new JVM prints: only lines of its clients and tasks are surely of the old
    -- one.
    ELSE coalesce(o.last_work_ms, o.last_ms)
  END AS last_ms,
  o.stopping_ms,
  o.ending_ms,
  o.ending_id,
  o.ending_lo_ms,
  o.next_start_ms,
  o.next_start_id,
  bool_or(coalesce(o.is_broker, false)) OVER (PARTITION BY o.process_id) AS is_broker,
  bool_or(coalesce(o.is_worker, false)) OVER (PARTITION BY o.process_id) AS is_worker
FROM ordered o LEFT JOIN ranges r ON r.process_id = o.process_id

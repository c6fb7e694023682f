-- One row per life of a process: from its first to its last line in the log, and what ended it.
-- Reads: event, process_line, range_row, process_start
-- Grain: process_id, instance
-- A log that just ends proves no death; a start further down in the same stream does.
CREATE OR REPLACE TEMPORARY VIEW process_life (
  process_id   COMMENT 'Process',
  instance     COMMENT 'Which life of the process; 0 is one that began before the log',
  first_ts     COMMENT 'First line',
  last_ts      COMMENT 'Last line; of a life that another follows, the last line that is surely its own',
  stopping_ts  COMMENT 'When it said that it was stopping',
  ending_ts    COMMENT 'First of all lines that only a process prints that stops; NULL: there is none',
  ending_id    COMMENT 'Its event',
  next_start_ts COMMENT 'First line of the next life in the same stream; NULL when there is none',
  next_start_id COMMENT 'Its event',
  is_broker    COMMENT 'True for a broker',
  is_worker    COMMENT 'True for a Connect worker'
)
COMMENT 'One row per life of a process: from its first to its last line in the log, and what ended it.'
AS
WITH span AS (
  SELECT process_id, instance, min(ts) AS first_ts, max(ts) AS last_ts FROM process_line GROUP BY process_id, instance
), fact AS (
  SELECT
    process_id,
    instance,
    max(ts) FILTER (WHERE task IS NOT NULL OR client_kind IS NOT NULL OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%'
      AND event <> 'herder_starting') AS last_work_ts,
    -- The first word is the hook's; where that is missing, what follows it says so too.
    coalesce(max(ts) FILTER (WHERE event = 'process_stopping'), min(ts) FILTER (WHERE is_last_word)) AS stopping_ts,
    min(ts) FILTER (WHERE is_last_word) AS ending_ts,
    min_by(event_id, struct(ts, stream_pos, event_id)) FILTER (WHERE is_last_word) AS ending_id,
    bool_or(event IN ('group_stabilized', 'rebalance_preparing', 'coordinator_elected', 'group_loaded')
      OR event = 'config_dumped' AND component = 'KafkaConfig') AS is_broker,
    bool_or(client_kind <=> 'Worker' OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%') AS is_worker
  FROM (
    SELECT *, event IN ('process_stopping', 'herder_stopping', 'work_stopping', 'worker_stopping', 'worker_stopped', 'herder_stopped',
      'process_stopped') AS is_last_word
    FROM event
  )
  GROUP BY process_id, instance
), life AS (
  SELECT s.process_id, s.instance, s.first_ts, s.last_ts, f.last_work_ts, f.stopping_ts, f.ending_ts, f.ending_id, f.is_broker,
    f.is_worker
  FROM span s LEFT JOIN fact f ON f.process_id = s.process_id AND f.instance = s.instance
), ranges AS (
  SELECT process_id, max(last_ts) AS last_ts, min(first_ts) AS first_ts FROM range_row GROUP BY process_id
), ordered AS (
  SELECT l.*, get(s.start_lines, l.instance).ts AS next_start_ts, get(s.start_lines, l.instance).event_id AS next_start_id,
    row_number() OVER w AS nth
  FROM life l LEFT JOIN process_start s ON s.process_id = l.process_id WINDOW w AS (PARTITION BY l.process_id ORDER BY l.instance)
)
SELECT
  o.process_id,
  o.instance,
  CASE WHEN o.nth = 1 THEN least(o.first_ts, r.first_ts) ELSE o.first_ts END AS first_ts,
  CASE
    WHEN o.next_start_ts IS NULL THEN greatest(o.last_ts, r.last_ts)
    -- What is taken for a start is not always the first that a new JVM prints: only lines of its clients and tasks are surely of the old
    -- one.
    ELSE coalesce(o.last_work_ts, o.last_ts)
  END AS last_ts,
  o.stopping_ts,
  o.ending_ts,
  o.ending_id,
  o.next_start_ts,
  o.next_start_id,
  bool_or(coalesce(o.is_broker, false)) OVER (PARTITION BY o.process_id) AS is_broker,
  bool_or(coalesce(o.is_worker, false)) OVER (PARTITION BY o.process_id) AS is_worker
FROM ordered o LEFT JOIN ranges r ON r.process_id = o.process_id

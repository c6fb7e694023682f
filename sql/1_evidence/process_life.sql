-- One row per process run: from its first to its last line in the log, and how it ended.
-- Reads: event, process_line, range_row, process_start, shared_log, machine_event
-- Grain: process_id, instance
-- A log that simply ends does not show that the process died; a later start in the same log does. Threads print slightly out of order, so only a jump
-- back of more than two seconds plus `clock_jitter_ms` shows that a clock was set back. A single line does not: a clock that was set back stays back,
-- whereas an isolated line was only printed late.
CREATE OR REPLACE TEMPORARY VIEW process_life (
  process_id,
  instance      COMMENT 'Which run of the process; 0 began before the log',
  first_ms      COMMENT 'First line (milliseconds since 1970)',
  last_ms       COMMENT 'Last line; if another run follows, the last line that is certainly its own',
  stopping_ms   COMMENT 'When it reported that it was stopping',
  ending_ms     COMMENT 'First line that only a stopping process prints; NULL: there is none',
  ending_id COMMENT 'Its event',
  ending_lo_ms  COMMENT 'It was not yet stopping before this: the time of that line if it is the first one that a stopping process prints, else of the
    line before it',
  start_ms      COMMENT 'First line of its start; NULL: the log begins later',
  start_id COMMENT 'Its event',
  next_start_ms COMMENT 'First line of the next run in the same log; NULL: there is none',
  next_start_id COMMENT 'Its event',
  next_start_pos COMMENT 'Its position',
  is_broker, is_worker,
  has_started   COMMENT 'True if a line shows that this run, of a broker or worker, completed its start',
  setbacks      COMMENT 'Lines before which its printed time went back because its clock was set back: position, event (NULL: only counted), the event
    before, by how many milliseconds; NULL: none',
  end_ms        COMMENT 'It had ended by this time before its next start, as a file about its container shows; NULL: none does',
  end_id        COMMENT 'The row of machine_event that shows it'
)
AS
WITH run_span AS (
  SELECT process_id, instance, min(at_ms) AS first_ms, max(at_ms) AS last_ms FROM process_line GROUP BY process_id, instance
), run_facts AS (
  SELECT process_id, instance,
    max(at_ms) FILTER (WHERE task IS NOT NULL OR client_kind IS NOT NULL OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%'
      AND event <> 'herder_starting') AS last_work_ms,
    -- The shutdown hook prints the first line. If that is missing, the lines that follow it count.
    coalesce(max(at_ms) FILTER (WHERE event = 'process_stopping'), min(at_ms) FILTER (WHERE is_shutdown_line)) AS stopping_ms,
    min(at_ms) FILTER (WHERE is_shutdown_line) AS ending_ms,
    min_by(event_id, struct(at_ms IS NOT NULL, at_ms, stream_pos, event_id)) FILTER (WHERE is_shutdown_line) AS ending_id,
    -- If the hook's line is missing, the lines that follow it may be much later.
    min_by(CASE WHEN event = 'process_stopping' THEN at_ms ELSE before_ms END, struct(at_ms IS NOT NULL, at_ms, stream_pos, event_id))
      FILTER (WHERE is_shutdown_line) AS ending_lo_ms,
    -- Schema Registry prints `leader_changed`.
    bool_or(event = 'coordinator_elected' OR category = 'broker_group' AND event <> 'leader_changed'
      OR event = 'config_dumped' AND component = 'KafkaConfig'
      -- At WARN a broker prints none of these, but its own classes and replica fetchers identify it.
      OR component = 'ReplicaFetcher' OR logger RLIKE '^kafka[.](server|controller|cluster|log|network|raft|zk)[.][A-Z]'
      OR logger RLIKE '^org[.]apache[.]kafka[.](controller|coordinator|raft|server|storage)[.]') AS is_broker,
    bool_or(client_kind <=> 'Worker' OR event LIKE 'worker\\_%' OR event LIKE 'herder\\_%'
      OR logger RLIKE '^org[.]apache[.]kafka[.]connect[.](runtime|cli)[.]') AS is_worker,
    bool_or(event IN ('herder_starting', 'broker_started', 'coordinator_elected', 'broker_unfenced', 'group_loaded', 'group_stabilized',
      'rebalance_preparing', 'isr_changed')) AS has_started
  FROM (
    SELECT *, unix_millis(ts) AS at_ms, lag(unix_millis(ts)) OVER (PARTITION BY process_id, instance ORDER BY stream_pos) AS before_ms,
      event IN ('process_stopping', 'herder_stopping', 'work_stopping', 'worker_stopping', 'worker_stopped', 'herder_stopped',
        'process_stopped') AS is_shutdown_line
    FROM event
  )
  GROUP BY process_id, instance
), log_range AS (
  SELECT process_id, unix_millis(max(last_ts)) AS last_ms, unix_millis(min(first_ts)) AS first_ms FROM range_row GROUP BY process_id
), silence AS (
  -- Between consecutive records, recognised or not, and between the ranges and files of a log.
  SELECT process_id, quiet.from_ts, quiet.to_ts FROM range_row LATERAL VIEW explode(gaps) g AS quiet
  UNION ALL
  SELECT process_id, max(last_ts) OVER (PARTITION BY process_id ORDER BY first_ts, last_ts ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), first_ts
  FROM range_row
), run_start AS (
  SELECT s.process_id, s.start.instance, s.start, max(unix_millis(q.from_ts)) AS before_ms
  FROM (SELECT process_id, start FROM process_start LATERAL VIEW explode(starts) x AS start) s
  LEFT JOIN silence q ON q.process_id = s.process_id AND unix_millis(q.to_ts) = s.start.at_ms AND q.from_ts <= q.to_ts
  GROUP BY s.process_id, s.start
), adjacent_line AS (
  SELECT p.process_id, p.instance, p.stream_pos, p.event_id, p.at_ms, lag(p.at_ms) OVER lines AS before_ms, lead(p.at_ms) OVER lines AS next_ms,
    lag(p.at_ms, 2) OVER lines AS second_before_ms, lag(p.event_id) IGNORE NULLS OVER lines AS before_id
  FROM process_line p
  -- In a log of several members or processes, times go back without a clock step.
  LEFT ANTI JOIN shared_log s ON s.process_id = p.process_id
  WHERE p.at_ms IS NOT NULL
  WINDOW lines AS (PARTITION BY p.process_id ORDER BY p.stream_pos)
), run_setback AS (
  SELECT process_id, instance, sort_array(collect_list(struct(stream_pos, event_id, before_id, before_ms - at_ms AS by_ms))) AS setbacks
  FROM adjacent_line
  WHERE least(before_ms - at_ms, second_before_ms - at_ms, before_ms - next_ms) > clock_setback_ms + clock_jitter_ms GROUP BY process_id, instance
), run_with_next AS (
  SELECT s.process_id, s.instance, s.first_ms, s.last_ms, f.last_work_ms, f.stopping_ms, f.ending_ms, f.ending_id, f.ending_lo_ms, f.is_broker,
    f.is_worker, f.has_started, a.start, b.start AS next_start, b.before_ms, row_number() OVER (PARTITION BY s.process_id ORDER BY s.instance) AS nth
  FROM run_span s LEFT JOIN run_facts f ON f.process_id = s.process_id AND f.instance = s.instance
  LEFT JOIN run_start a ON a.process_id = s.process_id AND a.instance = s.instance
  LEFT JOIN run_start b ON b.process_id = s.process_id AND b.instance = s.instance + 1
), container_end AS (
  SELECT process_ids[0] AS process_id, collect_list(struct(unix_millis(to_by_ts) AS at_ms, event_id)) AS ends FROM machine_event
  WHERE what IN ('oom_killed', 'killed', 'exited') AND of_what = 'container' AND clock = 'host' AND to_by_ts IS NOT NULL AND size(process_ids) = 1
  GROUP BY process_ids[0]
), run_with_end AS (
  -- An end between two runs is that of the first, or of one after it without lines. If the two are as far apart as time zones, it may be another end.
  SELECT *,
    array_min(filter(ends, x -> x.at_ms BETWEEN last_ms AND next_start_ms AND next_start_ms - last_ms < zone_step_ms)) AS container_end
  FROM (
    SELECT o.process_id, o.instance, CASE WHEN o.nth = 1 THEN least(o.first_ms, r.first_ms) ELSE o.first_ms END AS first_ms,
      CASE WHEN o.next_start.at_ms IS NULL THEN greatest(o.last_ms, r.last_ms)
        -- The detected start is not always the first line of a new JVM. Only lines of its clients and tasks certainly belong to the old one.
        -- A broker's start begins with its first line: the line before it is from the old run, and so was the broker.
        ELSE greatest(coalesce(o.last_work_ms, o.last_ms), CASE WHEN o.is_broker THEN o.before_ms END) END AS last_ms,
      o.stopping_ms, o.ending_ms, o.ending_id, o.ending_lo_ms, o.start.at_ms AS start_ms, o.start.event_id AS start_id,
      o.next_start.at_ms AS next_start_ms, o.next_start.event_id AS next_start_id, o.next_start.stream_pos AS next_start_pos,
      bool_or(coalesce(o.is_broker, false)) OVER (PARTITION BY o.process_id) AS is_broker,
      bool_or(coalesce(o.is_worker, false)) OVER (PARTITION BY o.process_id) AS is_worker,
      coalesce(o.has_started, false) AS has_started, b.setbacks, m.ends
    FROM run_with_next o LEFT JOIN log_range r ON r.process_id = o.process_id
    LEFT JOIN run_setback b ON b.process_id = o.process_id AND b.instance = o.instance
    LEFT JOIN container_end m ON m.process_id = o.process_id
  )
)
SELECT process_id, instance, first_ms, last_ms, stopping_ms, ending_ms, ending_id, ending_lo_ms, start_ms, start_id, next_start_ms, next_start_id,
  next_start_pos, is_broker, is_worker, has_started, setbacks, container_end.at_ms AS end_ms, container_end.event_id AS end_id
FROM run_with_end

-- One row per unbroken time in which one worker had one task (or connector), with the two spans of it, by the worker's own clock.
-- Reads: task_line, process_life, life_start, log_hole, member_heard, setting, lost_start
-- Grain: process_id, process_instance, resource_kind, resource, life
-- A thread begins between the order to construct it and its first sign of life, or the line that says that all starts are done. It ends
-- between the last moment at which it must still have been there and a line that says that it is gone. A thread that was neither asked to
-- stop nor failed is there as long as its process prints: no task thread ends without a line. A worker that goes on within the time that it
-- gives a task to stop has seen it end; one that goes on later may have given up on it, in a line that is not there. Behind a hole in the
-- log nothing is sure, for the line may be in it, unless the same thread, or the same member id of its consumer, is seen behind it too. A
-- sink's thread that ends closes its consumer: while the coordinator hears that consumer, its thread is there. lost_start tells what bounds
-- a start that is not in the log. A worker makes a connector again only when it has stopped it: a second one began after the first.
CREATE OR REPLACE TEMPORARY VIEW task_holding (
  kafka_cluster  COMMENT 'Kafka cluster',
  group_id       COMMENT 'Group of the Connect worker',
  resource_kind  COMMENT 'task or connector',
  resource       COMMENT 'Task or connector',
  process_id     COMMENT 'Worker',
  process_instance COMMENT 'Which life of the process',
  life           COMMENT 'n-th start of this resource in this life of the process; 0: it was there when the log began',
  member_id      COMMENT 'Worker''s member id',
  generation     COMMENT 'Generation that assigned it',
  start_lo_ms    COMMENT 'Not there before (milliseconds since 1970); NULL: it was there when the log began',
  start_hi_ms    COMMENT 'Surely there from then on',
  start_how      COMMENT 'seen: its first line is one of its start; open: the log begins later; lost: the log lacks that line',
  before_generation COMMENT 'open or lost: it was there before its worker was assigned that generation; NULL: not known',
  stop_asked_ms  COMMENT 'Asked to stop',
  first_sign_ms  COMMENT 'First sign of life',
  last_sign_ms   COMMENT 'Last sign of life',
  work_stop_lo_ms COMMENT 'Surely at work until then',
  work_stop_hi_ms COMMENT 'Surely no longer at work from then on; NULL: nothing says so',
  stop_lo_ms     COMMENT 'Thread surely there until then',
  seen_ms        COMMENT 'Last line that by itself shows the thread there; what no line contradicts shows nothing. NULL: none does',
  stop_hi_ms     COMMENT 'Thread surely gone from then on; NULL: nothing says so',
  phase_end      COMMENT 'running, stopping, closing, failed or gone: what it was doing when last heard of',
  stop_how       COMMENT 'Which line says that it ended',
  is_stop_lost   COMMENT 'True when the log lacks lines behind the last one that surely is its own: its end is, or may be, among them',
  start_id       COMMENT 'Event of the start',
  start_sign_id  COMMENT 'Event that shows it there first',
  start_witness  COMMENT 'What joins that event to it, where it does not tell by itself; NULL: it does',
  not_before_id  COMMENT 'Event before which it was not there; NULL: it was there when the log began',
  stop_asked_id  COMMENT 'Event of the order to stop',
  last_sign_id   COMMENT 'Event of the last sign of life',
  stop_id        COMMENT 'Event that says that it ended',
  sign_count     COMMENT 'Signs of life',
  is_overdue     COMMENT 'True when its worker gave up on its stop, or it went on longer than a task has to stop'
)
COMMENT 'One row per unbroken time in which one worker had one task (or connector), by the worker''s own clock.'
AS
WITH identity AS (
  -- One consumer has one member id until it is told that it lost it: a task's consumer with one id before and behind a hole lived through
  -- it.
  SELECT process_id, instance, resource_kind, resource, life, sort_array(collect_list(struct(from_pos, to_pos))) AS ids
  FROM (
    SELECT process_id, instance, resource_kind, resource, life, own_member_id, min(stream_pos) AS from_pos, max(stream_pos) AS to_pos
    FROM task_line
    WHERE own_member_id IS NOT NULL AND own_member_id <> ''
    GROUP BY process_id, instance, resource_kind, resource, life, own_member_id
  )
  GROUP BY process_id, instance, resource_kind, resource, life
), heard AS (
  SELECT t.process_id, t.instance, t.resource, t.life, max(m.alive_ms) AS heard_ms
  FROM (SELECT DISTINCT process_id, instance, resource, life, own_member_id FROM task_line WHERE resource_kind = 'task'
    AND own_member_id IS NOT NULL) t
  JOIN member_heard m ON m.process_id = t.process_id AND m.member_id = t.own_member_id
  GROUP BY t.process_id, t.instance, t.resource, t.life
), marked AS (
  SELECT
    *,
    min(stream_pos) OVER one AS began_pos,
    min(CASE WHEN kind IN ('start', 'sign', 'leaving', 'closing') THEN stream_pos END) OVER one AS shown_pos,
    min(CASE WHEN kind = 'stop' THEN stream_pos END) OVER one AS stop_pos,
    max(CASE WHEN kind IN ('start', 'sign', 'stop') THEN stream_pos END) OVER one AS last_pos,
    min(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER one AS failed_stop_pos,
    min(CASE WHEN kind = 'failed' THEN stream_pos END) OVER one AS failed_pos,
    min(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER one AS closing_pos,
    max(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER one AS closing_last_pos,
    -- The herder closes the producer of a thread that it gave up on without giving it time.
    min(CASE WHEN kind = 'closing' AND timeout_ms = 0 THEN stream_pos END) OVER one AS forced_pos,
    min(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER (PARTITION BY process_id, instance, resource_kind, resource) AS account_pos
  FROM task_line
  WINDOW one AS (PARTITION BY process_id, instance, resource_kind, resource, life)
), counted AS (
  -- A thread that was given up on closes its consumer when it likes, maybe in a later life of its task, and all print the same name. So
  -- consumers are counted from the first such thread on: it, and one more with each start, less one with each that was closed.
  SELECT *, CASE WHEN stream_pos > account_pos THEN
      1 - max(CASE WHEN kind = 'closed' AND app_kind = 'kafka.consumer' AND stream_pos < account_pos AND failed_stop_pos = account_pos
        THEN 1 ELSE 0 END) OVER whole
      + count_if(kind = 'start' AND stream_pos > account_pos) OVER so_far
      - count_if(kind = 'closed' AND app_kind = 'kafka.consumer' AND stream_pos > account_pos) OVER so_far END AS open_consumers
  FROM marked
  WINDOW whole AS (PARTITION BY process_id, instance, resource_kind, resource),
    so_far AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), closing AS (
  -- `settled`: nobody's consumer is open any more but that of the present life, and not that either when it was asked to stop.
  SELECT process_id, instance, resource_kind, resource,
    sort_array(collect_list(struct(stream_pos, at_ms, event_id,
      open_consumers <= CASE WHEN least(stop_pos, failed_pos) < stream_pos THEN 0 ELSE 1 END AS settled))) AS closings
  FROM counted
  WHERE kind = 'closed' AND app_kind = 'kafka.consumer' AND open_consumers IS NOT NULL
  GROUP BY process_id, instance, resource_kind, resource
), hole AS (
  SELECT process_id, instance, sort_array(collect_list(struct(to_pos, from_pos, is_wide))) AS holes FROM log_hole GROUP BY process_id,
    instance
), met AS (
  -- Holes are looked at once a life, at its first line: a log that lost every other line has as many holes as lines.
  SELECT m.*, d.ids, h.holes IS NOT NULL AS is_torn_at_first,
    -- Where the first wide hole may begin that no identity outlasts: what comes behind may be of another thread.
    array_min(transform(filter(h.holes, x -> x.is_wide AND x.to_pos > m.began_pos AND NOT exists(coalesce(d.ids, array()),
      i -> i.from_pos <= x.from_pos AND i.to_pos >= x.to_pos)), x -> x.from_pos)) AS wide_at_first,
    exists(coalesce(h.holes, array()), x -> x.is_wide AND x.to_pos <= m.began_pos) AS is_behind_at_first
  FROM counted m
  LEFT JOIN hole h ON h.process_id = m.process_id AND h.instance = m.instance AND m.stream_pos = m.began_pos
  LEFT JOIN identity d ON d.process_id = m.process_id AND d.instance = m.instance AND d.resource_kind = m.resource_kind
    AND d.resource = m.resource AND d.life = m.life
), bounded AS (
  SELECT *,
    min(wide_at_first) OVER one AS wide_pos,
    bool_or(is_behind_at_first) OVER one AS is_behind_hole,
    NOT bool_or(is_torn_at_first) OVER one AS is_whole
  FROM met
  WINDOW one AS (PARTITION BY process_id, instance, resource_kind, resource, life)
), outlasted AS (
  SELECT *,
    -- A hole may begin before the first line that shows the thread; that line is sure all the same.
    -- So are those up to the last of an identity that it, or one before it, tells.
    max(CASE WHEN kind IN ('start', 'sign', 'leaving', 'closing') AND (wide_pos IS NULL OR stream_pos <= greatest(wide_pos, shown_pos)
        OR exists(coalesce(ids, array()), i -> i.from_pos <= greatest(wide_pos, shown_pos) AND i.to_pos >= stream_pos))
        AND (failed_stop_pos IS NULL OR kind <> 'closing') THEN stream_pos END)
      OVER (PARTITION BY process_id, instance, resource_kind, resource, life) AS sure_pos
  FROM bounded
), hidden AS (
  -- The first hole behind the last sign that may hide the end: one that is not wholly after the order to stop, or one with lines of the
  -- same task behind it.
  SELECT m.*, CASE WHEN exists(coalesce(h.holes, array()), x -> x.to_pos > m.sure_pos
      AND (m.stop_pos IS NULL OR x.from_pos < m.stop_pos OR x.to_pos <= m.last_pos)) THEN m.sure_pos END AS hole_at_first
  FROM outlasted m
  LEFT JOIN hole h ON h.process_id = m.process_id AND h.instance = m.instance AND m.stream_pos = m.began_pos
), flagged AS (
  SELECT *,
    max(hole_at_first) OVER one AS hole_pos,
    min(CASE WHEN kind = 'closed' AND stream_pos > forced_pos THEN stream_pos END) OVER one AS forced_closed_pos
  FROM hidden
  WINDOW one AS (PARTITION BY process_id, instance, resource_kind, resource, life)
), holding AS (
  SELECT
    kafka_cluster, group_id, resource_kind, resource, process_id, instance, life,
    max_by(member_id, stream_pos) FILTER (WHERE kind IN ('order', 'start', 'sign')) AS member_id,
    min_by(generation, stream_pos) FILTER (WHERE kind IN ('start', 'sign')) AS generation,
    min(stream_pos) AS from_pos,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind <> 'stopped') AS last_line,
    min_by(event, stream_pos) FILTER (WHERE kind = 'start') AS start_event,
    struct(min(at_ms) FILTER (WHERE kind = 'start') AS at_ms,
      min_by(event_id, stream_pos) FILTER (WHERE kind = 'start') AS event_id) AS start,
    -- While a thread that was given up on is there, only what a thread prints once, at its start, is surely the present one's.
    -- That a connector was made says that it is there, also where that line stands for its start.
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE (kind IN ('sign', 'leaving', 'closing') OR event = 'connector_started')
      AND (coalesce(open_consumers, 1) <= 1 OR event IN ('task_started', 'task_executing'))) AS first_sign,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind IN ('sign', 'leaving', 'closing')
      AND (failed_stop_pos IS NULL OR kind <> 'closing')) AS last_sign,
    -- Not while a thread that was given up on prints under the same name.
    max(CASE WHEN (kind IN ('sign', 'leaving') OR event = 'connector_started' OR kind = 'closing' AND failed_stop_pos IS NULL)
      AND (hole_pos IS NULL OR stream_pos <= hole_pos)
      AND (coalesce(open_consumers, 1) <= 1 OR event IN ('task_started', 'task_executing')) THEN at_ms END) AS seen_ms,
    count_if(kind = 'sign') AS sign_count,
    max(hole_pos) AS hole_pos,
    bool_or(is_behind_hole) AS is_behind_hole,
    bool_and(is_whole) AS is_whole,
    max(at_ms) FILTER (WHERE kind IN ('start', 'sign', 'leaving', 'closing') AND stream_pos <= hole_pos) AS before_hole_ms,
    min_by(work_started, stream_pos) FILTER (WHERE kind = 'start') AS work_started,
    min_by(struct(at_ms, event_id, tasks_stopped, herder_stopped), stream_pos) FILTER (WHERE kind = 'stop') AS stop,
    max_by(herder_stopped, stream_pos) AS herder_stopped,
    max(failed_stop_pos) AS failed_stop_pos,
    max(stream_pos) FILTER (WHERE kind IN ('sign', 'leaving', 'closing') AND NOT by_schedule OR kind = 'closed'
      AND app_kind IN ('kafka.consumer', 'kafka.producer'))
      AS last_own_pos,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'failed') AS failed,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'orphan_failed') AS orphan,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'stopped') AS stopped,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'leaving' AND stream_pos > stop_pos) AS leaving,
    min_by(struct(at_ms + coalesce(timeout_ms, 0) AS at_ms, event_id), stream_pos)
      FILTER (WHERE kind = 'closing' AND stream_pos > coalesce(stop_pos, failed_pos)) AS closing,
    -- A stop that failed proves that the thread was there then. After it a producer may be closed over the thread's head, unless the thread
    -- was closing it already; a consumer is only closed by its own thread. Both print the same when they are done.
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'failed_stop') AS failed_stop,
    min(at_ms) FILTER (WHERE kind = 'closed' AND stream_pos > stop_pos AND stream_pos < failed_stop_pos AND is_own) AS closed_before,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'closed' AND is_own
      AND stream_pos > coalesce(least(stop_pos, failed_pos), stop_pos, failed_pos)
      AND (failed_stop_pos IS NULL OR stream_pos > failed_stop_pos AND (app_kind = 'kafka.consumer'
        OR closing_pos < stream_pos AND (forced_pos IS NULL OR stream_pos < forced_pos OR stream_pos > closing_last_pos
          AND closing_last_pos > forced_closed_pos)))) AS closed
  FROM (SELECT *, app_kind <> 'kafka.consumer' OR open_consumers IS NULL OR open_consumers <= 0 AS is_own FROM flagged)
  GROUP BY kafka_cluster, group_id, resource_kind, resource, process_id, instance, life
), followed AS (
  SELECT h.*, lead(start) OVER (PARTITION BY h.process_id, h.instance, h.resource_kind, h.resource ORDER BY life) AS next_start,
    lag(last_line) OVER (PARTITION BY h.process_id, h.instance, h.resource_kind, h.resource ORDER BY life) AS life_before,
    CASE WHEN h.failed_stop_pos IS NOT NULL THEN get(filter(c.closings, x -> x.stream_pos > h.failed_stop_pos AND x.settled),
      0) END AS settled,
    CASE WHEN h.failed_stop_pos IS NOT NULL THEN get(filter(c.closings, x -> x.stream_pos > h.failed_stop_pos),
      0).at_ms END AS any_closed_ms
  FROM holding h
  LEFT JOIN closing c ON c.process_id = h.process_id AND c.instance = h.instance AND c.resource_kind = h.resource_kind
    AND c.resource = h.resource
  -- Lines of a task's clients come before its first start only when the log begins in the middle of its life.
  -- Or when all lines of the start are missing: then it began somewhere in this life of its process.
  WHERE life > 0 OR sign_count > 0 OR stop IS NOT NULL
), patience AS (
  SELECT process_id, min(try_cast(value AS BIGINT)) AS graceful_ms FROM setting WHERE key = 'task.shutdown.graceful.timeout.ms'
    GROUP BY process_id
), ready AS (
  SELECT f.*, coalesce(g.graceful_ms, graceful_stop_ms) AS graceful_ms,
    f.resource_kind = 'connector' OR f.closed IS NOT NULL OR f.closed_before IS NOT NULL OR f.stopped IS NOT NULL OR f.failed IS NOT NULL
      OR coalesce(f.stop.tasks_stopped.at_ms - f.stop.at_ms < coalesce(g.graceful_ms, graceful_stop_ms),
        false) AS is_seen_ending
  FROM followed f LEFT JOIN patience g ON g.process_id = f.process_id
), ended AS (
  SELECT
    f.*,
    b.not_before_ms, b.not_before_id, s.event_id AS process_start_id,
    b.generation AS named_generation, b.before_generation, b.there_ms, b.there_id, b.there_witness,
    CASE WHEN f.life > 0 AND NOT f.start_event <=> 'connector_started' THEN 'seen'
      WHEN f.instance = 0 AND f.life = 0 AND NOT coalesce(b.is_skipped, false) AND NOT f.is_behind_hole THEN 'open'
      ELSE 'lost' END AS start_how,
    p.first_ms AS process_first_ms,
    greatest(p.last_ms, d.heard_ms) AS process_last_ms,
    p.next_start_ms AS process_next_ms,
    p.stopping_ms,
    -- The earliest of the lines that say that the thread is gone. A hole may hide that its worker gave up on it: then a second start, or
    -- the end of the herder, does not say so.
    coalesce(array_min(filter(array(
      CASE WHEN f.stopped IS NOT NULL AND f.failed_stop_pos IS NULL THEN named_struct('at_ms', f.stopped.at_ms, 'how', 'stopped',
        'event_id',
        f.stopped.event_id) END,
      CASE WHEN f.closed IS NOT NULL THEN named_struct('at_ms', f.closed.at_ms, 'how', 'client_closed', 'event_id', f.closed.event_id) END,
      CASE WHEN f.settled IS NOT NULL THEN named_struct('at_ms', f.settled.at_ms, 'how', 'client_closed', 'event_id',
        f.settled.event_id) END,
      CASE WHEN f.orphan IS NOT NULL THEN named_struct('at_ms', f.orphan.at_ms, 'how', 'orphan_failed', 'event_id', f.orphan.event_id) END,
      CASE WHEN f.stop.tasks_stopped IS NOT NULL AND f.resource_kind = 'task'
        -- A thread that had closed its client before its stop was given up on was past its task's code: only its last steps were left.
        AND (f.failed_stop_pos IS NULL OR f.failed_stop_pos > f.stop.tasks_stopped.pos OR f.closed_before IS NOT NULL)
        -- A thread that prints after it was given up on, whether or not the line that says so is there.
        AND (f.last_own_pos IS NULL OR f.last_own_pos < f.stop.tasks_stopped.pos) AND f.is_seen_ending
        THEN named_struct('at_ms', f.stop.tasks_stopped.at_ms, 'how', 'tasks_stopped', 'event_id', f.stop.tasks_stopped.event_id) END,
      CASE WHEN f.next_start.at_ms IS NOT NULL AND f.failed_stop_pos IS NULL AND f.hole_pos IS NULL
        AND (f.is_seen_ending OR f.next_start.at_ms - f.stop.at_ms < f.graceful_ms)
        THEN named_struct('at_ms', f.next_start.at_ms, 'how', 'started_again', 'event_id', f.next_start.event_id) END,
      CASE WHEN f.herder_stopped IS NOT NULL AND f.failed_stop_pos IS NULL AND f.hole_pos IS NULL
        AND (f.is_seen_ending OR f.herder_stopped.at_ms - f.stop.at_ms < f.graceful_ms)
        THEN named_struct('at_ms', f.herder_stopped.at_ms, 'how', 'worker_stopped', 'event_id', f.herder_stopped.event_id) END,
      CASE WHEN p.next_start_ms IS NOT NULL THEN named_struct('at_ms', p.next_start_ms, 'how', 'process_restarted', 'event_id',
        p.next_start_id) END
    ), x -> x IS NOT NULL)),
      -- In a log without times the order of lines says so alone.
      CASE WHEN f.next_start.event_id IS NOT NULL AND f.next_start.at_ms IS NULL AND f.failed_stop_pos IS NULL AND f.hole_pos IS NULL
        THEN named_struct('at_ms', f.next_start.at_ms, 'how', 'started_again', 'event_id', f.next_start.event_id) END,
      CASE WHEN p.next_start_id IS NOT NULL THEN named_struct('at_ms', p.next_start_ms, 'how', 'process_restarted', 'event_id',
        p.next_start_id) END
    ) AS end_line
  FROM ready f LEFT JOIN process_life p ON p.process_id = f.process_id AND p.instance = f.instance
  LEFT JOIN heard d ON f.resource_kind = 'task' AND d.process_id = f.process_id AND d.instance = f.instance AND d.resource = f.resource
    AND d.life = f.life
  LEFT JOIN life_start s ON s.process_id = f.process_id AND s.instance = f.instance
  LEFT JOIN lost_start b ON b.process_id = f.process_id AND b.instance = f.instance AND b.resource_kind = f.resource_kind
    AND b.resource = f.resource AND b.life = f.life
)
SELECT
  kafka_cluster, group_id, resource_kind, resource, process_id, instance AS process_instance, life, member_id,
  CASE WHEN start_how = 'seen' THEN generation ELSE named_generation END AS generation,
  CASE WHEN start_how = 'seen' THEN start.at_ms
    ELSE greatest(CASE WHEN instance > 0 THEN process_first_ms END, life_before.at_ms, not_before_ms) END AS start_lo_ms,
  CASE WHEN life = 0 THEN least(coalesce(first_sign.at_ms, CASE WHEN instance = 0 THEN stop.at_ms END), there_ms) ELSE least(
    first_sign.at_ms, CASE WHEN failed.at_ms IS NULL OR failed.at_ms > work_started.at_ms THEN work_started.at_ms END, stop.at_ms,
    next_start.at_ms) END AS start_hi_ms,
  start_how, before_generation,
  stop.at_ms AS stop_asked_ms, first_sign.at_ms AS first_sign_ms, last_sign.at_ms AS last_sign_ms, last_sign.at_ms AS work_stop_lo_ms,
  array_min(filter(array(failed.at_ms, leaving.at_ms, closing.at_ms, closed_before, end_line.at_ms),
    t -> t IS NOT NULL)) AS work_stop_hi_ms,
  CASE
    WHEN hole_pos IS NOT NULL THEN coalesce(before_hole_ms, start.at_ms, first_sign.at_ms)
    -- It ended in good order, but the order to stop is not there: it is in a hole.
    WHEN stop.at_ms IS NULL AND failed.at_ms IS NULL
      AND (end_line.how IN ('worker_stopped', 'started_again', 'stopped', 'client_closed', 'tasks_stopped') OR stopping_ms IS NOT NULL)
        THEN coalesce(last_sign.at_ms, start.at_ms)
    WHEN end_line.how = 'orphan_failed' THEN end_line.at_ms
    WHEN failed.at_ms IS NOT NULL OR stop.at_ms IS NOT NULL
      THEN least(greatest(coalesce(least(stop.at_ms, failed.at_ms), stop.at_ms, failed.at_ms), last_sign.at_ms, failed_stop.at_ms, CASE
        WHEN settled IS NOT NULL AND closed_before IS NULL THEN any_closed_ms END), end_line.at_ms)
    ELSE least(process_last_ms, end_line.at_ms)
  END AS stop_lo_ms,
  array_max(filter(array(seen_ms, CASE WHEN hole_pos IS NULL THEN failed.at_ms END, CASE WHEN hole_pos IS NULL THEN failed_stop.at_ms END,
    CASE WHEN hole_pos IS NULL THEN orphan.at_ms END, CASE WHEN hole_pos IS NULL AND failed_stop_pos IS NULL THEN closed.at_ms END,
    -- A connector says itself that it is done.
    CASE WHEN resource_kind = 'connector' AND hole_pos IS NULL THEN stopped.at_ms END,
    CASE WHEN is_whole AND settled IS NOT NULL AND closed_before IS NULL THEN any_closed_ms END), x -> x IS NOT NULL AND (end_line IS NULL
      OR x <= end_line.at_ms))) AS seen_ms,
  end_line.at_ms AS stop_hi_ms,
  CASE
    WHEN end_line.how = 'process_restarted' THEN 'gone'
    WHEN failed.event_id IS NOT NULL THEN 'failed'
    WHEN closing.event_id IS NOT NULL OR leaving.event_id IS NOT NULL THEN 'closing'
    WHEN stop.event_id IS NOT NULL THEN 'stopping'
    ELSE 'running'
  END AS phase_end,
  end_line.how AS stop_how, hole_pos IS NOT NULL
    -- A herder that ends in good order has stopped its tasks before.
    OR end_line.how IS NULL AND failed_stop_pos IS NULL AND herder_stopped.event_id IS NOT NULL AS is_stop_lost,
  start.event_id AS start_id,
  CASE WHEN there_ms < first_sign.at_ms OR first_sign.at_ms IS NULL THEN coalesce(there_id, work_started.event_id)
    WHEN first_sign.at_ms <= work_started.at_ms OR work_started.at_ms IS NULL THEN first_sign.event_id
    ELSE work_started.event_id END AS start_sign_id,
  there_witness AS start_witness,
  CASE WHEN start_how = 'seen' THEN start.event_id
    WHEN life_before.at_ms >= not_before_ms OR not_before_ms IS NULL AND life_before.at_ms IS NOT NULL THEN life_before.event_id
    ELSE coalesce(not_before_id, process_start_id) END AS not_before_id,
  stop.event_id AS stop_asked_id, last_sign.event_id AS last_sign_id, end_line.event_id AS stop_id, sign_count,
  failed_stop_pos IS NOT NULL OR coalesce(last_sign.at_ms - stop.at_ms > graceful_ms, false) AS is_overdue
FROM ended

-- One row per unbroken time in which one worker had one task (or connector), with bounds on its two ends, by the worker's own clock.
-- Reads: task_line, process_life, log_hole, member_heard, setting, join_round, client_event
-- Grain: process_id, process_instance, resource_kind, resource, life
-- A thread begins between the request to construct it and its first sign of life, or the line that reports that all starts are done. It
-- ends between the last moment at which it must still have existed and a line that reports its end. A thread that was neither asked to stop
-- nor failed exists as long as its process prints, because every task thread prints a line when it ends. A worker that continues within a
-- task's stop timeout has seen the task end. One that continues later may have abandoned the task in a missing line. After a gap in the log
-- nothing is certain, because such a line may be in the gap, unless the same thread, or the same member id of its consumer, appears after
-- it too. A sink's thread that ends closes its consumer, so the thread exists as long as the coordinator hears from that consumer.
-- A worker creates a connector again only after it has stopped it, so a second one began after the first ended.
CREATE OR REPLACE TEMPORARY VIEW task_holding (
  kafka_cluster,
  group_id       COMMENT 'Group of the Connect worker',
  resource_kind  COMMENT 'task or connector',
  resource       COMMENT 'Task or connector',
  process_id     COMMENT 'Worker',
  process_instance COMMENT 'Which run of the process',
  life           COMMENT 'n-th start of this resource in this run of the process; 0: it existed when the log began',
  member_id      COMMENT 'Worker''s member id',
  generation     COMMENT 'Generation that assigned it',
  start_lo_ms    COMMENT 'It did not exist before this time (milliseconds since 1970); NULL: it existed when the log began',
  start_hi_ms    COMMENT 'It certainly existed from this time on',
  start_how      COMMENT 'seen: its first line is one of its start; open: the log begins later; lost: the log lacks that line',
  before_generation COMMENT 'open or lost: it existed before its worker was assigned that generation; NULL: unknown',
  stop_asked_ms  COMMENT 'When its stop was requested',
  first_sign_ms  COMMENT 'First sign of life',
  last_sign_ms   COMMENT 'Last sign of life',
  work_stop_lo_ms COMMENT 'Certainly working until this time',
  work_stop_hi_ms COMMENT 'Certainly no longer working from this time on; NULL: unknown',
  stop_lo_ms     COMMENT 'The thread certainly existed until this time',
  seen_ms        COMMENT 'Last line that by itself shows that the thread existed; the absence of an end does not count. NULL: none',
  stop_hi_ms     COMMENT 'The thread had certainly ended at this time; NULL: unknown',
  phase_end      COMMENT 'running, stopping, closing, failed or gone: what it was doing in its last line',
  stop_how       COMMENT 'Kind of the line that ends it',
  is_stop_lost   COMMENT 'True if lines are missing after the last one that is certainly its own, so its end is, or may be, among them',
  start_id       COMMENT 'Event of the start',
  start_sign_id  COMMENT 'First event that shows it',
  not_before_id  COMMENT 'Event before which it did not exist; NULL: it existed when the log began',
  stop_asked_id  COMMENT 'Event of the stop request',
  last_sign_id   COMMENT 'Event of the last sign of life',
  stop_id        COMMENT 'Event that ends it',
  is_overdue     COMMENT 'True if its worker abandoned it, or it ran on longer than its stop timeout'
)
AS
WITH consumer_identity AS (
  -- A consumer keeps its member id until it learns that it lost it, so a task's consumer with the same id before and after a gap existed throughout
  -- the gap.
  SELECT process_id, instance, resource_kind, resource, life, sort_array(collect_list(struct(from_pos, to_pos))) AS ids
  FROM (
    SELECT process_id, instance, resource_kind, resource, life, own_member_id, min(stream_pos) AS from_pos, max(stream_pos) AS to_pos
    FROM task_line WHERE own_member_id IS NOT NULL AND own_member_id <> ''
    GROUP BY process_id, instance, resource_kind, resource, life, own_member_id
  )
  GROUP BY process_id, instance, resource_kind, resource, life
), coordinator_contact AS (
  SELECT t.process_id, t.instance, t.resource, t.life, max(m.alive_ms) AS heard_ms
  FROM (SELECT DISTINCT process_id, instance, resource, life, own_member_id FROM task_line WHERE resource_kind = 'task'
    AND own_member_id IS NOT NULL) t
  JOIN member_heard m ON m.process_id = t.process_id AND m.member_id = t.own_member_id
  GROUP BY t.process_id, t.instance, t.resource, t.life
), line_with_positions AS (
  SELECT *, min(CASE WHEN kind = 'stop' THEN stream_pos END) OVER one AS stop_pos,
    min(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER one AS failed_stop_pos,
    min(CASE WHEN kind = 'failed' THEN stream_pos END) OVER one AS failed_pos,
    min(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER one AS closing_pos,
    max(CASE WHEN kind = 'closing' AND timeout_ms > 0 THEN stream_pos END) OVER one AS closing_last_pos,
    -- The herder closes the producer of an abandoned thread with a timeout of zero.
    min(CASE WHEN kind = 'closing' AND timeout_ms = 0 THEN stream_pos END) OVER one AS forced_pos,
    min(CASE WHEN kind = 'failed_stop' THEN stream_pos END) OVER (PARTITION BY process_id, instance, resource_kind, resource) AS first_failed_stop_pos
  FROM task_line
  WINDOW one AS (PARTITION BY process_id, instance, resource_kind, resource, life)
), line_with_consumers AS (
  -- An abandoned thread may close its consumer at any time, even in a later run of its task, and all print the same name. So open consumers are
  -- counted from the first such thread on: one for it, one more for each start, and one less for each close.
  SELECT *,
    CASE WHEN stream_pos > first_failed_stop_pos THEN 1 - max(CASE WHEN kind = 'closed' AND app_kind = 'kafka.consumer'
      AND stream_pos < first_failed_stop_pos AND failed_stop_pos = first_failed_stop_pos THEN 1 ELSE 0 END) OVER whole
      + count_if(kind = 'start' AND stream_pos > first_failed_stop_pos) OVER so_far - count_if(kind = 'closed' AND app_kind = 'kafka.consumer'
      AND stream_pos > first_failed_stop_pos) OVER so_far END AS open_consumers,
    min(CASE WHEN kind = 'closed' AND stream_pos > forced_pos THEN stream_pos END) OVER one AS forced_closed_pos
  FROM line_with_positions
  WINDOW one AS (PARTITION BY process_id, instance, resource_kind, resource, life),
    whole AS (PARTITION BY process_id, instance, resource_kind, resource),
    so_far AS (PARTITION BY process_id, instance, resource_kind, resource ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), consumer_close AS (
  -- `settled`: the only open consumer is that of the present run, or none if it was asked to stop.
  SELECT process_id, instance, resource_kind, resource,
    sort_array(collect_list(struct(stream_pos, at_ms, event_id,
      open_consumers <= CASE WHEN least(stop_pos, failed_pos) < stream_pos THEN 0 ELSE 1 END AS settled))) AS closings
  FROM line_with_consumers WHERE kind = 'closed' AND app_kind = 'kafka.consumer' AND open_consumers IS NOT NULL
  GROUP BY process_id, instance, resource_kind, resource
), run_with_gaps AS (
  -- Gaps are examined once per run, because a log that lost every other line has as many gaps as lines.
  SELECT r.*, d.ids, h.gaps,
    -- The earliest possible start of the first wide gap that no identity spans. Lines after it may belong to another thread.
    array_min(transform(filter(h.gaps, x -> x.is_wide AND x.to_pos > r.began_pos AND NOT exists(coalesce(d.ids, array()),
      i -> i.from_pos <= x.from_pos AND i.to_pos >= x.to_pos)), x -> x.from_pos)) AS wide_pos,
    exists(coalesce(h.gaps, array()), x -> x.is_wide AND x.to_pos <= r.began_pos) AS is_after_gap
  FROM (
    SELECT process_id, instance, resource_kind, resource, life, min(stream_pos) AS began_pos,
      min(stream_pos) FILTER (WHERE kind = 'stop') AS stop_pos,
      min(stream_pos) FILTER (WHERE kind IN ('start', 'sign', 'leaving', 'closing')) AS shown_pos,
      max(stream_pos) FILTER (WHERE kind IN ('start', 'sign', 'stop')) AS last_pos,
      collect_list(stream_pos) FILTER (WHERE kind IN ('start', 'sign', 'leaving')) AS shown,
      collect_list(stream_pos) FILTER (WHERE kind = 'closing') AS closing, bool_or(kind = 'failed_stop') AS is_abandoned
    FROM task_line GROUP BY process_id, instance, resource_kind, resource, life
  ) r
  LEFT JOIN consumer_identity d ON d.process_id = r.process_id AND d.instance = r.instance AND d.resource_kind = r.resource_kind
    AND d.resource = r.resource AND d.life = r.life
  LEFT JOIN (
    SELECT process_id, instance, sort_array(collect_list(struct(to_pos, from_pos, is_wide))) AS gaps FROM log_hole GROUP BY process_id, instance
  ) h ON h.process_id = r.process_id AND h.instance = r.instance
), run_with_end AS (
  -- `gap_pos`: the last certain line, if a gap after it may hide the end: a gap that is not entirely after the stop request, or one followed by lines
  -- of the same task.
  SELECT process_id, instance, resource_kind, resource, life, is_after_gap, gaps IS NULL AS is_whole,
    CASE WHEN exists(coalesce(gaps, array()), x -> x.to_pos > sure_pos
      AND (stop_pos IS NULL OR x.from_pos < stop_pos OR x.to_pos <= last_pos)) THEN sure_pos END AS gap_pos
  FROM (
    SELECT *,
      -- A gap may begin before the first line that shows the thread, but that line is certain anyway. So are the lines up to the last one of
      -- an identity that this line, or an earlier one, shows.
      array_max(filter(CASE WHEN is_abandoned THEN shown ELSE concat(shown, closing) END, p -> wide_pos IS NULL OR p <= greatest(wide_pos, shown_pos)
        OR exists(coalesce(ids, array()), i -> i.from_pos <= greatest(wide_pos, shown_pos) AND i.to_pos >= p))) AS sure_pos
    FROM run_with_gaps
  )
), task_span AS (
  SELECT kafka_cluster, group_id, resource_kind, resource, process_id, instance, life,
    max_by(member_id, stream_pos) FILTER (WHERE kind IN ('order', 'start', 'sign')) AS member_id,
    min_by(generation, stream_pos) FILTER (WHERE kind IN ('start', 'sign')) AS generation,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind <> 'stopped') AS last_line,
    min_by(event, stream_pos) FILTER (WHERE kind = 'start') AS start_event,
    struct(min(at_ms) FILTER (WHERE kind = 'start') AS at_ms, min_by(event_id, stream_pos) FILTER (WHERE kind = 'start') AS event_id) AS start,
    -- While an abandoned thread exists, only lines that a thread prints once, at its start, certainly belong to the present one. The line that a
    -- connector was created shows that it exists, even if that line also counts as its start.
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE (kind IN ('sign', 'leaving', 'closing') OR event = 'connector_started')
      AND (coalesce(open_consumers, 1) <= 1 OR event IN ('task_started', 'task_executing'))) AS first_sign,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind IN ('sign', 'leaving', 'closing')
      AND (failed_stop_pos IS NULL OR kind <> 'closing')) AS last_sign,
    -- Not while an abandoned thread prints under the same name.
    max(CASE WHEN (kind IN ('sign', 'leaving') OR event = 'connector_started' OR kind = 'closing' AND failed_stop_pos IS NULL)
      AND (gap_pos IS NULL OR stream_pos <= gap_pos)
      AND (coalesce(open_consumers, 1) <= 1 OR event IN ('task_started', 'task_executing')) THEN at_ms END) AS seen_ms,
    count_if(kind = 'sign') AS sign_count, max(gap_pos) AS gap_pos, bool_or(is_after_gap) AS is_after_gap, bool_and(is_whole) AS is_whole,
    max(at_ms) FILTER (WHERE kind IN ('start', 'sign', 'leaving', 'closing') AND stream_pos <= gap_pos) AS before_gap_ms,
    min_by(work_started, stream_pos) FILTER (WHERE kind = 'start') AS work_started,
    min_by(struct(at_ms, event_id, tasks_stopped, statuses_flushed, herder_stopped), stream_pos) FILTER (WHERE kind = 'stop') AS stop,
    max_by(herder_stopped, stream_pos) AS herder_stopped, max(failed_stop_pos) AS failed_stop_pos,
    max(stream_pos) FILTER (WHERE kind IN ('sign', 'leaving', 'closing') AND NOT by_schedule
      OR kind = 'closed' AND app_kind IN ('kafka.consumer', 'kafka.producer')) AS last_own_pos,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'failed') AS failed,
    -- While an earlier thread is abandoned, the line is that thread's, unless this one was asked to stop too.
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'orphan_failed'
      AND (stream_pos > stop_pos OR coalesce(first_failed_stop_pos > stream_pos, true))) AS orphan,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'stopped') AS stopped,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'leaving' AND stream_pos > stop_pos) AS leaving,
    min_by(struct(at_ms + coalesce(timeout_ms, 0) AS at_ms, event_id), stream_pos)
      FILTER (WHERE kind = 'closing' AND stream_pos > coalesce(stop_pos, failed_pos)) AS closing,
    -- A failed stop proves that the thread still existed. After it the worker may close the thread's producer, unless the thread was already closing
    -- it. Only its own thread closes a consumer. Both print the same line when they are done.
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'failed_stop') AS failed_stop,
    min(at_ms) FILTER (WHERE kind = 'closed' AND stream_pos > stop_pos AND stream_pos < failed_stop_pos AND is_own) AS closed_before,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE kind = 'closed' AND is_own
      AND stream_pos > coalesce(least(stop_pos, failed_pos), stop_pos, failed_pos)
      AND (failed_stop_pos IS NULL OR stream_pos > failed_stop_pos AND (app_kind = 'kafka.consumer'
        OR closing_pos < stream_pos AND (forced_pos IS NULL OR stream_pos < forced_pos OR stream_pos > closing_last_pos
          AND closing_last_pos > forced_closed_pos)))) AS closed
  FROM (
    SELECT l.*, r.gap_pos, r.is_after_gap, r.is_whole,
      l.app_kind <> 'kafka.consumer' OR l.open_consumers IS NULL OR l.open_consumers <= 0 AS is_own
    FROM line_with_consumers l
    JOIN run_with_end r ON r.process_id = l.process_id AND r.instance = l.instance AND r.resource_kind = l.resource_kind AND r.resource = l.resource
      AND r.life = l.life
  )
  GROUP BY kafka_cluster, group_id, resource_kind, resource, process_id, instance, life
), span_with_next AS (
  SELECT f.*, lead(f.start) OVER runs AS next_start, lag(f.last_line) OVER runs AS previous_line,
    CASE WHEN f.failed_stop_pos IS NOT NULL THEN get(filter(c.closings, x -> x.stream_pos > f.failed_stop_pos AND x.settled), 0) END AS settled,
    CASE WHEN f.failed_stop_pos IS NOT NULL THEN get(filter(c.closings, x -> x.stream_pos > f.failed_stop_pos), 0).at_ms END AS any_closed_ms,
    coalesce(g.graceful_ms, graceful_stop_ms) AS graceful_ms,
    f.resource_kind = 'connector' OR f.closed IS NOT NULL OR f.closed_before IS NOT NULL OR f.stopped IS NOT NULL OR f.failed IS NOT NULL
      OR coalesce(f.stop.tasks_stopped.at_ms - f.stop.at_ms < coalesce(g.graceful_ms, graceful_stop_ms), false) AS is_seen_ending
  FROM task_span f
  LEFT JOIN consumer_close c ON c.process_id = f.process_id AND c.instance = f.instance AND c.resource_kind = f.resource_kind
    AND c.resource = f.resource
  LEFT JOIN (
    SELECT process_id, min(try_cast(value AS BIGINT)) AS graceful_ms FROM setting WHERE key = 'task.shutdown.graceful.timeout.ms' GROUP BY process_id
  ) g ON g.process_id = f.process_id
  -- Lines of a task's clients come before its first start only if the log begins in the middle of its run, or if all lines of the start are missing.
  -- Then it began somewhere in this process run.
  WHERE f.life > 0 OR f.sign_count > 0 OR f.stop IS NOT NULL
  WINDOW runs AS (PARTITION BY f.process_id, f.instance, f.resource_kind, f.resource ORDER BY f.life)
), adjacent_assignment AS (
  -- The last assignment of its worker before the first line, and the next one, of runs whose log lacks the start, or has only the end of the
  -- connector's construction. What the last one does not name started after it.
  SELECT f.process_id, f.instance, f.resource_kind, f.resource, f.life,
    max(CASE WHEN e.stream_pos < f.from_pos
      THEN struct(e.stream_pos, j.generation, array_contains(j.assigned, f.resource) AS is_named) END) AS before_it,
    min(CASE WHEN e.stream_pos > f.from_pos THEN struct(e.stream_pos, j.generation) END) AS after_it
  FROM (
    SELECT process_id, instance, resource_kind, resource, life, min(stream_pos) AS from_pos FROM task_line
    WHERE kind <> 'order' GROUP BY process_id, instance, resource_kind, resource, life
    HAVING life = 0 OR min_by(event, stream_pos) FILTER (WHERE kind = 'start') = 'connector_started'
  ) f
  JOIN join_round j ON j.process_id = f.process_id AND j.instance = f.instance AND j.is_worker AND j.assigned IS NOT NULL
  JOIN client_event e ON e.event_id = j.worker_assigned_id
  GROUP BY f.process_id, f.instance, f.resource_kind, f.resource, f.life
), span_with_end AS (
  SELECT f.*, p.start_id AS process_start_id, CASE WHEN b.before_it.is_named THEN b.before_it.generation END AS named_generation,
    b.after_it.generation AS before_generation,
    CASE WHEN f.life > 0 AND NOT f.start_event <=> 'connector_started' THEN 'seen'
      WHEN f.instance = 0 AND f.life = 0 AND coalesce(b.before_it.is_named, true) AND NOT f.is_after_gap THEN 'open'
      ELSE 'lost' END AS start_how,
    p.first_ms AS process_first_ms, greatest(p.last_ms, d.heard_ms) AS process_last_ms, p.next_start_ms AS process_next_ms, p.stopping_ms,
    -- The earliest line that reports the end of the thread. A gap may hide that its worker abandoned it; then neither a second start nor the end of
    -- the herder shows its end.
    array_min(filter(array(
      struct(0 AS rank, f.stopped IS NOT NULL AND f.failed_stop_pos IS NULL AS is_end, f.stopped.at_ms, 'stopped' AS how, f.stopped.event_id),
      struct(0 AS rank, f.closed IS NOT NULL AS is_end, f.closed.at_ms, 'client_closed' AS how, f.closed.event_id),
      struct(0 AS rank, f.settled IS NOT NULL AS is_end, f.settled.at_ms, 'client_closed' AS how, f.settled.event_id),
      struct(0 AS rank, f.orphan IS NOT NULL AS is_end, f.orphan.at_ms, 'orphan_failed' AS how, f.orphan.event_id),
      struct(0 AS rank, f.stop.tasks_stopped IS NOT NULL AND f.resource_kind = 'task'
        AND (f.failed_stop_pos IS NULL OR f.failed_stop_pos > f.stop.tasks_stopped.pos)
        -- The thread printed after it was abandoned, even if the line of that is missing.
        AND (f.last_own_pos IS NULL OR f.last_own_pos < f.stop.tasks_stopped.pos) AND f.is_seen_ending AS is_end,
        f.stop.tasks_stopped.at_ms, 'tasks_stopped' AS how, f.stop.tasks_stopped.event_id),
      -- A thread that had closed its client before it was abandoned only waits until its last status is written.
      struct(0 AS rank, f.closed_before IS NOT NULL AND f.stop.statuses_flushed.pos > f.failed_stop_pos
        AND coalesce(f.last_own_pos < f.stop.statuses_flushed.pos, true) AS is_end,
        f.stop.statuses_flushed.at_ms, 'statuses_flushed' AS how, f.stop.statuses_flushed.event_id),
      struct(0 AS rank, f.next_start.at_ms IS NOT NULL AND f.failed_stop_pos IS NULL AND f.gap_pos IS NULL
        AND (f.is_seen_ending OR f.next_start.at_ms - f.stop.at_ms < f.graceful_ms) AS is_end,
        f.next_start.at_ms, 'started_again' AS how, f.next_start.event_id),
      struct(0 AS rank, f.herder_stopped IS NOT NULL AND f.failed_stop_pos IS NULL AND f.gap_pos IS NULL
        AND (f.is_seen_ending OR f.herder_stopped.at_ms - f.stop.at_ms < f.graceful_ms) AS is_end,
        f.herder_stopped.at_ms, 'worker_stopped' AS how, f.herder_stopped.event_id),
      -- A file about its container may show when it had ended; the order of lines shows it only at the next start.
      struct(0 AS rank, p.next_start_ms IS NOT NULL AS is_end, coalesce(p.end_ms, p.next_start_ms) AS at_ms, 'process_restarted' AS how,
        p.next_start_id AS event_id),
      -- In a log without times the order of lines decides.
      struct(1 AS rank, f.next_start.event_id IS NOT NULL AND f.next_start.at_ms IS NULL AND f.failed_stop_pos IS NULL
        AND f.gap_pos IS NULL AS is_end, f.next_start.at_ms, 'started_again' AS how, f.next_start.event_id),
      struct(2 AS rank, p.next_start_id IS NOT NULL AS is_end, p.next_start_ms AS at_ms, 'process_restarted' AS how, p.next_start_id AS event_id)
    ), x -> x.is_end)) AS end_line
  FROM span_with_next f LEFT JOIN process_life p ON p.process_id = f.process_id AND p.instance = f.instance
  LEFT JOIN coordinator_contact d ON f.resource_kind = 'task' AND d.process_id = f.process_id AND d.instance = f.instance AND d.resource = f.resource
    AND d.life = f.life
  LEFT JOIN adjacent_assignment b ON b.process_id = f.process_id AND b.instance = f.instance AND b.resource_kind = f.resource_kind
    AND b.resource = f.resource AND b.life = f.life
)
SELECT kafka_cluster, group_id, resource_kind, resource, process_id, instance AS process_instance, life, member_id,
  CASE WHEN start_how = 'seen' THEN generation ELSE named_generation END AS generation,
  CASE WHEN start_how = 'seen' THEN start.at_ms
    ELSE greatest(CASE WHEN instance > 0 THEN process_first_ms END, previous_line.at_ms) END AS start_lo_ms,
  CASE WHEN life = 0 THEN coalesce(first_sign.at_ms, CASE WHEN instance = 0 THEN stop.at_ms END) ELSE least(
    first_sign.at_ms, CASE WHEN failed.at_ms IS NULL OR failed.at_ms > work_started.at_ms THEN work_started.at_ms END, stop.at_ms,
    next_start.at_ms) END AS start_hi_ms,
  start_how, before_generation, stop.at_ms AS stop_asked_ms, first_sign.at_ms AS first_sign_ms, last_sign.at_ms AS last_sign_ms,
  last_sign.at_ms AS work_stop_lo_ms,
  array_min(filter(array(failed.at_ms, leaving.at_ms, closing.at_ms, closed_before, end_line.at_ms), t -> t IS NOT NULL)) AS work_stop_hi_ms,
  CASE WHEN gap_pos IS NOT NULL THEN coalesce(before_gap_ms, start.at_ms, first_sign.at_ms)
    -- It ended cleanly, but the stop request is missing, so it is in a gap.
    WHEN stop.at_ms IS NULL AND failed.at_ms IS NULL AND (end_line.how IN ('worker_stopped', 'started_again', 'stopped', 'client_closed',
      'tasks_stopped') OR stopping_ms IS NOT NULL) THEN coalesce(last_sign.at_ms, start.at_ms)
    WHEN end_line.how = 'orphan_failed' THEN end_line.at_ms
    WHEN failed.at_ms IS NOT NULL OR stop.at_ms IS NOT NULL THEN least(greatest(coalesce(least(stop.at_ms, failed.at_ms), stop.at_ms, failed.at_ms),
      last_sign.at_ms, failed_stop.at_ms, CASE WHEN settled IS NOT NULL AND closed_before IS NULL THEN any_closed_ms END), end_line.at_ms)
    ELSE least(process_last_ms, end_line.at_ms) END AS stop_lo_ms,
  array_max(filter(array(seen_ms, CASE WHEN gap_pos IS NULL THEN failed.at_ms END, CASE WHEN gap_pos IS NULL THEN failed_stop.at_ms END,
    CASE WHEN gap_pos IS NULL THEN orphan.at_ms END, CASE WHEN gap_pos IS NULL AND failed_stop_pos IS NULL THEN closed.at_ms END,
    -- A connector reports its own end.
    CASE WHEN resource_kind = 'connector' AND gap_pos IS NULL THEN stopped.at_ms END,
    CASE WHEN is_whole AND settled IS NOT NULL AND closed_before IS NULL THEN any_closed_ms END), x -> x IS NOT NULL AND (end_line IS NULL
      OR x <= end_line.at_ms))) AS seen_ms,
  end_line.at_ms AS stop_hi_ms,
  CASE WHEN end_line.how = 'process_restarted' THEN 'gone'
    WHEN failed.event_id IS NOT NULL THEN 'failed'
    WHEN closing.event_id IS NOT NULL OR leaving.event_id IS NOT NULL THEN 'closing'
    WHEN stop.event_id IS NOT NULL THEN 'stopping'
    ELSE 'running' END AS phase_end,
  end_line.how AS stop_how,
  gap_pos IS NOT NULL
  -- A herder that ends cleanly has stopped its tasks before.
  OR end_line.how IS NULL AND failed_stop_pos IS NULL AND herder_stopped.event_id IS NOT NULL AS is_stop_lost,
  start.event_id AS start_id,
  CASE WHEN first_sign.at_ms IS NULL OR first_sign.at_ms > work_started.at_ms THEN work_started.event_id
    ELSE first_sign.event_id END AS start_sign_id,
  CASE WHEN start_how = 'seen' THEN start.event_id ELSE coalesce(CASE WHEN previous_line.at_ms IS NOT NULL THEN previous_line.event_id END,
    process_start_id) END AS not_before_id,
  stop.event_id AS stop_asked_id, last_sign.event_id AS last_sign_id, end_line.event_id AS stop_id,
  failed_stop_pos IS NOT NULL OR coalesce(last_sign.at_ms - stop.at_ms > graceful_ms, false) AS is_overdue
FROM span_with_end

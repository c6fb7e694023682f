-- One row for each time in which a process certainly did not run, as its own log shows: it was paused, or its host was.
-- Reads: event, process_line, setting, filtered_log, lost_range, shared_log
-- Grain: process_id, instance, after_id
-- A paused process prints nothing, and when it continues, all of its threads find at the same moment that time has passed. Each client of Kafka
-- cancels a request when its timeout has passed, a ZooKeeper client gives up within its session timeout, and a Connect task reports its commits at
-- fixed intervals. Several clients that do so much too late, after a silence of the whole process, did not run. One client alone may have been
-- blocked. Kafka's clients measure time by the clock of the host: one that is set forward looks the same.
CREATE OR REPLACE TEMPORARY VIEW process_pause (
  process_id, instance,
  before_ms  COMMENT 'It ran at this time: its last line before the pause, or in a log that begins later, when its last request was sent (own clock)',
  after_ms   COMMENT 'First line after the pause, by its own clock',
  least_ms   COMMENT 'The pause lasted at least this long, milliseconds',
  most_ms    COMMENT 'It lasted at most this long, milliseconds',
  printed_ms COMMENT 'Longest time without an answer that a line prints, milliseconds; NULL: none does',
  how        COMMENT 'requests: several clients cancelled requests much too late; zookeeper: its ZooKeeper client noticed so much too late;
    periodic: lines that come at fixed intervals stopped, and several clients lost their sessions at the first moment afterwards',
  clients    COMMENT 'Number of clients that noticed it',
  after_id   COMMENT 'Event that first shows it after the pause',
  witness
)
AS
WITH printed_line AS (
  SELECT process_id, instance, at_ms, lag(at_ms) OVER (PARTITION BY process_id, instance ORDER BY stream_pos) AS before_ms,
    lag(event_id) IGNORE NULLS OVER (PARTITION BY process_id, instance ORDER BY stream_pos) AS before_id
  FROM process_line p
  -- In a log of several processes, the silence of one is not visible.
  LEFT ANTI JOIN shared_log s ON s.process_id = p.process_id AND s.is_worker
  WHERE at_ms IS NOT NULL
), silence AS (
  SELECT process_id, instance, before_ms, at_ms AS after_ms, before_id FROM printed_line
  WHERE before_ms IS NULL OR at_ms - before_ms >= pause_least_ms
), zookeeper_limit AS (
  SELECT process_id, max(limit_ms) AS limit_ms
  FROM (
    SELECT process_id, try_cast(value AS BIGINT) AS limit_ms FROM setting WHERE key = 'zookeeper.session.timeout.ms'
    UNION ALL
    SELECT process_id, CAST(timeout_ms AS BIGINT) FROM event WHERE event = 'zookeeper_connected'
  )
  GROUP BY process_id
), late_sign AS (
  -- What was certainly late, and by how much at least.
  SELECT process_id, instance, unix_millis(ts) AS at_ms, event_id, client_id AS client, 'requests' AS how, duration_ms AS printed_ms,
    duration_ms - timeout_ms AS least_ms
  FROM event WHERE event = 'request_cancelled' AND ts IS NOT NULL AND client_id IS NOT NULL AND duration_ms - timeout_ms >= pause_least_ms
  UNION ALL
  SELECT e.process_id, e.instance, unix_millis(e.ts), e.event_id, 'ZooKeeper', 'zookeeper', e.duration_ms,
    e.duration_ms - coalesce(z.limit_ms, zookeeper_longest_ms)
  FROM event e LEFT JOIN zookeeper_limit z ON z.process_id = e.process_id
  WHERE e.event = 'zookeeper_timed_out' AND e.ts IS NOT NULL AND e.duration_ms - coalesce(z.limit_ms, zookeeper_longest_ms) >= pause_least_ms
), late_pause AS (
  SELECT s.process_id, s.instance, s.after_ms, min(s.before_id) AS before_id, g.how, max(g.least_ms) AS least_ms, max(g.printed_ms) AS printed_ms,
    coalesce(min(s.before_ms), max(g.at_ms - g.printed_ms)) AS before_ms, count(DISTINCT g.client) AS clients,
    sort_array(collect_list(struct(g.at_ms, g.event_id))) AS signs
  FROM silence s
  JOIN late_sign g ON g.process_id = s.process_id AND g.instance = s.instance AND g.at_ms BETWEEN s.after_ms AND s.after_ms + pause_noticed_ms
    -- It printed nothing from the moment at which it should have noticed.
    AND coalesce(g.at_ms - g.least_ms >= s.before_ms, true)
  GROUP BY s.process_id, s.instance, s.after_ms, g.how HAVING g.how = 'zookeeper' OR count(DISTINCT g.client) > 1
), commit_line AS (
  SELECT process_id, instance, at_ms, lag(at_ms) OVER w AS before_ms, at_ms - lag(at_ms) OVER w AS step_ms,
    greatest((lag(at_ms) OVER w) - (lag(at_ms, 2) OVER w), (lag(at_ms, 2) OVER w) - (lag(at_ms, 3) OVER w)) AS before_most_ms,
    least((lag(at_ms) OVER w) - (lag(at_ms, 2) OVER w), (lag(at_ms, 2) OVER w) - (lag(at_ms, 3) OVER w)) AS before_least_ms,
    greatest((lead(at_ms) OVER w) - at_ms, (lead(at_ms, 2) OVER w) - (lead(at_ms) OVER w)) AS after_most_ms,
    least((lead(at_ms) OVER w) - at_ms, (lead(at_ms, 2) OVER w) - (lead(at_ms) OVER w)) AS after_least_ms
  FROM (
    SELECT process_id, instance, stream_pos, task, event, unix_millis(ts) AS at_ms FROM event
    WHERE event IN ('task_commit_idle', 'task_committing') AND task IS NOT NULL AND ts IS NOT NULL
  )
  WINDOW w AS (PARTITION BY process_id, instance, task, event ORDER BY stream_pos)
), missed_commit AS (
  -- A line that comes at equal intervals before or after, and was missing in between.
  SELECT process_id, instance, before_ms, at_ms, period_ms
  FROM (
    SELECT *, CASE WHEN after_most_ms <= after_least_ms + after_least_ms DIV 5 THEN after_most_ms
      WHEN before_most_ms <= before_least_ms + before_least_ms DIV 5 THEN before_most_ms END AS period_ms
    FROM commit_line
  )
  WHERE period_ms > 0 AND step_ms >= pause_periods * period_ms
), expired_session AS (
  SELECT process_id, instance, unix_millis(ts) AS at_ms, event_id, coalesce(client_id, thread, '-') AS client FROM event
  WHERE event = 'coordinator_lost' AND ts IS NOT NULL AND coalesce(cause, error, reason, '') LIKE '%session timed out%'
), periodic_pause AS (
  SELECT s.process_id, s.instance, s.after_ms, min(s.before_id) AS before_id, max(s.after_ms - m.before_ms - m.period_ms) AS least_ms,
    min(s.before_ms) AS before_ms, count(DISTINCT g.client) AS clients, sort_array(collect_set(struct(g.at_ms, g.event_id))) AS signs
  FROM silence s
  JOIN missed_commit m ON m.process_id = s.process_id AND m.instance = s.instance AND m.before_ms <= s.before_ms AND m.at_ms >= s.after_ms
  JOIN expired_session g ON g.process_id = s.process_id AND g.instance = s.instance AND g.at_ms BETWEEN s.after_ms AND s.after_ms + pause_noticed_ms
  LEFT ANTI JOIN filtered_log f ON f.process_id = s.process_id
  LEFT ANTI JOIN lost_range d ON d.process_id = s.process_id AND coalesce(d.to_ms >= s.before_ms, true) AND coalesce(d.from_ms <= s.after_ms, true)
  WHERE s.after_ms - s.before_ms >= pause_silent_ms
  GROUP BY s.process_id, s.instance, s.after_ms
  HAVING count(DISTINCT g.client) > 1 AND max(s.after_ms - m.before_ms - m.period_ms) >= pause_silent_ms DIV 2
), any_pause AS (
  SELECT process_id, instance, after_ms, before_ms, before_id, how, least_ms, printed_ms, clients, signs FROM late_pause
  UNION ALL
  SELECT process_id, instance, after_ms, before_ms, before_id, 'periodic', least_ms, CAST(NULL AS BIGINT), clients, signs FROM periodic_pause
)
SELECT process_id, instance, max(before_ms) AS before_ms, after_ms, max(least_ms) AS least_ms, after_ms - max(before_ms) AS most_ms,
  max(printed_ms) AS printed_ms, min_by(how, struct(CASE how WHEN 'zookeeper' THEN 0 WHEN 'requests' THEN 1 ELSE 2 END AS rank, how)) AS how,
  max(clients) AS clients, min_by(signs[0].event_id, struct(signs[0].at_ms, signs[0].event_id)) AS after_id,
  array_compact(array_distinct(concat(array(min(before_id)), slice(transform(array_sort(flatten(collect_list(signs))), x -> x.event_id), 1, 8))))
    AS witness
FROM any_pause GROUP BY process_id, instance, after_ms

-- One row per worker whose tasks are assigned and do not work: failed, never started, their herder dead, or a sink task without partitions.
-- Reads: fact_line, task_line, process_life, worker_group, worker_duty, join_round, clock_offset
-- Answers: why does a task do nothing though the group is stable?
-- Needs: the worker's log.
-- Silent when: the task was given to another worker, started in time, or its worker was stopping.
-- Shown by: a written log in tests/test_rules.py; silent on all recordings but where a worker fought over its group.
CREATE OR REPLACE TEMPORARY VIEW rule_assigned_not_working (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per worker whose tasks are assigned and do not work: failed, never started, their herder dead, or a sink task without partitions.'
AS
WITH failed AS (
  SELECT f.kafka_cluster, w.group_id, f.process_id, f.instance, f.task, f.connector, f.event, f.said, f.message, f.ts, f.stream_pos, f.event_id, timestamp_millis(unix_millis(f.ts) - (o.lo_ms + o.hi_ms) DIV 2) AS at
  FROM fact_line f
  JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  LEFT JOIN worker_group w ON w.process_id = f.process_id AND w.instance = f.instance
  WHERE f.event IN ('task_failed', 'task_start_failed', 'task_init_failed', 'connector_start_failed', 'connector_failed') AND (l.stopping_ts IS NULL OR f.ts < l.stopping_ts)
), again AS (
  SELECT f.event_id, min(t.ts) AS ts FROM failed f JOIN task_line t ON t.process_id = f.process_id AND t.instance = f.instance AND t.resource = coalesce(f.task, f.connector) AND t.kind = 'start' AND t.stream_pos > f.stream_pos
  GROUP BY f.event_id
), lost AS (
  SELECT f.kafka_cluster, f.group_id, f.process_id, coalesce(regexp_replace(f.task, '-[0-9]+$', ''), f.connector) AS connector, array_sort(collect_set(coalesce(f.task, f.connector))) AS what, count(*) AS times, min(f.at) AS from_ts,
    CASE WHEN count(a.ts) = count(*) THEN max(a.ts) END AS to_ts, min_by(coalesce(f.said, f.message), struct(f.ts, f.event_id)) AS said, count(a.ts) AS restarted, slice(array_sort(collect_list(f.event_id)), 1, 8) AS witness
  FROM failed f LEFT JOIN again a ON a.event_id = f.event_id
  GROUP BY f.kafka_cluster, f.group_id, f.process_id, coalesce(regexp_replace(f.task, '-[0-9]+$', ''), f.connector)
), idle AS (
  SELECT d.*, timestamp_millis(unix_millis(d.assigned_ts) - (o.lo_ms + o.hi_ms) DIV 2) AS at
  FROM worker_duty d
  JOIN clock_offset o ON o.process_id = d.process_id AND o.is_island_reference
  LEFT ANTI JOIN failed f ON f.process_id = d.process_id AND f.instance = d.instance AND f.task = d.task
  LEFT ANTI JOIN fact_line h ON h.process_id = d.process_id AND h.instance = d.instance AND h.event = 'herder_failed'
  WHERE NOT d.started AND unix_millis(d.until_ts) - unix_millis(d.assigned_ts) >= not_started_ms
), never AS (
  SELECT kafka_cluster, group_id, process_id, array_sort(collect_set(task)) AS tasks, min(at) AS from_ts, max(unix_millis(until_ts) - unix_millis(assigned_ts)) AS ms, slice(array_sort(collect_set(event_id)), 1, 4) AS witness
  FROM idle GROUP BY kafka_cluster, group_id, process_id
), bare AS (
  -- The last assignment of a sink task's consumer; a topic has not as many partitions as the sink has tasks.
  SELECT kafka_cluster, group_id, process_id, task, max_by(size(coalesce(assigned, given)), round) AS partitions, max_by(synced_id, round) AS event_id, max_by(unix_millis(synced_ts), round) AS synced_ms
  FROM join_round WHERE task IS NOT NULL AND synced_ts IS NOT NULL AND NOT is_worker
  GROUP BY kafka_cluster, group_id, process_id, task
)
SELECT
  CASE WHEN to_ts IS NULL THEN 'critical' ELSE 'warning' END, 'proved', kafka_cluster, group_id, array_join(slice(what, 1, 10), ', '), from_ts, to_ts,
  concat(CASE WHEN size(what) = 1 THEN concat(what[0], ' failed') ELSE concat(size(what), ' tasks of ', connector, ' failed') END, ' in ', process_id,
    CASE WHEN restarted = 0 THEN ' and did not start again there' WHEN to_ts IS NULL THEN '; not all started again' ELSE ' and started again' END),
  concat('Printed ', times, CASE WHEN times = 1 THEN ' time: ' ELSE ' times, first: ' END, left(coalesce(said, 'no cause'), 300), '. A failed task stays assigned, counts as owned, and does nothing until somebody restarts it; no rebalance heals it.'),
  concat('Mend the cause, then restart: POST /connectors/', coalesce(connector, 'NAME'), '/restart?includeTasks=true&onlyFailed=true (3.0.0 and later; before, one task at a time). For bad records errors.tolerance=all with a dead letter queue keeps a sink going, and hides them from those who do not look.'),
  witness
FROM lost
UNION ALL
SELECT
  'critical', 'proved', f.kafka_cluster, w.group_id, f.process_id, f.ts, CAST(NULL AS TIMESTAMP),
  concat('the herder of ', f.process_id, ' died: the worker runs, answers REST, and does nothing for its group'),
  concat('Printed: ', left(f.message, 300), '. The thread that joins the group, starts and stops work is gone; the tasks of this worker are stopped or run on without anybody to stop them.'),
  'Restart the worker. Before 3.3.2 an exception while a connector is reconfigured kills the herder (KAFKA-13586): upgrade. Alert on the line; liveness probes that only ask the port do not see it.',
  array(f.event_id)
FROM fact_line f LEFT JOIN worker_group w ON w.process_id = f.process_id AND w.instance = f.instance
WHERE f.event = 'herder_failed'
UNION ALL
SELECT
  'warning', 'proved', kafka_cluster, group_id, array_join(slice(tasks, 1, 10), ', '), from_ts, CAST(NULL AS TIMESTAMP),
  concat(size(tasks), CASE WHEN size(tasks) = 1 THEN ' task was' ELSE ' tasks were' END, ' assigned to ', process_id, ' and never started there'),
  concat('The worker''s assignment names ', array_join(slice(tasks, 1, 10), ', '), '; in the ', round(ms / 1000.0), ' s after it no line shows that a thread of it was made, and no failure is printed.'),
  'Compare with the finding config-lag: a worker that does not read its configuration topic starts nothing. From 2.4.0 to 2.5.0 a worker that had lost its coordinator does not start its tasks again (KAFKA-9851): upgrade to 2.5.1 or 2.6.0. Restarting the worker helps.',
  witness
FROM never
UNION ALL
SELECT
  'note', 'proved', kafka_cluster, group_id, array_join(slice(array_sort(collect_list(task)), 1, 10), ', '), timestamp_millis(min(synced_ms)), CAST(NULL AS TIMESTAMP),
  concat(count(*), CASE WHEN count(*) = 1 THEN ' sink task of ' ELSE ' sink tasks of ' END, group_id, CASE WHEN count(*) = 1 THEN ' has' ELSE ' have' END, ' no partition to read'),
  'Their consumers'' last assignment is empty: there are more tasks than partitions (or topics do not match). They run, hold connections, and do nothing.',
  'Lower tasks.max of the sink to the number of partitions, or add partitions.',
  slice(array_sort(collect_list(event_id)), 1, 6)
FROM (
  SELECT b.* FROM bare b
  -- Nobody else has it now.
  WHERE b.partitions = 0 AND b.synced_ms = (SELECT max(c.synced_ms) FROM bare c WHERE c.group_id = b.group_id AND c.task = b.task AND c.kafka_cluster = b.kafka_cluster)
)
GROUP BY kafka_cluster, group_id

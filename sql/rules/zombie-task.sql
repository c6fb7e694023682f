-- One row per task that was told to stop and did not.
-- Reads: task_line, clock_offset, split_brain, process_life, holding
-- Answers: which task went on after it was told to stop?
-- Needs: the worker's log.
-- Silent when: the process was shutting down.
-- Shown by: a written log in tests/test_rules.py.
CREATE OR REPLACE TEMPORARY VIEW rule_zombie_task (
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
COMMENT 'One row per task that was told to stop and did not.'
AS
WITH failed AS (
  SELECT t.kafka_cluster, t.group_id, t.process_id, t.instance, t.resource, t.life, min(t.ts) AS failed_ts, min_by(t.event_id, t.stream_pos) AS failed_id
  FROM task_line t
  JOIN process_life p ON p.process_id = t.process_id AND p.instance = t.instance
  WHERE t.kind = 'failed_stop' AND (p.stopping_ts IS NULL OR t.ts < p.stopping_ts)
  GROUP BY t.kafka_cluster, t.group_id, t.process_id, t.instance, t.resource, t.life
)
SELECT
  -- A thread whose client left or closed before its stop was given up on cannot read or write any more.
  CASE WHEN h.work_stop_hi_ts <= f.failed_ts THEN 'note' WHEN b.worked THEN 'critical' ELSE 'warning' END,
  'proved', f.kafka_cluster, f.group_id, f.resource,
  timestamp_millis(unix_millis(f.failed_ts) - o.lo_ms), timestamp_millis(unix_millis(h.stop_hi_ts) - o.lo_ms),
  concat('task ', f.resource, ' in ', f.process_id, ' was told to stop and did not',
    CASE WHEN h.work_stop_hi_ts <= f.failed_ts THEN '; its client had left before' WHEN h.stop_how IS NOT NULL THEN concat('; it ended later (', h.stop_how, ')') ELSE '; no line says that it ever ended' END),
  concat('It was asked to stop at ', date_format(h.stop_asked_ts, 'HH:mm:ss.SSS'), ' and given up at ', date_format(f.failed_ts, 'HH:mm:ss.SSS'), ' by the worker''s clock. Its thread is abandoned, not ended. ',
    CASE WHEN h.work_stop_hi_ts <= f.failed_ts THEN 'Its consumer or producer had already left, so it could neither read nor write.'
      WHEN h.last_sign_ts > f.failed_ts THEN concat('Its last sign of life is of ', date_format(h.last_sign_ts, 'HH:mm:ss.SSS'), '.') ELSE 'It gave no sign of life after that.' END),
  concat('Find what the task blocks on, and give that call a timeout below task.shutdown.graceful.timeout.ms (default 5000). Before 2.6.2, 2.7.1 and 2.8.1 an abandoned source task keeps its producer and can write for ever ',
    '(KAFKA-10340): upgrade, or restart the worker.'),
  filter(array(h.stop_asked_id, f.failed_id, h.last_sign_id, h.stop_id), e -> e IS NOT NULL)
FROM failed f
JOIN holding h ON h.process_id = f.process_id AND h.resource_kind = 'task' AND h.resource = f.resource AND h.owner = concat_ws('/', f.instance, f.life)
JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
LEFT JOIN (
  SELECT id, bool_or(kind = 'work' AND verdict = 'proved') AS worked
  FROM split_brain LATERAL VIEW explode(array(ownership_a, ownership_b)) e AS id GROUP BY id
) b ON b.id = h.ownership_id

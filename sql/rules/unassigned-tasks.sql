-- One row per stretch of time in which a task that had run had no owner.
-- Reads: ownership, clock_offset, join_round
-- Answers: which tasks had no owner, how long, and was that the scheduled delay?
-- Needs: the workers' logs.
-- Silent when: the gap is short, or no log of a worker of the group goes on behind it.
-- Shown by: 2.6.2-worker_killed; silent on 3.9.1-coordinator_moved.
CREATE OR REPLACE TEMPORARY VIEW rule_unassigned_tasks (
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
COMMENT 'One row per stretch of time in which tasks that had run had no owner.'
AS
WITH run AS (
  SELECT kafka_cluster, group_id, resource, process_id, reference_process_id, start_hi, start_lo, stop_lo, stop_hi, phase_end, witness,
    max(coalesce(stop_hi, TIMESTAMP'9999-01-01')) OVER w AS owned_until,
    max_by(witness, coalesce(stop_hi, TIMESTAMP'9999-01-01')) OVER w AS before_witness,
    max_by(phase_end, coalesce(stop_hi, TIMESTAMP'9999-01-01')) OVER w AS before_end
  FROM ownership
  WHERE resource_kind = 'task' AND group_id IS NOT NULL
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, resource, reference_process_id ORDER BY coalesce(start_lo, start_hi) ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), gap AS (
  SELECT kafka_cluster, group_id, resource, owned_until AS from_ts, start_lo AS to_ts, unix_millis(start_lo) - unix_millis(owned_until) AS gap_ms,
    concat(slice(before_witness, -1, 1), slice(witness, 1, 1)) AS witness, before_end
  FROM run
  WHERE owned_until < start_lo AND unix_millis(start_lo) - unix_millis(owned_until) >= unassigned_ms
), together AS (
  SELECT kafka_cluster, group_id, min(from_ts) AS from_ts, max(to_ts) AS to_ts, max(gap_ms) AS gap_ms, array_sort(collect_set(resource)) AS tasks,
    slice(array_distinct(flatten(collect_list(witness))), 1, 20) AS witness, max(before_end) AS before_end
  FROM gap
  GROUP BY kafka_cluster, group_id, unix_millis(to_ts) DIV 5000
), delay AS (
  SELECT t.kafka_cluster, t.group_id, t.to_ts, max(j.delay_ms) AS delay_ms, max_by(j.worker_assigned_id, j.delay_ms) AS event_id
  FROM together t
  JOIN join_round j ON j.kafka_cluster = t.kafka_cluster AND j.group_id = t.group_id AND j.delay_ms > 0
  JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
    AND unix_millis(j.worker_assigned_ts) - o.hi_ms BETWEEN unix_millis(t.from_ts) - 60000 AND unix_millis(t.to_ts)
  GROUP BY t.kafka_cluster, t.group_id, t.to_ts
)
SELECT
  CASE WHEN t.gap_ms >= 60000 THEN 'warning' ELSE 'note' END, 'proved', t.kafka_cluster, t.group_id, array_join(slice(t.tasks, 1, 10), ', '), t.from_ts, t.to_ts,
  concat(size(t.tasks), CASE WHEN size(t.tasks) = 1 THEN ' task of ' ELSE ' tasks of ' END, t.group_id, ' had no owner for up to ', round(t.gap_ms / 1000.0, 1), ' s'),
  concat(array_join(slice(t.tasks, 1, 10), ', '), ' ended at ', date_format(t.from_ts, 'HH:mm:ss'), ' and began again at ', date_format(t.to_ts, 'HH:mm:ss'), '. ',
    CASE WHEN d.delay_ms IS NOT NULL THEN concat('The group was waiting for a worker to come back: its assignment said a rebalance delay of ', d.delay_ms, ' ms.')
      ELSE 'No scheduled rebalance delay is printed for that time.' END),
  CASE WHEN d.delay_ms IS NOT NULL THEN concat('scheduled.rebalance.max.delay.ms (default 300000) keeps a lost worker''s tasks for it. Lower it if workers that go rarely come back sooner than that; a value below the time of a restart moves all tasks at every restart.')
    ELSE 'Look at what the workers did in that time: config catch-up, a blocked herder, or nobody in the group.' END,
  filter(concat(t.witness, array(d.event_id)), e -> e IS NOT NULL)
FROM together t
LEFT JOIN delay d ON d.kafka_cluster = t.kafka_cluster AND d.group_id = t.group_id AND d.to_ts = t.to_ts

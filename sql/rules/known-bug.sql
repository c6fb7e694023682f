-- One row per known bug whose mark a process of an affected release printed.
-- Reads: process_release, fact_line, client_event, split_brain, worker_duty, worker_setting, worker_group, clock_offset, setting
-- Answers: is it a bug of this release, and which one mends it?
-- Needs: the release, printed or known by its lines, and the mark.
-- Silent when: only the release is known; a release alone is no finding.
-- Shown by: 2.3.0-worker_partitioned (KAFKA-9184); silent on 3.9.1-clean_skewed.
CREATE OR REPLACE TEMPORARY VIEW rule_known_bug (
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
COMMENT 'One row per known bug whose mark a process of an affected release printed.'
AS
WITH bug AS (
  -- Affected are releases of a range, from its first up to but without its second; lines of releases got rid of some bugs at different times.
  SELECT id, transform(split(split(affected, '[.][.]')[0], '[.]'), x -> CAST(x AS INT)) AS since, transform(split(split(affected, '[.][.]')[1], '[.]'), x -> CAST(x AS INT)) AS until, fixed, what, advice
  FROM VALUES
    ('KAFKA-9184', '2.3.0..2.4.0', '2.4.0', 'a worker that loses its coordinator keeps its tasks running and comes back with a stale assignment', 'Until then set connect.protocol=eager on all workers.'),
    ('KAFKA-9841', '2.3.0..2.5.1', '2.5.1 and 2.6.0', 'a worker that comes back with an outdated assignment keeps tasks that others have by now, because the leader does not revoke duplicates', 'Until then restart a worker that was away.'),
    ('KAFKA-9849', '2.3.0..2.5.1', '2.5.1 and 2.6.0', 'a worker that waits out worker.unsync.backoff.ms outside of its group keeps its tasks', 'Until then lower worker.unsync.backoff.ms, and find why reading the config topic takes so long.'),
    ('KAFKA-9851', '2.3.0..2.5.1', '2.5.1 and 2.6.0', 'a worker that revoked its tasks itself, because its coordinator was unreachable, does not start them again', 'Until then restart the worker.'),
    ('KAFKA-10763', '2.3.0..2.6.2 2.7.0..2.7.1', '2.6.2, 2.7.1 and 2.8.0', 'revocations of a second, quick rebalance are skipped: the task runs on unknown to the group', 'Until then restart the worker that printed it.'),
    ('KAFKA-13719', '3.0.0..3.1.1', '3.1.1 and 3.2.0', 'a restart with includeTasks=true makes every worker that has a task of the connector start all of them', 'Until then restart tasks one by one: POST /connectors/NAME/tasks/N/restart.'),
    ('KAFKA-16056', '2.3.0..99.0', 'no release yet', 'a worker whose poll timeout expires leaves its group and keeps its tasks until it polls again', 'Find what blocks the herder (a connector''s start(), stop() or validate()), and keep rebalance.timeout.ms above it.'),
    ('KAFKA-10340', '0.9.0.0..2.6.2 2.7.0..2.7.1 2.8.0..2.8.1', '2.6.2, 2.7.1, 2.8.1 and 3.0.0', 'the producer of a source task that did not stop in time stays open and may go on writing', 'Until then restart the worker that printed it.'),
    ('KAFKA-13586', '0.9.0.0..3.3.2', '3.3.2 and 3.4.0', 'an exception while a connector is reconfigured ends the herder, and the worker does nothing any more', 'Until then alert on the line and restart the worker.'),
    ('KAFKA-7941', '0.9.0.0..2.2.2 2.3.0..2.3.1', '2.2.2, 2.3.1 and 2.4.0', 'a timeout ends the thread that reads an internal topic: the worker sees nothing new of it', 'Until then restart the worker that printed it.'),
    ('KAFKA-12984', '2.4.0..3.0.0', '3.0.0', 'the cooperative assignor believes members that claim one partition at once', 'Until then restart the members one by one.'),
    ('KAFKA-14639', '2.4.0..3.4.1', '3.4.1 and 3.5.0', 'one cooperative round takes a partition from one member and gives it to another, so both have it for a moment', ''),
    ('KAFKA-10284', '2.3.0..2.6.1', '2.6.1 and 2.7.0', 'a coordinator that takes over a group knows old ids of static members and fences the right ones', 'Until then restart a consumer that was fenced after its coordinator moved.'),
    ('KAFKA-13636', '2.1.0..2.8.2 3.0.0..3.0.1 3.1.0..3.1.1', '2.8.2, 3.0.1, 3.1.1 and 3.2.0', 'offsets of a group that is just rebalancing are expired', 'Until then raise offsets.retention.minutes.')
    AS t(id, ranges, fixed, what, advice)
  LATERAL VIEW explode(split(ranges, ' ')) r AS affected
), split AS (
  SELECT * FROM split_brain WHERE verdict = 'proved'
), mark AS (
  SELECT 'KAFKA-9184' AS id, process_a AS process_id, kafka_cluster, group_id, resource AS subject, from_lo AS ts, ownership_a AS said, witness FROM split WHERE resource_kind = 'task' AND cause = 'kept_running_through_lost_coordinator'
  UNION ALL
  SELECT 'KAFKA-9841', process_a, kafka_cluster, group_id, resource, from_lo, ownership_a, witness FROM split WHERE resource_kind = 'task' AND cause = 'same_generation_assigned_twice'
  UNION ALL
  SELECT 'KAFKA-13719', r.process_id, s.kafka_cluster, s.group_id, s.resource, s.from_lo, s.ownership_a, array_append(s.witness, r.event_id)
  FROM split s
  JOIN (SELECT process_id, min(event_id) AS event_id FROM fact_line WHERE event = 'restart_executing' GROUP BY process_id) r ON r.process_id IN (s.process_a, s.process_b)
  WHERE s.resource_kind = 'task' AND s.cause = 'restart_of_task_not_owned'
  UNION ALL
  SELECT 'KAFKA-14639', process_a, kafka_cluster, group_id, resource, from_lo, ownership_a, witness FROM split WHERE resource_kind = 'partition' AND cause = 'same_generation_assigned_twice'
  UNION ALL
  -- Left its group by its own poll timeout, and somebody else started what it still ran.
  SELECT 'KAFKA-16056', s.process_a, s.kafka_cluster, s.group_id, s.resource, s.from_lo, s.ownership_a, array_append(s.witness, c.event_id)
  FROM split s
  JOIN client_event c ON c.process_id = s.process_a AND c.is_worker AND c.event = 'poll_timeout' AND c.group_id = s.group_id
  JOIN clock_offset o ON o.process_id = c.process_id AND o.is_island_reference
  WHERE s.resource_kind = 'task' AND unix_millis(c.ts) - o.lo_ms BETWEEN unix_millis(s.from_lo) - 600000 AND unix_millis(coalesce(s.to_hi, s.from_hi))
  UNION ALL
  SELECT 'KAFKA-9849', f.process_id, f.kafka_cluster, g.group_id, f.process_id, f.ts, f.message, array(f.event_id, c.event_id)
  FROM fact_line f
  JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance
  JOIN client_event c ON c.process_id = f.process_id AND c.instance = f.instance AND c.is_worker AND c.event = 'leaving' AND c.stream_pos > f.stream_pos AND unix_millis(c.ts) - unix_millis(f.ts) < 10000
  WHERE f.event = 'config_read_timeout'
  UNION ALL
  SELECT 'KAFKA-9851', d.process_id, d.kafka_cluster, d.group_id, d.task, d.assigned_ts, d.task, array(c.event_id, d.event_id)
  FROM worker_duty d
  JOIN (SELECT process_id, instance, group_id, max(ts) AS ts, max_by(event_id, struct(ts, event_id)) AS event_id FROM client_event WHERE is_worker AND event = 'worker_revoking' GROUP BY process_id, instance, group_id) c
    ON c.process_id = d.process_id AND c.instance = d.instance AND c.group_id = d.group_id AND c.ts <= d.assigned_ts
  WHERE NOT d.started AND unix_millis(d.until_ts) - unix_millis(d.assigned_ts) >= not_started_ms
  UNION ALL
  SELECT 'KAFKA-10763', f.process_id, f.kafka_cluster, g.group_id, f.process_id, f.ts, f.message, array(f.event_id)
  FROM fact_line f
  JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance
  JOIN worker_setting w ON w.process_id = f.process_id AND w.protocol IN ('compatible', 'sessioned')
  WHERE f.event = 'revocation_skipped'
  UNION ALL
  SELECT 'KAFKA-10340', f.process_id, f.kafka_cluster, g.group_id, f.task, f.ts, f.message, array(f.event_id)
  FROM fact_line f
  JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance
  -- Only a source task has a producer of this name.
  JOIN (SELECT DISTINCT process_id, task FROM setting WHERE component = 'ProducerConfig' AND task IS NOT NULL) p ON p.process_id = f.process_id AND p.task = f.task
  WHERE f.event = 'task_stop_failed'
  UNION ALL
  SELECT 'KAFKA-13586', f.process_id, f.kafka_cluster, g.group_id, f.process_id, f.ts, f.message, array(f.event_id)
  FROM fact_line f LEFT JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance
  WHERE f.event = 'herder_failed' AND EXISTS (SELECT 1 FROM fact_line u WHERE u.process_id = f.process_id AND u.event = 'connector_config_updated' AND unix_millis(f.ts) - unix_millis(u.ts) BETWEEN 0 AND 10000)
  UNION ALL
  SELECT 'KAFKA-7941', f.process_id, f.kafka_cluster, g.group_id, f.process_id, f.ts, f.message, array(f.event_id)
  FROM fact_line f LEFT JOIN worker_group g ON g.process_id = f.process_id AND g.instance = f.instance
  WHERE f.event = 'internal_log_failed' AND f.message LIKE 'Unexpected exception in Thread[KafkaBasedLog%'
  UNION ALL
  SELECT 'KAFKA-12984', f.process_id, f.kafka_cluster, f.group_id, coalesce(f.partition, f.group_id), f.ts, f.message, array(f.event_id)
  FROM fact_line f WHERE f.event = 'assignment_conflict' AND f.message LIKE 'Found multiple consumers%'
  UNION ALL
  SELECT 'KAFKA-10284', f.process_id, f.kafka_cluster, f.group_id, f.group_instance_id, f.ts, f.message, array(l.event_id, f.event_id)
  FROM fact_line f
  JOIN fact_line l ON l.process_id = f.process_id AND l.event = 'group_loaded' AND l.group_id = f.group_id AND l.stream_pos < f.stream_pos AND unix_millis(f.ts) - unix_millis(l.ts) < 60000
  WHERE f.event = 'member_fenced_by_broker' AND f.group_instance_id IS NOT NULL
  UNION ALL
  SELECT 'KAFKA-13636', f.process_id, f.kafka_cluster, f.group_id, f.group_id, f.ts, f.message, array(f.event_id)
  FROM fact_line f
  WHERE f.event = 'offsets_expired' AND f.group_id IS NOT NULL
    AND EXISTS (SELECT 1 FROM fact_line g WHERE g.kafka_cluster = f.kafka_cluster AND g.group_id = f.group_id AND g.event = 'position_missing' AND abs(unix_millis(g.ts) - unix_millis(f.ts)) < 600000)
), found AS (
  SELECT m.id, m.kafka_cluster, m.group_id, m.process_id, array_sort(collect_set(m.subject)) AS subjects, min(timestamp_millis(unix_millis(m.ts))) AS from_ts,
    max(timestamp_millis(unix_millis(m.ts))) AS to_ts, count(DISTINCT m.said) AS times,
    max(r.printed) AS release, max(b.fixed) AS fixed, max(b.what) AS what, max(b.advice) AS advice, slice(array_distinct(flatten(array_sort(collect_list(m.witness)))), 1, 8) AS witness
  FROM mark m
  JOIN process_release r ON r.process_id = m.process_id
  JOIN bug b ON b.id = m.id AND r.numbers >= b.since AND r.numbers < b.until
  GROUP BY m.id, m.kafka_cluster, m.group_id, m.process_id
)
SELECT
  'warning', 'proved', kafka_cluster, group_id, id, from_ts, to_ts,
  concat(id, ' in ', process_id, ' (Kafka ', release, '): ', what),
  concat('Its mark is in the log', CASE WHEN times > 1 THEN concat(' ', times, ' times') ELSE '' END, ', about ', array_join(slice(subjects, 1, 8), ', '), CASE WHEN size(subjects) > 8 THEN ', ...' ELSE '' END,
    ', and the release has the bug. It is fixed in ', fixed, '.'),
  concat_ws(' ', CASE WHEN fixed = 'no release yet' THEN NULL ELSE concat('Upgrade from ', release, ' to a release with the fix (', fixed, ').') END, nullif(advice, '')),
  witness
FROM found

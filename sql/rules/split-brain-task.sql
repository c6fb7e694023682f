-- One row per task or connector that had two owners at once, or may have had.
-- Reads: split_brain
-- Answers: did two workers run one task at once, since when, and why?
-- Needs: the logs of both workers; lines that join their clocks.
-- Silent when: every hand-over is refuted.
-- Shown by: 3.9.1-worker_frozen, 2.3.0-worker_partitioned; silent on 3.9.1-clean_skewed.
CREATE OR REPLACE TEMPORARY VIEW rule_split_brain_task (
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
COMMENT 'One row per task or connector that had two owners at once, or may have had.'
AS
SELECT
  CASE WHEN verdict = 'proved' AND kind = 'work' THEN 'critical' WHEN verdict = 'proved' AND resource_kind = 'task' THEN 'warning' ELSE 'note' END,
  verdict, kafka_cluster, group_id, resource, from_lo, to_hi,
  CASE
    WHEN verdict = 'undecided' THEN concat(resource_kind, ' ', resource, ' may have run ', CASE WHEN process_a = process_b THEN concat('twice at once in ', process_a) ELSE concat('in ', process_a, ' and in ', process_b, ' at once') END)
    WHEN kind = 'work' THEN concat(resource_kind, ' ', resource, ' ran twice: ', places)
    ELSE concat(resource_kind, ' ', resource, ' was there twice, ', places, ', for at least ', there_certain_ms, ' ms; no line shows both at work')
  END,
  concat_ws(' ', explanation, CASE WHEN missing IS NOT NULL THEN concat('What would decide: ', missing, '.') END),
  CASE cause
    WHEN 'kept_running_through_lost_coordinator' THEN concat(
      'The first owner lost its coordinator and did not stop. Releases before 2.4.0 never stop a task for that (KAFKA-9184): upgrade. From 2.4.0 on a worker stops within heartbeat.interval.ms ',
      'of noticing; a task that does not stop within task.shutdown.graceful.timeout.ms runs on. Keep session.timeout.ms above the outages that you want to sit out, and let sinks be idempotent; ',
      'for sources exactly.once.source.support=enabled (3.3.0) fences the old producer.')
    WHEN 'woke_after_freeze' THEN concat(
      'The first owner stood still (a pause of its JVM or machine) longer than session.timeout.ms, lost its tasks, and ran on when it woke. Find the pause (GC log, hypervisor, cgroup throttling). ',
      'A session.timeout.ms above the longest pause avoids the hand-over and delays it for real deaths; exactly.once.source.support=enabled (3.3.0) fences the old producer.')
    WHEN 'graceful_stop_failed' THEN concat(
      'A task did not stop within task.shutdown.graceful.timeout.ms (default 5000) and was abandoned, not ended. Find what it blocks on (a call without a timeout in put() or poll()), give that a timeout below the limit, ',
      'or raise the limit; restart the worker to be rid of the abandoned thread.')
    WHEN 'same_generation_assigned_twice' THEN 'One generation gave the task to two workers, which no assignor may do: see the known bugs of the release (KAFKA-9841, KAFKA-10763), and upgrade.'
    ELSE 'Nothing in the group fences a worker that lost its membership. exactly.once.source.support=enabled (3.3.0) fences the old producer of a source; let sinks be idempotent.'
  END,
  witness
FROM (SELECT *, CASE WHEN process_a = process_b THEN concat('both times in ', process_a) ELSE concat('in ', process_a, ' and in ', process_b) END AS places FROM split_brain)
WHERE resource_kind IN ('task', 'connector') AND verdict <> 'refuted'

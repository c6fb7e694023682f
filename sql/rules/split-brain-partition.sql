-- One row per pair of consumers that held one partition at once.
-- Reads: split_brain, process_life
-- Answers: did two consumers read one partition at once?
-- Needs: the logs of both consumers.
-- Silent when: every hand-over is refuted; sink tasks' consumers are judged as tasks.
-- Shown by: 3.9.1-consumers_eager; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_split_brain_partition (
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
COMMENT 'One row per pair of consumers that held partitions at once.'
AS
SELECT
  CASE WHEN kind = 'work' AND verdict = 'proved' THEN 'critical' WHEN verdict = 'proved' THEN 'warning' ELSE 'note' END,
  verdict, kafka_cluster, group_id,
  array_join(slice(array_sort(collect_set(resource)), 1, 10), ', '),
  min(from_lo), max(to_hi),
  concat(count(DISTINCT resource), CASE WHEN count(DISTINCT resource) = 1 THEN ' partition was' ELSE ' partitions were' END,
    CASE WHEN verdict <> 'proved' THEN ' perhaps held by ' WHEN kind = 'work' THEN ' worked on by ' ELSE ' held by ' END, process_a, ' and by ', process_b, ' at once'),
  min_by(explanation, struct(-certain_ms, from_lo, resource, ownership_a, ownership_b)),
  concat(CASE WHEN verdict = 'proved' AND kind = 'work' THEN 'Both consumers read or committed while both held the partition. '
      ELSE 'A consumer keeps what it was given until it is told of the loss, so a session timeout always leaves two holders for a while; work is done twice only if the old one still reads or commits. ' END,
    'Records that the old holder had read and not committed are read again by the new one: make handling idempotent, or commit in smaller steps.'),
  -- The proof of each partition whole; they have most lines in common.
  slice(array_distinct(flatten(transform(array_sort(collect_list(struct(-certain_ms AS least, resource, witness))), x -> x.witness))), 1, 200)
FROM split_brain s
WHERE resource_kind = 'partition' AND verdict <> 'refuted'
  -- The consumer of a Connect sink task is the task.
  AND NOT EXISTS (SELECT 1 FROM process_life p WHERE p.is_worker AND p.process_id IN (s.process_a, s.process_b))
GROUP BY kafka_cluster, group_id, process_a, process_b, verdict, kind, cause, from_lo

-- One row per member that tried to commit offsets after it had lost its membership.
-- Reads: fact_line, clock_offset, process_life
-- Answers: which records are processed twice because a commit failed?
-- Needs: the member's log; the successor's gives where it went on.
-- Silent when: the commit was retried inside the group, or only the network failed.
-- Shown by: 3.9.1-consumers_eager; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_stale_commit (
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
COMMENT 'One row per member that tried to commit offsets after it had lost its membership.'
AS
WITH failed AS (
  SELECT f.kafka_cluster, f.group_id, f.process_id, f.client_id, f.task, f.ts, f.stream_pos, f.partition, f.offset, f.event_id, coalesce(f.said, f.message) AS said,
    o.lo_ms, o.hi_ms, o.reference_process_id
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  WHERE f.event = 'commit_failed' AND f.group_id IS NOT NULL
    AND concat(coalesce(f.said, ''), ' ', f.message) RLIKE '(?i)not aware of this member|not part of an active group|unknown_member|illegal.generation|generation id is not|stale member epoch|already rebalanced|specified group generation|fenced'
), turn AS (
  SELECT *, count_if(last_ts IS NULL OR unix_millis(ts) - unix_millis(last_ts) > 60000) OVER (PARTITION BY process_id, group_id, client_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS n
  FROM (SELECT *, lag(ts) OVER (PARTITION BY process_id, group_id, client_id ORDER BY stream_pos) AS last_ts FROM failed)
), wanted AS (
  -- The highest offset that it had processed and could not commit.
  SELECT kafka_cluster, group_id, process_id, client_id, n, partition, max(offset) AS offset, max(ts) AS ts, max(lo_ms) AS lo_ms FROM turn WHERE partition IS NOT NULL AND offset IS NOT NULL
  GROUP BY kafka_cluster, group_id, process_id, client_id, n, partition
), went_on AS (
  SELECT w.process_id, w.group_id, w.client_id, w.n, w.partition, w.offset - min_by(s.offset, abs(unix_millis(s.ts) - k.lo_ms - unix_millis(w.ts) + w.lo_ms)) AS records,
    min_by(s.event_id, abs(unix_millis(s.ts) - k.lo_ms - unix_millis(w.ts) + w.lo_ms)) AS event_id
  FROM wanted w
  JOIN fact_line s ON s.kafka_cluster = w.kafka_cluster AND s.group_id = w.group_id AND s.partition = w.partition AND s.event = 'position_set' AND s.offset <= w.offset
  JOIN clock_offset k ON k.process_id = s.process_id AND k.is_island_reference
  -- The successor took over while the commit was still tried, or the member itself came back.
  WHERE unix_millis(s.ts) - k.lo_ms BETWEEN unix_millis(w.ts) - w.lo_ms - 120000 AND unix_millis(w.ts) - w.lo_ms + 120000
  GROUP BY w.process_id, w.group_id, w.client_id, w.n, w.partition, w.offset
), twice AS (
  SELECT process_id, group_id, client_id, n, sum(records) AS records, count(*) AS partitions, slice(collect_list(event_id), 1, 4) AS ids FROM went_on WHERE records > 0 GROUP BY process_id, group_id, client_id, n
), once AS (
  SELECT kafka_cluster, group_id, process_id, client_id, n, max(task) AS task, min(ts) AS from_ts, max(ts) AS to_ts, max(lo_ms) AS lo_ms, max(hi_ms) AS hi_ms, count(*) AS times, count(DISTINCT partition) AS partitions, mode(said) AS said,
    slice(array_sort(collect_list(event_id)), 1, 6) AS witness
  FROM turn GROUP BY kafka_cluster, group_id, process_id, client_id, n
)
SELECT
  'warning', 'proved', o.kafka_cluster, o.group_id, coalesce(o.task, o.process_id), timestamp_millis(unix_millis(o.from_ts) - o.hi_ms), CASE WHEN o.to_ts > o.from_ts THEN timestamp_millis(unix_millis(o.to_ts) - o.lo_ms) END,
  concat(CASE WHEN o.task IS NOT NULL THEN concat('task ', o.task, ' in ', o.process_id) ELSE o.process_id END, ' could not commit in ', o.group_id, ': it was no member any more',
    CASE WHEN t.records > 0 THEN concat('; ', t.records, CASE WHEN t.records = 1 THEN ' record was' ELSE ' records were' END, ' read again') ELSE '' END),
  concat('Printed ', o.times, CASE WHEN o.times = 1 THEN ' time' ELSE ' times' END, CASE WHEN o.partitions > 0 THEN concat(' for ', o.partitions, CASE WHEN o.partitions = 1 THEN ' partition' ELSE ' partitions' END) ELSE '' END, ': ', left(coalesce(o.said, 'no cause'), 200),
    '. What it had processed since its last commit was given to a successor that starts at that commit',
    CASE WHEN t.records > 0 THEN concat(': by the offsets that both print, ', t.records, ' records of ', t.partitions, CASE WHEN t.partitions = 1 THEN ' partition' ELSE ' partitions' END, ' were processed twice.')
      ELSE '. No line gives both offsets, so how many records that is cannot be told.' END),
  'An effect: see what ended the membership (session-timeout, poll-timeout or coordinator-unavailable at that time). Commit more often or make handling idempotent; a commit that fails so must not be retried.',
  array_distinct(concat(o.witness, coalesce(t.ids, array())))
FROM once o
LEFT JOIN twice t ON t.process_id = o.process_id AND t.group_id = o.group_id AND t.client_id <=> o.client_id AND t.n = o.n

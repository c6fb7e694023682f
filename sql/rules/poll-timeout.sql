-- One row per time that a member did not poll in time and left.
-- Reads: client_event, clock_offset, config_value
-- Answers: which member left because its work took longer than max.poll.interval.ms, when, and after doing what?
-- Needs: the member's log.
-- Silent when: nobody exceeded max.poll.interval.ms.
-- Shown by: 3.9.1-consumers_eager, the sample session-timeouts-consumers-3.9.1; silent on 3.9.1-clean_skewed.
CREATE OR REPLACE TEMPORARY VIEW rule_poll_timeout (
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
COMMENT 'One row per time that a member did not poll in time and left.'
AS
WITH late AS (
  SELECT c.*, coalesce(c.member_id, last_value(c.member_id, true) OVER w) AS who,
    lag(c.ts) OVER (PARTITION BY c.process_id, c.group_id, c.client, c.event IN ('poll_timeout', 'leaving') ORDER BY c.stream_pos) AS last_such
  FROM client_event c
  WINDOW w AS (PARTITION BY c.process_id, c.group_id, c.client ORDER BY c.stream_pos ROWS UNBOUNDED PRECEDING)
), once AS (
  -- 3.0 and later print a warning and the leave; they are one.
  SELECT * FROM late
  WHERE (event = 'poll_timeout' OR event = 'leaving' AND reason LIKE '%poll timeout%')
    AND (last_such IS NULL OR unix_millis(ts) - unix_millis(last_such) > 2000 OR event = 'poll_timeout')
), limit_of AS (
  SELECT process_id, client_id, max(value) AS value FROM config_value WHERE key = 'max.poll.interval.ms' GROUP BY process_id, client_id
)
SELECT
  'warning', 'proved', p.kafka_cluster, p.group_id, coalesce(p.who, p.client), timestamp_millis(unix_millis(p.ts) - o.hi_ms), timestamp_millis(unix_millis(p.ts) - o.lo_ms),
  concat(CASE WHEN p.is_worker THEN 'worker ' ELSE 'consumer ' END, coalesce(p.task, p.client), ' in ', p.process_id, ' did not poll in time and left ', p.group_id),
  concat('Between two polls more than ', CASE WHEN p.is_worker THEN 'rebalance.timeout.ms' ELSE 'max.poll.interval.ms' END,
    CASE WHEN l.value IS NOT NULL THEN concat(' (', l.value, ' ms)') ELSE '' END, ' went by, so its heartbeat thread made it leave at ', date_format(p.ts, 'HH:mm:ss.SSS'),
    ' by its clock. Its session was alive: it was working or blocked between polls, not dead.'),
  CASE WHEN p.is_worker THEN 'The herder thread was blocked, mostly by a connector''s start, stop or validation call: find the blocking call; from 3.8.0 the line names the last action. Tasks of a worker that left keep running (KAFKA-16056).'
    ELSE concat('Make one round of work shorter (max.poll.records, now 500 unless set) or raise max.poll.interval.ms',
      CASE WHEN l.value IS NOT NULL THEN concat(' above ', l.value) ELSE '' END, '; a really stuck consumer is then noticed as much later.') END,
  array(p.event_id)
FROM once p
JOIN clock_offset o ON o.process_id = p.process_id AND o.is_island_reference
LEFT JOIN limit_of l ON l.process_id = p.process_id AND l.client_id = p.client_id

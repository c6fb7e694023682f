-- One row per rebalance that stood still for a member that was gone.
-- Reads: generation, member, worker_setting, setting, fact_line
-- Answers: why did this rebalance take so long?
-- Needs: the coordinator's log.
-- Silent when: all members that it waited for came, however late.
-- Shown by: 4.1.1-rebalance_storm; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_rebalance_waits_for_ghost (
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
COMMENT 'One row per rebalance that stood still for a member that was gone.'
AS
WITH ghost AS (
  SELECT g.*, m.process_id, m.client_id, m.task FROM generation g
  LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.waited_for_member_id
  WHERE g.waited_why IN ('expired', 'pending_expired') AND g.join_ms >= ghost_wait_ms
), gone AS (
  SELECT kafka_cluster, group_id, member_id, min(ts) AS ts, min_by(event_id, ts) AS event_id, min_by(message, ts) AS message FROM fact_line WHERE event = 'member_expired' GROUP BY kafka_cluster, group_id, member_id
)
SELECT
  CASE WHEN g.join_ms >= 30000 THEN 'warning' ELSE 'note' END, 'proved', g.kafka_cluster, g.group_id, concat('generation ', g.generation), g.prepared_ts, g.stabilized_ts,
  concat(g.group_id, ' waited ', round(g.join_ms / 1000.0, 1), ' s for a member that was gone: ', coalesce(g.process_id, g.waited_for_member_id)),
  concat('The rebalance towards generation ', g.generation, ' began at ', date_format(g.prepared_ts, 'HH:mm:ss.SSS'), ' (', replace(g.trigger, '_', ' '), ') and could not end before ',
    g.waited_for_member_id, ' joined', CASE WHEN e.ts IS NOT NULL THEN concat(' or was given up, at ', date_format(e.ts, 'HH:mm:ss.SSS')) ELSE '' END,
    '. It never came: a member that dies without leaving is waited for until its session is over, or, if it dies in a rebalance, until the rebalance timeout is.'),
  concat('The wait is bounded by session.timeout.ms of the member', CASE WHEN coalesce(CAST(w.session_ms AS STRING), s.value) IS NOT NULL THEN concat(' (now ', coalesce(CAST(w.session_ms AS STRING), s.value), ')') ELSE '' END,
    ' and ', CASE WHEN g.protocol_type = 'connect' THEN concat('the worker''s rebalance.timeout.ms', CASE WHEN w.rebalance_ms IS NOT NULL THEN concat(' (now ', w.rebalance_ms, ')') ELSE '' END) ELSE 'max.poll.interval.ms' END,
    '. Let processes stop in an orderly way (SIGTERM, and time enough before SIGKILL): they leave the group and nobody waits. A shorter session.timeout.ms shortens the wait, and makes short pauses fatal.'),
  array_distinct(filter(concat(slice(g.witness, 1, 3), array(e.event_id)), x -> x IS NOT NULL))
FROM ghost g
LEFT JOIN gone e ON e.kafka_cluster = g.kafka_cluster AND e.group_id = g.group_id AND e.member_id = g.waited_for_member_id
LEFT JOIN worker_setting w ON w.process_id = g.process_id AND g.protocol_type = 'connect'
LEFT JOIN setting s ON s.process_id = g.process_id AND s.component = 'ConsumerConfig' AND s.client_id = g.client_id AND s.key = 'session.timeout.ms'

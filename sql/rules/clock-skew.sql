-- One row per process whose clock is apart from its island's reference, stepped, or read in a wrong time zone.
-- Reads: clock_offset, clock_edge
-- Answers: can times of different logs be compared as they are printed?
-- Needs: lines that join two processes: a member's log and its coordinator's, or two members'.
-- Silent when: no bound exceeds a second (`clock_skew_ms`); bounds merely being wide is no skew.
-- Shown by: 3.9.1-clean_skewed, 3.6.2-worker_partitioned_skewed; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_clock_skew (
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
COMMENT 'One row per process whose clock is apart from its island''s reference, stepped, or read in a wrong time zone.'
AS
WITH apart AS (
  SELECT * FROM clock_offset
  WHERE is_island_reference AND process_id <> reference_process_id AND (stepped OR suspect_time_zone IS NOT NULL OR lo_ms > clock_skew_ms OR hi_ms < -clock_skew_ms)
), edge AS (
  SELECT a.process_id, min_by(struct(e.from_event_id, e.to_event_id), e.hi_ms) FILTER (WHERE e.to_process_id = a.process_id) AS above,
    min_by(struct(e.from_event_id, e.to_event_id), e.hi_ms) FILTER (WHERE e.from_process_id = a.process_id) AS below
  FROM apart a JOIN clock_edge e ON e.to_process_id = a.process_id AND e.from_process_id = a.reference_process_id OR e.from_process_id = a.process_id AND e.to_process_id = a.reference_process_id
  GROUP BY a.process_id
)
SELECT
  CASE WHEN a.stepped OR a.suspect_time_zone IS NOT NULL THEN 'warning' WHEN greatest(a.lo_ms, -a.hi_ms) >= 10 * clock_skew_ms THEN 'warning' ELSE 'note' END,
  'proved', CAST(NULL AS STRING), CAST(NULL AS STRING), a.process_id, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP),
  CASE
    WHEN a.stepped THEN concat('the clock of ', a.process_id, ' stepped: no steady offset fits its lines')
    WHEN a.suspect_time_zone IS NOT NULL THEN concat(a.process_id, ' is off by ', a.suspect_time_zone, ' h: its time zone was probably told wrong')
    WHEN a.lo_ms > 0 THEN concat('the clock of ', a.process_id, ' is ', CASE WHEN a.lo_ms < 10000 THEN concat(a.lo_ms, ' ms') ELSE concat(round(a.lo_ms / 1000.0, 1), ' s') END, ' ahead of ', a.reference_process_id)
    ELSE concat('the clock of ', a.process_id, ' is ', CASE WHEN -a.hi_ms < 10000 THEN concat(-a.hi_ms, ' ms') ELSE concat(round(-a.hi_ms / 1000.0, 1), ' s') END, ' behind ', a.reference_process_id)
  END,
  CASE WHEN a.stepped THEN 'Of two lines that one message joins, one is printed before the message was sent, whatever the offset. Verdicts that would need this clock are left undecided.'
    ELSE concat('Each message is sent before it is received; by the lines of ', a.process_id, ' and ', a.reference_process_id, ' its clock is between ', coalesce(CAST(a.lo_ms AS STRING), 'unknown'), ' and ', coalesce(CAST(a.hi_ms AS STRING), 'unknown'),
      ' ms ahead. Verdicts here allow for it; printed times of the two must not be compared by eye.') END,
  CASE WHEN a.suspect_time_zone IS NOT NULL THEN concat('Read the logs again with --time-zone ', a.process_id, '=ZONE if the host prints local time.')
    ELSE 'Synchronise the host''s clock (chrony or ntpd), and alert on its offset. Retention by time, transaction and token expiry, and everybody who compares two logs depend on it.' END,
  array_distinct(filter(array(e.above.from_event_id, e.above.to_event_id, e.below.from_event_id, e.below.to_event_id), x -> x IS NOT NULL))
FROM apart a LEFT JOIN edge e USING (process_id)

-- One row per process whose clock is apart from its island's reference, stepped, or read in a wrong time zone.
-- Reads: clock_offset, clock_bound, clock_closure, clock_suspect, range_row
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
  SELECT o.process_id, o.reference_process_id, o.lo_ms, o.hi_ms, o.suspect_time_zone,
    -- Shown are the lines that bound it on both sides, through other processes where no lines join the two.
    array_distinct(concat(coalesce(forth.witness, df.witness, array()), coalesce(back.witness, db.witness, array()))) AS witness,
    greatest(o.lo_ms, -o.hi_ms) AS apart_ms
  FROM clock_offset o
  LEFT JOIN clock_closure forth ON forth.from_process_id = o.reference_process_id AND forth.to_process_id = o.process_id
  LEFT JOIN clock_closure back ON back.from_process_id = o.process_id AND back.to_process_id = o.reference_process_id
  LEFT JOIN clock_bound df ON df.from_process_id = o.reference_process_id AND df.to_process_id = o.process_id
  LEFT JOIN clock_bound db ON db.from_process_id = o.process_id AND db.to_process_id = o.reference_process_id
  WHERE o.is_island_reference AND o.process_id <> o.reference_process_id AND NOT o.stepped
    AND (o.suspect_time_zone IS NOT NULL OR o.lo_ms > clock_skew_ms OR o.hi_ms < -clock_skew_ms)
), worded AS (
  SELECT *, CASE WHEN apart_ms < 10000 THEN concat(apart_ms, ' ms') ELSE concat(round(apart_ms / 1000.0, 1), ' s') END AS by_much FROM apart
), stepped AS (
  SELECT *, CASE WHEN by_ms < 10000 THEN concat(by_ms, ' ms') ELSE concat(round(by_ms / 1000.0, 1), ' s') END AS by_much FROM clock_suspect
), jump AS (
  SELECT process_id, path, first_ts, shift_why, shift_ids,
    CASE WHEN shift_ms = 0 THEN 'as printed' ELSE concat(abs(shift_ms) DIV 3600000, ':', lpad(CAST(abs(shift_ms) DIV 60000 % 60 AS STRING), 2, '0'),
      ' h ', CASE WHEN shift_ms < 0 THEN 'earlier' ELSE 'later' END, ' than printed') END AS shift,
    date_format(timestamp_millis(unix_millis(first_ts) - shift_ms), 'yyyy-MM-dd HH:mm:ss') AS printed
  FROM range_row
  WHERE shift_why IS NOT NULL
)
SELECT
  CASE WHEN suspect_time_zone IS NOT NULL OR apart_ms >= 10 * clock_skew_ms THEN 'warning' ELSE 'note' END AS severity,
  'proved' AS verdict, CAST(NULL AS STRING) AS kafka_cluster, CAST(NULL AS STRING) AS group_id, process_id AS subject,
  CAST(NULL AS TIMESTAMP) AS from_ts, CAST(NULL AS TIMESTAMP) AS to_ts,
  CASE
    WHEN suspect_time_zone IS NOT NULL THEN concat(process_id, ' is off by ', suspect_time_zone, ' h: its time zone was probably told wrong')
    WHEN lo_ms > 0 THEN concat('the clock of ', process_id, ' is ', by_much, ' ahead of ', reference_process_id)
    ELSE concat('the clock of ', process_id, ' is ', by_much, ' behind ', reference_process_id)
  END AS headline,
  concat('Each message is sent before it is received; by the lines of ', process_id, ' and ', reference_process_id, ' its clock is between ',
    coalesce(CAST(lo_ms AS STRING), 'unknown'), ' and ', coalesce(CAST(hi_ms AS STRING), 'unknown'),
    ' ms ahead. Verdicts here allow for it; printed times of the two must not be compared by eye.') AS explanation,
  CASE WHEN suspect_time_zone IS NOT NULL
    THEN concat('Read the logs again with --time-zone ', process_id, '=ZONE if the host prints local time.')
    ELSE concat('Synchronise the host''s clock (chrony or ntpd), and alert on its offset. Retention by time, transaction and token expiry, ',
      'and everybody who compares two logs depend on it.') END AS advice,
  witness
FROM worded
UNION ALL
SELECT
  'warning', 'proved', NULL, NULL, process_id, NULL, NULL,
  CASE WHEN how = 'set_back' THEN concat('the clock of ', process_id, ' was set back by ', by_much,
      CASE WHEN times > 1 THEN concat(', the most of ', times, ' times') ELSE '' END)
    ELSE concat('the clock of ', process_id, ' stepped: no steady offset to ', partner, ' fits its lines') END,
  concat(
    CASE WHEN how = 'set_back' THEN 'A line of its log bears an earlier time than the lines before it, and the lines after it go on from there. '
      ELSE concat('Of two lines that one message joins, one is printed before the message was sent, whatever the offset: the lines below contradict each other by ', by_much, '. ') END,
    'Verdicts that would need this clock are left undecided.'),
  concat('Synchronise the host''s clock (chrony or ntpd) so that it is slewed and not set, and alert on its offset. Retention by time, ',
    'transaction and token expiry, and everybody who compares two logs depend on it.'),
  witness
FROM stepped
UNION ALL
SELECT
  CASE WHEN shift_why = 'daylight_saving' THEN 'note' ELSE 'warning' END, 'undecided', NULL, NULL, process_id, first_ts, NULL,
  CASE shift_why
    WHEN 'daylight_saving' THEN concat('local time in ', path, ' jumps at ', printed, ': summer time begins or ends there')
    WHEN 'time_zone' THEN concat('local time in ', path, ' jumps at ', printed, ': the machine was set to another time zone')
    ELSE concat('local time in ', path, ' jumps at ', printed, ': another machine''s log, or another time zone, from there on (', process_id, ')')
  END,
  concat('The printed times jump by whole quarters of an hour, but for the time that passed. Lines from there on are read ', shift,
    ', so that they follow those before',
    CASE shift_why WHEN 'other_machine' THEN ', and as a process of their own. Where messages join its clock to others, these tell how far it is off.'
      ELSE '.' END),
  CASE shift_why WHEN 'other_machine' THEN 'Keep the log of each machine in a file of its own, and read it with --time-zone GLOB=ZONE.'
    ELSE 'Let the host print UTC, or times with their offset: local time is not in order at such a jump.' END,
  shift_ids
FROM jump

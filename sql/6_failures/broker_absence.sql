-- One row for each period in which a broker was certainly or possibly down, according to its own log, and per line in which another reports it down.
-- Reads: event_row, copied_log, damaged_line, process_life, cluster_broker, fact_line, process, clock_offset
-- Computed: forensics.absences.broker_absence
-- Grain: process_id, from_ms, event_id, broker_id
-- A log that simply ends does not show that the broker died (`silent`); a new start in the same log, or a shutdown line, does. A controller fences a
-- broker whose heartbeats are missing, and a replica cannot fetch from a broker that is down. A broker that shuts down cleanly resigns and hands over
-- its partitions first, so none of these lines appear.
CREATE OR REPLACE TEMPORARY VIEW broker_absence (
  process_id STRING    COMMENT 'Its process; reported: the process that reports it',
  kafka_cluster STRING, broker_id BIGINT,
  how STRING           COMMENT 'stopped (it printed its shutdown), restarted (a new start follows, without such a line), starting (it failed
    while starting, or was restarted before it had started), silent (its log ends), reported (another broker reports that it is down)',
  from_ms BIGINT       COMMENT 'Last line before, or the report, by its own clock (milliseconds since 1970)',
  to_ms BIGINT         COMMENT 'It was up again, by its own clock; NULL: not in its log',
  from_lo_ms BIGINT    COMMENT 'Down at this time at the earliest (reference clock)',
  from_hi_ms BIGINT    COMMENT 'Its last line before was printed at this time at the latest',
  to_hi_ms BIGINT      COMMENT 'Up again at this time at the latest',
  reference_process_id STRING, event_id STRING,
  is_steady BOOLEAN     COMMENT 'False if its clock, or the clock of the bounds, stepped'
)

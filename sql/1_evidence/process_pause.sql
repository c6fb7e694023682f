-- One row for each period in which a process certainly did not run, as its own log shows: it was paused, or its host was.
-- Reads: setting, shared_log, event_row, filtered_log, lost_range, copied_log, damaged_line, process_start, counted_row
-- Computed: forensics.runs.process_pause
-- Grain: process_id, instance, after_id
-- A paused process prints nothing, and when it continues, all of its threads find at the same moment that time has passed. Each client of Kafka
-- cancels a request when its timeout has passed, a ZooKeeper client gives up within its session timeout, and a Connect task reports its commits at
-- fixed intervals. Several clients that do so much too late, after a silence of the whole process, did not run. One client alone may have been
-- blocked. A member of kafka-python that sent nothing to its coordinator for minutes did not run, nor did its heartbeat thread. Kafka's clients
-- measure time by the clock of the host: one that is set forward looks the same.
CREATE OR REPLACE TEMPORARY VIEW process_pause (
  process_id STRING, instance INT,
  before_ms BIGINT  COMMENT 'It ran at this time: its last line before the pause, or, if the log begins later, its last request (own clock)',
  after_ms BIGINT   COMMENT 'First line after the pause, by its own clock',
  least_ms BIGINT   COMMENT 'The pause lasted at least this long, milliseconds',
  most_ms BIGINT    COMMENT 'It lasted at most this long, milliseconds',
  printed_ms BIGINT COMMENT 'Longest time without an answer that a line prints, milliseconds; NULL: none does',
  how STRING        COMMENT 'requests: several clients cancelled requests much too late; zookeeper: its ZooKeeper client noticed so much too late;
    idle: the connection to its coordinator had been idle for longer than any session timeout;
    periodic: lines that come at fixed intervals stopped, and several clients lost their sessions at the first moment afterwards',
  clients BIGINT    COMMENT 'Number of clients that noticed it',
  after_id STRING   COMMENT 'Event that first shows it after the pause',
  witness ARRAY<STRING>
)

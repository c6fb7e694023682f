-- One row per client whose log has indistinguishable lines of several members, and per log with lines of several workers or brokers.
-- Reads: event_row, copied_log, damaged_line, process_start
-- Computed: forensics.logs.shared_log
-- Grain: process_id, client
-- A coordinator issues an id only once: a client that joins with one id, then with another, never joins with the first again. If one does, the log
-- has lines of several clients that cannot be distinguished, for example all pods of a deployment logging to one file. The same is true if two ids
-- follow each other and both joined generations that the group had only once: the log of another client was appended. It is also true if the second
-- id begins at an earlier time than the first ended, in no later generation. A process run has at most one Connect worker or one broker, so lines of
-- two do not alternate in it. If the lines do not name their file, as in the output of `cat` or `grep -h`, the next process begins at an earlier time
-- than the previous one ended. A clock that was set back looks alike, but then the same process continues. MirrorMaker 2 runs one worker for each
-- pair of clusters, named after the pair, in a single process.
CREATE OR REPLACE TEMPORARY VIEW shared_log (
  process_id STRING,
  client STRING       COMMENT 'Client inside the process; NULL: Connect workers, each with a client id of its own, or brokers',
  group_id STRING,
  is_worker BOOLEAN    COMMENT 'True for a Connect worker: its tasks cannot be distinguished either',
  member_count BIGINT COMMENT 'Number of member ids that joined as this client; number of workers',
  broker_count BIGINT COMMENT 'Number of brokers',
  broker_ids STRING   COMMENT 'Their ids; NULL: no brokers',
  from_ms BIGINT      COMMENT 'First line of any of them, by the log''s clock (milliseconds since 1970)',
  to_ms BIGINT        COMMENT 'Last line of any of them'
)

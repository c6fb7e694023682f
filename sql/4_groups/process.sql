-- One row per process, that is one log stream made of rotated files.
-- Reads: event_row, counted_row, copied_log, damaged_line, process_start, process_life, process_cluster, clock_offset, evidence_file, client_event
-- Reads: member_round, join_round
-- Computed: forensics.processes.process
-- Grain: process_id
-- Public: yes
-- A coordinator issues a member id only once, and a member prints its own, so logs with the same id belong to one process. So do logs with the same
-- advertised URL, unless they overlap in time: two workers may both advertise localhost. A file is split where time jumps back. Then the second part
-- belongs to the same process with its clock set back, unless it has another URL, or one client name has two member ids in one generation. Ownership
-- of one process is never split brain with itself.
CREATE OR REPLACE TEMPORARY VIEW process (
  process_id STRING           COMMENT 'Process: path of its log stream; in a merged file, with its name there',
  host STRING                 COMMENT 'Host, as given or from the folders',
  role STRING                 COMMENT 'broker, connect_worker or client',
  kafka_version STRING        COMMENT 'Kafka release of the last process run, as printed, or the only one that fits its lines',
  version_how STRING          COMMENT 'How the release is known: `printed`, `confluent` (its own number, printed), `fingerprint` (from lines of source
    and wordings); NULL: unknown',
  version_range STRING        COMMENT 'Releases of Apache Kafka that remain: one, a range, or `3.5.x` for a build of Confluent',
  kafka_cluster STRING        COMMENT 'Kafka cluster id of the last process run, or `unknown`',
  kafka_clusters ARRAY<STRING>       COMMENT 'Ids of the Kafka clusters of all its process runs, in order',
  worker_url STRING           COMMENT 'REST URL that a Connect worker advertises',
  group_ids ARRAY<STRING>            COMMENT 'Groups that it was a member of',
  instances BIGINT            COMMENT 'JVM starts seen in it; 0: it was running when the log began and never restarted',
  clock_island STRING         COMMENT 'Processes with the same value can be compared in time',
  reference_process_id STRING COMMENT 'Process whose clock is the island''s reference',
  first_ts TIMESTAMP             COMMENT 'First line, by its own clock',
  last_ts TIMESTAMP              COMMENT 'Last line, by its own clock',
  same_process_ids ARRAY<STRING>     COMMENT 'Logs that are, or may be, other parts of its log: of another day, or from before or after a clock
    step; NULL: none'
)

-- One row per stretch of a process run in which it belonged to one Kafka cluster, with the group of its Connect worker.
-- Reads: event_row, counted_row, copied_log, damaged_line, process_start
-- Computed: forensics.runs.process_cluster
-- Grain: process_id, instance, from_pos
-- A broker that lost its data, and a worker whose brokers did, belong to a new cluster afterwards. Groups of the same name in two clusters are
-- unrelated. In a process run the first cluster id holds from the beginning, and a different id of the same client from that line on. A run without
-- an id takes the id of the runs around it if they agree. A process without any id takes that of the case if there is only one.
-- Lines of Worker and of tasks have no group id in any release, lines of the herder none before 2.3.
CREATE OR REPLACE TEMPORARY VIEW process_cluster (
  process_id STRING, instance INT,
  from_pos BIGINT      COMMENT 'First position of the stretch; the minimum if it begins with the run',
  to_pos BIGINT        COMMENT 'First position after it; NULL: to the end of the run',
  kafka_cluster STRING COMMENT 'Cluster id; `unknown` if no line shows it, with the number of the run if the process had several clusters',
  cluster_ms BIGINT    COMMENT 'When the run first printed it (milliseconds since 1970); NULL: it did not',
  cluster_event STRING COMMENT 'Its event',
  is_life_last BOOLEAN  COMMENT 'True for the last stretch of its run',
  is_last BOOLEAN       COMMENT 'True for the last stretch of its process',
  resolution_ms INT COMMENT 'A printed time of the process may be earlier than the true one by nearly this, milliseconds',
  worker_group_id STRING COMMENT 'Group of its Connect worker; NULL: it has none, or several (MirrorMaker 2), so the group of such a line is
    ambiguous',
  worker_client_id STRING COMMENT 'Its client.id; NULL: no line has it'
)

-- One row per process: the Kafka cluster that it talks to.
-- Reads: event_row
-- Grain: process_id
-- A process that never prints a cluster id is given the only one of the case, when there is only one.
CREATE OR REPLACE TEMPORARY VIEW process_cluster (
  process_id    COMMENT 'Process',
  kafka_cluster COMMENT 'Cluster id; `unknown` when neither it nor the rest of the case tells'
)
COMMENT 'One row per process: the Kafka cluster that it talks to.'
AS
WITH own AS (
  SELECT process_id, max(kafka_cluster_id) AS kafka_cluster
  FROM event_row
  GROUP BY process_id
), only_one AS (
  SELECT CASE WHEN count(DISTINCT kafka_cluster) = 1 THEN max(kafka_cluster) END AS kafka_cluster FROM own
)
SELECT own.process_id, coalesce(own.kafka_cluster, only_one.kafka_cluster, 'unknown') AS kafka_cluster
FROM own CROSS JOIN only_one

-- One row per sink group that two Connect clusters share.
-- Reads: join_round, worker_group
-- Answers: why does each of two Connect clusters get only a part of the data?
-- Needs: the logs of a worker of each cluster.
-- Silent when: the sink's tasks run in the workers of one Connect cluster.
-- Shown by: 3.9.1-two_clusters_one_connector; silent on 3.9.1-connector_declared_twice.
CREATE OR REPLACE TEMPORARY VIEW rule_sink_group_shared (
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
COMMENT 'One row per sink group that two Connect clusters share.'
AS
WITH sink AS (
  SELECT j.kafka_cluster, j.group_id, array_sort(collect_set(w.group_id)) AS clusters, array_sort(collect_set(concat(j.process_id, ' (', w.group_id, ')'))) AS who, min(coalesce(j.joined_ts, j.synced_ts)) AS from_ts,
    max(regexp_replace(j.task, '-[0-9]+$', '')) AS connector, slice(array_sort(collect_set(coalesce(j.synced_id, j.joined_id))), 1, 6) AS witness
  FROM join_round j JOIN worker_group w ON w.process_id = j.process_id AND w.instance = j.instance
  WHERE j.task IS NOT NULL
  GROUP BY j.kafka_cluster, j.group_id
  HAVING count(DISTINCT w.group_id) > 1
)
SELECT
  'warning', 'proved', kafka_cluster, group_id, connector, from_ts, CAST(NULL AS TIMESTAMP),
  concat('the Connect clusters ', array_join(clusters, ' and '), ' share the sink group ', group_id, ': each gets a part of the data'),
  concat('The sink ', connector, ' runs in ', array_join(slice(who, 1, 6), ', '), '. Both clusters'' tasks are members of ', group_id, ', so its partitions are divided among them: no record is delivered twice, but each cluster''s target gets only some.'),
  concat('If both targets shall get all, rename the connector in one cluster, or set consumer.override.group.id for it; the renamed one starts without committed offsets (auto.offset.reset of sinks is earliest). If it was meant to run once, delete it in one of them.'),
  witness
FROM sink

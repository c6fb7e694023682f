-- One row per group.id that is shared by what must not share it.
-- Reads: worker_setting, join_round
-- Answers: why do workers of one group fight over its configuration, or a sink's consumer with the workers?
-- Needs: the workers' configuration (DistributedConfig values), or the lines of both kinds of members.
-- Silent when: all workers of a group use the same three topics; members of one group merely differ in subscription.
-- Shown by: 3.9.1-same_group_other_topics; silent on 3.9.1-two_clusters_one_connector.
CREATE OR REPLACE TEMPORARY VIEW rule_group_id_collision (
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
COMMENT 'One row per group.id that is shared by what must not share it.'
AS
WITH topics AS (
  SELECT kafka_cluster, group_id, array_sort(collect_set(struct(config_topic, offset_topic, status_topic))) AS sets, count(DISTINCT config_topic) AS configs,
    array_sort(collect_list(concat(process_id, ' (', config_topic, ', ', offset_topic, ', ', status_topic, ')'))) AS told, array_sort(collect_set(process_id)) AS who, array_sort(collect_set(event_id)) AS witness
  FROM worker_setting
  WHERE group_id IS NOT NULL AND config_topic IS NOT NULL
  GROUP BY kafka_cluster, group_id
  HAVING count(DISTINCT struct(config_topic, offset_topic, status_topic)) > 1
), mixed AS (
  SELECT kafka_cluster, group_id, array_sort(collect_set(CASE WHEN is_worker THEN process_id END)) AS workers, array_sort(collect_set(CASE WHEN NOT is_worker THEN process_id END)) AS consumers,
    max(CASE WHEN NOT is_worker THEN task END) AS task, min(coalesce(joining_first_ts, joined_ts, synced_ts)) AS from_ts,
    filter(array(max(CASE WHEN is_worker THEN coalesce(synced_id, joined_id) END), max(CASE WHEN NOT is_worker THEN coalesce(synced_id, joined_id) END)), x -> x IS NOT NULL) AS witness
  FROM join_round
  GROUP BY kafka_cluster, group_id
  HAVING bool_or(is_worker) AND bool_or(NOT is_worker)
), namesake AS (
  -- A worker group called as the group of one of its own sinks would be.
  SELECT w.kafka_cluster, w.group_id, array_sort(collect_set(w.process_id)) AS workers, array_sort(collect_set(w.event_id)) AS witness, max(j.connector) AS connector
  FROM worker_setting w
  JOIN (SELECT DISTINCT kafka_cluster, regexp_replace(task, '-[0-9]+$', '') AS connector FROM join_round WHERE task IS NOT NULL) j ON j.kafka_cluster = w.kafka_cluster AND w.group_id = concat('connect-', j.connector)
  LEFT ANTI JOIN mixed m ON m.kafka_cluster = w.kafka_cluster AND m.group_id = w.group_id
  GROUP BY w.kafka_cluster, w.group_id
)
SELECT
  'critical', 'proved', kafka_cluster, group_id, group_id, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP),
  concat('workers of ', group_id, ' use different internal topics: they are two Connect clusters in one group'),
  concat('They print: ', array_join(slice(told, 1, 6), '; '), '. One group has one leader, who assigns what it reads from its own configuration topic; a worker with another topic ',
    CASE WHEN configs > 1 THEN 'never catches up with the offset that the assignment names, asks for another rebalance and again, and runs nothing or something else under the same name.' ELSE 'keeps offsets or statuses apart from the others: a task that moves between them starts from the wrong source offset.' END),
  concat('Give the second cluster a group.id of its own (now ', group_id, ' on both), or the same config.storage.topic, offset.storage.topic and status.storage.topic on all its workers. Restart the workers that you change one by one.'),
  slice(witness, 1, 8)
FROM topics
UNION ALL
SELECT
  'critical', 'proved', kafka_cluster, group_id, group_id, from_ts, CAST(NULL AS TIMESTAMP),
  concat('Connect workers and consumers share the group ', group_id),
  concat('As workers: ', array_join(slice(workers, 1, 6), ', '), '; as consumers: ', array_join(slice(consumers, 1, 6), ', '), '. A group has one protocol type: whichever is there first keeps the others out (INCONSISTENT_GROUP_PROTOCOL), again and again.'),
  CASE WHEN task IS NOT NULL THEN concat('The sink of task ', task, ' consumes in the group connect-NAME, which is the workers'' group.id here. Rename the workers'' group.id, or give the connector consumer.override.group.id (connector.client.config.override.policy permitting).')
    ELSE 'Give the workers a group.id that no application uses.' END,
  witness
FROM mixed
UNION ALL
SELECT
  'warning', 'proved', kafka_cluster, group_id, group_id, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP),
  concat('the workers'' group.id ', group_id, ' is the group of the sink ', connector),
  concat('A sink''s tasks consume in the group connect-NAME; the group.id of ', array_join(slice(workers, 1, 6), ', '), ' has the same name.'),
  'Rename the workers'' group.id; a group cannot hold workers and consumers.',
  slice(witness, 1, 8)
FROM namesake

-- One row per process of a group: the offset between its count of the group's incarnations and that of the process that saw most of them
-- begin.
-- Reads: round_life
-- Grain: kafka_cluster, group_id, process_id
-- Member ids do not outlive the group's metadata: incarnations in which both processes name the same member are the same one.
CREATE OR REPLACE TEMPORARY VIEW life_count (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  falls         COMMENT 'When the process with the highest count saw each incarnation but its first begin, by its own clock (milliseconds
    since 1970)',
  ahead         COMMENT 'Incarnations that the other process had seen when this one saw its first; NULL: no member id links their counts'
)
COMMENT 'One row per process of a group: the offset between its count of the group''s incarnations and that of the process that saw most of
    them begin.'
AS
WITH process_count AS (
  SELECT kafka_cluster, group_id, process_id, count(*) AS rounds,
    sort_array(collect_list(CASE WHEN life > last_life THEN at_ms END)) AS falls
  FROM (SELECT *, lag(life) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos) AS last_life FROM round_life)
  GROUP BY kafka_cluster, group_id, process_id
), reference_process AS (
  SELECT *, max_by(struct(process_id, falls), struct(size(falls), rounds, process_id)) OVER (PARTITION BY kafka_cluster,
    group_id) AS reference
  FROM process_count
), named_member AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id, life, explode(names) AS name FROM round_life
), count_offset AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, mode(t.life - o.life, true) AS ahead
  FROM named_member o
  JOIN reference_process m ON m.kafka_cluster = o.kafka_cluster AND m.group_id = o.group_id AND m.process_id = o.process_id
  JOIN named_member t ON t.kafka_cluster = o.kafka_cluster AND t.group_id = o.group_id AND t.process_id = m.reference.process_id
    AND t.name = o.name
  GROUP BY o.kafka_cluster, o.group_id, o.process_id
)
SELECT
  r.kafka_cluster AS kafka_cluster,
  r.group_id AS group_id,
  r.process_id AS process_id,
  r.reference.falls AS falls,
  k.ahead AS ahead
FROM reference_process r
LEFT JOIN count_offset k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id

-- One row per process of a group: how its count of the group's lives stands to that of the process that saw most of them begin.
-- Reads: round_life
-- Grain: kafka_cluster, group_id, process_id
-- Member ids do not outlive the group's metadata: a life in which both name one member is the same life.
CREATE OR REPLACE TEMPORARY VIEW life_count (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  falls         COMMENT 'When the process that saw most saw each life but its first begin, by its own clock (milliseconds since 1970)',
  ahead         COMMENT 'Lives that the other had seen when this one saw its first; NULL: no member id joins their counts'
)
COMMENT 'One row per process of a group: how its count of the group''s lives stands to that of the process that saw most of them begin.'
AS
WITH counted AS (
  SELECT kafka_cluster, group_id, process_id, count(*) AS rounds,
    sort_array(collect_list(CASE WHEN life > last_life THEN at_ms END)) AS falls
  FROM (SELECT *, lag(life) OVER (PARTITION BY kafka_cluster, group_id, process_id ORDER BY from_pos) AS last_life FROM round_life)
  GROUP BY kafka_cluster, group_id, process_id
), ranked AS (
  SELECT *, max_by(struct(process_id, falls), struct(size(falls), rounds, process_id)) OVER (PARTITION BY kafka_cluster, group_id) AS teller
  FROM counted
), named AS (
  SELECT DISTINCT kafka_cluster, group_id, process_id, life, explode(names) AS name FROM round_life
), link AS (
  SELECT o.kafka_cluster, o.group_id, o.process_id, mode(t.life - o.life, true) AS ahead
  FROM named o
  JOIN ranked m ON m.kafka_cluster = o.kafka_cluster AND m.group_id = o.group_id AND m.process_id = o.process_id
  JOIN named t ON t.kafka_cluster = o.kafka_cluster AND t.group_id = o.group_id AND t.process_id = m.teller.process_id AND t.name = o.name
  GROUP BY o.kafka_cluster, o.group_id, o.process_id
)
SELECT
  r.kafka_cluster AS kafka_cluster,
  r.group_id AS group_id,
  r.process_id AS process_id,
  r.teller.falls AS falls,
  k.ahead AS ahead
FROM ranked r
LEFT JOIN link k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.process_id = r.process_id

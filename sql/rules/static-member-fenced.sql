-- One row per group.instance.id that two members used at once.
-- Reads: client_event, fact_line, clock_offset
-- Answers: why was this consumer fenced and died?
-- Needs: the log of the member that was fenced, or of the broker that fenced it.
-- Silent when: a static member came back with a new member id and nobody was fenced: an orderly restart.
-- Shown by: 3.9.1-consumers_static_fenced; silent on all others.
CREATE OR REPLACE TEMPORARY VIEW rule_static_member_fenced (
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
COMMENT 'One row per group.instance.id that two members used at once.'
AS
WITH fenced AS (
  SELECT c.kafka_cluster, c.group_id, c.process_id, c.client, c.client_id, coalesce(c.group_instance_id, last_value(c.group_instance_id, true) OVER w) AS instance_name, c.ts, c.event_id, c.event
  FROM client_event c
  WINDOW w AS (PARTITION BY c.process_id, c.group_id, c.client ORDER BY c.stream_pos ROWS UNBOUNDED PRECEDING)
), told AS (
  SELECT f.kafka_cluster, f.group_id, f.instance_name, f.process_id, timestamp_millis(unix_millis(f.ts) - o.hi_ms) AS ts, f.event_id
  FROM fenced f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  -- A member of the consumer protocol (KIP-848) is fenced by its epoch as well, without any group.instance.id.
  WHERE f.event = 'member_fenced' AND f.instance_name IS NOT NULL
  UNION ALL
  SELECT kafka_cluster, group_id, group_instance_id, CAST(NULL AS STRING), ts, event_id FROM fact_line WHERE event = 'member_fenced_by_broker' AND group_instance_id IS NOT NULL
), users AS (
  SELECT kafka_cluster, group_id, instance_name, array_sort(collect_set(process_id)) AS who
  FROM (
    SELECT kafka_cluster, group_id, group_instance_id AS instance_name, process_id FROM client_event WHERE group_instance_id IS NOT NULL
  ) GROUP BY kafka_cluster, group_id, instance_name
), taken AS (
  -- Not every broker's line names the group: the one in which this id is used, when there is only one.
  SELECT t.kafka_cluster, coalesce(t.group_id, u.group_id) AS group_id, t.instance_name, t.process_id, t.ts, t.event_id
  FROM told t
  LEFT JOIN (SELECT kafka_cluster, instance_name, max(group_id) AS group_id FROM users GROUP BY kafka_cluster, instance_name HAVING count(*) = 1) u ON u.kafka_cluster = t.kafka_cluster AND u.instance_name = t.instance_name
), once AS (
  SELECT kafka_cluster, group_id, instance_name, array_sort(collect_set(process_id)) AS fenced, min(ts) AS from_ts, max(ts) AS to_ts, count(*) AS times, slice(array_sort(collect_list(event_id)), 1, 12) AS witness
  FROM taken GROUP BY kafka_cluster, group_id, instance_name
), replaced AS (
  SELECT kafka_cluster, group_id, group_instance_id AS instance_name, slice(array_sort(collect_list(event_id)), 1, 4) AS ids, count(*) AS n FROM fact_line WHERE event = 'static_member_replaced' GROUP BY kafka_cluster, group_id, group_instance_id
)
SELECT
  'critical', 'proved', f.kafka_cluster, f.group_id, f.instance_name, f.from_ts, CASE WHEN f.to_ts > f.from_ts THEN f.to_ts END,
  concat(CASE WHEN size(f.fenced) > 0 THEN array_join(f.fenced, ', ') ELSE 'a member' END, CASE WHEN size(f.fenced) > 1 THEN ' were' ELSE ' was' END, ' fenced out of ', coalesce(f.group_id, 'a group'), ': ',
    CASE WHEN size(array_except(u.who, f.fenced)) > 0 THEN array_join(array_except(u.who, f.fenced), ', ') ELSE 'another member' END, ' took its group.instance.id ', f.instance_name),
  concat('A group.instance.id belongs to one member at a time: whoever joins with it last takes over the partitions, and the one before gets FENCED_INSTANCE_ID, a fatal error that ends its consumer. ',
    CASE WHEN size(u.who) > 1 THEN concat('Here it is used by ', array_join(u.who, ' and '), '.') ELSE 'The log of the other user of it is not here.' END,
    CASE WHEN r.n > 0 THEN concat(' The broker replaced the member behind the id ', r.n, CASE WHEN r.n = 1 THEN ' time.' ELSE ' times.' END) ELSE '' END),
  concat('Give each process its own group.instance.id (', f.instance_name, ' is used twice), for example the pod''s ordinal or host name; a deployment that starts the new process before the old one has stopped does the same to itself: stop first, then start. ',
    'A consumer that was fenced does not come back by itself: restart it with an id of its own.'),
  array_distinct(concat(f.witness, coalesce(r.ids, array())))
FROM once f
LEFT JOIN users u ON u.kafka_cluster = f.kafka_cluster AND u.group_id <=> f.group_id AND u.instance_name = f.instance_name
LEFT JOIN replaced r ON r.kafka_cluster = f.kafka_cluster AND r.group_id <=> f.group_id AND r.instance_name = f.instance_name

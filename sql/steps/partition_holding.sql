-- One row per unbroken time in which one consumer held one partition, by the consumer's own clock.
-- Reads: client_event, event, process_life, sink_stopped
-- Grain: process_id, client, resource, from_pos
-- Held is not worked: a consumer that sleeps through its session keeps what it was given until it is told.
CREATE OR REPLACE TEMPORARY VIEW partition_holding (
  kafka_cluster COMMENT 'Kafka cluster',
  group_id      COMMENT 'Group',
  resource      COMMENT 'Topic partition',
  process_id    COMMENT 'Process',
  process_instance COMMENT 'Which life of the process',
  client        COMMENT 'Client inside the process',
  task          COMMENT 'Connect task whose consumer this is',
  member_id     COMMENT 'Member id',
  generation    COMMENT 'Generation that assigned it',
  from_pos      COMMENT 'Position of the line that gives it',
  start_ts      COMMENT 'Given',
  start_id      COMMENT 'Its event',
  stop_lo_ts    COMMENT 'Surely held until then',
  stop_hi_ts    COMMENT 'Surely no longer held from then on; NULL: nothing says so',
  stop_how      COMMENT 'revoked, lost, client_closed, client_made_again, tasks_stopped (all tasks of the sink), process_restarted; NULL: nothing says so',
  stop_id       COMMENT 'Its event'
)
COMMENT 'One row per unbroken time in which one consumer held one partition, by the consumer''s own clock.'
AS
WITH given AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, task, stream_pos, ts, event_id, event,
    last_value(member_id, true) OVER w AS member_id,
    last_value(generation, true) OVER w AS generation,
    max(ts) OVER (PARTITION BY process_id, instance, group_id, client) AS last_line_ts,
    partitions
  FROM client_event
  WHERE NOT is_worker
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
), made AS (
  -- A consumer is made with the dump of its configuration: a client id that is made again has forgotten what it held.
  SELECT process_id, instance, config['client.id'] AS client, array_sort(collect_list(struct(stream_pos, ts, event_id))) AS lines
  FROM event
  WHERE event = 'config_dumped' AND component = 'ConsumerConfig' AND config['client.id'] <> ''
  GROUP BY ALL
), move AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, task, member_id, generation, stream_pos, ts, event_id, last_line_ts,
    explode(partitions) AS resource,
    CASE event WHEN 'partitions_assigned' THEN 'given' WHEN 'partitions_revoked' THEN 'revoked' ELSE 'lost' END AS what
  FROM given
  WHERE event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost')
), turn AS (
  SELECT m.*, lag(what) OVER w AS last_what, next_made
  FROM (
    SELECT m.*, get(filter(k.lines, x -> x.stream_pos > m.stream_pos), 0) AS next_made
    FROM move m LEFT JOIN made k ON k.process_id = m.process_id AND k.instance = m.instance AND k.client = m.client
  ) m
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client, next_made.stream_pos, resource ORDER BY stream_pos)
), change AS (
  -- An eager member is given again what it still holds; that is one holding.
  SELECT *, lead(struct(what, ts, event_id, stream_pos)) OVER w AS next
  FROM turn
  WHERE what = 'given' AND NOT (last_what <=> 'given') OR what <> 'given' AND last_what = 'given'
  WINDOW w AS (PARTITION BY process_id, instance, group_id, client, next_made.stream_pos, resource ORDER BY stream_pos)
), closed AS (
  SELECT process_id, instance, client_id AS client, array_sort(collect_list(struct(stream_pos, ts, event_id))) AS lines
  FROM event
  WHERE event = 'client_closed' AND client_id IS NOT NULL
  GROUP BY process_id, instance, client_id
), stopped AS (
  SELECT process_id, instance, group_id, array_sort(collect_list(struct(stream_pos, ts, event_id))) AS lines
  FROM sink_stopped
  GROUP BY process_id, instance, group_id
), held AS (
  SELECT c.*, get(filter(k.lines, x -> x.stream_pos > c.stream_pos AND (c.next_made IS NULL OR x.stream_pos < c.next_made.stream_pos)), 0) AS closing,
    get(filter(s.lines, x -> x.stream_pos > c.stream_pos), 0) AS stopping, p.next_start_ts, p.next_start_id
  FROM change c
  LEFT JOIN closed k ON k.process_id = c.process_id AND k.instance = c.instance AND k.client = c.client
  LEFT JOIN stopped s ON s.process_id = c.process_id AND s.instance = c.instance AND s.group_id = c.group_id
  LEFT JOIN process_life p ON p.process_id = c.process_id AND p.instance = c.instance
  WHERE c.what = 'given'
), ended AS (
  -- The earliest line that says that it ended.
  SELECT *, array_min(filter(array(
    CASE WHEN next IS NOT NULL THEN named_struct('pos', next.stream_pos, 'own', true, 'ts', next.ts, 'how', next.what, 'event_id', next.event_id) END,
    CASE WHEN closing IS NOT NULL THEN named_struct('pos', closing.stream_pos, 'own', true, 'ts', closing.ts, 'how', 'client_closed', 'event_id', closing.event_id) END,
    CASE WHEN stopping IS NOT NULL THEN named_struct('pos', stopping.stream_pos, 'own', false, 'ts', stopping.ts, 'how', 'tasks_stopped', 'event_id', stopping.event_id) END,
    CASE WHEN next_made IS NOT NULL THEN named_struct('pos', next_made.stream_pos, 'own', false, 'ts', next_made.ts, 'how', 'client_made_again', 'event_id', next_made.event_id) END
  ), x -> x IS NOT NULL)) AS end_line
  FROM held
)
SELECT
  kafka_cluster, group_id, resource, process_id, instance, client, task, member_id, generation, stream_pos, ts, event_id,
  -- Up to 2.6 a consumer is closed without a line, so only its own lines prove that it was still there.
  CASE WHEN end_line.own THEN end_line.ts WHEN end_line IS NULL THEN last_line_ts ELSE ts END,
  coalesce(end_line.ts, next_start_ts),
  CASE WHEN end_line IS NOT NULL THEN end_line.how WHEN next_start_ts IS NOT NULL THEN 'process_restarted' END,
  coalesce(end_line.event_id, next_start_id)
FROM ended

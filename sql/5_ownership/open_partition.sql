-- One row per partition that a consumer held when its log begins: later lines show that it did, but no line assigns it.
-- Reads: client_event, owned_list, event, log_hole
-- Grain: process_id, client, resource
-- A consumer that revokes a partition, or lists it as its own, was assigned it before. An eager consumer revokes everything before it asks
-- to join and receives a complete assignment. Without an assignment line before, it had the partition since before its log. A cooperative
-- consumer keeps its partitions while it joins, and lists them after its first sync, before it receives more. If the consumer's start is in
-- the log, or lines are missing, the assignment may be among the missing lines; then there is no row.
CREATE OR REPLACE TEMPORARY VIEW open_partition (
  kafka_cluster, group_id, process_id, instance, client, resource,
  member_id     COMMENT 'Member id; NULL: unknown',
  generation    COMMENT 'Generation in which it held the partition; NULL: unknown',
  before_generation COMMENT 'First generation in the log that it joined: it held the partition before; NULL: none',
  from_pos      COMMENT 'Position of its first line about the group',
  from_ms       COMMENT 'When that was (milliseconds since 1970): certainly held from this time on',
  from_id       COMMENT 'Its event',
  shown_id      COMMENT 'Line that shows that it held the partition'
)
AS
WITH group_line AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, stream_pos, at_ms, event_id, event, partitions,
    nullif(member_id, '') AS member_id, CASE WHEN generation >= 0 THEN generation END AS generation, protocol,
    coalesce(event = 'heartbeat_failed' AND cause LIKE '%rebalancing%'
      OR event = 'rejoin_requested' AND reason LIKE '%already rebalancing%', false) AS is_rebalance
  FROM client_event WHERE NOT is_worker AND instance = 0
  UNION ALL
  SELECT NULL, NULL, process_id, instance, client, stream_pos, at_ms, event_id, 'assignment_updated', partitions, NULL, NULL, NULL, false
  FROM owned_list WHERE instance = 0 AND is_sure AND NOT is_last
), single_group_consumer AS (
  SELECT process_id, instance, client, max(t.kafka_cluster) AS kafka_cluster, max(t.group_id) AS group_id,
    min(struct(stream_pos, at_ms, event_id)) AS first_line,
    min(CASE WHEN event IN ('joined', 'synced') AND generation IS NOT NULL THEN struct(stream_pos, generation, member_id) END) AS next_joined,
    coalesce(min(CASE WHEN protocol IS NOT NULL THEN struct(stream_pos, protocol) END).protocol LIKE '%cooperative%', false) AS is_cooperative,
    array_sort(collect_list(CASE WHEN event IN ('generation_reset', 'join_failed', 'member_fenced', 'leaving') THEN stream_pos END)) AS resets
  FROM group_line t GROUP BY process_id, instance, client HAVING count(DISTINCT t.kafka_cluster) = 1 AND count(DISTINCT t.group_id) = 1
), line_with_history AS (
  SELECT process_id, instance, client, stream_pos, event_id, event, partitions, count_if(event = 'synced') OVER before AS synced,
    count_if(event IN ('joining', 'joined')) OVER before AS asked, count_if(event = 'leaving') OVER before AS departed,
    count_if(event = 'partitions_assigned') OVER before AS given, count_if(is_rebalance) OVER before AS rebalance_notices,
    -- A consumer that starts discovers its coordinator; one that was already running lost it first.
    min(CASE WHEN event IN ('coordinator_discovered', 'coordinator_lost') THEN struct(stream_pos, event) END) OVER before AS found,
    max(CASE WHEN member_id IS NOT NULL THEN struct(stream_pos, member_id) END) OVER so_far AS known_member,
    max(CASE WHEN generation IS NOT NULL THEN struct(stream_pos, generation) END) OVER so_far AS known_generation
  FROM group_line
  WINDOW
    -- This includes the row of the same line as a list, or as an assignment: within the line, the owned partitions come before the assigned
    -- ones.
    so_far AS (PARTITION BY process_id, instance, client ORDER BY stream_pos RANGE UNBOUNDED PRECEDING),
    before AS (PARTITION BY process_id, instance, client
      ORDER BY stream_pos, event <> 'assignment_updated' ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
), shown_partition AS (
  SELECT c.kafka_cluster, c.group_id, c.first_line, c.next_joined, c.is_cooperative, l.process_id, l.instance, l.client,
    l.stream_pos, l.event_id, l.event, explode(l.partitions) AS resource, l.known_member.member_id AS member_id,
    CASE WHEN l.asked = 0 THEN l.known_generation.generation END AS generation,
    -- Its coordinator knew it when it notified it of the rebalance, and nothing ends its membership before the next generation that it
    -- joins. So it was a member of the previous generation.
    l.event = 'partitions_revoked' AND l.asked = 0 AND l.rebalance_notices > 0 AND c.next_joined.stream_pos > l.stream_pos
      AND NOT exists(c.resets, x -> x < c.next_joined.stream_pos) AS is_member
  FROM line_with_history l JOIN single_group_consumer c ON c.process_id = l.process_id AND c.instance = l.instance AND c.client = l.client
  WHERE l.event IN ('partitions_revoked', 'partitions_lost', 'assignment_updated') AND l.given = 0
    AND CASE WHEN c.is_cooperative THEN l.synced <= 1 ELSE l.synced = 0 AND l.asked = 0 END
    -- A consumer that missed its poll timeout leaves first and revokes its partitions in its next poll.
    AND (l.departed = 0 OR l.event = 'partitions_lost') AND NOT l.found.event <=> 'coordinator_discovered'
), first_shown_partition AS (
  SELECT *, row_number() OVER (PARTITION BY process_id, instance, client, resource ORDER BY stream_pos) AS nth FROM shown_partition
), consumer_creation AS (
  SELECT process_id, instance, coalesce(config['client.id'], client_id) AS client, min(stream_pos) AS stream_pos FROM event
  WHERE event = 'config_dumped' AND component = 'ConsumerConfig' AND config['client.id'] <> ''
    OR event IN ('subscribed', 'client_closed') AND client_id IS NOT NULL
  GROUP BY process_id, instance, coalesce(config['client.id'], client_id)
), first_gap AS (
  SELECT process_id, instance, min(from_pos) AS from_pos FROM log_hole GROUP BY process_id, instance
)
SELECT s.kafka_cluster, s.group_id, s.process_id, s.instance, s.client, s.resource,
  coalesce(s.member_id, CASE WHEN s.is_member THEN s.next_joined.member_id END) AS member_id,
  coalesce(s.generation, CASE WHEN s.is_member AND NOT s.is_cooperative THEN s.next_joined.generation - 1 END) AS generation,
  s.next_joined.generation AS before_generation, s.first_line.stream_pos AS from_pos, s.first_line.at_ms AS from_ms, s.first_line.event_id AS from_id,
  s.event_id AS shown_id
FROM first_shown_partition s
LEFT JOIN consumer_creation m ON m.process_id = s.process_id AND m.instance = s.instance AND m.client = s.client
LEFT JOIN first_gap h ON h.process_id = s.process_id AND h.instance = s.instance
WHERE s.nth = 1 AND coalesce(m.stream_pos > s.stream_pos, true) AND coalesce(h.from_pos >= s.stream_pos, true)

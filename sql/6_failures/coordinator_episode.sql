-- One row for each time that a member lost its group's coordinator.
-- Reads: client_event, clock_offset, coordinator_outage
-- Grain: process_id, group_id, client, lost_ts
-- Public: yes
-- Repeated losses before the coordinator is found again are one episode. Whether others also lost it is reported only if the bounds of the clocks
-- leave no doubt, and not for clocks that no message relates.
CREATE OR REPLACE TEMPORARY VIEW coordinator_episode (
  kafka_cluster, group_id,
  process_id  COMMENT 'Process of the member',
  client,
  broker      COMMENT 'Coordinator that was lost',
  broker_id   COMMENT 'Its broker id',
  lost_ts     COMMENT 'Lost, by its own clock',
  lost_lo     COMMENT 'Earliest time of the loss (reference clock)',
  lost_hi     COMMENT 'Latest time of the loss',
  found_ts    COMMENT 'Found again, by its own clock; NULL: not shown, or the client was closed before',
  closed_ts   COMMENT 'Its client was closed before it found the coordinator, by its own clock; NULL: it was not',
  duration_ms COMMENT 'From loss to find, milliseconds; NULL: its clock stepped meanwhile, or may have',
  losses      COMMENT 'How often the loss was printed',
  cause       COMMENT 'Cause as printed, of the first loss',
  scope       COMMENT 'Who else had no coordinator at that time (lost within episodes_together_ms, or absent meanwhile): member: nobody else; group:
    other members of the group; broker: also members of other groups of that broker; NULL: unknown, because the clock bounds are too wide',
  witness
)
AS
WITH coordinator_line AS (
  SELECT kafka_cluster, group_id, process_id, client, stream_pos, at_ms, event, event_id, coordinator, coordinator_node, cause,
    count_if(event = 'coordinator_discovered') OVER (PARTITION BY process_id, group_id, client ORDER BY stream_pos ROWS UNBOUNDED PRECEDING)
      - CASE WHEN event = 'coordinator_discovered' THEN 1 ELSE 0 END AS turn
  FROM client_event WHERE event IN ('coordinator_lost', 'coordinator_discovered')
), episode AS (
  SELECT kafka_cluster, group_id, process_id, client, turn, min_by(coordinator, stream_pos) FILTER (WHERE event = 'coordinator_lost') AS broker,
    2147483647 - min_by(coordinator_node, stream_pos) FILTER (WHERE event = 'coordinator_lost') AS broker_id,
    min(at_ms) FILTER (WHERE event = 'coordinator_lost') AS lost_ms, max(at_ms) FILTER (WHERE event = 'coordinator_discovered') AS found_ms,
    min(stream_pos) FILTER (WHERE event = 'coordinator_lost') AS lost_pos,
    max(stream_pos) FILTER (WHERE event = 'coordinator_discovered') AS found_pos, count_if(event = 'coordinator_lost') AS losses,
    min_by(cause, stream_pos) FILTER (WHERE event = 'coordinator_lost') AS cause, sort_array(collect_list(struct(stream_pos, event_id))) AS lines
  FROM coordinator_line GROUP BY kafka_cluster, group_id, process_id, client, turn
), closed_episode AS (
  SELECT e.process_id, e.group_id, e.client, e.turn, min(c.closed_ms) AS closed_ms, max(c.broker_id) AS broker_id, max(c.broker) AS broker,
    coalesce(bool_or(c.is_refused AND c.found_ms IS NULL), false) AS is_refused
  FROM episode e
  JOIN coordinator_outage c ON c.process_id = e.process_id AND c.group_id = e.group_id AND c.client = e.client
    AND c.lost_ms <= e.lost_ms AND (c.closed_ms >= e.lost_ms OR c.is_refused OR e.broker_id IS NULL AND c.lost_ms = e.lost_ms)
  WHERE e.losses > 0 GROUP BY e.process_id, e.group_id, e.client, e.turn
), episode_with_end AS (
  -- A coordinator that another client of that name found after this one was closed does not count, nor one that refused.
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.client, coalesce(e.broker, c.broker) AS broker, coalesce(e.broker_id, c.broker_id) AS broker_id,
    e.lost_ms, e.lost_pos, e.losses, e.cause, e.lines,
    CASE WHEN NOT coalesce(c.closed_ms <= e.found_ms, false) AND NOT coalesce(c.is_refused, false) THEN e.found_ms END AS found_ms,
    CASE WHEN NOT coalesce(c.closed_ms <= e.found_ms, false) AND NOT coalesce(c.is_refused, false) THEN e.found_pos END AS found_pos,
    CASE WHEN coalesce(c.closed_ms <= e.found_ms, true) THEN c.closed_ms END AS closed_ms
  FROM episode e
  LEFT JOIN closed_episode c ON c.process_id = e.process_id AND c.group_id = e.group_id AND c.client = e.client AND c.turn = e.turn
), episode_on_clock AS (
  SELECT e.*, e.lost_ms - o.hi_ms AS lost_lo_ms, e.lost_ms - o.lo_ms AS lost_hi_ms, o.reference_process_id,
    min(o.reference_process_id) OVER of_group < max(o.reference_process_id) OVER of_group AS is_apart,
    coalesce(exists(o.step.set_back, p -> p > e.lost_pos AND p <= e.found_pos), false)
      OR coalesce(e.found_ms - e.lost_ms >= o.step.least_ms, false) AS is_doubted
  FROM episode_with_end e LEFT JOIN clock_offset o ON o.process_id = e.process_id AND o.is_island_reference
  WHERE e.losses > 0
  WINDOW of_group AS (PARTITION BY e.kafka_cluster, e.group_id)
), episode_interval AS (
  -- Losses within that time of each other are in the same interval or the next; so are those before another member's coordinator was found.
  SELECT *, explode(sequence(stretch, least(greatest(stretch, to_hi_ms DIV (episodes_together_ms + 1)),
    stretch + outage_open_ms DIV (episodes_together_ms + 1)))) AS place
  FROM (SELECT *, lost_lo_ms DIV (episodes_together_ms + 1) AS stretch,
    coalesce(CASE WHEN NOT is_doubted THEN lost_lo_ms + found_ms - lost_ms END, lost_lo_ms) AS to_lo_ms,
    coalesce(CASE WHEN NOT is_doubted THEN lost_hi_ms + found_ms - lost_ms END, lost_hi_ms) AS to_hi_ms
    FROM episode_on_clock)
), concurrent_loss AS (
  SELECT process_id, group_id, client, lost_ms, bool_or(is_of_group AND is_sure) AS others_of_group,
    bool_or(NOT is_of_group AND is_sure) AS other_groups, bool_or(is_of_group) AS maybe_of_group
  FROM (
    SELECT a.process_id, a.group_id, a.client, a.lost_ms, b.group_id = a.group_id AS is_of_group,
      greatest(b.lost_hi_ms - a.lost_lo_ms, a.lost_hi_ms - b.lost_lo_ms) <= episodes_together_ms
        OR b.lost_hi_ms <= a.to_lo_ms AND a.lost_hi_ms <= b.to_lo_ms AS is_sure
    FROM (SELECT *, explode(array(place - 1, place, place + 1)) AS near FROM episode_interval) a
    JOIN episode_interval b ON b.place = a.near AND b.kafka_cluster = a.kafka_cluster AND b.reference_process_id = a.reference_process_id
      AND b.process_id <> a.process_id AND (b.group_id = a.group_id OR b.broker_id <=> a.broker_id)
      AND (greatest(b.lost_lo_ms - a.lost_hi_ms, a.lost_lo_ms - b.lost_hi_ms) <= episodes_together_ms
        OR b.lost_lo_ms <= a.to_hi_ms AND a.lost_lo_ms <= b.to_hi_ms)
  )
  GROUP BY process_id, group_id, client, lost_ms
)
SELECT p.kafka_cluster, p.group_id, p.process_id, p.client, p.broker, p.broker_id, timestamp_millis(p.lost_ms) AS lost_ts,
  timestamp_millis(p.lost_lo_ms) AS lost_lo, timestamp_millis(p.lost_hi_ms) AS lost_hi, timestamp_millis(p.found_ms) AS found_ts,
  timestamp_millis(p.closed_ms) AS closed_ts, CASE WHEN NOT p.is_doubted THEN p.found_ms - p.lost_ms END AS duration_ms, p.losses, p.cause,
  CASE WHEN a.other_groups THEN 'broker' WHEN a.others_of_group THEN 'group'
    WHEN NOT coalesce(a.maybe_of_group OR p.is_apart, false) THEN 'member' END AS scope,
  transform(slice(p.lines, 1, 20), l -> l.event_id) AS witness
FROM episode_on_clock p
LEFT JOIN concurrent_loss a ON a.process_id = p.process_id AND a.group_id = p.group_id AND a.client = p.client AND a.lost_ms = p.lost_ms

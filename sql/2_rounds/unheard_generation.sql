-- One row per membership that the coordinator counted in a later generation than the member's own log: lines in between are missing.
-- Reads: join_round, round_line, event
-- Grain: process_id, instance, to_pos
CREATE OR REPLACE TEMPORARY VIEW unheard_generation (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which run of the process',
  from_pos   COMMENT 'First line of the last generation in its own log',
  to_pos     COMMENT 'Line that ends that membership',
  event_id   COMMENT 'Event of that line'
)
COMMENT 'One row per membership that the coordinator counted in a later generation than the member''s own log.'
AS
WITH membership_round AS (
  SELECT process_id, instance, group_id, client, generation, member_id, from_pos,
    lead(member_id) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_member
  FROM join_round
), lines_after_round AS (
  -- The lines of a member's client after a generation, up to the next one.
  SELECT process_id, instance, group_id, client, round_pos,
    sort_array(collect_list(struct(stream_pos, event, event_id, member_id))) AS lines
  FROM round_line
  WHERE round_pos IS NOT NULL AND event IN ('joining', 'leaving', 'partitions_revoked', 'partitions_lost', 'heartbeat_failed',
    'member_fenced', 'generation_reset', 'poll_timeout')
  GROUP BY process_id, instance, group_id, client, round_pos
), membership_end_line AS (
  SELECT process_id, instance, group_id, client, round_pos, lines,
    get(filter(lines, x -> x.event IN ('leaving', 'partitions_lost', 'member_fenced', 'generation_reset')), 0) AS end_line
  FROM lines_after_round
), final_round AS (
  -- The first line that reports the end of a membership ends it. Requests before it may have been answered without a logged response.
  SELECT r.process_id, r.instance, r.generation, r.from_pos, r.group_id,
    -- Releases that do not print the id with the generation print it when it is no longer valid.
    coalesce(r.member_id, get(filter(e.lines, x -> x.member_id IS NOT NULL), 0).member_id) AS member_id,
    size(filter(e.lines, x -> x.event = 'joining' AND (e.end_line IS NULL OR x.stream_pos < e.end_line.stream_pos))) AS asked_count,
    coalesce(e.end_line, element_at(e.lines, -1)) AS last
  FROM membership_round r
  JOIN membership_end_line e ON e.process_id = r.process_id AND e.instance = r.instance AND e.group_id = r.group_id AND e.client = r.client
    AND e.round_pos = r.from_pos
  WHERE r.member_id IS NULL OR NOT r.member_id <=> r.next_member
), coordinator_generation AS (
  -- A coordinator that reports a member as leaving, removed or joining again knows it in the group's current generation. Member ids are
  -- unique even if the coordinator's cluster is unknown.
  SELECT group_id, member_id, max(generation) AS generation
  FROM (
    SELECT group_id, member_id, event, reason,
      -- This is not the last stabilised generation: if a member leaves while others join, its departure is logged after the generation
      -- without it.
      coalesce(old_generation, lag(old_generation) IGNORE NULLS OVER (PARTITION BY group_id, process_id, instance ORDER BY stream_pos))
        AS generation
    FROM event
    WHERE event IN ('rebalance_preparing', 'member_expired', 'member_left') AND broker_id IS NOT NULL
  )
  WHERE member_id IS NOT NULL AND (event IN ('member_expired', 'member_left') OR event = 'rebalance_preparing'
    AND NOT lower(reason) LIKE 'adding new member%')
  GROUP BY group_id, member_id
)
SELECT
  k.process_id AS process_id,
  k.instance AS instance,
  k.from_pos AS from_pos,
  k.last.stream_pos AS to_pos,
  k.last.event_id AS event_id
FROM final_round k
JOIN coordinator_generation n ON n.group_id = k.group_id AND n.member_id = k.member_id
-- A member whose join was never answered may be in that generation without knowing it.
WHERE n.generation - k.generation > k.asked_count

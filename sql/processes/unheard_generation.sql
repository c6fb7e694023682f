-- One row per membership that its coordinator counted in a later generation than the member's own log: it missed how it came there.
-- Reads: join_round, round_line, event
-- Grain: process_id, instance, to_pos
CREATE OR REPLACE TEMPORARY VIEW unheard_generation (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  from_pos   COMMENT 'Where the last generation that its own log tells begins',
  to_pos     COMMENT 'Line with which that membership is over',
  event_id   COMMENT 'Event of that line'
)
COMMENT 'One row per membership that its coordinator counted in a later generation than the member''s own log.'
AS
WITH round AS (
  SELECT process_id, instance, group_id, client, generation, member_id, from_pos,
    lead(member_id) OVER (PARTITION BY process_id, instance, group_id, client ORDER BY from_pos) AS next_member
  FROM join_round
), said AS (
  -- What a member's client prints behind a generation, up to the next.
  SELECT process_id, instance, group_id, client, round_pos,
    sort_array(collect_list(struct(stream_pos, event, event_id, member_id))) AS lines
  FROM round_line
  WHERE round_pos IS NOT NULL AND event IN ('joining', 'leaving', 'partitions_revoked', 'partitions_lost', 'heartbeat_failed',
    'member_fenced', 'generation_reset', 'poll_timeout')
  GROUP BY process_id, instance, group_id, client, round_pos
), ended AS (
  SELECT process_id, instance, group_id, client, round_pos, lines,
    get(filter(lines, x -> x.event IN ('leaving', 'partitions_lost', 'member_fenced', 'generation_reset')), 0) AS over
  FROM said
), known AS (
  -- The membership is over with the first line that says so. Requests before it may have been answered unheard.
  SELECT r.process_id, r.instance, r.generation, r.from_pos, r.group_id,
    -- Releases that do not print the id with the generation print it when it is no longer valid.
    coalesce(r.member_id, get(filter(e.lines, x -> x.member_id IS NOT NULL), 0).member_id) AS member_id,
    size(filter(e.lines, x -> x.event = 'joining' AND (e.over IS NULL OR x.stream_pos < e.over.stream_pos))) AS asked_count,
    coalesce(e.over, element_at(e.lines, -1)) AS last
  FROM round r
  JOIN ended e ON e.process_id = r.process_id AND e.instance = r.instance AND e.group_id = r.group_id AND e.client = r.client
    AND e.round_pos = r.from_pos
  WHERE r.member_id IS NULL OR NOT r.member_id <=> r.next_member
), counted AS (
  -- A coordinator that names a member as leaving, removed, or asking anew knows it in the generation that the group then has. Member ids
  -- are unique, also where no line says which cluster the coordinator is of.
  SELECT group_id, member_id, max(generation) AS generation
  FROM (
    SELECT group_id, member_id, event, reason,
      -- Not the generation that was stabilised last: a member that leaves while others join is told as gone behind the generation that has
      -- it no more.
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
FROM known k
JOIN counted n ON n.group_id = k.group_id AND n.member_id = k.member_id
-- Who asked to join and did not get the answer may be a member of that generation without knowing it.
WHERE n.generation - k.generation > k.asked_count

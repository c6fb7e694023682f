-- One row per place where a member reached a generation in a way that its log does not explain: lines are missing.
-- Reads: join_round, round_line
-- Grain: process_id, instance, to_pos, why
-- A member id changes only with a line (fenced, left, generation reset) or in a new process run. A change without either means that such a
-- line is missing. A member that was paused or cut off while its group continued prints errors when it returns, so a skipped generation
-- without such an error is a gap. Membership without a join request is a gap too.
CREATE OR REPLACE TEMPORARY VIEW membership_hole (
  process_id COMMENT 'Which run of the process',
  instance   COMMENT 'Last position that is certainly before it',
  from_pos   COMMENT 'First position that is certainly after it',
  to_pos     COMMENT 'True if a whole stretch may be missing; false if a single missing line explains it',
  is_wide    COMMENT 'True when a whole stretch may be missing; false when a single line explains it',
  why        COMMENT 'member_changed, generation_skipped or joined_unasked',
  event_id   COMMENT 'First line that is certainly after it'
)
COMMENT 'One row per place where a member reached a generation in a way that its log does not explain.'
AS
WITH round AS (
  SELECT r.process_id, r.instance, r.group_id, r.client, r.is_worker, r.generation, r.member_id, r.from_pos, r.joining_count,
    coalesce(r.synced_id, r.joined_id, r.worker_assigned_id) AS event_id, l.trouble_pos, l.loss_pos,
    lag(r.generation) OVER in_order AS last_generation, lag(r.from_pos) OVER in_order AS last_pos,
    lag(r.member_id) IGNORE NULLS OVER in_order AS last_member,
    lag(CASE WHEN r.member_id IS NOT NULL THEN r.from_pos END) IGNORE NULLS OVER in_order AS last_member_pos,
    max(r.joining_count) OVER (PARTITION BY r.process_id, r.group_id, r.client) AS most_asked,
    max(r.joined_id) OVER (PARTITION BY r.process_id, r.group_id, r.client) IS NOT NULL AS prints_joins
  FROM join_round r
  JOIN round_line l ON l.process_id = r.process_id AND l.instance = r.instance AND l.group_id = r.group_id AND l.client = r.client
    AND l.stream_pos = r.from_pos
  WINDOW in_order AS (PARTITION BY r.process_id, r.instance, r.group_id, r.client ORDER BY r.from_pos)
)
SELECT
  process_id AS process_id,
  instance AS instance,
  last_member_pos AS from_pos,
  from_pos AS to_pos,
  true AS is_wide,
  'member_changed' AS why,
  event_id AS event_id
FROM round
-- A member that learns only from the coordinator's response that its id is no longer valid asks again.
WHERE member_id <> last_member AND NOT coalesce(CASE WHEN joining_count > 1 THEN trouble_pos ELSE loss_pos END > last_member_pos, false)
UNION ALL
-- A leaving member prints its own id.
SELECT
  e.process_id AS process_id,
  e.instance AS instance,
  r.from_pos AS from_pos,
  e.stream_pos AS to_pos,
  true AS is_wide,
  'member_changed' AS why,
  e.event_id AS event_id
FROM round_line e
JOIN join_round r ON r.process_id = e.process_id AND r.instance = e.instance AND r.group_id = e.group_id AND r.client = e.client
  AND r.from_pos = e.round_pos
WHERE e.event = 'leaving' AND e.member_id <> r.member_id AND NOT coalesce(e.loss_pos > r.from_pos, false)
UNION ALL
SELECT
  process_id AS process_id,
  instance AS instance,
  last_pos AS from_pos,
  from_pos AS to_pos,
  true AS is_wide,
  'generation_skipped' AS why,
  event_id AS event_id
FROM round
-- Up to 2.6.0 a round that failed after the join is not printed, only the next join request.
WHERE generation - last_generation > CASE WHEN prints_joins THEN 1 ELSE greatest(joining_count, 1) END
  AND NOT coalesce(trouble_pos > last_pos, false)
UNION ALL
SELECT
  process_id AS process_id,
  instance AS instance,
  last_pos AS from_pos,
  from_pos AS to_pos,
  false AS is_wide,
  'joined_unasked' AS why,
  event_id AS event_id
FROM round
WHERE is_worker AND joining_count = 0 AND most_asked > 0 AND last_pos IS NOT NULL AND generation > last_generation

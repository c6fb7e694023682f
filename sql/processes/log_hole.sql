-- One row per place in a member's log where lines of it must be missing: rotated away, cut out, not copied, lost one by one.
-- Reads: membership_hole, unheard_generation, assignment_hole, task_hole, filtered_log, event
-- Grain: process_id, instance, to_pos
-- Of a filtered log any line may be missing: between each two that are there, and before and behind them.
-- Where several things show the same place, the widest hole counts, and the first of the reasons for it.
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which life of the process',
  from_pos   COMMENT 'Last position that is surely before it',
  to_pos     COMMENT 'First position that is surely after it',
  is_wide
    COMMENT 'True when a whole stretch may be missing, with ends and starts in it; false when a single line that is not there explains it',
  why        COMMENT 'The reason of membership_hole or task_hole, lists_differ (assignment_hole), coordinator_ahead (unheard_generation)
    or filtered (filtered_log)',
  event_id   COMMENT 'First line that is surely after it'
)
COMMENT 'One row per place in a member''s log where lines of it must be missing.'
AS
WITH kept AS (
  SELECT e.process_id, e.instance, e.stream_pos, e.event_id,
    coalesce(lag(e.stream_pos) OVER (PARTITION BY e.process_id, e.instance ORDER BY e.stream_pos), e.stream_pos - 1) AS last_pos
  FROM event e
  LEFT SEMI JOIN filtered_log f ON f.process_id = e.process_id
), hole AS (
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM membership_hole
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, true, 'coordinator_ahead', event_id FROM unheard_generation
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, is_wide, 'lists_differ', event_id FROM assignment_hole
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM task_hole
  UNION ALL
  SELECT process_id, instance, last_pos, stream_pos, true, 'filtered', event_id FROM kept
  UNION ALL
  SELECT process_id, instance, max(stream_pos), max(stream_pos) + 1, true, 'filtered', max_by(event_id, stream_pos)
  FROM kept
  GROUP BY process_id, instance
)
SELECT
  process_id AS process_id,
  instance AS instance,
  min(from_pos) AS from_pos,
  to_pos AS to_pos,
  bool_or(is_wide) AS is_wide,
  min_by(why, struct(NOT is_wide, why)) AS why,
  min(event_id) AS event_id
FROM hole
GROUP BY process_id, instance, to_pos

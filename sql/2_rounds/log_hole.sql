-- One row per gap in a member's log where lines must be missing: rotated away, cut out, not copied, or lost one by one.
-- Reads: membership_hole, unheard_generation, assignment_hole, task_hole, filtered_log, event
-- Grain: process_id, instance, to_pos
-- In a filtered log any line may be missing: between any two lines, and before the first and after the last. If several reasons point to
-- the same place, the row has the widest gap and the first of the reasons for it.
CREATE OR REPLACE TEMPORARY VIEW log_hole (
  process_id COMMENT 'Process',
  instance   COMMENT 'Which run of the process',
  from_pos   COMMENT 'Last position that is certainly before it',
  to_pos     COMMENT 'First position that is certainly after it',
  is_wide
    COMMENT 'True if a whole stretch may be missing, including ends and starts; false if a single missing line explains it',
  why        COMMENT 'The reason of membership_hole or task_hole, lists_differ (assignment_hole), coordinator_ahead (unheard_generation)
    or filtered (filtered_log)',
  event_id   COMMENT 'First line that is certainly after it'
)
COMMENT 'One row per gap in a member''s log where lines must be missing.'
AS
WITH filtered_line AS (
  SELECT e.process_id, e.instance, e.stream_pos, e.event_id,
    coalesce(lag(e.stream_pos) OVER (PARTITION BY e.process_id, e.instance ORDER BY e.stream_pos), e.stream_pos - 1) AS last_pos
  FROM event e
  LEFT SEMI JOIN filtered_log f ON f.process_id = e.process_id
), gap AS (
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM membership_hole
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, true, 'coordinator_ahead', event_id FROM unheard_generation
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, is_wide, 'lists_differ', event_id FROM assignment_hole
  UNION ALL
  SELECT process_id, instance, from_pos, to_pos, is_wide, why, event_id FROM task_hole
  UNION ALL
  SELECT process_id, instance, last_pos, stream_pos, true, 'filtered', event_id FROM filtered_line
  UNION ALL
  SELECT process_id, instance, max(stream_pos), max(stream_pos) + 1, true, 'filtered', max_by(event_id, stream_pos)
  FROM filtered_line
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
FROM gap
GROUP BY process_id, instance, to_pos

-- One row per line of a group's client, with the generation that it follows and the last line before it that can end a membership.
-- Reads: client_event, join_round
-- Grain: event_id
CREATE OR REPLACE TEMPORARY VIEW round_line (
  process_id, instance, group_id, client, stream_pos, event_id, event,
  member_id   COMMENT 'Member id, if the line has it',
  round_pos   COMMENT 'Where the generation before the line begins (from_pos of join_round); NULL: none has begun',
  trouble_pos COMMENT 'Last line before it that ends a membership or lets a generation pass; NULL: none',
  loss_pos    COMMENT 'The same without lines that do not invalidate the member id: a lost coordinator, a worker that revokes its work'
)
AS
WITH client_line AS (
  SELECT e.process_id, e.instance, e.group_id, e.client, e.stream_pos, e.event_id, e.event, e.member_id, r.from_pos,
    e.event IN ('coordinator_lost', 'worker_revoking') AS is_distance,
    e.event IN ('coordinator_lost', 'generation_reset', 'poll_timeout', 'member_fenced', 'leaving', 'worker_revoking', 'join_failed',
      'sync_failed')
      -- A member that learns in time of its group's rebalance does not miss the generation.
      OR e.event = 'heartbeat_failed' AND NOT coalesce(e.error, e.cause, e.reason, '') RLIKE '(?i)rebalanc' AS is_trouble
  FROM client_event e
  LEFT JOIN join_round r ON r.process_id = e.process_id AND r.instance = e.instance AND r.group_id = e.group_id AND r.client = e.client
    AND r.from_pos = e.stream_pos
)
SELECT process_id, instance, group_id, client, stream_pos, event_id, event, member_id, max(from_pos) OVER before AS round_pos,
  max(CASE WHEN is_trouble THEN stream_pos END) OVER before AS trouble_pos,
  max(CASE WHEN is_trouble AND NOT is_distance THEN stream_pos END) OVER before AS loss_pos
FROM client_line
WINDOW before AS (PARTITION BY process_id, instance, group_id, client ORDER BY stream_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)

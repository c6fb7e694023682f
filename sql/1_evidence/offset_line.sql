-- One row per line and partition that shows where a consumer of a group reads, commits or fails to commit.
-- Reads: placed_event
-- Grain: event_id, resource
-- Releases from 3.4 on print the starting position without naming the client. It then belongs to the consumer that was last assigned the partition.
CREATE OR REPLACE TEMPORARY VIEW offset_line (
  kafka_cluster, process_id, instance,
  client     COMMENT 'Client inside the process; for a sink task, the task',
  task,
  group_id   COMMENT 'Group; NULL if neither this line nor the line of the partition''s assignment names it',
  resource   COMMENT 'Topic partition; NULL: the line is about all partitions of the client',
  stream_pos, at_ms, event_id,
  kind       COMMENT 'given, taken, start, committed, asked, refused',
  how        COMMENT 'start: committed, reset or sought; taken: revoked or lost; refused: automatic (names the whole position) or NULL',
  at_offset  COMMENT 'Offset in the line',
  fenced_by  COMMENT 'refused: group, because it was no longer a member; group.instance.id, because another process has its static id'
)
AS
WITH offset_event AS (
  SELECT e.kafka_cluster, e.process_id, e.instance, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id, e.event, e.group_id, e.task,
    coalesce(e.task, e.client_id, e.thread, '-') AS client, e.client_id IS NULL AND e.task IS NULL AND e.event = 'position_set' AS is_nameless,
    CASE e.event
      WHEN 'partitions_assigned' THEN 'given' WHEN 'partitions_revoked' THEN 'taken' WHEN 'partitions_lost' THEN 'taken'
      WHEN 'offset_committed' THEN 'committed' WHEN 'commit_sent' THEN 'asked' WHEN 'task_committing' THEN 'asked'
      WHEN 'commit_failed' THEN 'refused' WHEN 'task_commit_failed' THEN 'refused' ELSE 'start' END AS kind,
    CASE WHEN e.event = 'position_set' THEN 'committed' WHEN e.event = 'position_reset' THEN 'reset'
      WHEN e.event IN ('position_sought', 'sink_position_set') THEN 'sought'
      WHEN e.event = 'partitions_revoked' THEN 'revoked' WHEN e.event = 'partitions_lost' THEN 'lost'
      WHEN e.message LIKE 'Synchronous auto-commit of offsets%' THEN 'automatic' END AS how,
    CASE WHEN e.event NOT IN ('commit_failed', 'task_commit_failed') THEN NULL
      WHEN e.error RLIKE '(?i)group.instance.id' OR e.error RLIKE '(?i)fenc' AND e.error NOT RLIKE '(?i)epoch' THEN 'group.instance.id'
      WHEN e.error RLIKE '(?i)not aware of this member|unknown_?member|already rebalanced|not part of (an|the) active group'
        OR e.error RLIKE '(?i)kicked out of the group|illegal.?generation|generation id|stale.?member|fenc' THEN 'group' END AS fenced_by,
    CASE WHEN e.event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost')
        THEN transform(e.partitions, p -> named_struct('resource', p, 'at_offset', CAST(NULL AS BIGINT)))
      WHEN e.`partition` IS NOT NULL THEN array(named_struct('resource', e.`partition`, 'at_offset', e.`offset`))
      WHEN e.offsets IS NOT NULL THEN transform(map_entries(e.offsets), x -> named_struct('resource', x.key, 'at_offset', x.value))
      -- A failed commit may name no partition.
      ELSE array(named_struct('resource', CAST(NULL AS STRING), 'at_offset', CAST(NULL AS BIGINT))) END AS positions
  FROM placed_event e
  WHERE (e.client_kind IS NULL OR e.client_kind = 'Consumer') AND (
    e.event IN ('partitions_assigned', 'partitions_revoked', 'partitions_lost', 'offset_committed', 'commit_sent', 'commit_failed',
      'task_committing', 'task_commit_failed')
    -- A reset strategy without an offset is not a position yet. A sink's own line only repeats the position of its consumer.
    OR e.event IN ('position_set', 'position_reset', 'position_sought') AND e.`offset` >= 0
    OR e.event = 'sink_position_set' AND e.message LIKE '%Rewinding%')
), partition_event AS (
  SELECT *, p.resource, CASE WHEN p.at_offset >= 0 THEN p.at_offset END AS at_offset FROM offset_event LATERAL VIEW explode(positions) x AS p
), partition_holder AS (
  SELECT *, coalesce(given_to, lag(given_to) IGNORE NULLS OVER (PARTITION BY process_id, instance, resource ORDER BY stream_pos)) AS holder
  FROM (SELECT *, CASE WHEN kind = 'given' THEN struct(client, task, group_id) END AS given_to FROM partition_event)
)
SELECT kafka_cluster, process_id, instance, CASE WHEN is_nameless THEN holder.client ELSE client END AS client,
  CASE WHEN is_nameless THEN holder.task ELSE task END AS task,
  coalesce(group_id, CASE WHEN is_nameless OR holder.client = client THEN holder.group_id END) AS group_id, resource, stream_pos, at_ms, event_id,
  kind, how, at_offset, fenced_by
FROM partition_holder WHERE NOT (is_nameless AND holder IS NULL)

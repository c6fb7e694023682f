-- One row per line in which a consumer of a group lists all partitions that it owns at that moment.
-- Reads: event
-- Grain: process_id, stream_pos
-- A partition that was assigned before and is not in such a list is no longer owned, even if the line that revoked it is missing. A consumer lists
-- everything that it owns before it reconciles its assignment (cooperative, KIP-848), and when it loses everything. An eager consumer also revokes
-- everything each time. Any consumer does so when it leaves, but lines in between may be missing, so such a list only raises a doubt.
CREATE OR REPLACE TEMPORARY VIEW owned_list (
  process_id, instance, client, stream_pos, at_ms, event_id,
  partitions COMMENT 'All partitions that it owns when it prints this',
  is_last    COMMENT 'True if it owns none of them after this line',
  is_eager   COMMENT 'True if the member used the eager protocol, in which an assignment is always complete',
  is_sure    COMMENT 'False if it may be incomplete: lines are, or may be, missing between it and the next one, or before it'
)
AS
WITH consumer_line AS (
  -- Only assignors that support nothing but the eager protocol: lists of others may be incomplete.
  SELECT process_id, instance, coalesce(client_id, task, thread, '-') AS client, stream_pos, unix_millis(ts) AS at_ms, event_id, event, partitions,
    owned_partitions, coalesce(protocol, lag(protocol) IGNORE NULLS OVER in_order, '') IN ('range', 'roundrobin', 'sticky') AS is_eager,
    coalesce(lead(event) OVER in_order = 'leaving', false) AS is_leaving,
    -- A consumer that prints such lists prints one before each assignment.
    event = 'partitions_assigned' AND lag(CASE WHEN event IN ('partitions_assigned', 'assignment_updated', 'reconciling') THEN event END) IGNORE NULLS
      OVER in_order = 'partitions_assigned' AND count_if(event IN ('assignment_updated', 'reconciling')) OVER before > 0 AS is_unlisted
  FROM event
  WHERE client_kind = 'Consumer' AND logger LIKE 'org.apache.kafka.%' AND event IN (
    'joining', 'joined', 'synced', 'leaving', 'partitions_assigned', 'partitions_lost', 'partitions_revoked', 'assignment_updated', 'reconciling')
  WINDOW in_order AS (PARTITION BY process_id, instance, coalesce(client_id, task, thread, '-') ORDER BY stream_pos),
    before AS (PARTITION BY process_id, instance, coalesce(client_id, task, thread, '-') ORDER BY stream_pos
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
)
SELECT process_id, instance, client, stream_pos, at_ms, event_id,
  coalesce(CASE WHEN event IN ('assignment_updated', 'reconciling') THEN owned_partitions ELSE partitions END, array()) AS partitions,
  event IN ('partitions_lost', 'partitions_revoked') AS is_last, is_eager,
  event <> 'partitions_assigned' AND (event <> 'partitions_revoked' OR is_eager) AS is_sure
FROM consumer_line
WHERE event = 'partitions_lost' AND partitions IS NOT NULL OR event = 'partitions_revoked' AND (is_eager OR is_leaving) AND partitions IS NOT NULL
  OR event IN ('assignment_updated', 'reconciling') AND owned_partitions IS NOT NULL OR is_unlisted AND partitions IS NOT NULL

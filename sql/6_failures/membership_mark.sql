-- One row per event of a seat (a client of a group in one process run), with the membership that it belongs to.
-- Reads: client_event, removed_member, event, process_cluster
-- Grain: seat, at_ms, stream_pos, event_id, member_id
-- A membership begins when the client becomes a member, and lasts until it becomes a member again.
CREATE OR REPLACE TEMPORARY VIEW membership_mark (
  seat          COMMENT 'Group, process, process run and client',
  kafka_cluster COMMENT 'Kafka cluster id; NULL: unknown',
  group_id      COMMENT 'Group',
  process_id    COMMENT 'Process',
  instance      COMMENT 'Run of the process',
  client        COMMENT 'Client inside the process',
  is_worker     COMMENT 'True for a Connect worker itself',
  at_ms         COMMENT 'When, by the process''s own clock',
  stream_pos    COMMENT 'Position in the process''s log; -1: a line of its coordinator',
  event_id      COMMENT 'Event',
  event         COMMENT 'Its name',
  member_id     COMMENT 'Member id; NULL: unknown',
  generation    COMMENT 'Generation; NULL: unknown',
  kind          COMMENT 'in, asked (to join), lost (its coordinator), found (it), refused, or removed (by its coordinator''s log)',
  session_ms    COMMENT 'Session timeout of a removed member; 0: unknown, or not removed',
  membership    COMMENT 'Its number in the seat; 0: before the first',
  answered_ms   COMMENT 'Last response of its coordinator so far; NULL: none yet'
)
COMMENT 'One row per event of a seat, with the membership that it belongs to.'
AS
WITH classified_event AS (
  SELECT kafka_cluster, group_id, process_id, instance, client, is_worker, at_ms, stream_pos, event_id, event,
    member_id, generation,
    CASE
      WHEN event IN ('joined', 'synced', 'worker_assigned', 'partitions_assigned') THEN 'in'
      WHEN event = 'coordinator_lost' THEN 'lost'
      WHEN event = 'coordinator_discovered' THEN 'found'
      WHEN event = 'joining' THEN 'asked'
      WHEN event = 'member_fenced' AND group_instance_id IS NULL
        OR event IN ('heartbeat_failed', 'join_failed', 'sync_failed', 'generation_reset')
          AND coalesce(cause, error, reason, '') RLIKE 'UNKNOWN_MEMBER|not aware of this member|member id|is unknown|FENCED_MEMBER'
            THEN 'refused'
    END AS kind
  FROM client_event
  WHERE at_ms IS NOT NULL AND group_id IS NOT NULL
  UNION ALL
  -- A member of a share group owns no partition: its membership begins when it is stable.
  SELECT c.kafka_cluster, e.group_id, e.process_id, e.instance, coalesce(e.client_id, e.thread, '-'), false, unix_millis(e.ts),
    e.stream_pos,
    e.event_id, e.event, e.member_id, CAST(NULL AS BIGINT), 'in'
  FROM event e
  JOIN process_cluster c ON c.process_id = e.process_id
    AND c.instance = e.instance AND e.stream_pos >= c.from_pos AND coalesce(e.stream_pos < c.to_pos, true)
  WHERE e.client_kind = 'ShareConsumer' AND e.event = 'member_state_changed' AND e.state_to = 'STABLE' AND e.ts IS NOT NULL
    AND e.group_id IS NOT NULL
), seat_event AS (
  SELECT concat_ws('|', group_id, process_id, CAST(instance AS STRING), client) AS seat, kafka_cluster, group_id, process_id, instance,
    client,
    is_worker, at_ms, stream_pos, event_id, event, member_id, generation, kind, 0L AS session_ms
  FROM classified_event
  WHERE kind IS NOT NULL
  UNION ALL
  -- The coordinator's log may have another name for the cluster, or none.
  SELECT concat_ws('|', r.group_id, r.process_id, CAST(r.instance AS STRING), r.client), NULL, r.group_id, r.process_id, r.instance,
    r.client, false, r.own_lo_ms, -1L, r.removed_id, 'member_expired', r.member_id, NULL, 'removed', coalesce(r.session_ms, 0L)
  FROM removed_member r
  -- If the clocks leave the time of the removal open, it is omitted: the member's own lines with that id show the membership.
  LEFT ANTI JOIN classified_event s ON r.own_hi_ms - r.own_lo_ms > coordinator_together_ms AND s.process_id = r.process_id
    AND s.group_id = r.group_id AND s.member_id = r.member_id
  WHERE r.process_id IS NOT NULL AND r.own_lo_ms IS NOT NULL
)
SELECT
  seat AS seat,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  process_id AS process_id,
  instance AS instance,
  client AS client,
  is_worker AS is_worker,
  at_ms AS at_ms,
  stream_pos AS stream_pos,
  event_id AS event_id,
  event AS event,
  member_id AS member_id,
  generation AS generation,
  kind AS kind,
  session_ms AS session_ms,
  count_if(kind = 'in') OVER so_far AS membership,
  -- Lines that only follow from the coordinator's response. A worker prints its assignment later, after its tasks have stopped.
  max(CASE WHEN event IN ('joined', 'synced', 'coordinator_discovered') THEN at_ms END) OVER so_far AS answered_ms
FROM seat_event
WINDOW so_far AS (PARTITION BY seat ORDER BY at_ms, stream_pos, event_id ROWS UNBOUNDED PRECEDING)

-- One row for each time in which a task, connector or partition that had had an owner had none.
-- Reads: ownership_gap, member, join_round, clock_offset
-- Grain: kafka_cluster, group_id, resource_kind, resource, previous_ownership_id
-- Public: yes
-- Certain from `from_hi` to `to_lo`, possible from `from_lo` to `to_hi`. Owners whose clocks cannot be compared have no row: one may have had it
-- while the other had not. It is never certain if a member of a generation in between, whose assignment no line shows, may have had it.
CREATE OR REPLACE TEMPORARY VIEW unowned (
  kafka_cluster, group_id, resource_kind,
  resource      COMMENT 'Resource without an owner',
  from_lo       COMMENT 'Earliest time at which its last owner lost it (reference clock)',
  from_hi       COMMENT 'Latest time at which its last owner lost it; NULL: no line shows that it did',
  to_lo         COMMENT 'Earliest time at which its next owner had it; NULL: no later owner in the logs',
  to_hi         COMMENT 'Latest time at which its next owner had it',
  certain_ms    COMMENT 'Without an owner for at least this long, milliseconds; NULL: no later owner',
  possible_ms   COMMENT 'Without an owner for at most this long, milliseconds; NULL: no bound',
  why           COMMENT 'failure: it failed; scheduled_delay: a Connect group held it for a worker''s return; process_gone: its process
    died or was restarted; expired: the broker removed its owner for silence; left_group: its owner left or lost the group; restart: the
    same member stopped and started it; rebalance: it moved; unknown',
  delay_ms      COMMENT 'Scheduled rebalance delay of the group meanwhile, milliseconds',
  previous_ownership_id COMMENT 'Last ownership before',
  previous_process_id   COMMENT 'Its process',
  previous_member_id    COMMENT 'Its member id',
  next_ownership_id     COMMENT 'First ownership after; NULL: none',
  next_process_id       COMMENT 'Its process',
  next_member_id        COMMENT 'Its member id',
  generation    COMMENT 'Generation that gave it to its next owner',
  reference_process_id, witness
)
AS
WITH assignment_delay AS (
  SELECT j.kafka_cluster, j.group_id, j.worker_assigned_ms - o.hi_ms AS assigned_ms, j.delay_ms, j.worker_assigned_id, o.reference_process_id,
    CAST(row_number() OVER (PARTITION BY j.kafka_cluster, j.group_id, o.reference_process_id
      ORDER BY j.worker_assigned_ms - o.hi_ms, j.worker_assigned_id) AS BIGINT) AS nth
  FROM join_round j JOIN clock_offset o ON o.process_id = j.process_id AND o.is_island_reference
  WHERE j.delay_ms > 0 AND j.worker_assigned_ms IS NOT NULL
), delay_edge AS (
  -- The number of the last delay before a gap, and of the last one in it.
  SELECT next_ownership_id, turn, count(nth) OVER (PARTITION BY kafka_cluster, group_id, reference_process_id ORDER BY at_ms, turn
    ROWS UNBOUNDED PRECEDING) AS so_far
  FROM (
    SELECT kafka_cluster, group_id, reference_process_id, assigned_ms AS at_ms, 1 AS turn, CAST(NULL AS STRING) AS next_ownership_id, nth
    FROM assignment_delay
    UNION ALL
    SELECT kafka_cluster, group_id, reference_process_id, previous_stop_ms, 0, next_ownership_id, NULL FROM ownership_gap
    UNION ALL
    SELECT kafka_cluster, group_id, reference_process_id, coalesce(start_hi_ms, begun_lo_ms), 2, next_ownership_id, NULL FROM ownership_gap
  )
  WHERE at_ms IS NOT NULL
), delay_range AS (
  SELECT next_ownership_id, max(CASE WHEN turn = 0 THEN so_far END) + 1 AS first_nth, max(CASE WHEN turn = 2 THEN so_far END) AS last_nth
  FROM delay_edge WHERE next_ownership_id IS NOT NULL GROUP BY next_ownership_id
), gap_delay AS (
  SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.ownership_id,
    max(struct(d.delay_ms IS NOT NULL AS is_known, d.delay_ms, d.worker_assigned_id)) AS delay
  FROM (
    SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.reference_process_id, g.previous.ownership_id AS ownership_id,
      explode(sequence(r.first_nth, r.last_nth)) AS nth
    FROM ownership_gap g JOIN delay_range r ON r.next_ownership_id = g.next_ownership_id AND r.first_nth <= r.last_nth
  ) g
  JOIN assignment_delay d ON d.kafka_cluster = g.kafka_cluster AND d.group_id = g.group_id AND d.reference_process_id = g.reference_process_id
    AND d.nth = g.nth
  GROUP BY g.kafka_cluster, g.group_id, g.resource_kind, g.resource, g.ownership_id
)
SELECT g.kafka_cluster, g.group_id, g.resource_kind, g.resource, timestamp_millis(g.previous_stop_ms) AS from_lo,
  timestamp_millis(g.previous.stop_hi_ms) AS from_hi, timestamp_millis(g.begun_lo_ms) AS to_lo, timestamp_millis(g.start_hi_ms) AS to_hi,
  CASE WHEN g.begun_lo_ms IS NULL THEN NULL
    WHEN g.may_be_owned THEN 0L
    WHEN NOT g.previous.is_open THEN greatest(0L, g.begun_lo_ms - g.previous.stop_hi_ms)
    ELSE 0L END AS certain_ms,
  g.start_hi_ms - g.previous_stop_ms AS possible_ms,
  CASE WHEN g.previous.phase_end = 'failed' THEN 'failure'
    WHEN d.delay IS NOT NULL AND g.resource_kind <> 'partition' THEN 'scheduled_delay'
    WHEN g.previous.phase_end = 'gone' THEN 'process_gone'
    WHEN m.left_broker = 'expired' AND (g.previous.stop_how IS NULL OR g.previous.stop_how = 'lost') THEN 'expired'
    WHEN g.previous.stop_how = 'lost' OR g.previous.stop_how IN ('client_closed', 'worker_stopped')
      AND g.resource_kind = 'partition' THEN 'left_group'
    WHEN g.previous.process_id = g.next_process_id AND g.previous.member_id = g.next_member_id AND g.resource_kind <> 'partition' THEN 'restart'
    WHEN g.next_ownership_id IS NOT NULL THEN 'rebalance'
    ELSE 'unknown' END AS why,
  d.delay.delay_ms AS delay_ms, g.previous.ownership_id AS previous_ownership_id, g.previous.process_id AS previous_process_id,
  g.previous.member_id AS previous_member_id, g.next_ownership_id, g.next_process_id, g.next_member_id, g.generation, g.reference_process_id,
  filter(array_distinct(concat(slice(g.previous.witness, -1, 1), coalesce(slice(g.witness, 1, 1), array()),
    array(d.delay.worker_assigned_id))), e -> e IS NOT NULL) AS witness
FROM ownership_gap g
LEFT JOIN gap_delay d ON d.kafka_cluster = g.kafka_cluster AND d.group_id <=> g.group_id AND d.resource_kind = g.resource_kind
  AND d.resource = g.resource AND d.ownership_id = g.previous.ownership_id
LEFT JOIN member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id AND m.member_id = g.previous.member_id

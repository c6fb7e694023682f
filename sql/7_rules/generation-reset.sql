-- One row for each time that a group's metadata was lost and its generations started again.
-- Reads: generation, offsets_topic, clock_offset, join_round, process_ending, filtered_log
-- If two brokers' logs are involved, only their clocks show which incarnation came first. A member of both incarnations knows the order.
WITH incarnation_end AS (
  SELECT kafka_cluster, group_id, incarnation, max(generation) AS last_generation, max_by(witness, generation) AS event_ids,
    max_by(coordinator, generation) AS coordinator, max_by(unix_millis(coalesce(assigned_ts, stabilized_ts)), generation) AS to_ms
  FROM generation GROUP BY kafka_cluster, group_id, incarnation
), incarnation_start AS (
  SELECT kafka_cluster, group_id, incarnation, min(generation) AS generation, min_by(coordinator, generation) AS coordinator,
    min_by(protocol_type, generation) AS protocol_type,
    min_by(unix_millis(coalesce(prepared_ts, first_asked_ts, stabilized_ts, first_joined_ts, last_synced_ts)), generation) AS from_ms,
    min_by(witness, generation) AS event_ids, max(incarnation_why) AS why
  FROM generation WHERE incarnation_why IN ('metadata_lost', 'unknown') GROUP BY kafka_cluster, group_id, incarnation
), lower_generation AS (
  -- Generations that a member joined after a higher one, in a single process run.
  SELECT DISTINCT kafka_cluster, group_id, generation
  FROM (
    SELECT kafka_cluster, group_id, generation, instance, lag(generation) OVER w AS last_generation, lag(instance) OVER w AS last_instance
    FROM join_round r LEFT ANTI JOIN filtered_log u ON u.process_id = r.process_id AND u.why = 'unordered'
    WINDOW w AS (PARTITION BY process_id, group_id, client ORDER BY round)
  )
  WHERE generation < last_generation AND instance = last_instance
), new_incarnation AS (
  SELECT s.kafka_cluster, s.group_id, s.incarnation, s.generation, s.coordinator, s.protocol_type, s.from_ms, s.why, e.last_generation,
    e.coordinator AS last_coordinator, e.to_ms AS last_ms, array_distinct(slice(e.event_ids, greatest(size(e.event_ids) - 1, 1), 2)) AS before_ids,
    array_distinct(slice(s.event_ids, 1, 6)) AS after_ids
  FROM incarnation_start s
  LEFT JOIN incarnation_end e ON e.kafka_cluster = s.kafka_cluster AND e.group_id = s.group_id AND e.incarnation = s.incarnation - 1
  LEFT JOIN lower_generation f ON f.kafka_cluster = s.kafka_cluster AND f.group_id = s.group_id AND f.generation = s.generation
  LEFT ANTI JOIN filtered_log u ON u.process_id = s.coordinator AND u.why = 'unordered'
  -- Without the coordinator's log it is unknown if the group was deleted. A member that was there throughout saw the generations start again.
  WHERE s.why = 'metadata_lost' OR s.coordinator IS NULL AND e.last_generation > s.generation AND f.generation IS NOT NULL
), incarnation_with_order AS (
  SELECT n.*,
    n.why = 'metadata_lost' AND coalesce(n.last_coordinator = n.coordinator OR l.seen > 0
      OR n.last_ms - a.lo_ms < n.from_ms - b.hi_ms, n.last_coordinator IS NULL OR n.coordinator IS NULL) AS is_ordered
  FROM new_incarnation n
  LEFT JOIN (SELECT kafka_cluster, group_id, max(incarnations_seen) AS seen FROM join_round GROUP BY kafka_cluster, group_id) l
    ON l.kafka_cluster = n.kafka_cluster AND l.group_id = n.group_id
  LEFT JOIN clock_offset a ON a.process_id = n.last_coordinator AND a.is_island_reference
  LEFT JOIN clock_offset b ON b.process_id = n.coordinator AND b.is_island_reference AND b.reference_process_id = a.reference_process_id
), coordinator_restart AS (
  -- The coordinator restarted between the two incarnations of the group.
  SELECT n.kafka_cluster, n.group_id, n.incarnation, max(struct(e.next_ms, e.last_ms, e.how, e.witness)) AS last
  FROM new_incarnation n JOIN process_ending e ON e.process_id = n.coordinator AND e.last_ms >= n.last_ms AND e.next_ms <= n.from_ms
  WHERE n.last_coordinator = n.coordinator AND e.how <> 'starting' GROUP BY n.kafka_cluster, n.group_id, n.incarnation
)
SELECT CASE WHEN r.is_ordered THEN 'critical' ELSE 'warning' END AS severity, CASE WHEN r.is_ordered THEN 'proved' ELSE 'undecided' END AS verdict,
  r.kafka_cluster, r.group_id, concat('generation ', r.generation) AS subject, r.from_ms, r.from_ms AS to_ms,
  CASE WHEN r.is_ordered THEN 'metadata_lost' WHEN r.why = 'unknown' THEN 'began_again' ELSE 'order_unknown' END AS code,
  struct(r.generation, r.incarnation, r.coordinator AS broker_process_id, r.last_coordinator AS last_process_id, r.last_generation,
    coalesce(r.protocol_type = 'connect', false) AS is_connect, coalesce(o.replication_factor = 1
    OR o.replication_factor IS NULL AND o.configured = 1, false) AS is_single_replica, CAST(o.configured AS BIGINT) AS configured,
    coalesce(x.last.how = 'stopped', false) AS is_stop_told, x.last.last_ms AS down_at_ms, x.last.next_ms AS up_at_ms) AS facts,
  concat(transform(r.before_ids, x -> named_struct('role', CASE WHEN r.is_ordered THEN 'last generation before the loss'
    ELSE 'last generation before' END, 'event_id', x)), transform(array_except(r.after_ids, r.before_ids),
    x -> named_struct('role', CASE WHEN r.is_ordered THEN 'first generation after the loss' ELSE 'first generation after' END, 'event_id', x)),
    transform(coalesce(x.last.witness, array()), w -> named_struct('role', 'the coordinator restarted in between', 'event_id', w))) AS proof
FROM incarnation_with_order r
LEFT JOIN coordinator_restart x ON x.kafka_cluster = r.kafka_cluster AND x.group_id = r.group_id AND x.incarnation = r.incarnation
LEFT JOIN offsets_topic o ON o.kafka_cluster = r.kafka_cluster

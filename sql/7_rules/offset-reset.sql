-- One row per group and time at which consumers started neither at a committed offset nor at the very beginning.
-- Reads: fact_line, partition_holding, setting, clock_offset, generation, start_commit
-- Times are the middle of their bounds on the reference clock. A statement that one line was before another holds for the whole bounds.
WITH moved_start AS (
  -- Starts that a dump of __consumer_offsets explains: what the members had committed was replaced, or removed.
  SELECT kafka_cluster, group_id, resource, process_id, client, event_id, at_offset, how, before, acknowledged_lo,
    CASE WHEN how = 'committed' THEN 'set_from_outside' ELSE 'commit_removed' END AS code,
    coalesce((start_lo_ms + start_hi_ms) DIV 2, before.at_ms) AS at_ms
  FROM start_commit
  WHERE is_whole AND acknowledged_lo = acknowledged_hi AND at_offset <> acknowledged_lo
    AND (how = 'committed' AND before.made_by = 'outside' OR how = 'reset' AND before.event_id IS NOT NULL AND before.offset IS NULL)
), position_reset AS (
  SELECT f.kafka_cluster, f.group_id, f.process_id, f.client_id, f.partition, f.event, f.event_id, f.stream_pos, f.at_ms AS own_ms,
    f.at_ms - (o.lo_ms + o.hi_ms) DIV 2 AS at_ms, f.at_ms - o.hi_ms AS at_lo_ms, o.stepped, o.reference_process_id, f.offset,
    -- The next position of the same consumer, if that is its next line about the partition.
    lead(CASE WHEN f.event = 'position_reset' THEN f.offset END)
      OVER (PARTITION BY f.process_id, f.client_id, f.partition ORDER BY f.stream_pos, f.event_id) AS next_offset
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('position_reset', 'position_out_of_range') AND f.partition IS NOT NULL
), first_holding AS (
  SELECT h.kafka_cluster, h.group_id, h.resource, o.reference_process_id, min(CASE WHEN NOT o.stepped THEN h.start_ms - o.lo_ms END) AS first_ms
  FROM partition_holding h JOIN clock_offset o ON o.process_id = h.process_id AND o.is_island_reference
  GROUP BY h.kafka_cluster, h.group_id, h.resource, o.reference_process_id
), group_position AS (
  -- A member of the group had a position there, either committed or set from a commit. By a clock that stepped, or that no message links to the
  -- other's, the order of the two is unknown.
  -- Some releases print the task of a sink's consumer instead of its group.
  SELECT f.kafka_cluster, coalesce(f.group_id, concat('connect-', regexp_replace(f.task, '-[0-9]+$', ''))) AS group_id, f.partition, f.offset,
    f.at_ms - o.lo_ms AS at_hi_ms, o.reference_process_id
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('position_set', 'offset_committed') AND f.offset > 0 AND NOT o.stepped
), known_position AS (
  SELECT r.event_id, max(p.offset) AS known_offset FROM position_reset r
  JOIN group_position p ON p.kafka_cluster = r.kafka_cluster AND p.group_id = r.group_id AND p.partition = r.partition
    AND p.reference_process_id = r.reference_process_id AND p.at_hi_ms < r.at_lo_ms
  GROUP BY r.event_id
), metadata_lost AS (
  SELECT kafka_cluster, group_id, max(unix_millis(coalesce(stabilized_ts, prepared_ts, last_synced_ts))) AS at_ms FROM generation
  WHERE incarnation_why = 'metadata_lost' GROUP BY kafka_cluster, group_id
), topic_recreation AS (
  -- The same process learned shortly before that the topic was recreated under the same name.
  SELECT r.event_id, max_by(f.event_id, struct(f.stream_pos, f.event_id)) AS recreated_id
  FROM position_reset r
  JOIN fact_line f ON f.process_id = r.process_id AND f.event = 'topic_recreated'
    AND regexp_replace(f.partition, '-[0-9]+$', '') = regexp_replace(r.partition, '-[0-9]+$', '')
    AND f.stream_pos < r.stream_pos AND r.own_ms - f.at_ms <= lost_together_ms
  GROUP BY r.event_id
), unexpected_reset AS (
  SELECT r.*, k.known_offset, l.at_ms IS NOT NULL AS is_with_metadata, n.recreated_id FROM position_reset r
  LEFT JOIN first_holding h ON h.kafka_cluster = r.kafka_cluster AND h.group_id = r.group_id AND h.resource = r.partition
    AND h.reference_process_id = r.reference_process_id
  LEFT JOIN known_position k ON k.event_id = r.event_id
  LEFT JOIN topic_recreation n ON n.event_id = r.event_id
  LEFT JOIN moved_start m ON m.event_id = r.event_id AND m.resource = r.partition
  -- The group's metadata and its commits are in one partition, so they are lost together.
  LEFT JOIN metadata_lost l ON l.kafka_cluster = r.kafka_cluster AND l.group_id = r.group_id AND abs(r.at_ms - l.at_ms) <= lost_together_ms
  -- A group that has never committed starts according to auto.offset.reset, and so does each successor until the first commit. Nothing is lost in
  -- that case.
  WHERE r.event = 'position_out_of_range' OR n.recreated_id IS NOT NULL AND h.resource IS NOT NULL
    OR (k.known_offset IS NOT NULL OR l.at_ms IS NOT NULL) AND NOT r.stepped AND r.at_lo_ms - h.first_ms > first_start_ms
      AND (l.at_ms IS NOT NULL OR m.event_id IS NULL)
), reset_policy AS (
  SELECT process_id, client_id, max(value) AS value FROM setting
  WHERE component = 'ConsumerConfig' AND key = 'auto.offset.reset' GROUP BY process_id, client_id
), reset_summary AS (
  SELECT l.kafka_cluster, l.group_id, array_sort(collect_set(l.partition)) AS partitions,
    count(DISTINCT CASE WHEN l.event = 'position_out_of_range' THEN l.partition END) AS out_of_range_count, min(l.at_ms) AS from_ms,
    max(l.at_ms) AS to_ms, array_sort(collect_set(l.process_id)) AS processes, max(p.value) AS reset_to, max(l.known_offset) AS known_offset,
    sum(CASE WHEN l.event = 'position_out_of_range' THEN greatest(l.next_offset - l.offset, 0L) END) AS skipped,
    -- Records below a known position that are read again from the one that was reset.
    sum(CASE WHEN l.event = 'position_reset' THEN greatest(l.known_offset - l.offset, 0L) END) AS read_again,
    bool_or(l.is_with_metadata) AS is_with_metadata, max(l.recreated_id) AS recreated_id,
    slice(sort_array(collect_set(struct(l.event_id, l.event))), 1, 8) AS lines
  FROM unexpected_reset l LEFT JOIN reset_policy p ON p.process_id = l.process_id AND p.client_id = l.client_id
  GROUP BY l.kafka_cluster, l.group_id, l.at_ms DIV resets_together_ms
), moved_summary AS (
  SELECT m.kafka_cluster, m.group_id, m.code, array_sort(collect_set(m.resource)) AS partitions, min(m.at_ms) AS from_ms, max(m.at_ms) AS to_ms,
    array_sort(collect_set(m.process_id)) AS processes, max(p.value) AS reset_to, max(m.acknowledged_lo) AS known_offset,
    sum(greatest(m.at_offset - m.acknowledged_lo, 0L)) AS skipped, sum(greatest(m.acknowledged_lo - m.at_offset, 0L)) AS read_again,
    min(m.before.at_ms) AS moved_at_ms,
    slice(sort_array(collect_set(m.before.event_id)), 1, 4) AS causes,
    slice(sort_array(collect_set(struct(m.event_id, m.how AS event))), 1, 4) AS starts
  FROM moved_start m LEFT JOIN reset_policy p ON p.process_id = m.process_id AND p.client_id = m.client
  GROUP BY m.kafka_cluster, m.group_id, m.code, m.at_ms DIV resets_together_ms
), all_summary AS (
  SELECT kafka_cluster, group_id, partitions, from_ms, to_ms, processes, reset_to, known_offset, skipped, read_again, is_with_metadata,
    out_of_range_count, CAST(NULL AS BIGINT) AS moved_at_ms,
    CASE WHEN recreated_id IS NOT NULL THEN 'topic_recreated' WHEN out_of_range_count > 0 THEN 'out_of_range'
      WHEN is_with_metadata THEN 'lost_with_metadata' ELSE 'no_commit' END AS code,
    filter(array(recreated_id), x -> x IS NOT NULL) AS causes, lines AS starts
  FROM reset_summary
  UNION ALL
  SELECT kafka_cluster, group_id, partitions, from_ms, to_ms, processes, reset_to, known_offset, skipped, read_again, false, 0L, moved_at_ms, code,
    causes, starts
  FROM moved_summary
)
SELECT 'warning' AS severity, 'proved' AS verdict, kafka_cluster, group_id, array_join(slice(partitions, 1, 10), ', ') AS subject, from_ms,
  to_ms, code,
  struct(CAST(size(partitions) AS BIGINT) AS partition_count, out_of_range_count, processes, reset_to, known_offset, skipped, read_again,
    is_with_metadata, moved_at_ms) AS facts,
  concat(transform(causes, x -> named_struct('role', CASE code WHEN 'set_from_outside' THEN 'the committed offset is set'
      WHEN 'commit_removed' THEN 'the commit is removed' ELSE 'the topic was recreated' END, 'event_id', x)),
    transform(starts, x -> named_struct('role', CASE x.event WHEN 'committed' THEN 'a consumer starts there'
      WHEN 'position_out_of_range' THEN 'a position is out of range' ELSE 'a position is reset' END, 'event_id', x.event_id))) AS proof
FROM all_summary

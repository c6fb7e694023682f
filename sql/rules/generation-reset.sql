-- One row per time that a group's metadata was lost and its generations began again.
-- Reads: generation, offsets_topic
WITH life_end AS (
  SELECT kafka_cluster, group_id, incarnation, max(generation) AS last_generation, max_by(witness, generation) AS event_ids
  FROM generation
  GROUP BY kafka_cluster, group_id, incarnation
), life_start AS (
  SELECT kafka_cluster, group_id, incarnation, min(generation) AS generation, min_by(coordinator, generation) AS coordinator,
    min_by(protocol_type, generation) AS protocol_type,
    min_by(unix_millis(coalesce(prepared_ts, first_asked_ts, stabilized_ts, first_joined_ts, last_synced_ts)), generation) AS from_ms,
    min_by(witness, generation) AS event_ids
  FROM generation
  WHERE incarnation_why = 'metadata_lost'
  GROUP BY kafka_cluster, group_id, incarnation
), new_life AS (
  SELECT s.kafka_cluster, s.group_id, s.incarnation, s.generation, s.coordinator, s.protocol_type, s.from_ms,
    e.last_generation, array_distinct(slice(e.event_ids, -2, 2)) AS before_ids, array_distinct(slice(s.event_ids, 1, 6)) AS after_ids
  FROM life_start s
  LEFT JOIN life_end e ON e.kafka_cluster = s.kafka_cluster AND e.group_id = s.group_id AND e.incarnation = s.incarnation - 1
)
SELECT
  'critical' AS severity,
  'proved' AS verdict,
  r.kafka_cluster AS kafka_cluster,
  r.group_id AS group_id,
  concat('generation ', r.generation) AS subject,
  r.from_ms AS from_ms,
  r.from_ms AS to_ms,
  'metadata_lost' AS code,
  named_struct(
    'generation', r.generation,
    'incarnation', r.incarnation,
    'broker_process_id', r.coordinator,
    'last_generation', r.last_generation,
    'is_connect', coalesce(r.protocol_type = 'connect', false),
    'is_single_replica', coalesce(o.replication_factor = 1 OR o.replication_factor IS NULL AND o.configured = 1, false),
    'configured', CAST(o.configured AS BIGINT)
  ) AS facts,
  concat(
    transform(r.before_ids, x -> named_struct('role', 'last generation before the loss', 'event_id', x)),
    transform(array_except(r.after_ids, r.before_ids), x -> named_struct('role', 'first generation after the loss', 'event_id', x))
  ) AS proof
FROM new_life r
LEFT JOIN offsets_topic o ON o.kafka_cluster = r.kafka_cluster

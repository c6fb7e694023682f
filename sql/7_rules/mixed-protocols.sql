-- One row per group that refused members because of their assignors or protocols, or that changed its protocol while it ran.
-- Reads: client_event, config_value, generation, placed_event, process_cluster, process_life, clock_offset
WITH clock_lead AS (
  SELECT process_id, reference_process_id, (lo_ms + hi_ms) DIV 2 AS ahead_ms FROM clock_offset WHERE is_island_reference
), consumer_setting AS (
  -- The assignors that each consumer offers, by their classes' names; KIP-848 consumers offer none.
  SELECT c.kafka_cluster, s.group_id, s.process_id, s.client_id, s.event_id, s.at_ms,
    CASE WHEN lower(s.group_protocol) = 'consumer' THEN 'consumer' ELSE 'classic' END AS protocol,
    CASE WHEN NOT lower(s.group_protocol) <=> 'consumer' THEN regexp_extract_all(s.strategy, '([A-Za-z0-9_$]{1,200})\\s*[,\\]]', 1) END AS assignors
  FROM (
    SELECT process_id, instance, event_id, max(unix_millis(ts)) AS at_ms, max(CASE WHEN key = 'group.id' THEN value END) AS group_id,
      max(CASE WHEN key = 'client.id' THEN value END) AS client_id, max(CASE WHEN key = 'partition.assignment.strategy' THEN value END) AS strategy,
      max(CASE WHEN key = 'group.protocol' THEN value END) AS group_protocol
    FROM config_value
    WHERE component = 'ConsumerConfig' AND source = 'log' AND key IN ('group.id', 'client.id', 'partition.assignment.strategy', 'group.protocol')
    GROUP BY process_id, instance, event_id
  ) s
  JOIN (SELECT process_id, max(kafka_cluster) AS kafka_cluster FROM process_cluster WHERE is_life_last GROUP BY process_id) c
    ON c.process_id = s.process_id
  WHERE s.group_id IS NOT NULL AND s.group_id <> 'null'
), refusal AS (
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.is_worker, k.reference_process_id, e.at_ms - k.ahead_ms AS reference_ms, e.at_ms,
    e.error, e.event_id
  FROM client_event e JOIN clock_lead k ON k.process_id = e.process_id
  WHERE e.event IN ('join_failed', 'sync_failed')
    AND lower(e.error) RLIKE 'supported protocols are incompatible|inconsistent.?group.?protocol|inconsistent protocol type'
), refused_offer AS (
  -- What each refused member offers: its last configuration before the refusal.
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.event_id, max_by(s.assignors, struct(s.at_ms, s.event_id)) AS assignors
  FROM refusal r JOIN consumer_setting s ON s.process_id = r.process_id AND s.group_id = r.group_id AND s.at_ms <= r.at_ms
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.event_id
), other_offer AS (
  -- What the members in force offered then, according to their logs. A process whose log had ended may have left before.
  SELECT r.kafka_cluster, r.group_id, r.event_id, s.process_id,
    CASE WHEN bool_and(k.reference_process_id = r.reference_process_id) THEN max_by(s.assignors, struct(s.at_ms, s.event_id))
      ELSE array_sort(array_distinct(flatten(collect_list(s.assignors)))) END AS assignors,
    max_by(s.event_id, struct(s.at_ms, s.event_id)) AS setting_id, bool_and(k.reference_process_id = r.reference_process_id) AS is_timed
  FROM refusal r
  JOIN consumer_setting s ON s.kafka_cluster = r.kafka_cluster AND s.group_id = r.group_id AND s.process_id <> r.process_id AND s.protocol = 'classic'
  JOIN clock_lead k ON k.process_id = s.process_id
  JOIN (SELECT process_id, max(last_ms) AS last_ms FROM process_life GROUP BY process_id) l ON l.process_id = s.process_id
  -- If the clocks cannot be compared, all offers that it ever made are listed, and decide nothing.
  WHERE k.reference_process_id <> r.reference_process_id OR s.at_ms - k.ahead_ms <= r.reference_ms AND l.last_ms - k.ahead_ms >= r.reference_ms
  GROUP BY r.kafka_cluster, r.group_id, r.event_id, s.process_id
), refusal_with_offers AS (
  SELECT r.kafka_cluster, r.group_id, r.process_id, r.is_worker, r.reference_ms, r.error, r.event_id, max(concat_ws(', ', f.assignors)) AS offer,
    array_sort(collect_set(concat(o.process_id, ': ', concat_ws(', ', o.assignors)))) AS others,
    -- Nothing that it offers is offered by this member of the group.
    bool_or(size(f.assignors) > 0 AND size(o.assignors) > 0 AND o.is_timed AND NOT arrays_overlap(f.assignors, o.assignors)) AS has_nothing_in_common,
    sort_array(collect_set(o.setting_id)) AS setting_ids
  FROM refusal r LEFT JOIN refused_offer f ON f.event_id = r.event_id
  LEFT JOIN other_offer o ON o.event_id = r.event_id
  GROUP BY r.kafka_cluster, r.group_id, r.process_id, r.is_worker, r.reference_ms, r.error, r.event_id
), group_type AS (
  SELECT kafka_cluster, group_id, min(protocol_type) AS one_type, array_sort(collect_set(assignor)) AS assignors FROM generation
  GROUP BY kafka_cluster, group_id
  HAVING count(DISTINCT protocol_type) <= 1
), refused_group AS (
  SELECT r.kafka_cluster, r.group_id, min(r.reference_ms) AS from_ms, max(r.reference_ms) AS to_ms, array_sort(collect_set(r.process_id)) AS refused,
    array_sort(collect_set(concat(r.process_id, ': ', r.offer))) AS offers, sort_array(array_distinct(flatten(collect_list(r.others)))) AS others,
    count(*) AS times, min(r.error) AS error, bool_and(coalesce(r.has_nothing_in_common, false)) AS has_nothing_in_common,
    bool_or(coalesce(r.error RLIKE '(?i)inconsistent protocol type' OR r.is_worker AND t.one_type = 'consumer'
      OR NOT r.is_worker AND t.one_type = 'connect', false)) AS is_other_type,
    max(t.one_type) AS protocol_type, max(t.assignors) AS chosen, slice(sort_array(collect_list(r.event_id)), 1, 6) AS event_ids,
    slice(sort_array(array_distinct(flatten(collect_list(r.setting_ids)))), 1, 6) AS setting_ids
  FROM refusal_with_offers r LEFT JOIN group_type t ON t.kafka_cluster = r.kafka_cluster AND t.group_id = r.group_id
  GROUP BY r.kafka_cluster, r.group_id
), last_protocol AS (
  SELECT kafka_cluster, group_id, incarnation, group_protocol, max(generation) AS last_generation, min(generation) AS first_generation,
    min(unix_millis(coalesce(prepared_ts, stabilized_ts, first_joined_ts, last_synced_ts))) AS first_ms,
    max(unix_millis(coalesce(stabilized_ts, prepared_ts, last_synced_ts, first_joined_ts))) AS last_ms, min_by(witness, generation) AS witness
  FROM generation WHERE group_protocol IN ('classic', 'consumer') GROUP BY kafka_cluster, group_id, incarnation, group_protocol
), setting_by_protocol AS (
  SELECT kafka_cluster, group_id, protocol, array_sort(collect_set(process_id)) AS processes FROM consumer_setting
  GROUP BY kafka_cluster, group_id, protocol
), migrated_group AS (
  SELECT a.kafka_cluster, a.group_id, a.incarnation, least(a.last_ms, b.first_ms) AS from_ms, greatest(a.last_ms, b.first_ms) AS to_ms,
    a.first_generation AS classic_generation, a.last_generation, b.first_generation AS first_epoch,
    b.first_generation > a.first_generation AS is_upgrade, s.processes AS classic_processes, t.processes AS consumer_processes,
    array_intersect(coalesce(s.processes, array()), coalesce(t.processes, array())) AS both_processes, slice(b.witness, 1, 2) AS event_ids
  FROM last_protocol a
  JOIN last_protocol b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.incarnation = a.incarnation
    AND b.group_protocol = 'consumer'
  LEFT JOIN setting_by_protocol s ON s.kafka_cluster = a.kafka_cluster AND s.group_id = a.group_id AND s.protocol = 'classic'
  LEFT JOIN setting_by_protocol t ON t.kafka_cluster = a.kafka_cluster AND t.group_id = a.group_id AND t.protocol = 'consumer'
  WHERE a.group_protocol = 'classic'
), conversion AS (
  SELECT e.kafka_cluster, e.group_id, unix_millis(e.ts) - k.ahead_ms AS reference_ms, coalesce(e.reason, e.error) AS said, e.event_id
  FROM placed_event e JOIN clock_lead k ON k.process_id = e.process_id WHERE e.event = 'group_conversion_refused' AND e.group_id IS NOT NULL
), finding_row AS (
  SELECT 'warning' AS severity, CASE WHEN has_nothing_in_common OR is_other_type THEN 'proved' ELSE 'undecided' END AS verdict,
    kafka_cluster, group_id, array_join(slice(refused, 1, 10), ', ') AS subject, from_ms, to_ms,
    CASE WHEN has_nothing_in_common THEN 'no_common_assignor' WHEN is_other_type THEN 'other_type' ELSE 'refused' END AS code,
    CAST(NULL AS INT) AS incarnation, refused, offers, others, chosen, protocol_type, times, error AS said,
    concat(transform(event_ids, e -> named_struct('role', 'is refused', 'event_id', e)),
      transform(setting_ids, e -> named_struct('role', 'what the other members offered', 'event_id', e))) AS proof
  FROM refused_group
  UNION ALL
  SELECT 'note', 'proved', kafka_cluster, group_id, group_id, from_ms, to_ms, 'migrated' AS code, incarnation, NULL, NULL, NULL, NULL, NULL, NULL,
    NULL, transform(event_ids, e -> named_struct('role', 'the first epoch of the new protocol', 'event_id', e)) AS proof
  FROM migrated_group
  UNION ALL
  SELECT 'warning', 'proved', kafka_cluster, group_id, group_id, min(reference_ms), max(reference_ms), 'conversion_refused' AS code,
    NULL, NULL, NULL, NULL, NULL, NULL, count(*), min(said),
    transform(slice(sort_array(collect_list(event_id)), 1, 6), e -> named_struct('role', 'refuses the conversion', 'event_id', e)) AS proof
  FROM conversion GROUP BY kafka_cluster, group_id
)
SELECT r.severity, r.verdict, r.kafka_cluster, r.group_id, r.subject, r.from_ms, r.to_ms, r.code,
  struct(r.refused, r.offers, r.others, r.chosen, r.protocol_type, r.times, r.said, m.is_upgrade, m.last_generation, m.first_epoch,
    m.classic_processes, m.consumer_processes, m.both_processes) AS facts,
  r.proof
FROM finding_row r
LEFT JOIN migrated_group m ON m.kafka_cluster = r.kafka_cluster AND m.group_id = r.group_id AND m.incarnation = r.incarnation

-- One row per cause that made a group rebalance again and again.
-- Reads: storm_round, generation, member_generation, process_life, member_setting
-- The cause is a member or a connector. Rounds without any change are one storm, whichever member asked for them. A group that rebalances
-- continuously for none of these causes is a storm with an unknown cause.
WITH repeated_round AS (
  SELECT kafka_cluster, group_id, kind, subject, how, event_id, at_ms, CASE WHEN kind = 'idle' THEN 'idle' ELSE subject END AS chain FROM storm_round
), round_with_previous AS (
  SELECT *, lag(at_ms) OVER (PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY at_ms, event_id) AS last_ms FROM repeated_round
), round_in_storm AS (
  SELECT *, count_if(last_ms IS NULL OR at_ms - last_ms > storm_gap_ms) OVER (
      PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY at_ms, event_id ROWS UNBOUNDED PRECEDING) AS nth
  FROM round_with_previous
), explained_storm AS (
  SELECT kafka_cluster, group_id, kind, chain, nth, mode(subject, true) AS subject, mode(how, true) AS how, count(*) AS returns,
    min(at_ms) AS from_ms, max(at_ms) AS to_ms, min(at_ms) - storm_start_ms AS started_from_ms,
    count_if(how = 'removed') AS removed, count_if(how = 'updated') AS updated, count_if(how = 'state') AS state_changes,
    slice(sort_array(collect_list(struct(at_ms, event_id))), 1, 8) AS lines
  FROM round_in_storm GROUP BY kafka_cluster, group_id, kind, chain, nth
  HAVING count(*) >= CASE kind WHEN 'returning' THEN storm_returns WHEN 'connector' THEN storm_changes ELSE storm_idle_rounds END
), timed_generation AS (
  SELECT kafka_cluster, group_id, incarnation, generation, duration_ms, trigger, protocol_type,
    CASE WHEN is_count_told THEN member_count END AS counted_members,
    rebalance_mode = 'cooperative' OR asked_why IN ('partitions_to_revoke', 'followup') AS is_cooperative,
    element_at(witness, 1) AS event_id, unix_millis(coalesce(stabilized_ts, first_joined_ts, last_synced_ts, prepared_ts)) AS at_ms
  FROM generation
), generation_run AS (
  -- A member's log may have only some of the generations; their numbers show how many there were.
  SELECT *, count_if(NOT coalesce(at_ms - last_ms BETWEEN 0 AND storm_pace_ms * (generation - last_generation), false))
    OVER (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation ROWS UNBOUNDED PRECEDING) AS nth
  FROM (
    SELECT *, lag(at_ms) OVER in_order AS last_ms, lag(generation) OVER in_order AS last_generation
    FROM timed_generation WHERE at_ms IS NOT NULL
    WINDOW in_order AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
  )
), unexplained_storm AS (
  SELECT kafka_cluster, group_id, concat(incarnation, ' ', nth) AS chain, max(generation) - min(generation) AS returns, min(at_ms) AS from_ms,
    max(at_ms) AS to_ms, filter(array(min(struct(at_ms, event_id)), max(struct(at_ms, event_id))), x -> x.event_id IS NOT NULL) AS lines
  FROM generation_run GROUP BY kafka_cluster, group_id, incarnation, nth
  HAVING max(generation) - min(generation) >= storm_pace_generations + coalesce(max(counted_members), 0)
      * CASE WHEN bool_or(is_cooperative) THEN storm_pace_per_cooperative ELSE storm_pace_per_member END
    -- If their number is unknown, the members of a new group may all still be joining.
    AND (max(counted_members) IS NOT NULL
      OR min(generation) > storm_pace_generations AND max(at_ms) - min(at_ms) <= storm_fast_ms * (max(generation) - min(generation)))
), any_storm AS (
  SELECT * FROM explained_storm
  UNION ALL
  SELECT u.kafka_cluster, u.group_id, 'pace' AS kind, u.chain, CAST(1 AS BIGINT) AS nth, u.group_id AS subject,
    CAST(NULL AS STRING) AS how, u.returns, u.from_ms, u.to_ms, u.from_ms - storm_start_ms AS started_from_ms, CAST(0 AS BIGINT) AS removed,
    CAST(0 AS BIGINT) AS updated, CAST(0 AS BIGINT) AS state_changes, u.lines
  FROM unexplained_storm u
  LEFT ANTI JOIN explained_storm s ON s.kafka_cluster = u.kafka_cluster AND s.group_id = u.group_id AND s.from_ms <= u.to_ms + storm_edge_ms
    AND s.to_ms >= u.from_ms - storm_edge_ms
), storm_generation AS (
  SELECT s.kafka_cluster, s.group_id, s.kind, s.chain, s.nth, t.incarnation, t.generation, t.duration_ms, t.trigger, t.protocol_type
  FROM any_storm s
  JOIN timed_generation t ON t.kafka_cluster = s.kafka_cluster AND t.group_id = s.group_id
    AND t.at_ms BETWEEN s.from_ms - storm_edge_ms AND s.to_ms + storm_edge_ms
), storm_cost AS (
  SELECT kafka_cluster, group_id, kind, chain, nth, count(*) AS generations, max(duration_ms) AS longest_ms, sum(duration_ms) AS sum_ms,
    mode(trigger, true) AS trigger, max(protocol_type) AS protocol_type
  FROM storm_generation GROUP BY kafka_cluster, group_id, kind, chain, nth
), storm_pause AS (
  SELECT w.kafka_cluster, w.group_id, w.kind, w.chain, w.nth,
    CASE WHEN bool_and(coalesce(g.is_pause_known, true)) THEN max(g.paused_ms) END AS paused_ms, sum(size(g.revoked)) AS revoked
  FROM storm_generation w
  JOIN member_generation g ON g.kafka_cluster = w.kafka_cluster AND g.group_id = w.group_id
    AND g.incarnation = w.incarnation AND g.generation = w.generation
  GROUP BY w.kafka_cluster, w.group_id, w.kind, w.chain, w.nth
), storm_with_code AS (
  SELECT s.*,
    CASE WHEN s.kind = 'connector' THEN 'connector_changes'
      WHEN s.kind = 'idle' THEN 'nothing_changes'
      WHEN s.kind = 'pace' THEN 'cause_unknown'
      -- A silence that ends with a new start was a crash.
      WHEN size(filter(p.starts_ms, x -> x BETWEEN s.started_from_ms AND s.to_ms)) >= s.returns THEN 'restarts'
      WHEN s.how = 'poll_timeout' THEN 'polls_too_late'
      WHEN s.how = 'expired' THEN 'falls_silent'
      WHEN s.how = 'left' THEN 'leaves'
      WHEN s.how = 'fenced' THEN 'is_fenced'
      ELSE 'is_gone' END AS code
  FROM any_storm s
  LEFT JOIN (SELECT process_id, collect_list(start_ms) AS starts_ms FROM process_life GROUP BY process_id) p ON p.process_id = s.subject
)
SELECT 'warning' AS severity, 'proved' AS verdict, s.kafka_cluster, s.group_id, s.subject, s.from_ms, s.to_ms, s.code,
  struct(s.returns, s.to_ms - s.from_ms AS span_ms, s.how, s.updated, s.removed, s.state_changes,
    CASE WHEN s.kind = 'pace' THEN s.returns ELSE c.generations END AS generations, c.trigger,
    CASE WHEN s.kind <> 'pace' OR c.generations >= s.returns THEN c.sum_ms END AS rounds_ms, c.longest_ms, m.paused_ms, m.revoked,
    coalesce(c.protocol_type = 'connect', false) AS is_connect, d.value_ms AS delay_ms) AS facts,
  transform(s.lines, l -> named_struct('role', CASE s.kind WHEN 'returning' THEN 'returns' WHEN 'connector' THEN 'the connector changes'
    WHEN 'pace' THEN 'a generation' ELSE 'nothing changes' END, 'event_id', l.event_id)) AS proof
FROM storm_with_code s
LEFT JOIN storm_cost c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.kind = s.kind AND c.chain = s.chain AND c.nth = s.nth
LEFT JOIN storm_pause m ON m.kafka_cluster = s.kafka_cluster AND m.group_id = s.group_id AND m.kind = s.kind AND m.chain = s.chain AND m.nth = s.nth
LEFT JOIN member_setting d ON d.kafka_cluster = s.kafka_cluster AND d.group_id = s.group_id AND d.value_how = 'group'
  AND d.setting = 'scheduled.rebalance.max.delay.ms'

-- One row per cause that made a group rebalance again and again.
-- Reads: storm
-- The cause is a member or a connector. Rounds without any change are one storm, whichever member asked for them. A group that rebalances
-- continuously for none of these causes is a storm with an unknown cause.
SELECT 'warning' AS severity, 'proved' AS verdict, kafka_cluster, group_id, subject, from_ms, to_ms,
  CASE WHEN kind = 'connector' THEN 'connector_changes'
    WHEN kind = 'idle' THEN 'nothing_changes'
    WHEN kind = 'pace' THEN 'cause_unknown'
    -- A silence that ends with a new start was a crash.
    WHEN starts >= returns THEN 'restarts'
    WHEN how = 'poll_timeout' THEN 'polls_too_late'
    WHEN how = 'expired' THEN 'falls_silent'
    WHEN how = 'left' THEN 'leaves'
    WHEN how = 'fenced' THEN 'is_fenced'
    ELSE 'is_gone' END AS code,
  struct(returns, to_ms - from_ms AS span_ms, how, updated, removed, state_changes, generations, trigger, rounds_ms, longest_ms, paused_ms, revoked,
    is_connect, delay_ms) AS facts,
  transform(event_ids, x -> named_struct('role', CASE kind WHEN 'returning' THEN 'returns' WHEN 'connector' THEN 'the connector changes'
    WHEN 'pace' THEN 'a generation' ELSE 'nothing changes' END, 'event_id', x)) AS proof
FROM storm

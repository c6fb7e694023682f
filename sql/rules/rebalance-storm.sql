-- One row per cause that made a group rebalance again and again.
-- Reads: storm_round, generation, member_generation, process_start
-- Answers: why does the group never settle: which member or connector, which reason, how often, and what does each round cost?
-- Needs: the coordinator's log, or the members' logs.
-- Silent when: each member joins once and each connector is made once, as at start-up; a deployment restarts each member once or twice.
-- Shown by: 4.1.1-rebalance_storm; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_rebalance_storm (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per cause that made a group rebalance again and again.'
AS
WITH flagged AS (
  SELECT *, lag(ts) OVER w IS NULL OR unix_millis(ts) - unix_millis(lag(ts) OVER w) > storm_gap_ms AS begins
  -- Idle rounds are one storm whoever asked for them.
  FROM (SELECT *, CASE WHEN kind = 'idle' THEN 'idle' ELSE subject END AS chain FROM storm_round)
  WINDOW w AS (PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY ts)
), numbered AS (
  SELECT *, count_if(begins) OVER (PARTITION BY kafka_cluster, group_id, kind, chain ORDER BY ts ROWS UNBOUNDED PRECEDING) AS n FROM flagged
), storm AS (
  SELECT kafka_cluster, group_id, kind, chain, n, mode(subject, true) AS subject, count(DISTINCT subject) AS subjects, count(*) AS returns, min(ts) AS from_ts, max(ts) AS to_ts, mode(how, true) AS how,
    count_if(how = 'removed') AS removed, count_if(how = 'updated') AS updated, count_if(how = 'state') AS state_changes, slice(array_sort(collect_list(struct(ts, event_id))), 1, 8) AS lines
  FROM numbered GROUP BY kafka_cluster, group_id, kind, chain, n
  HAVING count(*) >= CASE kind WHEN 'returning' THEN storm_returns WHEN 'connector' THEN 2 * storm_returns ELSE storm_idle_rounds END
), timed AS (
  SELECT kafka_cluster, group_id, incarnation, generation, coalesce(stabilized_ts, first_joined_ts, last_synced_ts, prepared_ts) AS ts, duration_ms, trigger, protocol_type FROM generation
), cost AS (
  SELECT s.kafka_cluster, s.group_id, s.kind, s.chain, s.n, count(*) AS generations, max(t.duration_ms) AS longest_ms, sum(t.duration_ms) AS sum_ms, mode(t.trigger, true) AS trigger, max(t.protocol_type) AS protocol_type
  FROM storm s JOIN timed t ON t.kafka_cluster = s.kafka_cluster AND t.group_id = s.group_id AND t.ts BETWEEN s.from_ts - INTERVAL 10 SECONDS AND s.to_ts + INTERVAL 10 SECONDS
  GROUP BY s.kafka_cluster, s.group_id, s.kind, s.chain, s.n
), moved AS (
  SELECT s.kafka_cluster, s.group_id, s.kind, s.chain, s.n, max(g.paused_ms) AS paused_ms, sum(size(g.revoked)) AS revoked
  FROM storm s
  JOIN timed t ON t.kafka_cluster = s.kafka_cluster AND t.group_id = s.group_id AND t.ts BETWEEN s.from_ts - INTERVAL 10 SECONDS AND s.to_ts + INTERVAL 10 SECONDS
  JOIN member_generation g ON g.kafka_cluster = t.kafka_cluster AND g.group_id = t.group_id AND g.incarnation = t.incarnation AND g.generation = t.generation
  GROUP BY s.kafka_cluster, s.group_id, s.kind, s.chain, s.n
)
SELECT
  'warning', 'proved', s.kafka_cluster, s.group_id, s.subject, s.from_ts, s.to_ts,
  CASE s.kind
    WHEN 'returning' THEN concat(s.subject, ' came back to ', s.group_id, ' ', s.returns, ' times in ', s.span, ', and the group rebalanced ', coalesce(c.generations, s.returns), ' times')
    WHEN 'connector' THEN concat('connector ', s.subject, ' was changed ', s.returns, ' times in ', s.span, ', and ', s.group_id, ' rebalanced ', coalesce(c.generations, s.returns), ' times')
    ELSE concat(s.group_id, ' rebalanced ', s.returns, ' times in ', s.span, ' for nothing: the same members had the same work before and after')
  END,
  concat_ws(' ',
    CASE s.kind
      WHEN 'returning' THEN concat('The loop: ', CASE s.how WHEN 'poll_timeout' THEN 'poll timeout, leave, join anew, everybody revokes, poll timeout again' WHEN 'expired' THEN 'silent for a session timeout, removed by the broker, join anew, silent again'
        WHEN 'left' THEN 'leave, join anew, leave again' WHEN 'restarted' THEN 'its process ends and is started again, joins, ends again'
        WHEN 'fenced' THEN 'fenced by another member of its group.instance.id, join anew, fenced again' ELSE 'gone without a word, join anew, gone again' END,
        '. Each membership that ends and each that begins is a rebalance for all members.')
      WHEN 'connector' THEN concat('Its configuration was ', concat_ws(', ', CASE WHEN s.updated > 0 THEN concat('updated ', s.updated, ' times') END, CASE WHEN s.removed > 0 THEN concat('removed ', s.removed, ' times') END,
        CASE WHEN s.state_changes > 0 THEN concat('paused, stopped or resumed ', s.state_changes, ' times') END), '. Each change of the set of connectors or of a connector''s tasks makes the whole group rebalance',
        CASE WHEN s.updated > 0 AND s.removed > 0 THEN '; the loop: create, rebalance, delete, rebalance.' ELSE '.' END)
      ELSE concat('Asked for mostly by ', s.subject, ' (', s.how, '). Nothing that is printed changed between the rounds: no member, no assignment, no connector.')
    END,
    CASE WHEN c.generations > 0 THEN concat('In that time ', c.generations, ' generations, one every ', round((unix_millis(s.to_ts) - unix_millis(s.from_ts)) / 1000.0 / c.generations, 1), ' s; most were triggered by ', replace(c.trigger, '_', ' '), '.') END,
    CASE WHEN c.sum_ms > 0 THEN concat('A round took ', round(c.sum_ms / 1000.0 / c.generations, 1), ' s on average and ', round(c.longest_ms / 1000.0, 1), ' s at most',
      CASE WHEN m.paused_ms > 0 THEN concat('; a member stood still for up to ', round(m.paused_ms / 1000.0, 1), ' s of it') ELSE '' END,
      CASE WHEN m.revoked > 0 THEN concat('; ', m.revoked, ' tasks and connectors were stopped to be moved') ELSE '' END, '.') END),
  CASE s.kind
    WHEN 'returning' THEN concat(CASE s.how
      WHEN 'poll_timeout' THEN 'End the loop at its work: fewer records a poll (max.poll.records), or max.poll.interval.ms above the longest round of work; see the finding poll-timeout for its present value. A really stuck consumer is then noticed as much later.'
      WHEN 'expired' THEN 'Find why it falls silent (GC, CPU limits, network, kill by the platform); session.timeout.ms above the longest pause ends the loop and delays the notice of real deaths.'
      WHEN 'left' THEN 'Something stops and starts it: a liveness probe, an autoscaler, a crash handler.'
      WHEN 'fenced' THEN 'Two processes use one group.instance.id: see the finding static-member-fenced.'
      ELSE 'Its process dies and is started again: look at its exit code and at the platform (out of memory, failed probe).' END,
      CASE WHEN s.how IN ('poll_timeout', 'fenced') THEN '' WHEN c.protocol_type = 'connect' THEN ' Until then scheduled.rebalance.max.delay.ms above the time of a restart keeps its tasks for it (2.3.0 and later), at the price that they stand still meanwhile.'
        ELSE ' Until then a group.instance.id (2.3.0 and later) with a session.timeout.ms above the time of a restart lets it return without any rebalance; a real death is noticed as much later.' END)
    WHEN 'connector' THEN concat('Find who changes it: a deployment that deletes and creates instead of PUT /connectors/', s.subject, '/config, a connector that asks for new tasks each time it polls its source (requestTaskReconfiguration), or an operator that fights another one.')
    ELSE 'Look at the reason that the broker or the member prints for these rounds; a member whose subscription or metadata changes with each request (a pattern, a random order of topics, a rolling upgrade with two assignors) never lets a group settle.'
  END,
  transform(s.lines, l -> l.event_id)
FROM (SELECT s.kafka_cluster, s.group_id, s.kind, s.chain, s.n, s.subject, s.from_ts, s.to_ts, s.returns, s.updated, s.removed, s.state_changes, s.lines,
    -- A silence that ends with a new start was a death.
    CASE WHEN s.kind = 'returning' AND size(filter(p.start_lines, x -> x.ts BETWEEN s.from_ts - INTERVAL 1 MINUTE AND s.to_ts)) >= s.returns THEN 'restarted' ELSE s.how END AS how,
    CASE WHEN unix_millis(to_ts) - unix_millis(from_ts) < 120000 THEN concat(CAST(round((unix_millis(to_ts) - unix_millis(from_ts)) / 1000.0) AS INT), ' s') ELSE concat(CAST(round((unix_millis(to_ts) - unix_millis(from_ts)) / 60000.0) AS INT), ' min') END AS span
  FROM storm s LEFT JOIN process_start p ON p.process_id = s.subject) s
LEFT JOIN cost c ON c.kafka_cluster = s.kafka_cluster AND c.group_id = s.group_id AND c.kind = s.kind AND c.chain = s.chain AND c.n = s.n
LEFT JOIN moved m ON m.kafka_cluster = s.kafka_cluster AND m.group_id = s.group_id AND m.kind = s.kind AND m.chain = s.chain AND m.n = s.n

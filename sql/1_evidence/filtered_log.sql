-- One row per process whose log is a selection of its lines, for example by `grep`: lines that are absent may have been printed.
-- Reads: event, evidence_file, range_row
-- Grain: process_id
-- A filter leaves marks: separators, line numbers with gaps, or parts of records without their first lines. If not, the combination of lines shows
-- it: a coordinator prepares one rebalance after another and completes none, or members reach generation after generation without asking to join. A
-- single case may be a lost line; the pattern counts only if it has no exception. No conclusion may rest on the absence of a line from such a log.
-- The same is true if lines are not in the order in which they were printed, as in an export that sorts by second. Their times show that (threads
-- that write alternately put fewer than one line in a hundred before its time), or lines that one thread prints one after the other.
CREATE OR REPLACE TEMPORARY VIEW filtered_log (
  process_id,
  why        COMMENT 'separators, line_numbers, values (evidence_file), or the kind of line that never appears alone: rebalances_unended,
    rebalances_unprepared, rounds_unasked, answers_unasked, heartbeats_unsent, assignments_unstarted, starts_unmade, rounds_unassigned,
    settings_empty; unordered: its lines are not in the order in which they were printed; sorted: only those of the same millisecond are
    not',
  literal    COMMENT 'A word in all of its lines; NULL: none is known',
  from_ms    COMMENT 'First event, by the log''s clock (milliseconds since 1970)',
  to_ms      COMMENT 'Last event'
)
AS
WITH classified_line AS (
  SELECT process_id, unix_millis(ts) AS at_ms, event, category, client_kind, logger, group_id, reason,
    CASE WHEN event = 'rebalance_preparing' AND old_generation > lag(old_generation) OVER of_client THEN 'rebalances_unended'
      WHEN event = 'group_stabilized' AND generation > lag(generation) OVER of_client THEN 'rebalances_unprepared'
      -- Each member's own next round, because an excerpt may begin in the middle of a round.
      WHEN (event IN ('joined', 'synced') AND client_kind IN ('Consumer', 'Worker') OR event = 'worker_assigned')
        AND generation > lag(generation) OVER of_client THEN 'rounds_unasked'
      WHEN event = 'partitions_assigned' AND client_kind <=> 'Consumer' AND lag(event) OVER of_client IS NOT NULL THEN 'assigned_unjoined'
      WHEN event = 'worker_rebalance_started' AND lag(event) OVER of_client IS NOT NULL THEN 'rounds_unasked'
      -- A client without a coordinator is also asked to join but cannot. Only members send heartbeats.
      -- Clients in other languages print this answer as a warning, and their requests to join at INFO or DEBUG.
      WHEN event = 'heartbeat_failed' AND logger LIKE '%Coordinator' AND coalesce(error, cause, reason, '') RLIKE '(?i)rebalanc'
        THEN 'answers_unasked'
      WHEN event = 'task_starting' THEN 'starts_unmade'
      -- Some connectors and converters have no settings; clients, workers and brokers have dozens.
      WHEN event = 'config_dumped' AND coalesce(size(config), 0) <= 0 AND component
        IN ('ConsumerConfig', 'ProducerConfig', 'AdminClientConfig', 'DistributedConfig', 'KafkaConfig') THEN 'settings_empty' END AS sign,
    coalesce(ts < lag(ts) OVER (PARTITION BY process_id ORDER BY stream_pos), false) AS is_earlier,
    event = 'worker_assigned' AND size(assigned_tasks) > 0 AND lead(event) OVER of_client IS NOT NULL AS is_given_work,
    event = 'synced' AND client_kind <=> 'Consumer' AND lead(event) OVER of_client IS NOT NULL AS is_consumer_round,
    event = 'synced' AND client_kind <=> 'Worker' AND lead(event) OVER of_client IS NOT NULL AS is_worker_round
  FROM event
  -- A coordinator's lines name no client.
  WINDOW of_client AS (PARTITION BY process_id, instance, group_id, client_id, event ORDER BY stream_pos)
), line_count AS (
  SELECT process_id, min(at_ms) AS from_ms, max(at_ms) AS to_ms, count(*) AS line_count, count_if(is_earlier) AS earlier,
    count_if(sign = 'rebalances_unended') AS prepared,
    count_if(event IN ('group_stabilized', 'group_emptied', 'group_died', 'group_loaded', 'group_unloaded')) AS ended,
    count_if(sign = 'rebalances_unprepared') AS stabilized, count_if(event = 'rebalance_preparing') AS preparing,
    count_if(sign = 'rounds_unasked') AS rounds, count_if(sign = 'answers_unasked') AS answers,
    -- librdkafka prints its requests next to the responses.
    count_if(event IN ('joined', 'join_failed') AND logger = 'JOINGROUP') AS join_answers,
    count_if(event = 'heartbeat_failed' AND logger = 'HEARTBEAT' AND group_id IS NOT NULL) AS heartbeat_answers,
    count_if(sign = 'assigned_unjoined') AS assigned, count_if(event IN ('joined', 'synced')) AS joined,
    count_if(event = 'rejoin_requested' AND reason LIKE '%already rebalancing') AS asked_again,
    count_if(event = 'heartbeat_sent') AS heartbeats, count_if(event = 'joining') AS asked, count_if(is_given_work) AS given_work,
    count_if(category IN ('task', 'connector') OR event IN ('work_starting', 'work_started', 'tasks_stopped', 'config_behind')) AS work_lines,
    count_if(sign = 'starts_unmade') AS starts, count_if(category = 'task' AND event NOT IN ('task_starting', 'task_stopping')) AS made,
    count_if(is_consumer_round) AS consumer_rounds, count_if(is_worker_round) AS worker_rounds, count_if(event = 'worker_assigned') AS worker_given,
    count_if(event IN ('partitions_assigned', 'partitions_revoked', 'assignment_received')) AS given,
    count_if(sign = 'settings_empty') AS empty_settings
  FROM classified_line GROUP BY process_id
), swapped_line AS (
  SELECT process_id, max(resolution_ms) AS resolution_ms
  FROM (
    SELECT process_id, max(resolution_ms) AS resolution_ms,
      min(CASE WHEN event IN ('joined', 'group_stabilized', 'task_creating') THEN stream_pos END) AS first_pos,
      min(CASE WHEN event IN ('synced', 'assignment_from_leader', 'task_instantiated') THEN stream_pos END) AS second_pos,
      min(CASE WHEN event = 'worker_assigned' THEN stream_pos END) AS third_pos
    FROM event
    WHERE event IN ('joined', 'synced', 'worker_assigned', 'group_stabilized', 'assignment_from_leader', 'task_creating',
      'task_instantiated')
    GROUP BY process_id, instance, group_id, client_id, generation, CASE WHEN generation IS NULL THEN task END
  )
  GROUP BY process_id
  HAVING count_if(first_pos > second_pos OR second_pos > third_pos) >= 2
    AND count_if(first_pos > second_pos OR second_pos > third_pos) * 5 > count(coalesce(second_pos - first_pos, third_pos - second_pos))
), unordered_log AS (
  SELECT process_id, max(why) AS why
  FROM (
    SELECT process_id, 'sorted' AS why FROM range_row WHERE shift_why = 'unordered'
    UNION ALL
    SELECT process_id, 'unordered' FROM line_count WHERE earlier >= 10 AND earlier * 5 > line_count
    UNION ALL
    SELECT process_id, CASE WHEN resolution_ms > 1 THEN 'unordered' ELSE 'sorted' END FROM swapped_line
  )
  GROUP BY process_id
), pattern_found AS (
  SELECT process_id, from_ms, to_ms,
    CASE
      WHEN prepared >= 2 AND ended = 0 THEN 'rebalances_unended'
      WHEN stabilized >= 2 AND preparing = 0 THEN 'rebalances_unprepared'
      -- A KIP-848 consumer is never asked to join again.
      WHEN asked = 0 AND (rounds >= 2 OR assigned >= 2 AND asked_again >= 1 AND joined = 0) THEN 'rounds_unasked'
      WHEN greatest(answers, join_answers) >= 2 AND asked = 0 THEN 'answers_unasked'
      WHEN heartbeat_answers >= 2 AND heartbeats = 0 THEN 'heartbeats_unsent'
      WHEN given_work >= 2 AND work_lines = 0 THEN 'assignments_unstarted'
      WHEN starts >= 5 AND worker_given >= 2 AND made = 0 THEN 'starts_unmade'
      WHEN consumer_rounds >= 2 AND given = 0 OR worker_rounds >= 2 AND worker_given = 0 THEN 'rounds_unassigned'
      WHEN empty_settings >= 2 THEN 'settings_empty' END AS why
  FROM line_count
), filtered_file AS (
  SELECT c.process_id, min(f.filtered) AS why, max(f.literal) AS literal FROM line_count c
  -- A file may contain the lines of several processes.
  JOIN evidence_file f ON f.filtered IS NOT NULL AND (c.process_id = f.process_id OR startswith(c.process_id, concat(f.process_id, '#')))
  GROUP BY c.process_id
)
SELECT s.process_id, coalesce(u.why, f.why, s.why) AS why, f.literal, s.from_ms, s.to_ms FROM pattern_found s
LEFT JOIN filtered_file f ON f.process_id = s.process_id
LEFT JOIN unordered_log u ON u.process_id = s.process_id
WHERE u.process_id IS NOT NULL OR f.why IS NOT NULL OR s.why IS NOT NULL

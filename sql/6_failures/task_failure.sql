-- One row per failure of a Connect task or connector: why and when it failed, what came before, and who ran it afterwards.
-- Reads: fact_line, task_line, process_life, holding, clock_offset, log_hole, quiet_log, unowned, process_cluster, process, event_row, copied_log
-- Reads: damaged_line, process_start
-- Computed: forensics.tasks.task_failure
-- Grain: event_id
-- Public: yes
-- Consecutive lines about one failure are one row. Failures of a worker that is stopping have none. Work ends at the line of the failure; the task
-- stays assigned, and only a start ends the time for which it is not running. The deletion of its connector, or a later start of a standalone
-- worker without it, ends the failure. A start must have its line after the failure: the latest possible time of an unknown start does not show one.
CREATE OR REPLACE TEMPORARY VIEW task_failure (
  event_id STRING COMMENT 'The first line about the failure',
  kafka_cluster STRING,
  group_id STRING COMMENT 'Group of the Connect worker',
  resource_kind STRING COMMENT 'task or connector',
  resource STRING COMMENT 'Task (connector-number) or connector; NULL: the line names none',
  connector STRING,
  process_id STRING COMMENT 'Worker',
  instance INT,
  event STRING COMMENT 'task_failed: while it ran; task_killed: its second line, up to 2.6; task_init_failed and task_start_failed: before it ran;
    connector_failed, connector_start_failed',
  failed_ts TIMESTAMP COMMENT 'When, by the worker''s clock',
  failed_lo TIMESTAMP COMMENT 'Earliest time of the failure (reference clock)',
  failed_hi TIMESTAMP COMMENT 'Latest time of the failure',
  message STRING COMMENT 'First line of the message',
  exception STRING COMMENT 'The outermost exception as printed; NULL: the line has none',
  innermost STRING COMMENT 'The innermost cause of that exception; the exception itself if no cause is printed',
  before_id STRING COMMENT 'The last warning or error of the same task or connector in the minute before (failure_before_ms); NULL: none',
  before_event STRING COMMENT 'What it says',
  before_said STRING COMMENT 'Its error, cause or reason, else its message',
  before_ms BIGINT COMMENT 'How long before the failure, milliseconds',
  ran_again STRING COMMENT 'same_worker, other_worker: it started there afterwards; already_elsewhere: another owner certainly had it already; NULL:
    no line shows that it ran again',
  restart_how STRING COMMENT 'rest: a request to restart this task or connector; restart_plan: a request to restart the connector and its tasks;
    assignment: with the work that a rebalance gave its worker; process_restarted: its worker restarted; NULL: the lines do not show it',
  restart_client STRING COMMENT 'rest: host that sent the request; a worker that forwarded it, if that is one',
  next_process_id STRING COMMENT 'Worker that ran it next',
  next_ownership_id STRING COMMENT 'Its ownership',
  next_start_id STRING COMMENT 'Line of its start there',
  next_ts TIMESTAMP COMMENT 'Earliest time of its start there, by that worker''s clock',
  deleted_lo TIMESTAMP COMMENT 'Its connector was deleted, or its standalone worker was started without it, before it started again:
    earliest time (reference clock); NULL: no line shows it',
  deleted_id STRING COMMENT 'First line that shows this',
  idle_certain_ms BIGINT COMMENT 'It was not running for at least this long, milliseconds; NULL: it did not run again, or why_unknown',
  idle_possible_ms BIGINT COMMENT 'It was not running for at most this long, milliseconds',
  why_unknown STRING COMMENT 'Why the time for which it was not running is unknown: no_later_start (no line shows one), lines_missing (none does, and
    the worker''s log lacks such lines), other_clock (an owner whose clock cannot be compared), clock_stepped, no_times; NULL: it is known',
  watched_ms BIGINT COMMENT 'How long the log of the worker''s run continues after the failure, milliseconds',
  reference_process_id STRING,
  witness ARRAY<STRING> COMMENT 'Events that prove it: what came before, the lines of the failure, the next start'
)

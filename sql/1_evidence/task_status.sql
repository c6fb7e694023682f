-- One row per state of a connector or a task in a response of Connect's REST API or in its status topic.
-- Reads: snapshot
-- Grain: event_id
-- Public: yes
-- A status is the last one that a worker wrote, not its current state: a worker that died no longer writes.
CREATE OR REPLACE TEMPORARY VIEW task_status (
  connector,
  task       COMMENT 'Task, connector-number; NULL: the connector itself',
  state      COMMENT 'RUNNING, FAILED, UNASSIGNED, PAUSED, STOPPED, RESTARTING; REMOVED: its record was deleted',
  worker_id  COMMENT 'host:port of the worker that wrote the status',
  trace      COMMENT 'First line of the stack trace of a failed one',
  generation COMMENT 'Generation of the group that wrote it; only in the status topic',
  source     COMMENT 'connect_rest or connect_topic',
  taken_ts   COMMENT 'Time of the status: of the record in the topic, or the Date of a REST response; NULL: not in the file',
  path, line,
  event_id   COMMENT 'Its id, for `forensics show`'
)
AS
SELECT connector, task, state, worker_id, error AS trace, generation, source_kind AS source, ts AS taken_ts, path, line, event_id
FROM snapshot WHERE event IN ('task_status_reported', 'connector_status_reported')

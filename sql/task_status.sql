-- One row per state of a connector or a task that Connect's REST interface or its status topic reports.
-- Reads: snapshot
-- Grain: event_id
-- A status is what a worker wrote last, not what it does: a worker that died wrote nothing more.
CREATE OR REPLACE TEMPORARY VIEW task_status (
  connector  COMMENT 'Connector',
  task       COMMENT 'Task, connector-number; NULL: the connector itself',
  state      COMMENT 'RUNNING, FAILED, UNASSIGNED, PAUSED, STOPPED, RESTARTING; REMOVED: its record was deleted',
  worker_id  COMMENT 'host:port of the worker that wrote the status',
  trace      COMMENT 'First line of the stack trace of a failed one',
  generation COMMENT 'Generation of the group by which it was written; in the status topic only',
  source     COMMENT 'connect_rest or connect_topic',
  taken_ts   COMMENT 'When it was so: a record''s own time in the topic, the Date of a REST answer; NULL where the file does not tell',
  path       COMMENT 'File',
  line       COMMENT 'Line',
  event_id   COMMENT 'Its id, for `forensics show`'
)
COMMENT 'One row per state of a connector or a task that Connect reports.'
AS
SELECT connector, task, state, worker_id, error AS trace, generation, source_kind AS source, ts AS taken_ts, path, line, event_id
FROM snapshot
WHERE event IN ('task_status_reported', 'connector_status_reported')

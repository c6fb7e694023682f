-- One row per incident and resource that was without an owner, or worked on twice, because of it.
-- Reads: incident_gap
-- Grain: incident_id, kafka_cluster, group_id, resource_kind, resource
CREATE OR REPLACE TEMPORARY VIEW incident_resource (
  incident_id    COMMENT 'Incident',
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'Task, connector or partition',
  unowned_ms     COMMENT 'Longest time that it surely had no owner, milliseconds; NULL: it had one, as far as the lines tell',
  unowned_hi_ms  COMMENT 'Longest time that it can have had no owner in these, milliseconds; NULL: as unowned_ms, or nothing bounds it',
  double_work_ms COMMENT 'Longest time that two surely worked on it, milliseconds; NULL: nothing shows two at work'
)
COMMENT 'One row per incident and resource that was without an owner, or worked on twice, because of it.'
AS
SELECT
  incident_id AS incident_id,
  kafka_cluster AS kafka_cluster,
  group_id AS group_id,
  resource_kind AS resource_kind,
  resource AS resource,
  max(unowned_ms) AS unowned_ms,
  CASE WHEN count(unowned_ms) = count(unowned_hi_ms) THEN max(unowned_hi_ms) END AS unowned_hi_ms,
  max(double_work_ms) AS double_work_ms
FROM incident_gap
GROUP BY incident_id, kafka_cluster, group_id, resource_kind, resource

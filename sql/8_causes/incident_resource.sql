-- One row per incident and resource that had no owner, or two owners that worked, because of the incident.
-- Reads: incident_gap
-- Grain: incident_id, kafka_cluster, group_id, resource_kind, resource
CREATE OR REPLACE TEMPORARY VIEW incident_resource (
  incident_id    COMMENT 'Incident',
  kafka_cluster  COMMENT 'Kafka cluster id',
  group_id       COMMENT 'Group',
  resource_kind  COMMENT 'task, connector or partition',
  resource       COMMENT 'Task, connector or partition',
  unowned_ms     COMMENT 'Longest time that it certainly had no owner, milliseconds; NULL: no such time is known',
  unowned_hi_ms  COMMENT 'Longest time that it possibly had no owner in these cases, milliseconds; NULL: the same as unowned_ms, or no
    bound',
  double_work_ms COMMENT 'Longest time that two owners certainly worked on it, milliseconds; NULL: none is known'
)
COMMENT 'One row per incident and resource that had no owner, or two owners that worked, because of the incident.'
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

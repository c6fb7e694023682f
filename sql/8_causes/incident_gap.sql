-- One row for each period in which a resource had no owner, perhaps no owner, or two that worked on it, because of an incident. A
-- group without members is such a resource.
-- Reads: root_cause, unowned, split_brain, ownership, generation, member, open_rebalance, fact_line, clock_offset, broker_generation
-- Reads: lost_membership, process_life, process_cluster, member_place, member_generation
-- Computed: forensics.causes.gaps
-- Grain: incident_id, kafka_cluster, group_id, resource_kind, resource, id
-- Public: yes
CREATE OR REPLACE TEMPORARY VIEW incident_gap (
  incident_id STRING COMMENT 'Incident',
  kafka_cluster STRING, group_id STRING,
  resource_kind STRING COMMENT 'task, connector, partition or group',
  resource STRING COMMENT 'Task, connector, partition, or group without members',
  id STRING COMMENT 'Ownership that ended before it, or the two that ran at the same time; of a group, the line that says that it is empty',
  from_ts TIMESTAMP COMMENT 'Earliest start',
  to_ts TIMESTAMP COMMENT 'Latest end; NULL: no bound',
  unowned_ms BIGINT COMMENT 'It had no owner for at least this long, milliseconds; 0: perhaps none; NULL: it had two',
  unowned_hi_ms BIGINT COMMENT 'It had no owner for at most this long, milliseconds; NULL: it had two, or no bound',
  double_work_ms BIGINT COMMENT 'Two worked on it for at least this long, milliseconds; NULL: it had none'
)

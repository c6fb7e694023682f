-- One row per group, member, or committed offset of a partition in the output of kafka-consumer-groups --describe or in a dump of
-- __consumer_offsets.
-- Reads: snapshot
-- Grain: event_id
-- Public: yes
-- A dump's rows are its records in their order: a group's row is a stored generation, its members' rows have its line. Of commits, only the last of
-- each partition is kept. A generation that no log shows is not a row of `generation`: the dump does not show how it began.
CREATE OR REPLACE TEMPORARY VIEW group_snapshot (
  what                 COMMENT 'group, member, or offset (of a partition)',
  source               COMMENT 'groups_described (the tool''s output) or offsets_dump',
  group_id             COMMENT 'Group; NULL where the tool does not print it (0.10.2 to 2.3)',
  state                COMMENT 'State of the group as printed; Rebalancing: the tool only warns of it; removed: its record was deleted',
  protocol_type        COMMENT 'consumer, connect, ...; from a dump',
  protocol             COMMENT 'Assignor or Connect protocol',
  generation           COMMENT 'Generation; for a KIP-848 group its epoch',
  leader_member_id     COMMENT 'Leader of the group; from a dump',
  member_count         COMMENT 'Number of members',
  coordinator          COMMENT 'host:port of the coordinator',
  coordinator_id       COMMENT 'Broker id of the coordinator',
  offsets_partition    COMMENT 'Partition of __consumer_offsets that was dumped',
  member_id            COMMENT 'Member',
  group_instance_id    COMMENT 'group.instance.id',
  client_id,
  client_host          COMMENT 'Address of its host, as the broker saw it',
  worker_url           COMMENT 'REST URL of a Connect worker; from a dump',
  session_timeout_ms   COMMENT 'Session timeout; from a dump',
  rebalance_timeout_ms COMMENT 'Rebalance timeout; from a dump',
  member_epoch         COMMENT 'Epoch of a KIP-848 member',
  target_epoch         COMMENT 'Epoch of the target assignment (KIP-848)',
  assigned             COMMENT 'Assignment of the member: partitions, connectors, tasks; in a Connect group of 2.3 and later only the new ones',
  revoking             COMMENT 'Partitions that a KIP-848 member still has to revoke',
  record               COMMENT 'Record type in a KIP-848 group: member, target (target assignment), current (current assignment), target_epoch',
  topic                COMMENT 'Topic',
  partition            COMMENT 'Partition, topic-number',
  offset               COMMENT 'Committed offset; NULL: none',
  log_end_offset       COMMENT 'End of the partition',
  lag                  COMMENT 'Records behind',
  taken_ts             COMMENT 'Time of the state: that of the record in a dump, otherwise as in the file',
  path, line,
  event_id             COMMENT 'Its id, for `forensics show`'
)
AS
WITH topic_names AS (
  -- KIP-848 records name topics by their ids.
  SELECT map_from_entries(sort_array(collect_list(struct(topic_id, topic)))) AS names
  FROM (SELECT topic_id, max(topic) AS topic FROM snapshot WHERE event = 'topic_described' AND topic_id IS NOT NULL GROUP BY topic_id)
)
SELECT
  CASE WHEN event LIKE 'group\\_offset%' OR event LIKE 'offset\\_%' THEN 'offset' WHEN event LIKE 'member\\_%' THEN 'member' ELSE 'group' END AS what,
  source_kind AS source, group_id, CASE WHEN event LIKE '%\\_removed' THEN 'removed' ELSE group_state END AS state, protocol_type, protocol,
  generation, leader_member_id, member_count, coordinator, CASE WHEN event = 'group_described' THEN broker_id END AS coordinator_id,
  offsets_partition, member_id, group_instance_id, client_id, client_host, worker_url, session_timeout_ms, rebalance_timeout_ms, member_epoch,
  try_cast(coalesce(columns['TARGET-EPOCH'], columns['TARGET-ASSIGNMENT-EPOCH']) AS BIGINT) AS target_epoch,
  CASE WHEN assigned_partitions IS NOT NULL OR assigned_connectors IS NOT NULL OR assigned_tasks IS NOT NULL THEN
    concat(transform(coalesce(assigned_partitions, CAST(array() AS ARRAY<STRING>)),
      p -> coalesce(concat(n.names[regexp_extract(p, '^(.*)-[^-]*$', 1)], regexp_extract(p, '(-[^-]*)$', 1)), p)),
      coalesce(assigned_connectors, CAST(array() AS ARRAY<STRING>)), coalesce(assigned_tasks, CAST(array() AS ARRAY<STRING>))) END AS assigned,
  transform(revoked_partitions, p -> coalesce(concat(n.names[regexp_extract(p, '^(.*)-[^-]*$', 1)], regexp_extract(p, '(-[^-]*)$', 1)),
    p)) AS revoking,
  columns['RECORD'] AS record, topic, partition, offset, try_cast(columns['LOG-END-OFFSET'] AS BIGINT) AS log_end_offset,
  try_cast(columns['LAG'] AS BIGINT) AS lag, ts AS taken_ts, path, line, event_id
FROM snapshot CROSS JOIN topic_names n
WHERE event IN ('group_described', 'member_described', 'group_offset_described', 'group_stored', 'group_removed', 'member_stored',
  'member_removed', 'offset_stored', 'offset_removed')

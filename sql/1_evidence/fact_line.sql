-- One row per event that rules and causes use, apart from the members' own lines, with its Kafka cluster.
-- Reads: placed_event, shared_log
-- Grain: event_id
-- This view is narrow and small so that its readers do not scan all events. If a reader needs another event, add it to the list below.
CREATE OR REPLACE TEMPORARY VIEW fact_line (
  event_id, kafka_cluster, process_id, instance, stream_pos, at_ms, level, event, message, thread, group_id, client_kind, client_id, member_id,
  members, group_instance_id,
  task COMMENT 'Connect task',
  connector, broker_id, node_id, partition, replicas, replication_factor, required, brokers_alive, offset, config_offset,
  assigned_config_offset, worker_url, text,
  worker_group_id COMMENT 'Group of the Connect worker of its process; NULL: it has none, or several',
  said COMMENT 'Error, cause or reason as printed',
  root_error
)
AS
SELECT e.event_id, e.kafka_cluster, e.process_id, e.instance, e.stream_pos, unix_millis(e.ts) AS at_ms, e.level, e.event, e.message, e.thread,
  e.group_id, e.client_kind, e.client_id, e.member_id, e.members, e.group_instance_id, e.task, e.connector, e.broker_id, e.node_id, e.partition,
  e.replicas, e.replication_factor, e.required, e.brokers_alive, e.offset, e.config_offset, e.assigned_config_offset, e.worker_url, e.text,
  e.worker_group_id, coalesce(e.error, e.cause, e.reason) AS said, e.root_error
FROM placed_event e
-- Without the lines of members that cannot be distinguished.
LEFT ANTI JOIN shared_log s ON s.process_id = e.process_id AND (s.is_worker OR s.client = coalesce(e.client_id, e.task, e.thread, '-'))
-- A second start of a worker or broker that runs finds its address in use, or fails by its configuration: that failure is not one of the run whose
-- lines are around it. A broker of a KRaft cluster that cannot start calls itself started before it shuts down.
LEFT ANTI JOIN placed_event h ON h.process_id = e.process_id AND h.instance = e.instance
  AND (e.event IN ('connect_start_failed', 'broker_failed') AND e.message NOT LIKE '%during%startup%'
      AND (e.root_error LIKE '%BindException%'
        OR e.message LIKE 'Stopping due to error%' AND coalesce(e.root_error, e.error) RLIKE 'ConfigExc|NoSuchFileExc')
      AND h.event IN ('herder_started', 'broker_started') AND h.stream_pos < e.stream_pos
    OR e.event = 'broker_started' AND h.event = 'broker_failed' AND h.message LIKE '%during broker startup%' AND h.stream_pos > e.stream_pos)
WHERE e.event IN (
  -- the coordinator's side
  'coordinator_elected', 'coordinator_resigned', 'partition_loaded', 'group_loaded', 'group_store_failed', 'coordinator_write_failed',
  'isr_changed', 'offsets_topic_created', 'offsets_topic_failed', 'offsets_topic_requested', 'partition_placed', 'offsets_expired',
  'offsets_deleted', 'groups_deleted', 'member_expired', 'member_left', 'member_fenced_by_broker', 'static_member_replaced', 'group_died',
  'group_emptied', 'broker_registered', 'broker_fenced', 'quorum_leader', 'broker_started', 'broker_failed', 'log_dir_failed', 'unclean_start',
  -- process start and stop
  'process_stopping', 'herder_starting', 'herder_started', 'herder_failed', 'connect_start_failed', 'application_failed', 'application_started',
  'worker_url_advertised', 'kafka_cluster_id', 'duplicate_client_id',
  -- a client's network
  'connection_failed', 'bootstrap_failed', 'authentication_failed', 'coordinator_lookup_failed', 'coordinator_unreachable', 'request_timed_out',
  -- work
  'subscribed', 'client_closed', 'close_timed_out', 'coordinator_disconnect_requested', 'task_start_failed', 'connector_start_failed', 'task_failed',
  'task_killed', 'task_init_failed', 'connector_failed', 'task_already_runs', 'config_behind', 'config_mismatch', 'config_read_timeout',
  'config_caught_up', 'leader_config_behind', 'internal_log_failed', 'session_key_updated', 'restart_executing', 'task_restarted',
  'worker_assignment_failed',
  'leader_write_claim_failed', 'leader_write_fenced', 'sink_partitions', 'revocation_skipped', 'leader_duplicates', 'assignment_conflict',
  'task_orphan_failed', 'task_stop_failed', 'rest_forward_failed', 'connector_config_updated', 'connector_config_removed',
  'connector_target_state_changed',
  -- positions
  'commit_failed', 'position_set', 'position_reset', 'position_missing', 'position_out_of_range', 'offset_committed', 'topic_recreated')
  -- These are printed for every partition. Only the partitions of __consumer_offsets matter here, about one in a hundred.
  AND (e.event NOT IN ('partition_placed', 'isr_changed') OR e.partition LIKE '\\_\\_consumer\\_offsets-%')

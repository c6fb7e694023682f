-- One row per root cause. Repetitions of one kind in one place, at most storm_gap_ms apart, are one root cause.
-- Reads: process_trouble, process_ending, coordinator_outage, group_outage, broker_absence, removed_member, setting, worker_setting, event_row
-- Reads: generation, join_round, cluster_broker, process_life, clock_offset, filtered_log, rule_coordinator_unavailable, rule_poll_timeout
-- Reads: rule_offsets_topic_unsatisfiable, rule_generation_reset, rule_rebalance_storm, rule_duplicate_declaration, rule_sink_group_shared
-- Reads: rule_group_id_collision, rule_static_member_fenced, rule_clock_skew, fact_line, process_pause, lost_membership
-- Reads: machine_event, counted_row, evidence_file, client_event, lost_range, rule_start_failed, unrecognised_row
-- Computed: forensics.causes.root_causes
-- Grain: incident_id
-- A cause follows from views, even if no rule reports its effects. A configuration that a rule reports is a cause by itself.
-- A client checks its session before its polls, so a client that was paused for longer than both reports the expired session. A poll
-- timeout alone therefore shows a process that runs. A KIP-848 client does not check its session, and other libraries have their own order.
CREATE OR REPLACE TEMPORARY VIEW root_cause (
  incident_id STRING COMMENT 'Stable id of the incident',
  cause STRING COMMENT 'Cause, in a closed vocabulary',
  alternatives ARRAY<STRING> COMMENT 'Possible causes, if the lines do not decide',
  kafka_cluster STRING COMMENT 'Kafka cluster id; NULL: none',
  group_ids ARRAY<STRING> COMMENT 'Affected groups',
  worker_group_id STRING COMMENT 'Group of the workers with which members of sinks were lost; NULL: none, or the process is known',
  sink_members BIGINT COMMENT 'Number of these members of sinks',
  subject STRING COMMENT 'Process, broker, group, connector or group.instance.id where it began',
  process_ids ARRAY<STRING> COMMENT 'Processes where it began',
  times BIGINT COMMENT 'How often it happened',
  parts ARRAY<STRUCT<from_lo_ms: BIGINT, from_hi_ms: BIGINT, to_lo_ms: BIGINT, to_hi_ms: BIGINT, process_id: STRING,
    instance: INT, member_ids: ARRAY<STRING>>>
    COMMENT 'Each time: process, process run, lost members, and its bounds',
  from_lo_ms BIGINT COMMENT 'Began at this time at the earliest (reference clock); NULL: always',
  from_hi_ms BIGINT COMMENT 'Began at this time at the latest',
  to_lo_ms BIGINT COMMENT 'Ended at this time at the earliest; NULL: still open, or always',
  to_hi_ms BIGINT COMMENT 'Ended at this time at the latest',
  witness ARRAY<STRING>,
  machine STRUCT<code: STRING, how: STRING, length_ms: BIGINT, name: STRING, exit_code: INT, memory_limit: STRING, at_ms: BIGINT>
    COMMENT 'What a witness of the machine says about it: gc_pause, gc_starved (a collection that the host did not let run), gc_unsure, safepoint,
    not_gc, clock_stepped (its host''s clock was set), zone_unsure (it fits only in the time zone that is assumed for its log: nothing is decided),
    thread (what the thread that did not poll in time did at at_ms), printed (what the task printed before), or what ended the
    process; NULL: no witness'
)

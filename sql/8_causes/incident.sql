-- One row per root cause, with its consequences.
-- Reads: root_cause, removed_member, member, lost_membership, split_brain, open_rebalance, process_life, clock_offset, client_event, silent_member
-- Reads: fact_line, producer_session, lost_range, filtered_log, generation, unowned, broker_generation, ownership, member_place, member_generation
-- Reads: join_round, member_round, process_cluster, rules
-- Computed: forensics.causes.incidents
-- Grain: incident_id
-- Words: by view
-- Public: yes
-- A cause follows from the lines about processes, members, generations and brokers, whether or not a rule reports its effects. If several causes fit
-- the lines, the cause is unknown and `alternatives` has them. A clean restart and a deployment are not failures. It is over when its cause is
-- over, and so are all effects: one owner instead of two, an owner for every resource, a coordinator for every member. A log that simply ends shows
-- no end. If both owners' logs continue until the last log ends, both are still running; if one ends earlier, the state is unknown. Two owners that
-- were separated only by a shutdown at the end of the logs would otherwise still be two.
CREATE OR REPLACE TEMPORARY VIEW incident (
  incident_id STRING COMMENT 'Stable id of the incident',
  kafka_cluster STRING COMMENT 'Kafka cluster id; NULL: none',
  group_ids ARRAY<STRING> COMMENT 'Groups that it affected',
  cause STRING COMMENT 'process_paused, process_killed, process_restarted, member_cut_off, poll_too_slow, broker_down, coordinator_moved,
    offsets_topic_impossible, offsets_lost, connector_churn, duplicate_declaration, group_id_collision, static_id_shared, clock_wrong, deployment or
    unknown',
  alternatives ARRAY<STRING> COMMENT 'Causes that the lines do not distinguish; empty: the cause is known, or nothing indicates it',
  subject STRING COMMENT 'Process, broker, group, connector, topic or group.instance.id where it began',
  from_lo TIMESTAMP COMMENT 'Earliest start (reference clock); NULL: it existed throughout',
  from_hi TIMESTAMP COMMENT 'Latest start',
  to_lo TIMESTAMP COMMENT 'Earliest end; NULL: open when the logs end, or it existed throughout',
  to_hi TIMESTAMP COMMENT 'Latest end',
  severity STRING COMMENT 'critical, warning or note: the most severe of its findings',
  times BIGINT COMMENT 'How often the cause occurred',
  resources_hit ARRAY<STRING> COMMENT 'Tasks, connectors and partitions that had no owner, or two working, because of it',
  longest_outage_ms BIGINT COMMENT 'Longest time that one of them certainly had no owner, milliseconds; NULL: none',
  longest_outage_hi_ms BIGINT COMMENT 'Longest time that one of them possibly had no owner, milliseconds; NULL: none, or no bound',
  double_work_ms BIGINT COMMENT 'Longest time that two certainly worked on one of them, milliseconds; NULL: none',
  finding_ids ARRAY<STRING> COMMENT 'Findings that it explains',
  headline STRING COMMENT 'One sentence',
  advice STRING COMMENT 'First action; NULL: see the advice of its findings, if any',
  code STRING COMMENT 'Case whose words describe it',
  facts STRUCT<lasted_lo_ms: BIGINT, lasted_hi_ms: BIGINT, member_count: BIGINT, process_count: BIGINT, rule: STRING,
    is_taken_over: BOOLEAN, is_stopped: BOOLEAN, began_at_ms: ARRAY<BIGINT>, served_at_ms: BIGINT, of_group_ids: ARRAY<STRING>,
    worker_group_id: STRING, sink_members: BIGINT, late_count: BIGINT, kept_count: BIGINT, again_at_ms: BIGINT,
    member_ids: ARRAY<STRING>, host: STRING, thread: STRING, client: STRING,
    is_worker: BOOLEAN, is_librdkafka: BOOLEAN, is_python: BOOLEAN, limit_ms: BIGINT,
    consumer_count: BIGINT, is_unanswered: BOOLEAN,
    is_broker: BOOLEAN, lost_count: BIGINT, is_never_back: BOOLEAN, over_at_ms: BIGINT, rebalanced_ms: BIGINT, is_lost: BOOLEAN,
    ended_at_ms: BIGINT, shown_at_ms: BIGINT, machine: STRING, machine_how: STRING, machine_ms: BIGINT, memory_limit: STRING,
    unsure_how: STRING, machine_at_ms: BIGINT>
    COMMENT 'Named facts of the sentences; durations end in _ms, times in _at_ms',
  witness ARRAY<STRING>,
  state STRING COMMENT 'over, open (a later line shows that it went on, or only the shutdown that ends the logs ended it) or unknown (no line shows
    its end, nor that it went on)',
  over_since TIMESTAMP COMMENT 'Time by which it was over, with its consequences (reference clock); NULL: not over, or unknown',
  over_how STRING COMMENT 'ended; shut_down: it lasted until one of its processes was shut down (open: with which the logs end); else NULL',
  shown_until TIMESTAMP COMMENT 'Time up to which the logs show it (reference clock); NULL: it is over',
  still ARRAY<STRING> COMMENT 'Conditions that are not over, the most severe first: two_owners, broker_away, process_away, rebalance, offsets_topic,
    no_coordinator, declared, fenced, group_empty, no_owner, clock, zone, not_started, failed, not_stored',
  targets ARRAY<STRING> COMMENT 'Processes or brokers to stop or start; if a shutdown ended it, those that were shut down',
  outcome STRING COMMENT 'Whether it is over and since when, or which condition is not',
  stop_now STRING COMMENT 'Action that ends it now; NULL: it is over',
  step STRING COMMENT 'The cause in a few words, as the first step of the story',
  next STRING COMMENT 'Where to look for its cause; NULL: see advice, or the advice of its findings',
  prevent STRING COMMENT 'Setting or change that prevents it; NULL: none in general'
)

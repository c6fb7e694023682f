-- One row for each period in which a task, connector or partition that had had an owner had none.
-- Reads: ownership, join_round, member_heard, clock_offset, member, generation, member_generation, broker_generation, log_hole, lost_range
-- Reads: event_row, copied_log, damaged_line, process_start, process_cluster
-- Computed: forensics.ownership.unowned
-- Grain: kafka_cluster, group_id, resource_kind, resource, previous_ownership_id
-- Public: yes
-- Certain from `from_hi` to `to_lo`, possible from `from_lo` to `to_hi`. Owners whose clocks cannot be compared have no row: one may have had it
-- while the other had not. It is never certain if a member of a generation in between, whose assignment no line shows, may have had it. Of several
-- owners before, the one that ended last counts.
CREATE OR REPLACE TEMPORARY VIEW unowned (
  kafka_cluster STRING, group_id STRING, resource_kind STRING,
  resource STRING COMMENT 'Resource without an owner',
  from_lo TIMESTAMP COMMENT 'Earliest time at which its last owner lost it (reference clock)',
  from_hi TIMESTAMP COMMENT 'Latest time at which its last owner lost it; NULL: no line shows that it did',
  to_lo TIMESTAMP COMMENT 'Earliest time at which its next owner had it; NULL: no later owner in the logs',
  to_hi TIMESTAMP COMMENT 'Latest time at which its next owner had it',
  certain_ms BIGINT COMMENT 'Without an owner for at least this long, milliseconds; NULL: no later owner',
  possible_ms BIGINT COMMENT 'Without an owner for at most this long, milliseconds; NULL: no bound',
  why STRING COMMENT 'failure: it failed; scheduled_delay: a Connect group held it for a worker''s return; process_gone: its process
    died or was restarted; expired: the broker removed its owner for silence; left_group: its owner left or lost the group; restart: the
    same member stopped and started it; rebalance: it moved; unknown',
  delay_ms BIGINT COMMENT 'Scheduled rebalance delay of the group meanwhile, milliseconds',
  previous_ownership_id STRING COMMENT 'Last ownership before',
  previous_process_id STRING COMMENT 'Its process',
  previous_member_id STRING COMMENT 'Its member id',
  next_ownership_id STRING COMMENT 'First ownership after; NULL: none',
  next_process_id STRING COMMENT 'Its process',
  next_member_id STRING COMMENT 'Its member id',
  generation BIGINT COMMENT 'Generation that gave it to its next owner',
  reference_process_id STRING, witness ARRAY<STRING>,
  may_be_owned BOOLEAN COMMENT 'True if another member may have owned it in between'
)

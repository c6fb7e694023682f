-- One row per generation and part of its rebalance: the time spent, the member waited for, and the setting that decided it.
-- Reads: generation, broker_generation, member, member_setting, config_value, member_side, clock_offset
-- Computed: forensics.generations.rebalance_blame
-- Grain: kafka_cluster, group_id, incarnation, generation, part
-- Words: by view
-- Public: yes
-- `detection`: from the last request that the coordinator can have received from a lost member to the rebalance. `waiting`: the join phase. `sync`:
-- from the join phase to the leader's assignment. `scheduled_delay`: tasks that a Connect group held for the missing worker's return. The effect of
-- another value follows only from printed times; it is NULL if the value in force is not printed.
CREATE OR REPLACE TEMPORARY VIEW rebalance_blame (
  kafka_cluster STRING, group_id STRING, incarnation BIGINT,
  generation BIGINT    COMMENT 'Generation; for a KIP-848 group its epoch',
  part STRING          COMMENT 'detection, waiting, sync or scheduled_delay',
  from_ts TIMESTAMP       COMMENT 'Start, by the coordinator''s clock, else by the members'' common clock (middle of bounds); NULL: unknown',
  to_ts TIMESTAMP         COMMENT 'End; NULL: it was still running when the logs ended, or only clocks that cannot be compared show it',
  ms BIGINT            COMMENT 'Duration, milliseconds; for a detection at least this: the last request of the member was not after its start',
  member_id STRING     COMMENT 'Member that took the time: lost, waited for, or leading',
  process_id STRING    COMMENT 'Its process, if it has a log',
  setting STRING       COMMENT 'Setting that decided the duration; NULL: none',
  value_ms BIGINT      COMMENT 'Its value, milliseconds; NULL: not printed',
  value_how STRING     COMMENT 'Source of the value: config (the member), broker (the coordinator), group (the other members) or assignment',
  other_ms BIGINT      COMMENT 'Another value for comparison, milliseconds; NULL: none is useful',
  sooner_ms BIGINT     COMMENT 'With that value it would have ended at most this much sooner (a detection exactly this), milliseconds',
  what_if STRING       COMMENT 'The same in words, with the cost of that value',
  code STRING          COMMENT 'Case of what_if; NULL: none',
  inferred BOOLEAN      COMMENT 'True when no line gives the reason and it follows from earlier events',
  witness ARRAY<STRING>
)

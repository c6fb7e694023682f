-- One row per occurrence of a finding and fact that can link it to its cause, with its incident, if its root cause is known.
-- Reads: occurrence_fact, lost_membership, unowned, split_brain, ownership, join_round, member_round, clock_offset, root_cause, incident_reach
-- Grain: occurrence_id, kind, kafka_cluster, group_id, name, number
-- Computed: forensics.causes.effects
-- Time only limits the candidates: an effect does not begin before its cause, nor long after the cause was over. Of several causes the one
-- with the most specific fact counts, then the one that began last.
CREATE OR REPLACE TEMPORARY VIEW effect (
  occurrence_id STRING COMMENT 'Occurrence',
  kind          STRING COMMENT 'member, process, generation, resource, broker, connector, group or whole (each occurrence has one such row)',
  kafka_cluster STRING, group_id STRING,
  name          STRING COMMENT 'Member id, process, task or partition, connector, or broker id',
  number        BIGINT COMMENT 'Run of the process, or generation; NULL: any, or none',
  incarnation   BIGINT COMMENT 'Incarnation of the group''s metadata, for a generation; NULL: unknown',
  from_ms       BIGINT COMMENT 'The part of the occurrence with this fact began at this time (reference clock); NULL: unknown',
  to_ms         BIGINT COMMENT 'And ended at this time',
  begun_ms      BIGINT COMMENT 'It had certainly begun at this time, if an uncertain clock leaves that open; else the same as from_ms',
  incident_id   STRING COMMENT 'Incident; NULL: its cause is unknown',
  caused_how    STRING COMMENT 'Fact that links them: cause, member, process_life, coordinator, generation, connector or group'
)

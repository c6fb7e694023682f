-- One row per member that a root cause removed from its group or brought back, and per generation that followed because of such a member.
-- Reads: root_cause, member, member_place, lost_membership, generation, member_generation
-- Computed: forensics.causes.reach
-- Grain: incident_id, kafka_cluster, group_id, member_id, role, incarnation, generation
-- A generation that only completes the previous one, at the end of its delay or after its revocations, has the same cause.
CREATE OR REPLACE TEMPORARY VIEW incident_reach (
  incident_id STRING COMMENT 'Incident',
  kafka_cluster STRING, group_id STRING,
  role STRING COMMENT 'lost: the membership ended; returned: the next member of its process; rebalanced: a generation because of either',
  member_id STRING COMMENT 'Member id; NULL: a generation',
  incarnation BIGINT COMMENT 'Incarnation of the group''s metadata; NULL: a member',
  generation BIGINT COMMENT 'Generation; NULL: a member',
  from_ms BIGINT COMMENT 'Not before this time, or when the generation began (reference clock)',
  to_ms BIGINT COMMENT 'Not after this time; NULL: no bound'
)

-- One row per membership that a client lost against its will, and how: its coordinator removed it, or refused it when it returned.
-- Reads: event_row, counted_row, copied_log, damaged_line, process_start, process_cluster, removed_member, member_round, join_round
-- Reads: broker_generation, process_ending, process_life, coordinator_outage, clock_offset, client_event, fact_line, filtered_log, member_place
-- Reads: evidence_file, lost_range, process_pause
-- Computed: forensics.memberships.lost_membership
-- Grain: kafka_cluster, group_id, loss_id
-- A running member of the classic protocol notices the expiry of its session at the same moment as its coordinator. A member that reports it much
-- later did not run in between. The same is true if several of its clients, each with its own thread, cancel requests long after their timeouts. A
-- member that reports the expiry in time and cannot find its coordinator for long did run. Trouble of other members of the group at the same moment
-- means trouble of the coordinator. Kinds: coordinator (trouble of the coordinator), closed (its client had been closed), over (its process had
-- ended), slow (heartbeats arrived, but it did not rejoin), silent (its log ends), silent_unsure (its log ends, and lines may be missing:
-- its coordinator was in trouble then, its file is filtered or could not be read completely, or its coordinator shows a member of its name later that
-- has no log, or its clock cannot be compared), returned (its clock cannot be compared, and its coordinator shows that it joined again), replaced (a
-- new client took its place without any line about the loss), unnoticed (its client logs nothing about it), paused, cut_off, slow_or_paused,
-- paused_or_cut_off, refused (only the refusal is known), abandoned (its process is unknown, but none of the candidates was in trouble), nobody (its
-- process is unknown).
CREATE OR REPLACE TEMPORARY VIEW lost_membership (
  kafka_cluster STRING, group_id STRING,
  loss_id STRING        COMMENT 'Event of the removal and member id, or the refusal if the coordinator''s log is missing',
  member_id STRING      COMMENT 'Member id; NULL: unknown',
  process_id STRING     COMMENT 'Its process; NULL: unknown',
  instance INT, client STRING, is_worker BOOLEAN,
  how STRING            COMMENT 'session, rebalance, or refused: only the member''s log is available',
  protocol STRING       COMMENT 'classic or consumer (KIP-848)',
  removed_id STRING     COMMENT 'Event of the removal; NULL: not in these logs',
  removed_lo_ms BIGINT  COMMENT 'Removed at this time at the earliest (reference clock)',
  removed_hi_ms BIGINT  COMMENT 'Removed at this time at the latest',
  heard_ms BIGINT       COMMENT 'It asked to join its last generation at this time at the earliest (reference clock); NULL: no
    coordinator''s log shows it',
  reference_process_id STRING,
  session_ms BIGINT     COMMENT 'Its session timeout; NULL: not printed',
  own_lo_ms BIGINT      COMMENT 'Removed at this time at the earliest, by the process''s own clock',
  own_hi_ms BIGINT      COMMENT 'Removed at this time at the latest, by its own clock; without the coordinator''s log, when others had moved on',
  broker STRING         COMMENT 'Coordinator''s process that removed it',
  worker_group_id STRING COMMENT 'Group of the worker that a sink''s member was lost with; NULL: none is known',
  worker_member_id STRING COMMENT 'Member id of that worker',
  kind STRING           COMMENT 'How it was lost, in a closed vocabulary',
  answered_ms BIGINT    COMMENT 'Last response of its coordinator before the loss, by its own clock',
  before_ms BIGINT      COMMENT 'Last line of the process before the removal, by its own clock; if none, the last request that it cancelled late',
  after_ms BIGINT       COMMENT 'First line of the process after it, in the same run',
  noticed_ms BIGINT     COMMENT 'First line of the client that shows the loss, by its own clock; NULL: none',
  noticed_id STRING     COMMENT 'Its event',
  noticed STRING        COMMENT 'coordinator_lost, or the refusal''s event',
  last_lost_ms BIGINT   COMMENT 'Last time that it lost its coordinator in this period',
  found_ms BIGINT       COMMENT 'It had found its coordinator again at this time, after the last loss',
  first_found_ms BIGINT COMMENT 'It found its coordinator at this time, the first time after it had noticed',
  refused_id STRING     COMMENT 'Event that refuses it; NULL: none',
  again_ms BIGINT       COMMENT 'A member of its name that has no log joined at this time at the latest (reference clock); NULL: none did',
  returned_ms BIGINT    COMMENT 'Its client joined again as another member at this time at the latest (reference clock); NULL: it did not',
  back_ms BIGINT        COMMENT 'Member again at this time',
  back_id STRING        COMMENT 'Its event',
  candidates ARRAY<STRING>     COMMENT 'abandoned: the processes of the clients that it may have been; NULL: another kind'
)

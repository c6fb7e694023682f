-- One row per member whose session expired, according to the log of its coordinator or, without one, to the member's own.
-- Reads: event_row, copied_log, damaged_line, process_start, process_cluster, member, config_value, client_event, clock_offset, generation
-- Reads: removed_member, process_life, coordinator_outage, lost_membership, shared_log, filtered_log, lost_range, process_pause
-- Computed: forensics.memberships.expired_session
-- Grain: event_id, member_id
-- A member that had left, or had stopped polling, before its coordinator removed it has no row: other rules report it.
CREATE OR REPLACE TEMPORARY VIEW expired_session (
  how               STRING COMMENT 'expired (its coordinator''s log shows it), own_words (it found that its session expired, and was then refused),
    told_by_coordinator, not_known (it prints no member id), no_answer (it prints no group)',
  kafka_cluster STRING, group_id STRING,
  member_id         STRING COMMENT 'Member id; NULL: not printed',
  at_ms             BIGINT COMMENT 'When it was removed, or refused (clock of that log, milliseconds since 1970)',
  event_id          STRING COMMENT 'Event that shows it',
  process_id        STRING COMMENT 'Its process; NULL: unknown',
  instance          INT COMMENT 'Run of the process',
  client            STRING COMMENT 'Its client, if it prints no member id; otherwise NULL',
  task STRING, group_instance_id STRING,
  left_client       STRING COMMENT 'How its client left, as in member',
  broker            STRING COMMENT 'Process of its coordinator; NULL: only the member''s log shows it',
  broker_protocol   STRING COMMENT 'Protocol of its group, if the broker assigns; NULL: its members do',
  session_ms        BIGINT COMMENT 'Session timeout; NULL: not printed',
  last_event        STRING COMMENT 'Last group line of its client before it was removed; in its own log, the line that finds the session expired',
  last_ms           BIGINT COMMENT 'Time of that line, by its own clock; no_answer: since when it got no answer',
  last_id           STRING COMMENT 'Its event',
  again_ms          BIGINT COMMENT 'It was a member again at this time; NULL: no line shows it',
  again_id          STRING COMMENT 'Its event',
  ran_on            BOOLEAN COMMENT 'True if its process run certainly printed lines after the removal',
  ending_ms         BIGINT COMMENT 'Its process had begun to stop before the removal, at this time; NULL: it had not',
  ending_id         STRING COMMENT 'Its event',
  closing_ms        BIGINT COMMENT 'Its client had been closed before, at this time; NULL: the line has no time, or there is none',
  closing_id        STRING COMMENT 'Its event; NULL: it had not been closed',
  lost_ms           BIGINT COMMENT 'Its client then had no coordinator that it could have notified, since this time; NULL: it had one',
  lost_id           STRING COMMENT 'Its event',
  paused_ms         BIGINT COMMENT 'Its coordinator continued just then after a pause of at least this long, milliseconds; NULL: it did not',
  paused_id         STRING COMMENT 'Event that shows it',
  shared_log        STRING COMMENT 'Log of several members that has its lines; NULL: its process is known, or there is none',
  namesake          STRING COMMENT 'Client name of its member id, if its process is unknown, but none of the candidates was in trouble',
  namesake_processes ARRAY<STRING> COMMENT 'Processes of these candidates'
)

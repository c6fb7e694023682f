-- One row per ownership: an unbroken period in which one instance in one process held one task, connector or partition.
-- Reads: holding
-- Grain: ownership_id
-- Public: yes
-- Two spans: work (user code may read or write) ends at the latest when its client leaves or closes; the thread, or the ownership of a partition,
-- ends with a line that shows it. Bounds are on the clock of the island's reference, so they may be compared across processes of one island.
CREATE OR REPLACE TEMPORARY VIEW ownership (
  ownership_id, kafka_cluster, group_id, resource_kind,
  resource      COMMENT 'Task (connector-number), connector, or topic partition',
  process_id    COMMENT 'Owner''s process',
  member_id     COMMENT 'Owner''s member id',
  instance      COMMENT 'Number of its start in the process',
  generation    COMMENT 'Generation that assigned it',
  start_lo      COMMENT 'Not owned before; NULL: owned when the log began',
  start_hi      COMMENT 'Certainly owned from this time on',
  stop_asked_ts COMMENT 'Asked to stop, by its own clock',
  work_stop_lo  COMMENT 'Certainly working until this time; NULL: no sign of work',
  work_stop_hi  COMMENT 'Certainly no longer working from this time on; NULL: unknown',
  stop_lo       COMMENT 'Certainly owned until this time',
  stop_hi       COMMENT 'Certainly no longer owned from this time on; NULL: unknown; a log that just ends does not prove an end',
  phase_end     COMMENT 'running, stopping, closing, failed or gone: its last known state',
  stop_how      COMMENT 'Line that shows its end: stopped, client_closed, tasks_stopped, statuses_flushed, worker_stopped,
    started_again, process_restarted, orphan_failed, revoked, lost; NULL: none',
  reference_process_id,
  witness       COMMENT 'Events that prove the start and the end'
)
AS
SELECT h.ownership_id, h.kafka_cluster, h.group_id, h.resource_kind, h.resource, h.process_id, h.member_id, h.instance, h.generation,
  timestamp_millis(h.from_lo_ms) AS start_lo, timestamp_millis(h.from_hi_ms) AS start_hi, timestamp_millis(h.stop_asked_ms) AS stop_asked_ts,
  timestamp_millis(h.work_stop_lo_ms - h.ahead_hi_ms) AS work_stop_lo, timestamp_millis(h.work_to_hi_ms) AS work_stop_hi,
  timestamp_millis(h.to_lo_ms) AS stop_lo, timestamp_millis(h.to_hi_ms) AS stop_hi, h.phase_end, h.stop_how, h.reference_process_id,
  filter(array_distinct(array(h.start_id, h.start_sign_id, h.stop_asked_id, h.last_sign_id, coalesce(h.end_id, h.stop_id))), e -> e IS NOT NULL)
    AS witness
FROM holding h

-- One row per two logs that are, or may be, parts of one process's log, such as those of two days or those before and after a clock step.
-- Reads: client_event, process, member_round, join_round
-- Grain: process_id, other_process_id
-- A coordinator issues a member id only once, and a member prints its own, so logs with the same id belong to one process. So do logs with the same
-- advertised URL, unless they overlap in time: two workers may both advertise localhost. A file is split where time jumps back. Then the second part
-- belongs to the same process with its clock set back, unless it has another URL, or one client name has two member ids in one generation. Ownership
-- of one process is never split brain with itself.
CREATE OR REPLACE TEMPORARY VIEW one_process (
  process_id       COMMENT 'Process under which one of the logs was read',
  other_process_id COMMENT 'Process under which the other was read; each pair has two rows'
)
AS
WITH own_member_id AS (
  -- A leader prints the other members' ids when it computes an assignment.
  SELECT DISTINCT group_id, member_id, process_id FROM client_event WHERE member_id IS NOT NULL AND event <> 'assignment_computed'
), dynamic_member AS (
  -- A static member that restarts gets another id in the same generation.
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation, m.process_id, m.client, m.member_id
  FROM member_round m
  LEFT ANTI JOIN (SELECT DISTINCT process_id, client FROM join_round WHERE group_instance_id IS NOT NULL) s
    ON s.process_id = m.process_id AND s.client = m.client
), different_process AS (
  SELECT DISTINCT a.process_id, b.process_id AS other_process_id FROM dynamic_member a
  JOIN dynamic_member b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.incarnation = a.incarnation
    AND b.generation = a.generation AND b.client = a.client AND b.process_id <> a.process_id AND b.member_id <> a.member_id
), process_log AS (
  SELECT process_id, regexp_replace(process_id, '#[0-9]+$', '') AS file, worker_url, first_ts, last_ts FROM process
)
SELECT a.process_id AS process_id, b.process_id AS other_process_id FROM own_member_id a
JOIN own_member_id b ON b.group_id = a.group_id AND b.member_id = a.member_id AND b.process_id <> a.process_id
UNION
SELECT a.process_id AS process_id, b.process_id AS other_process_id FROM process_log a
JOIN process_log b ON b.file = a.file AND b.process_id <> a.process_id AND coalesce(b.worker_url = a.worker_url, true)
LEFT ANTI JOIN different_process x ON x.process_id = a.process_id AND x.other_process_id = b.process_id
UNION
SELECT a.process_id AS process_id, b.process_id AS other_process_id FROM process_log a
JOIN process_log b ON b.worker_url = a.worker_url AND b.process_id <> a.process_id AND (a.last_ts < b.first_ts OR b.last_ts < a.first_ts)

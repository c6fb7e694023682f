-- One row per two logs that are, or may be, parts of one process's log: those of two days, or those before and after a clock was set.
-- Reads: client_event, process, member_round, join_round
-- Grain: process_id, other_process_id
-- A coordinator gives a member id once, and a member prints its own: who prints one id is one process. So is who advertises one URL, if not
-- at the same time: two workers may both call themselves localhost. What stands in one file was cut in two where time jumps back, and only
-- another URL shows that the second part is not the first one's process with its clock set, or one generation in which a client of that
-- name has two member ids. What one process owned is no two owners.
CREATE OR REPLACE TEMPORARY VIEW one_process (
  process_id       COMMENT 'Process as which one of the logs was read',
  other_process_id COMMENT 'As which the other was; each pair stands twice'
)
COMMENT 'One row per two logs that are, or may be, parts of one process''s log.'
AS
WITH own AS (
  -- A leader names the others' ids when it computes an assignment.
  SELECT DISTINCT group_id, member_id, process_id FROM client_event WHERE member_id IS NOT NULL AND event <> 'assignment_computed'
), dynamic AS (
  -- A static member that is started again gets another id in the same generation.
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation, m.process_id, m.client, m.member_id
  FROM member_round m
  LEFT ANTI JOIN (SELECT DISTINCT process_id, client FROM join_round WHERE group_instance_id IS NOT NULL) s
    ON s.process_id = m.process_id AND s.client = m.client
), apart AS (
  SELECT DISTINCT a.process_id, b.process_id AS other_process_id
  FROM dynamic a
  JOIN dynamic b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.incarnation = a.incarnation
    AND b.generation = a.generation AND b.client = a.client AND b.process_id <> a.process_id AND b.member_id <> a.member_id
), log AS (
  SELECT process_id, regexp_replace(process_id, '#[0-9]+$', '') AS file, worker_url, first_ts, last_ts FROM process
)
SELECT a.process_id AS process_id, b.process_id AS other_process_id
FROM own a
JOIN own b ON b.group_id = a.group_id AND b.member_id = a.member_id AND b.process_id <> a.process_id
UNION
SELECT a.process_id AS process_id, b.process_id AS other_process_id
FROM log a
JOIN log b ON b.file = a.file AND b.process_id <> a.process_id AND coalesce(b.worker_url = a.worker_url, true)
LEFT ANTI JOIN apart x ON x.process_id = a.process_id AND x.other_process_id = b.process_id
UNION
SELECT a.process_id AS process_id, b.process_id AS other_process_id
FROM log a
JOIN log b ON b.worker_url = a.worker_url AND b.process_id <> a.process_id AND (a.last_ts < b.first_ts OR b.last_ts < a.first_ts)

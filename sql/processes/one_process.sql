-- One row per two logs that are parts of one process's log: those of two days, in two folders.
-- Reads: client_event
-- Grain: process_id, other_process_id
-- A coordinator gives a member id once, and a member prints its own: who prints one id is one process. What it owned in both logs is no
-- two owners.
CREATE OR REPLACE TEMPORARY VIEW one_process (
  process_id       COMMENT 'Process as which one of the logs was read',
  other_process_id COMMENT 'As which the other was; each pair stands twice'
)
COMMENT 'One row per two logs that are parts of one process''s log.'
AS
WITH own AS (
  -- A leader names the others' ids when it computes an assignment.
  SELECT DISTINCT group_id, member_id, process_id FROM client_event WHERE member_id IS NOT NULL AND event <> 'assignment_computed'
)
SELECT DISTINCT a.process_id AS process_id, b.process_id AS other_process_id
FROM own a
JOIN own b ON b.group_id = a.group_id AND b.member_id = a.member_id AND b.process_id <> a.process_id

-- One row per process whose clock stepped, as far as its own times and direct evidence tell.
-- Reads: clock_bound, clock_setback
-- Grain: process_id
-- Of two processes that contradict each other, the one that agrees with fewer others is doubted; both, when neither is better.
CREATE OR REPLACE TEMPORARY VIEW clock_suspect (
  process_id COMMENT 'Process whose clock is not believed',
  witness    COMMENT 'Lines that cannot all be true with a steady clock'
)
COMMENT 'One row per process whose clock stepped, as far as its own times and direct evidence tell.'
AS
WITH agreed AS (
  SELECT from_process_id AS process_id, count_if(NOT impossible) AS partners FROM clock_bound GROUP BY from_process_id
), doubt AS (
  SELECT a.from_process_id AS process_id, array_union(a.witness, b.witness) AS witness
  FROM clock_bound a
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id
  JOIN agreed mine ON mine.process_id = a.from_process_id
  JOIN agreed theirs ON theirs.process_id = a.to_process_id
  WHERE a.impossible AND mine.partners <= theirs.partners
  UNION ALL
  SELECT process_id, array(before_id, event_id) FROM clock_setback
)
SELECT process_id, slice(array_distinct(flatten(collect_list(witness))), 1, 12)
FROM doubt
GROUP BY process_id

-- One row per process whose clock stepped, as far as its own times and direct evidence tell.
-- Reads: clock_bound, clock_setback
-- Grain: process_id
-- Of two processes that contradict each other, the one that agrees with fewer others is doubted; both, when neither is better. The lines
-- that are cited contradict a steady clock by themselves: two of its own, or those of one bound and of the bound in the other direction.
CREATE OR REPLACE TEMPORARY VIEW clock_suspect (
  process_id COMMENT 'Process whose clock is not believed',
  how        COMMENT 'set_back: its own times go back; contradicted: no steady offset to another process fits',
  partner    COMMENT 'The other process, where it takes two',
  by_ms      COMMENT 'How far the times go back, or by how much the bounds contradict each other, milliseconds',
  times      COMMENT 'How often that is so',
  witness    COMMENT 'The fewest lines that cannot all be true with a steady clock'
)
COMMENT 'One row per process whose clock stepped, as far as its own times and direct evidence tell.'
AS
WITH agreed AS (
  SELECT from_process_id AS process_id, count_if(NOT impossible) AS partners FROM clock_bound GROUP BY from_process_id
), doubt AS (
  SELECT a.from_process_id AS process_id, 'contradicted' AS how, a.to_process_id AS partner, -(a.least_ms + b.least_ms) AS by_ms,
    array_distinct(concat(a.least_witness, b.least_witness)) AS witness
  FROM clock_bound a
  JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id
  JOIN agreed mine ON mine.process_id = a.from_process_id
  JOIN agreed theirs ON theirs.process_id = a.to_process_id
  WHERE a.impossible AND mine.partners <= theirs.partners
  UNION ALL
  SELECT process_id, 'set_back', CAST(NULL AS STRING), by_ms, filter(array(before_id, event_id), x -> x IS NOT NULL) FROM clock_setback
), worst AS (
  SELECT process_id,
    max(struct(how, by_ms IS NOT NULL AS is_known, by_ms, array_join(witness, ',') AS ids, witness, partner)) AS said
  FROM doubt
  GROUP BY process_id
)
SELECT w.process_id, w.said.how AS how, w.said.partner AS partner, w.said.by_ms AS by_ms, count(*) AS times, w.said.witness AS witness
FROM worst w JOIN doubt d ON d.process_id = w.process_id AND d.how = w.said.how
GROUP BY w.process_id, w.said

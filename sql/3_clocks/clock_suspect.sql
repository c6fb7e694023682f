-- One row per process whose clock stepped, according to its own times and direct evidence.
-- Reads: clock_bound, clock_setback
-- Grain: process_id
-- Of two processes that contradict each other, the one that agrees with fewer others is suspect; both are, if they agree with equally many. The cited
-- lines contradict a steady clock by themselves: two lines of the process, or the lines of a bound and of its opposite bound.
CREATE OR REPLACE TEMPORARY VIEW clock_suspect (
  process_id,
  how        COMMENT 'set_back: its own times go back; contradicted: no steady offset to another process fits',
  partner    COMMENT 'The other process, if the contradiction needs two',
  by_ms      COMMENT 'How far the times go back, or by how much the bounds contradict each other, milliseconds',
  times      COMMENT 'How often this happens',
  witness    COMMENT 'The fewest lines that cannot all be true with a steady clock'
)
AS
WITH suspicion AS (
  SELECT a.from_process_id AS process_id, 'contradicted' AS how, a.to_process_id AS partner, -(a.least_ms + b.least_ms) AS by_ms,
    array_distinct(concat(a.least_witness, b.least_witness)) AS witness
  FROM clock_bound a JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id
  WHERE a.impossible AND a.partners <= b.partners
  UNION ALL
  SELECT process_id, 'set_back', CAST(NULL AS STRING), by_ms, filter(array(before_id, event_id), x -> x IS NOT NULL) FROM clock_setback
), worst_suspicion AS (
  SELECT process_id, max(struct(how, by_ms IS NOT NULL AS is_known, by_ms, array_join(witness, ',') AS ids, witness, partner)) AS evidence
  FROM suspicion GROUP BY process_id
)
SELECT w.process_id, w.evidence.how AS how, w.evidence.partner AS partner, w.evidence.by_ms AS by_ms, count(*) AS times, w.evidence.witness AS witness
FROM worst_suspicion w JOIN suspicion d ON d.process_id = w.process_id AND d.how = w.evidence.how GROUP BY w.process_id, w.evidence

-- One row per process with the clock on which its times are comparable with those of others, and the evidence if its own clock stepped.
-- Reads: clock_offset, clock_bound, event_row, process_life
-- Grain: process_id
-- This is the clock of its island's reference if the offset is known to within `clock_skew_ms`. A process with a less certain clock, for example one
-- that stepped, keeps its own clock: otherwise a duration between its lines and another's would consist of the uncertainty alone. Of two processes
-- that contradict each other, the one that agrees with fewer others stepped; both are suspect, if they agree with equally many. The cited lines
-- contradict a steady clock by themselves: two lines of the process, or the lines of a bound and of its opposite bound.
CREATE OR REPLACE TEMPORARY VIEW common_clock (
  process_id,
  clock_id   COMMENT 'Process whose clock its times are on: the reference of its island, or itself',
  ahead_ms   COMMENT 'How far its clock is ahead of that one, milliseconds (middle of the bounds)',
  is_steady  COMMENT 'False if that clock stepped',
  set_back   COMMENT 'Positions in its own log before which its own clock was set back; NULL: none',
  step_ms    COMMENT 'Its own clock stepped by at least this at an unknown position, milliseconds; NULL: no such step is known',
  steps      COMMENT 'Its own clock was set after the line at before_pos and before the one at after_pos, by at most hi_ms (NULL: unknown)',
  how        COMMENT 'set_back: its own times go back; contradicted: no steady offset to another process fits; NULL: its clock did not step',
  partner    COMMENT 'The other process, if the contradiction needs two',
  by_ms      COMMENT 'How far the times go back, or by how much the bounds contradict each other, milliseconds',
  times      COMMENT 'How often this happens',
  witness    COMMENT 'The fewest lines that cannot all be true with a steady clock'
)
AS
WITH reference_offset AS (
  SELECT process_id, reference_process_id, lo_ms, hi_ms, stepped, coalesce(hi_ms - lo_ms <= clock_skew_ms, false) AS is_close
  FROM clock_offset WHERE is_island_reference
), suspicion AS (
  SELECT a.from_process_id AS process_id, 'contradicted' AS how, a.to_process_id AS partner, -(a.least_ms + b.least_ms) AS by_ms,
    array_distinct(concat(a.least_witness, b.least_witness)) AS witness, CAST(NULL AS BIGINT) AS stream_pos
  FROM clock_bound a JOIN clock_bound b ON b.from_process_id = a.to_process_id AND b.to_process_id = a.from_process_id WHERE a.is_suspect
  UNION ALL
  SELECT process_id, 'set_back', NULL, b.by_ms, filter(array(b.before_id, b.event_id), x -> x IS NOT NULL), b.stream_pos FROM process_life
  LATERAL VIEW explode(setbacks) s AS b
), step AS (
  -- No steady clock satisfies the lines of a contradiction: the clock stepped between the first and the last of them in its own log.
  SELECT s.process_id, min(e.stream_pos) AS before_pos, max(e.stream_pos) AS after_pos, CAST(NULL AS BIGINT) AS hi_ms
  FROM (SELECT process_id, partner, explode(witness) AS event_id FROM suspicion WHERE how = 'contradicted') s
  JOIN event_row e ON e.event_id = s.event_id AND e.process_id = s.process_id GROUP BY s.process_id, s.partner
  UNION ALL
  SELECT process_id, stream_pos - 1, stream_pos, -by_ms FROM suspicion WHERE how = 'set_back'
), process_step AS (
  SELECT process_id, collect_list(struct(before_pos, after_pos, hi_ms)) AS steps FROM step GROUP BY process_id
), worst_suspicion AS (
  SELECT process_id, max(struct(how, by_ms IS NOT NULL AS is_known, by_ms, array_join(witness, ',') AS ids, witness, partner)) AS worst,
    CASE WHEN max(how) = 'set_back' THEN count(stream_pos) ELSE count(*) END AS times,
    CASE WHEN max(how) = 'set_back' THEN array_sort(collect_list(stream_pos)) END AS set_back
  FROM suspicion GROUP BY process_id
)
SELECT o.process_id, CASE WHEN o.is_close THEN o.reference_process_id ELSE o.process_id END AS clock_id,
  CASE WHEN o.is_close THEN (o.lo_ms + o.hi_ms) DIV 2 ELSE 0L END AS ahead_ms,
  NOT CASE WHEN o.is_close THEN coalesce(r.stepped, false) ELSE o.stepped END AS is_steady, d.set_back,
  CASE WHEN d.worst.how = 'contradicted' THEN d.worst.by_ms END AS step_ms, p.steps, d.worst.how AS how, d.worst.partner AS partner,
  d.worst.by_ms AS by_ms, d.times, d.worst.witness AS witness
FROM reference_offset o LEFT JOIN reference_offset r ON r.process_id = o.reference_process_id
LEFT JOIN worst_suspicion d ON d.process_id = o.process_id
LEFT JOIN process_step p ON p.process_id = o.process_id

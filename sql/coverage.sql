-- One row per stretch of a process's time that the evidence covers or does not, and per process that others name but whose log is missing.
-- Reads: range_row, process_life, evidence_file, member, generation
-- Grain: process_id, kind, from_ts, note
-- A claim that something did not happen is worth no more than the coverage of that time.
CREATE OR REPLACE TEMPORARY VIEW coverage (
  process_id COMMENT 'Process, or what names the missing one',
  from_ts    COMMENT 'From, by its own clock',
  to_ts      COMMENT 'To, by its own clock',
  kind       COMMENT 'covered, gap, truncated, unreadable or missing_process',
  note       COMMENT 'In words'
)
COMMENT 'One row per stretch of a process''s time that the evidence covers or does not, and per process whose log is missing.'
AS
WITH gap AS (
  SELECT process_id, silence.from_ts, silence.to_ts FROM (SELECT process_id, explode(gaps) AS silence FROM range_row)
  WHERE unix_millis(silence.to_ts) - unix_millis(silence.from_ts) >= gap_ms
  UNION ALL
  -- Between the ranges and files of one process.
  SELECT process_id, last_to, first_ts FROM (
    SELECT r.process_id, r.first_ts,
      max(r.last_ts) OVER (PARTITION BY r.process_id ORDER BY f.ordinal, r.range_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_to
    FROM range_row r LEFT JOIN (SELECT file_id, max(ordinal) AS ordinal FROM evidence_file GROUP BY file_id) f ON f.file_id = r.file_id
    WHERE r.first_ts IS NOT NULL
  ) WHERE unix_millis(first_ts) - unix_millis(last_to) >= gap_ms
)
SELECT process_id, min(first_ts), max(last_ts), 'covered', concat(count(*), CASE WHEN count(*) = 1 THEN ' life' ELSE ' lives' END, ' of the process')
FROM process_life GROUP BY process_id
UNION ALL
SELECT process_id, from_ts, to_ts, 'gap', concat('no record for ', (unix_millis(to_ts) - unix_millis(from_ts)) DIV 1000, ' s') FROM gap
UNION ALL
SELECT process_id, first_ts, first_ts, 'truncated', 'the log begins in the middle of the process''s life' FROM process_life WHERE instance = 0
UNION ALL
SELECT coalesce(process_id, path), NULL, NULL, 'unreadable', concat(path, ': ', coalesce(note, '')) FROM evidence_file
WHERE status = 'unreadable' OR (status = 'read' AND note IS NOT NULL)
UNION ALL
SELECT
  concat('member ', coalesce(m.client_id, m.member_id), CASE WHEN m.client_host IS NULL THEN '' ELSE concat(' at ', m.client_host) END),
  min(m.first_ts), max(m.last_ts), 'missing_process',
  concat('a member of ', m.group_id, ' that only other logs name; its own log is not here')
FROM member m
WHERE m.process_id IS NULL AND m.left_client IS NULL
GROUP BY coalesce(m.client_id, m.member_id), m.client_host, m.group_id
UNION ALL
SELECT
  concat('coordinator of ', g.group_id), min(coalesce(g.first_joined_ts, g.last_synced_ts)), max(coalesce(g.last_synced_ts, g.first_joined_ts)), 'missing_process',
  concat(count(*), ' generations of ', g.group_id, ' are in no broker''s log here')
FROM generation g
WHERE NOT g.seen_by_broker
GROUP BY g.group_id

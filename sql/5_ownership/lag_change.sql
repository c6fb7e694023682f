-- One row per partition of a group and two consecutive outputs of kafka-consumer-groups --describe: what changed between them.
-- Reads: group_snapshot, generation
-- Grain: event_id
-- Public: yes
-- Outputs of one file, or of files whose names differ only in digits, are compared in the order of their times, else in that of their lines. Their
-- times are by the clock of the machine that ran the tool, which nothing compares with other clocks. A commit says what was acknowledged, not what
-- was read. Nothing is known of the time between two outputs but that whatever changed did so there.
CREATE OR REPLACE TEMPORARY VIEW lag_change (
  kafka_cluster      COMMENT 'Kafka cluster whose logs name the group; NULL: none, or several do',
  group_id           COMMENT 'Group',
  topic              COMMENT 'Topic',
  partition          COMMENT 'Partition, topic-number',
  series             COMMENT 'Which outputs are compared: the path, with # for the digits in the file''s name',
  from_ts            COMMENT 'Time of the first output; NULL: not in the file',
  to_ts              COMMENT 'Time of the second one',
  what               COMMENT 'commit_stands (records were written, none was acknowledged), commit_advanced, commit_went_back, nothing_written (nor
    acknowledged), first_commit, commit_removed, end_went_back (the topic was recreated or lost records, or the outputs are of two clusters),
    not_committed (still), or NULL: the end of the partition is unknown',
  from_offset        COMMENT 'Committed offset in the first output; NULL: none',
  to_offset          COMMENT 'Committed offset in the second one',
  from_end           COMMENT 'End of the partition in the first output; NULL: unknown',
  to_end             COMMENT 'End of the partition in the second one',
  written            COMMENT 'By how much the end grew: the records, and the markers of transactions',
  lag_growth         COMMENT 'By how much the lag grew; negative: it shrank; NULL: unknown',
  from_member_id     COMMENT 'Consumer that had the partition in the first output; NULL: none',
  to_member_id       COMMENT 'Consumer that had it in the second one',
  owner              COMMENT 'same, changed (a handover between the two outputs), gained, lost or none',
  path, line,
  from_event_id      COMMENT 'Row of the first output',
  event_id           COMMENT 'Row of the second one'
)
AS
WITH cluster_of_group AS (
  SELECT g.group_id, max(g.kafka_cluster) AS kafka_cluster FROM generation g GROUP BY g.group_id HAVING count(DISTINCT g.kafka_cluster) = 1
), described AS (
  SELECT *, CASE WHEN taken_ts IS NULL THEN path ELSE concat(regexp_extract(path, '^(.*/)', 1),
      regexp_replace(regexp_extract(path, '([^/]*)$', 1), '[0-9]+', '#')) END AS series
  FROM group_snapshot WHERE source = 'groups_described' AND what = 'offset' AND group_id IS NOT NULL AND partition IS NOT NULL
), single AS (
  -- The same row of the same moment in two files is one.
  SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY series, group_id, partition, taken_ts, CASE WHEN taken_ts IS NULL THEN event_id END
      ORDER BY path, line, event_id) AS nth
    FROM described
  )
  WHERE nth = 1
), with_previous AS (
  SELECT *, lag(struct(taken_ts, offset, log_end_offset, member_id, event_id)) OVER (
    PARTITION BY series, taken_ts IS NULL, group_id, partition ORDER BY taken_ts, line, event_id) AS old
  FROM single
)
SELECT k.kafka_cluster, p.group_id, p.topic, p.partition, p.series, p.old.taken_ts AS from_ts, p.taken_ts AS to_ts,
  CASE WHEN p.log_end_offset < p.old.log_end_offset THEN 'end_went_back'
    WHEN p.old.offset IS NULL AND p.offset IS NULL THEN 'not_committed'
    WHEN p.old.offset IS NULL THEN 'first_commit'
    WHEN p.offset IS NULL THEN 'commit_removed'
    WHEN p.offset < p.old.offset THEN 'commit_went_back'
    WHEN p.offset > p.old.offset THEN 'commit_advanced'
    WHEN p.log_end_offset > p.old.log_end_offset THEN 'commit_stands'
    WHEN p.log_end_offset = p.old.log_end_offset THEN 'nothing_written' END AS what,
  p.old.offset AS from_offset, p.offset AS to_offset, p.old.log_end_offset AS from_end, p.log_end_offset AS to_end,
  p.log_end_offset - p.old.log_end_offset AS written,
  (p.log_end_offset - p.offset) - (p.old.log_end_offset - p.old.offset) AS lag_growth,
  p.old.member_id AS from_member_id, p.member_id AS to_member_id,
  CASE WHEN p.old.member_id = p.member_id THEN 'same' WHEN p.old.member_id IS NOT NULL AND p.member_id IS NOT NULL THEN 'changed'
    WHEN p.member_id IS NOT NULL THEN 'gained' WHEN p.old.member_id IS NOT NULL THEN 'lost' ELSE 'none' END AS owner,
  p.path, p.line, p.old.event_id AS from_event_id, p.event_id
FROM with_previous p LEFT JOIN cluster_of_group k ON k.group_id = p.group_id
WHERE p.old IS NOT NULL

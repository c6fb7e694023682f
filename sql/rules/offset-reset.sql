-- One row per group and time in which consumers started neither at a committed offset nor at the very start.
-- Reads: fact_line, partition_holding, setting, clock_offset, generation
-- Answers: why were records skipped or read again from the beginning?
-- Needs: the consumer's log ("Found no committed offset", "Resetting offset", "is out of range").
-- Silent when: nothing shows that the group had committed there before: a new group starts by auto.offset.reset, and so do successors until the first commit.
-- Shown by: 4.1.1-generation_reset; silent on 3.3.2-rolling_bounce.
CREATE OR REPLACE TEMPORARY VIEW rule_offset_reset (
  severity      COMMENT 'critical, warning or note',
  verdict       COMMENT 'proved or undecided',
  kafka_cluster COMMENT 'Kafka cluster id',
  group_id      COMMENT 'Group',
  subject       COMMENT 'What it is about',
  from_ts       COMMENT 'From',
  to_ts         COMMENT 'To',
  headline      COMMENT 'One sentence',
  explanation   COMMENT 'The facts and what follows',
  advice        COMMENT 'What to change',
  witness       COMMENT 'Events that prove it'
)
COMMENT 'One row per group and time in which consumers started neither at a committed offset nor at the very start.'
AS
WITH reset AS (
  SELECT f.kafka_cluster, f.group_id, f.process_id, f.client_id, f.task, f.partition, f.event, f.offset, f.ts, f.event_id, timestamp_millis(unix_millis(f.ts) - (o.lo_ms + o.hi_ms) DIV 2) AS at
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('position_reset', 'position_out_of_range') AND f.group_id IS NOT NULL AND f.partition IS NOT NULL
), held AS (
  SELECT h.kafka_cluster, h.group_id, h.resource, min(timestamp_millis(unix_millis(h.start_ts) - (o.lo_ms + o.hi_ms) DIV 2)) AS first_at
  FROM partition_holding h JOIN clock_offset o ON o.process_id = h.process_id AND o.is_island_reference
  GROUP BY h.kafka_cluster, h.group_id, h.resource
), known AS (
  -- Somebody of the group had a position there: committed, or set from a commit.
  SELECT f.kafka_cluster, f.group_id, f.partition, f.offset, timestamp_millis(unix_millis(f.ts) - (o.lo_ms + o.hi_ms) DIV 2) AS at
  FROM fact_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  WHERE f.event IN ('position_set', 'offset_committed') AND f.offset > 0
), lost AS (
  SELECT kafka_cluster, group_id, max(coalesce(stabilized_ts, prepared_ts, last_synced_ts)) AS at FROM generation WHERE incarnation_why = 'metadata_lost' GROUP BY kafka_cluster, group_id
), late AS (
  SELECT r.*, k.known_offset, l.at IS NOT NULL AS with_group FROM reset r
  JOIN held h ON h.kafka_cluster = r.kafka_cluster AND h.group_id = r.group_id AND h.resource = r.partition
  LEFT JOIN (
    SELECT r.event_id, max(k.offset) AS known_offset
    FROM reset r JOIN known k ON k.kafka_cluster = r.kafka_cluster AND k.group_id = r.group_id AND k.partition = r.partition AND k.at < r.at
    GROUP BY r.event_id
  ) k ON k.event_id = r.event_id
  -- The group's metadata and its commits lie in one partition: what took one took the other.
  LEFT JOIN lost l ON l.kafka_cluster = r.kafka_cluster AND l.group_id = r.group_id AND abs(unix_millis(r.at) - unix_millis(l.at)) <= 60000
  -- A group that has never committed begins where auto.offset.reset says, and so does each successor until the first commit: nothing was lost.
  WHERE r.event = 'position_out_of_range' OR (k.known_offset IS NOT NULL OR l.at IS NOT NULL) AND unix_millis(r.at) - unix_millis(h.first_at) > 10000
), policy AS (
  SELECT process_id, client_id, max(value) AS value FROM setting WHERE component = 'ConsumerConfig' AND key = 'auto.offset.reset' GROUP BY process_id, client_id
)
SELECT
  'warning', 'proved', l.kafka_cluster, l.group_id, array_join(slice(array_sort(collect_set(l.partition)), 1, 10), ', '), min(l.at), max(l.at),
  concat(count(DISTINCT l.partition), CASE WHEN count(DISTINCT l.partition) = 1 THEN ' partition of ' ELSE ' partitions of ' END, l.group_id, ' did not go on where the last owner had been: ',
    CASE WHEN bool_or(l.event = 'position_out_of_range') THEN 'the position was out of range' ELSE 'no committed offset was found' END),
  concat('By ', array_join(slice(array_sort(collect_set(l.process_id)), 1, 5), ', '), '; auto.offset.reset = ', coalesce(max(p.value), 'not printed'), '. The group had these partitions before',
    CASE WHEN max(l.known_offset) IS NOT NULL THEN concat(' (its positions went up to ', max(l.known_offset), ')') ELSE '' END, CASE WHEN bool_or(l.with_group) THEN '; its commits were lost with its metadata (finding generation-reset). ' ELSE ', so its commits were lost or expired, or the records that they point at are gone. ' END,
    CASE max(p.value) WHEN 'latest' THEN 'With latest, what was written meanwhile is skipped.' WHEN 'earliest' THEN 'With earliest, everything that is there is read again.' ELSE '' END),
  concat('Look at what became of the commits: group metadata lost (generation-reset), offsets expired (offsets.retention.minutes, 7 days from 2.0, 1 day before), deleted records (out of range: retention shorter than the lag). ',
    'auto.offset.reset=none makes such a case an error instead of a guess.'),
  slice(array_sort(collect_set(l.event_id)), 1, 8)
FROM late l LEFT JOIN policy p ON p.process_id = l.process_id AND p.client_id = l.client_id
GROUP BY l.kafka_cluster, l.group_id, unix_millis(l.at) DIV 60000

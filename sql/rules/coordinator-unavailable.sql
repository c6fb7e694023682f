-- One row per outage of a group's coordinator, over all members that lost it.
-- Reads: coordinator_episode, process_life
-- Silent when: a member had not yet joined for the first time; it was found again at once and nothing followed.
CREATE OR REPLACE TEMPORARY VIEW rule_coordinator_unavailable (
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
COMMENT 'One row per outage of a group''s coordinator, over all members that lost it.'
AS
WITH gone AS (
  SELECT e.*, p.is_broker FROM coordinator_episode e
  LEFT JOIN (SELECT process_id, max(stopping_ts) AS stopping_ts, bool_or(is_broker) AS is_broker FROM process_life GROUP BY process_id) p USING (process_id)
  -- Losing it while closing down is everyday life.
  WHERE p.stopping_ts IS NULL OR e.lost_ts < p.stopping_ts
), marked AS (
  SELECT *, CASE WHEN lag(lost_lo) OVER w IS NULL OR unix_millis(lost_lo) - unix_millis(lag(lost_lo) OVER w) > 60000 THEN 1 ELSE 0 END AS begins
  FROM gone WINDOW w AS (PARTITION BY kafka_cluster, group_id ORDER BY lost_lo)
), numbered AS (
  SELECT *, sum(begins) OVER (PARTITION BY kafka_cluster, group_id ORDER BY lost_lo ROWS UNBOUNDED PRECEDING) AS outage FROM marked
), outage AS (
  SELECT kafka_cluster, group_id, outage, min(lost_lo) AS from_ts, max(found_ts) AS found_ts, bool_or(found_ts IS NULL) AS open,
    count(DISTINCT process_id) AS members, array_join(array_sort(collect_set(process_id)), ', ') AS who, max(scope) AS scope, max(broker) AS broker, max(broker_id) AS broker_id,
    max(duration_ms) AS longest_ms, array_join(array_sort(collect_set(coalesce(cause, 'no cause printed'))), ', ') AS causes, sum(losses) AS losses,
    slice(array_distinct(flatten(collect_list(witness))), 1, 20) AS witness
  FROM numbered
  GROUP BY kafka_cluster, group_id, outage
)
SELECT
  CASE WHEN open OR longest_ms > 60000 THEN 'critical' WHEN longest_ms > 10000 THEN 'warning' ELSE 'note' END,
  'proved', kafka_cluster, group_id, broker, from_ts, CASE WHEN open THEN NULL ELSE found_ts END,
  concat('the coordinator of ', group_id, ' (', coalesce(broker, 'unknown'), ') was not available to ', members, CASE WHEN members = 1 THEN ' member' ELSE ' members' END,
    CASE WHEN open THEN ', and for at least one of them it was never found again' ELSE concat(' for up to ', longest_ms, ' ms') END),
  concat('Lost by ', who, '; printed ', losses, CASE WHEN losses = 1 THEN ' time' ELSE ' times' END, ', cause: ', causes, '. ',
    CASE scope WHEN 'member' THEN 'No other member of the group lost it: this member''s own network or pause, not the coordinator.'
      WHEN 'broker' THEN 'Members of other groups on the same broker lost it too: the broker, not the group.'
      ELSE 'Several members lost it together: the broker or the partition of __consumer_offsets that holds the group.' END),
  CASE scope WHEN 'member' THEN 'Look at this member''s host: its network to the broker, GC and machine pauses at that time.'
    ELSE 'Look at the broker''s log at that time (stopped, session lost, partition moved), and at the replication factor of __consumer_offsets: with one replica its groups are gone as long as the broker is; three replicas and min.insync.replicas=2 let another broker take over.' END,
  witness
FROM outage
WHERE open OR longest_ms > 0

-- One row per member that tried to commit offsets after it had lost its membership.
-- Reads: fact_line, placed_event, clock_offset, process_life
-- A commit that failed only because of the network, or that was retried inside the group, does not count. Neither does a commit that a
-- member postpones while its group rebalances. ConsumerCoordinator.sendOffsetCommitRequest prints the same line after a lost membership,
-- which the member's other lines show.
WITH consumer_thread AS (
  -- A framework reports the exception of its consumer without the group: it is that of the only consumer that prints in the same thread.
  SELECT process_id, instance, coalesce(thread, '-') AS thread, max(group_id) AS only_group, max(client_id) AS only_client,
    -- kafka-python prints in a separate line why its member is gone, and does not repeat it with the commit.
    sort_array(collect_list(CASE WHEN message LIKE '%member_id was not recognized%' THEN unix_millis(ts) END)) AS refused_ms,
    collect_list(CASE WHEN event = 'coordinator_lost' AND client_kind IS NULL THEN unix_millis(ts) END) AS lost_ms
  FROM placed_event WHERE group_id IS NOT NULL AND NOT client_kind <=> 'Worker' OR message LIKE '%member_id was not recognized%'
  GROUP BY process_id, instance, coalesce(thread, '-') HAVING count(DISTINCT group_id) = 1 AND count(DISTINCT client_id) <= 1
), commit_line AS (
  SELECT f.kafka_cluster, coalesce(f.group_id, t.only_group) AS group_id, f.process_id, f.instance, coalesce(f.client_id, t.only_client) AS client_id,
    f.task, f.at_ms, f.stream_pos, f.partition, f.offset, f.event_id, f.said, f.message,
    exists(coalesce(t.refused_ms, array()), x -> f.at_ms - x BETWEEN 0 AND loss_noticed_ms) AS is_refused,
    array_max(filter(t.lost_ms, x -> f.at_ms - x BETWEEN 0 AND loss_noticed_ms)) AS lost_ms
  FROM fact_line f
  LEFT JOIN consumer_thread t ON t.process_id = f.process_id AND t.instance = f.instance AND t.thread = coalesce(f.thread, '-')
  WHERE f.event = 'commit_failed'
), failed_commit AS (
  SELECT f.kafka_cluster, f.group_id, f.process_id, f.instance, f.client_id, f.task, f.at_ms, f.stream_pos, f.partition, f.offset,
    f.event_id, coalesce(f.said, f.message) AS said, f.message, f.lost_ms, o.lo_ms, o.hi_ms
  FROM commit_line f JOIN clock_offset o ON o.process_id = f.process_id AND o.is_island_reference
  JOIN process_life l ON l.process_id = f.process_id AND l.instance = f.instance
  WHERE f.group_id IS NOT NULL AND f.message NOT LIKE 'Failing OffsetCommit request since%' AND (f.is_refused OR concat(coalesce(f.said, ''), ' ',
      f.message) RLIKE concat('(?i)not aware of this member|not part of an active group|unknown.?member|group membership out of date|',
      'illegal.?generation|generation id is not|not known in the current generation|stale member epoch|already rebalanced|',
      'specified group generation|fenced'))
), commit_series AS (
  SELECT *, count_if(last_ms IS NULL OR at_ms - last_ms > commits_together_ms)
    OVER (PARTITION BY process_id, group_id, client_id ORDER BY stream_pos ROWS UNBOUNDED PRECEDING) AS n
  FROM (SELECT *, lag(at_ms) OVER (PARTITION BY process_id, group_id, client_id ORDER BY stream_pos) AS last_ms FROM failed_commit)
), lost_offset AS (
  -- The highest offset that it had processed and could not commit.
  SELECT kafka_cluster, group_id, process_id, client_id, n, partition, max(offset) AS offset, max(at_ms) - max(lo_ms) AS at_ms
  FROM commit_series WHERE partition IS NOT NULL AND offset IS NOT NULL
  GROUP BY kafka_cluster, group_id, process_id, client_id, n, partition
), successor_start AS (
  -- The successor started while the member still tried to commit, or the member itself returned.
  SELECT w.process_id, w.group_id, w.client_id, w.n, w.partition,
    w.offset - min_by(s.offset, struct(abs(s.at_ms - k.lo_ms - w.at_ms), s.event_id)) AS records,
    min_by(s.event_id, struct(abs(s.at_ms - k.lo_ms - w.at_ms), s.event_id)) AS event_id
  FROM lost_offset w
  JOIN fact_line s ON s.kafka_cluster = w.kafka_cluster AND s.group_id = w.group_id AND s.partition = w.partition
    AND s.event = 'position_set' AND s.offset <= w.offset
  JOIN clock_offset k ON k.process_id = s.process_id AND k.is_island_reference
  WHERE s.at_ms - k.lo_ms BETWEEN w.at_ms - successor_ms AND w.at_ms + successor_ms
  GROUP BY w.process_id, w.group_id, w.client_id, w.n, w.partition, w.offset
), repeated_records AS (
  SELECT process_id, group_id, client_id, n, sum(records) AS records, count(*) AS partitions, slice(array_sort(collect_list(event_id)), 1, 4) AS ids
  FROM successor_start WHERE records > 0 GROUP BY process_id, group_id, client_id, n
), series_summary AS (
  SELECT kafka_cluster, group_id, process_id, client_id, n, max(instance) AS instance, max(task) AS task, min(at_ms) AS first_ms,
    min(lost_ms) AS lost_ms, max(at_ms) AS last_ms, max(lo_ms) AS lo_ms, max(hi_ms) AS hi_ms, count(*) AS times,
    count(DISTINCT partition) AS partitions,
    -- The line of a refused automatic commit has the offsets of all partitions.
    array_sort(array_distinct(collect_list(partition)
      || flatten(collect_list(regexp_extract_all(message, '([^ ={},]+-[0-9]+)=OffsetAndMetadata', 1))))) AS named,
    mode(said, true) AS said, slice(array_sort(collect_list(event_id)), 1, 6) AS ids
  FROM commit_series GROUP BY kafka_cluster, group_id, process_id, client_id, n
)
SELECT 'warning' AS severity, 'proved' AS verdict, o.kafka_cluster, o.group_id, coalesce(o.task, o.process_id) AS subject,
  o.first_ms - o.hi_ms AS from_ms, o.last_ms - o.lo_ms AS to_ms, CASE WHEN t.records > 0 THEN 'read_again' ELSE 'unknown_extent' END AS code,
  struct(o.task, o.process_id, o.instance, o.client_id AS client, o.times, o.partitions, o.named, o.said, o.lost_ms AS lost_at_ms, t.records,
    t.partitions AS again_partitions) AS facts,
  concat(transform(o.ids, x -> named_struct('role', 'the commit fails', 'event_id', x)),
    transform(coalesce(t.ids, CAST(array() AS ARRAY<STRING>)), x -> named_struct('role', 'the successor starts', 'event_id', x))) AS proof
FROM series_summary o
LEFT JOIN repeated_records t ON t.process_id = o.process_id AND t.group_id = o.group_id AND t.client_id <=> o.client_id AND t.n = o.n

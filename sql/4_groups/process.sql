-- One row per process, that is one log stream made of rotated files.
-- Reads: event, process_life, process_cluster, clock_offset, evidence_file, process_line, client_event, member_round, join_round
-- Grain: process_id
-- Public: yes
-- A coordinator issues a member id only once, and a member prints its own, so logs with the same id belong to one process. So do logs with the same
-- advertised URL, unless they overlap in time: two workers may both advertise localhost. A file is split where time jumps back. Then the second part
-- belongs to the same process with its clock set back, unless it has another URL, or one client name has two member ids in one generation. Ownership
-- of one process is never split brain with itself.
CREATE OR REPLACE TEMPORARY VIEW process (
  process_id           COMMENT 'Process: path of its log stream; in a merged file, with its name there',
  host                 COMMENT 'Host, as given or from the folders',
  role                 COMMENT 'broker, connect_worker or client',
  kafka_version        COMMENT 'Kafka release of the last process run, as printed, or the only one that fits its lines',
  version_how          COMMENT 'How the release is known: `printed`, `confluent` (its own number, printed), `fingerprint` (from lines of source and
    wordings); NULL: unknown',
  version_range        COMMENT 'Releases of Apache Kafka that remain: one, a range, or `3.5.x` for a build of Confluent',
  kafka_cluster        COMMENT 'Kafka cluster id of the last process run, or `unknown`',
  kafka_clusters       COMMENT 'Ids of the Kafka clusters of all its process runs, in order',
  worker_url           COMMENT 'REST URL that a Connect worker advertises',
  group_ids            COMMENT 'Groups that it was a member of',
  instances            COMMENT 'JVM starts seen in it; 0: it was running when the log began and never restarted',
  clock_island         COMMENT 'Processes with the same value can be compared in time',
  reference_process_id COMMENT 'Process whose clock is the island''s reference',
  first_ts             COMMENT 'First line, by its own clock',
  last_ts              COMMENT 'Last line, by its own clock',
  same_process_ids     COMMENT 'Logs that are, or may be, other parts of its log: of another day, or from before or after a clock step; NULL: none'
)
AS
WITH kafka_release AS (
  -- Releases as arrays of four numbers, which compare correctly, and the month in which each could first be used.
  SELECT release, month, slice(transform(concat(split(release, '[.]'), array('0', '0')), x -> try_cast(x AS BIGINT)), 1, 4) AS number
  FROM (
    SELECT split(part, '=')[0] AS release, split(part, '=')[1] AS month
    FROM (
      SELECT explode(split('
    0.9.0.0=2015-11 0.9.0.1=2016-02 0.10.0.0=2016-05 0.10.0.1=2016-08 0.10.1.0=2016-10 0.10.1.1=2016-12 0.10.2.0=2017-02 0.10.2.1=2017-04
    0.10.2.2=2018-06 0.11.0.0=2017-06 0.11.0.1=2017-09 0.11.0.2=2017-11 0.11.0.3=2018-06 1.0.0=2017-10 1.0.1=2018-02 1.0.2=2018-06 1.1.0=2018-03
    1.1.1=2018-07 2.0.0=2018-07 2.0.1=2018-10 2.1.0=2018-11 2.1.1=2019-02 2.2.0=2019-03 2.2.1=2019-05 2.2.2=2019-11 2.3.0=2019-06 2.3.1=2019-10
    2.4.0=2019-12 2.4.1=2020-03 2.5.0=2020-04 2.5.1=2020-07 2.6.0=2020-07 2.6.1=2020-12 2.6.2=2021-04 2.6.3=2021-11 2.7.0=2020-12 2.7.1=2021-04
    2.7.2=2021-11 2.8.0=2021-04 2.8.1=2021-09 2.8.2=2022-09 3.0.0=2021-09 3.0.1=2022-03 3.0.2=2022-09 3.1.0=2022-01 3.1.1=2022-05 3.1.2=2022-09
    3.2.0=2022-05 3.2.1=2022-07 3.2.2=2022-09 3.2.3=2022-09 3.3.0=2022-09 3.3.1=2022-09 3.3.2=2023-01 3.4.0=2023-02 3.4.1=2023-05 3.5.0=2023-06
    3.5.1=2023-07 3.5.2=2023-12 3.6.0=2023-10 3.6.1=2023-12 3.6.2=2024-04 3.7.0=2024-02 3.7.1=2024-06 3.8.0=2024-07 3.8.1=2024-10 3.9.0=2024-11
    3.9.1=2025-05 4.0.0=2025-03 4.1.1=2025-11 4.2.0=2026-01 4.3.1=2026-06
      ', '\\s+')) AS part
    )
  )
  WHERE release <> ''
), process_span AS (
  SELECT process_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms, bool_or(is_broker) AS is_broker, bool_or(is_worker) AS is_worker
  FROM process_life GROUP BY process_id
), last_run AS (
  SELECT process_id, max(instance) AS instance FROM process_line GROUP BY process_id
), hint AS (
  SELECT DISTINCT e.process_id, e.releases FROM process_line e
  JOIN last_run l ON e.process_id = l.process_id AND e.instance <=> l.instance
  WHERE e.releases IS NOT NULL AND e.event NOT IN ('kafka_version', 'kafka_commit_id')
), release_range AS (
  SELECT process_id, releases,
    slice(transform(concat(split(get(ends, 0), '[.]'), array('0', '0', '0')), x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS f,
    slice(transform(concat(split(get(ends, size(ends) - 1), '[.]'), array('0', '0', '0')), x -> try_cast(nullif(x, '') AS BIGINT)), 1, 4) AS t
  FROM (SELECT process_id, releases, split(part, '[.][.]') AS ends FROM hint LATERAL VIEW explode(split(trim(releases), ' +')) p AS part)
), release_vote AS (
  -- A release that did not exist when the log ends has no vote: a vendor's build can have the line numbers of a later one.
  SELECT b.process_id, k.release, k.number, count(DISTINCT b.releases) AS votes FROM release_range b
  JOIN kafka_release k ON (b.f[0] IS NULL OR k.number >= b.f) AND (b.t[0] IS NULL OR k.number <= b.t)
  JOIN process_span s ON s.process_id = b.process_id AND date_format(timestamp_millis(s.last_ms), 'yyyy-MM') >= k.month
  GROUP BY b.process_id, k.release, k.number
), ranked_release AS (
  SELECT *, max(votes) OVER (PARTITION BY process_id) AS most FROM release_vote
), hint_count AS (
  SELECT process_id, count(*) AS hints FROM hint GROUP BY process_id
), best_release AS (
  SELECT process_id, transform(sort_array(collect_list(struct(number, release))), x -> x.release) AS releases, max(most) AS agreeing
  FROM ranked_release WHERE votes = most GROUP BY process_id
), process_fingerprint AS (
  -- One row per process whose release follows from its lines, by source line numbers and message wordings, if no line prints the version. Each
  -- distinct hint (event.releases) votes for the releases that it allows. The releases with the most votes remain if they have nearly all votes. A
  -- patched build, or a layout whose line numbers are wrong (clients of 1.0), matches no release, and none is guessed. Only the last process run
  -- counts.
  SELECT r.process_id, r.releases, if(size(r.releases) = 1, r.releases[0], concat(r.releases[0], '..', element_at(r.releases, -1))) AS version_range,
    t.hints, r.agreeing
  FROM best_release r JOIN hint_count t ON t.process_id = r.process_id WHERE r.agreeing >= 3 AND r.agreeing >= 0.8 * t.hints
), process_facts AS (
  SELECT process_id, max_by(kafka_version, stream_pos) FILTER (WHERE event = 'kafka_version' AND kafka_version IS NOT NULL) AS kafka_version,
    max_by(worker_url, stream_pos) FILTER (WHERE worker_url IS NOT NULL) AS worker_url,
    array_sort(collect_set(group_id) FILTER (WHERE event IN ('joining', 'joined', 'synced', 'worker_assigned'))) AS group_ids,
    count_if(event = 'process_started') AS instances
  FROM event GROUP BY process_id
), process_clusters AS (
  SELECT
    process_id, array_distinct(transform(sort_array(collect_list(struct(instance, from_pos, kafka_cluster))), x -> x.kafka_cluster)) AS kafka_clusters
  FROM process_cluster WHERE cluster_event IS NOT NULL GROUP BY process_id
), process_host AS (
  SELECT process_id, max(host) AS host FROM evidence_file WHERE process_id IS NOT NULL GROUP BY process_id
), own_member_id AS (
  -- A leader prints the other members' ids when it computes an assignment.
  SELECT DISTINCT group_id, member_id, process_id FROM client_event WHERE member_id IS NOT NULL AND event <> 'assignment_computed'
), dynamic_member AS (
  -- A static member that restarts gets another id in the same generation.
  SELECT m.kafka_cluster, m.group_id, m.incarnation, m.generation, m.process_id, m.client, m.member_id FROM member_round m
  LEFT ANTI JOIN (SELECT DISTINCT process_id, client FROM join_round WHERE group_instance_id IS NOT NULL) s
    ON s.process_id = m.process_id AND s.client = m.client
), different_process AS (
  SELECT DISTINCT a.process_id, b.process_id AS other FROM dynamic_member a
  JOIN dynamic_member b ON b.kafka_cluster = a.kafka_cluster AND b.group_id = a.group_id AND b.incarnation = a.incarnation
    AND b.generation = a.generation AND b.client = a.client AND b.process_id <> a.process_id AND b.member_id <> a.member_id
), process_log AS (
  SELECT s.process_id, regexp_replace(s.process_id, '#[0-9]+$', '') AS file, f.worker_url, s.first_ms, s.last_ms
  FROM process_span s LEFT JOIN process_facts f ON f.process_id = s.process_id
), same_process AS (
  SELECT a.process_id, b.process_id AS other FROM own_member_id a
  JOIN own_member_id b ON b.group_id = a.group_id AND b.member_id = a.member_id AND b.process_id <> a.process_id
  UNION ALL
  SELECT a.process_id, b.process_id FROM process_log a
  JOIN process_log b ON b.file = a.file AND b.process_id <> a.process_id AND coalesce(b.worker_url = a.worker_url, true)
  LEFT ANTI JOIN different_process x ON x.process_id = a.process_id AND x.other = b.process_id
  UNION ALL
  SELECT a.process_id, b.process_id FROM process_log a
  JOIN process_log b ON b.worker_url = a.worker_url AND b.process_id <> a.process_id AND (a.last_ms < b.first_ms OR b.last_ms < a.first_ms)
)
SELECT l.process_id, p.host, CASE WHEN l.is_broker THEN 'broker' WHEN l.is_worker THEN 'connect_worker' ELSE 'client' END AS role,
  coalesce(f.kafka_version, if(size(v.releases) = 1, v.releases[0], NULL)) AS kafka_version,
  CASE WHEN f.kafka_version RLIKE '-c(cs|e)' THEN 'confluent'
    WHEN f.kafka_version IS NOT NULL THEN 'printed'
    WHEN v.releases IS NOT NULL THEN 'fingerprint' END AS version_how,
  CASE
    -- Confluent has its own release numbers: 5.x is 2.x of Apache Kafka, 6.0 to 6.2 are 2.6 to 2.8, 7.x is 3.x, 8.x is 4.x.
    WHEN f.kafka_version RLIKE '^5[.][0-9].*-c(cs|e)' THEN concat('2.', split(f.kafka_version, '[.]')[1], '.x')
    WHEN f.kafka_version RLIKE '^6[.][0-9].*-c(cs|e)' THEN concat('2.', try_cast(split(f.kafka_version, '[.]')[1] AS INT) + 6, '.x')
    WHEN f.kafka_version RLIKE '^[0-9]+[.][0-9].*-c(cs|e)' THEN concat(try_cast(split(f.kafka_version, '[.]')[0] AS INT) - 4, '.',
      split(f.kafka_version, '[.]')[1], '.x')
    WHEN f.kafka_version IS NOT NULL THEN f.kafka_version
    ELSE v.version_range END AS version_range,
  c.kafka_cluster, a.kafka_clusters, f.worker_url, f.group_ids, coalesce(f.instances, 0) AS instances, o.reference_process_id AS clock_island,
  o.reference_process_id, timestamp_millis(l.first_ms) AS first_ts, timestamp_millis(l.last_ms) AS last_ts, s.ids AS same_process_ids
FROM process_span l LEFT JOIN process_facts f ON f.process_id = l.process_id
LEFT JOIN process_host p ON p.process_id = l.process_id
LEFT JOIN process_cluster c ON c.process_id = l.process_id AND c.is_last
LEFT JOIN process_clusters a ON a.process_id = l.process_id
LEFT JOIN process_fingerprint v ON v.process_id = l.process_id
LEFT JOIN clock_offset o ON o.process_id = l.process_id AND o.is_island_reference
LEFT JOIN (SELECT process_id, array_sort(collect_set(other)) AS ids FROM same_process GROUP BY process_id) s ON s.process_id = l.process_id

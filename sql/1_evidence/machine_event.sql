-- One row for each thing that a JVM, a host or a platform did to a process, and for each file that shows what happened in a period, by files beside
-- the logs: GC logs, objects and events of Kubernetes, containers of Docker, and lines of the kernel, systemd and chrony.
-- Reads: snapshot, evidence_file
-- Grain: event_id
-- Public: yes
-- Its times are by the clock that printed them. That is the clock of the process's own log if `clock` is host: a JVM, a container and its kubelet use
-- the clock of their host. A row belongs to the processes whose logs bear the name of its pod, container or host in their path, else to those in the
-- same folder. A container beside others in its pod needs its own name. If there are several processes, they are all named, and nothing is decided by
-- it.
CREATE OR REPLACE TEMPORARY VIEW machine_event (
  what          COMMENT 'pause, oom_killed, crashed, killed, stopped, exited, probe_failed, evicted, drained, node_not_ready, restarted_by_operator,
    clock_stepped, suspended, stalled, threads_dumped (a JVM printed what its threads did; its time has no zone), or watched: a file that
    shows all pauses of a period',
  of_what       COMMENT 'process, pod, container, host or node',
  name          COMMENT 'Name of the pod, container, host or node; NULL: not in the file',
  container     COMMENT 'Container of the pod',
  process_ids   COMMENT 'Processes that it may be about; empty: none is known',
  tied_by       COMMENT 'Why these: name (of pod, container or host), folder, or log (it is among the lines of the process); NULL: none is known',
  from_ts       COMMENT 'It began at this time at the earliest, by the clock that printed it; NULL: not printed',
  from_by_ts    COMMENT 'It began at this time at the latest',
  to_ts         COMMENT 'It ended at this time at the earliest; NULL: not printed',
  to_by_ts      COMMENT 'It ended at this time at the latest',
  started_ts    COMMENT 'The container that ended had been started at this time; NULL: not printed',
  restarted_ts  COMMENT 'It was started again at this time; NULL: not printed',
  clock         COMMENT 'Whose clock that is: host (also that of the process''s own log) or control_plane',
  how           COMMENT 'Reason, as printed',
  length_ms     COMMENT 'Length of the pause, milliseconds; of a file, the length of its longest pause; of a step of the clock, by how much it was
    set (negative: back)',
  cpu_ms        COMMENT 'Processor time that the collection used in this pause, milliseconds: much less than its length if the host did not
    let it run',
  pauses        COMMENT 'Number of pauses of any length that a file shows',
  is_complete   COMMENT 'False: lines of this file are missing, so it does not show that nothing happened',
  exit_code     COMMENT 'Exit code of a process or container',
  restarts      COMMENT 'How often its container was restarted so far',
  memory_limit  COMMENT 'Memory limit of its container, as printed',
  path, line, event_id
)
AS
WITH jvm_pause AS (
  -- JDK 8 prints when a collection began; its other lines, and those of later JDKs, have the time at which threads went on.
  SELECT *, CASE WHEN event = 'gc_collection' THEN at_ms ELSE at_ms - coalesce(length_ms, 0) END AS from_ms,
    CASE WHEN event = 'gc_collection' THEN at_ms + coalesce(length_ms, 0) ELSE at_ms END AS to_ms
  FROM (
    SELECT event_id, path, line, process_id, event, unix_millis(ts) AS at_ms,
      coalesce(pause_ms, CAST(round(pause_s * 1000) AS BIGINT), CASE WHEN event = 'threads_stopped' THEN 0 END) AS length_ms,
      CASE logger WHEN 'stopped' THEN 'Total time for which application threads were stopped' WHEN 'Full' THEN concat_ws(' ', 'Full GC', pause)
        ELSE concat_ws(' ', logger, pause) END AS how
    FROM snapshot WHERE event IN ('gc_pause', 'gc_collection', 'threads_stopped')
  )
), own_pause AS (
  -- A collection and the stop of all threads for it are one pause.
  SELECT * FROM (
    SELECT *, lag(from_ms) OVER w AS from_before_ms, lag(to_ms) OVER w AS to_before_ms, lag(event) OVER w AS event_before
    FROM jvm_pause WINDOW w AS (PARTITION BY process_id ORDER BY to_ms, event, event_id)
  )
  WHERE NOT coalesce(event = 'threads_stopped' AND event_before <> 'threads_stopped'
    AND (least(to_ms, to_before_ms) - greatest(from_ms, from_before_ms)) * 2 >= length_ms, false)
), log_line AS (
  -- A JVM that prints its GC log among the lines of its process: a pause of at least a second is a row, and all shorter ones together are one.
  SELECT event_id, path, line, false AS is_watched, 'pause' AS what, CAST(NULL AS STRING) AS pod, from_ms, to_ms, 'host' AS clock, how, length_ms,
    CAST(NULL AS BIGINT) AS pauses, true AS is_complete, process_id
  FROM own_pause WHERE length_ms >= long_pause_ms
  UNION ALL
  SELECT max_by(event_id, longest), max_by(path, longest), max_by(line, longest), true, 'pause', NULL, min(at_ms), max(at_ms),
    'host', NULL, max(length_ms), count(*), count(*) = count(length_ms), process_id
  FROM (SELECT *, struct(coalesce(length_ms, 0), event_id) AS longest FROM own_pause WHERE coalesce(length_ms, 0) < long_pause_ms)
  GROUP BY process_id
  UNION ALL
  -- What an operator logs about a pod is about the pod's process, and by the clock of another host.
  SELECT event_id, path, line, false, CASE event WHEN 'pod_eviction_asked' THEN 'drained' ELSE 'restarted_by_operator' END, pod, unix_millis(ts),
    unix_millis(ts) + resolution_ms, 'control_plane', coalesce(reason, 'eviction'), NULL, NULL, true, NULL
  FROM snapshot WHERE event IN ('pod_restart_asked', 'pod_eviction_asked')
  UNION ALL
  -- A dump of threads, in a file of its own or among the lines of its process.
  SELECT event_id, path, line, false, 'threads_dumped', NULL, unix_millis(ts), unix_millis(ts) + resolution_ms, 'host', NULL, NULL, NULL, true,
    CASE WHEN source_kind = 'log' THEN process_id END
  FROM snapshot WHERE event = 'thread_dump'
), machine_row AS (
  SELECT event_id, path, line, regexp_replace(path, '/?[^/]*$', '') AS folder, event = 'machine_watched' AS is_watched, columns['what'] AS what,
    columns['of'] AS of_what, columns['pod'] AS pod, columns['container'] AS container, columns['container_id'] AS container_id,
    columns['host'] AS host, try_cast(columns['from_ms'] AS BIGINT) AS from_ms, try_cast(columns['from_by_ms'] AS BIGINT) AS from_by_ms,
    try_cast(columns['to_ms'] AS BIGINT) AS to_ms, try_cast(columns['to_by_ms'] AS BIGINT) AS to_by_ms,
    try_cast(columns['started_ms'] AS BIGINT) AS started_ms, try_cast(columns['restarted_ms'] AS BIGINT) AS restarted_ms, columns['clock'] AS clock,
    columns['how'] AS how, try_cast(coalesce(columns['length_ms'], columns['longest_ms']) AS BIGINT) AS length_ms,
    try_cast(columns['cpu_ms'] AS BIGINT) AS cpu_ms, try_cast(columns['count'] AS BIGINT) AS pauses, columns['lacks'] IS NULL AS is_complete,
    try_cast(columns['exit_code'] AS INT) AS exit_code, try_cast(columns['restarts'] AS BIGINT) AS restarts, columns['memory_limit'] AS memory_limit,
    columns['beside'] AS beside, columns['namespace'] AS namespace, columns['pod_id'] AS pod_id, false AS is_logged
  FROM snapshot WHERE event IN ('machine_event', 'machine_watched')
  UNION ALL
  SELECT event_id, path, line, regexp_replace(path, '/?[^/]*$', ''), is_watched, what,
    CASE WHEN pod IS NULL THEN 'process' ELSE 'pod' END, pod, NULL, NULL, NULL, from_ms, from_ms,
    to_ms, to_ms, NULL, NULL, clock, how, length_ms, NULL, pauses, is_complete, NULL, NULL, NULL, NULL, NULL, NULL,
    pod IS NOT NULL OR process_id IS NOT NULL
  FROM log_line
), log_file AS (
  SELECT DISTINCT process_id, lower(host) AS host, lower(regexp_replace(path, '([.](log|txt|out|gz|json|[0-9]{1,20})|-previous){1,9}$', '')) AS path,
    regexp_replace(path, '/?[^/]*$', '') AS folder
  FROM evidence_file WHERE status = 'read' AND coalesce(kind, 'log') = 'log' AND process_id IS NOT NULL
), process_name AS (
  -- Kubernetes names a log after pod and container, or after namespace_pod_uid; Docker after the container's id.
  SELECT DISTINCT process_id, name
  FROM (SELECT process_id, explode(concat(split(path, '/'), split(path, '[/_]'), array(host))) AS name FROM log_file) WHERE name <> ''
), name_of_several AS (
  -- Pods of two namespaces may have one name, and then it identifies neither.
  SELECT pod FROM machine_row WHERE pod IS NOT NULL GROUP BY pod HAVING count(DISTINCT namespace) > 1
), row_name AS (
  SELECT event_id, lower(name) AS name
  FROM (
    -- What happened to a node happened to all pods on it.
    SELECT DISTINCT n.event_id, p.pod AS name FROM machine_row n
    JOIN machine_row p ON p.host = n.host AND p.pod IS NOT NULL AND p.beside IS NULL
    LEFT ANTI JOIN name_of_several s ON s.pod = p.pod
    WHERE n.of_what = 'node'
    UNION ALL
    SELECT r.event_id, explode(CASE WHEN n.pod IS NOT NULL THEN array(left(container_id, 12), CASE WHEN beside IS NULL THEN pod_id END)
      WHEN r.pod IS NOT NULL THEN array(CASE WHEN beside IS NULL THEN r.pod END, concat(r.pod, '-', container), left(container_id, 12))
      ELSE array(container, container_id, left(container_id, 12), CASE WHEN of_what IN ('process', 'host', 'node') THEN host END) END) AS name
    FROM machine_row r LEFT JOIN name_of_several n ON n.pod = r.pod
  )
  WHERE name IS NOT NULL
), tied_by_name AS (
  SELECT DISTINCT r.event_id, p.process_id FROM row_name r JOIN process_name p ON p.name = r.name
), one_subject AS (
  -- A file about several pods says nothing of the folder in which it lies.
  SELECT path FROM machine_row GROUP BY path HAVING count(DISTINCT coalesce(pod, container, host)) <= 1 AND count(DISTINCT namespace) <= 1
), tied_by_folder AS (
  SELECT DISTINCT r.event_id, f.process_id FROM machine_row r JOIN log_file f ON f.folder = r.folder
  LEFT SEMI JOIN one_subject o ON o.path = r.path
  LEFT ANTI JOIN tied_by_name t ON t.event_id = r.event_id
  WHERE NOT r.is_logged AND r.beside IS NULL
), tied AS (
  SELECT event_id, 'name' AS tied_by, sort_array(collect_set(process_id)) AS process_ids FROM tied_by_name GROUP BY event_id
  UNION ALL
  SELECT event_id, 'folder', sort_array(collect_set(process_id)) FROM tied_by_folder GROUP BY event_id
  UNION ALL
  SELECT event_id, 'log', array(process_id) FROM log_line WHERE process_id IS NOT NULL
)
SELECT CASE WHEN r.is_watched THEN 'watched' ELSE r.what END AS what, r.of_what,
  coalesce(r.pod, CASE WHEN r.of_what <> 'process' THEN coalesce(r.container, r.host) ELSE r.host END) AS name,
  CASE WHEN r.pod IS NOT NULL THEN r.container END AS container, coalesce(t.process_ids, CAST(array() AS ARRAY<STRING>)) AS process_ids, t.tied_by,
  timestamp_millis(r.from_ms) AS from_ts, timestamp_millis(r.from_by_ms) AS from_by_ts, timestamp_millis(r.to_ms) AS to_ts,
  timestamp_millis(r.to_by_ms) AS to_by_ts, timestamp_millis(r.started_ms) AS started_ts,
  timestamp_millis(r.restarted_ms) AS restarted_ts, r.clock, r.how, r.length_ms, r.cpu_ms, r.pauses, r.is_complete, r.exit_code, r.restarts,
  r.memory_limit, r.path, r.line, r.event_id
FROM machine_row r LEFT JOIN tied t ON t.event_id = r.event_id

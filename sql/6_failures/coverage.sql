-- One row for each period of a process's time that the evidence covers or lacks, and per process that others name but whose log is missing.
-- Reads: range_row, unrecognised_row, process_life, evidence_file, member, member_generation, generation, shared_log, quiet_log, copied_log
-- Reads: damaged_line, filtered_log, lost_range, log_hole, event, placed_event, client_event, ownership_pair, ownership, clock_offset, silent_member
-- Grain: process_id, kind, from_ts, note
-- Words: by view
-- Public: yes
-- A claim that something did not happen is only as good as the coverage of that time.
CREATE OR REPLACE TEMPORARY VIEW coverage (
  process_id COMMENT 'Process, or a name for the missing one',
  from_ts    COMMENT 'From, by its own clock',
  to_ts      COMMENT 'To, by its own clock',
  kind       COMMENT 'covered, gap, missing_lines, truncated, unreadable, filtered, unordered, several_members, several_brokers, cut_lines, damaged,
    no_info, copy, many_owners or missing_process',
  note       COMMENT 'Description',
  code       COMMENT 'Same as kind; for a missing process, whether it is a member or the coordinator of a group',
  facts      COMMENT 'Facts of the description: process runs, length of a gap, why lines must be missing, a file and its fault, a group and its
    generations, a client and its members, a copy and its original'
)
AS
WITH file_range AS (
  SELECT r.process_id, r.range_start, r.first_ts, r.last_ts, f.ordinal FROM range_row r
  LEFT JOIN (SELECT file_id, max(ordinal) AS ordinal FROM evidence_file GROUP BY file_id) f ON f.file_id = r.file_id
  LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id
  WHERE r.first_ts IS NOT NULL
), range_with_previous AS (
  SELECT process_id, first_ts,
    max(last_ts) OVER (PARTITION BY process_id ORDER BY ordinal, range_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last_to_ts
  FROM file_range
), quiet_interval AS (
  SELECT process_id, quiet.from_ts, quiet.to_ts
  FROM (SELECT r.process_id, explode(gaps) AS quiet FROM range_row r LEFT ANTI JOIN copied_log c ON c.process_id = r.process_id)
  UNION ALL
  -- Between the ranges and files of one process.
  SELECT process_id, last_to_ts, first_ts FROM range_with_previous
), innermost_gap AS (
  -- Of several nested ones, the narrowest shows where the lines are missing.
  SELECT process_id, from_pos, event_id, why,
    max(from_pos) OVER (PARTITION BY process_id, instance ORDER BY to_pos ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS inner_pos
  FROM log_hole h
  -- In a log of several members, contradictions come from the members; a filtered log has its own row.
  LEFT ANTI JOIN (SELECT process_id FROM shared_log WHERE member_count > 0 UNION SELECT process_id FROM filtered_log) s ON s.process_id = h.process_id
), complete_group AS (
  -- Old clients do not print their ids. If each generation has as many members as there are logs, none is missing.
  SELECT kafka_cluster, group_id FROM generation GROUP BY kafka_cluster, group_id HAVING max(member_count - seen_by_members) <= 0
), member_without_log AS (
  SELECT m.group_id, m.member_id, m.client_id, m.client_host, m.first_ts, m.last_ts FROM member m
  LEFT ANTI JOIN complete_group w ON w.kafka_cluster = m.kafka_cluster AND w.group_id = m.group_id
  -- A process on that host has a log, but without the lines of that client.
  LEFT ANTI JOIN (SELECT q.client, h.client_host FROM quiet_log q JOIN member h ON h.process_id = q.process_id AND h.client_host IS NOT NULL) q
    ON q.client = m.client_id AND q.client_host = m.client_host
  WHERE m.process_id IS NULL AND m.left_client IS NULL AND NOT m.member_id RLIKE '\\uFFFD'
), coordinated_generation AS (
  -- Only coordinators print these. If one line of a generation is lost, another may remain: the line with which a rebalance begins names the
  -- generation before.
  SELECT DISTINCT e.kafka_cluster, e.group_id,
    explode(array(e.generation, CASE WHEN e.event = 'rebalance_preparing' THEN e.old_generation + 1 ELSE e.old_generation END)) AS generation
  FROM placed_event e WHERE e.event IN ('rebalance_preparing', 'group_stabilized', 'assignment_from_leader', 'group_emptied')
), complete_client_log AS (
  -- An application does not log its start. A log that begins with a client's settings, release or subscription, and has one of these for each
  -- consumer, is complete.
  SELECT e.process_id FROM event e
  LEFT JOIN (
    SELECT DISTINCT process_id, CASE WHEN event = 'subscribed' THEN client_id ELSE config['client.id'] END AS client_id
    FROM event WHERE event = 'config_dumped' AND component = 'ConsumerConfig' OR event = 'subscribed'
  ) m ON m.process_id = e.process_id AND m.client_id = e.client_id
  GROUP BY e.process_id
  HAVING (min_by(e.event, struct(e.stream_pos, e.event_id)) IN ('kafka_version', 'subscribed')
      OR min_by(e.event, struct(e.stream_pos, e.event_id)) = 'config_dumped' AND min_by(coalesce(e.component, ''), struct(e.stream_pos, e.event_id))
      IN ('ConsumerConfig', 'ProducerConfig', 'AdminClientConfig', 'StreamsConfig'))
    AND NOT bool_or(coalesce(e.client_kind = 'Consumer' AND e.group_id IS NOT NULL AND m.client_id IS NULL, false))
), known_member AS (
  -- Members and, if they have a log, the time that it covers.
  SELECT m.kafka_cluster, m.group_id, m.member_id, m.client_id, m.process_id, timestamp_millis(l.first_ms) AS log_from_ts,
    timestamp_millis(l.last_ms) AS log_to_ts
  FROM member m
  LEFT JOIN (SELECT process_id, min(first_ms) AS first_ms, max(last_ms) AS last_ms FROM process_life GROUP BY process_id) l
    ON l.process_id = m.process_id
), unidentified_members AS (
  -- Members that print no id.
  SELECT kafka_cluster, group_id, generation, client_id, count(*) AS members FROM member_generation
  WHERE member_id IS NULL GROUP BY kafka_cluster, group_id, generation, client_id
), member_named_by_leader AS (
  -- Without a coordinator's log, a worker names one other member, the leader, and a consumer that leads names all members. These are ids without a
  -- line in any log. A log that begins later or ends earlier may be that of another process run of the same client, unless it is the leader's own. A
  -- member that prints no id may be one of those named with its client's name.
  SELECT g.group_id, g.client, g.generation, g.member_id, g.from_ts, g.to_ts
  FROM (
    SELECT *, dense_rank() OVER (PARTITION BY kafka_cluster, group_id, generation, client ORDER BY member_id) AS nth
    FROM (
      SELECT *, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') AS client
      FROM (
        SELECT kafka_cluster, group_id, generation, leader_member_id AS member_id, CAST(NULL AS STRING) AS leader_process_id,
          coalesce(first_joined_ts, last_synced_ts) AS from_ts, coalesce(last_synced_ts, first_joined_ts) AS to_ts
        FROM generation WHERE NOT seen_by_broker AND leader_member_id IS NOT NULL
        UNION ALL
        -- Clients before 1.0 do not name the group in this line.
        SELECT k.kafka_cluster, k.group_id, e.generation, explode(coalesce(map_keys(e.assignment), e.members)), e.process_id, e.ts, e.ts
        FROM event e JOIN client_event k ON k.event_id = e.event_id
        LEFT ANTI JOIN shared_log s ON s.process_id = e.process_id AND s.member_count > 0
        WHERE e.event = 'assignment_computed'
      )
    )
  ) g
  LEFT ANTI JOIN known_member m ON m.kafka_cluster = g.kafka_cluster AND m.group_id = g.group_id
    AND (m.member_id = g.member_id OR m.process_id IS NOT NULL AND m.client_id = g.client AND NOT m.process_id <=> g.leader_process_id
      AND NOT coalesce(m.log_from_ts <= g.from_ts AND m.log_to_ts >= g.to_ts, false))
  LEFT ANTI JOIN unidentified_members u ON u.kafka_cluster = g.kafka_cluster AND u.group_id = g.group_id AND u.generation = g.generation
    AND (u.client_id IS NULL OR u.client_id = g.client AND u.members >= g.nth)
  -- The log of a member that prints no id is known from its assignment.
  LEFT ANTI JOIN member_generation o ON o.kafka_cluster = g.kafka_cluster AND o.group_id = g.group_id AND o.generation = g.generation
    AND o.member_id = g.member_id AND o.process_id IS NOT NULL
), any_generation AS (
  SELECT kafka_cluster, group_id, generation, seen_by_broker, first_joined_ts, last_synced_ts FROM generation
  UNION ALL
  -- A coordinator prints a line for each generation, even an empty one: it also coordinated those between two of its own.
  SELECT kafka_cluster, group_id, explode(sequence(last_generation + 1, generation - 1)), false, last_ts, began_ts
  FROM (
    SELECT kafka_cluster, group_id, generation, seen_by_broker, coalesce(prepared_ts, first_joined_ts, stabilized_ts) AS began_ts,
      lag(generation) OVER in_life AS last_generation, lag(seen_by_broker) OVER in_life AS last_seen,
      coalesce(group_protocol, 'classic') = 'classic' AND lag(coalesce(group_protocol, 'classic')) OVER in_life <=> 'classic' AS is_classic,
      lag(coalesce(assigned_ts, last_synced_ts, stabilized_ts)) OVER in_life AS last_ts
    FROM generation WINDOW in_life AS (PARTITION BY kafka_cluster, group_id, incarnation ORDER BY generation)
  )
  WHERE is_classic AND seen_by_broker AND last_seen AND generation - last_generation > 1
), unrecognised_line AS (
  -- If lines are truncated, the longest have equal lengths: whatever their message, with or without a trailing blank.
  SELECT process_id, ts, first_word, whole_length >= max(whole_length) OVER (PARTITION BY process_id) - 1 AS is_longest
  FROM (
    SELECT process_id, ts, char_length(first_line) + coalesce(char_length(logger), 0) AS whole_length,
      regexp_extract(first_line, '(^|\\]:? )([A-Za-z][^ ]*)', 2) AS first_word
    FROM (SELECT process_id, ts, logger, regexp_extract(text, '^[^\\r\\n]*', 0) AS first_line FROM unrecognised_row WHERE level <=> 'INFO')
    -- Longer lines are not stored completely.
    WHERE char_length(first_line) < 2000
  )
), coverage_row AS (
  SELECT process_id, timestamp_millis(min(first_ms)) AS from_ts, timestamp_millis(max(last_ms)) AS to_ts, 'covered' AS code,
    count(*) AS number, CAST(NULL AS STRING) AS name, CAST(NULL AS STRING) AS detail
  FROM process_life GROUP BY process_id
  UNION ALL
  -- If the clock stepped, that length is unknown.
  SELECT s.process_id, s.from_ts, s.to_ts, 'gap' AS code,
    CASE WHEN coalesce(unix_millis(s.to_ts) - unix_millis(s.from_ts) < c.step.least_ms, true) THEN unix_millis(s.to_ts) - unix_millis(s.from_ts) END,
    NULL, NULL
  FROM quiet_interval s LEFT JOIN clock_offset c ON c.process_id = s.process_id AND c.is_island_reference
  WHERE unix_millis(s.to_ts) - unix_millis(s.from_ts) >= gap_ms
  UNION ALL
  SELECT h.process_id, b.ts, a.ts, 'missing_lines' AS code, NULL, min(h.why), NULL
  FROM innermost_gap h JOIN event a ON a.event_id = h.event_id AND a.process_id = h.process_id
  LEFT JOIN event b ON b.process_id = h.process_id AND b.stream_pos = h.from_pos
  -- If the log ends with the line that shows the gap, the missing lines are after it.
  LEFT ANTI JOIN silent_member s ON s.process_id = h.process_id AND s.last_ms <= unix_millis(a.ts) AND s.how = 'continued'
    AND h.why = 'coordinator_ahead'
  WHERE h.inner_pos IS NULL OR h.from_pos > h.inner_pos GROUP BY h.process_id, b.ts, a.ts
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'lost' AS code, from_line, why, concat_ws(':', to_line, path) FROM lost_range
  UNION ALL
  -- For each log, of its memberships the one that is best known to have continued.
  SELECT process_id, timestamp_millis(last_ms), timestamp_millis(CASE WHEN max(until_ms) > last_ms THEN max(until_ms) END), 'missing_lines' AS code,
    min_by(generation, struct(how, group_id)),
    CASE min(how) WHEN 'unassigned' THEN 'ends_unassigned' WHEN 'continued' THEN 'coordinator_went_on' ELSE 'ends_early' END,
    min_by(group_id, struct(how, group_id))
  FROM silent_member WHERE how <> 'gone' OR may_be_back GROUP BY process_id, last_ms
  UNION ALL
  -- The remaining lines of a filtered log show that the process ended somewhere between two of them, unless one of them shows its end.
  SELECT l.process_id, timestamp_millis(l.last_ms), timestamp_millis(l.next_start_ms), 'missing_lines' AS code, NULL,
    'started_again', NULL
  FROM process_life l LEFT SEMI JOIN filtered_log f ON f.process_id = l.process_id WHERE l.next_start_ms IS NOT NULL AND l.ending_id IS NULL
  UNION ALL
  SELECT l.process_id, timestamp_millis(l.first_ms), timestamp_millis(l.first_ms), 'truncated' AS code, NULL, NULL, NULL
  FROM process_life l
  LEFT ANTI JOIN complete_client_log b ON b.process_id = l.process_id AND NOT coalesce(l.is_worker, false) AND NOT coalesce(l.is_broker, false)
  LEFT ANTI JOIN filtered_log f ON f.process_id = l.process_id
  WHERE l.instance = 0
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'filtered' AS code, NULL, literal, why
  FROM filtered_log WHERE why NOT IN ('unordered', 'sorted')
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'unordered' AS code, NULL, literal, why
  FROM filtered_log WHERE why IN ('unordered', 'sorted')
  UNION ALL
  SELECT coalesce(process_id, path), NULL, NULL, 'unreadable' AS code, NULL, path, note FROM evidence_file
  WHERE status = 'unreadable' OR (status = 'read' AND note IS NOT NULL)
  UNION ALL
  -- One client may have had several ids; for some, lines show neither client nor host. Some libraries give all members one client id: if a group has
  -- no other missing client, all members without a log have this one.
  SELECT concat('member ', client, CASE WHEN host IS NULL THEN '' ELSE concat(' at ', host) END), min(first_ts), max(last_ts),
    'missing_member' AS code, max(members), group_id, NULL
  FROM (
    SELECT group_id, client, first_ts, last_ts, coalesce(client_host, CASE WHEN min(client_host) OVER of_client
      = max(client_host) OVER of_client THEN max(client_host) OVER of_client END) AS host,
      CASE WHEN min(client) OVER of_group = max(client) OVER of_group AND client_host IS NULL THEN unseen_count END AS members
    FROM (
      SELECT *, coalesce(client_id, regexp_replace(member_id, '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '')) AS client
      FROM member_without_log u
      LEFT JOIN (
        SELECT group_id AS of_group, CAST(nullif(max(member_count - seen_by_members), 1) AS BIGINT) AS unseen_count
        FROM generation WHERE member_count > seen_by_members GROUP BY group_id
      ) n ON n.of_group = u.group_id
    )
    WINDOW of_client AS (PARTITION BY group_id, client), of_group AS (PARTITION BY group_id)
  )
  GROUP BY client, host, group_id
  UNION ALL
  -- All consumers of an application may have one name: their number is that of one generation.
  SELECT concat('member ', g.client), min(g.from_ts), max(g.to_ts), 'missing_member' AS code,
    CAST(nullif(max(g.members), 1) AS BIGINT), g.group_id, NULL
  FROM (
    SELECT group_id, client, min(from_ts) AS from_ts, max(to_ts) AS to_ts, count(DISTINCT member_id) AS members
    FROM member_named_by_leader GROUP BY group_id, client, generation
  ) g
  -- A member of that client is already reported.
  LEFT ANTI JOIN member_without_log s ON s.group_id = g.group_id
    AND regexp_replace(coalesce(s.client_id, s.member_id), '-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '') = g.client
  GROUP BY g.client, g.group_id
  UNION ALL
  -- A broker that loads a group coordinates it from then on: only the log of the earlier coordinator is missing.
  SELECT concat('coordinator of ', g.group_id), min(coalesce(first_joined_ts, last_synced_ts)),
    CASE WHEN max(g.generation) <= min(l.generation) THEN min(l.ts) ELSE max(coalesce(last_synced_ts, first_joined_ts)) END,
    'missing_coordinator' AS code, count(*), g.group_id,
    concat_ws(':', CAST(max(whole) AS STRING), CASE WHEN max(g.generation) <= min(l.generation) THEN min(l.process_id) END)
  FROM (SELECT *, count(*) OVER (PARTITION BY group_id) AS whole FROM any_generation) g
  LEFT JOIN (
    SELECT kafka_cluster, group_id, min(generation) AS generation, min(ts) AS ts, min_by(process_id, struct(ts, event_id)) AS process_id
    FROM placed_event WHERE event = 'group_loaded' AND generation IS NOT NULL AND ts IS NOT NULL GROUP BY kafka_cluster, group_id
  ) l ON l.kafka_cluster = g.kafka_cluster AND l.group_id = g.group_id
  LEFT ANTI JOIN coordinated_generation n ON n.kafka_cluster = g.kafka_cluster AND n.group_id = g.group_id AND n.generation = g.generation
  WHERE NOT g.seen_by_broker GROUP BY g.group_id
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'several_members' AS code, member_count, group_id, client
  FROM shared_log WHERE client IS NOT NULL OR member_count > 1
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'several_brokers' AS code, broker_count, broker_ids, NULL
  FROM shared_log WHERE broker_count > 0
  UNION ALL
  SELECT process_id, min(ts), max(ts), 'cut_lines' AS code, count_if(is_longest), NULL, NULL FROM unrecognised_line
  GROUP BY process_id
  HAVING count_if(is_longest) >= greatest(10, count(*) / 2) AND count(DISTINCT CASE WHEN is_longest THEN first_word END) >= 4
  UNION ALL
  SELECT process_id, NULL, NULL, 'damaged' AS code, count(*), NULL, NULL
  FROM (
    SELECT process_id FROM damaged_line
    UNION ALL
    -- Bytes that are not text.
    SELECT process_id FROM unrecognised_row WHERE text RLIKE '[\\x00-\\x08\\x0E-\\x1A\\uFFFD]'
  )
  GROUP BY process_id
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'no_info' AS code, NULL, NULL, NULL
  FROM quiet_log q LEFT ANTI JOIN filtered_log f ON f.process_id = q.process_id WHERE q.client IS NULL
  UNION ALL
  SELECT c.process_id, timestamp_millis(min(c.from_ms)), timestamp_millis(max(c.to_ms)), 'no_client_info' AS code, count(*),
    array_join(slice(array_sort(collect_list(c.client)), 1, 3), ', '), NULL
  FROM quiet_log c
  LEFT ANTI JOIN (SELECT process_id FROM quiet_log WHERE client IS NULL UNION SELECT process_id FROM filtered_log) q ON q.process_id = c.process_id
  WHERE c.client IS NOT NULL GROUP BY c.process_id
  UNION ALL
  SELECT process_id, timestamp_millis(from_ms), timestamp_millis(to_ms), 'copy' AS code, equal_lines, of_process, CAST(line_count AS STRING)
  FROM copied_log
  UNION ALL
  SELECT o.process_id, NULL, NULL, 'many_owners' AS code, sum(p.left_out), o.group_id,
    array_join(slice(array_sort(collect_set(o.resource)), 1, 3), ', ')
  FROM ownership_pair p JOIN ownership o ON o.ownership_id = p.a_id WHERE p.left_out > 0 GROUP BY o.process_id, o.group_id
)
SELECT process_id, from_ts, to_ts,
  CASE WHEN code IN ('missing_member', 'missing_coordinator') THEN 'missing_process'
    WHEN code = 'lost' THEN 'missing_lines' WHEN code = 'no_client_info' THEN 'no_info' ELSE code END AS kind,
  CAST(NULL AS STRING) AS note, code,
  named_struct(
    'lives', CASE WHEN code = 'covered' THEN number END, 'silent_ms', CASE WHEN code = 'gap' THEN number END,
    'why', CASE WHEN code IN ('missing_lines', 'lost') THEN name WHEN code IN ('filtered', 'unordered') THEN detail END,
    'literal', CASE WHEN code = 'filtered' THEN name END,
    'from_line', CASE WHEN code = 'lost' THEN number END,
    'to_line', CASE WHEN code = 'lost' THEN try_cast(substring_index(detail, ':', 1) AS BIGINT) END,
    'path', CASE WHEN code = 'unreadable' THEN name WHEN code = 'lost' THEN regexp_extract(detail, '^[0-9]+:(.*)', 1) END,
    'reason', CASE WHEN code = 'unreadable' THEN detail END,
    'client', CASE WHEN code = 'several_members' THEN detail END, 'members', CASE WHEN code IN ('several_members', 'missing_member') THEN number END,
    'brokers', CASE WHEN code = 'several_brokers' THEN number END, 'broker_ids', CASE WHEN code = 'several_brokers' THEN name END,
    'line_count', CASE WHEN code IN ('cut_lines', 'damaged') THEN number END,
    'group_id', CASE WHEN code IN ('missing_member', 'missing_coordinator', 'several_members', 'many_owners') THEN name
      WHEN code = 'missing_lines' THEN detail END, 'generation', CASE WHEN code = 'missing_lines' THEN number END,
    'clients', CASE WHEN code = 'no_client_info' THEN name END, 'client_count', CASE WHEN code = 'no_client_info' THEN number END,
    'of_process', CASE WHEN code = 'copy' THEN name END, 'equal_lines', CASE WHEN code = 'copy' THEN number END,
    'all_lines', CASE WHEN code = 'copy' THEN try_cast(detail AS BIGINT) END,
    -- For a log whose times are read in another zone, that number is unknown.
    'own_lines', CASE WHEN code = 'copy' AND number > 0 THEN try_cast(detail AS BIGINT) - number END,
    'pairs', CASE WHEN code = 'many_owners' THEN number END, 'resources', CASE WHEN code = 'many_owners' THEN detail END,
    'generations', CASE WHEN code = 'missing_coordinator' THEN number END,
    'all_generations', CASE WHEN code = 'missing_coordinator' THEN try_cast(substring_index(detail, ':', 1) AS BIGINT) END,
    'loaded_by', CASE WHEN code = 'missing_coordinator' THEN nullif(regexp_extract(detail, ':(.+)', 1), '') END
  ) AS facts
FROM coverage_row

-- One row per ownership pair for which messages prove, without any clock, that one had ended before the other began.
-- Reads: ownership_pair, holding, member_round, event_row
-- Grain: a_id, b_id
-- Only for groups with a single incarnation, because clocks assign generations to incarnations if there are only members' logs. After the
-- first ownership ended, its process asked to join generation N; it had not asked before. The second began after its process was in
-- generation M >= N. The coordinator ends the join phase of N between the two. Alternatively, its process led generation N and computed the
-- assignment after the end, and the second began after its process received its share of that assignment. Only the order of lines inside
-- each log is used.
CREATE OR REPLACE TEMPORARY VIEW causal_handover (
  a_id        COMMENT 'Ownership',
  b_id        COMMENT 'The other',
  first_id    COMMENT 'The ownership that had ended',
  how         COMMENT 'request: its process asked to join after the end; assignment: it led the group, and computed the assignment after the
    end',
  left_generation COMMENT 'Generation that its process asked to join, or assigned, after the end',
  got_generation COMMENT 'Generation that the other''s process was in before the other began',
  witness     COMMENT 'The end, the join request or the assignment, the response to the other process, the start'
)
COMMENT 'One row per ownership pair for which messages prove, without any clock, that one had ended before the other began.'
AS
WITH member_request AS (
  SELECT m.kafka_cluster, m.group_id, m.process_id, m.client, m.generation, m.is_fresh,
    m.joining_last.event_id AS joining_id, m.joined.event_id AS got_id, j.stream_pos AS joining_pos, g.stream_pos AS got_pos,
    CASE WHEN m.is_leader THEN m.computed.event_id END AS computed_id, CASE WHEN m.is_leader THEN p.stream_pos END AS computed_pos,
    m.synced.event_id AS synced_id, s.stream_pos AS synced_pos
  FROM member_round m
  LEFT JOIN event_row j ON j.event_id = m.joining_last.event_id
  LEFT JOIN event_row g ON g.event_id = m.joined.event_id
  LEFT JOIN event_row p ON p.event_id = m.computed.event_id AND p.event = 'assignment_computed'
  LEFT JOIN event_row s ON s.event_id = m.synced.event_id
  LEFT ANTI JOIN (SELECT DISTINCT kafka_cluster, group_id FROM member_round WHERE incarnation > 1) x ON x.kafka_cluster = m.kafka_cluster
    AND x.group_id = m.group_id
), member_or_client AS (
  -- A worker owns a task, and its client is the only one of that group in the process. A partition's owner is a client.
  SELECT *, '' AS owner FROM member_request
  UNION ALL
  SELECT *, client FROM member_request
), ownership_line AS (
  SELECT h.ownership_id, h.kafka_cluster, h.group_id, h.process_id, CASE WHEN h.resource_kind = 'partition' THEN h.owner
    ELSE '' END AS owner,
    h.stop_id, h.start_id, s.stream_pos AS stop_pos, t.stream_pos AS start_pos
  FROM holding h
  LEFT JOIN event_row s ON s.event_id = h.stop_id
  LEFT JOIN event_row t ON t.event_id = h.start_id
), next_round AS (
  SELECT ownership_id, stop_id, how, next
  FROM (
    SELECT ownership_id, stop_id, how,
      lag(round) IGNORE NULLS OVER (PARTITION BY how, process_id, kafka_cluster, group_id, owner ORDER BY -pos) AS next
    FROM (
      SELECT 'request' AS how, process_id, kafka_cluster, group_id, owner, joining_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
        CAST(NULL AS STRING) AS stop_id,
        struct(generation, joining_id AS event_id) AS round
      FROM member_or_client WHERE is_fresh AND joining_pos IS NOT NULL
      UNION ALL
      SELECT 'assignment', process_id, kafka_cluster, group_id, owner, computed_pos, NULL, NULL, struct(generation, computed_id AS event_id)
      FROM member_or_client WHERE computed_pos IS NOT NULL
      UNION ALL
      SELECT how, process_id, kafka_cluster, group_id, owner, stop_pos, ownership_id, stop_id,
        CAST(NULL AS STRUCT<generation: BIGINT, event_id: STRING>)
      FROM ownership_line LATERAL VIEW explode(array('request', 'assignment')) e AS how
      WHERE stop_pos IS NOT NULL
    )
  )
  WHERE ownership_id IS NOT NULL AND next IS NOT NULL
), last_round AS (
  SELECT ownership_id, start_id, how, last
  FROM (
    SELECT ownership_id, start_id, how,
      lag(round) IGNORE NULLS OVER (PARTITION BY how, process_id, kafka_cluster, group_id, owner ORDER BY pos) AS last
    FROM (
      SELECT 'request' AS how, process_id, kafka_cluster, group_id, owner, got_pos AS pos, CAST(NULL AS STRING) AS ownership_id,
        CAST(NULL AS STRING) AS start_id,
        struct(generation, got_id AS event_id) AS round
      FROM member_or_client WHERE got_pos IS NOT NULL
      UNION ALL
      SELECT 'assignment', process_id, kafka_cluster, group_id, owner, synced_pos, NULL, NULL, struct(generation, synced_id AS event_id)
      FROM member_or_client WHERE synced_pos IS NOT NULL
      UNION ALL
      SELECT how, process_id, kafka_cluster, group_id, owner, start_pos, ownership_id, start_id,
        CAST(NULL AS STRUCT<generation: BIGINT, event_id: STRING>)
      FROM ownership_line LATERAL VIEW explode(array('request', 'assignment')) e AS how
      WHERE start_pos IS NOT NULL
    )
  )
  WHERE ownership_id IS NOT NULL AND last IS NOT NULL
), ordered_pair AS (
  SELECT a_id, b_id, a_id AS first_id, b_id AS second_id FROM ownership_pair WHERE clock_how <> 'same_process'
  UNION ALL
  SELECT a_id, b_id, b_id, a_id FROM ownership_pair WHERE clock_how <> 'same_process'
)
SELECT a_id, b_id, first_id, how, left_generation, got_generation, witness
FROM (
  SELECT p.a_id, p.b_id, p.first_id, a.how, a.next.generation AS left_generation, g.last.generation AS got_generation,
    array(a.stop_id, a.next.event_id, g.last.event_id, g.start_id) AS witness,
    row_number() OVER (PARTITION BY p.a_id, p.b_id ORDER BY a.how DESC, p.first_id) AS nth
  FROM ordered_pair p
  JOIN next_round a ON a.ownership_id = p.first_id
  JOIN last_round g ON g.ownership_id = p.second_id AND g.how = a.how
  -- A later generation may have been formed without a late leader.
  WHERE a.next.generation = g.last.generation OR a.how = 'request' AND a.next.generation < g.last.generation
)
WHERE nth = 1

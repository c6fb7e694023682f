-- One row per REST URL that two workers advertise, or that nobody else can reach.
-- Reads: worker_setting, fact_line
-- Answers: why do REST requests fail or loop between workers?
-- Needs: the workers' lines "Advertised URI", or their configuration.
-- Silent when: the group has a single worker, and each worker advertises an address of its own.
-- Shown by: a written log in tests/test_rules.py; silent on all recordings.
CREATE OR REPLACE TEMPORARY VIEW rule_advertised_url (
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
COMMENT 'One row per REST URL that two workers advertise, or that nobody else can reach.'
AS
WITH url AS (
  SELECT w.kafka_cluster, w.group_id, w.process_id, f.worker_url, f.event_id,
    regexp_extract(f.worker_url, '^[a-z]+://(\\[[^\\]]*\\]|[^:/]*)', 1) AS host
  FROM worker_setting w
  JOIN (SELECT process_id, max_by(worker_url, stream_pos) AS worker_url, max_by(event_id, stream_pos) AS event_id FROM fact_line WHERE event = 'worker_url_advertised' AND worker_url IS NOT NULL GROUP BY process_id) f USING (process_id)
), crowd AS (
  SELECT kafka_cluster, group_id, count(DISTINCT process_id) AS workers FROM url GROUP BY kafka_cluster, group_id
), bad AS (
  SELECT u.kafka_cluster, u.group_id, u.worker_url, max(u.host) AS host, count(DISTINCT u.process_id) AS n, array_sort(collect_set(u.process_id)) AS who, array_sort(collect_set(u.event_id)) AS witness, max(c.workers) AS workers
  FROM url u JOIN crowd c ON c.kafka_cluster = u.kafka_cluster AND c.group_id = u.group_id
  WHERE c.workers > 1
  GROUP BY u.kafka_cluster, u.group_id, u.worker_url
  HAVING count(DISTINCT u.process_id) > 1 OR max(u.host) RLIKE '^(localhost|127[.].*|0[.]0[.]0[.]0|\\[::1?\\])$'
)
SELECT
  'warning', 'proved', kafka_cluster, group_id, worker_url, CAST(NULL AS TIMESTAMP), CAST(NULL AS TIMESTAMP),
  CASE WHEN n > 1 THEN concat(n, ' workers of ', group_id, ' advertise the same URL ', worker_url) ELSE concat(who[0], ' advertises ', worker_url, ', which no other worker of ', group_id, ' can reach') END,
  concat('Advertised by ', array_join(slice(who, 1, 6), ', '), '. Workers forward REST requests, and 2.3.0 and later a follower''s task configurations, to the leader''s advertised URL; there they meet ',
    CASE WHEN n > 1 AND NOT host RLIKE 'localhost|^127' THEN 'one of these workers, which may be the wrong one' ELSE 'themselves' END, ': requests fail, time out, or are forwarded in a circle, and tasks of a connector on a follower may never get their configuration.'),
  concat('Set rest.advertised.host.name (and rest.advertised.port, rest.advertised.listener) to a name by which the other workers reach this one; now ', worker_url, '. In containers the host''s own name or the pod''s address is right, localhost never.'),
  slice(witness, 1, 8)
FROM bad

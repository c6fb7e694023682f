-- One row per member id of a group.
-- Reads: member_round, join_round, epoch_member, event, placed_event, member_place
-- Grain: kafka_cluster, group_id, member_id
-- Public: yes
-- A Connect worker's member id has the address that it advertises (3.7 and later); for an earlier leader, others print it with the id. A process that
-- advertises that address and prints no member id of its own is that worker. Localhost, or an address that several advertise, identifies no process.
CREATE OR REPLACE TEMPORARY VIEW member (
  kafka_cluster, group_id, member_id,
  process_id        COMMENT 'Process whose log has its lines, or that advertises its address; NULL: only others name it',
  client_id,
  client_host       COMMENT 'Address of its host as the broker saw it',
  group_instance_id, task,
  first_ts          COMMENT 'First line about it, by that line''s clock',
  last_ts           COMMENT 'Last line about it, by that line''s clock',
  left_client       COMMENT 'How it left according to its own lines: left, poll_timeout, expired, fenced, unknown',
  left_broker       COMMENT 'How it left according to the broker''s lines: left, poll_timeout, expired, fenced, unknown'
)
AS
WITH own_identity AS (
  SELECT r.kafka_cluster, r.group_id, r.member_id, min(r.process_id) AS process_id, max(j.client_id) AS client_id, max(j.task) AS task,
    max(j.group_instance_id) AS group_instance_id
  FROM member_round r
  JOIN join_round j ON j.process_id = r.process_id AND j.group_id = r.group_id AND j.client = r.client AND j.round = r.round
    AND j.kafka_cluster = r.kafka_cluster
  WHERE r.member_id IS NOT NULL GROUP BY r.kafka_cluster, r.group_id, r.member_id
  UNION ALL
  SELECT kafka_cluster, group_id, member_id, min(process_id), max(client_id), max(task), max(group_instance_id) FROM epoch_member
  WHERE process_id IS NOT NULL GROUP BY kafka_cluster, group_id, member_id
  UNION ALL
  -- Up to 3.8 a KIP-848 member prints its id and not its epoch.
  SELECT e.kafka_cluster, e.group_id, e.member_id, min(e.process_id), max(e.client_id), max(e.task), max(e.group_instance_id)
  FROM placed_event e
  LEFT ANTI JOIN epoch_member m ON m.kafka_cluster = e.kafka_cluster AND m.group_id = e.group_id AND m.member_id = e.member_id
    AND m.process_id IS NOT NULL
  WHERE e.event = 'reconciling' AND e.member_id IS NOT NULL AND e.group_id IS NOT NULL GROUP BY e.kafka_cluster, e.group_id, e.member_id
), worker_address AS (
  SELECT u.group_id, u.address, max(u.process_id) AS process_id
  FROM (
    SELECT DISTINCT process_id, worker_group_id AS group_id, regexp_extract(worker_url, '://([^/]+)', 1) AS address FROM placed_event
    WHERE event = 'worker_url_advertised'
  ) u
  LEFT JOIN (SELECT DISTINCT group_id, process_id FROM own_identity UNION SELECT DISTINCT group_id, process_id FROM member_place) o
    ON o.group_id = u.group_id AND o.process_id = u.process_id
  WHERE u.address <> '' AND NOT u.address RLIKE '^(localhost|127[.].*|0[.]0[.]0[.]0|\\[[0:]*1?\\]):' GROUP BY u.group_id, u.address
  HAVING count(DISTINCT u.process_id) = 1 AND count(o.process_id) = 0
), addressed_worker AS (
  SELECT t.group_id, t.member_id, max(a.process_id) AS process_id
  FROM (
    SELECT group_id, leader_member_id AS member_id, regexp_extract(leader_url, '://([^/]+)', 1) AS address
    FROM event WHERE event = 'worker_assigned' AND leader_member_id IS NOT NULL
    UNION
    SELECT group_id, member_id, regexp_extract(member_id, '^connect-(.+:[0-9]+)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', 1)
    FROM event WHERE member_id LIKE 'connect-%:%'
  ) t
  JOIN worker_address a ON a.group_id = t.group_id AND a.address = t.address
  GROUP BY t.group_id, t.member_id
  HAVING count(DISTINCT a.process_id) = 1
), member_summary AS (
  SELECT e.kafka_cluster, e.group_id, who AS member_id, min(e.ts) AS first_ts, max(e.ts) AS last_ts, max(e.client_id) AS client_id,
    max(e.client_host) AS client_host, max(e.group_instance_id) AS group_instance_id,
    CASE WHEN bool_or(e.event = 'member_fenced') THEN 'fenced'
      WHEN bool_or(e.event = 'leaving' AND e.reason LIKE '%poll timeout%') THEN 'poll_timeout'
      WHEN bool_or(e.event = 'leaving') THEN 'left'
      WHEN bool_or(e.event = 'heartbeat_failed' AND coalesce(e.error, e.cause, e.reason) RLIKE 'UNKNOWN_MEMBER_ID|member id ([^ ]+ )?is not valid')
        THEN 'expired'
      WHEN bool_or(e.client_kind IS NOT NULL) THEN 'unknown' END AS left_client,
    CASE WHEN bool_or(e.event = 'member_fenced_by_broker') THEN 'fenced'
      WHEN bool_or(e.event = 'member_expired') THEN 'expired'
      WHEN bool_or(e.event IN ('member_left', 'rebalance_preparing') AND e.client_reason LIKE '%poll timeout%') THEN 'poll_timeout'
      WHEN bool_or(e.event = 'member_left') THEN 'left'
      WHEN bool_or(e.broker_id IS NOT NULL) THEN 'unknown' END AS left_broker
  FROM (
    -- Members that did not join in time are named in a list.
    SELECT *, explode(CASE WHEN event = 'member_expired' AND member_id IS NULL THEN members ELSE array(member_id) END) AS who FROM placed_event
      WHERE group_id IS NOT NULL
  ) e
  WHERE who <> '' GROUP BY e.kafka_cluster, e.group_id, who
)
SELECT l.kafka_cluster, l.group_id, l.member_id, coalesce(o.process_id, p.process_id, w.process_id) AS process_id,
  coalesce(o.client_id, l.client_id, p.client_id) AS client_id, l.client_host,
  coalesce(o.group_instance_id, l.group_instance_id) AS group_instance_id, coalesce(o.task, p.task) AS task, l.first_ts, l.last_ts,
  -- A request that is refused with UNKNOWN_MEMBER_ID names the member's id.
  coalesce(l.left_client, CASE WHEN p.known_how = 'refused' THEN 'expired' END) AS left_client, l.left_broker
FROM member_summary l
LEFT JOIN own_identity o ON o.kafka_cluster = l.kafka_cluster AND o.group_id = l.group_id AND o.member_id = l.member_id
LEFT JOIN member_place p ON p.kafka_cluster = l.kafka_cluster AND p.group_id = l.group_id AND p.member_id = l.member_id
LEFT JOIN addressed_worker w ON w.group_id = l.group_id AND w.member_id = l.member_id

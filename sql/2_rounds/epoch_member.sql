-- One row per member and epoch of a group whose broker assigns partitions (KIP-848), from the log of the member or the coordinator.
-- Reads: placed_event, epoch_generation
-- Grain: kafka_cluster, group_id, incarnation, generation, member_id
-- A member reaches the group epoch after it has revoked what it must. Up to 3.8 its own log prints no epoch at INFO, and from 4.0 on the
-- coordinator's log does not, so either may be missing. The coordinator prints partitions by topic id, which other lines may resolve.
CREATE OR REPLACE TEMPORARY VIEW epoch_member (
  kafka_cluster, group_id, incarnation,
  generation        COMMENT 'Member''s epoch: the group epoch that it has reached',
  member_id,
  process_id        COMMENT 'Member''s process; NULL if only the coordinator names it',
  client_id, group_instance_id, task,
  state             COMMENT 'Last state in that epoch',
  joining           COMMENT 'Its join request, if this is its first epoch: time, event',
  reached           COMMENT 'First line with that epoch: time, event',
  settled           COMMENT 'It had its complete assignment of the epoch: time, event',
  assigned          COMMENT 'All partitions of its assignments in that epoch',
  revoked           COMMENT 'Partitions that it had to revoke',
  witness
)
AS
WITH member_line AS (
  SELECT e.kafka_cluster, e.group_id, e.process_id, e.client_id, e.task, e.group_instance_id, e.stream_pos, unix_millis(e.ts) AS at_ms, e.event_id,
    e.event, e.member_id, e.member_epoch, e.state_from, e.state_to, e.assigned_partitions, e.partitions, e.revoked_partitions,
    e.broker_id IS NOT NULL AS is_broker
  FROM placed_event e
  WHERE e.group_id IS NOT NULL AND (
    e.event IN ('member_state_changed', 'reconciling', 'member_fenced') AND e.member_id IS NOT NULL
    OR e.event IN ('partitions_revoked', 'partitions_assigned') AND e.client_kind = 'Consumer'
    OR e.event = 'member_assignment_changed' AND e.broker_id IS NOT NULL)
), topic_name AS (
  -- The subscription of a group contains several.
  SELECT topic_id, max(topic) AS topic
  FROM (
    SELECT topic_id, topic FROM placed_event WHERE event = 'topic_named'
    UNION ALL
    SELECT x.topic_ids, x.topics FROM placed_event LATERAL VIEW explode(arrays_zip(topic_ids, topics)) p AS x WHERE event = 'topic_named'
  )
  WHERE topic_id IS NOT NULL AND topic IS NOT NULL GROUP BY topic_id
), client_line AS (
  SELECT *, coalesce(own_member, lag(own_member) IGNORE NULLS OVER w) AS at_member,
    coalesce(own_epoch, lag(own_epoch) IGNORE NULLS OVER w) AS at_epoch, coalesce(own_joining, lag(own_joining) IGNORE NULLS OVER w) AS last_joining,
    lag(CASE WHEN event = 'member_state_changed' THEN struct(state_to, member_epoch) END) IGNORE NULLS OVER w AS before
  FROM (
    SELECT *, CASE WHEN event IN ('member_state_changed', 'member_fenced') THEN member_id END AS own_member,
      CASE WHEN event IN ('member_state_changed', 'member_fenced') THEN coalesce(member_epoch, 0) END AS own_epoch,
      CASE WHEN state_to = 'JOINING' THEN struct(at_ms, event_id) END AS own_joining
    FROM member_line WHERE NOT is_broker
  )
  WINDOW w AS (PARTITION BY process_id, group_id, client_id ORDER BY stream_pos)
), client_epoch AS (
  SELECT kafka_cluster, group_id, at_member AS member_id, at_epoch AS epoch, process_id, max(client_id) AS client_id,
    max(group_instance_id) AS group_instance_id, max(task) AS task,
    max_by(state_to, stream_pos) FILTER (WHERE event = 'member_state_changed') AS state,
    -- Only the line that leaves the JOINING state carries an epoch in response to the request.
    min_by(last_joining, stream_pos) FILTER (WHERE event = 'member_state_changed' AND state_from = 'JOINING') AS joining,
    min_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE event = 'member_state_changed') AS reached,
    max_by(struct(at_ms, event_id), stream_pos) FILTER (WHERE state_to = 'STABLE') AS settled,
    array_sort(array_distinct(flatten(collect_list(partitions) FILTER (WHERE event = 'partitions_revoked')))) AS revoked,
    slice(transform(sort_array(collect_list(struct(stream_pos, event_id))), x -> x.event_id), 1, 20) AS witness
  FROM client_line WHERE at_epoch > 0 GROUP BY kafka_cluster, group_id, at_member, at_epoch, process_id
), client_assignment AS (
  -- Partitions that other members still own are added later in the same epoch. Partitions that the next epoch revokes are released before it is
  -- reached, and that line prints the remaining ones.
  SELECT kafka_cluster, group_id, member_id, process_id, epoch, array_sort(array_distinct(flatten(collect_list(assigned_partitions)))) AS assigned
  FROM (
    SELECT kafka_cluster, group_id, at_member AS member_id, process_id, assigned_partitions,
      at_epoch + CASE WHEN size(coalesce(revoked_partitions, array())) > 0 THEN 1 ELSE 0 END AS epoch
    FROM client_line WHERE at_epoch > 0 AND event = 'reconciling' AND assigned_partitions IS NOT NULL
  )
  GROUP BY kafka_cluster, group_id, member_id, process_id, epoch
), broker_epoch AS (
  SELECT kafka_cluster, group_id, member_id, member_epoch AS epoch, max_by(state_to, struct(process_id, stream_pos)) AS state,
    min_by(struct(at_ms, event_id), struct(process_id, stream_pos)) AS reached,
    max_by(struct(at_ms, event_id), struct(process_id, stream_pos)) FILTER (WHERE upper(state_to) = 'STABLE') AS settled,
    max_by(assigned_partitions, struct(process_id, stream_pos)) AS assigned, max_by(revoked_partitions, struct(process_id, stream_pos)) AS revoked,
    slice(transform(sort_array(collect_list(struct(stream_pos, event_id))), x -> x.event_id), 1, 20) AS witness
  FROM member_line WHERE is_broker AND member_id IS NOT NULL AND member_epoch > 0 GROUP BY kafka_cluster, group_id, member_id, member_epoch
), member_epoch_row AS (
  SELECT t.kafka_cluster, t.group_id, t.member_id, t.epoch, t.process_id, t.client_id, t.group_instance_id, t.task, t.state, t.joining, t.reached,
    t.settled, g.assigned, t.revoked, t.witness
  FROM client_epoch t
  LEFT JOIN client_assignment g ON g.kafka_cluster = t.kafka_cluster AND g.group_id = t.group_id AND g.member_id = t.member_id
    AND g.process_id = t.process_id AND g.epoch = t.epoch
  UNION ALL
  SELECT b.kafka_cluster, b.group_id, b.member_id, b.epoch, NULL, NULL, NULL, NULL, b.state, NULL, b.reached, b.settled,
    transform(b.assigned, p -> coalesce(concat(n.names[regexp_extract(p, '^(.*)-[^-]*$', 1)], regexp_extract(p, '(-[^-]*)$', 1)), p)),
    transform(b.revoked, p -> coalesce(concat(n.names[regexp_extract(p, '^(.*)-[^-]*$', 1)], regexp_extract(p, '(-[^-]*)$', 1)), p)), b.witness
  FROM broker_epoch b CROSS JOIN (SELECT map_from_entries(sort_array(collect_list(struct(topic_id, topic)))) AS names FROM topic_name) n
  LEFT ANTI JOIN client_epoch t ON t.kafka_cluster = b.kafka_cluster AND t.group_id = b.group_id AND t.member_id = b.member_id AND t.epoch = b.epoch
), epoch_incarnation AS (
  SELECT kafka_cluster, group_id, generation, sort_array(collect_list(struct(incarnation, bumped_ms))) AS lives FROM epoch_generation
  GROUP BY kafka_cluster, group_id, generation
)
SELECT b.kafka_cluster, b.group_id,
  -- If several incarnations have this epoch, the nearest in time is chosen.
  coalesce(array_min(transform(l.lives, x -> struct(abs(x.bumped_ms - b.reached.at_ms) AS far, x.incarnation))).incarnation, 1L) AS incarnation,
  b.epoch AS generation, b.member_id, b.process_id, b.client_id, b.group_instance_id, b.task, b.state, b.joining, b.reached, b.settled, b.assigned,
  b.revoked, b.witness
FROM member_epoch_row b
LEFT JOIN epoch_incarnation l ON l.kafka_cluster = b.kafka_cluster AND l.group_id = b.group_id AND l.generation = b.epoch

-- One row per outage of a group's coordinator, over all members that lost it, and per process that never reached a broker.
-- Reads: group_outage, join_round, process, clock_offset, worker_setting, broker_absence, cluster_broker, offsets_topic, offsets_replica, broker_generation, fact_line
-- Answers: why is the group coordinator not available, for whom, from when to when, and what did it cost?
-- Needs: the member's log; the brokers' logs tell a dead broker from a bad network.
-- Silent when: a member had not yet joined for the first time and found one in the end; it was found again within the session timeout and no work was given up; the process was closing.
-- Shown by: 2.8.2-coordinator_lost, 3.9.1-coordinator_moved, 3.9.1-offsets_topic_impossible, 4.3.1-worker_partitioned; silent on 3.9.1-clean_skewed.
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
COMMENT 'One row per outage of a group''s coordinator, over all members that lost it, and per process that never reached a broker.'
AS
WITH others AS (
  -- Members of the group in other processes, whose logs go on through it: they had no trouble.
  SELECT o.outage_id, count(DISTINCT j.process_id) AS fine
  FROM group_outage o
  JOIN (SELECT DISTINCT kafka_cluster, group_id, process_id FROM join_round) j ON j.kafka_cluster = o.kafka_cluster AND j.group_id = o.group_id AND NOT array_contains(o.who, j.process_id)
  JOIN process p ON p.process_id = j.process_id AND p.reference_process_id = o.reference_process_id
  JOIN clock_offset k ON k.process_id = p.process_id AND k.is_island_reference
  WHERE unix_millis(p.first_ts) - k.lo_ms <= unix_millis(o.from_ts) AND unix_millis(p.last_ts) - k.hi_ms >= unix_millis(o.from_ts) + 10000
  GROUP BY o.outage_id
), absent AS (
  SELECT o.outage_id, min_by(struct(a.process_id, a.how, a.from_ts, a.to_ts, a.event_id), struct(a.from_ts, a.process_id, a.event_id)) AS broker
  FROM group_outage o
  JOIN broker_absence a ON a.kafka_cluster = o.kafka_cluster AND a.broker_id = o.broker_id AND a.reference_process_id = o.reference_process_id
  -- A loss is noticed at once or at the next heartbeat; a log that merely ends has to end right there.
  WHERE a.from_lo <= o.last_lost + INTERVAL 1 SECOND
    AND CASE WHEN a.how = 'silent' THEN a.from_lo >= o.from_ts - INTERVAL 30 SECONDS ELSE a.to_hi IS NULL OR a.to_hi >= o.from_ts - INTERVAL 1 SECOND END
  GROUP BY o.outage_id
), alive AS (
  -- Its broker went on coordinating: the broker was there.
  SELECT o.outage_id, count(*) AS generations
  FROM group_outage o
  JOIN cluster_broker c ON c.kafka_cluster = o.kafka_cluster AND c.broker_id = o.broker_id
  JOIN clock_offset k ON k.process_id = c.process_id AND k.is_island_reference AND k.reference_process_id = o.reference_process_id
  JOIN broker_generation g ON g.process_id = c.process_id AND unix_millis(g.stabilized_ts) - k.hi_ms > unix_millis(o.last_lost) AND unix_millis(g.stabilized_ts) - k.lo_ms < unix_millis(coalesce(o.to_ts, o.last_lost + INTERVAL 1 HOUR))
  GROUP BY o.outage_id
), network AS (
  -- What the members' connections say meanwhile; a process's own clock is that of its outage.
  SELECT f.outage_id,
    count_if(l.event IN ('connection_failed', 'bootstrap_failed')) AS refused,
    count(DISTINCT CASE WHEN l.event = 'connection_failed' AND l.node_id BETWEEN 0 AND 1000000000 THEN l.node_id END) AS nodes_refused,
    count_if(l.node_id < 0 OR l.event = 'bootstrap_failed') AS bootstrap_refused,
    max(CASE WHEN l.event = 'authentication_failed' THEN l.said END) AS authentication,
    max(CASE WHEN l.event = 'coordinator_lookup_failed' THEN l.said END) AS lookup,
    filter(array(min(CASE WHEN l.event = 'authentication_failed' THEN l.event_id END), min_by(l.event_id, struct(l.ts, l.event_id)) FILTER (WHERE l.event = 'connection_failed')), x -> x IS NOT NULL) AS witness
  FROM (SELECT outage_id, explode(clients) AS c FROM group_outage) f
  JOIN fact_line l ON l.process_id = f.c.process_id AND l.instance = f.c.instance AND l.event IN ('connection_failed', 'bootstrap_failed', 'authentication_failed', 'coordinator_lookup_failed')
    AND l.ts BETWEEN f.c.from_ts - INTERVAL 2 SECONDS AND f.c.to_ts
  GROUP BY f.outage_id
), written AS (
  SELECT o.outage_id, max(l.said) AS said, min_by(l.event_id, struct(l.ts, l.event_id)) AS event_id
  FROM group_outage o JOIN fact_line l ON l.kafka_cluster = o.kafka_cluster AND l.event IN ('group_store_failed', 'coordinator_write_failed') AND l.said RLIKE '(?i)not.?enough.?replicas'
    AND l.ts BETWEEN o.from_ts - INTERVAL 1 MINUTE AND coalesce(o.to_ts, o.from_ts + INTERVAL 1 HOUR) + INTERVAL 1 MINUTE
  GROUP BY o.outage_id
), home AS (
  SELECT kafka_cluster, group_id, max_by(offsets_partition, struct(stabilized_ts, offsets_partition)) AS offsets_partition FROM broker_generation GROUP BY kafka_cluster, group_id
), judged AS (
  SELECT o.*, coalesce(t.fine, 0) AS fine, a.broker AS absence, coalesce(v.generations, 0) AS served, coalesce(x.refused, 0) AS refused, coalesce(x.nodes_refused, 0) AS nodes_refused,
    x.bootstrap_refused, x.authentication, x.lookup, m.said AS min_isr_said, h.offsets_partition, r.replicas, q.brokers, q.failures, q.exists_already, q.configured, q.replication_factor AS offsets_rf,
    concat(o.witness, coalesce(x.witness, array()), filter(array(a.broker.event_id, m.event_id), e -> e IS NOT NULL)) AS lines,
    CASE
      WHEN o.never AND q.failures > 0 AND NOT q.exists_already THEN 'topic_impossible'
      WHEN x.authentication IS NOT NULL THEN 'authentication'
      WHEN x.lookup RLIKE '(?i)authoriz' THEN 'not_authorized'
      WHEN o.never AND x.bootstrap_refused > 0 THEN 'bootstrap'
      WHEN m.said IS NOT NULL THEN 'min_isr'
      WHEN a.broker IS NOT NULL AND size(r.replicas) = 1 AND q.brokers > 1 THEN 'broker_single_replica'
      WHEN a.broker IS NOT NULL AND q.brokers = 1 THEN 'only_broker'
      WHEN a.broker IS NOT NULL THEN 'broker'
      WHEN size(o.who) = 1 AND (t.fine > 0 OR v.generations > 0) AND array_contains(o.causes, 'session timed out without receiving a heartbeat response') THEN 'member_unheard'
      WHEN size(o.who) = 1 AND (t.fine > 0 OR v.generations > 0) THEN 'member'
      WHEN o.new_broker_id <> o.broker_id THEN 'moved'
      WHEN x.nodes_refused >= q.brokers AND q.brokers > 0 THEN 'all_brokers'
      WHEN x.refused > 0 THEN 'broker_refused'
      ELSE 'unknown'
    END AS cause
  FROM group_outage o
  LEFT JOIN others t ON t.outage_id = o.outage_id
  LEFT JOIN absent a ON a.outage_id = o.outage_id
  LEFT JOIN alive v ON v.outage_id = o.outage_id
  LEFT JOIN network x ON x.outage_id = o.outage_id
  LEFT JOIN written m ON m.outage_id = o.outage_id
  LEFT JOIN home h ON h.kafka_cluster = o.kafka_cluster AND h.group_id = o.group_id
  LEFT JOIN (SELECT kafka_cluster, offsets_partition, max_by(replicas, struct(ts, replicas)) AS replicas FROM offsets_replica GROUP BY kafka_cluster, offsets_partition) r
    ON r.kafka_cluster = o.kafka_cluster AND r.offsets_partition = h.offsets_partition
  LEFT JOIN offsets_topic q ON q.kafka_cluster = o.kafka_cluster
), spoken AS (
  SELECT *,
    concat(array_join(slice(who, 1, 6), ', '), CASE WHEN size(who) > 6 THEN concat(' and ', size(who) - 6, ' more') ELSE '' END) AS names,
    concat(CASE WHEN longest_ms < 10000 THEN CAST(round(longest_ms / 1000.0, 1) AS STRING) ELSE CAST(round(longest_ms / 1000.0) AS STRING) END, ' s') AS span,
    concat('broker ', broker_id, CASE WHEN broker IS NOT NULL THEN concat(' (', broker, ')') ELSE '' END) AS broker_name
  FROM judged
)
SELECT
  CASE
    WHEN never AND longest_ms >= outage_critical_ms THEN 'critical'
    -- All members that these logs know stopped working for it.
    WHEN fine = 0 AND NOT is_sink AND (open OR longest_ms >= outage_critical_ms AND revoked + thrown_out >= size(who)) THEN 'critical'
    WHEN revoked + thrown_out > 0 OR left_group OR open OR longest_ms > session_ms THEN 'warning'
    ELSE 'note'
  END,
  CASE WHEN cause IN ('unknown', 'broker_refused', 'all_brokers') THEN 'undecided' ELSE 'proved' END,
  kafka_cluster, group_id, coalesce(CASE WHEN size(who) = 1 THEN who[0] END, concat('broker ', broker_id), 'coordinator'), from_ts, to_ts,
  CASE
    WHEN never THEN concat(CASE WHEN size(who) = 1 THEN concat(who[0], ' has') ELSE concat(size(who), ' members have') END, ' waited ', span, ' for a coordinator of ', group_id, ' and never found one',
      CASE cause WHEN 'topic_impossible' THEN ': __consumer_offsets cannot be created' WHEN 'authentication' THEN ': authentication failed' WHEN 'bootstrap' THEN ': no bootstrap server answers'
        WHEN 'not_authorized' THEN ': not authorized' ELSE '' END)
    WHEN cause IN ('member', 'member_unheard') THEN concat(who[0], ' lost the coordinator of ', group_id, ' for ', span, '; the other members did not')
    ELSE concat(CASE WHEN fine = 0 AND size(who) > 1 THEN concat('all ', size(who), ' members of ', group_id) WHEN size(who) = 1 THEN concat(who[0], ' in ', group_id) ELSE concat(size(who), ' members of ', group_id) END,
      ' had no coordinator for ', CASE WHEN open THEN concat(span, ' and until their logs end') ELSE span END,
      CASE cause WHEN 'broker_single_replica' THEN concat(': broker ', broker_id, ' was down and has the only replica') WHEN 'only_broker' THEN concat(': the only broker (', broker_id, ') was down')
        WHEN 'broker' THEN concat(': broker ', broker_id, ' was down', CASE WHEN new_broker_id <> broker_id THEN concat('; broker ', new_broker_id, ' took over') ELSE '' END)
        WHEN 'moved' THEN concat(': it moved from broker ', broker_id, ' to broker ', new_broker_id) WHEN 'min_isr' THEN ': too few replicas in sync' WHEN 'all_brokers' THEN ': no broker could be reached'
        WHEN 'authentication' THEN ': authentication failed' WHEN 'not_authorized' THEN ': not authorized' ELSE '' END)
  END,
  concat_ws(' ',
    CASE WHEN never THEN concat('Waiting: ', names, '.') ELSE concat('Lost by ', names, CASE WHEN losses > size(who) THEN concat(', printed ', losses, ' times (a member finds the address of a dead broker again and again)') ELSE '' END,
      CASE WHEN size(causes) > 0 THEN concat('; cause as printed: ', array_join(slice(causes, 1, 3), ', ')) ELSE '' END, '.') END,
    CASE cause
      WHEN 'topic_impossible' THEN concat('The topic __consumer_offsets, on which coordinators live, could not be made: ', failures, ' tries failed for lack of brokers (see offsets-topic-unsatisfiable).')
      WHEN 'authentication' THEN concat('The broker refused the credentials or the handshake: ', authentication, '.')
      WHEN 'not_authorized' THEN concat('A broker answered: ', lookup, '.')
      WHEN 'bootstrap' THEN concat('Not one connection to its bootstrap servers', CASE WHEN bootstrap IS NOT NULL THEN concat(' (', bootstrap, ')') ELSE '' END, ' succeeded; ', refused, ' failed.')
      WHEN 'min_isr' THEN concat('The coordinator was there but could not write: ', min_isr_said)
      WHEN 'broker_single_replica' THEN concat('Partition ', offsets_partition, ' of __consumer_offsets, which holds ', group_id, ', has its only replica on broker ', broker_id, ', which was down')
      WHEN 'only_broker' THEN concat('Broker ', broker_id, ' is the only one that these logs know, and it was down')
      WHEN 'broker' THEN concat('Broker ', broker_id, ' was down')
      WHEN 'member_unheard' THEN concat('Its own heartbeats were not answered for a session timeout, while ', CASE WHEN fine > 0 THEN concat(fine, ' other member', CASE WHEN fine = 1 THEN '' ELSE 's' END, ' of the group') ELSE 'the broker' END, ' went on: its network, or a pause of its machine.')
      WHEN 'member' THEN concat(CASE WHEN fine > 0 THEN concat(fine, CASE WHEN fine = 1 THEN ' other member' ELSE ' other members' END, ' of the group kept it at that time') ELSE concat('broker ', broker_id, ' completed ', served, ' generations of other members meanwhile') END,
        ': this member''s own network or pause, not the coordinator.')
      WHEN 'moved' THEN concat('The partition of __consumer_offsets that holds the group changed its leader from broker ', broker_id, ' to broker ', new_broker_id, '.')
      WHEN 'all_brokers' THEN concat('Connections to ', nodes_refused, ' of ', brokers, ' brokers failed meanwhile; no broker''s log here tells more.')
      WHEN 'broker_refused' THEN concat('Connections to ', broker_name, ' failed ', refused, ' times meanwhile; its log does not show it going down, so the network between is as likely.')
      ELSE 'No broker''s log here tells why.'
    END,
    CASE WHEN absence IS NOT NULL AND cause IN ('broker_single_replica', 'only_broker', 'broker') THEN concat('(its log ', CASE absence.how WHEN 'stopped' THEN 'says that it stopped' WHEN 'died' THEN 'breaks off without a shutdown' ELSE 'ends' END,
      ' at ', date_format(absence.from_ts, 'HH:mm:ss'), CASE WHEN absence.to_ts IS NOT NULL THEN concat(', and starts anew at ', date_format(absence.to_ts, 'HH:mm:ss')) ELSE '' END, ' by its clock).') END,
    CASE WHEN size(who) = 1 AND revoked > 0 THEN 'It gave up its work meanwhile.' WHEN revoked > 0 THEN concat(revoked, ' of ', size(who), ' gave up their work meanwhile.') END,
    CASE WHEN size(who) = 1 AND thrown_out > 0 THEN 'When it came back it was no member any more and had to join anew.' WHEN thrown_out > 0 THEN concat(thrown_out, ' of them were no members any more when they came back and had to join anew.') END,
    CASE WHEN left_group THEN 'A poll timeout that is printed then is an effect of it, not slow work.' END,
    CASE WHEN back_ms IS NOT NULL AND revoked + thrown_out > 0 THEN concat(CASE WHEN size(who) = 1 THEN 'It was' ELSE 'All were' END, ' members with an assignment again ', round(back_ms / 1000.0, 1), ' s after the loss.') END),
  CASE cause
    WHEN 'topic_impossible' THEN concat('Start the missing brokers, or set offsets.topic.replication.factor (now ', coalesce(CAST(configured AS STRING), 'not printed'), ') to at most the ', brokers, ' that there are and restart them. Nothing has to be changed on the workers.')
    WHEN 'authentication' THEN 'Mend security.protocol, sasl.jaas.config and the truststore of this client: the worker''s own, and those with the prefixes consumer., producer. and admin. A SSL handshake that fails is mostly a plaintext client on a TLS port, or the reverse.'
    WHEN 'not_authorized' THEN concat('Grant the principal READ on the group ', group_id, ' (kafka-acls.sh --group).')
    WHEN 'bootstrap' THEN concat('Check bootstrap.servers', CASE WHEN bootstrap IS NOT NULL THEN concat(' (now ', bootstrap, ')') ELSE '' END, ', DNS, firewall, and that security.protocol fits the listener.')
    WHEN 'min_isr' THEN 'Bring the replicas of __consumer_offsets back in sync (min.insync.replicas stops writes on purpose). With three replicas and min.insync.replicas=2 one broker may be away; with min.insync.replicas equal to the number of replicas none may.'
    WHEN 'broker_single_replica' THEN concat('Give __consumer_offsets three replicas (kafka-reassign-partitions.sh; offsets.topic.replication.factor, now ', coalesce(CAST(configured AS STRING), 'not printed'),
      ', only counts for a new topic) and min.insync.replicas=2: another broker then takes over within seconds. Then find why the broker went.')
    WHEN 'only_broker' THEN concat('Find why the broker went. With one broker every restart of it is an outage of all groups; workers keep their tasks through outages shorter than session.timeout.ms (now ', session_ms, ') only up to heartbeat.interval.ms after they notice it (2.4.0 and later).')
    WHEN 'broker' THEN concat('Find why the broker went. The hand-over took the broker''s session timeout (broker.session.timeout.ms, with ZooKeeper zookeeper.session.timeout.ms) and the loading of the partition; a controlled shutdown takes none of it. A session.timeout.ms of the members (now ', session_ms, ') above that sum avoids a rebalance.')
    WHEN 'moved' THEN concat('Nothing is wrong in a move by itself. If members lost their work for it, raise session.timeout.ms (now ', session_ms, ') above ', round(longest_ms / 1000.0), ' s, and look at what made the leader change.')
    WHEN 'member_unheard' THEN concat('Look at this member''s host at that time: GC and machine pauses, network. session.timeout.ms is ', session_ms, '; above the outages that you want to sit out it avoids the hand-over and delays it for real deaths.')
    WHEN 'member' THEN concat('Look at this member''s host at that time: its network to ', broker_name, ', GC and machine pauses. session.timeout.ms is ', session_ms, '; above the outages that you want to sit out it avoids the hand-over and delays it for real deaths.')
    ELSE concat('Collect the log of ', coalesce(broker_name, 'the brokers'), ' for that time: it tells a broker that was down from a network that was. Then look at the replicas of __consumer_offsets.')
  END,
  slice(array_distinct(lines), 1, 20)
FROM spoken
UNION ALL
-- A worker that cannot reach a broker when it starts has no herder yet, and no group.
SELECT 'critical', 'proved', f.kafka_cluster, w.group_id, f.process_id, min(f.ts), CAST(NULL AS TIMESTAMP),
  concat(f.process_id, ' could not start Connect: ', CASE WHEN bool_or(f.event = 'authentication_failed') THEN 'authentication failed' ELSE 'no broker answered' END),
  concat('Connections to its bootstrap servers', CASE WHEN max(w.bootstrap) IS NOT NULL THEN concat(' (', max(w.bootstrap), ')') ELSE '' END, ' failed ', count_if(f.event <> 'connect_start_failed'), ' times, and then the worker gave up: ',
    coalesce(max(CASE WHEN f.event = 'authentication_failed' THEN f.said END), max(CASE WHEN f.event = 'connect_start_failed' THEN f.said END), 'no reason is printed'), '.'),
  concat('Check bootstrap.servers', CASE WHEN max(w.bootstrap) IS NOT NULL THEN concat(' (now ', max(w.bootstrap), ')') ELSE '' END, ' and security.protocol', CASE WHEN max(w.security) IS NOT NULL THEN concat(' (now ', max(w.security), ')') ELSE '' END,
    ', DNS and firewall, and that the listener speaks what the worker speaks.'),
  slice(array_sort(collect_set(f.event_id)), 1, 8)
FROM fact_line f
JOIN (SELECT DISTINCT process_id, instance FROM fact_line WHERE event = 'connect_start_failed') s ON s.process_id = f.process_id AND s.instance = f.instance
LEFT JOIN worker_setting w ON w.process_id = f.process_id
LEFT ANTI JOIN fact_line c ON c.process_id = f.process_id AND c.instance = f.instance AND c.event = 'kafka_cluster_id'
WHERE f.event = 'connect_start_failed' OR f.event IN ('connection_failed', 'bootstrap_failed', 'authentication_failed')
GROUP BY f.kafka_cluster, w.group_id, f.process_id, f.instance
HAVING count_if(f.event <> 'connect_start_failed') > 0

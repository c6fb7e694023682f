-- One row per outage of a group's coordinator: what the logs show about its cause and its reach.
-- Reads: join_round, process, clock_offset, filtered_log, broker_absence, cluster_broker, offsets_topic, broker_generation, fact_line
-- Reads: coordinator_outage, worker_setting, setting, lost_membership, client_event, lost_range
-- Computed: forensics.coordinators.outage_evidence
-- Grain: outage_id
-- Times are on the reference clock, if not stated otherwise. A member's own lines are compared with its own span of the outage, by its own clock.
CREATE OR REPLACE TEMPORARY VIEW outage_evidence (
  outage_id          STRING COMMENT 'Outage, as in group_outage',
  untroubled_count   BIGINT COMMENT 'Processes of other members whose logs continue through it, or that joined a generation during it',
  served_generations BIGINT COMMENT 'Generations that the broker certainly coordinated during it',
  missed_by          STRING COMMENT 'First process that reports the broker down in the meantime; NULL: none',
  missed_id          STRING COMMENT 'Its event',
  down_how           STRING COMMENT 'How the broker was down, as in broker_absence; NULL: no log shows it',
  down_from_ms       BIGINT COMMENT 'Its last line before (its own clock, milliseconds since 1970)',
  down_to_ms         BIGINT COMMENT 'It was up again (its own clock)',
  down_id            STRING COMMENT 'Event that shows it',
  unplaced_from_ms   BIGINT COMMENT 'It was down then or at another time: a clock was set back (its own clock); NULL: no doubt',
  unplaced_to_ms     BIGINT COMMENT 'It was up again (its own clock)',
  unplaced_id        STRING COMMENT 'Event that shows it',
  failed_connections BIGINT COMMENT 'Connections of the members that failed',
  failed_nodes       BIGINT COMMENT 'Brokers that these were to; NULL: the members print no error',
  bootstrap_failed   BIGINT COMMENT 'Errors about bootstrap servers',
  failed_id          STRING COMMENT 'First failed connection',
  authentication     STRING COMMENT 'Error of an authentication',
  authentication_id  STRING COMMENT 'Its event',
  lookup             STRING COMMENT 'Error of a request for the coordinator',
  unwritten          STRING COMMENT 'Error of a write for which too few replicas were in sync',
  unwritten_id       STRING COMMENT 'First such write',
  has_log            BOOLEAN COMMENT 'True if the broker has a log',
  offsets_partition  BIGINT COMMENT 'Partition of __consumer_offsets of the group',
  is_only_replica    BOOLEAN COMMENT 'True if that partition has one replica',
  brokers            BIGINT COMMENT 'Number of brokers that any log of the case names',
  configured         INT COMMENT 'Lowest offsets.topic.replication.factor that a broker prints',
  failures           BIGINT COMMENT 'How often the creation of the offsets topic failed for lack of brokers',
  exists_already     BOOLEAN COMMENT 'True if a line shows that it exists'
)

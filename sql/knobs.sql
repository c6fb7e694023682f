-- The thresholds of all views, as session variables. A case keeps the rows of its views as computed with these values, and its own copy of
-- this file (sql/knobs.sql in the case).

-- A silence between two records of one process that coverage calls a gap, milliseconds.
DECLARE OR REPLACE VARIABLE gap_ms BIGINT DEFAULT 300000;
-- The user's claim that all clocks of the case agree within this many milliseconds; NULL: no claim.
DECLARE OR REPLACE VARIABLE assume_skew_ms BIGINT DEFAULT NULL;
-- Tasks without an owner for longer than this are a finding, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_ms BIGINT DEFAULT 10000;
-- Clocks that contradict each other by at most this drift; above it one of them stepped, milliseconds.
DECLARE OR REPLACE VARIABLE clock_jitter_ms BIGINT DEFAULT 10;
-- The members of a process that ended are removed within this time of each other: session timeouts of 10 and 45 s are usual, milliseconds.
DECLARE OR REPLACE VARIABLE sessions_apart_ms BIGINT DEFAULT 60000;
-- A coordinator that is not lost again within this time counts as found, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_settled_ms BIGINT DEFAULT 30000;
-- A group whose members all have no coordinator for longer than this is critical, milliseconds.
DECLARE OR REPLACE VARIABLE outage_critical_ms BIGINT DEFAULT 30000;
-- A member whose log continues this long after others lost the coordinator had not lost it, milliseconds.
DECLARE OR REPLACE VARIABLE outage_untroubled_ms BIGINT DEFAULT 10000;
-- Members detect within this time that their coordinator's broker failed, milliseconds.
DECLARE OR REPLACE VARIABLE broker_noticed_ms BIGINT DEFAULT 1000;
-- A broker whose log just ends was down in an outage that began at most this long afterwards, milliseconds.
DECLARE OR REPLACE VARIABLE broker_silent_ms BIGINT DEFAULT 30000;
-- Connection errors of a member up to this long before it loses the coordinator belong to the outage, milliseconds.
DECLARE OR REPLACE VARIABLE outage_before_ms BIGINT DEFAULT 2000;
-- Failed writes of a coordinator up to this long before or after an outage belong to it, milliseconds.
DECLARE OR REPLACE VARIABLE outage_writes_ms BIGINT DEFAULT 60000;
-- An outage without a logged end is examined for this long, milliseconds.
DECLARE OR REPLACE VARIABLE outage_open_ms BIGINT DEFAULT 3600000;
-- A member that gets an assignment within this time of finding its coordinator is back, milliseconds.
DECLARE OR REPLACE VARIABLE outage_back_ms BIGINT DEFAULT 60000;
-- Events of a member up to this long after it found its coordinator again are effects of the outage, milliseconds.
DECLARE OR REPLACE VARIABLE outage_affected_ms BIGINT DEFAULT 5000;
-- A member that joins within this time of finding its coordinator joins because of the outage, milliseconds.
DECLARE OR REPLACE VARIABLE outage_rejoined_ms BIGINT DEFAULT 10000;
-- A member that still has no coordinator this long after another has one again is kept from it by something else, milliseconds.
DECLARE OR REPLACE VARIABLE outage_late_ms BIGINT DEFAULT 5000;
-- Outages of a group that are further apart than this are separate, milliseconds.
DECLARE OR REPLACE VARIABLE outage_apart_ms BIGINT DEFAULT 30000;
-- session.timeout.ms of a member that does not print it, milliseconds: the default before Kafka 3.0; later defaults are longer.
DECLARE OR REPLACE VARIABLE least_session_default_ms BIGINT DEFAULT 10000;
-- Members that lose a coordinator within this time of each other, about a heartbeat interval, are reported together, milliseconds.
DECLARE OR REPLACE VARIABLE episodes_together_ms BIGINT DEFAULT 5000;
-- A delay of an assignment (scheduled.rebalance.max.delay.ms) up to this long before tasks are unassigned may be the reason, milliseconds.
DECLARE OR REPLACE VARIABLE delay_before_ms BIGINT DEFAULT 60000;
-- A leave within this time of the warning about a poll timeout is the same timeout, milliseconds.
DECLARE OR REPLACE VARIABLE poll_repeats_ms BIGINT DEFAULT 2000;
-- A change of a connector up to this long before a rebalance is its reason, milliseconds.
DECLARE OR REPLACE VARIABLE storm_change_ms BIGINT DEFAULT 5000;
-- A clock that goes back by more than this was set, milliseconds; smaller steps come from threads that write alternately.
DECLARE OR REPLACE VARIABLE clock_setback_ms BIGINT DEFAULT 2000;
-- A log with fewer records whose times go back is more likely a collection of excerpts than the log of a clock that was set back.
DECLARE OR REPLACE VARIABLE clock_step_records BIGINT DEFAULT 100;
-- A status that Connect reports contradicts the logs only if they contradict it for this long before and after, milliseconds.
DECLARE OR REPLACE VARIABLE stale_status_ms BIGINT DEFAULT 30000;
-- A cause of rebalances that comes back within storm_gap_ms each time is a storm from this many returns on.
DECLARE OR REPLACE VARIABLE storm_returns INT DEFAULT 3;
-- The same for a connector that changes repeatedly: one change is often two lines.
DECLARE OR REPLACE VARIABLE storm_changes INT DEFAULT 6;
-- Generations belong to a storm from this long before its first return until this long after its last, milliseconds.
DECLARE OR REPLACE VARIABLE storm_edge_ms BIGINT DEFAULT 10000;
-- A member that came back had been restarted if its process started at most this long before, milliseconds.
DECLARE OR REPLACE VARIABLE storm_start_ms BIGINT DEFAULT 60000;
-- Longest time between two returns of one cause, milliseconds; a poll timeout takes max.poll.interval.ms (default 300000) per round.
DECLARE OR REPLACE VARIABLE storm_gap_ms BIGINT DEFAULT 600000;
-- Consecutive generations without any change are a storm from this many on.
DECLARE OR REPLACE VARIABLE storm_idle_rounds INT DEFAULT 5;
-- Generations of a group follow each other without pause while each takes at most this long, milliseconds.
DECLARE OR REPLACE VARIABLE storm_pace_ms BIGINT DEFAULT 60000;
-- This many generations in a row are a storm whose cause the logs do not show,
DECLARE OR REPLACE VARIABLE storm_pace_generations INT DEFAULT 10;
-- plus this many for each member, because a deployment makes each member leave and join once,
DECLARE OR REPLACE VARIABLE storm_pace_per_member INT DEFAULT 2;
-- with more steps if the group rebalances cooperatively.
DECLARE OR REPLACE VARIABLE storm_pace_per_cooperative INT DEFAULT 4;
-- If the logs do not show the number of members: no deployment is as fast as this on average, milliseconds per generation.
DECLARE OR REPLACE VARIABLE storm_fast_ms BIGINT DEFAULT 2000;
-- Clock offsets above this are a finding, milliseconds.
DECLARE OR REPLACE VARIABLE clock_skew_ms BIGINT DEFAULT 1000;
-- Clock offsets from this on are a warning, milliseconds.
DECLARE OR REPLACE VARIABLE clock_skew_large_ms BIGINT DEFAULT 10000;
-- An offset that differs by less than this from whole or half hours is one of the time zone, milliseconds.
DECLARE OR REPLACE VARIABLE zone_skew_ms BIGINT DEFAULT 60000;
-- A rebalance that waited longer than this for a member that did not come is a finding, milliseconds.
DECLARE OR REPLACE VARIABLE ghost_wait_ms BIGINT DEFAULT 2000;
-- A rebalance whose join phase took this long, for members that eventually came, is a finding, milliseconds.
DECLARE OR REPLACE VARIABLE slow_rebalance_ms BIGINT DEFAULT 10000;
-- A rebalance that was still running when the logs ended is a finding from this long on, milliseconds: members learn of it with a heartbeat.
DECLARE OR REPLACE VARIABLE open_rebalance_ms BIGINT DEFAULT 3000;
-- A rebalance that took this long is a warning if all members stop work for it, milliseconds.
DECLARE OR REPLACE VARIABLE slow_rebalance_long_ms BIGINT DEFAULT 30000;
-- A task that was assigned and did not start within this time is a finding, milliseconds.
DECLARE OR REPLACE VARIABLE not_started_ms BIGINT DEFAULT 30000;
-- A worker whose configuration is behind the group's this often, each time within storm_gap_ms, lags.
DECLARE OR REPLACE VARIABLE config_lag_times INT DEFAULT 5;
-- Findings of one rule, group and cause that differ in time and subject are reported as one from this many on.
DECLARE OR REPLACE VARIABLE repeat_times INT DEFAULT 4;
-- The same for tasks and partitions that had two owners, for which readers search by name.
DECLARE OR REPLACE VARIABLE repeat_resources INT DEFAULT 20;
-- A rebalance that waited this long for a member that did not come is a warning, milliseconds.
DECLARE OR REPLACE VARIABLE ghost_wait_long_ms BIGINT DEFAULT 30000;
-- Tasks without an owner for this long are a warning, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_long_ms BIGINT DEFAULT 60000;
-- Tasks that restarted in the same interval of this length are reported together, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_together_ms BIGINT DEFAULT 5000;
-- Failed commits of one member that follow each other within this time are reported together, milliseconds.
DECLARE OR REPLACE VARIABLE commits_together_ms BIGINT DEFAULT 60000;
-- A new owner's position counts as the one after a failed commit within this time, milliseconds.
DECLARE OR REPLACE VARIABLE successor_ms BIGINT DEFAULT 120000;
-- A member's request arrives, and an expired session is detected, within this time, milliseconds.
DECLARE OR REPLACE VARIABLE heartbeat_late_ms BIGINT DEFAULT 2000;
-- Immediate effects of a known bug appear within this time, milliseconds.
DECLARE OR REPLACE VARIABLE bug_short_ms BIGINT DEFAULT 10000;
-- Later effects of a known bug, which depend on the group or its coordinator, appear within this time, milliseconds.
DECLARE OR REPLACE VARIABLE bug_long_ms BIGINT DEFAULT 600000;
-- A coordinator that fences a static member within this time of loading its group may know only its old member id, milliseconds.
DECLARE OR REPLACE VARIABLE group_loaded_ms BIGINT DEFAULT 60000;
-- Number of heartbeats that must fit into a session timeout, so that a late or lost one does not end the session.
DECLARE OR REPLACE VARIABLE heartbeats_a_session INT DEFAULT 3;
-- Number of replicas with which internal topics survive the loss of a broker.
DECLARE OR REPLACE VARIABLE safe_replicas INT DEFAULT 3;
-- A member that asks to join later than a heartbeat interval, this much of it and heartbeat_slack_ms was between two polls, per cent.
DECLARE OR REPLACE VARIABLE heartbeat_slack_percent INT DEFAULT 20;
-- Longest time from the heartbeat that notified a member of the rebalance to its join request, milliseconds.
DECLARE OR REPLACE VARIABLE heartbeat_slack_ms BIGINT DEFAULT 200;
-- A session.timeout.ms above this is compared with this value, milliseconds.
DECLARE OR REPLACE VARIABLE other_session_ms BIGINT DEFAULT 10000;
-- A shorter one that is above this is compared with this value, the default minimum (group.min.session.timeout.ms), milliseconds.
DECLARE OR REPLACE VARIABLE least_session_ms BIGINT DEFAULT 6000;
-- A group.consumer.session.timeout.ms above this is compared with this value, the default minimum, milliseconds.
DECLARE OR REPLACE VARIABLE least_consumer_session_ms BIGINT DEFAULT 45000;
-- A max.poll.interval.ms or rebalance.timeout.ms above this is compared with this value, milliseconds.
DECLARE OR REPLACE VARIABLE other_poll_ms BIGINT DEFAULT 60000;
-- A heartbeat.interval.ms above this is compared with this value, milliseconds.
DECLARE OR REPLACE VARIABLE other_heartbeat_ms BIGINT DEFAULT 1000;
-- A scheduled.rebalance.max.delay.ms above this is compared with this value, a shorter one with 0, milliseconds.
DECLARE OR REPLACE VARIABLE other_delay_ms BIGINT DEFAULT 60000;
-- Positions of one group that are reset in the same interval of this length are reported together, milliseconds.
DECLARE OR REPLACE VARIABLE resets_together_ms BIGINT DEFAULT 60000;
-- A position that is reset within this time of the loss of its group's metadata was lost with it, milliseconds.
DECLARE OR REPLACE VARIABLE lost_together_ms BIGINT DEFAULT 60000;
-- A position that is set within this time of the group's first ownership of the partition is the group's start, milliseconds.
DECLARE OR REPLACE VARIABLE first_start_ms BIGINT DEFAULT 10000;
-- The clocks of two members whose coordinator or leader has more partners than this are compared only through it.
DECLARE OR REPLACE VARIABLE clock_partners_most BIGINT DEFAULT 32;
-- Two clocks whose offset is known to within this need no further log, milliseconds.
DECLARE OR REPLACE VARIABLE clocks_close_ms BIGINT DEFAULT 100;
-- Events of a member are considered until this long after the last line of its work there, milliseconds.
DECLARE OR REPLACE VARIABLE loss_noticed_ms BIGINT DEFAULT 1000;
-- Members of one group that lose their coordinator within this time of each other lost it for the same reason, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_together_ms BIGINT DEFAULT 5000;
-- A process that cannot connect for this long, while others can, is cut off, milliseconds.
DECLARE OR REPLACE VARIABLE unreachable_ms BIGINT DEFAULT 10000;
-- Members of several groups whose coordinator removes them within this time, for an unknown reason, had one process or host, milliseconds.
DECLARE OR REPLACE VARIABLE removed_together_ms BIGINT DEFAULT 1000;
-- A resource that had no owner for at least this long is part of the incident's impact, milliseconds.
DECLARE OR REPLACE VARIABLE resource_hit_ms BIGINT DEFAULT 1000;
-- How long a Connect worker that does not print task.shutdown.graceful.timeout.ms waits for a task to stop: Kafka's default,
-- milliseconds.
DECLARE OR REPLACE VARIABLE graceful_stop_ms BIGINT DEFAULT 5000;
-- The longest session timeout that brokers accept by default (`group.max.session.timeout.ms`), milliseconds; used if a member's is unknown.
DECLARE OR REPLACE VARIABLE session_longest_ms BIGINT DEFAULT 1800000;
-- Start lines of a process within this time belong to one start, milliseconds.
DECLARE OR REPLACE VARIABLE life_shortest_ms BIGINT DEFAULT 1000;
-- A log is a copy of another one if this share of its lines, in the time that both cover, appears in both with the same time and
-- text, per cent.
DECLARE OR REPLACE VARIABLE copied_percent BIGINT DEFAULT 80;
-- The same for times in about whole seconds: for a resolution above `copied_fine_ms` milliseconds it takes this share, per cent, ...
DECLARE OR REPLACE VARIABLE copied_coarse_percent BIGINT DEFAULT 95;
DECLARE OR REPLACE VARIABLE copied_fine_ms BIGINT DEFAULT 10;
-- ... and at least this number of lines.
DECLARE OR REPLACE VARIABLE copied_least_lines BIGINT DEFAULT 5;
-- A coordinator that prints nothing for this long while it waits may have been paused itself, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_silent_ms BIGINT DEFAULT 30000;
-- Default of max.poll.interval.ms, within which a consumer may join a rebalance, milliseconds.
DECLARE OR REPLACE VARIABLE usual_poll_ms BIGINT DEFAULT 300000;
-- Default of a worker's rebalance.timeout.ms, milliseconds.
DECLARE OR REPLACE VARIABLE usual_worker_rebalance_ms BIGINT DEFAULT 60000;
-- Of the owners that may have had one task or partition at the same time, this many are compared with every later one; the others are
-- compared with their next four.
DECLARE OR REPLACE VARIABLE owners_compared_most BIGINT DEFAULT 32;
-- Lines about a task's failure that follow each other within this time, without a start in between, are about one failure, milliseconds.
DECLARE OR REPLACE VARIABLE failure_lines_ms BIGINT DEFAULT 1000;
-- A warning or an error of a task up to this long before it fails is reported with the failure, milliseconds.
DECLARE OR REPLACE VARIABLE failure_before_ms BIGINT DEFAULT 60000;
-- The answer to a REST request that restarts a task is logged at most this long after the task's start, milliseconds.
DECLARE OR REPLACE VARIABLE restart_answered_ms BIGINT DEFAULT 10000;
-- Connect workers whose numbers of connectors and tasks differ by this or more are uneven: each of the two kinds may differ by one.
DECLARE OR REPLACE VARIABLE uneven_tasks INT DEFAULT 3;
-- Periodic work of MirrorMaker that takes longer than the interval between its runs, and at least this long, falls behind, milliseconds.
DECLARE OR REPLACE VARIABLE mirror_slow_ms BIGINT DEFAULT 10000;
-- A partition that is not read shows it by at least this number of equal lines, while others of its group move as often.
DECLARE OR REPLACE VARIABLE stuck_steps INT DEFAULT 3;
-- A position that stands still this many times as long as those of the other partitions of its group at most is unusual.
DECLARE OR REPLACE VARIABLE stuck_times INT DEFAULT 3;
-- If more generations than this come between two owners, another member may have been one.
DECLARE OR REPLACE VARIABLE gap_generations_most BIGINT DEFAULT 1000;
-- A client that notices something this much too late, after a silence of its whole process, did not run meanwhile, milliseconds.
DECLARE OR REPLACE VARIABLE pause_least_ms BIGINT DEFAULT 5000;
-- Two time zones differ by at least this, milliseconds.
DECLARE OR REPLACE VARIABLE zone_step_ms BIGINT DEFAULT 900000;
-- Where the time zone of a log is only assumed, its first line must follow the start of its container within this time, milliseconds.
DECLARE OR REPLACE VARIABLE container_start_ms BIGINT DEFAULT 120000;
-- A pause of a collector that is as long as this is a row of its own, milliseconds.
DECLARE OR REPLACE VARIABLE long_pause_ms BIGINT DEFAULT 1000;
-- The clients of a paused process log the pause within this time after its first line, milliseconds.
DECLARE OR REPLACE VARIABLE pause_noticed_ms BIGINT DEFAULT 5000;
-- The session timeout of a broker's ZooKeeper client that does not print it is at most this, milliseconds; the default is 18000.
DECLARE OR REPLACE VARIABLE zookeeper_longest_ms BIGINT DEFAULT 60000;
-- A member that has sent nothing to its coordinator for longer than this did not run: no session timeout in use is longer.
DECLARE OR REPLACE VARIABLE session_longest_ms BIGINT DEFAULT 300000;
-- A line that comes at fixed intervals has stopped after this many of them,
DECLARE OR REPLACE VARIABLE pause_periods INT DEFAULT 6;
-- if its whole process printed nothing for this long, milliseconds.
DECLARE OR REPLACE VARIABLE pause_silent_ms BIGINT DEFAULT 60000;
-- A coordinator that a member loses this often within seconds of finding it is a finding, even if it was never away for long.
DECLARE OR REPLACE VARIABLE flaps_many INT DEFAULT 10;
-- A committed offset that stands still for this long between outputs of a tool is a finding, milliseconds: Connect commits every minute.
DECLARE OR REPLACE VARIABLE commit_stands_ms BIGINT DEFAULT 120000;
-- Longest time, milliseconds, between a producer's last record in a dump and the overlap of two owners that it shows.
DECLARE OR REPLACE VARIABLE written_near_ms BIGINT DEFAULT 60000;
-- A transaction that has been open for this long is a finding, milliseconds: the default of transaction.max.timeout.ms.
DECLARE OR REPLACE VARIABLE open_transaction_ms BIGINT DEFAULT 900000;
-- Elections of the KRaft controllers in one log from which on they are reported: more than the restarts of three nodes need.
DECLARE OR REPLACE VARIABLE quorum_elections INT DEFAULT 5;

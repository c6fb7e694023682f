-- The thresholds of all views, as session variables. A case keeps its views' rows as these values made them, and its own copy of this file
-- (sql/knobs.sql in the case).

-- A silence between two records of one process that coverage calls a gap, milliseconds.
DECLARE OR REPLACE VARIABLE gap_ms BIGINT DEFAULT 300000;
-- The user's own claim that all clocks of the case agree within this many milliseconds; NULL: nothing is claimed.
DECLARE OR REPLACE VARIABLE assume_skew_ms BIGINT DEFAULT NULL;
-- Tasks without an owner longer than this are worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_ms BIGINT DEFAULT 10000;
-- Clocks that contradict each other by no more than this wander; beyond it one of them stepped, milliseconds.
DECLARE OR REPLACE VARIABLE clock_jitter_ms BIGINT DEFAULT 10;
-- A process that ends loses its members within this of each other: sessions of 10 and 45 s are usual, milliseconds.
DECLARE OR REPLACE VARIABLE sessions_apart_ms BIGINT DEFAULT 60000;
-- A coordinator that was found and is not lost again within this counts as found, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_settled_ms BIGINT DEFAULT 30000;
-- A whole group without a coordinator for longer than this is critical, milliseconds.
DECLARE OR REPLACE VARIABLE outage_critical_ms BIGINT DEFAULT 30000;
-- A member whose log goes on for that long after others lost the coordinator had no trouble with it, milliseconds.
DECLARE OR REPLACE VARIABLE outage_untroubled_ms BIGINT DEFAULT 10000;
-- Members notice within this that their coordinator's broker went away, milliseconds.
DECLARE OR REPLACE VARIABLE broker_noticed_ms BIGINT DEFAULT 1000;
-- A broker whose log merely ends was away in an outage that began at most that long after, milliseconds.
DECLARE OR REPLACE VARIABLE broker_silent_ms BIGINT DEFAULT 30000;
-- What a member's connections say that long before it loses the coordinator belongs to the outage, milliseconds.
DECLARE OR REPLACE VARIABLE outage_before_ms BIGINT DEFAULT 2000;
-- Writes of a coordinator that fail that long before or after an outage belong to it, milliseconds.
DECLARE OR REPLACE VARIABLE outage_writes_ms BIGINT DEFAULT 60000;
-- An outage that no line ends is looked into for that long, milliseconds.
DECLARE OR REPLACE VARIABLE outage_open_ms BIGINT DEFAULT 3600000;
-- A member that is assigned anew within this of finding its coordinator again is back by that, milliseconds.
DECLARE OR REPLACE VARIABLE outage_back_ms BIGINT DEFAULT 60000;
-- What befalls a member up to this long after it found its coordinator again is the outage's doing, milliseconds.
DECLARE OR REPLACE VARIABLE outage_affected_ms BIGINT DEFAULT 5000;
-- A member that joins within this of finding its coordinator again joins for the outage, milliseconds.
DECLARE OR REPLACE VARIABLE outage_rejoined_ms BIGINT DEFAULT 10000;
-- Outages of a group that are further apart than this are two, milliseconds.
DECLARE OR REPLACE VARIABLE outage_apart_ms BIGINT DEFAULT 30000;
-- session.timeout.ms of a member that tells none, milliseconds: the default before Kafka 3.0, which later ones exceed.
DECLARE OR REPLACE VARIABLE least_session_default_ms BIGINT DEFAULT 10000;
-- Members that lose a coordinator within this of each other, a heartbeat interval or so, are told together, milliseconds.
DECLARE OR REPLACE VARIABLE episodes_together_ms BIGINT DEFAULT 5000;
-- A delay of an assignment (scheduled.rebalance.max.delay.ms) up to this long before tasks are unassigned may be why, milliseconds.
DECLARE OR REPLACE VARIABLE delay_before_ms BIGINT DEFAULT 60000;
-- A leave within this of the warning that the poll timed out tells the same timeout, milliseconds.
DECLARE OR REPLACE VARIABLE poll_repeats_ms BIGINT DEFAULT 2000;
-- A change of a connector up to this long before the round before it is why a group rebalances, milliseconds.
DECLARE OR REPLACE VARIABLE storm_change_ms BIGINT DEFAULT 5000;
-- A clock that goes back by more than this was set, milliseconds: threads that write by turns are not.
DECLARE OR REPLACE VARIABLE clock_setback_ms BIGINT DEFAULT 2000;
-- A status that Connect reports contradicts the logs only where they say the contrary for so long before and after it, milliseconds.
DECLARE OR REPLACE VARIABLE stale_status_ms BIGINT DEFAULT 30000;
-- The same cause of rebalances, coming back within storm_gap_ms each time, is a storm from this many returns on.
DECLARE OR REPLACE VARIABLE storm_returns INT DEFAULT 3;
-- The same of a connector that changes again and again: one change is often two lines.
DECLARE OR REPLACE VARIABLE storm_changes INT DEFAULT 6;
-- Generations belong to a storm from so long before its first return until so long after its last, milliseconds.
DECLARE OR REPLACE VARIABLE storm_edge_ms BIGINT DEFAULT 10000;
-- A member that came back had started anew when its process started this long before at most, milliseconds.
DECLARE OR REPLACE VARIABLE storm_start_ms BIGINT DEFAULT 60000;
-- Longest time between two returns of one cause, milliseconds; a loop of poll timeouts takes max.poll.interval.ms (default 300000) a round.
DECLARE OR REPLACE VARIABLE storm_gap_ms BIGINT DEFAULT 600000;
-- Generations that end as they began, one after the other, are a storm from this many on.
DECLARE OR REPLACE VARIABLE storm_idle_rounds INT DEFAULT 5;
-- Generations of a group follow each other without rest while each takes no longer than this, milliseconds.
DECLARE OR REPLACE VARIABLE storm_pace_ms BIGINT DEFAULT 60000;
-- As many generations in a row are a storm whose cause the logs do not show,
DECLARE OR REPLACE VARIABLE storm_pace_generations INT DEFAULT 10;
-- and as many more for each member, because a deployment makes each member leave and join once,
DECLARE OR REPLACE VARIABLE storm_pace_per_member INT DEFAULT 2;
-- with more steps where the group rebalances cooperatively.
DECLARE OR REPLACE VARIABLE storm_pace_per_cooperative INT DEFAULT 4;
-- Where the logs do not show how many members there were, no deployment is as fast as this on average, milliseconds a generation.
DECLARE OR REPLACE VARIABLE storm_fast_ms BIGINT DEFAULT 2000;
-- Clocks that are apart by more than this are worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE clock_skew_ms BIGINT DEFAULT 1000;
-- Clocks that are apart by that much are a warning, milliseconds.
DECLARE OR REPLACE VARIABLE clock_skew_large_ms BIGINT DEFAULT 10000;
-- A rebalance that stood still for longer than this for a member that did not come is worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE ghost_wait_ms BIGINT DEFAULT 2000;
-- A rebalance whose join phase took that long, for members that came in the end, is worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE slow_rebalance_ms BIGINT DEFAULT 10000;
-- One that had not ended when the logs end is worth a finding from that long on, milliseconds: members learn of it with a heartbeat.
DECLARE OR REPLACE VARIABLE open_rebalance_ms BIGINT DEFAULT 3000;
-- One that took that long is a warning where all members stop work for it, milliseconds.
DECLARE OR REPLACE VARIABLE slow_rebalance_long_ms BIGINT DEFAULT 30000;
-- A task that was assigned and did not start within this is worth a finding, milliseconds.
DECLARE OR REPLACE VARIABLE not_started_ms BIGINT DEFAULT 30000;
-- A worker that finds its configuration behind the group's this often, each time within storm_gap_ms, lags.
DECLARE OR REPLACE VARIABLE config_lag_times INT DEFAULT 5;
-- Findings of one rule, group and cause that differ in time and subject are told as one from this many on.
DECLARE OR REPLACE VARIABLE repeat_times INT DEFAULT 4;
-- The same for tasks and partitions that had two owners: each is looked for by its name.
DECLARE OR REPLACE VARIABLE repeat_resources INT DEFAULT 20;
-- A rebalance that stood still for that long for a member that did not come is a warning, milliseconds.
DECLARE OR REPLACE VARIABLE ghost_wait_long_ms BIGINT DEFAULT 30000;
-- Tasks without an owner for that long are a warning, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_long_ms BIGINT DEFAULT 60000;
-- Tasks that started again in the same stretch of this length are told together, milliseconds.
DECLARE OR REPLACE VARIABLE unassigned_together_ms BIGINT DEFAULT 5000;
-- Failed commits of one member that follow each other within this are told together, milliseconds.
DECLARE OR REPLACE VARIABLE commits_together_ms BIGINT DEFAULT 60000;
-- A successor's position counts as the one that followed a failed commit within this, milliseconds.
DECLARE OR REPLACE VARIABLE successor_ms BIGINT DEFAULT 120000;
-- A member's request is on its way, and a session that ran out is noticed, within this, milliseconds.
DECLARE OR REPLACE VARIABLE heartbeat_late_ms BIGINT DEFAULT 2000;
-- What a known bug does at once shows within this, milliseconds.
DECLARE OR REPLACE VARIABLE bug_short_ms BIGINT DEFAULT 10000;
-- What a known bug does in time, when a group or its coordinator comes to it, shows within this, milliseconds.
DECLARE OR REPLACE VARIABLE bug_long_ms BIGINT DEFAULT 600000;
-- A coordinator that fences a static member within this of loading its group may know only its old member id, milliseconds.
DECLARE OR REPLACE VARIABLE group_loaded_ms BIGINT DEFAULT 60000;
-- So many heartbeats must fit into a session, so that one that is late or lost does not end it.
DECLARE OR REPLACE VARIABLE heartbeats_a_session INT DEFAULT 3;
-- So many replicas let a broker go without harm to the topics that groups rest on.
DECLARE OR REPLACE VARIABLE safe_replicas INT DEFAULT 3;
-- A member that asks to join later than a heartbeat interval, this much of it and heartbeat_slack_ms was between two polls, percent.
DECLARE OR REPLACE VARIABLE heartbeat_slack_percent INT DEFAULT 20;
-- So late may a member ask to join after the heartbeat that told it of the rebalance, milliseconds.
DECLARE OR REPLACE VARIABLE heartbeat_slack_ms BIGINT DEFAULT 200;
-- A session.timeout.ms above this is compared with this: what it would have changed, milliseconds.
DECLARE OR REPLACE VARIABLE other_session_ms BIGINT DEFAULT 10000;
-- One up to that, but above this, is compared with this: the least by default (group.min.session.timeout.ms), milliseconds.
DECLARE OR REPLACE VARIABLE least_session_ms BIGINT DEFAULT 6000;
-- A group.consumer.session.timeout.ms above this is compared with this, the least by default, milliseconds.
DECLARE OR REPLACE VARIABLE least_consumer_session_ms BIGINT DEFAULT 45000;
-- A max.poll.interval.ms or rebalance.timeout.ms above this is compared with this, milliseconds.
DECLARE OR REPLACE VARIABLE other_poll_ms BIGINT DEFAULT 60000;
-- A heartbeat.interval.ms above this is compared with this, milliseconds.
DECLARE OR REPLACE VARIABLE other_heartbeat_ms BIGINT DEFAULT 1000;
-- A scheduled.rebalance.max.delay.ms above this is compared with this, another one with 0, milliseconds.
DECLARE OR REPLACE VARIABLE other_delay_ms BIGINT DEFAULT 60000;
-- Positions of one group that are reset in the same stretch of this length are told together, milliseconds.
DECLARE OR REPLACE VARIABLE resets_together_ms BIGINT DEFAULT 60000;
-- A position that is reset within this of the loss of its group's metadata was lost with it, milliseconds.
DECLARE OR REPLACE VARIABLE lost_together_ms BIGINT DEFAULT 60000;
-- A position that is set within this of the group's first hold of the partition is the group's start, milliseconds.
DECLARE OR REPLACE VARIABLE first_start_ms BIGINT DEFAULT 10000;
-- Two clocks that are known to within this need no further log to compare them, milliseconds.
DECLARE OR REPLACE VARIABLE clocks_close_ms BIGINT DEFAULT 100;
-- What befell a member is looked for until this long after the last line that shows its work there, milliseconds.
DECLARE OR REPLACE VARIABLE loss_noticed_ms BIGINT DEFAULT 1000;
-- Members of one group that lose their coordinator within this of each other lost it for the same reason, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_together_ms BIGINT DEFAULT 5000;
-- A process that cannot connect for this long, while others can, is cut off, milliseconds.
DECLARE OR REPLACE VARIABLE unreachable_ms BIGINT DEFAULT 10000;
-- A resource that had no owner for at least this long was hit by the incident, milliseconds.
DECLARE OR REPLACE VARIABLE resource_hit_ms BIGINT DEFAULT 1000;
-- How long a Connect worker waits for a task to stop (task.shutdown.graceful.timeout.ms) when it does not print it: Kafka's default,
-- milliseconds.
DECLARE OR REPLACE VARIABLE graceful_stop_ms BIGINT DEFAULT 5000;
-- The longest session timeout that brokers accept by default (`group.max.session.timeout.ms`), milliseconds: where a member's is not known.
DECLARE OR REPLACE VARIABLE session_longest_ms BIGINT DEFAULT 1800000;
-- Lines of a process that begins anew within this are the beginning of that one life, milliseconds.
DECLARE OR REPLACE VARIABLE life_shortest_ms BIGINT DEFAULT 1000;
-- A log is a copy of another one when this share of its lines, in the time that both cover, stands in both with the same time and
-- text, per cent.
DECLARE OR REPLACE VARIABLE copied_percent BIGINT DEFAULT 80;
-- The same where times are printed in whole seconds or so: above `copied_fine_ms` milliseconds it takes this share, per cent, ...
DECLARE OR REPLACE VARIABLE copied_coarse_percent BIGINT DEFAULT 95;
DECLARE OR REPLACE VARIABLE copied_fine_ms BIGINT DEFAULT 10;
-- ... and at least so many lines.
DECLARE OR REPLACE VARIABLE copied_least_lines BIGINT DEFAULT 5;
-- A coordinator that prints nothing at all for this long while it waits may have been paused itself, milliseconds.
DECLARE OR REPLACE VARIABLE coordinator_silent_ms BIGINT DEFAULT 30000;
-- Default of max.poll.interval.ms, until which a consumer may join a rebalance, milliseconds.
DECLARE OR REPLACE VARIABLE usual_poll_ms BIGINT DEFAULT 300000;
-- Default of a worker's rebalance.timeout.ms, milliseconds.
DECLARE OR REPLACE VARIABLE usual_worker_rebalance_ms BIGINT DEFAULT 60000;

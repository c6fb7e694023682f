# SPDX-License-Identifier: Apache-2.0
"""Root causes on histories that are played for them, and on logs that are written for them: what is said, and what is left open.

All are read as one case: each history is a Kafka cluster of its own.
"""

from __future__ import annotations

import pyarrow.dataset as ds
import pytest
from effects import early
from histories import parse
from simulator import simulate
from written_logs import CLIENT, case_of, consumer, joined, stamp, told

pytestmark = pytest.mark.engine

START = "w1+ 1s w2+ 1s w3+ 14s"
#: What is done in each history, and whose logs are left out.
HISTORIES = {
    "clean": ("20s", ()),
    "frozen": ("w2~20s 40s", ()),
    "frozen-clients": ("w2~20s 40s", ("broker-1",)),
    "frozen-brokers": ("w2~20s 40s", ("w1", "w2", "w3")),
    "cut-off": ("w2/20s 40s", ()),
    "frozen-briefly": ("w2~2s 20s", ()),
    "killed": ("w2x 8s w2+ 25s", ()),
    "killed-clients": ("w2x 8s w2+ 25s", ("broker-1",)),
    "never-back": ("w2x 30s", ()),
    "crash-loop": ("w2x 4s w2+ 9s w2x 4s w2+ 9s w2x 4s w2+ 25s", ()),
    "restarted": ("w2- 4s w2+ 25s", ()),
    "rolling": ("w1- 4s w1+ 12s w2- 4s w2+ 12s w3- 4s w3+ 20s", ()),
    "rolling-clients": ("w1- 4s w1+ 12s w2- 4s w2+ 12s w3- 4s w3+ 20s", ("broker-1",)),
    "rolling-old": ("w1- 4s w1+ 12s w2- 4s w2+ 12s w3- 4s w3+ 20s", ()),
    "slow-broker": ("b~4s 20s", ()),
    "frozen-thrice": ("w2~20s 2000s w2~20s 2000s w2~20s 40s", ()),
    "frozen-both": ("w2~20s 60s w3~20s 40s", ()),
    "frozen-after-rolling": ("w1- 4s w1+ 12s w2- 4s w2+ 12s w3- 4s w3+ 12s w2~20s 40s", ()),
}
#: Where several things happen; with member ids of their own, which would be those of another cluster too.
AGAIN = ("frozen-thrice", "frozen-both", "frozen-after-rolling")
#: When the first deed after the start is done, in seconds.
BEGUN = 16.0


def history(name):
    release = "2.3" if name.endswith("old") else "2.6"
    seed = 20 + list(HISTORIES).index(name) if name in AGAIN else 11
    return f"{release} tasks=a:2,b:2 seed={seed} | {START} {HISTORIES[name][0]}"


def server_member(*lines):
    """A KIP-848 consumer's log: seconds and message."""
    loggers = {
        "Member": "ConsumerMembershipManager",
        "ConsumerGroupHeartbeatRequest": "ConsumerHeartbeatRequestManager",
        "Disc": "CoordinatorRequestManager",
    }
    found = [(at, m, next((v for k, v in loggers.items() if m.startswith(k)), "ConsumerRebalanceListenerInvoker")) for at, m in lines]
    return "".join(f"{stamp(at)} INFO [Consumer clientId=c-1, groupId=kip848] {m} ({CLIENT}.{logger})\n" for at, m, logger in found)


def server_coordinator(*lines):
    head = "[GroupCoordinator id=1 topic=__consumer_offsets partition=1] [GroupId kip848]"
    return "".join(f"{stamp(at)} INFO {head} {m} (org.apache.kafka.coordinator.group.GroupMetadataManager)\n" for at, m in lines)


MEMBER = "0UtGV9EFTDiosO3deBDSsw"
#: A KIP-848 member is silent for longer than its session; its client looks at no session of its own.
KIP848 = {
    "kip848/c1/consumer.log": server_member(
        (1, "Discovered group coordinator Coordinator(key='kip848', nodeId=1, host='10.0.0.1', port=9092, errorCode=0, errorMessage='')"),
        (1.3, f"Member {MEMBER} with epoch 1 transitioned from JOINING to RECONCILING."),
        (1.4, "Adding newly assigned partitions: [orders-0, orders-1]"),
        (1.5, f"Member {MEMBER} with epoch 1 transitioned from RECONCILING to ACKNOWLEDGING."),
        (1.6, f"Member {MEMBER} with epoch 1 transitioned from ACKNOWLEDGING to STABLE."),
        (55, f"ConsumerGroupHeartbeatRequest failed because member {MEMBER} is unknown. in 0ms: Member {MEMBER} is not a member of group kip848."),
        (55.01, f"Member {MEMBER} with epoch 1 transitioned from STABLE to FENCED."),
        (55.02, "Lost previously assigned partitions [orders-0, orders-1]"),
        (55.03, f"Member {MEMBER} with epoch 0 transitioned from FENCED to JOINING."),
        (55.2, f"Member {MEMBER} with epoch 3 transitioned from JOINING to RECONCILING."),
        (55.3, "Adding newly assigned partitions: [orders-0, orders-1]"),
        (55.4, f"Member {MEMBER} with epoch 3 transitioned from RECONCILING to ACKNOWLEDGING."),
        (55.5, f"Member {MEMBER} with epoch 3 transitioned from ACKNOWLEDGING to STABLE."),
    ),
    "kip848/broker-1/server.log": server_coordinator(
        (1.1, f"Member {MEMBER} joins the consumer group using the consumer protocol."),
        (1.15, "Bumped group epoch to 1 with metadata hash 1."),
        (1.2, "Computed a new target assignment for epoch 1 with 'uniform' assignor in 0ms."),
        (48, f"Member {MEMBER} fenced from the group because the member session expired."),
        (48.01, "Bumped group epoch to 2 with metadata hash 1."),
        (55.1, f"Member {MEMBER} joins the consumer group using the consumer protocol."),
        (55.12, "Bumped group epoch to 3 with metadata hash 1."),
        (55.14, "Computed a new target assignment for epoch 3 with 'uniform' assignor in 0ms."),
    ),
}
#: A consumer that only ever joined: nothing happened, and nothing can be said.
QUIET = {"quiet/c1/consumer.log": consumer("c-1", "quiet", *told((1, "(Re-)joining group"), (2, joined(1, "c-1-a", "orders-0"))))}

UNAWARE = "Offset commit failed on partition orders-0 at offset 7: The coordinator is not aware of this member."
#: A consumer exceeds its poll timeout and learns it from its commit. After it has joined again, another commit fails for an unknown reason.
SLOW = {
    "slow/c1/consumer.log": consumer(
        "c-1",
        "slow",
        *told(
            (1, "(Re-)joining group"),
            (2, joined(1, "c-1-a", "orders-0")),
            (
                310,
                "Member c-1-a sending LeaveGroup request to coordinator b1:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired.",
            ),
            (400, UNAWARE),
            (401, "(Re-)joining group"),
            (404, joined(3, "c-1-b", "orders-0")),
            (700, UNAWARE),
        ),
    )
}


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    root = tmp_path_factory.mktemp("incidents")
    logs = KIP848 | QUIET | SLOW
    for number, name in enumerate(HISTORIES):
        for path, process in simulate(parse(history(name)), number).logs.items():
            if path.split("/")[0] not in HISTORIES[name][1]:
                logs[f"{name}/{path}"] = process.text()
    return case_of(logs, root)


def rows(case, view):
    return ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist()


@pytest.fixture(scope="module")
def incidents(case):
    """Incidents by the history that they are of."""
    clusters = {f"cluster-{n:04d}-AAAAAAAA": name for n, name in enumerate(HISTORIES)}
    found = {name: [] for name in (*HISTORIES, "kip848", "quiet", "slow")}
    for row in rows(case, "incident"):
        folder = str(row["subject"]).split("/")[0]
        found[folder if folder in found else clusters.get(row["kafka_cluster"], "quiet")].append(row)
    return found


def causes(incidents, name):
    """Causes, with what they can have been and whose they are."""
    return [(r["cause"], r["alternatives"], str(r["subject"]).removeprefix(f"{name}/").split("/")[0], r["times"]) for r in incidents[name]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("clean", []),
        ("quiet", []),
        ("slow-broker", []),
        ("frozen-briefly", []),
        ("frozen", [("process_paused", [], "w2", 1)]),
        ("frozen-clients", [("process_paused", [], "w2", 1)]),
        ("cut-off", [("member_cut_off", [], "w2", 1)]),
        ("killed", [("process_killed", [], "w2", 1)]),
        # Its own log just ends: its last lines may be missing, and no other log shows more.
        ("killed-clients", [("unknown", ["lines_missing", "process_killed"], "w2", 1)]),
        ("never-back", [("unknown", ["member_cut_off", "process_killed", "process_paused"], "w2", 1)]),
        ("crash-loop", [("process_killed", [], "w2", 3)]),
        ("restarted", [("process_restarted", [], "w2", 1)]),
        ("kip848", [("unknown", ["member_cut_off", "process_paused"], "c1", 1)]),
    ],
)
def test_root_causes(incidents, name, expected):
    assert causes(incidents, name) == expected


@pytest.mark.parametrize("name", ["rolling", "rolling-clients", "rolling-old"])
def test_restarts_one_after_the_other_are_a_deployment_and_no_accident(incidents, name):
    (found,) = incidents[name]
    assert (found["cause"], found["times"], found["severity"]) == ("deployment", 3, "note")


def test_without_the_members_logs_a_removal_has_no_process(incidents):
    assert {(r["cause"], r["subject"]) for r in incidents["frozen-brokers"]} == {("unknown", None)}
    assert all("process_paused" in r["alternatives"] or not r["alternatives"] for r in incidents["frozen-brokers"])


def test_bounds_hold_what_was_done(incidents):
    (found,) = incidents["frozen"]
    at = {
        k: found[k].hour * 3600 + found[k].minute * 60 + found[k].second + found[k].microsecond / 1e6 - 12 * 3600
        for k in ("from_lo", "from_hi", "to_lo", "to_hi")
    }
    assert at["from_lo"] <= BEGUN <= at["from_hi"]
    assert at["to_lo"] <= BEGUN + 20.0 <= at["to_hi"] + 0.1


def test_a_crash_loop_causes_what_follows(case, incidents):
    (loop,) = incidents["crash-loop"]
    findings = {f["finding_id"]: f for f in rows(case, "finding") if f["incident_id"] == loop["incident_id"]}
    assert set(findings) <= set(loop["finding_ids"])
    by_rule = {f["rule"]: f for f in findings.values()}
    assert by_rule["session-timeout"]["caused_by"] is None
    assert by_rule["session-timeout"]["caused_how"] == "member"
    # It came back before the session of its dead member ran out: the storm had begun by then.
    assert by_rule["rebalance-storm"]["from_ts"] < min(f["from_ts"] for f in findings.values() if f["rule"] == "session-timeout")
    assert by_rule["rebalance-storm"]["caused_by"] is None
    assert all(f["caused_by"] in findings for f in findings.values() if f["caused_by"])
    assert "w2" in loop["headline"]
    assert "3 times" in loop["headline"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("frozen-thrice", [("process_paused", "w2"), ("process_paused", "w2"), ("process_paused", "w2")]),
        ("frozen-both", [("process_paused", "w2"), ("process_paused", "w3")]),
        ("frozen-after-rolling", [("process_paused", "w2")]),
    ],
)
def test_each_freeze_has_its_own_split_brain_and_timeout(case, incidents, name, expected):
    paused = sorted((i for i in incidents[name] if i["cause"] != "deployment"), key=lambda i: i["from_lo"])
    assert [(i["cause"], i["subject"].split("/")[1]) for i in paused] == expected
    assert {(i["state"], i["over_how"]) for i in paused} == {("over", "ended")}
    for number, one in enumerate(paused):
        mine = [f for f in rows(case, "finding") if f["incident_id"] == one["incident_id"]]
        assert {"session-timeout", "split-brain-task"} <= {f["rule"] for f in mine}
        until = paused[number + 1]["from_lo"] if number + 1 < len(paused) else max(f["from_ts"] for f in mine)
        assert all(one["from_lo"] <= f["from_ts"] <= until and f["occurrences"] == 1 for f in mine)
    deployments = {i["incident_id"] for i in incidents[name] if i["cause"] == "deployment"}
    assert {f["rule"] for f in rows(case, "finding") if f["incident_id"] in deployments} <= {"rolling-restart"}


@pytest.mark.parametrize(
    ("name", "state", "still"),
    [
        ("killed", "over", []),
        ("rolling", "over", []),
        ("never-back", "open", ["process_away"]),
        ("killed-clients", "over", []),
    ],
)
def test_it_is_said_whether_it_is_over(incidents, name, state, still):
    (found,) = incidents[name]
    assert (found["state"], found["still"]) == (state, still)
    if state == "over":
        assert found["over_since"] >= found["to_hi"]
        # Only if an effect lasted longer than the cause.
        assert found["outcome"].startswith("resolved by ")
        assert found["outcome"].endswith(" (effects included)") is (name != "killed-clients")
        assert found["stop_now"] is None
    else:
        assert found["over_since"] is None
        assert found["outcome"].startswith("not over when the logs end")
        assert "w2/connect.log" in found["stop_now"]


def test_a_commit_fails_because_of_a_poll_timeout_only_until_the_member_joins_again(case, incidents):
    (slow,) = [r["incident_id"] for r in incidents["slow"] if r["cause"] == "poll_too_slow"]
    commits = sorted(
        (r["from_ts"], r["incident_id"] == slow) for r in rows(case, "occurrence") if r["rule"] == "stale-commit" and r["group_id"] == "slow"
    )
    assert [caused for _, caused in commits] == [True, False]


def test_nothing_begins_before_what_it_is_an_effect_of(case):
    assert early(case) == []


def test_effects_name_incidents_that_are_there(case):
    known = {r["incident_id"]: r for r in rows(case, "incident")}
    occurrences = [o for o in rows(case, "occurrence") if o["incident_id"]]
    assert occurrences
    for one in occurrences:
        assert one["finding_id"] in known[one["incident_id"]]["finding_ids"]
        assert one["caused_by"] is None or one["caused_by"] in known[one["incident_id"]]["finding_ids"]


def test_what_is_only_a_setting_belongs_to_no_incident(case):
    assert {f["incident_id"] for f in rows(case, "finding") if f["rule"] == "risky-config"} <= {None}

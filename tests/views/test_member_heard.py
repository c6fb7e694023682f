# SPDX-License-Identifier: Apache-2.0
"""A member that its coordinator removed was heard one session timeout before: what shows it, and what does not."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import proof_checker
import pyarrow.dataset as ds
import pytest
from written_logs import case_of, config, consumer, joined, stamp, told

pytestmark = pytest.mark.engine
START_MS = int(datetime(2026, 3, 1, 10, tzinfo=UTC).timestamp() * 1000)


def seconds(at_ms: int) -> float:
    """Seconds since the start of the logs."""
    return (at_ms - START_MS) / 1000


def coordinator(*lines: tuple[float, str]) -> str:
    return "".join(f"{stamp(at)} INFO [GroupCoordinator 1]: {message} (kafka.coordinator.group.GroupCoordinator)\n" for at, message in lines)


def preparing(group: str, old: int, reason: str) -> str:
    return f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {old} (__consumer_offsets-1) (reason: {reason})"


def generation(group: str, number: int, members: int) -> list[str]:
    return [
        f"Stabilized group {group} generation {number} (__consumer_offsets-1) with {members} members",
        f"Assignment received from leader {group}1-id for group {group} for generation {number}. The group has {members} members, 0 of which are static.",
    ]


def history(group: str, *leave_out: str, awake: float = 50, timeout: str = "6000") -> dict[str, str]:
    """1 is killed at 56 s and removed at 60 s. 2 was cut off at 10 s, and holds what 1 was given at 25 s until it comes back at `awake`."""
    one, two = f"{group}1-id", f"{group}2-id"
    first = told(
        (0, config(f"{group}1", group, **{"session.timeout.ms": timeout})),
        (1, "(Re-)joining group"),
        (2.001, joined(1, one, "orders-0")),
        (24, ["Revoke previously assigned partitions orders-0", "(Re-)joining group"]),
        (25.001, joined(2, one, "orders-0", "orders-1")),
    )
    second = told(
        (0, config(f"{group}2", group, **{"session.timeout.ms": timeout})),
        (1, "(Re-)joining group"),
        (2.001, joined(1, two, "orders-1")),
        (awake - 1.1, "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"),
        (awake - 1, "Lost previously assigned partitions orders-1"),
        (awake - 0.9, "(Re-)joining group"),
        (60.101, joined(3, f"{group}2-id2", "orders-0", "orders-1")),
    )
    third = [
        (60.0, f"Member {one} in group {group} has failed, removing it from the group"),
        *told((60.1, generation(group, 3, 1))),
    ]
    broker = told(
        (1, preparing(group, 0, f"Adding new member {one} with group instance id None")),
        (2, generation(group, 1, 2)),
        (
            23,
            [
                f"Member {two} in group {group} has failed, removing it from the group",
                preparing(group, 1, f"removing member {two} on heartbeat expiration"),
            ],
        ),
        (25, generation(group, 2, 1)),
        (awake, preparing(group, 2, f"Adding new member {group}2-id2 with group instance id None")),
    )
    kept = [(at, text) for at, text in [*broker, *third] if not any(part in text for part in leave_out)]
    return {
        f"{group}1/app.log": consumer(f"{group}1", group, *first),
        f"{group}2/app.log": consumer(f"{group}2", group, *second),
        "kept": coordinator(*kept),
    }


HISTORIES = {
    "whole": history("whole", awake=55),
    # No line of its last generation; none shortly before its removal; none that shows the generation at that time.
    "lone": history("lone", "generation 2", awake=55),
    "quiet": history("quiet", awake=30),
    "late": history("late", "old generation 2", "generation 3", awake=55),
}


def rows(case, view):
    return ds.dataset(str(case.view_path(view)), format="parquet").to_table().to_pylist()


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    logs = {}
    for name, told_of in HISTORIES.items():
        logs |= {path: text for path, text in told_of.items() if path != "kept"}
        logs[f"broker-{name}/server.log"] = told_of["kept"]
    return case_of(
        logs, tmp_path_factory.mktemp("heard"), ("member_heard", "partition_holding", "split_brain", "occurrence", "clock_edge", "clock_offset")
    )


def test_a_removed_member_was_alive_one_session_timeout_before(case):
    """The broker printed a line at 55 s: the session had not run out 2 s before, and began with a request that was 2 s on its way at most."""
    heard = {r["group_id"]: r for r in rows(case, "member_heard")}
    assert seconds(heard["whole"]["heard_lo_ms"]) == 55 - 6 - 2
    held = [r for r in rows(case, "partition_holding") if r["process_id"] == "whole1/app.log" and r["generation"] == 2]
    assert {r["resource"] for r in held} == {"orders-0", "orders-1"}
    for row in held:
        assert 46.5 < seconds(row["stop_lo_ms"]) <= 47
        assert row["stop_hi_ms"] is None
        assert row["heard_id"] == heard["whole"]["removed_id"]


def test_what_else_may_have_begun_its_session_has_to_be_ruled_out_by_lines(case):
    """A join phase, an assignment, a broker that slept: lines that are not there rule out nothing."""
    assert {r["group_id"] for r in rows(case, "member_heard")} == {"whole"}
    held = [r for r in rows(case, "partition_holding") if r["generation"] == 2 and r["process_id"][:4] in ("lone", "quie", "late")]
    assert len(held) == 6
    assert all(r["heard_id"] is None and seconds(r["stop_lo_ms"]) < 26 for r in held)


def test_two_holders_are_proved_by_the_line_that_removed_one(case):
    (proof,) = [r for r in rows(case, "split_brain") if r["group_id"] == "whole" and r["resource"] == "orders-1" and r["verdict"] == "proved"]
    assert 21_000 < proof["certain_ms"] < 22_000
    assert re.search("The coordinator removed [AB] even later", proof["explanation"])
    told_of, claims = proof_checker.read(case.root)
    assert proof_checker.faults(told_of, claims) == []
    (removal,) = [i for i in proof["witness"] if told_of.lines[i]["member_id"] == "whole1-id" and told_of.lines[i]["event"] == "member_expired"]
    assert proof_checker.overlap_fault(told_of, [i for i in proof["witness"] if i != removal], proof) is not None

# SPDX-License-Identifier: Apache-2.0
"""Memberships that clients lost, from the clients' own lines."""

from __future__ import annotations

from typing import Any

from given_rows import GivenRows

from forensics.memberships.seats import LostSeat, lost_seats

SEAT = {"kafka_cluster": "k", "group_id": "g", "process_id": "c1", "instance": 0, "client": "c"}
UNKNOWN = {"error": "UNKNOWN_MEMBER_ID"}


def lost(*lines: tuple[int, str] | tuple[int, str, dict[str, Any]], removed: list[dict[str, Any]] | None = None) -> list[LostSeat]:
    events = [
        SEAT | {"is_worker": False, "stream_pos": n, "event_id": f"e{n}", "at_ms": at_ms, "event": event} | (more[0] if more else {})
        for n, (at_ms, event, *more) in enumerate(lines)
    ]
    rows = [SEAT | {"removed_id": "r", "member_id": "m", "session_ms": None} | row for row in removed or ()]
    return lost_seats(GivenRows({"client_event": events}), rows)


def test_a_membership_lasts_until_the_client_is_a_member_again():
    (seat,) = lost((1_000, "joined"), (9_000, "heartbeat_failed", UNKNOWN), (9_500, "joining"), (9_900, "joined"), (20_000, "leaving"))
    assert (seat.refused.at_ms, seat.noticed.at_ms, seat.back_ms, seat.back_id) == (9_000, 9_000, 9_900, "e3")


def test_a_refusal_for_another_reason_ends_no_membership():
    assert lost((1_000, "joined"), (9_000, "heartbeat_failed", {"error": "REBALANCE_IN_PROGRESS"}), (9_900, "joined")) == []


def test_a_fenced_static_member_was_replaced_not_forgotten():
    assert lost((1_000, "joined"), (9_000, "member_fenced", {"group_instance_id": "i"})) == []
    assert len(lost((1_000, "joined"), (9_000, "member_fenced"))) == 1


def test_a_coordinator_that_was_found_and_kept_ends_the_earlier_trouble():
    lines = ((1_000, "joined"), (2_000, "coordinator_lost"), (3_000, "coordinator_discovered"), (90_000, "coordinator_lost"))
    (seat,) = lost(*lines, (91_000, "heartbeat_failed", UNKNOWN))
    assert (seat.noticed.at_ms, seat.last_lost_ms, seat.found_ms) == (90_000, 90_000, 91_000)


def test_a_removal_by_the_coordinator_is_a_line_of_the_seat():
    removal = {"own_lo_ms": 50_000, "own_hi_ms": 50_000, "session_ms": 10_000}
    (seat,) = lost((1_000, "joined"), (49_500, "joining"), (51_000, "coordinator_lost"), removed=[removal])
    assert (seat.removed_id, seat.removed_member, seat.is_joining, seat.answered_ms) == ("r", "m", True, 1_000)


def test_a_removal_at_an_unknown_time_is_left_to_the_lines_that_name_the_member():
    removal = {"own_lo_ms": 10_000, "own_hi_ms": 90_000}
    assert lost((1_000, "joined", {"member_id": "m"}), removed=[removal]) == []
    assert len(lost((1_000, "joined", {"member_id": "other"}), removed=[removal])) == 1

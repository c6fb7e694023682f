# SPDX-License-Identifier: Apache-2.0
"""Losses are compared by an index of spans; comparing each with each gives the same."""

from __future__ import annotations

import random

import pytest

from forensics.coordinators.concurrent_losses import Loss, scopes

WITHIN_MS = 50


def loss(process: str, group: str, broker: int, lost_ms: int, *, wide_ms: int = 0, length_ms: int | None = None, clock: str = "b") -> Loss:
    return Loss(
        kafka_cluster="k",
        group_id=group,
        process_id=process,
        broker_id=broker,
        reference_process_id=clock,
        lost_lo_ms=lost_ms,
        lost_hi_ms=lost_ms + wide_ms,
        length_ms=length_ms,
    )


def meet(a: Loss, b: Loss, *, surely: bool) -> bool:
    """Return True if two losses were within that time, or one was while the other lasted."""
    bounds = [(one.lost_lo_ms, one.lost_hi_ms, max(WITHIN_MS, one.length_ms or 0)) for one in (a, b)]
    (a_lo, a_hi, a_for), (b_lo, b_hi, b_for) = bounds if surely else [(hi, lo, margin) for lo, hi, margin in bounds]
    return b_hi <= a_lo + a_for and a_hi <= b_lo + b_for


def expected(a: Loss, losses: list[Loss]) -> str | None:
    others = [b for b in losses if b.process_id != a.process_id and b.reference_process_id == a.reference_process_id]
    if any(b.group_id != a.group_id and b.broker_id == a.broker_id and meet(a, b, surely=True) for b in others):
        return "broker"
    of_group = [b for b in others if b.group_id == a.group_id]
    if any(meet(a, b, surely=True) for b in of_group):
        return "group"
    is_apart = len({b.reference_process_id for b in losses if b.group_id == a.group_id}) > 1
    return None if is_apart or any(meet(a, b, surely=False) for b in of_group) else "member"


@pytest.mark.parametrize("seed", range(40))
def test_the_index_finds_what_comparing_all_pairs_finds(seed):
    chance = random.Random(seed)
    losses = [
        loss(
            f"p{chance.randrange(5)}",
            f"g{chance.randrange(4)}",
            chance.randrange(2),
            chance.randrange(1500),
            wide_ms=chance.choice([0, 5, 60]),
            length_ms=chance.choice([None, 10, 400]),
            clock=chance.choice("bbbbbc"),
        )
        for _ in range(60)
    ]
    assert scopes(losses, WITHIN_MS) == [expected(one, losses) for one in losses]


def test_the_members_of_one_process_are_not_others():
    assert scopes([loss("p", "g", 1, 0), loss("p", "h", 1, 0)], WITHIN_MS) == ["member", "member"]


def test_wide_bounds_leave_the_scope_unknown():
    assert scopes([loss("p", "g", 1, 0, wide_ms=300), loss("q", "g", 1, 100)], WITHIN_MS) == [None, None]

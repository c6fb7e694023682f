# SPDX-License-Identifier: Apache-2.0
"""Bounds of clocks against all chains of up to four pairs of lines, tried one by one."""

from __future__ import annotations

from itertools import pairwise, product
from unittest.mock import patch

from examples import Given
from hypothesis import given
from hypothesis import strategies as st

from forensics.case import view_files
from forensics.clocks import clock_bound
from forensics.relations.inputs import Knobs

PROCESSES = "abcde"


def bounds(edges: list[tuple[str, str, int]], brokers: str = "", most: int = 32) -> dict[tuple[str, str], dict]:
    """The rows of the view for pairs of lines, by the two processes."""
    view = view_files.views()["clock_bound"]
    lines = [
        {"from_process_id": a, "to_process_id": b, "from_event_id": f"e{n}", "to_event_id": f"f{n}", "hi_ms": hi_ms}
        for n, (a, b, hi_ms) in enumerate(edges)
    ]
    life = [{"process_id": process, "instance": 0, "is_broker": process in brokers} for process in PROCESSES]
    inputs = Given(view, {"process_life": life})
    inputs.knobs = Knobs(view_files.thresholds({"clock_partners_most": most}))
    with patch.object(clock_bound, "clock_edge", lambda _: lines):
        return {(row["from_process_id"], row["to_process_id"]): row for row in clock_bound.rows(inputs)}


@given(
    st.fixed_dictionaries({process: st.integers(-5000, 5000) for process in PROCESSES}),
    st.lists(st.tuples(st.sampled_from(PROCESSES), st.sampled_from(PROCESSES), st.integers(0, 300)).filter(lambda e: e[0] != e[1]), max_size=12),
)
def test_steady_clocks_are_bounded_by_the_tightest_chain(ahead, messages) -> None:
    edges = [(a, b, ahead[b] - ahead[a] + late) for a, b, late in messages]
    direct: dict[tuple[str, str], int] = {}
    for a, b, hi_ms in edges:
        direct[a, b] = min(hi_ms, direct.get((a, b), hi_ms))
    found = bounds(edges)
    for a, b in product(PROCESSES, PROCESSES):
        if a == b:
            continue
        ways = [list(pairwise((a, *between, b))) for links in range(4) for between in product(PROCESSES, repeat=links)]
        shortest = min((sum(direct[link] for link in way) for way in ways if all(link in direct for link in way)), default=None)
        assert found.get((a, b), {}).get("hi_ms") == shortest
        assert shortest is None or shortest >= ahead[b] - ahead[a]


def test_members_of_a_large_group_are_compared_with_its_coordinator_and_not_with_each_other() -> None:
    # The first partner of the coordinator b is no member of this kind: it could be the reference of an island without a broker.
    edges = [(a, b, hi_ms) for member, hi_ms in (("c", 5), ("d", 9), ("e", 4)) for a, b in (("b", member), (member, "b"))]
    found = {pair: row["hi_ms"] for pair, row in bounds(edges, brokers="b", most=1).items()}
    assert {pair: found.get(pair) for pair in product("de", "bcde")} == {
        ("d", "b"): 9, ("d", "c"): 14, ("d", "d"): None, ("d", "e"): None, ("e", "b"): 4, ("e", "c"): 9, ("e", "d"): None, ("e", "e"): None,
    }  # fmt: skip

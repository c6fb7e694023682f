# SPDX-License-Identifier: Apache-2.0
"""The plan of a reading: every byte is read once, and no core waits for one that has all of the work."""

from __future__ import annotations

from collections import defaultdict
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.extract import splits
from forensics.inventory.evidence import Evidence, Fingerprint, Origin, Place, TextForm

MIB = 1 << 20


def files(sizes):
    return [
        Evidence(f"{n}.log", Place(f"/{n}.log"), fingerprint=Fingerprint("f", "s"), text=TextForm(plain=True, size=size), origin=Origin("p"))
        for n, size in enumerate(sizes)
    ]


def planned(sizes, **told):
    with patch.object(splits, "_breaks_before", lambda evidence, place: 0):
        return [
            [(p.path, p.start, sizes[int(p.path.split(".")[0])] if p.end is None else p.end) for p in task]
            for task in splits.plan(files(sizes), **told)
        ]


def loads(tasks):
    return [sum(end - start for _, start, end in task) for task in tasks]


@given(st.lists(st.integers(1, 300 * MIB), min_size=1, max_size=40), st.integers(1, 16))
def test_every_byte_is_read_once(sizes, cores):
    ranges = defaultdict(list)
    for path, start, end in (split for task in planned(sizes, cores=cores) for split in task):
        ranges[path].append((start, end))
    assert len(ranges) == len(sizes)
    for n, size in enumerate(sizes):
        cuts = sorted(ranges[f"{n}.log"])
        assert [start for start, _ in cuts] == [0, *(end for _, end in cuts[:-1])]
        assert cuts[-1][1] == size


@pytest.mark.parametrize(
    ("sizes", "cores", "tasks"),
    [
        pytest.param([50 * MIB], 2, [25, 25], id="one log that is smaller than a range"),
        pytest.param([140 * MIB], 2, [70, 70], id="one log that is little larger than a range"),
        pytest.param([260 * MIB], 2, [65, 65, 65, 65], id="two rounds"),
        pytest.param([MIB] * 60, 2, [30, 30], id="many small files"),
        pytest.param([MIB, MIB], 8, [2], id="too little to share"),
        pytest.param([12 * MIB] * 3, 3, [12, 12, 12], id="a file a core"),
    ],
)
def test_the_work_is_shared_evenly(sizes, cores, tasks):
    assert [round(load / MIB) for load in loads(planned(sizes, cores=cores))] == pytest.approx(tasks, abs=1)

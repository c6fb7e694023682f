# SPDX-License-Identifier: Apache-2.0
"""The extent to which the closest layout matches a line."""

from __future__ import annotations

import time

import pytest

from forensics.records.layouts import packaged
from forensics.records.nearest_layout import nearest


@pytest.mark.parametrize(
    ("line", "reached"),
    [
        ("[2026-03-01 12:00:00,123] NOTALEVEL what?", "[2026-03-01 12:00:00,123] "),
        ("[2026-03-01 12:00] INFO too short a time", "[2026-03-01 12:00"),
        ("2026-13-01 12:00:00,123 there is no such month, but it looks like one", "2026-1"),
    ],
)
def test_it_tells_where_a_line_becomes_strange(line, reached):
    found = nearest(line, packaged().layouts)
    assert found is not None
    assert found.reached >= len(reached)


def test_what_is_like_nothing_has_no_nearest():
    assert nearest("§§ ???", packaged().layouts) is None


def test_a_hostile_line_takes_no_time():
    begin = time.perf_counter()
    nearest("[2026-03-01 " * 10_000, packaged().layouts)
    assert time.perf_counter() - begin < 5

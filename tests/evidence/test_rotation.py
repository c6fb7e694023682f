# SPDX-License-Identifier: Apache-2.0
"""File names: the stream that they belong to, and their order in it."""

import time

import pytest

from forensics.evidence.rotation import read_name


@pytest.mark.parametrize(
    ("path", "base", "weak"),
    [
        ("w1/connect.log.2026-11-21-07", "w1/connect.log", False),
        ("server.log.1.gz", "server.log", False),
        ("app-1.log", "app.log", True),
        ("pod/0.log", "pod", False),
        ("w1/server.log~2.gz", "w1/server.log", True),
        ("2026.11", "2026.11", False),
    ],
)
def test_the_stream_of_a_name(path, base, weak):
    found = read_name(path)
    assert (found.base, found.weak) == (base, weak)


def test_copies_of_a_name_are_in_the_order_of_their_numbers():
    assert sorted(["a.log~2", "a.log", "a.log~1~9", "a.log~1"], key=lambda n: read_name(n).order) == ["a.log", "a.log~1", "a.log~2", "a.log~1~9"]


@pytest.mark.parametrize("part", ["~1", ".gz~1", ".gz", "a.", ".1", ".log-2026-11-21"])
def test_a_name_of_any_length_is_read_in_no_time(part):
    before = time.process_time()
    assert read_name("f/a" + part * 4_000 + "\x01").base
    assert read_name("f/a" + part * 4_000).base
    assert time.process_time() - before < 2

# SPDX-License-Identifier: Apache-2.0
"""The blocks of `parsers/layouts.toml`, held to their own examples."""

from __future__ import annotations

import time

import pytest

from forensics import resources
from forensics.records.layout_check import check
from forensics.records.layouts import packaged, parse_layouts, read_json_as_far

LAYOUTS = packaged()


def test_every_block_takes_its_own_examples():
    assert [str(e) for e in check()] == []


WRAPPER = """
[[wrapper]]
name = "compose"
head = '(?P<source>[a-z]+) [|] '
[[wrapper.example]]
line = "worker | hello"
fields = { source = "worker" }
"""
BROKEN = {
    "does not match it": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
[[layout.example]]
line = "nothing of the kind"
fields = {}
""",
    "gives other values": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
[[layout.example]]
line = "2026-11-21 10:43:54,923 INFO hello"
fields = { ts = "2026-11-21T10:43:54.923Z", level = "INFO", message = "goodbye" }
""",
    "has no example": """
[[layout]]
name = "other"
pattern = ["%d{ISO8601} %p %m%n"]
""",
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_wrong_with_a_block_is_said(what):
    keys = resources.parsers_dir().joinpath("layouts.toml").read_text(encoding="utf-8").partition("\n[[wrapper]]")[0]
    errors = [str(e) for e in check(parse_layouts(keys + WRAPPER + BROKEN[what], "layouts.toml"))]
    assert len(errors) == 1
    assert what in errors[0]


@pytest.mark.parametrize("layout", LAYOUTS.layouts, ids=lambda x: x.name)
def test_no_line_makes_a_head_try_for_ever(layout):
    """Brackets, bars and keys, sixty of each, wherever a layout's head may meet them."""
    line = layout.examples[0].line
    begun = time.process_time()
    for at in [i for i, c in enumerate(line[:120]) if c in " [(|:"]:
        for more in ("[a] ", "[a]", " | ", "(a) ", "a=b, ", "[", " - ", ": ", "a.B "):
            LAYOUTS.find(line[: at + 1] + more * 60, layout.untimed)
            LAYOUTS.find_tail(layout, more * 60 + line[at:])
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":"b", "c": "d"e", "f": 1, "g": "h\\"i"}', {"a": "b", "c": 'd"e', "f": "1", "g": 'h"i'}),
        ('{"id": "A", "content": {"timestamp": "2024", "message": "cut of', {"id": "A", "content.timestamp": "2024", "content.message": "cut of"}),
        ('{"a": {"b": "x"y", "c": {"d": "z"}}, "e": "f", "g": 3', {"a.b": 'x"y', "a.c.d": "z", "e": "f", "g": "3"}),
        ('{"level": {}, "tags": ["a", "b"], "message": "x {"a": "b"} y', {"message": 'x {"a": "b"} y'}),
    ],
)
def test_a_broken_object_is_read_as_far_as_it_goes(text, found):
    assert read_json_as_far(text) == found

# SPDX-License-Identifier: Apache-2.0
"""The blocks of `parsers/layouts.toml`, held to their own examples."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from forensics.records.layouts import packaged
from forensics.records.line_reader import Profile, RecordReader, read_records
from forensics.records.timestamps import Zone

LAYOUTS = packaged()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(text):
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize("layout", LAYOUTS.layouts, ids=lambda x: x.name)
def test_examples_of_a_layout(layout):
    assert layout.examples
    for example in layout.examples:
        (placed,) = read_records(example.line.encode(), RecordReader(LAYOUTS, Profile(untimed=layout.untimed)))
        assert placed.record.layout == layout.name
        found = {k: getattr(placed.record, k) for k in ("level", "thread", "logger", "source_line", "context", "message", "source")}
        if placed.record.moment is not None and (utc := Zone("UTC").utc(placed.record.moment)) is not None:
            found["ts"] = utc
        want = dict(example.fields) | ({"ts": micros(example.fields["ts"])} if "ts" in example.fields else {})
        assert {k: v for k, v in found.items() if v is not None} == want


@pytest.mark.parametrize("wrapper", LAYOUTS.wrappers, ids=lambda x: x.name)
def test_examples_of_a_wrapper(wrapper):
    assert wrapper.examples
    for example in wrapper.examples:
        line = RecordReader(LAYOUTS, Profile(wrappers=(wrapper.name,))).unwrap(example.line)
        assert line.text != example.line
        found = {} if line.source is None else {"source": line.source}
        utc = Zone("UTC").utc(line.collector) if line.collector else None
        if utc is not None:
            found["ts"] = utc
        assert found == dict(example.fields) | ({"ts": micros(example.fields["ts"])} if "ts" in example.fields else {})


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

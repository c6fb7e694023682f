# SPDX-License-Identifier: Apache-2.0
"""A case handed to other people's tools: what Perfetto, Timesketch and SQLite get."""

from __future__ import annotations

import io
import json
import sqlite3
from collections import defaultdict
from contextlib import closing
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from made_case import T0, written

from forensics.report import reading, selection
from forensics.share import perfetto, sqlite, timesketch


@pytest.fixture
def case(tmp_path):
    return written(tmp_path / "case")


def trace_of(case) -> list[dict]:
    out = io.StringIO()
    perfetto.write(reading.read(case, selection.Filters()), out)
    return json.loads(out.getvalue())["traceEvents"]


def test_every_owner_has_a_track_and_every_overlap_is_drawn(case):
    report, events = reading.read(case, selection.Filters()), trace_of(case)
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    drawn = {(e["args"]["ownership_id"], tracks[e["tid"]]) for e in events if e.get("cat") == "possible"}
    assert {i for i, _ in drawn} == {o["ownership_id"] for o in report.ownership}
    assert all(o["resource"] in track and o["process_id"] in track for o in report.ownership for i, track in drawn if i == o["ownership_id"])
    assert sum(e.get("cat") == "overlap" for e in events) == sum(s["verdict"] != "refuted" for s in report.split_brain)


def test_every_time_is_on_the_reference_clock(case):
    """The clock of w2 is 41 s ahead."""
    begins = {(e["cat"], e["args"].get("process_id")): e["ts"] / 1e6 for e in trace_of(case) if e["ph"] == "X"}
    assert begins["process", "w2/connect.log"] == T0.timestamp() - 41
    assert begins["process", "w1/connect.log"] == T0.timestamp()
    assert begins["coverage", "w2/connect.log"] == T0.timestamp() + 18 - 41
    assert begins["coordinator", "w2/connect.log"] == T0.timestamp() + 58 - 41


def test_slices_of_a_track_lie_inside_each_other_or_apart(case):
    of = defaultdict(list)
    for e in trace_of(case):
        if e["ph"] == "X":
            of[e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for spans in of.values():
        spans.sort(key=lambda s: (s[0], -s[1]))
        for n, (begin, end) in enumerate(spans):
            assert all(end <= b or (begin <= b and e <= end) for b, e in spans[n + 1 :])


def test_timesketch_gets_lines_with_the_fields_that_it_needs(case):
    out, report = io.StringIO(), reading.read(case, selection.Filters())
    number = timesketch.write(case, report, out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == number
    for line in lines:
        assert line["message"] and line["timestamp_desc"]
        assert round(datetime.fromisoformat(line["datetime"]).astimezone(UTC).timestamp() * 1e6) == line["timestamp"]
        assert all(isinstance(v, (str, int, float, bool)) for k, v in line.items() if k != "tag")
    assert {f["headline"] for f in report.findings if f["from_ts"]} <= {line["message"] for line in lines}


def test_sqlite_has_every_row_of_every_view_in_types_that_any_tool_reads(tmp_path):
    moment = datetime(2026, 11, 21, 7, 52, 2, 353_000, UTC)
    table = pa.table(
        {
            "name": ["w1", None],
            "number": pa.array([1, 2], pa.int64()),
            "is_new": [True, False],
            "ts": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "tags": [["a", "b"], []],
            "facts": [{"at": moment}, {"at": None}],
        }
    )
    file = tmp_path / "case.db"
    file.write_text("not a database")
    assert sqlite.write([("event", table), ("finding", table.slice(0, 0))], file) == 2
    with closing(sqlite3.connect(file)) as found:
        assert found.execute("SELECT * FROM event").fetchall() == [
            ("w1", 1, 1, "2026-11-21 07:52:02.353Z", '["a", "b"]', '{"at": "2026-11-21 07:52:02.353Z"}'),
            (None, 2, 0, None, "[]", '{"at": null}'),
        ]
        assert found.execute("SELECT datetime(ts) FROM event WHERE ts > '2026-11-21 07:52'").fetchall() == [("2026-11-21 07:52:02",)]
        assert found.execute("SELECT count(*) FROM finding").fetchall() == [(0,)]
    assert [p.name for p in tmp_path.iterdir()] == ["case.db"]


def test_sqlite_says_why_it_cannot_write(tmp_path):
    with pytest.raises(OSError, match="."):
        sqlite.write([], tmp_path / "no folder" / "case.db")

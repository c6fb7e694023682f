"""`show --merge`: the lines of all processes in one order, on the reference clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forensics.errors import UsageError
from forensics.report import merged, text

T0 = datetime(2026, 3, 1, 10, tzinfo=UTC)


class Kept:
    """A case of a few rows on disk."""

    manifest: dict = {}

    def __init__(self, root: Path, tables: dict[str, list[dict]]) -> None:
        self.root = root
        for name, rows in tables.items():
            (root / name).mkdir()
            pq.write_table(pa.Table.from_pylist(rows), root / name / "part-0.parquet")

    def view_path(self, name: str) -> Path | None:
        return self.root / name if (self.root / name).is_dir() else None

    def table_paths(self, name: str) -> list[str]:
        return [str(self.root / name)]


def event(name: str, process: str, seconds: float, line: int) -> dict:
    return {
        "event_id": name, "process_id": process, "path": process, "line": line, "stream_pos": line, "byte_offset": 0, "event": "joined", "file_id": "f",
        "ts": T0 + timedelta(seconds=seconds), "message": f"text of {name}",
        "level": "INFO", "logger": "org.apache.kafka.clients.NetworkClient", "client_id": f"client-of-{process}", "context": None,
    }  # fmt: skip


@pytest.fixture
def case(tmp_path: Path) -> Kept:
    """w2's clock is an hour ahead of w1's."""
    events = [event(f"first{n}", "w1.log", n, n) for n in range(5)] + [event(f"other{n}", "w2.log", 3600.5 + n, n) for n in range(5)]
    process = [
        {"process_id": p, "reference_process_id": "w1.log", "first_ts": T0, "last_ts": T0 + timedelta(hours=2), "host": None}
        for p in ("w1.log", "w2.log")
    ]
    clock = [{"process_id": "w2.log", "reference_process_id": "w1.log", "lo_ms": 3_599_995, "hi_ms": 3_600_005}]
    generation = [{"group_id": "g:x", "generation": 3, "witness": ["other2"]}]
    return Kept(tmp_path, {"event_row": events, "process": process, "clock_offset": clock, "generation": generation})


def told(case: Kept, wanted: str, context: int = 2, **more: object) -> list[str]:
    return text.as_text(merged.show(case, wanted, context, **more), 100).splitlines()  # type: ignore[arg-type]


def order(lines: list[str]) -> list[str]:
    return [word for line in lines if "text of " in line for word in [line.split("text of ")[1].split()[0]]]


def test_lines_of_all_processes_stand_in_the_order_of_the_reference_clock(case: Kept) -> None:
    lines = told(case, "other2", 2)
    assert order(lines) == ["other1", "first2", "other2", "first3", "other3"]
    marked = [line for line in lines if line.strip().startswith(">  ")]
    assert len(marked) == 1
    assert "10:00:02.500 ±5 ms  w2.log" in marked[0]
    assert "INFO NetworkClient client-of-w2.log: text of other2" in marked[0]
    assert any("w2.log:2  other2" in line for line in lines)


def test_a_time_and_a_generation_may_be_asked_for(case: Kept) -> None:
    assert [line.split()[1] for line in told(case, "10:00:02", 0) if line.strip().startswith(">  ")] == [
        "10:00:01.000", "10:00:01.500", "10:00:02.000", "10:00:02.500", "10:00:03.000",
    ]  # fmt: skip
    assert order(told(case, "g:x:3", 0)) == ["other2"]


def test_the_time_is_meant_and_told_in_the_reader_s_zone(case: Kept) -> None:
    zone = timezone(timedelta(hours=2))
    lines = told(case, "12:00:02", 0, zone=zone)
    assert any("times in UTC+02:00" in line for line in lines)
    assert any("12:00:02.500 ±5 ms" in line for line in lines)


def test_lines_that_are_left_out_between_are_marked(case: Kept) -> None:
    assert not any("⋮" in line for line in told(case, "other2", 9))
    generation = [{"group_id": "g", "generation": 1, "witness": ["first0", "other4"]}]
    pq.write_table(pa.Table.from_pylist(generation), case.root / "generation" / "part-0.parquet")
    assert sum("⋮" in line for line in told(case, "g:1", 0)) == 1


@pytest.mark.parametrize("wanted", ["nothing-here", "abc", "g:x:9", "11:30:00"])
def test_what_the_case_does_not_have_is_a_wrong_use(case: Kept, wanted: str) -> None:
    with pytest.raises(UsageError):
        told(case, wanted)

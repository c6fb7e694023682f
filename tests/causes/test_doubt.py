# SPDX-License-Identifier: Apache-2.0
"""Lost lines: where the absence of a line shows nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from forensics.causes.doubt import Doubt
from forensics.relations.inputs import Inputs

SCHEMAS = {
    "lost_range": pa.schema([("process_id", pa.string()), ("from_ms", pa.int64()), ("to_ms", pa.int64()), ("why", pa.string())]),
    "filtered_log": pa.schema([("process_id", pa.string())]),
    "member": pa.schema([("group_id", pa.string()), ("process_id", pa.string())]),
    "clock_offset": pa.schema(
        [(name, pa.string()) for name in ("process_id", "reference_process_id", "step")]
        + [(name, pa.int64()) for name in ("lo_ms", "hi_ms")]
        + [(name, pa.bool_()) for name in ("is_island_reference", "is_steady", "stepped")]
    ),
}
#: The clock of w1 is 100 to 110 ms ahead.
CLOCK = {"process_id": "w1", "lo_ms": 100, "hi_ms": 110, "reference_process_id": "w1", "is_island_reference": True, "is_steady": True}


def doubt(**rows: list[dict[str, Any]]) -> Doubt:
    tables = {name: pa.Table.from_pylist(rows.get(name, [CLOCK] if name == "clock_offset" else []), schema) for name, schema in SCHEMAS.items()}
    return Doubt(Inputs(lambda name: [ds.dataset(tables[name])], {}))


def lost(from_ms: int | None, to_ms: int | None, why: str = "zero_bytes") -> dict[str, Any]:
    return {"process_id": "w1", "from_ms": from_ms, "to_ms": to_ms, "why": why}


def test_without_lost_lines_there_is_no_doubt() -> None:
    none = doubt()
    assert not none
    assert not none.since(["w1"], None)


@pytest.mark.parametrize(
    ("at_ms", "is_doubtful"), [(1_890, True), (1_900, True), (1_901, False), (None, True)], ids=["before", "at its end", "after", "at any time"]
)
def test_a_range_hides_lines_up_to_its_end_on_the_reference_clock(at_ms: int | None, is_doubtful: bool) -> None:
    assert doubt(lost_range=[lost(1_000, 2_000)]).since(["w1"], at_ms) is is_doubtful


def test_a_range_at_the_end_hides_everything_after_it_but_a_log_that_was_copied_while_it_was_written_ends_like_any_other() -> None:
    assert doubt(lost_range=[lost(1_000, None)]).since(["w1"], 1 << 50)
    cut = doubt(lost_range=[lost(1_000, None, "cut_end")])
    assert not cut.since(["w1"], 0)
    assert cut.between(["w1"], 0, 889) == []
    assert cut.between(["w1"], 0, 890) == [(890, None)]
    assert doubt(lost_range=[lost(1_000, 2_000, "cut_end")]).since(["w1"], 0)


def test_a_range_hides_lines_only_of_its_own_log_and_only_within_its_bounds() -> None:
    found = doubt(lost_range=[lost(1_000, 2_000)])
    assert not found.since(["w2", None], 0)
    assert found.between(["w1"], 0, 889) == []
    assert found.between(["w1"], 0, 890) == [(890, 1_900)]


def test_a_process_without_a_clock_may_lack_lines_at_any_time() -> None:
    assert doubt(lost_range=[lost(1_000, 2_000)], clock_offset=[]).since(["w1"], 1 << 50)


def test_a_filtered_log_lacks_lines_everywhere() -> None:
    assert doubt(filtered_log=[{"process_id": "w1"}]).since(["w1"], 1 << 50)


def test_the_members_of_a_group_are_those_whose_logs_lack_lines() -> None:
    members = [{"group_id": "g", "process_id": name} for name in ("w1", "w2", None)]
    assert doubt(lost_range=[lost(1, 2)], member=members).members(["g", None]) == ["w1"]
    assert doubt(member=members).members(["g"]) == []

# SPDX-License-Identifier: Apache-2.0
"""One generation joins the clocks of its members without a broker's log: the leader sends the assignment before anybody has it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pytest
from written_logs import case_of

FIELD = Path(__file__).parent / "field" / "13-leader-ids"


@pytest.mark.engine
def test_three_members_clocks_are_joined(tmp_path: Path) -> None:
    logs = {f.name: f.read_text(encoding="utf-8") for f in sorted(FIELD.glob("*.log"))}
    case = case_of(logs, tmp_path, ["clock_offset", "split_brain"])
    found = {view: ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist() for view in ("clock_offset", "split_brain")}
    bounds = {o["process_id"]: (o["lo_ms"], o["hi_ms"]) for o in found["clock_offset"] if o["is_island_reference"]}
    assert len({o["reference_process_id"] for o in found["clock_offset"] if o["is_island_reference"]}) == 1
    # The three ran on one host.
    assert all(-1700 <= lo <= 0 <= hi <= 30 for lo, hi in bounds.values())
    (pair,) = (s for s in found["split_brain"] if s["resource"] == "parti3-1")
    assert pair["clock_how"] == "edges"
    assert pair["code"] != "clocks_not_joined"

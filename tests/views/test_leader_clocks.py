# SPDX-License-Identifier: Apache-2.0
"""One generation joins the clocks of its members without a broker's log: the leader sends the assignment before anybody has it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest
from places import FIELD
from some_views import only_views
from written_logs import case_of

from forensics.case import ingestion, materialise

if TYPE_CHECKING:
    from forensics.engines.base import Engine

FIELD = FIELD / "13-leader-ids"
VIEWS = ("clock_offset", "split_brain", "member_generation", "coverage")


@pytest.mark.engine
def test_three_members_clocks_are_joined(tmp_path: Path) -> None:
    logs = {f.name: f.read_text(encoding="utf-8") for f in sorted(FIELD.glob("*.log"))}
    case = case_of(logs, tmp_path, list(VIEWS))
    found = {view: ds.dataset(case.view_path(view), format="parquet").to_table().to_pylist() for view in VIEWS}
    bounds = {o["process_id"]: (o["lo_ms"], o["hi_ms"]) for o in found["clock_offset"] if o["is_island_reference"]}
    assert len({o["reference_process_id"] for o in found["clock_offset"] if o["is_island_reference"]}) == 1
    # The three ran on one host.
    assert all(-1700 <= lo <= 0 <= hi <= 30 for lo, hi in bounds.values())
    (pair,) = (s for s in found["split_brain"] if s["resource"] == "parti3-1")
    assert pair["clock_how"] == "edges"
    assert pair["code"] != "clocks_not_joined"
    # The slow one left by its heartbeat thread, and had not polled 20 s later; the other has it as long as its log says anything.
    assert (pair["process_a"], pair["process_b"]) == ("consumer3.log", "consumer2.log")
    assert (pair["kind"], pair["verdict"]) == ("held", "proved")
    assert 0 < pair["certain_ms"] <= 7
    # The leader's line names all members, and each is there once, with its log.
    members = [(m["generation"], m["member_id"].split("-")[3], m["process_id"]) for m in found["member_generation"]]
    assert sorted(members) == [
        (28, "6ff23b45", "consumer2.log"),
        (28, "7955b336", "consumer3.log"),
        (28, "9ee10b44", "consumer1.log"),
        (29, "6ff23b45", "consumer2.log"),
        (29, "9ee10b44", "consumer1.log"),
    ]
    assert not [c for c in found["coverage"] if c["code"] == "missing_member"]


@pytest.mark.engine
def test_members_of_a_large_group_are_compared_through_their_leader(any_engine: Engine, tmp_path: Path) -> None:
    compared = ("ownership_pair", "split_brain", "member_heard")
    case = ingestion.ingest([FIELD], tmp_path / "case").case
    with only_views(compared):
        all_pairs, through_leader = (
            materialise.build(any_engine, case.tables(), tmp_path / name, small=True, overrides=limit)
            for name, limit in (("all", None), ("few", {"clock_partners_most": 1}))
        )
    for view in compared:
        all_rows, rows = (sorted(map(str, ds.dataset(found[view], format="parquet").to_table().to_pylist())) for found in (all_pairs, through_leader))
        assert rows == all_rows, view
    bounds = [ds.dataset(found["clock_bound"], format="parquet").count_rows() for found in (all_pairs, through_leader)]
    # The leader and the island's reference have rows with all; the third has none with itself.
    assert bounds == [9, 8]

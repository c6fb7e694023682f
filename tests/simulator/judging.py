# SPDX-License-Identifier: Apache-2.0
"""Many histories in one case: writes their logs, runs the program once, and hands back the rows of each history."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds
from oracle import Row
from simulator import Simulated
from some_views import with_views

from forensics.case.folder import Case
from forensics.case.ingestion import ingest as read_in
from forensics.engines import engine

#: Columns without which a verdict cannot be judged.
VIEWS = ("process", "ownership", "split_brain")


@dataclass
class Judged:
    """One history's rows, and what is needed to compare them with its truth."""

    played: Simulated
    rows: list[Row]
    ownerships: dict[str, Row] = field(default_factory=dict)
    worker_of: dict[str, str] = field(default_factory=dict)
    reference_skew_ms: dict[str, float | None] = field(default_factory=dict)

    def verdicts(self) -> dict[tuple[str, str, int, str, int], str]:
        """Return the verdict of each pair of ownerships; an ownership is identified by its worker and its number among that worker's for the task."""
        place: dict[str, tuple[str, int]] = {}
        seen: dict[tuple[str, str], int] = {}
        for row in sorted(self.ownerships.values(), key=lambda r: (str(r["process_id"]), str(r["start_hi"]))):
            key = (str(row["process_id"]), str(row["resource"]))
            seen[key] = seen.get(key, 0) + 1
            place[str(row["ownership_id"])] = (self.worker_of[key[0]], seen[key])
        found = {}
        for row in self.rows:
            (a, i), (b, j) = sorted((place[str(row["ownership_a"])], place[str(row["ownership_b"])]))
            found[str(row["resource"]), a, i, b, j] = str(row["verdict"])
        return found


def damage(text: str, rng: random.Random) -> str:
    """Remove a part of a log, as in real evidence: its beginning, its end, or a stretch in the middle."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 8:
        return text
    how, part = rng.choice(("head", "tail", "middle")), rng.uniform(0.1, 0.6)
    size = int(len(lines) * part)
    start = {"head": 0, "tail": len(lines) - size, "middle": rng.randrange(1, len(lines) - size)}[how]
    return "".join(lines[:start] + lines[start + size :])


def judge(
    played: list[Simulated],
    root: Path,
    *,
    ahead_ms: dict[str, float] | None = None,
    change: Callable[[Simulated, str, str], str | None] | None = None,
    rename: Callable[[Simulated], str] = lambda p: p.name,
) -> list[Judged]:
    """Run the program on many histories in one case.

    Args:
        played: histories with distinct numbers.
        root: where logs and case go.
        ahead_ms: worker to milliseconds by which its clock is set ahead in the text.
        change: gets a history, the path and the text of a log; None leaves the log out.
        rename: directory of a history's logs, so that files come in another order.
    """
    ahead = ahead_ms or {}
    for one in played:
        for path, process in one.logs.items():
            text: str | None = process.text(ahead.get(path.split("/")[0], 0.0))
            text = change(one, path, text) if change and text is not None else text
            if text is not None:
                file = root / "logs" / rename(one) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    case = with_views(read_in([root / "logs"], root / "case").case, engine(), VIEWS)
    return _read(played, case, ahead, rename)


def _read(played: list[Simulated], case: Case, ahead: dict[str, float], rename: Callable[[Simulated], str]) -> list[Judged]:
    rows: dict[str, list[Row]] = {}
    for view in VIEWS:
        path = case.view_path(view)
        assert path is not None, f"the case has no view {view}"
        rows[view] = ds.dataset(path, format="parquet").to_table().to_pylist()
    by_name = {rename(one): one for one in played}
    found = {one.plan.group: Judged(one, []) for one in played}
    for row in rows["process"]:
        one = by_name[str(row["process_id"]).split("/")[0]]
        worker, reference = (str(row[c] or row["process_id"]).split("/")[1] for c in ("process_id", "reference_process_id"))
        skews = {path.split("/")[0]: None if p.steps else p.skew_ms + ahead.get(path.split("/")[0], 0.0) for path, p in one.logs.items()}
        found[one.plan.group].worker_of[str(row["process_id"])] = worker
        found[one.plan.group].reference_skew_ms[str(row["process_id"])] = skews[reference]
    for row in rows["ownership"]:
        if row["resource_kind"] == "task" and row["group_id"] in found:
            found[row["group_id"]].ownerships[row["ownership_id"]] = row
    for row in rows["split_brain"]:
        if row["resource_kind"] == "task" and row["group_id"] in found:
            found[row["group_id"]].rows.append(row)
    return [found[one.plan.group] for one in played]

# SPDX-License-Identifier: Apache-2.0
"""Scores the program on recordings of a real Kafka whose truth is known.

`python tests/recordings/score.py RECORDINGS [NAME...] [--cases DIR] [--withhold broker] [--write docs/accuracy.md]`

Each recording's `logs/` goes through the command line as a user's would, then the views of the case are compared with what
the recording's sampler, its consumers and its coordinator's own store say. Exit code 1: a false `proved`, `refuted` or root cause.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset as ds
from accuracy import HEADINGS, WAYS, Result, cells, markdown, notes
from causes import score_causes
from closing import log_text
from dump_offsets import stored_generations
from questions import score_failures, score_producers, score_streams
from rich.console import Console
from rich.table import Table
from scoring import Clock, Row, score_clocks, score_generations, score_holdings, score_ownership
from thinning import thin
from truth import Recording, recordings
from verdicts import score_split_brain

from forensics.case import folder as case_folder
from forensics.case import views
from forensics.case.ingestion import ingest as read_in
from forensics.engines import engine

#: view -> columns that the comparison cannot do without (DESIGN of the views: users' SQL relies on them too)
NEEDED = {
    "process": ["process_id", "reference_process_id"],
    "generation": ["group_id", "generation", "leader_member_id", "member_count"],
    "ownership": ["ownership_id", "resource_kind", "resource", "process_id", "start_lo", "start_hi", "stop_lo", "stop_hi"],
    "split_brain": [
        *("resource_kind", "resource", "process_a", "process_b", "kind", "verdict"),
        *("from_lo", "from_hi", "to_lo", "to_hi", "ownership_a", "ownership_b"),
    ],
    "clock_offset": ["process_id", "reference_process_id", "lo_ms", "hi_ms"],
    "producer_session": ["transactional_id", "producer_id", "first_epoch", "process_id", "start_lo", "start_hi"],
    "stream_task": ["task", "role", "process_id", "start_lo", "start_hi", "stop_lo", "stop_hi"],
    "task_failure": ["resource_kind", "resource", "process_id", "failed_lo", "innermost"],
    "incident": ["cause", "alternatives", "subject", "from_lo", "from_hi", "to_lo", "to_hi", "times", "facts"],
}
RE_PRINTED = re.compile(r"groupId=(?P<group>[^\],]+)\].*?\bgeneration(?:=|Id=| )(?:Generation\{generationId=)?(?P<number>\d+)")


def ingest(recording: Recording, case: Path, withhold: str | None) -> list[str]:
    """Make a case of a recording's logs; return the directories of logs that were left out."""
    left_out = [d.name for d in sorted(recording.logs.iterdir()) if withhold and d.name.startswith((withhold, "zookeeper"))]
    with tempfile.TemporaryDirectory() as scratch:
        logs = recording.logs
        if withhold:
            logs = Path(scratch) / "logs"
            shutil.copytree(recording.logs, logs, ignore=shutil.ignore_patterns(*left_out))
        # One Spark for all recordings: a JVM of its own for each would take most of the time.
        views.build(read_in([logs], case).case, engine())
    return left_out


def read_all(recording: Recording, case: Path) -> Callable[[str], list[Row]]:
    """Make a case of a recording's logs and of what was saved beside them; return a function that reads a view."""
    folders = [folder for folder in (recording.logs, recording.path / "witness") if folder.is_dir()]
    views.build(read_in(folders, case).case, engine())

    def rows(view: str) -> list[Row]:
        found: list[Row] = ds.dataset(case_folder.open_case(case).view_path(view), format="parquet").to_table().to_pylist()
        return found

    return rows


def read_views(case_path: Path, missing: list[str]) -> dict[str, list[Row]]:
    """Rows of the views that are compared; what is not there is named in `missing` and read as no rows."""
    case, found = case_folder.open_case(case_path), {}
    for view, columns in NEEDED.items():
        path = case.view_path(view)
        if path is None:
            missing.append(f"view {view}")
            found[view] = []
            continue
        data = ds.dataset(path, format="parquet")
        absent = [c for c in columns if c not in data.schema.names]
        missing += [f"{view}.{c}" for c in absent]
        found[view] = [] if absent else data.to_table().to_pylist()
    return found


def printed_generations(recording: Recording, left_out: list[str]) -> set[tuple[str, int]]:
    """The (group, generation) that some log prints which was not left out."""
    found = set()
    for path in sorted(recording.logs.rglob("*.log*")):
        if path.relative_to(recording.logs).parts[0] not in left_out:
            found |= {(m["group"].strip(), int(m["number"])) for m in RE_PRINTED.finditer(log_text(path))}
    return found


def score(recording: Recording, case: Path, withhold: str | None = None) -> Result:
    """Ingest a recording, unless its case exists already, and compare."""
    result = Result(recording)
    if not (case / "case.json").is_file():
        result.withheld = ingest(recording, case, withhold)
    elif withhold:
        result.withheld = [d.name for d in recording.logs.iterdir() if d.name.startswith((withhold, "zookeeper"))]
    rows = read_views(case, result.missing)
    clock = Clock(recording, rows["process"])
    printed = printed_generations(recording, result.withheld) if withhold else None
    result.generations = score_generations(stored_generations(recording.path / "witness"), rows["generation"], printed)
    if recording.knows_tasks:
        result.ownership = score_ownership(recording, rows["ownership"], clock)
    result.holdings = score_holdings(recording, rows["ownership"], clock)
    result.verdicts = score_split_brain(recording, rows["split_brain"], rows["ownership"], clock)
    result.clocks, result.widest_ms = score_clocks(recording, rows["clock_offset"])
    result.producers = score_producers(recording, rows["producer_session"], clock)
    result.streams = score_streams(recording, rows["stream_task"], clock)
    result.failures = score_failures(recording, rows["task_failure"], clock)
    result.causes = score_causes(recording, rows["incident"], clock, rows["process"], result.withheld)
    return result


def run(root: Path, names: list[str], cases: Path, withhold: str | None, console: Console) -> list[Result]:
    """Score each recording and print the table, then the points to check."""
    results = []
    for recording in recordings(root, names):
        folder = cases / (recording.name + (f"-without-{withhold}" if withhold else ""))
        console.print(f"[dim]{recording.name}[/]", highlight=False)
        results.append(score(recording, folder, withhold))
    table = Table(title="Accuracy" + (f" without {withhold} logs" if withhold else ""))
    for heading in HEADINGS:
        table.add_column(heading)
    for result in results:
        table.add_row(*cells(result), style="red" if result.faults else None)
    console.print(table)
    for result in results:
        for note in notes(result):
            console.print(f"{result.recording.name}: {note}", highlight=False, markup=False)
    return results


def main() -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recordings", type=Path, help="directory that holds recordings")
    parser.add_argument("names", nargs="*", help="only recordings whose name contains one of these")
    parser.add_argument("--cases", type=Path, help="keep the cases here, and use those that are there already")
    parser.add_argument("--withhold", metavar="HOST", help="leave out logs of hosts that begin with this, e.g. broker")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="write the page of results here (with and without the brokers' logs, and with lines removed)"
    )
    parser.add_argument("--thin", nargs="*", metavar="NAME", help="with --write, remove lines only from recordings whose names contain one of these")
    args = parser.parse_args()
    console = Console(stderr=False, width=200 if not sys.stdout.isatty() else None)
    with tempfile.TemporaryDirectory() as scratch:
        cases = args.cases or Path(scratch)
        wanted = [None, "broker"] if args.write and not args.withhold else [args.withhold]
        results = {withhold: run(args.recordings, args.names, cases, withhold, console) for withhold in wanted}
        thinned = (
            [thin(r, cases / f"{r.name}-thinned", [w for w in WAYS if w]) for r in recordings(args.recordings, args.thin or args.names)]
            if args.write
            else []
        )
    if args.write:
        titles = {withhold: f"Without the logs of {withhold}s" if withhold else "With all logs" for withhold in wanted}
        args.write.write_text(markdown({titles[withhold]: found for withhold, found in results.items()}, thinned), encoding="utf-8")
    return 1 if any(r.faults for found in results.values() for r in found) else 0


if __name__ == "__main__":
    sys.exit(main())

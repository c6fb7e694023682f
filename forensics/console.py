"""What the commands say on standard error while they work and when they are done; standard output is for what was asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.wording.formats import printable

if TYPE_CHECKING:
    from forensics.case.ingestion import Summary

_SHOWN = 5


def say(text: str) -> None:
    """Prints lines to standard error; names of files and texts of lines in them steer no terminal."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda step, done, total: bar.update(task, description=step, completed=done, total=total if total > 1 else None)


def bytes_below(paths: Iterable[Path]) -> int:
    """Size of files and folders, as they lie on disk; what cannot be seen counts nothing."""
    total = 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else (path,):
            with suppress(OSError):
                total += file.stat().st_size
    return total


def say_ingested(summary: Summary, case: Path) -> None:
    """What was read and what was not, on standard error."""
    counts = summary.counts
    say(
        f"{len(summary.added)} files read into {case}; the case has {counts.get('lines', 0):,} lines, {counts.get('records', 0):,} records, "
        f"{counts.get('events', 0):,} events; {counts.get('unrecognised', 0):,} records of relevant loggers are not in the catalogue."
    )
    skipped = summary.files("skipped")
    for e in skipped[:_SHOWN]:
        say(f"skipped {printable(e.path)}: {e.note}")
    if len(skipped) > _SHOWN:
        say(f"skipped {len(skipped) - _SHOWN} more files")
    _say_layouts(summary)
    for path, reason in summary.faults:
        say(f"error: {printable(path)} could not be read (to its end).\n  reason: {printable(reason)}")
    if summary.assumed_zones:
        say(f"times of {len(summary.assumed_zones)} files have no zone and were read as UTC; if that is wrong, ingest again with --time-zone.")


def _say_layouts(summary: Summary) -> None:
    """Layouts of each file that was read now, the lines that none fits, and how far the closest layout gets on the first of them."""
    from forensics.records.layouts import packaged
    from forensics.records.nearest_layout import nearest

    now = {e.path for e in summary.added}
    files = {path: file for path, file in summary.read.items() if path in now}
    alike: dict[str, list[str]] = {}
    for path, file in files.items():
        alike.setdefault(" and ".join(name for name, _ in file.records.most_common()) or "no layout", []).append(path)
    for layouts, paths in list(alike.items())[:_SHOWN]:
        names = ", ".join(map(printable, paths[:_SHOWN])) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        say(f"read as {layouts}: {names}")
    strange = [(path, file.unfit, *file.first_unfit) for path, file in files.items() if file.first_unfit is not None]
    for path, unfit, line, text in strange[:_SHOWN]:
        say(f"{unfit:,} lines of {printable(path)} fit no layout; the first is line {line}:\n  {printable(text[:120])}")
        closest = nearest(text, packaged().layouts)
        if closest is not None:
            say(f"  {' ' * min(closest.reached, 120)}^ up to here it could be {closest.layout}; --layout tells another")
    if len(strange) > _SHOWN:
        say(f"{len(strange) - _SHOWN} more files have such lines: forensics sql source_file")

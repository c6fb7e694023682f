"""What the commands say on standard error while they work and when they are done; standard output is for what was asked for."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from forensics.wording.formats import count, printable

if TYPE_CHECKING:
    from forensics.case.ingestion import Summary
    from forensics.evidence.objects import Location
    from forensics.redact.copying import Summary as Redacted

_SHOWN = 5
_NEW_FILE = 0o666
_FORBIDDEN = "Run the command again as a user who may read the file, or on a copy of it."


def say(text: str) -> None:
    """Prints lines to standard error; names of files and texts of lines in them steer no terminal."""
    print("\n".join(map(printable, text.split("\n"))), file=sys.stderr)


#: Steps in the words of a reader, and which of them are counted in bytes.
_STEPS = {
    "looking": "Looking at files",
    "reading": "Reading logs",
    "reading names": "Reading names",
    "writing without names": "Writing without names",
    "reading on executors": "Reading logs on Spark",
    "writing": "Writing rows",
    "starting the engine": "Starting the engine",
}
_IN_BYTES = ("looking", "reading", "reading names", "writing without names")


def in_words(step: str) -> str:
    """A step as it is told: `views: split_brain` is `Working out split brain`."""
    view = step.removeprefix("views: ")
    return f"Working out {view.replace('_', ' ')}" if view != step else _STEPS.get(step, step)


@contextmanager
def output_file(path: Path) -> Iterator[TextIO]:
    """Open a file for the output of a command. The file is whole or, after an error, as it was: it is written beside its place and then renamed.

    A link is written through. Where nothing can be renamed (a pipe, a device, a folder in which no file can be made), it is written as it is.

    Raises:
        OSError: it cannot be written.
    """
    target = path.resolve() if path.is_symlink() else path
    is_new = not target.exists()
    try:
        if not (is_new or target.is_file()):
            raise PermissionError  # noqa: TRY301  (a pipe or a device: as where no file can be made beside it)
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    except PermissionError:
        with target.open("w", encoding="utf-8") as out:
            yield out
        return
    beside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            yield out
            out.flush()
            os.fsync(handle)
        beside.chmod(_NEW_FILE & ~_umask() if is_new else target.stat().st_mode & 0o7777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_FIRST_SECONDS, _NEXT_SECONDS = 30.0, 60.0
#: A step that has taken so long is said with its time.
_LONG_SECONDS = 5.0


class _NowDoing:
    """The step that a command is at, and since when."""

    def __init__(self) -> None:
        self._began = self._since = time.monotonic()
        self._step, self._done, self._total = "", 0, 0

    def told(self, step: str, done: int, total: int) -> None:
        """Take what is being done, how much of it is done, and all of it."""
        if step != self._step:
            self._step, self._since = step, time.monotonic()
        self._done, self._total = done, total

    def since(self) -> str:
        """Return how long the step has taken, when that is long."""
        seconds = time.monotonic() - self._since
        return f"({span(seconds)})" if seconds > _LONG_SECONDS else ""

    def say_every_so_often(self, over: threading.Event) -> None:
        """Print the step and its time until it is over: after half a minute, then every minute."""
        pause = _FIRST_SECONDS
        while not over.wait(pause):
            pause = _NEXT_SECONDS
            if self._step:
                now = time.monotonic()
                part = f" ({amount(self._done, self._total, None, in_bytes=self._step in _IN_BYTES)})" if self._total > 1 else ""
                say(f"{in_words(self._step)}{part}: {span(now - self._since)}; {span(now - self._began)} in all.")


def span(seconds: float) -> str:
    """Return a time as it is read: `45 s`, `3 min 5 s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None]]:
    """Say what is done: on a terminal in a bar, with how fast and how long it will take; elsewhere in a line every so often, if it takes long."""
    now_doing = _NowDoing()
    if not sys.stderr.isatty():
        over = threading.Event()
        saying = threading.Thread(target=now_doing.say_every_so_often, args=(over,), daemon=True, name="forensics-progress")
        saying.start()
        try:
            yield now_doing.told
        finally:
            over.set()
            saying.join()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.text import Text

    class OfStep(ProgressColumn):
        def render(self, task: Task) -> Text:
            del task
            return Text(now_doing.since())

    columns = (
        TextColumn("{task.description}"), OfStep(), BarColumn(bar_width=20), TextColumn("{task.fields[amount]}"), TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"), TimeRemainingColumn(compact=True),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None, amount="", left="")
        now = ""

        def told(step: str, done: int, total: int) -> None:
            nonlocal now
            now_doing.told(step, done, total)
            kind = step.partition(":")[0]
            if kind != now:  # the rate of one step tells nothing of the next one's
                now = kind
                bar.reset(task)
            known = total > 1
            bar.update(task, description=in_words(step), completed=done, total=total if known else None, left="left" if known and done else "")
            speed = bar.tasks[0].speed
            bar.update(task, amount=amount(done, total, speed, in_bytes=step in _IN_BYTES) if known else "")

        yield told


def amount(done: int, total: int, rate: float | None, *, in_bytes: bool) -> str:
    """How much of a step is done: `120 of 340 MB, 35 MB/s`, or `12 of 200`.

    Args:
        done: bytes, or things.
        total: all of them.
        rate: a second; None: not known yet.
        in_bytes: whether they are bytes.
    """
    if not in_bytes:
        return f"{done:,} of {total:,}"
    mega = 1e6
    digits = 0 if total >= 10 * mega else 1
    return f"{done / mega:,.{digits}f} of {total / mega:,.{digits}f} MB" + (f", {rate / mega:,.1f} MB/s" if rate else "")


def say_ingested(summary: Summary, case: Location) -> None:
    """What was read and what was not, on standard error."""
    counts = summary.counts
    found = [count(counts.get(kind, 0), kind.removesuffix("s")) for kind in ("lines", "records", "events")]
    if counts.get("counted"):
        found[-1] += f" and {count(counts['counted'], 'line')} that {'is' if counts['counted'] == 1 else 'are'} only counted"
    news = f"{count(len(summary.added), 'file')} read into {case}" if summary.added or not summary.files("read") else f"nothing is new for {case}"
    say(f"{news}; the case has {', '.join(found)}; {_recognised(counts)}")
    for was, now in summary.grown[:_SHOWN]:
        say(f"grown: {printable(was)}" + f", now {printable(now)}" * (was != now))
    if len(summary.grown) > _SHOWN:
        say(f"grown: {count(len(summary.grown) - _SHOWN, 'more file')}")
    for path in summary.gone[:_SHOWN]:
        say(f"gone: {printable(path)}, its rows stay")
    if len(summary.gone) > _SHOWN:
        say(f"gone: {count(len(summary.gone) - _SHOWN, 'more file')}, their rows stay")
    skipped = summary.files("skipped")
    for e in skipped[:_SHOWN]:
        say(f"skipped {printable(e.path)}: {e.note}")
    if len(skipped) > _SHOWN:
        say(f"skipped {count(len(skipped) - _SHOWN, 'more file')}")
    for process, note in summary.copies[:_SHOWN]:
        say(f"left out {printable(process)}: {note}")
    if len(summary.copies) > _SHOWN:
        say(f"left out {count(len(summary.copies) - _SHOWN, 'more copy', 'more copies')}: forensics sql coverage")
    if summary.copies:
        say("the counts above include the lines of what was left out.")
    _say_layouts(summary)
    from forensics.inventory.evidence import LOG

    if undated := [e for e in summary.files("read") if e.times.first is None and e.format.profile.fitting and e.format.kind == LOG]:
        which = printable(undated[0].path) if len(undated) == 1 else count(len(undated), "file")
        say(f"no line of {which} tells both date and time, so only their order is known; a layout with %d{{ISO8601}} prints both.")
    _say_collected(summary)
    if backwards := [e for e in summary.files("read") if e.format.profile.newest_first]:
        which = printable(backwards[0].path) if len(backwards) == 1 else f"each of {count(len(backwards), 'file')}"
        # A row of an export holds a whole record.
        by_line = any(not (p.json or p.document is not None or p.is_table) for p in (e.format.profile for e in backwards))
        turned = " If lines were turned round one by one (as tac does), settings and stack traces, which take several lines, may be missing from the report."
        say(f"the newest line comes first in {which}, so reading began at the end.{turned * by_line}")
    unread = {e.path for e in summary.files("unreadable")}
    for path, reason in summary.faults:
        what = f"{printable(path)} could not be read." if path in unread else f"not all of {printable(path)} could be read."
        say(f"error: {what}\n  reason: {printable(reason)}" + (f"\n  help: {_FORBIDDEN}" if reason == os.strerror(errno.EACCES) else ""))
    if summary.assumed_zones:
        files = count(len(summary.assumed_zones), "file")
        say(f"times of {files} have no zone and were read as UTC; if that is wrong, ingest again with --time-zone.")


def _recognised(counts: Mapping[str, int]) -> str:
    """How much of what matters was understood."""
    unknown = counts.get("unrecognised", 0)
    if unknown:
        return f"{count(unknown, 'record')} from relevant loggers {'was' if unknown == 1 else 'were'} not recognised."
    if not counts.get("records"):
        return "nothing in it is a record of a log."
    if not counts.get("events") and not counts.get("counted"):
        return "no record is from a logger that tells of Kafka groups."
    return "every record from a relevant logger was recognised."


def say_redacted(summary: Redacted, target: Path, mapping: Path | None) -> None:
    """What became of names, records and files in a copy, on standard error."""
    counts = summary.counts
    say(f"{count(summary.files, 'file')} with {count(counts.lines, 'line')} written to {target}.")
    if summary.replaced:
        say("Names replaced: " + ", ".join(summary.replaced) + ".")
    say(f"{count(counts.rewritten, 'record')} of known events kept, with other names.")
    if counts.kept:
        say(f"{count(counts.kept, 'record')} of no known event kept, with every word replaced that is not Kafka's or plain English.")
    if withheld := counts.unrecognised + counts.damaged:
        why = f" In {counts.damaged:,} of them it is a known event whose meaning would change once names are replaced." if counts.damaged else ""
        say(f"{count(withheld, 'record')}: message withheld; time, level, logger and source kept.{why}")
    if counts.strange:
        say(f"{count(counts.strange, 'line')} that {'belongs' if counts.strange == 1 else 'belong'} to no record withheld.")
    for path, reason in summary.left_out[:_SHOWN]:
        say(f"left out {printable(path)}: {reason}")
    if len(summary.left_out) > _SHOWN:
        say(f"left out {count(len(summary.left_out) - _SHOWN, 'more file')}")
    for path, reason in summary.faults:
        say(f"error: {printable(path)} could not be read (to its end).\n  reason: {printable(reason)}")
    if summary.groups_moved:
        say(f"The pseudonyms of {count(len(summary.groups_moved), 'group')} fall into other partitions of __consumer_offsets than the groups.")
    say(f"Names and pseudonyms are in {mapping}: keep it to yourself." if mapping else "No mapping was kept: nobody can undo the pseudonyms.")


def _say_collected(summary: Summary) -> None:
    """Which files have only the times that a collector printed."""
    read = summary.files("read")
    if n := sum(e.times.by in ("collector", "collector_no_year") for e in read):
        say(f"the lines of {count(n, 'file')} have no time of their own: each is given its collector's, taken to be less than a second late.")
    if n := sum(e.times.by == "collector_no_year" for e in read):
        say(
            f"the dates of {count(n, 'file')} have no year: the last one before the file was changed is taken; if that is wrong, correct the file's date."
        )


def _say_layouts(summary: Summary) -> None:
    """Layouts of each file that was read now, the lines that none fits, and how far the closest layout gets on the first of them."""
    from forensics.records.layouts import packaged
    from forensics.records.nearest_layout import nearest

    now = {e.path for e in summary.added}
    files = {path: file for path, file in summary.read.items() if path in now}
    alike: dict[str, list[str]] = {}
    for path, file in files.items():
        alike.setdefault(" and ".join(f'"{name}"' for name, _ in file.records.most_common()) or "none", []).append(path)
    for layouts, paths in list(alike.items())[:_SHOWN]:
        names = ", ".join(map(printable, paths[:_SHOWN])) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        say(f"layout of {names}: {layouts}")
    unnamed = [(path, file) for path, file in files.items() if file.unnamed]
    for path, file in unnamed[:_SHOWN]:
        some = f"{file.unnamed:,} of {count(file.records.total(), 'record')} of {printable(path)} {'shows' if file.unnamed == 1 else 'show'}"
        say(f"{some} no logger: a record without one is recognised by its words alone, so events may be missed.")
    if unnamed:
        say("  If these lines name a logger, describe them with --layout; forensics sql source_file counts the records of each layout.")
    strange = [(path, file.unfit, *file.first_unfit) for path, file in files.items() if file.first_unfit is not None]
    for path, unfit, line, text in strange[:_SHOWN]:
        fit = "fits" if unfit == 1 else "fit"
        say(f"{count(unfit, 'line')} of {printable(path)} {fit} no layout; the first is line {line}:\n  {printable(text[:120])}")
        closest = nearest(text, packaged().layouts)
        if closest is not None:
            say(f"  {' ' * min(closest.reached, 120)}^ up to here it could be {closest.layout}; use --layout to describe another")
    if len(strange) > _SHOWN:
        more = len(strange) - _SHOWN
        say(f"{count(more, 'more file')} {'has' if more == 1 else 'have'} such lines: forensics sql source_file")

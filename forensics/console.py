"""Messages of the commands on standard error, during and after their work; standard output is for results."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, TextIO

from forensics.failures import NOT_ALLOWED
from forensics.wording.formats import count, printable

if TYPE_CHECKING:
    from forensics.case.ingestion import Summary
    from forensics.evidence.objects import Location
    from forensics.redact.copying import Summary as Redacted

#: The case of a command that names none, unless $FORENSICS_CASE does.
DEFAULT_CASE = "forensics-case"
_SHOWN = 5
#: Columns below which lines are not wrapped, and by which their second parts are indented.
_NARROWEST, _HANGING = 40, 2
_NEW_FILE = 0o666


def say(text: str, *, is_aligned: bool = False) -> None:
    """Print lines to standard error, with control characters of file names and log lines escaped.

    On a terminal, lines are wrapped between words, so that paths and commands can be copied.

    Args:
        text: the lines.
        is_aligned: True if a line points into the one above, so that neither can be wrapped.
    """
    lines = [printable(line) for line in text.split("\n")]
    if sys.stderr.isatty() and not is_aligned:
        width = max(_NARROWEST, shutil.get_terminal_size().columns)
        lines = [part for line in lines for part in (_wrapped(line, width) if len(line) > width else [line])]
    print("\n".join(lines), file=sys.stderr)


def _wrapped(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + _HANGING)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


#: The step before the first view, and the prefix of a view's step.
_STARTS, _VIEWS = "starting the engine", "views: "
#: Descriptions of steps, and the steps that are measured in bytes.
_STEPS = {
    "looking": "Examining files",
    "reading": "Reading logs",
    "reading names": "Reading names",
    "writing without names": "Writing the anonymised copy",
    "reading on executors": "Reading logs on Spark",
    "writing": "Writing rows",
    _STARTS: "Starting the engine",
}
_IN_BYTES = ("looking", "reading", "reading names", "writing without names")


def in_words(step: str) -> str:
    """Return the description of a step, such as `Computing split brain` for `views: split_brain`."""
    view = step.removeprefix(_VIEWS)
    return f"Computing {view.replace('_', ' ')}" if view != step else _STEPS.get(step, step)


@contextmanager
def output_file(path: Path) -> Iterator[TextIO]:
    """Open a file for the output of a command. The file is written under a temporary name and then renamed, so an error leaves it unchanged.

    The target of a link is replaced, not the link. A pipe, a device, or a file in a read-only folder is written directly.

    Raises:
        OSError: the file cannot be written.
    """
    target = path.resolve() if path.is_symlink() else path
    is_new = not target.exists()
    try:
        if not (is_new or target.is_file()):
            raise PermissionError  # noqa: TRY301  (a pipe or a device: handled like a read-only folder)
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
#: The duration of a step is shown when it exceeds this many seconds.
_LONG_SECONDS = 5.0
#: Computing views must take longer than this before another engine is recommended.
_SLOW_SECONDS = 20.0


class _NowDoing:
    """The current step of a command, and when it began."""

    def __init__(self) -> None:
        self._began = self._since = time.monotonic()
        self._step, self._done, self._total = "", 0, 0
        self._computes_since: float | None = None

    def update(self, step: str, done: int, total: int) -> None:
        """Record the current step, the amount done and the total."""
        if step != self._step:
            self._step, self._since = step, time.monotonic()
            if self._computes_since is None and (step.startswith(_VIEWS) or step == _STARTS):
                self._computes_since = self._since
        self._done, self._total = done, total

    def since(self) -> str:
        """Return the duration of the step if it is long, else an empty string."""
        seconds = time.monotonic() - self._since
        return f"({span(seconds)})" if seconds > _LONG_SECONDS else ""

    def say_quicker(self, engine: str) -> None:
        """Name an engine that computes views in less time, if they took long."""
        seconds = 0.0 if self._computes_since is None else time.monotonic() - self._computes_since
        if engine and seconds > _SLOW_SECONDS:
            say(f"Computing the views took {span(seconds)}; with `--engine {engine}` this machine answers faster.")

    def say_every_so_often(self, over: threading.Event) -> None:
        """Print the step and its duration after half a minute and then every minute, until `over` is set."""
        pause = _FIRST_SECONDS
        while not over.wait(pause):
            pause = _NEXT_SECONDS
            if self._step:
                now = time.monotonic()
                part = f" ({amount(self._done, self._total, None, in_bytes=self._step in _IN_BYTES)})" if self._total > 1 else ""
                say(f"{in_words(self._step)}{part}: running for {span(now - self._since)}; {span(now - self._began)} since the command started.")


def span(seconds: float) -> str:
    """Format a duration: `45 s`, `3 min 5 s`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def progress(quicker: str = "") -> Iterator[Callable[[str, int, int], None]]:
    """Show progress: on a terminal a bar with speed and remaining time, elsewhere a line from time to time if the command takes long.

    Args:
        quicker: the engine to recommend if computing views took long; empty for none.
    """
    now_doing = _NowDoing()
    with _shown(now_doing) as update:
        yield update
    now_doing.say_quicker(quicker)


@contextmanager
def _shown(now_doing: _NowDoing) -> Iterator[Callable[[str, int, int], None]]:
    """Show the current step until the context ends."""
    if not sys.stderr.isatty():
        over = threading.Event()
        saying = threading.Thread(target=now_doing.say_every_so_often, args=(over,), daemon=True, name="forensics-progress")
        saying.start()
        try:
            yield now_doing.update
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

        def update(step: str, done: int, total: int) -> None:
            nonlocal now
            now_doing.update(step, done, total)
            kind = step.partition(":")[0]
            if kind != now:  # each kind of step has its own speed
                now = kind
                bar.reset(task)
            known = total > 1
            bar.update(task, description=in_words(step), completed=done, total=total if known else None, left="left" if known and done else "")
            speed = bar.tasks[0].speed
            bar.update(task, amount=amount(done, total, speed, in_bytes=step in _IN_BYTES) if known else "")

        yield update


def amount(done: int, total: int, rate: float | None, *, in_bytes: bool) -> str:
    """Format the progress of a step: `120 of 340 MB, 35.0 MB/s`, or `12 of 200`.

    Args:
        done: bytes or items done.
        total: total bytes or items.
        rate: bytes or items per second; None if unknown.
        in_bytes: True if the step is measured in bytes.
    """
    if not in_bytes:
        return f"{done:,} of {total:,}"
    mega = 1e6
    digits = 0 if total >= 10 * mega else 1
    return f"{done / mega:,.{digits}f} of {total / mega:,.{digits}f} MB" + (f", {rate / mega:,.1f} MB/s" if rate else "")


def case_option(case: Location) -> str:
    """Return the option that names a case in a command, after a blank; empty if commands read this case by default."""
    from forensics.case import cache

    default = os.environ.get("FORENSICS_CASE") or DEFAULT_CASE
    if str(case) in (default, str(Path(default))):
        return ""
    return f" --case {cache.short_name(str(case)) or quote(str(case))}"


def say_ingested(summary: Summary, case: Location, time_zones: Sequence[str] = ()) -> None:
    """Print to standard error what was read and what was not, and which time zones apply to no file."""
    counts, option = summary.counts, case_option(case)
    found = [count(counts.get(kind, 0), kind.removesuffix("s")) for kind in ("lines", "records", "events")]
    if counts.get("counted"):
        found[-1] += f" and {count(counts['counted'], 'line')} counted but not stored"
    before = len(summary.files("read")) - len(summary.added)
    had = f", which had {before:,} already" * bool(summary.added and before)
    news = f"{count(len(summary.added), 'file')} read into {case}{had}" if summary.added or not summary.files("read") else f"no new logs for {case}"
    say(f"{news}. The case has {', '.join(found)}. {_recognised(counts)}" if counts.get("records") else f"{news}. The case contains no log records.")
    for was, now in summary.grown[:_SHOWN]:
        say(f"grown: {printable(was)}" + f", now {printable(now)}" * (was != now))
    if len(summary.grown) > _SHOWN:
        say(f"grown: {count(len(summary.grown) - _SHOWN, 'more file')}")
    for path in summary.gone[:_SHOWN]:
        say(f"gone: {printable(path)}; its rows are kept")
    if (more := len(summary.gone) - _SHOWN) > 0:
        say(f"gone: {count(more, 'more file')}; {'its' if more == 1 else 'their'} rows are kept")
    skipped = summary.files("skipped")
    for e in skipped[:_SHOWN]:
        say(f"skipped {printable(e.path)}: {e.note}")
    if len(skipped) > _SHOWN:
        say(f"skipped {count(len(skipped) - _SHOWN, 'more file')}")
    for process, note in summary.copies[:_SHOWN]:
        say(f"left out {printable(process)}: {note}")
    if len(summary.copies) > _SHOWN:
        say(f"left out {count(len(summary.copies) - _SHOWN, 'more copy', 'more copies')}: forensics sql coverage{option}")
    if summary.copies:
        say("the counts above include the lines of these copies.")
    _say_layouts(summary, option)
    from forensics.inventory.evidence import LOG
    from forensics.inventory.source_options import SourceOptions

    if undated := [e for e in summary.files("read") if e.times.first is None and e.format.profile.fitting and e.format.kind == LOG]:
        which = printable(undated[0].path) if len(undated) == 1 else count(len(undated), "file")
        say(f"no line of {which} has both a date and a time, so only the order of lines is known; a layout with %d{{ISO8601}} prints both.")
    _say_collected(summary)
    if backwards := [e for e in summary.files("read") if e.format.profile.newest_first]:
        which = printable(backwards[0].path) if len(backwards) == 1 else f"each of {count(len(backwards), 'file')}"
        # A row of an export contains a whole record.
        by_line = any(not (p.json or p.document is not None or p.is_table) for p in (e.format.profile for e in backwards))
        turned = " If the lines were reversed one by one (as by tac), settings and stack traces of several lines may be missing from the report."
        say(f"the newest line comes first in {which}, so it was read from the end.{turned * by_line}")
    _say_faults(summary.faults, {e.path for e in summary.files("unreadable")})
    for glob in SourceOptions.parse(time_zones).unmatched_zones((e.path, e.place.location) for e in summary.evidence):
        reason = f"the paths are {', '.join(printable(e.path) for e in summary.evidence[:3])}" + ", …" * (len(summary.evidence) > 3)
        say(
            f"warning: --time-zone {printable(glob)}=… matches no file.\n  reason: {reason}\n  help: Name the file or its folder as it is printed here."
        )
    if summary.assumed_zones:
        files = count(len(summary.assumed_zones), "file")
        have = "carries" if len(summary.assumed_zones) == 1 else "carry"
        say(f"{files} {have} no time zone; assumed UTC. If that is wrong, ingest again with --time-zone.")


def _say_faults(faults: Sequence[tuple[str, str]], unread: Collection[str]) -> None:
    """Print why files could not be read, or (those not in `unread`) not completely."""
    from forensics.inventory.evidence import FORBIDDEN

    for path, reason in faults:
        completely = " completely" * (path not in unread)
        say(
            f"error: {printable(path)} could not be read{completely}.\n  reason: {printable(reason)}"
            + f"\n  help: {NOT_ALLOWED}" * (reason == FORBIDDEN)
        )


def _recognised(counts: Mapping[str, int]) -> str:
    """Return how many records of relevant loggers were recognised."""
    unknown = counts.get("unrecognised", 0)
    if unknown:
        return f"{count(unknown, 'record')} from relevant loggers {'was' if unknown == 1 else 'were'} not recognised."
    if not counts.get("events") and not counts.get("counted"):
        return "No record is from a logger that concerns Kafka groups."
    return "Every record from a relevant logger was recognised."


def say_redacted(summary: Redacted, target: Path, mapping: Path | None) -> None:
    """Print to standard error what happened to names, records and files of an anonymised copy."""
    counts = summary.counts
    say(f"{count(summary.files, 'file')} with {count(counts.lines, 'line')} written to {target}.")
    if summary.replaced:
        say("Names replaced: " + ", ".join(summary.replaced) + ".")
    say(f"{count(counts.rewritten, 'recognised record')} kept, with names replaced.")
    if counts.kept:
        say(f"{count(counts.kept, 'unrecognised record')} kept, with every word replaced that is neither Kafka's nor plain English.")
    if withheld := counts.unrecognised + counts.damaged:
        why = (
            f" Of these, {counts.damaged:,} {'was' if counts.damaged == 1 else 'were'} recognised, but replacing names would have changed their meaning."
            if counts.damaged
            else ""
        )
        say(f"{count(withheld, 'record')}: message withheld; time, level, logger and source kept.{why}")
    if counts.strange:
        say(f"{count(counts.strange, 'line')} that {'belongs' if counts.strange == 1 else 'belong'} to no record withheld.")
    for path, reason in summary.left_out[:_SHOWN]:
        say(f"left out {printable(path)}: {reason}")
    if len(summary.left_out) > _SHOWN:
        say(f"left out {count(len(summary.left_out) - _SHOWN, 'more file')}")
    _say_faults(summary.faults, summary.unread)
    if summary.groups_moved:
        say(f"{count(len(summary.groups_moved), 'group')}: the pseudonym maps to another partition of __consumer_offsets than the group ID.")
    say(f"Names and pseudonyms are in {mapping}; keep it private." if mapping else "No mapping was written: the pseudonyms cannot be undone.")


def _say_collected(summary: Summary) -> None:
    """Print which files have only the times of a collector."""
    read = summary.files("read")
    if n := sum(e.times.by in ("collector", "collector_no_year") for e in read):
        say(f"the lines of {count(n, 'file')} have no times: the collector's times are used, assumed to be less than a second late.")
    if n := sum(e.times.by in ("log_no_year", "collector_no_year") for e in read):
        say(
            f"the times of {count(n, 'file')} have no year, or no date: the last one before the file was changed is assumed. If that is wrong, correct its date."
        )


def _say_layouts(summary: Summary, option: str) -> None:
    """Print the layouts of each file read now, the lines that fit no layout, and how far the closest layout matches the first such line."""
    from forensics.records.layouts import packaged
    from forensics.records.nearest_layout import nearest

    now = {e.path for e in summary.added}
    files = {path: file for path, file in summary.read.items() if path in now}
    by_layouts: dict[str, list[str]] = {}
    for path, file in files.items():
        by_layouts.setdefault(" and ".join(f'"{name}"' for name, _ in file.records.most_common()) or "none", []).append(path)
    for layouts, paths in list(by_layouts.items())[:_SHOWN]:
        names = ", ".join(map(printable, paths[:_SHOWN])) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        say(f"layout of {names}: {layouts}")
    unnamed = [(path, file) for path, file in files.items() if file.unnamed]
    for path, file in unnamed[:_SHOWN]:
        some = f"{file.unnamed:,} of {count(file.records.total(), 'record')} of {printable(path)} {'shows' if file.unnamed == 1 else 'show'}"
        say(f"{some} no logger: such a record is recognised by its message alone, so events may be missed.")
    if unnamed:
        say(
            f"  If these lines contain the logger, describe their layout with --layout; forensics sql source_file{option} counts the records of each layout."
        )
    strange = [(path, file.unfit, *file.first_unfit) for path, file in files.items() if file.first_unfit is not None]
    for path, unfit, line, text in strange[:_SHOWN]:
        fit = "fits" if unfit == 1 else "fit"
        say(f"{count(unfit, 'line')} of {printable(path)} {fit} no layout; the first is line {line}:")
        say(f"  {printable(text[:120])}", is_aligned=True)
        closest = nearest(text, packaged().layouts)
        if closest is not None:
            say(
                f"  {' ' * min(closest.reached, 120)}^ up to here it matches {closest.layout}; use --layout to describe another layout",
                is_aligned=True,
            )
    if len(strange) > _SHOWN:
        more = len(strange) - _SHOWN
        say(f"{count(more, 'more file')} {'has' if more == 1 else 'have'} such lines: forensics sql source_file{option}")

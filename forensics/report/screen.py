"""Print to a terminal, which has a size and a pager for long output, or to a file or a pipe, which have neither."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.cells import cell_len
from rich.text import Text

#: Width of text without a terminal: wide enough for the beginning of a log line, narrow enough for a ticket.
PIPED_WIDTH = 120
_NARROWEST = 40
#: Options of `less` unless the user has set others: exit immediately if all fits, keep colours, leave the text on the screen (as git does).
_LESS = "FRX"


def is_terminal() -> bool:
    """Return True if standard output is a terminal."""
    return sys.stdout.isatty()


def width() -> int:
    """Return the columns of the terminal, or $COLUMNS; 120 if there is neither."""
    if is_terminal():
        return max(_NARROWEST, shutil.get_terminal_size().columns)
    return requested_width() or PIPED_WIDTH


def requested_width() -> int | None:
    """Return the value of $COLUMNS; None if it is not set to a number."""
    columns = os.environ.get("COLUMNS", "")
    return max(_NARROWEST, int(columns)) if columns.isdecimal() and int(columns) else None


@contextmanager
def output(*, pager: bool = True) -> Iterator[TextIO]:
    """Yield the stream to print to. On a terminal, output is kept until it is complete, and goes to the pager if it is longer than the screen.

    Args:
        pager: False to print without a pager.
    """
    command = pager_command() if pager and is_terminal() else ""
    if not command:
        yield sys.stdout
        return
    kept = io.StringIO()
    try:
        yield kept
    except BaseException:
        sys.stdout.write(kept.getvalue())
        raise
    size = shutil.get_terminal_size()
    written = kept.getvalue()
    if rows_on_screen(written, size.columns) < size.lines:
        sys.stdout.write(written)
    else:
        _page(written, command)


def pager_command() -> str:
    """Return the pager: $FORENSICS_PAGER, else $PAGER, else `less`; empty if there is none, or if it is set to be empty or `cat`."""
    configured = os.environ.get("FORENSICS_PAGER", os.environ.get("PAGER"))
    command = ("less" if shutil.which("less") else "") if configured is None else configured.strip()
    return "" if command == "cat" or os.environ.get("TERM") == "dumb" else command


def rows_on_screen(written: str, columns: int) -> int:
    """Return the number of terminal rows that a text takes, with lines that the terminal wraps."""
    rows = 0
    for line in written.splitlines():
        wide = cell_len(Text.from_ansi(line).plain if "\x1b" in line else line)
        rows += max(1, -(-wide // max(1, columns)))
    return rows


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Leave Ctrl-C to the pager, in which it stops a search."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _page(written: str, command: str) -> None:
    """Show a text with a pager; print it unchanged if the pager cannot be run."""
    environment = {**os.environ, "LESS": os.environ.get("LESS", _LESS), "LV": os.environ.get("LV", "-c")}
    sys.stdout.flush()
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment, text=True, encoding="utf-8", errors="backslashreplace")
    assert process.stdin is not None  # noqa: S101  (for the type checker)
    with suppress(BrokenPipeError), process.stdin as given:  # the user may leave the pager before it has read everything
        given.write(written)
    with _uninterrupted():
        code = process.wait()
    if code in (126, 127):  # the shell's codes for: cannot be run, not found
        sys.stdout.write(written)

"""Read dumps of a JVM's threads (`jstack`, `kill -3`, `jcmd Thread.print`), also several in one file. Their times have no zone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from forensics.catalogue.threads import BEGIN, HEAD, elapsed_s, threads_of
from forensics.snapshots.observation import MAX_DOCUMENT_BYTES, Broken, Item, Line, Observation
from forensics.snapshots.output_times import time_in_line

if TYPE_CHECKING:
    from forensics.records.timestamps import Moment

EVENT = "thread_dump"
#: Lines before the first dump: the process id that `jcmd` prints, the time, and what a user saved with it.
_FIRST_LINES = 20


def is_thread_dump(texts: Iterable[str]) -> bool:
    """Return True if a dump begins in the first lines, and threads follow."""
    first = [text for text in texts if text.strip()]
    begins = next((n for n, text in enumerate(islice(first, _FIRST_LINES)) if BEGIN.fullmatch(text.rstrip())), None)
    return begins is not None and any(HEAD.fullmatch(text.rstrip()) for text in first[begins:])


def read_thread_dump(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield each dump, with the time in the line before it."""
    before: Line | None = None
    begin: Line | None = None
    moment: Moment | None = None
    texts: list[str] = []
    size, lost = 0, False
    for line in lines:
        if BEGIN.fullmatch(line.text.rstrip()):
            if begin is not None:
                yield _dump(begin, moment, texts)
            moment = time_in_line(before.text) if before is not None else None
            begin, texts, size = line, [], 0
        elif begin is not None:
            size += len(line.raw)
            if size > MAX_DOCUMENT_BYTES:
                lost = True
            else:
                texts.append(line.text)
        before = line
    if begin is not None:
        yield _dump(begin, moment, texts)
        if moment is None:
            yield Broken("a dump has no time in the line before it, so it has no place in time")
    if lost:
        yield Broken(f"a dump is larger than {MAX_DOCUMENT_BYTES >> 20} MB: its last threads are not read")


def _dump(begin: Line, moment: Moment | None, texts: list[str]) -> Item:
    threads = threads_of("\n".join(texts))
    captures = {"threads": threads, "elapsed_s": elapsed_s(iter(texts))}
    kept = {name: value for name, value in captures.items() if value}
    return Observation(begin.number, begin.offset, begin.raw, EVENT, begin.text.strip(), kept, moment=moment)

"""Read GC logs of a JVM: unified logging (JDK 9 and later) and the older forms of JDK 8, of all collectors, also with decimal commas.

Each pause of at least a second is a row, and so are shorter ones that follow each other with little between them and take a second together. One more
row says from when to when the file shows pauses, and how long the longest was, so that it can also show that the collector did not stop the process. A file
whose collections are not numbered without gaps lacks lines and shows no such thing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from forensics.snapshots.machine import HAPPENED, RECORD, WATCHED, fact, length_ms, patterns, times
from forensics.snapshots.observation import Broken, Item, Line, Strange, moment_of

#: Shorter pauses are no rows of their own.
LEAST_MS = 1_000
#: Shorter pauses together stop a process if they take at least this share of the time from the first to the last.
_MOST, _OF = 3, 4
_FORMAT = "gc_log"
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,]\d{1,9}(?:[+-]\d{4}|Z)"
#: The decorations of unified logging: brackets with time, uptime, level and tags; one with tags of collections or safepoints is among them. Or only a time.
UNIFIED = re.compile(
    rf"(?:(?:\[(?:(?P<time>{_ISO})|(?P<tags>(?:gc|safepoint)[\w,+]{{0,80}}) {{0,30}}|[^\[\]\n]{{0,80}})\]){{2,12}} ?|\[(?P<only>{_ISO})\] (?=GC\(\d))(?P<text>[^\n]*)"
)
#: The stamps of JDK 8: date, uptime and number of the collection. A line without any of them continues the one before.
STAMPED = re.compile(rf"(?:(?P<time>{_ISO}): )?(?P<uptime>\d{{1,12}}[.,]\d{{3,4}}): (?:#\d{{1,12}}: ?)?(?P<text>[^\n]*)")
DATED = re.compile(rf"(?P<time>{_ISO}): (?P<text>[^\n]*)")
REAL = re.compile(r"\[Times: user=(?P<user>\d+[.,]\d+) sys=(?P<sys>\d+[.,]\d+), real=(?P<s>\d+[.,]\d+) secs\]")
_NUMBER = re.compile(r"GC\((\d{1,9})\)")
CPU = re.compile(r"GC\((?P<number>\d{1,9})\) User=(?P<user>\d+[.,]\d+)s Sys=(?P<sys>\d+[.,]\d+)s Real=\d+[.,]\d+s")
#: The length of a collection at the end of its line.
LENGTH = re.compile(r", (\d+[.,]\d+) secs\]$")
_HEAD = re.compile(
    r"(?:OpenJDK|Java HotSpot\(TM\)) |CommandLine flags: |Memory: \d+k? page|/proc/meminfo:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d GC log file "
)
#: Lines of JDK 8 about the objects and free lists of a collection, and the rest of its line after them.
_WITHIN = re.compile(
    r"Desired survivor size |- age +\d|: \d+K->|, \d+[.,]\d+ secs\]|Heap(?: after GC .*)?$|(?:Before|After) GC:$|Statistics for |-{20,}$"
    r"|(?:Total|Max|Number|Av\.|Tree)  ?[\w ]{2,20}: -?\d|(?:Cancelling|Trigger|Free|Regions|Pacer|Shenandoah|Heuristics|GC threads|Humongous|Max TLAB)\b"
    r"|(?:PS)?AdaptiveSize|(?:Application time|Total time for which application threads were stopped): |size\[\d+\] : |[A-Z][\w ]{2,30}(?: \([GN]\))? +\d+ us$"
)
#: What a collector did beside the program, also in the line of a collection.
_CONCURRENT = re.compile(r"\[(?:(?:AS)?CMS-|GC )concurrent-[^\]\n]{0,100}\](?: ?\[Times: [^\]\n]{0,100}\])?")
_COLLECTION = re.compile(r"\[(?:Full )?GC(?![a-z])|\[Pause [A-Z]|application threads were stopped")
#: A collection that the patterns do not know; those beside the program, and the parts of one, stop nothing.
_UNKNOWN = re.compile(r"\[(?:Full )?GC(?! (?:concurrent|[A-Z]\w+ [A-Z(]|[a-z-]+,))")
#: A collection that begins within another one begins with it, microseconds.
_INNER_US = 1_000_000


@dataclass
class _Pause:
    """A pause: of JDK 8 its end may not be read yet, of later ones its processor time.

    Attributes:
        at_us: when it began.
        how: as printed.
        number: of the collection.
        ms: length; None: not read yet.
        cpu_ms: processor time that the collection used; None: not printed.
        to_us: when it ended, if it is several pauses, whose length is less; None: it is one.
    """

    line: Line
    at_us: int | None
    how: str
    number: str = ""
    ms: float | None = None
    cpu_ms: float | None = None
    to_us: int | None = None

    @property
    def end_us(self) -> int | None:
        if self.to_us is not None or self.at_us is None:
            return self.to_us
        return self.at_us + round((self.ms or 0) * 1_000)

    def and_then(self, pause: _Pause) -> _Pause | None:
        """Return this pause and the next one as one; None if the process ran too long between them."""
        if self.at_us is None or pause.end_us is None:
            return None
        ms = (self.ms or 0) + (pause.ms or 0)
        if ms * _OF * 1_000 < (pause.end_us - self.at_us) * _MOST:
            return None
        how = max((self, pause), key=lambda it: it.ms or 0).how
        return _Pause(self.line, self.at_us, how, pause.number, ms, self.cpu_ms, pause.end_us)

    def row(self) -> Item:
        begin, end = _ms(self.at_us), _ms(self.end_us)
        return fact(
            self.line,
            HAPPENED,
            f"{self.how}, {round(self.ms or 0)} ms",
            ts=self.at_us,
            what="pause",
            of="process",
            clock="host",
            **times(begin, end),
            how=self.how,
            length_ms=round(self.ms or 0),
            cpu_ms=None if self.cpu_ms is None else round(self.cpu_ms),
        )


@dataclass
class _Watched:
    """What a file shows so far.

    Attributes:
        lacks: number of collections that are missing, by their numbers, or whose length is.
        last: begin and end of the last pause.
        held: the last pause, whose processor time may follow; short ones with little between them are one.
    """

    first: Line | None = None
    from_us: int | None = None
    to_us: int | None = None
    pauses: int = 0
    longest_ms: float = 0
    number: int = -1
    lacks: int = 0
    last: tuple[int, int] | None = None
    held: _Pause | None = None

    def see(self, line: Line, at_us: int | None, text: str) -> None:
        """Note a line with a time."""
        self.first = self.first or line
        if at_us is not None:
            self.from_us = at_us if self.from_us is None else min(self.from_us, at_us)
            self.to_us = at_us if self.to_us is None else max(self.to_us, at_us)
        if found := _NUMBER.match(text):
            number = int(found[1])
            if number == 0 and self.number > 0:
                self.number = 0  # the JVM started again
            elif number > self.number:
                self.lacks += number - self.number - 1 if self.number >= 0 else 0
                self.number = number

    def add(self, pause: _Pause) -> Iterator[Item]:
        """Note a pause, and yield an earlier one that is complete. A collection and its safepoint are one pause."""
        ms = pause.ms or 0
        self.longest_ms = max(self.longest_ms, ms)
        # Times are printed in milliseconds, so the next pause may seem to begin before the last one has ended.
        its = None if pause.at_us is None or pause.end_us is None else (pause.at_us, pause.end_us)
        if its is not None and self.last is not None and min(self.last[1], its[1]) - max(self.last[0], its[0]) > ms * 500:
            return
        self.pauses += 1
        self.last = its
        is_long = ms >= LEAST_MS or self.held is None or (self.held.ms or 0) >= LEAST_MS
        together = None if is_long or self.held is None else self.held.and_then(pause)
        if together is None:
            yield from self.release()
        self.held = together or pause

    def before(self, opened: list[_Pause], at_us: int | None) -> Iterator[Item]:
        """Yield the collections that are still open at the beginning of another one, or at the end; without details, JDK 8 prints only their length.

        The beginning is not read to its end if another one follows: then the length is missing. A remark of CMS may begin with a collection of its own.
        """
        inner = opened[-1] if opened and opened[-1].ms is None and at_us is not None else None
        is_inner = inner is not None and len(opened) == 1 and inner.at_us is not None and at_us is not None and at_us - inner.at_us < _INNER_US
        for pause in () if is_inner else opened:
            if pause.ms is None:
                self.lacks += 1
            else:
                yield from self.add(pause)
        if not is_inner:
            opened.clear()

    def used(self, number: str, cpu_ms: float) -> None:
        """Note the processor time of a collection."""
        if self.held is not None and number == self.held.number:
            self.held.cpu_ms = (self.held.cpu_ms or 0) + cpu_ms

    def release(self) -> Iterator[Item]:
        """Yield the pause that is held, if it is long."""
        if self.held is not None and (self.held.ms or 0) >= LEAST_MS:
            yield self.held.row()
        self.held = None


def is_gc_log(texts: Iterable[str]) -> bool:
    """Return True if the first lines are those of a GC log, and of nothing else."""
    seen = other = 0
    collections = False
    for text in texts:
        if not text.strip():
            continue
        unified = UNIFIED.fullmatch(text)
        if unified and (unified["tags"] or unified["only"]):
            seen += 1
            collections = True
        elif (
            unified
            or REAL.search(text)
            or _HEAD.match(text)
            or _WITHIN.match(text)
            or text.startswith((" ", "\t", "[GC ", "{Heap", "}"))
            or STAMPED.fullmatch(text)
            or DATED.fullmatch(text)
        ):
            seen += 1
            collections = collections or _COLLECTION.search(text) is not None
        else:
            other += 1
    return collections and seen > 9 * other


def read_gc_log(lines: Iterable[Line]) -> Iterator[Item]:
    """Yield the pauses of at least a second, and what the file covers."""
    watched = _Watched()
    opened: list[_Pause] = []
    for line in lines:
        text = line.text.rstrip()
        found = UNIFIED.fullmatch(text) or STAMPED.fullmatch(text) or DATED.fullmatch(text)
        time = found and (found["time"] or found.groupdict().get("only"))
        at_us = moment_of(time.replace("Z", "+0000").replace(",", ".")) if time else None
        said = found["text"] if found else text
        if found:
            watched.see(line, at_us, said)
        elif RECORD.match(text):
            yield Strange(line.number, "(a record of a log)")
        for pattern in patterns(_FORMAT):
            match = pattern.pattern.fullmatch(said)
            if match is None:
                continue
            groups = match.groupdict()
            how, number, ms = groups["how"], _NUMBER.match(said), length_ms(groups)
            if pattern.what != "pause":
                yield from _stall(line, at_us, pattern.what, how, ms)
                break
            yield from watched.before(opened, at_us if pattern.begins else None)
            if pattern.begins:
                opened.append(_Pause(line, at_us, how, ms=_seconds(length[1]) if (length := LENGTH.search(said)) else None))
            elif ms is not None:
                begin = None if at_us is None else at_us - round(ms * 1_000)
                yield from watched.add(_Pause(line, begin, how, number[1] if number else "", ms))
            break
        else:
            watched.lacks += is_unknown(said)
        # The times of concurrent work are printed in the same form.
        if opened and (real := times_of(text)):
            pause = opened.pop()
            pause.ms, pause.cpu_ms = _seconds(real["s"]), _seconds(real["user"]) + _seconds(real["sys"])
            yield from watched.add(pause)
        elif watched.held is not None and (cpu := CPU.match(said)):
            watched.used(cpu["number"], _seconds(cpu["user"]) + _seconds(cpu["sys"]))
    yield from watched.before(opened, None)
    yield from watched.release()
    if watched.first is None:
        return
    if watched.from_us is None:
        yield Broken("its lines have no date: the JVM printed only the time since its start, so its pauses have no place in time")
    yield fact(
        watched.first._replace(raw=watched.first.raw.rstrip() + b"\0watched"),  # that line may be a pause, with an ID of its own
        WATCHED,
        f"{watched.pauses} pauses" + (f", the longest {round(watched.longest_ms)} ms" if watched.pauses else ""),
        ts=watched.from_us,
        what="pause",
        of="process",
        clock="host",
        **times(_ms(watched.from_us), _ms(watched.to_us)),
        count=watched.pauses,
        longest_ms=round(watched.longest_ms) if watched.pauses else None,
        lacks=watched.lacks or None,
    )


def _stall(line: Line, at_us: int | None, what: str, how: str, ms: float | None) -> Iterator[Item]:
    """Yield what stopped one thread for at least a second, until the time of the line."""
    if ms is not None and ms >= LEAST_MS:
        end = _ms(at_us)
        begin = None if end is None else end - round(ms)
        ts = None if begin is None else begin * 1_000
        yield fact(
            line, HAPPENED, f"{what}, {round(ms)} ms", ts=ts, what=what, of="process", clock="host", **times(begin, end), how=how, length_ms=round(ms)
        )


def times_of(text: str) -> re.Match[str] | None:
    """Return the times of a collection of JDK 8 in a line; None if it has none, or only those of work beside the program."""
    return REAL.search(_CONCURRENT.sub("", text))


def is_unknown(said: str) -> bool:
    """Return True if a line without its stamps is that of a collection of an unknown form."""
    return _UNKNOWN.match(said) is not None


def _seconds(text: str) -> float:
    """Return printed seconds in milliseconds."""
    return float(text.replace(",", ".")) * 1_000


def _ms(at_us: int | None) -> int | None:
    return None if at_us is None else at_us // 1_000

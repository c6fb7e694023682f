"""Order the lines of a page, of all processes, by the reference clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.clocks.reference import ms
from forensics.report.merged import head
from forensics.wording.formats import NO_TEXT, printable, shorten, tolerance

if TYPE_CHECKING:
    from forensics.clocks.reference import Reference
    from forensics.report.model import Row
    from forensics.report.page.process_style import ProcessStyles

#: Maximum number of characters of a line; `forensics show` prints whole lines.
_LONGEST = 600
_LONGEST_HEAD = 120


@dataclass(frozen=True)
class Line:
    """A line on the reference clock.

    Attributes:
        event_id: its ID.
        at: milliseconds on the reference clock, the middle of the bounds; None: the line has no time.
        bound: maximum distance of the true time from `at`, in milliseconds.
        own: milliseconds on its writer's clock.
        process: number of its writer's style.
        where: `path:line`.
        event: its kind of event, in words.
        head: level, class and client, safe to print.
        text: its message, safe to print.
    """

    event_id: str
    at: float | None
    bound: int
    own: float | None
    process: int
    where: str
    event: str
    head: str
    text: str


@dataclass(frozen=True)
class Journal:
    """Lines in order; `place` maps an event ID to its line's number."""

    lines: tuple[Line, ...]
    place: Mapping[str, int]

    def numbers(self, event_ids: Iterable[str]) -> list[int]:
        """Return the numbers of those lines that are in the page, in time order."""
        return sorted({self.place[i] for i in event_ids if i in self.place})


def write(rows: Iterable[Row], styles: ProcessStyles, reference: Reference) -> Journal:
    """Return the journal of events with `text`.

    Lines of one process keep the order of its log, because many lines share a millisecond.
    """
    placed = []
    for row in rows:
        moment = reference.moment(row["process_id"], row["ts"])
        line = Line(
            event_id=row["event_id"],
            at=moment.middle if moment else None,
            bound=tolerance(moment.hi - moment.lo) if moment else 0,
            own=ms(row["ts"]),
            process=styles.number(row["process_id"]),
            where=printable(f"{row['path']}:{row['line']}"),
            event=(row.get("event") or "").replace("_", " "),
            head=printable(shorten(head(row), _LONGEST_HEAD)),
            text=printable(shorten(row["text"] or NO_TEXT, _LONGEST)),
        )
        placed.append(((line.at if line.at is not None else float("inf"), line.process, row.get("stream_pos") or row["line"] or 0), line))
    placed.sort(key=lambda p: (p[0], p[1].event_id))
    lines = tuple(line for _, line in placed)
    return Journal(lines, {line.event_id: n for n, line in enumerate(lines)})

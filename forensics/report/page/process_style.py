"""Define how a process looks wherever it is drawn: a colour, a pattern for readers who cannot see colours, a short name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.wording.formats import printable, shorten

if TYPE_CHECKING:
    from forensics.report.model import Report
    from forensics.report.names import Names

#: Okabe and Ito's colours, which people with any kind of colour vision can distinguish. Their vermilion is kept for overlaps, their black for text.
COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#CC79A7", "#F0E442", "#0072B2")
ANOMALY = "#D55E00"
#: Patterns that every medium here can draw; neighbours in this list are easy to distinguish.
PATTERNS = (
    "blank",
    "right_diagonal_line",
    "dot",
    "left_diagonal_line",
    "vertical_line",
    "cross",
    "horizontal_line",
    "diagonal_cross",
)
_LONGEST_NAME = 24


@dataclass(frozen=True)
class ProcessStyle:
    """A process's style; `number` is its place in `ProcessStyles`, `name` is safe to print."""

    number: int
    process_id: str
    name: str
    role: str
    colour: str
    pattern: str


class ProcessStyles:
    """The styles of all processes of a report: owners first, so that they get the plainest patterns."""

    def __init__(self, report: Report, names: Names) -> None:
        roles = {p["process_id"]: p["role"] or "" for p in report.case["processes"]}
        owners = {o["process_id"] for o in report.ownership}
        known = sorted(roles, key=lambda p: (p not in owners, roles[p] == "broker", names.process(p), p))
        self.all = tuple(_style(n, p, names.process(p), roles[p]) for n, p in enumerate([*known, *sorted(_unlisted(owners, roles))]))
        self._of = {style.process_id: style for style in self.all}

    def of(self, process_id: str | None) -> ProcessStyle | None:
        """Return the style of a process; None if it is unknown."""
        return self._of.get(process_id) if process_id else None

    def number(self, process_id: str | None) -> int:
        """Return a process's number; -1 if it is unknown."""
        style = self.of(process_id)
        return style.number if style else -1


def _unlisted(owners: Iterable[str | None], roles: dict[str, str]) -> set[str]:
    return {o for o in owners if o and o not in roles}


def _style(number: int, process_id: str, name: str, role: str) -> ProcessStyle:
    pattern = PATTERNS[(number + number // len(COLOURS)) % len(PATTERNS)]
    return ProcessStyle(number, process_id, shorten(printable(name), _LONGEST_NAME), role, COLOURS[number % len(COLOURS)], pattern)

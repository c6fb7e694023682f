"""Show the lines of a proof in time order, each with its role: the three most important, or all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forensics.report.document import Block, Line, Lines
from forensics.wording.formats import NO_TEXT, shorten, tolerance

if TYPE_CHECKING:
    from forensics.clocks.reference import Reference
    from forensics.report.model import Row
    from forensics.wording.formats import Clock

_FOLDED = 3
#: Maximum number of characters of a line if only three are shown; the whole proof has whole lines.
_LONGEST = 300
_B_BEGAN = ("B starts", "B is already active", "B is asked to start")
#: If both worked, the order to start is the clearest line of B's start, because B's work shows that it ran.
_B_ORDERED = ("B is asked to start", "B starts", "B is already active")
#: Roles that show two owners: B began while A worked, and B worked; else A was there, B began, and A was still there.
_OF_OWNERS = (
    (_B_ORDERED, ("A is processing",), ("B is processing",)),
    (("A starts", "A is already active"), _B_BEGAN, ("A is processing", "A is still active", "A ends", "A is asked to stop")),
)
#: The first line of a client that runs; it shows that the owner has started, not its start.
_FIRST_SIGN = re.compile(r"(?:\[[^\]]*\] )?(?:Cluster ID: |Subscribed to )")
_STARTS = ("A starts", "B starts")
#: A line's own time is also printed if it differs from the reference clock by more than this.
_FAR_MS = 1000


class Proofs:
    """The proofs of one report.

    Args:
        clock: formats times.
        reference: the reference clocks, which order the lines of several processes and give their times.
        everything: show every line, not only the three most important.
    """

    def __init__(self, clock: Clock, reference: Reference, *, everything: bool = False) -> None:
        self._clock, self._reference, self._everything = clock, reference, everything

    def blocks(self, witness: Sequence[Row], finding_id: str = "", *, everything: bool = False) -> list[Block]:
        """Return a proof as blocks; none if it has no lines.

        Args:
            witness: its lines, each with `event_id` and the case's columns of it.
            finding_id: the finding that it proves, for the command that shows the rest; empty: none.
            everything: show every line of this proof.
        """
        if not witness:
            return []
        everything = everything or self._everything
        shown = list(witness) if everything else key_lines(witness)
        shown.sort(key=self._place)
        more = ""
        if len(shown) < len(witness):
            show = f"`forensics show {finding_id}` or " if finding_id else ""
            more = f"{len(shown)} of {len(witness)} lines; {show}`--proof all` prints all"
        return [Lines(tuple(self._line(w, whole=everything) for w in shown), more=more)]

    def _place(self, w: Row) -> tuple[float, str, int, str]:
        moment = self._reference.moment(w.get("process_id"), w.get("ts"))
        return (moment.middle if moment else float("inf"), w.get("process_id") or "", w.get("line") or 0, w["event_id"])

    def _line(self, w: Row, *, whole: bool) -> Line:
        role = displayed_role(w.get("role") or "", w.get("text") or "")
        if w.get("path") is None:
            return Line("?", "", "(not in this case's tables)", w["event_id"], role)
        text = w["text"] or NO_TEXT
        return Line(f"{w['path']}:{w['line']}", self._time(w), text if whole else shorten(text, _LONGEST), w["event_id"], role)

    def _time(self, w: Row) -> str:
        moment = self._reference.moment(w["process_id"], w["ts"])
        if moment is None:
            return "no time"
        bound = tolerance(moment.hi - moment.lo)
        text = self._clock.at(datetime.fromtimestamp(moment.middle / 1000, UTC)) + (f" ±{bound} ms" if bound else "")
        far = abs(w["ts"].timestamp() * 1000 - moment.middle) >= _FAR_MS
        return text + (f" (by its own clock {self._clock.at(w['ts'])})" if far else "")


def displayed_role(role: str, text: str) -> str:
    """Return a role as the reader sees it beside its line: `A starts` beside a client's first line is the first sign that A runs."""
    role = role.replace("_", " ")
    return f"first sign that {role[0]} runs" if role in _STARTS and _FIRST_SIGN.match(text) else role


def key_lines(witness: Sequence[Row]) -> list[Row]:
    """Return the three most important lines: for two owners, that both existed or worked; else one for each role, in the proof's order."""
    by_role: dict[str, list[Row]] = {}
    for w in witness:
        by_role.setdefault(w.get("role") or "", []).append(w)
    for lines in _OF_OWNERS:
        chosen = [by_role[role][-1] for roles in lines if (role := next((r for r in roles if r in by_role), None)) is not None]
        if len({w["event_id"] for w in chosen}) == len(lines):
            return chosen
    first = {w["event_id"]: w for w in (*(same[0] for same in by_role.values()), witness[-1], *witness)}
    return list(first.values())[:_FOLDED]

"""Convert generations to rounds: when each rebalance began on the reference clock, when it had settled, why, and when the next one began."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from forensics.clocks.reference import Moment, Reference
from forensics.report import anchors
from forensics.report.groups import trigger
from forensics.report.page.scene import Round
from forensics.report.row_times import BY_COORDINATOR, GENERATION_BEGAN, GENERATION_BEGUN_BY

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names

_SETTLED = ("assigned_ts", "last_synced_ts", "stabilized_ts")


def find(report: Report, names: Names, reference: Reference, groups: Sequence[tuple[str, str]], last: float) -> tuple[Round, ...]:
    """Return the rounds of all groups, by group and time; generations without any time are left out.

    Args:
        report: the report with the groups.
        names: the report's names of members.
        reference: the clocks.
        groups: Kafka cluster and ID of each group, in their order on the page.
        last: end of the last generation.
    """
    numbers = {group: n for n, group in enumerate(groups)}
    drawn: list[Round] = []
    for group in report.groups:
        number = numbers[group["kafka_cluster"] or "", group["group_id"] or ""]
        found: list[tuple[Moment, Row]] = []
        for g in group["generations"]:
            if began := _moment(g, (*GENERATION_BEGAN, *GENERATION_BEGUN_BY), reference):
                found.append((began, g))
        found.sort(key=lambda f: (f[0].middle, f[1]["incarnation"] or 0, f[1]["generation"] or 0))
        for (began, g), (after, _) in pairwise([*found, (Moment(last, last), {})]):
            settled = _moment(g, _SETTLED, reference)
            drawn.append(
                Round(
                    group=number,
                    start_lo=began.lo,
                    start_hi=began.hi,
                    settled=max(began.middle, settled.middle) if settled else None,
                    end=max(began.hi, after.middle),
                    number=g["generation"],
                    why=trigger([g], names) + ("" if any(g[c] for c in GENERATION_BEGAN) else "; the lines show only a later step of it"),
                    anchor=anchors.generation(g),
                    witness=tuple(g.get("witness") or ()),
                )
            )
    return tuple(drawn)


def _moment(g: Row, columns: Sequence[str], reference: Reference) -> Moment | None:
    column = next((c for c in columns if g.get(c)), None)
    if column is None:
        return None
    # Members' times are already on the reference clock.
    return reference.moment(g["coordinator"] if column in BY_COORDINATOR else None, g[column])

"""Find whether the coordinator was down in an outage, by its own log or those of other brokers."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from forensics.relations.by_key import InTime
from forensics.relations.missing import first, minus, order, plus, up_to

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Knobs, Row

_PLACE = ("kafka_cluster", "broker_id", "reference_process_id")
_COLUMNS = ("event_id", "process_id", *_PLACE, "how", "from_ms", "to_ms", "from_lo_ms", "from_hi_ms", "to_hi_ms", "is_steady")


class AbsentBrokers:
    """The times in which brokers were down.

    Args:
        inputs: rows of `broker_absence`.
    """

    def __init__(self, inputs: Inputs, _: object) -> None:
        self._knobs = inputs.knobs
        absences = inputs.rows("broker_absence", _COLUMNS)
        # Reports of one time in the order of their events.
        self._reports = InTime((row for row in absences if row["how"] == "reported"), "from_lo_ms", *_PLACE)
        its: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
        for row in absences:
            place = tuple(row[name] for name in _PLACE)
            if row["how"] not in ("reported", None) and row["from_lo_ms"] is not None and None not in place:
                its[place].append(row)
        self._absences = {place: _Absences(rows, inputs.knobs) for place, rows in its.items()}

    def of(self, outage: Row) -> Row:
        """Return when the coordinator of an outage was down, and who reports it."""
        place = tuple(outage[name] for name in _PLACE)
        report = self._report(outage, place)
        near = [row for row in self._absences[place].near(outage) if _is_near(row, outage, report)] if place in self._absences else []
        down = min((row for row in near if _is_placed(row, outage, self._knobs)), key=_order, default=None)
        unplaced = min((row for row in near if row["is_steady"] is False and row["how"] != "silent"), key=_order, default=None)
        return {
            "missed_by": report["process_id"] if report is not None else None,
            "missed_id": report["event_id"] if report is not None else None,
            "down_how": down["how"] if down is not None else None,
            **_span("down", down),
            **_span("unplaced", unplaced if down is None else None),
        }

    def _report(self, outage: Row, place: tuple[object, ...]) -> Row | None:
        """Return the first report of another broker that it was down."""
        from_ms = minus(outage["from_ms"], self._knobs.broker_silent_ms)
        to_ms = first(outage["to_ms"], plus(outage["last_lost_ms"], self._knobs.outage_open_ms))
        report = self._reports.first_from(place, from_ms) if from_ms is not None and None not in place else None
        return report if report is not None and up_to(report["from_lo_ms"], to_ms) else None


class _Absences:
    """The absences of one broker by its own log, in the order of their begins.

    Args:
        rows: rows of `broker_absence`.
        knobs: the thresholds.
    """

    def __init__(self, rows: Sequence[Row], knobs: Knobs) -> None:
        self._rows = sorted(rows, key=lambda row: int(row["from_lo_ms"]))
        self._noticed_ms = knobs.broker_noticed_ms
        #: How far each one, or one before it, reaches; none before these can be near an outage that begins later.
        self._reach = list(accumulate((self._until(row, knobs) for row in self._rows), max))
        self._own_reach = [self._until(row, knobs) for row in self._rows]

    def _until(self, row: Row, knobs: Knobs) -> float:
        """Return until when a member that loses the broker shows that it was down: it notices the loss immediately or at the next heartbeat."""
        if row["how"] == "silent":
            return float(row["from_lo_ms"] + knobs.broker_silent_ms)
        return float("inf") if row["to_hi_ms"] is None else float(row["to_hi_ms"] + knobs.broker_noticed_ms)

    def near(self, outage: Row) -> Iterator[Row]:
        """Yield the absences that begin before the last loss of an outage, and reach its begin."""
        if outage["last_lost_ms"] is None:
            return
        from_ms = outage["from_ms"]
        begun = bisect_right(self._rows, outage["last_lost_ms"] + self._noticed_ms, key=lambda row: row["from_lo_ms"])
        for at in range(0 if from_ms is None else bisect_left(self._reach, from_ms), begun):
            # If the begin is unknown, only a log that simply ends is not near it.
            if self._own_reach[at] >= from_ms if from_ms is not None else self._rows[at]["how"] != "silent":
                yield self._rows[at]


def _is_near(row: Row, outage: Row, report: Row | None) -> bool:
    """Return False for a log that simply ends, unless something else shows that the broker died.

    Another process has to report it, or several processes must lose the broker at the same time.
    """
    moved = None not in (outage["new_broker_id"], outage["broker_id"]) and outage["new_broker_id"] != outage["broker_id"]
    return row["how"] != "silent" or len(outage["who"]) > 1 or moved or report is not None


def _is_placed(row: Row, outage: Row, knobs: Knobs) -> bool:
    """Return True if the broker was down then.

    If a clock was set back, the broker may have printed its last line long after the loss that seems to follow it: it was down then or at another time.
    """
    is_steady = row["is_steady"] and row["how"] != "silent"
    return bool(is_steady or up_to(row["from_hi_ms"], plus(outage["last_lost_lo_ms"], knobs.broker_noticed_ms)))


def _order(row: Row) -> Any:  # noqa: ANN401 (what can be compared with another key)
    return order([row[name] for name in ("from_ms", "process_id", "event_id")])


def _span(kind: str, row: Row | None) -> Row:
    return {f"{kind}_{name}": row[of] if row is not None else None for name, of in (("from_ms", "from_ms"), ("to_ms", "to_ms"), ("id", "event_id"))}

"""Export a case as JSON lines for Timesketch: every event, finding and overlap, with its time on the reference clock."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TextIO

from forensics.case.integrity import rows_in
from forensics.report.model import Report
from forensics.report.stored_rows import CaseLike, pylist
from forensics.wording.formats import printable_lines

Row = Mapping[str, Any]
_BATCH = 10_000
_PLAIN = (str, int, float, bool)


def write(case: CaseLike, report: Report, to: TextIO) -> int:
    """Write the lines: `message`, `datetime`, `timestamp` (microseconds), `timestamp_desc`, and the other columns of the row.

    A process's own time is converted to the clock of its island's reference, by the middle of the bounds between the two. `own_datetime` is the time
    in the log, `clock_bounds_ms` the maximum error of the conversion. Rows without a time are not written, because Timesketch cannot place them.

    Returns:
        The number of lines.
    """
    number = 0
    for row in _rows(case, report):
        to.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
        number += 1
    return number


def _rows(case: CaseLike, report: Report) -> Iterator[Row]:
    clocks = {c["process_id"]: c for c in report.clocks if c.get("is_island_reference")}
    groups, since, until = set(report.filters["groups"]), report.filters["since"], report.filters["until"]
    for event in _events(case.table_paths("event_row")):
        if event["ts"] is None or (groups and event.get("group_id") not in groups):
            continue
        at, more = _placed(event["ts"], clocks.get(event["process_id"]))
        if (since is not None and at < since) or (until is not None and at > until):
            continue
        yield _line(at, str(event["message"] or event["event"]), f"Kafka: {event['event']}", event, ("message", "ts"), more)
    for finding in report.findings:
        if finding["from_ts"] is not None:
            yield _line(
                finding["from_ts"],
                finding["headline"],
                f"Finding: {finding['rule']}",
                finding,
                ("headline",),
                {"tag": ["finding", finding["severity"]]},
            )
    for overlap in report.split_brain:
        at = overlap["from_hi"] or overlap["from_lo"]
        if at is not None and overlap["verdict"] != "refuted":
            text = (
                f"{overlap['verdict']}: {overlap['process_a']} and {overlap['process_b']} both had {overlap['resource_kind']} {overlap['resource']}"
            )
            yield _line(at, text, f"Two owners: {overlap['kind']}", overlap, (), {"tag": ["split-brain", overlap["verdict"]]})


def _events(paths: Sequence[str]) -> Iterator[Row]:
    for path in paths:
        for batch in rows_in(path).to_batches(batch_size=_BATCH):
            yield from pylist(batch)


def _placed(own: datetime, clock: Row | None) -> tuple[datetime, dict[str, Any]]:
    """Convert a time of a process's own clock to the reference clock."""
    attributes = {"own_datetime": own.isoformat()}
    if clock is None or clock["lo_ms"] is None or clock["hi_ms"] is None:
        return own, attributes
    middle = (clock["lo_ms"] + clock["hi_ms"]) / 2
    return own - timedelta(milliseconds=middle), attributes | {"clock_bounds_ms": (clock["hi_ms"] - clock["lo_ms"]) / 2}


def _line(at: datetime, message: str, what: str, row: Row, without: Sequence[str], more: Mapping[str, Any]) -> Row:
    at = at.astimezone(UTC)
    values = {k: v if isinstance(v, _PLAIN) else json.dumps(v, default=str) for k, v in row.items() if v is not None and k not in without and v != []}
    line: dict[str, Any] = {"message": message, "datetime": at.isoformat(), "timestamp": round(at.timestamp() * 1_000_000), "timestamp_desc": what}
    line.update((k, v) for k, v in values.items() if k not in line)
    line.update(more)
    return {k: printable_lines(v) if isinstance(v, str) else v for k, v in line.items()}

"""Compute the view `source_offset`: what source connectors stored, record by record, and how each differs from the one before.

Offsets are JSON of the connector's own. They are compared only if they have the same keys: numbers, and texts that differ in their last digits. An offset
went back if some of them are lower and none is higher. Debezium marks offsets that it stores while it takes a snapshot.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from forensics.relations.conditions import one_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from forensics.relations.inputs import Inputs, Row

_EVENTS = ("source_offset_stored", "source_offset_removed", "source_offset_reported")
_COLUMNS = ["event_id", "event", "file_id", "connector", "columns", "log_offset", "ts", "path", "line"]
_NOT_A_SNAPSHOT = {None, False, "", "false", "none", "null", "incremental"}
_ENDS_IN_NUMBER = re.compile(r"(.*?)(\d{1,18})")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `source_offset`."""
    found: list[Row] = []
    last: dict[tuple[Any, ...], Row] = {}
    # The columns are a map, whose pairs Arrow returns as a list.
    records = [{**row, "columns": dict(row["columns"] or ())} for row in inputs.rows("event_row", _COLUMNS, one_of("event", _EVENTS))]
    for row in sorted(records, key=lambda r: (r["path"], r["line"], r["event_id"])):
        partition, offset = row["columns"].get("partition"), row["columns"].get("offset")
        is_reported = row["event"] == "source_offset_reported"
        key = row["file_id"], row["connector"], partition
        before = None if is_reported else last.get(key)
        same = before and (before["source_offset"], before["stored_ts"], before["log_offset"]) == (offset, row["ts"], row["log_offset"])
        if same and row["log_offset"] is not None:
            continue  # the same record, of a topic that was printed twice
        one: Row = {
            "connector": row["connector"], "source_partition": partition, "source_offset": offset, "stored_ts": row["ts"], "log_offset": row["log_offset"],
            "source": "connect_rest" if is_reported else "connect_topic", "outcome": "last" if offset is not None else "removed",
            "previous_offset": before["source_offset"] if before else None, "previous_ts": before["stored_ts"] if before else None,
            "change": None if is_reported else change_of(before["source_offset"], offset) if before else "first",
            "is_ordered": _is_ordered(before, row), "is_snapshot": None if offset is None else is_snapshot(offset), "path": row["path"], "line": row["line"],
            "previous_event_id": before["event_id"] if before else None, "event_id": row["event_id"],
        }  # fmt: skip
        found.append(one)
        if not is_reported:
            if before and before["outcome"] == "last":
                before["outcome"] = "earlier"
            last[key] = one
    return found


def _is_ordered(before: Row | None, row: Row) -> bool | None:
    """Return True if offsets or times show that a record is later than the one before: a topic may have been printed twice into one file."""
    if before is None:
        return None
    if before["log_offset"] is not None and row["log_offset"] is not None:
        return bool(before["log_offset"] < row["log_offset"])
    if before["stored_ts"] is not None and row["ts"] is not None:
        return bool(before["stored_ts"] < row["ts"])
    return None


def is_snapshot(offset: str) -> bool | None:
    """Return True for an offset that was stored during a snapshot, False if it says that it was not, None if it says nothing."""
    value = json.loads(offset)
    if not isinstance(value, dict) or not value.keys() & {"snapshot", "snapshot_completed", "initsync"}:
        return None
    text = str(value.get("snapshot") or value.get("initsync") or "").lower()
    return text not in _NOT_A_SNAPSHOT or value.get("snapshot_completed") is False


def change_of(before: str | None, after: str | None) -> str:
    """Return how an offset differs from the one before; see the view."""
    if after is None:
        return "removed"
    if before is None:
        return "after_removal"
    if before == after:
        return "same"
    # An offset outside a snapshot has no mark in most connectors, and all marked ones have another form.
    if is_snapshot(after) and not is_snapshot(before):
        return "snapshot_again"
    old, new = (dict(_leaves("", json.loads(text))) for text in (before, after))
    if old.keys() != new.keys():
        return "other"
    signs = {_compared(old[name], new[name]) for name in old} - {0}
    return "back" if signs == {-1} else "forward" if signs == {1} else "other"


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (what JSON gives)
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(f"{name}.{key}", item)
    elif isinstance(value, list):
        yield name, json.dumps(value, sort_keys=True)
    else:
        yield name, value


def _compared(old: Any, new: Any) -> int | None:  # noqa: ANN401  (what JSON gives)
    """Return -1 if a value is lower than before, 0 if it is equal, 1 if it is higher, None if the two cannot be compared."""
    if old == new and type(old) is type(new):
        return 0
    numbers = [value for value in (old, new) if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) == 2:  # noqa: PLR2004
        return 1 if new > old else -1
    if isinstance(old, str) and isinstance(new, str):
        a, b = _ENDS_IN_NUMBER.fullmatch(old), _ENDS_IN_NUMBER.fullmatch(new)
        if a and b and a[1] == b[1] and int(a[2]) != int(b[2]):
            return 1 if int(b[2]) > int(a[2]) else -1
    return None

"""Compute the view `source_start`: from where source tasks started to read, and whether they took a snapshot, as their connectors print it."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.clocks.offsets import Clocks
from forensics.logs.events import events
from forensics.logs.instances import Instances
from forensics.relations.conditions import one_of
from forensics.relations.missing import up_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forensics.relations.inputs import Inputs, Row

_FOUND, _MISSING, _DECIDED, _ENDED = _EVENTS = ("source_offset_found", "source_offset_missing", "source_snapshot_decided", "source_snapshot_ended")
_COLUMNS = ["event_id", "event", "process_id", "stream_pos", "ts", "task", "text", "state"]
_PAIRS = re.compile(r"\{([^{}]*)\}\s*$")


def rows(inputs: Inputs) -> list[Row]:
    """Return the rows of the view `source_start`."""
    lines = events(inputs, _COLUMNS, one_of("event", _EVENTS) & pc.field("task").is_valid())
    runs: defaultdict[tuple[Any, ...], list[Row]] = defaultdict(list)
    instances, starts = Instances(inputs), _task_starts(inputs) if lines else {}
    for line in sorted(lines, key=lambda line: line["stream_pos"]):
        instance = instances.at(line["process_id"], line["stream_pos"])
        key = line["process_id"], instance, line["task"]
        runs[*key, bisect_right(starts.get(key, ()), line["stream_pos"])].append(line)
    stored, clocks = _stored(inputs) if runs else {}, Clocks(inputs)
    found = [_row(key, its, stored) for key, its in runs.items()]
    earlier = _Earlier(found, clocks)
    return [{name: value for name, value in (row | earlier.than(row)).items() if not name.startswith("_")} for row in found]


def _task_starts(inputs: Inputs) -> dict[tuple[str, int, str], list[int]]:
    """Return the positions at which tasks were started in each run of a process."""
    found: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
    is_start = (pc.field("kind") == "start") & (pc.field("resource_kind") == "task")
    for row in inputs.rows("task_line", ["process_id", "instance", "resource", "stream_pos"], is_start):
        found[row["process_id"], row["instance"], row["resource"]].append(row["stream_pos"])
    return {key: sorted(its) for key, its in found.items()}


def _stored(inputs: Inputs) -> dict[str, list[Row]]:
    """Return the offsets that each connector stored according to a dump with times, in their order; only of connectors with one source partition."""
    found: defaultdict[str, list[Row]] = defaultdict(list)
    for row in inputs.rows("source_offset"):
        if row["source"] == "connect_topic" and row["stored_ts"] is not None:
            found[row["connector"]].append(row)
    one = {connector: its for connector, its in found.items() if len({row["source_partition"] for row in its}) == 1}
    return {connector: sorted(its, key=lambda row: (row["stored_ts"], row["line"])) for connector, its in one.items()}


def _row(key: tuple[Any, ...], lines: Sequence[Row], stored: dict[str, list[Row]]) -> Row:
    """Return a row of the view for the lines of one start of a task."""
    process_id, instance, task, life = key
    of = {event: [line for line in lines if line["event"] == event] for event in _EVENTS}
    place = (of[_FOUND] or of[_MISSING] or lines)[0]
    connector = task.rpartition("-")[0]
    its = stored.get(connector, [])
    # A record of the same moment may be of the task itself.
    at = bisect_right(its, place["ts"] - 1, key=lambda row: row["stored_ts"]) if place["ts"] is not None else 0
    last = its[at - 1] if at else {}
    ended = of[_ENDED][-1] if of[_ENDED] else {}
    snapshot = {"COMPLETED": "completed", "SKIPPED": "skipped", "ABORTED": "aborted"}.get(ended.get("state") or "")
    found_offset = of[_FOUND][0]["text"] if of[_FOUND] else None
    proof = [*of[_FOUND][:1], *of[_MISSING][:1], *of[_DECIDED][:1], *of[_ENDED][-1:]]
    return {
        "connector": connector,
        "task": task,
        "process_id": process_id,
        "instance": instance,
        "life": life,
        "started_ts": place["ts"],
        "found": "found" if of[_FOUND] else "missing" if of[_MISSING] else None,
        "found_offset": found_offset,
        "stored_offset": last.get("source_offset"),
        "stored_ts": last.get("stored_ts"),
        "stored_event_id": last.get("event_id"),
        "is_as_stored": _is_equal(found_offset, last.get("source_offset")),
        "snapshot": snapshot or ("begun" if of[_DECIDED] else None),
        "is_of_data": bool(of[_DECIDED]) if of[_DECIDED] or snapshot else None,
        "event_id": place["event_id"],
        "witness": [line["event_id"] for line in sorted(proof, key=lambda line: line["stream_pos"])],
        "_pos": place["stream_pos"],
        "_until": (ended or place)["stream_pos"],
        "_until_ms": (ended or place)["ts"],
    }


class _Earlier:
    """The starts of connectors that completed a snapshot of data, or found an offset, by process.

    Args:
        starts: rows of the view.
        clocks: the clocks of the processes.
    """

    def __init__(self, starts: Sequence[Row], clocks: Clocks) -> None:
        self._clocks = clocks
        self._of: defaultdict[tuple[str, str], defaultdict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
        for row in sorted(starts, key=lambda row: row["_until"]):
            if row["snapshot"] == "completed" and row["is_of_data"]:
                self._of[row["connector"], "completed"][row["process_id"]].append(row)
            elif row["found"] == "found":
                self._of[row["connector"], "found"][row["process_id"]].append(row)

    def than(self, row: Row) -> Row:
        """Return the columns about the last such start that was certainly before another start."""
        for before in ("completed", "found"):
            found = [last for process_id, its in self._of[row["connector"], before].items() if (last := self._last(its, process_id, row)) is not None]
            if found:
                last = max(found, key=lambda one: (one["started_ts"], one["event_id"]))
                its = {"before_process_id": last["process_id"], "before_ts": last["started_ts"], "before_witness": last["witness"]}
                return {"before": before, **its}
        return dict.fromkeys(("before", "before_process_id", "before_ts", "before_witness"))

    def _last(self, its: Sequence[Row], process_id: str, row: Row) -> Row | None:
        """Return the last of the starts in a process that was certainly before another start. Their lines are in the order of their positions."""
        if process_id == row["process_id"]:
            at = bisect_left(its, row["_pos"], key=lambda one: one["_until"])
            return its[at - 1] if at else None
        a, b = self._clocks.of(process_id), self._clocks.of(row["process_id"])
        if a is None or b is None or a.has_stepped or b.has_stepped or a.reference_process_id != b.reference_process_id:
            return None
        at_ms = b.earliest(row["started_ts"])
        return next((one for one in reversed(its) if up_to(a.latest(one["_until_ms"]), at_ms)), None)


def _is_equal(printed: str | None, stored: str | None) -> bool | None:
    """Return whether an offset that a connector printed is the stored one; None: they have no key in common. Texts are compared."""
    pairs = _PAIRS.search(printed or "")
    if pairs is None or stored is None:
        return None
    shown = dict(pair.split("=", 1) for pair in pairs[1].split(", ") if "=" in pair)
    value = json.loads(stored)
    kept = {name: item if isinstance(item, str) else json.dumps(item) for name, item in value.items()} if isinstance(value, dict) else {}
    both = shown.keys() & kept.keys()
    return all(shown[name] == kept[name] for name in both) if both else None

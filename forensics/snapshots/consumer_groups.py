"""Read `kafka-consumer-groups --describe` with --offsets, --members or --state, and the tools for share and streams groups, of every release.

All outputs are tables with a header; the name of a column identifies it, so columns may be added or missing. 0.9 separates columns by commas; 0.10 to
2.3 have no GROUP column. A value may be wider than its column, two values (the coordinator, a list of assignments) have blanks, and some are empty.
"""

from __future__ import annotations

import re
from typing import Any

from forensics.snapshots.observation import Line, Observation

_HEADER = re.compile(
    r"\s*(?:(?:GROUP,? +(?:TOPIC|CONSUMER-ID|MEMBER|COORDINATOR|STATE|TYPE|PROTOCOL)|TOPIC +PARTITION +|CONSUMER-ID +HOST|COORDINATOR \(ID\) +).*)"
)
_COLUMN = re.compile(r"COORDINATOR \(ID\)|[^\s]+")
_COORDINATOR = re.compile(r"(\S+:\d+)\s+\((-?\d+)\)")
_NOTICE = re.compile(r"(?:Warning: )?(?:Consumer|Share|Streams) group ['`](?P<group>.+?)['`] (?P<what>has no active members|is rebalancing)\.?")
_MISSING = re.compile(r"(?:Error: )?(?:The c|C)onsumer group ['`](?P<group>.+?)['`] does not exist(?: or is rebalancing)?\.?")
_ASSIGNED = re.compile(r"([^\s,;()]*)\(([\d,\s]*)\)|([^\s,;:()]+):([\d,]+)")
_COMMAND = re.compile(r"\bkafka-(?:consumer|share|streams)-groups(?:\.sh|\.bat)?\s+-")
_OPTION = re.compile(r"\s--group[ =]+['\"]?([^\s'\"]+)")
_TOKEN = re.compile(r"\S+")
_NOTHING = {"-", "unknown", "none", "", "N/A"}
#: Columns that are captured separately.
_OFFSETS = {"TOPIC", "PARTITION", "CURRENT-OFFSET", "CURRENT OFFSET", "START-OFFSET"}
_MEMBER = {"CONSUMER-ID", "MEMBER", "HOST", "CLIENT-ID", "GROUP-INSTANCE-ID"}
_ASSIGNMENTS = ("CURRENT-ASSIGNMENT", "ASSIGNMENT", "ASSIGNMENTS")


class GroupTables:
    """A reader of such output, line by line."""

    def __init__(self) -> None:
        self._columns: list[tuple[str, int]] = []
        self._commas = False
        self._group: str | None = None

    def see(self, line: str) -> bool:
        """Take note of a command and return True; return False for any other line. Up to 2.3, only its option shows the group of a table."""
        if _COMMAND.search(line) is None:
            return False
        groups = set(_OPTION.findall(line))
        group = groups.pop() if len(groups) == 1 else "..."
        self._group = None if group.endswith("...") else group  # `watch` shortens a command
        return True

    def read(self, line: Line) -> Observation | bool:
        """Return the group, member or partition in a line; True for a header, False for any other line."""
        text = line.text.rstrip()
        if is_header(text):
            self._commas = ", " in text
            names = [(n.strip(), 0) for n in text.split(",")] if self._commas else [(m[0], m.start()) for m in _COLUMN.finditer(text)]
            self._columns = names
            return True
        stripped = text.strip()
        if notice := _NOTICE.fullmatch(stripped):
            state = "Empty" if "no active" in notice["what"] else "Rebalancing"  # the tool prints this for two states
            return Observation.of(line, "group_described", {"group_id": notice["group"], "group_state": state})
        if missing := _MISSING.fullmatch(stripped):
            return Observation.of(
                line, "group_described", {"group_id": missing["group"], "group_state": None if "rebalancing" in stripped else "Dead"}
            )
        if not stripped:
            return False  # an empty line separates groups, and some releases print one between the rows of a table
        row = self._row(text)
        return self._observed(line, row) if row else False

    def _row(self, text: str) -> dict[str, str]:
        """Return values by column; none if the line cannot be a row of the table."""
        names = [name for name, _ in self._columns]
        if not names:
            return {}
        if self._commas:
            parts = [p.strip() for p in text.split(",")]
            return dict(zip(names, parts, strict=True)) if len(parts) == len(names) else {}
        tokens = _tokens(text)
        row = dict(zip(names, (t for t, _ in tokens), strict=True)) if len(tokens) == len(names) else _by_place(self._columns, tokens)
        return row if _plausible(row) else {}

    def _observed(self, line: Line, row: dict[str, str]) -> Observation:
        captures: dict[str, Any] = {"group_id": _value(row, "GROUP") if "GROUP" in row else self._group, "client_id": _value(row, "CLIENT-ID")}
        captures["member_id"] = _value(row, "CONSUMER-ID") or _value(row, "MEMBER")
        captures["group_instance_id"] = _value(row, "GROUP-INSTANCE-ID")
        host = _value(row, "HOST")
        captures["client_host"] = host.lstrip("/") if host else None
        if "TOPIC" in row and "PARTITION" in row:
            topic, number = _value(row, "TOPIC"), _value(row, "PARTITION")
            offset = _value(row, "CURRENT-OFFSET") or _value(row, "CURRENT OFFSET") or _value(row, "START-OFFSET")
            captures |= {
                "topic": topic,
                "partition": f"{topic}-{number}" if topic and number else None,
                "offset": int(offset) if offset and offset.lstrip("-").isdigit() else None,
                "columns": {k: v for k, v in row.items() if k not in _OFFSETS | _MEMBER | {"GROUP"}},
            }
            return Observation.of(line, "group_offset_described", captures)
        if "CONSUMER-ID" in row or "MEMBER" in row:
            assigned = next((row[c] for c in _ASSIGNMENTS if c in row), None)
            epoch = _value(row, "CURRENT-EPOCH") or _value(row, "MEMBER-EPOCH")
            captures |= {
                "assigned_partitions": None if assigned is None else partitions(assigned),
                "member_epoch": int(epoch) if epoch and epoch.lstrip("-").isdigit() else None,
                "columns": {k: v for k, v in row.items() if k not in _MEMBER | {"GROUP"}},
            }
            return Observation.of(line, "member_described", captures)
        place = _COORDINATOR.fullmatch(row.get("COORDINATOR (ID)", "").strip())
        count, generation = row.get("#MEMBERS", ""), row.get("GROUP-EPOCH", "")
        captures |= {
            "group_state": _value(row, "STATE"),
            "coordinator": place[1] if place else None,
            "broker_id": int(place[2]) if place else None,
            "protocol": _value(row, "ASSIGNMENT-STRATEGY"),
            "member_count": int(count) if count.isdigit() else None,
            "generation": int(generation) if generation.isdigit() else None,
            "columns": {k: v for k, v in row.items() if k in ("TARGET-ASSIGNMENT-EPOCH", "TYPE", "PROTOCOL")},
        }
        return Observation.of(line, "group_described", captures)


def is_header(text: str) -> bool:
    """Return True if a line is the header of such a table."""
    return _HEADER.fullmatch(text) is not None and text.upper() == text


def is_notice(text: str) -> bool:
    """Return True if a line says that a group is empty or rebalancing."""
    return _NOTICE.fullmatch(text.strip()) is not None


def partitions(text: str) -> list[str]:
    """Return partitions of `orders(0,1), pay(2)` (up to 3.x) or `orders:0,1;pay:2` (4.x); 3.7 to 3.9 print no topic, `(0,1)`: `?-0`, `?-1`."""
    found = []
    for m in _ASSIGNED.finditer(text):
        topic, numbers = (m[1], m[2]) if m[3] is None else (m[3], m[4])
        found += [f"{topic or '?'}-{n.strip()}" for n in numbers.split(",") if n.strip()]
    return found


def _tokens(text: str) -> list[tuple[str, int]]:
    """Return values and their positions; a coordinator and a list of assignments are one value."""
    found: list[tuple[str, int]] = []
    for m in _TOKEN.finditer(text):
        before = found[-1][0] if found else ""
        if re.fullmatch(r"\(-?\d+\)", m[0]) and re.fullmatch(r"\S+:\d+", before):
            found[-1] = f"{before} {m[0]}", found[-1][1]
        elif before.endswith((",", ";")) and re.search(r"[):]", before):
            found[-1] = before + m[0], found[-1][1]
        else:
            found.append((m[0], m.start()))
    return found


def _by_place(columns: list[tuple[str, int]], tokens: list[tuple[str, int]]) -> dict[str, str]:
    """Assign values to columns by position if some are empty; a wide value before them may have moved them to the right."""
    row = {name: "" for name, _ in columns}
    at = 0
    for number, (token, place) in enumerate(tokens):
        left = len(tokens) - number
        while at + left < len(columns) and at + 1 < len(columns) and columns[at + 1][1] <= place:
            at += 1
        if at >= len(columns):
            return {}
        row[columns[at][0]] = token
        at += 1
    return row


def _plausible(row: dict[str, str]) -> bool:
    """Return True if values fit their columns: prose below a table is not a row."""
    if "PARTITION" in row and row["PARTITION"] not in _NOTHING and not row["PARTITION"].isdigit():
        return False
    if "#MEMBERS" in row and not row["#MEMBERS"].isdigit():
        return False
    if "#PARTITIONS" in row and not row["#PARTITIONS"].isdigit():
        return False
    return bool(row) and any(row.get(k) for k in ("GROUP", "TOPIC", "CONSUMER-ID", "COORDINATOR (ID)", "MEMBER"))


def _value(row: dict[str, str], column: str) -> str | None:
    value = row.get(column, "")
    return None if value in _NOTHING else value

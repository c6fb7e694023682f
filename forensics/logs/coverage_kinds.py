"""List the codes of the view `coverage`, and what each means for an answer. Everything that distinguishes these rows reads this table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
_MEMBER, _COORDINATOR = "member ", "coordinator of "


@dataclass(frozen=True)
class Kind:
    """What rows of `coverage` with one code mean.

    Attributes:
        kind: the column `kind`; empty: the same as the code.
        is_left_out: True if lines of such a log are not compared with other logs, so that nothing is known about a second owner.
        missing, several_missing: what is missing, if it is one log, or several, for a summary; empty: a summary has other words for it.
        gap: the name of such a gap in a table of gaps; empty: it is none.
        note: True if the sentence of each row is shown.
        before: words before the process that the sentence is about.
        severity: how much it limits an answer: `bad`, `warn` or empty.
    """

    kind: str = ""
    is_left_out: bool = False
    missing: str = ""
    several_missing: str = ""
    gap: str = ""
    note: bool = False
    before: str = ""
    severity: str = ""


#: By code; of several missing things, a summary names the first ones first.
KINDS: Mapping[str, Kind] = {
    "covered": Kind(),
    "truncated": Kind(missing="log without its beginning", several_missing="logs without their beginnings", gap="no start"),
    "missing_lines": Kind(gap="lines missing"),
    "lost": Kind(kind="missing_lines", gap="lines missing"),
    "gap": Kind(gap="silent"),
    "cut_lines": Kind(missing="log whose lines are cut", several_missing="logs whose lines are cut"),
    "no_client_info": Kind(
        kind="no_info",
        missing="log without its consumers' joins and assignments",
        several_missing="logs without their consumers' joins and assignments",
        note=True,
        before="Left out of ",
        severity="bad",
    ),
    "damaged": Kind(missing="log with damaged lines", several_missing="logs with damaged lines", note=True, severity="bad"),
    "no_info": Kind(
        missing="log without Kafka's lines about tasks and assignments",
        several_missing="logs without Kafka's lines about tasks and assignments",
        note=True,
        before="Left out of ",
        severity="bad",
    ),
    "filtered": Kind(is_left_out=True, note=True, severity="bad"),
    "unordered": Kind(note=True, severity="bad"),
    "several_members": Kind(is_left_out=True, note=True, before="Left out of ", severity="bad"),
    "several_brokers": Kind(note=True, before="Not distinguished in ", severity="warn"),
    "copy": Kind(note=True),
    "many_owners": Kind(note=True),
    "unreadable": Kind(),
    "missing_member": Kind(kind="missing_process"),
    "missing_coordinator": Kind(kind="missing_process"),
}
#: Reasons for missing lines (`facts.why`) after the last line of a log.
_AT_END = frozenset(["coordinator_went_on", "ends_early", "ends_unassigned"])


def kind_of(code: str) -> str:
    """Return the column `kind` of rows with a code."""
    return KINDS[code].kind or code


def of(row: Row) -> Kind:
    """Return what a row means, also if another version wrote it, without a code."""
    code, kind = row.get("code"), row["kind"]
    return KINDS.get(code or kind) or next((k for name, k in KINDS.items() if kind_of(name) == kind), Kind())


def gaps() -> list[str]:
    """Return the columns `kind` of gaps, in the order of a table."""
    return list(dict.fromkeys(kind_of(code) for code, kind in KINDS.items() if kind.gap))


def left_out(rows: Iterable[Row]) -> str | None:
    """Return the first code of logs that are not compared with others; None if all are."""
    there = {row["kind"] for row in rows}
    return next((code for code, kind in KINDS.items() if kind.is_left_out and code in there), None)


def is_silence(row: Row) -> bool:
    """Return True if a row is a time in which its process printed nothing, and not possibly a clock step."""
    return row["kind"] == "gap" and (row.get("facts") or {}).get("silent_ms", 0) is not None


def is_end(row: Row) -> bool:
    """Return True if a row is about a log that ends although its member may have gone on."""
    return row["kind"] == "missing_lines" and (row.get("facts") or {}).get("why") in _AT_END


def is_lost(row: Row) -> bool:
    """Return True if lines were lost from a file, so that what was printed there is unknown."""
    return row.get("code") == "lost"


def is_missing_member(row: Row) -> bool:
    """Return True if a row is about members that appear only in other logs."""
    return row["kind"] == "missing_process" and (row["process_id"] or "").startswith(_MEMBER)


def is_missing_coordinator(row: Row) -> bool:
    """Return True if a row is about generations of a group that no broker's log shows."""
    return (row["process_id"] or "").startswith(_COORDINATOR)


def member_of(row: Row) -> str:
    """Return the name of a missing member: its client ID or member ID, and its host as ` at HOST` if it is known."""
    return str(row["process_id"]).removeprefix(_MEMBER)


def group_of(row: Row) -> str:
    """Return the group whose coordinator's log is missing."""
    return str(row["process_id"]).removeprefix(_COORDINATOR)


def members(row: Row) -> int:
    """Return the number of missing members in a row."""
    return (row.get("facts") or {}).get("members") or 1


def processes(rows: Iterable[Row], kind: str) -> list[str]:
    """Return the processes with a row of a kind."""
    return sorted({row["process_id"] for row in rows if row["kind"] == kind and row["process_id"]})


def missing(rows: Iterable[Row]) -> Iterator[tuple[str, str, list[str]]]:
    """Yield what is missing, in words for one log and for several, and the processes of these logs."""
    logs: dict[str, list[str]] = {}
    for row in rows:
        logs.setdefault(row.get("code") or row["kind"], []).append(row["process_id"])
    for code, kind in KINDS.items():
        if kind.missing and code in logs:
            yield kind.missing, kind.several_missing, sorted(logs[code])

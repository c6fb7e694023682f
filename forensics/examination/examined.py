"""Compute the view `examined`: what an answer about split brain is based on, or why there is none.

A report decides the same for the rows that its reader selected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from forensics.causes.findings import rows as finding
from forensics.clocks.reference import Reference
from forensics.inventory.evidence import FORBIDDEN
from forensics.logs import coverage_kinds
from forensics.wording.formats import short_member

if TYPE_CHECKING:
    from forensics.relations.inputs import Inputs, Row

_EPOCH, _MS = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


@dataclass(frozen=True)
class Reason:
    """Why nothing was examined, and what would help.

    Attributes:
        is_of_kafka: False if nothing of Kafka was read.
        needs: what is needed: `logs` of more processes or times, or a `coordinator`; empty: only what the reason says.
        levels: True if the same logs with more levels would help.
        settings: True if a reader should see how to turn these levels on.
    """

    is_of_kafka: bool = True
    needs: str = "logs"
    levels: bool = False
    settings: bool = False


#: By the code of the reason.
REASONS: Mapping[str, Reason] = {
    "no_files": Reason(is_of_kafka=False),
    "no_records": Reason(is_of_kafka=False),
    "not_kafka": Reason(is_of_kafka=False, levels=True),
    "no_group_lines": Reason(levels=True, settings=True),
    "no_coordinator": Reason(needs="coordinator"),
    "cut_lines": Reason(needs=""),
    "brokers_only": Reason(settings=True),
    "filtered": Reason(needs=""),
    "several_members": Reason(needs=""),
    "no_info": Reason(levels=True, settings=True),
    "no_assignments": Reason(levels=True, settings=True),
    "nothing_assigned": Reason(),
    "share_groups": Reason(needs=""),
    "no_signs": Reason(),
    "one_log": Reason(),
    "group": Reason(settings=True),
    "window": Reason(needs=""),
}
CODES = frozenset(REASONS)


@dataclass(frozen=True)
class Selection:
    """What a reader selected.

    Attributes:
        ownership, split_brain, coverage, generation: the selected rows of these views.
        process: the rows of processes that printed anything in the selected time.
        groups: the selected groups; none: all.
        since, until: the selected time; None: no limit.
    """

    ownership: Sequence[Row]
    split_brain: Sequence[Row]
    coverage: Sequence[Row]
    generation: Sequence[Row]
    process: Sequence[Row]
    groups: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None


def rows(inputs: Inputs) -> list[Row]:
    """Return the row of the view `examined`."""
    of: dict[str, list[Row]] = {
        "process": _dated(inputs.rows("process"), "first_ts", "last_ts"),
        "coverage": _dated(inputs.rows("coverage"), "from_ts", "to_ts"),
        "ownership": inputs.rows("ownership", ["process_id", "group_id", "resource_kind", "resource"]),
        "split_brain": inputs.rows("split_brain", ["verdict"]),
        "member": inputs.rows("member", ["process_id", "group_id"]),
        "generation": inputs.rows("generation"),
        "source_file": inputs.rows("source_file"),
        "finding": finding(inputs),
    }
    # There may be millions, and what they show matters only if no owner is known.
    is_shown = pc.field("assigned").is_valid()
    of["member_generation"] = [] if of["ownership"] else inputs.table("member_generation", ["assigned"], is_shown).to_pylist()
    reference = Reference(inputs.rows("clock_offset"), of["process"])
    everything = Selection(of["ownership"], of["split_brain"], of["coverage"], of["generation"], of["process"])
    found = decide(of, everything, reference)
    others, code, kinds = {"elsewhere", "resources", "why", "gap_ms"}, found["why"], found["resources"]
    times = {name: None if found[name] is None else (found[name] - _EPOCH) // _MS for name in ("from_ts", "to_ts")}
    counted = {f"{kind}s": kinds.get(kind, 0) for kind in ("task", "connector", "partition")}
    # `gap_ms` is also a threshold, and an engine without variables would put its value in the column's place.
    named = {"code": code, "note": None, "silent_ms": found["gap_ms"]}
    return [{name: value for name, value in found.items() if name not in others} | times | counted | named]


def _dated(rows: Iterable[Row], *columns: str) -> list[Row]:
    """Return rows with times instead of milliseconds."""
    return [row | {column: None if row[column] is None else _EPOCH + row[column] * _MS for column in columns} for row in rows]


def decide(rows: Mapping[str, list[Row]], selected: Selection, reference: Reference) -> Row:
    """Return what was examined, or why nothing was.

    Args:
        rows: all rows of the views that `examined` reads.
        selected: what the reader selected.
        reference: the clocks.

    Returns:
        `examined`: also false if everything known about a group's members comes from one of them, and no coordinator shows that there were no others;
        `why`: a code of `REASONS`, None if examined; `resources` by kind; numbers of `groups`, `owners` (processes), `members_without_log`,
        `members_unheard` (their log lacks their INFO lines), `logs_cut` (with truncated lines), `logs_damaged`, `files_unread` (not, or not completely),
        `ownerships` (of the whole case), `files`, `records`;
        `from_ts` and `to_ts` of the time that their logs cover; `gaps` and `gap_ms` in it; `groups_not_examined`;
        `groups_not_counted`: the logs do not show how many members they had;
        `elsewhere`: pairs of owners outside the selection, by verdict;
        `facts`: what the words of the reason need; None if examined.
    """
    owned, splits, coverage = selected.ownership, selected.split_brain, selected.coverage
    named = {o["process_id"] for o in owned}
    overlapping = [p for p in selected.process if p["process_id"] in named]
    # A log that ended before the selected time, or began after it, says nothing about it.
    owners = named - ({p["process_id"] for p in rows["process"]} - {p["process_id"] for p in overlapping})
    owned = [o for o in owned if o["process_id"] in owners]
    first, last = reference.reach(overlapping) or (None, None)
    gaps = _silences((c for c in coverage if c["process_id"] in owners), selected, reference)
    known = {g["group_id"] for name in ("generation", "member") for g in rows[name] if g.get("group_id")}
    seen = {o["group_id"] for o in rows["ownership"] if o.get("group_id")}
    files = [f for f in rows["source_file"] if f.get("status", "read") == "read" and f.get("kind", "log") == "log"]
    why = _why_not_compared(rows, owned, selected) if owned else _why(rows, files, by_group=bool(selected.groups))
    found = {
        "examined": bool(owned) and why is None,
        "why": why,
        "resources": dict(Counter(kind for kind, _, _ in sorted({(o["resource_kind"], o.get("group_id") or "", o["resource"]) for o in owned}))),
        "groups": len({o.get("group_id") for o in owned}),
        "owners": len(owners),
        "members_without_log": sum(coverage_kinds.members(c) for c in coverage if coverage_kinds.is_missing_member(c)),
        "members_unheard": sum(c["facts"]["client_count"] for c in coverage if c.get("code") == "no_client_info"),
        "logs_cut": sum(c["kind"] == "cut_lines" for c in coverage),
        "logs_damaged": sum(c["kind"] == "damaged" for c in coverage),
        "files_unread": len(outermost(f["path"] for f in unread(rows["source_file"]))),
        "ownerships": len(rows["ownership"]),
        "files": len(files),
        "records": sum(f["records"] or 0 for f in files),
        "from_ts": max(first, selected.since) if first and selected.since else first,
        "to_ts": min(last, selected.until) if last and selected.until else last,
        "gaps": len(gaps),
        "gap_ms": round(_total(gaps).total_seconds() * 1000),
        "groups_not_counted": _not_counted(rows["generation"], {o["group_id"] for o in owned if o.get("group_id")}),
        "groups_not_examined": sorted(g for g in known - seen if g in selected.groups or not selected.groups),
        "elsewhere": {v: n for v in ("proved", "undecided") if (n := _number(rows["split_brain"], v) - _number(splits, v))},
    }
    return found | {"facts": None if why is None else _facts(rows["source_file"], selected)}


def unread(files: Iterable[Row]) -> list[Row]:
    """Return the rows of `source_file` of files that could not be read, or not completely."""
    return [f for f in files if f.get("status") == "unreadable" or (f.get("status") == "read" and f.get("note"))]


def outermost(paths: Iterable[str]) -> list[str]:
    """Return paths without those inside another one, as in an archive."""
    found = set(paths)
    return sorted(path for path in found if not any(path.startswith(f"{other}/") for other in found))


def _silences(coverage: Iterable[Row], selected: Selection, reference: Reference) -> list[tuple[datetime, datetime]]:
    """Return the silences of logs in the selected time, on the reference clock, by their start."""
    found = []
    for c in coverage:
        if coverage_kinds.is_silence(c) and c["from_ts"] and c["to_ts"]:
            start, end = reference.time(c["process_id"], c["from_ts"]), reference.time(c["process_id"], c["to_ts"])
            found.append((max(start, selected.since or start), min(end, selected.until or end)))
    return sorted((start, end) for start, end in found if start < end)


def _total(gaps: Iterable[tuple[datetime, datetime]]) -> timedelta:
    """Return the periods in which at least one log is silent."""
    silent, reached = timedelta(0), None
    for start, end in gaps:
        silent += max(end - max(start, reached or start), timedelta(0))
        reached = max(end, reached or end)
    return silent


def _not_counted(generations: Iterable[Row], groups: Iterable[str]) -> list[str]:
    """Return those groups for which neither a coordinator nor a leader shows how many members a generation had: there may have been more."""
    selected = set(groups)
    counted = {g["group_id"]: False for g in generations if g["group_id"] in selected}
    for generation in generations:
        if generation["group_id"] in counted and generation["is_count_told"]:
            counted[generation["group_id"]] = True
    return sorted(group for group, is_counted in counted.items() if not is_counted)


def _number(splits: Iterable[Row], verdict: str) -> int:
    return sum(s["verdict"] == verdict for s in splits)


def _why_not_compared(rows: Mapping[str, list[Row]], owned: Sequence[Row], selected: Selection) -> str | None:
    """Return why owners that are known could not be compared; None if they were."""
    # Missing from filtered lines does not mean missing from the log; lines of members that cannot be distinguished are not compared.
    if not any(_number(selected.split_brain, v) for v in ("proved", "undecided")) and (left_out := coverage_kinds.left_out(selected.coverage)):
        return left_out
    return "one_log" if _one_log(rows, owned) else None


def _one_log(rows: Mapping[str, list[Row]], owned: Sequence[Row]) -> bool:
    """Return True if no group has the logs of two members, and an owning group has no coordinator's log which shows that it had only one member."""
    here: dict[str, set[str]] = {}
    for row in (*rows["member"], *rows["ownership"]):
        if row.get("process_id") and row.get("group_id"):
            here.setdefault(row["group_id"], set()).add(row["process_id"])
    one = {(p["process_id"], other) for p in rows["process"] for other in p.get("same_process_ids") or ()}
    pairs = (pair for processes in here.values() for pair in combinations(sorted(processes), 2))
    if any(pair not in one for pair in pairs):
        return False
    of: dict[str, list[Row]] = {}
    for generation in rows["generation"]:
        of.setdefault(generation["group_id"], []).append(generation)
    # A consumer or standalone worker without a group shares its work with no other member. A worker whose log lacks its beginning may have a group.
    begins_late = {c["process_id"] for c in rows["coverage"] if c["kind"] == "truncated"}
    if {o["process_id"] for o in owned if not o.get("group_id") and o["resource_kind"] != "partition"} & begins_late:
        return True
    owning = {o["group_id"] for o in owned if o.get("group_id")}
    return not all(of.get(group) and all(_alone(g) for g in of[group]) for group in owning)


def _alone(generation: Row) -> bool:
    """Return True if the coordinator's number of members shows that no other process has one."""
    members = generation["member_count"] if generation["seen_by_broker"] and generation["is_count_told"] else None
    return members is not None and members <= max(1, generation["seen_by_members"] or 0)


def _why(rows: Mapping[str, list[Row]], files: Sequence[Row], *, by_group: bool) -> str:
    """Return why no owner is known."""
    if rows["ownership"]:
        return "group" if by_group else "window"
    if not any(f["lines"] for f in files):
        return "no_files"
    if not any(f["records"] for f in files):
        return "no_records"
    if not any((f["events"] or 0) + (f["unrecognised"] or 0) for f in files):
        return "not_kafka"
    kinds = {c["kind"] for c in rows["coverage"]}
    if "cut_lines" in kinds:
        return "cut_lines"
    if not rows["generation"] and not rows["member"]:
        waited = any(p["role"] != "broker" for p in rows["process"]) and any(
            f["rule"] == "coordinator-unavailable" and json.loads(f["facts"] or "{}").get("never") for f in rows["finding"]
        )
        return "no_coordinator" if waited else "no_group_lines"
    if {g.get("group_protocol") for g in rows["generation"]} == {"share"}:
        return "share_groups"
    if "several_members" in kinds:
        return "several_members"
    if all(p["role"] == "broker" for p in rows["process"]):
        return "brokers_only"
    if "no_info" in kinds:
        return "no_info"
    shares = [share["assigned"] for share in rows["member_generation"] if share.get("assigned") is not None]
    return "no_signs" if any(shares) else "nothing_assigned" if shares else "no_assignments"


def _facts(files: Iterable[Row], selected: Selection) -> dict[str, Any]:
    """Return what the words of a reason need."""
    files = sorted(files, key=lambda f: f["path"] or "")
    absent = [c for c in selected.coverage if coverage_kinds.is_missing_member(c)]
    counted = [(g["generation"], g["member_count"]) for g in selected.generation if g["is_count_told"]]
    alone = sorted({generation for generation, _ in counted}) if all(number == 1 for _, number in counted) else []
    return {
        "read_paths": [f["path"] for f in files if f.get("status", "read") == "read"],
        "file_notes": [f"{f['path']}: {f['note']}" if f.get("note") else str(f["path"]) for f in files],
        "is_forbidden": any(f.get("note") == FORBIDDEN for f in files),
        "selected_groups": list(selected.groups),
        "owner_groups": sorted({o["group_id"] for o in selected.ownership if o.get("group_id")}),
        "shared_logs": coverage_kinds.processes(selected.coverage, "several_members"),
        "absent": sorted({short_member(coverage_kinds.member_of(c)) for c in absent}),
        "absent_count": sum(map(coverage_kinds.members, absent)),
        "has_more_members": any((g["member_count"] or 0) > (g["seen_by_members"] or 0) for g in selected.generation),
        "alone_from": alone[0] if alone else None,
        "alone_to": alone[-1] if alone else None,
    }

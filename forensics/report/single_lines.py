"""Find what single lines show about groups and errors, for a report without a finding that does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from forensics.case.integrity import rows_in
from forensics.report.exceptions import KnownException, find_exceptions
from forensics.report.stored_rows import CaseLike, pylist, witnesses

if TYPE_CHECKING:
    from datetime import datetime

    from forensics.catalogue.pattern_files import EventPattern
    from forensics.catalogue.recogniser import Recogniser
    from forensics.report.model import Report, Row

#: Events that say why a request of a member, or of its producer, failed.
_FAILED = (
    "commit_failed", "coordinator_lookup_failed", "coordinator_lost", "generation_reset", "heartbeat_failed", "join_failed", "member_failed", "member_fenced",
    "producer_failed", "rebalance_failed", "rejoin_requested", "sync_failed", "task_commit_failed",
)  # fmt: skip
#: What happened to members, groups and their coordinators: such messages are quoted even if the catalogue gives no advice for them.
_HAPPENED = (
    "broker_failed", "broker_fenced", "coordinator_lost", "coordinator_resigned", "coordinator_unreachable", "group_died", "group_emptied", "internal_log_retrying",
    "join_failed", "leaving", "member_expired", "member_left", "partition_unloading", "partitions_lost", "poll_timeout", "session_ended", "sync_failed",
)  # fmt: skip
#: A member joins, or a generation begins.
_GOING_ON = (
    "assignment_from_leader", "group_stabilized", "joined", "joining", "member_added", "member_joined", "rebalance_preparing", "synced", "worker_assigned",
)  # fmt: skip
#: The advice about an error that every member meets, such as that of its first request to join.
_NORMAL = "No action is needed."
#: Texts in which no event was read are searched for messages up to this size in bytes.
_MAX_QUOTED = 65_536


def groups_named(case: CaseLike, report: Report) -> list[str]:
    """Return the groups that any line in the selection names."""
    lines = (rows_in(path).to_table(columns=["group_id"], filter=_selected(report))["group_id"] for path in case.table_paths("event_row"))
    return sorted({g for line in lines for g in line.unique().to_pylist()})


def left_empty(case: CaseLike, report: Report) -> dict[str, datetime]:
    """Return the groups that their coordinators last reported as empty, and since when; no later line is about a member that joins."""
    emptied = _last(case, _selected(report) & (pc.field("event") == "group_emptied"))
    going_on = _last(case, pc.field("event").isin(_GOING_ON) & pc.field("group_id").isin(list(emptied))) if emptied else {}
    return {group: ts for group, ts in emptied.items() if group not in going_on or going_on[group] <= ts}


def _last(case: CaseLike, condition: pc.Expression) -> dict[str, datetime]:
    """Return the time of each group's last event that meets a condition."""
    last: dict[str, datetime] = {}
    for path in case.table_paths("event_row"):
        table = rows_in(path).to_table(columns=["group_id", "ts"], filter=condition & pc.field("ts").is_valid())
        for row in pylist(table.group_by("group_id").aggregate([("ts", "max")])):
            last[row["group_id"]] = max(row["ts_max"], last.get(row["group_id"], row["ts_max"]))
    return last


def commits_back(case: CaseLike, report: Report) -> dict[str, int]:
    """Return how many stored commits of each selected group have a lower offset than the one before, by dumps of `__consumer_offsets`."""
    path = case.view_path("offset_commit") if case.manifest["views"] else None
    if path is None:
        return {}
    commits = rows_in(path)
    if commits.count_rows() == 0:
        return {}
    is_back = (pc.field("offset") < pc.field("previous_offset")) & pc.field("outcome").isin(["earlier", "last"])
    return dict(Counter(commits.to_table(columns=["group_id"], filter=is_back & _selected(report, "committed_ts"))["group_id"].to_pylist()))


def empty_groups(case: CaseLike, report: Report) -> Iterator[Row]:
    """Yield from when a group had no members, by its coordinator's log, and until when: its next generation, or the first request to join if that is the last line."""
    columns = ["group_id", "generation", "process_id", "ts"]
    for path in case.table_paths("event_row"):
        for row in pylist(rows_in(path).to_table(columns=columns, filter=(pc.field("event") == "group_emptied") & _selected(report))):
            for group in report.groups:
                if group["group_id"] != row["group_id"] or row["ts"] is None or row["generation"] is None:
                    continue
                mine = [g for g in group["generations"] if g["coordinator"] == row["process_id"] and g["generation"] == row["generation"] + 1]
                ends = [(g["stabilized_ts"], False) for g in mine]
                ends += [(o["began_ts"], True) for o in group["open_rebalance"] if o["coordinator"] == row["process_id"]]
                if after := [(ts, is_open) for ts, is_open in ends if ts and ts >= row["ts"]]:
                    ts, is_open = min(after)
                    yield {"group_id": row["group_id"], "from_ts": row["ts"], "to_ts": ts, "is_open": is_open}


def errors(case: CaseLike) -> list[Row]:
    """Return the known errors of the group protocol in members' lines: `known`, `said`, `times`, and the first line as `witnesses` returns it."""
    texts = ["error", "cause", "reason"]
    times: Counter[KnownException] = Counter()
    first: dict[KnownException, tuple[str, str]] = {}
    for path in case.table_paths("event_row"):
        table = rows_in(path).to_table(columns=["event_id", *texts], filter=pc.field("event").isin(_FAILED))
        grouped = table.group_by(texts, use_threads=False).aggregate([("event_id", "first"), ("event_id", "count")])
        for row in grouped.to_pylist():
            said = " ".join(filter(None, (row[t] for t in texts)))
            for known, _ in find_exceptions(said):
                times[known] += row["event_id_count"]
                first.setdefault(known, (row["event_id_first"], said))
    lines = witnesses(case, (event_id for event_id, _ in first.values()))
    found = [lines[first[known][0]] | {"known": known, "said": first[known][1], "times": n} for known, n in times.most_common()]
    return [e for e in found if e["known"].advice != _NORMAL] or _advised(case) or found


def _advised(case: CaseLike) -> list[Row]:
    """Do the same for messages with advice in the catalogue, and for what happened to members and groups: most reports do not need it."""
    from forensics.catalogue import patterns
    from forensics.catalogue.recogniser import Recogniser
    from forensics.report.pasted import is_begun

    recogniser = Recogniser(patterns.load())
    telling = [e for e in recogniser.catalogue.events if _is_quoted(e)]
    names, texts = pa.array({e.name for e in telling}), ["error", "reason"]
    times: Counter[str] = Counter()
    first: dict[str, Row] = {}
    for path in case.table_paths("event_row"):
        table = rows_in(path).to_table(columns=["event_id", "event", "logger", *texts], filter=pc.field("event").isin(names))
        grouped = table.group_by(["event", "logger"], use_threads=False).aggregate(
            [("event_id", "first"), ("event_id", "count"), *((t, "first") for t in texts)]
        )
        for row in grouped.to_pylist():
            times[row["event_id_first"]] += row["event_id_count"]
            first[row["event_id_first"]] = row
    lines = witnesses(case, times)
    advised: dict[int, Row] = {}
    for event_id, n in times.most_common():
        row, line = first[event_id], lines[event_id]
        found = recogniser.recognise(row["logger"], line["text"])
        # Only the first line of a record of several lines is kept.
        begun = (e for e in telling if e.name == row["event"] and e.multiline)
        whole = [found.pattern] if found else [e for e in begun if is_begun(e, line["text"], recogniser)]
        if len(whole) == 1 and _is_quoted(whole[0]):
            said = row["error_first"] or row["reason_first"] or ""
            advised.setdefault(id(whole[0]), line | {"known": whole[0], "said": said, "times": 0})["times"] += n
    return sorted(advised.values(), key=lambda r: not r["known"].advice) or _quoted(case, recogniser)


def _is_quoted(event: EventPattern) -> bool:
    return bool(event.advice or event.proves and event.name in _HAPPENED)


def _quoted(case: CaseLike, recogniser: Recogniser) -> list[Row]:
    """Do the same for short texts in which no event was read: messages in prose, and stack traces without their record."""
    if any(rows_in(path).count_rows() for path in case.table_paths("event_row")):
        return []
    files = [f for path in case.table_paths("evidence_file") for f in pylist(rows_in(Path(path)).to_table()) if (f["kind"] or "log") == "log"]
    files = [f for f in files if f["bytes"] is not None]
    if sum(f["bytes"] for f in files) > _MAX_QUOTED:
        return []
    from forensics.case.named import source
    from forensics.case.seals import is_of_location
    from forensics.evidence.streams import BROKEN
    from forensics.report.pasted import items_of
    from forensics.report.show import first_lines

    sealed = {f["location"] for f in case.manifest["files"] if is_of_location(f["location"], f.get("seal"))}
    found: dict[int, Row] = {}
    for file in files:
        with suppress(*BROKEN):  # the evidence may be gone, or its location be named by the case alone
            lines = first_lines(source(file["location"], is_named=file["location"] in sealed), file["archive_member"], file["bytes"])
            for item in items_of("\n".join(lines), recogniser):
                text = (item.found.message if item.found else item.record.message).strip().partition("\n")[0]
                if text.startswith("##"):
                    continue  # a heading of Markdown
                known = item.found.pattern if item.found and item.found.pattern.proves else next((k for k, _ in item.exceptions), None)
                if known:
                    line = next((n for n, whole in enumerate(lines, 1) if text in whole), 1)
                    row = found.setdefault(
                        id(known), {"path": file["path"], "line": line, "ts": None, "text": text, "known": known, "said": "", "times": 0}
                    )
                    row["times"] += 1
    return sorted(found.values(), key=lambda r: not r["known"].advice)


def _selected(report: Report, ts: str = "ts") -> pc.Expression:
    """Return the condition for lines of a selected group in the selected time, by their own clock, whose column is `ts`."""
    since, until, groups = (report.filters[key] for key in ("since", "until", "groups"))
    condition = pc.field("group_id").isin(list(groups)) if groups else pc.field("group_id").is_valid()
    if since:
        condition &= pc.field(ts) >= since
    return condition & (pc.field(ts) <= until) if until else condition

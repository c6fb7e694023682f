"""Load a case's views into one plain structure: the JSON report, from which the other formats are made. Reads Parquet; starts no Spark."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from forensics.case.integrity import rows_in
from forensics.case.view_files import views
from forensics.clocks.reference import Reference
from forensics.errors import CaseError, UsageError, did_you_mean
from forensics.examination.examined import Selection, decide
from forensics.report.exceptions import KnownException, find_exceptions
from forensics.report.incidents import by_incident
from forensics.report.window import PRINTED, CaseTime, RowTime, parse
from forensics.wording.formats import SEVERITIES, VERDICTS

if TYPE_CHECKING:
    from forensics.catalogue.recogniser import Recogniser

Row = dict[str, Any]

#: The column with the time at which a generation's rebalance began, from the coordinator's log.
GENERATION_BEGAN = ("prepared_ts",)
#: Columns with times by which it had certainly begun, the earliest step first; the reason for the members' requests may be older than the requests.
GENERATION_BEGUN_BY = ("first_asked_ts", "first_joined_ts", "stabilized_ts", "assigned_ts", "last_synced_ts")
#: The times of a generation by its coordinator's clock; its other times come from its members, on the reference clock.
BY_COORDINATOR = ("prepared_ts", "stabilized_ts", "assigned_ts")
#: The views that a report reads, and the time of their rows.
VIEWS: Mapping[str, RowTime] = {
    "source_file": RowTime(),
    "process": PRINTED,
    "member": replace(PRINTED, whose=""),
    "generation": RowTime(
        (*GENERATION_BEGAN, *GENERATION_BEGUN_BY),
        ("assigned_ts", "last_synced_ts", "stabilized_ts", "first_joined_ts", "first_asked_ts", "prepared_ts"),
        own=BY_COORDINATOR,
        whose="coordinator",
    ),
    "member_generation": RowTime(),
    "rebalance_blame": RowTime(("from_ts", "to_ts"), ("to_ts",), own=("from_ts", "to_ts"), whose="coordinator"),
    "duplicate_ledger": RowTime(("restarted_lo",), ("restarted_hi",)),
    "open_rebalance": RowTime(("from_ts",), ("to_ts",)),
    "ownership": RowTime(("start_lo",), ("stop_hi",)),
    "unowned": RowTime(("from_lo",), ("to_hi",)),
    "split_brain": RowTime(("from_lo",), ("to_hi",)),
    "coordinator_episode": RowTime(("lost_lo", "lost_ts"), ("found_ts",), own=("lost_ts", "found_ts")),
    "clock_offset": RowTime(),
    "coverage": RowTime(("from_ts",), ("to_ts",), own=("from_ts", "to_ts")),
    "finding": RowTime(("from_ts",), ("to_ts",)),
    "occurrence": RowTime(("from_ts",), ("to_ts", "from_ts")),
    "incident": RowTime(("from_lo",), ("to_hi",)),
    "incident_gap": RowTime(("from_ts",), ("to_ts",)),
}
#: Events that say why a request of a member, or of its producer, failed.
_FAILED = (
    "commit_failed", "coordinator_lookup_failed", "coordinator_lost", "generation_reset", "heartbeat_failed", "join_failed", "member_failed", "member_fenced",
    "producer_failed", "rebalance_failed", "rejoin_requested", "sync_failed", "task_commit_failed",
)  # fmt: skip
#: Texts in which no event was read are searched for messages up to this size in bytes.
_MAX_QUOTED = 65_536
#: Views whose rows are added to their group unchanged.
_PER_GROUP = ("rebalance_blame", "duplicate_ledger", "open_rebalance")
#: Columns that a report keeps of each occurrence of a repeated finding.
_REPEAT = ("occurrence_id", "subject", "from_ts", "to_ts", "lasted_ms", "headline", "incident_id")
_GENERATION_KEY = ("kafka_cluster", "group_id", "incarnation", "generation")
EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class CaseLike(Protocol):
    """The part of a case folder that a report needs."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Return the manifest's keys."""

    def view_path(self, name: str) -> Path | None:
        """Return the folder of a view's Parquet files; None if it is not built."""

    def table_paths(self, name: str) -> Sequence[str]:
        """Return the folders of a table's Parquet files."""


@dataclass(frozen=True)
class Filters:
    """The reader's selection. Times have the forms that `window.parse_time` reads, in the reader's zone; empty means no limit."""

    since: str = ""
    until: str = ""
    groups: Sequence[str] = ()
    rules: Sequence[str] = ()
    zone: tzinfo = UTC


@dataclass(frozen=True)
class Report:
    """The selected rows of a case, with times as datetimes in UTC.

    Attributes:
        case: manifest facts, `processes` and `source_files`.
        incidents: root causes, the most severe first.
        incident_gaps: times without an owner, or with two, that the incidents caused.
        groups: one entry per group with its `generations`, `members`, `member_generations`, `rebalance_blame`, `duplicate_ledger` and
            `open_rebalance`.
        filters: the selection, as printed in the report.
        examined: the basis of the answer about split brain, from `examined.examine`.
        groups_named: groups that only single lines name, if the logs show no generation, member, ownership or finding of any group.
        errors: the errors of the group protocol that members printed, with `known` (its meaning), `said`, `times` and the first line, the most
            frequent first, if no incident and no finding above a note reports them.
        empty_groups: times in which a group had no members, if no finding above a note reports them.
        zone: the reader's zone for times in texts; the rows are in UTC.
    """

    case: Row
    coverage: list[Row]
    clocks: list[Row]
    groups: list[Row]
    ownership: list[Row]
    unowned: list[Row]
    split_brain: list[Row]
    coordinator_episodes: list[Row]
    findings: list[Row]
    incidents: list[Row]
    incident_gaps: list[Row] = field(default_factory=list)
    filters: Row = field(default_factory=dict)
    examined: Row = field(default_factory=dict)
    groups_named: list[str] = field(default_factory=list)
    errors: list[Row] = field(default_factory=list)
    empty_groups: list[Row] = field(default_factory=list)
    zone: tzinfo = UTC

    @cached_property
    def pairs_by_incident(self) -> Mapping[str, Sequence[Row]]:
        """Return the pairs of owners by the incident that caused them."""
        return by_incident(self.split_brain)

    @cached_property
    def gaps_by_incident(self) -> Mapping[str, Sequence[Row]]:
        """Return the times without an owner, or with two, by the incident that caused them."""
        return by_incident(self.incident_gaps)

    @cached_property
    def owner_starts(self) -> Mapping[str, datetime | None]:
        """Return by when each owner had its resource."""
        return {o["ownership_id"]: o["start_hi"] for o in self.ownership}

    @cached_property
    def group_numbers(self) -> Mapping[str, Sequence[int]]:
        """Return the places in `groups` of each group ID, one for each Kafka cluster that has it."""
        found: dict[str, list[int]] = {}
        for n, group in enumerate(self.groups):
            found.setdefault(group["group_id"], []).append(n)
        return found

    @cached_property
    def reference(self) -> Reference:
        """Return the reference clocks."""
        return Reference(self.clocks, self.case["processes"])

    @cached_property
    def extent(self) -> tuple[datetime, datetime] | None:
        """Return the earliest and the latest moment of any line of all processes, on the reference clock."""
        return self.reference.extent(self.case["processes"])

    def nothing_examined(self) -> bool:
        """Return True if an answer about split brain is requested and no ownership is known."""
        rules = self.filters["rules"]
        return not self.examined["examined"] and (not rules or any(rule.startswith("split-brain-") for rule in rules))

    def failed(self, fail_on: str) -> bool:
        """Return True if findings reach `--fail-on`; notes never do."""
        serious = [f for f in self.findings if f["severity"] in ("critical", "warning")]
        return bool(serious) if fail_on in ("any", "incomplete") else fail_on == "proved" and any(f["verdict"] == "proved" for f in serious)


def read(case: CaseLike, filters: Filters) -> Report:
    """Read a case's built views, or the files of a case that has no views because no line of Kafka was read.

    Raises:
        UsageError: the case does not have a selected time, group or rule.
    """
    if case.manifest["views"]:
        rows = {name: rows_of(name, case.view_path(name)) for name in VIEWS}
    else:
        rows = {name: [] for name in VIEWS} | {"source_file": _files_without_kafka(case)}
    report = assemble(case.manifest, rows, filters, lambda ids: witnesses(case, ids))
    if not report.groups:
        lines = (rows_in(path).to_table(columns=["group_id"], filter=_selected(report))["group_id"] for path in case.table_paths("event_row"))
        report = replace(report, groups_named=sorted({g for line in lines for g in line.unique().to_pylist()}))
    if not any(f["severity"] != "note" for f in (*report.findings, *report.incidents)):
        report = replace(report, empty_groups=list(_empty_groups(case, report)), errors=[] if report.examined["examined"] else _errors(case))
    return report


def _selected(report: Report) -> pc.Expression:
    """Return the condition for lines of a selected group in the selected time, by their own clock."""
    since, until, groups = (report.filters[key] for key in ("since", "until", "groups"))
    condition = pc.field("group_id").isin(list(groups)) if groups else pc.field("group_id").is_valid()
    if since:
        condition &= pc.field("ts") >= since
    return condition & (pc.field("ts") <= until) if until else condition


def _empty_groups(case: CaseLike, report: Report) -> Iterator[Row]:
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


def _errors(case: CaseLike) -> list[Row]:
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
    return [lines[first[known][0]] | {"known": known, "said": first[known][1], "times": n} for known, n in times.most_common()] or _advised(case)


def _advised(case: CaseLike) -> list[Row]:
    """Do the same for messages with advice in the catalogue, which most reports do not need."""
    from forensics.catalogue import patterns
    from forensics.catalogue.recogniser import Recogniser

    recogniser = Recogniser(patterns.load())
    telling = [e for e in recogniser.catalogue.events if e.advice]
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
    advised = []
    for event_id, n in times.most_common():
        row, line = first[event_id], lines[event_id]
        found = recogniser.recognise(row["logger"], line["text"])
        # Only the first line of a record of several lines is kept.
        whole = [found.pattern] if found else [e for e in telling if e.name == row["event"] and e.multiline]
        if len(whole) == 1 and whole[0].advice:
            said = row["error_first"] or row["reason_first"] or ""
            advised.append(line | {"known": whole[0], "said": said, "times": n})
    return advised or _quoted(case, recogniser)


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


def _files_without_kafka(case: CaseLike) -> list[Row]:
    """Return the rows of `source_file` for files without a recognised record, without their layouts."""
    ranges: dict[str, list[Row]] = {}
    for path in case.table_paths("range_row"):
        for row in pylist(rows_in(Path(path)).to_table()):
            ranges.setdefault(row["file_id"], []).append(row)
    files = []
    for path in case.table_paths("evidence_file"):
        for f in pylist(rows_in(Path(path)).to_table()):
            mine = ranges.get(f["file_id"], [])
            counts = {name: sum(r[name] or 0 for r in mine) if mine else None for name in ("records", "events", "counted", "unrecognised", "unfit")}
            first, last = (
                min((r["first_ts"] for r in mine if r["first_ts"]), default=None),
                max((r["last_ts"] for r in mine if r["last_ts"]), default=None),
            )
            files.append(f | counts | {"kind": f["kind"] or "log", "other": counts["records"], "repeats": 0, "first_ts": first, "last_ts": last})
    return files


def assemble(manifest: Mapping[str, Any], rows: Mapping[str, list[Row]], filters: Filters, lookup: Any) -> Report:  # noqa: ANN401
    """Assemble a report from the rows of the views.

    Args:
        manifest: the case's manifest.
        rows: the rows of each view in `VIEWS`.
        filters: the reader's selection.
        lookup: returns the lines of event IDs.
    """
    reference = Reference(rows["clock_offset"], rows["process"])
    time = CaseTime.of(reference, rows["process"], rows["source_file"])
    window = parse(filters.since, filters.until, time, filters.zone)
    known = sorted({r["group_id"] for name in ("generation", "member", "ownership", "finding") for r in rows[name] if r.get("group_id")})
    for group in filters.groups:
        if group not in known:
            raise UsageError(
                f"The case has no group `{group}`.", where="--group", fix=did_you_mean(group, known, f"Its groups: {', '.join(known) or 'none'}.")
            )

    coordinators = {tuple(g[k] for k in _GENERATION_KEY): {"coordinator": g.get("coordinator")} for g in rows["generation"]}

    def touches(name: str, row: Row) -> bool:
        if name == "rebalance_blame":
            row = row | coordinators.get(tuple(row[k] for k in _GENERATION_KEY), {})
        return window.touches(*VIEWS[name].of(row, reference))

    def kept(name: str) -> list[Row]:
        mine = [r for r in rows.get(name, []) if _in_groups(r, filters.groups)]
        return [r for r in mine if touches(name, r)] if window.since or window.until else mine

    findings = _with_repeats([f for f in kept("finding") if not filters.rules or f["rule"] in filters.rules], kept("occurrence"))
    findings.sort(key=lambda f: (_place(SEVERITIES, f["severity"]), _place(VERDICTS, f["verdict"]), f["from_ts"] or _LATEST, *_named(f)))
    splits = sorted(
        kept("split_brain"), key=lambda s: (_place(VERDICTS, s["verdict"]), s["from_lo"] or _LATEST, s["resource"], s["process_a"], s["process_b"])
    )
    incidents = kept("incident")
    splits = _with_incidents(splits, rows.get("occurrence", []))
    lines = lookup({i for r in (*findings, *splits, *incidents) for i in r.get("witness") or ()})

    def proved(row: Row) -> Row:
        ids = row.get("witness") or ()
        roles = dict(zip(ids, row.get("witness_role") or (), strict=False))
        shown = [lines.get(i, {"event_id": i}) | ({"role": roles[i]} if roles.get(i) else {}) for i in ids]
        return {k: v for k, v in row.items() if k != "witness_role"} | {"witness": shown}

    findings, splits = [proved(f) for f in findings], [proved(s) for s in splits]
    # An incident that no finding reports has a proof of its own.
    incidents = [i | {"lines": shown, "proof": [] if i["finding_ids"] else shown} for i in incidents for shown in [proved(i)["witness"]]]
    if (window.since or window.until) and rows.get("incident_gap"):
        incidents = _hit_in(incidents, kept("incident_gap"))
    members, generations, owned, coverage = kept("member"), kept("generation"), kept("ownership"), kept("coverage")
    return Report(
        case=_case(manifest, rows, time),
        coverage=sorted(coverage, key=lambda c: (c["process_id"] or "", c["from_ts"] or EARLIEST)),
        clocks=sorted(rows["clock_offset"], key=lambda c: (c["reference_process_id"] or "", c["process_id"] or "")),
        groups=_groups(generations, members, rows["member_generation"], {name: kept(name) for name in _PER_GROUP}),
        unowned=kept("unowned"),
        ownership=sorted(owned, key=lambda o: (o["resource"] or "", o["start_lo"] or EARLIEST)),
        split_brain=splits,
        coordinator_episodes=sorted(kept("coordinator_episode"), key=lambda e: e["lost_ts"] or EARLIEST),
        findings=findings,
        incidents=_incidents(incidents, filters.groups, owned, splits, findings),
        incident_gaps=kept("incident_gap"),
        filters={"since": window.since, "until": window.until, "groups": list(filters.groups), "rules": list(filters.rules)},
        examined=decide(
            rows,
            Selection(
                owned,
                splits,
                coverage,
                generations,
                [p for p in rows["process"] if touches("process", p)],
                filters.groups,
                window.since,
                window.until,
            ),
            reference,
        ),
    )


def _with_incidents(splits: list[Row], occurrences: Iterable[Row]) -> list[Row]:
    """Return pairs of owners with the incident that caused them, as in the findings of split brain; None if none did.

    Partitions of one handover are one occurrence, with the same two owners and the same moment.
    """
    of: dict[tuple[Any, ...], str] = {}
    for o in occurrences:
        if o.get("rule") in ("split-brain-task", "split-brain-partition") and o.get("facts") and o.get("incident_id"):
            facts = json.loads(o["facts"])
            of[facts.get("ownership_a"), facts.get("ownership_b")] = o["incident_id"]
            of[o["group_id"], facts.get("process_a"), facts.get("process_b"), o["from_ts"]] = o["incident_id"]
    return [
        s | {"incident_id": of.get((s["ownership_a"], s["ownership_b"])) or of.get((s["group_id"], s["process_a"], s["process_b"], s["from_lo"]))}
        for s in splits
    ]


def _hit_in(incidents: list[Row], gaps: list[Row]) -> list[Row]:
    """Return incidents with the resources that had no owner, or two, because of them, in the reader's window.

    Args:
        incidents: incidents with their impact over the whole case.
        gaps: times without an owner, or with two working owners, that overlap the window.
    """
    of = by_incident(gaps)

    def limited(incident: Row) -> Row:
        mine = [g for g in of.get(incident["incident_id"], []) if g["unowned_ms"] != 0]  # 0: it perhaps had an owner all the time
        idle = [g for g in mine if g["unowned_ms"] is not None]
        most = [g["unowned_hi_ms"] for g in idle]
        return incident | {
            "resources_hit": sorted({g["resource"] for g in mine if g["resource_kind"] != "group"}),
            "longest_outage_ms": max((g["unowned_ms"] for g in idle), default=None),
            "longest_outage_hi_ms": None if None in most else max(most, default=None),
            "double_work_ms": max((g["double_work_ms"] for g in mine if g["double_work_ms"] is not None), default=None),
        }

    return [limited(i) for i in incidents]


def _incidents(incidents: list[Row], groups: Sequence[str], owned: list[Row], splits: list[Row], findings: list[Row]) -> list[Row]:
    """Return the incidents of the selected groups, the most severe first, and among equally grave ones those that go on, then known causes."""
    selected = [i for i in incidents if not groups or not i["group_ids"] or set(i["group_ids"]) & set(groups)]
    selected = [_seen_by(i, owned, splits) if groups and set(i["group_ids"]) - set(groups) else i for i in selected]
    of = by_incident(findings)
    return sorted(
        selected,
        key=lambda i: (
            _place(SEVERITIES, i["severity"]),
            # Verdicts already take wrong clocks into account.
            i["cause"] == "clock_wrong",
            -_clock_error_ms(of.get(i["incident_id"], ())),
            not (i["finding_ids"] or i["resources_hit"]),
            i.get("state") != "open",
            not any(f["rule"].startswith("split-brain-") and f["verdict"] == "proved" for f in of.get(i["incident_id"], ())),
            i["cause"] == "unknown",
            -max(i["longest_outage_ms"] or 0, i["double_work_ms"] or 0),
            i["from_lo"] or EARLIEST,
            i["incident_id"],
        ),
    )


def _clock_error_ms(findings: Iterable[Row]) -> float:
    """Return how far a clock is off according to its findings, in milliseconds; 0 if no finding says."""
    return max((abs(json.loads(f.get("facts") or "{}").get("by_ms") or 0) for f in findings if f["rule"] == "clock-skew"), default=0)


def _seen_by(incident: Row, owned: list[Row], splits: list[Row]) -> Row:
    """Return an incident of several groups as it affected the selected ones: the resources, and for how long. A filter never changes its severity or cause."""
    hit = sorted(set(incident["resources_hit"]) & {o["resource"] for o in owned})
    double = [s["certain_ms"] for s in splits if s["resource"] in hit and s["verdict"] == "proved" and s["kind"] == "work" and s["certain_ms"]]
    return incident | {
        "resources_hit": hit,
        "double_work_ms": max(double, default=None),
        # The longest outage of all groups; its group is not kept.
        "longest_outage_ms": None,
        "longest_outage_hi_ms": None,
    }


def _with_repeats(findings: list[Row], occurrences: list[Row]) -> list[Row]:
    """Return findings with `repeats`, their occurrences; without repeated findings that have none in the reader's window."""
    of: dict[str, list[Row]] = {}
    for row in sorted(occurrences, key=lambda o: (o["from_ts"] or EARLIEST, o["occurrence_id"])):
        of.setdefault(row["finding_id"], []).append({key: row[key] for key in _REPEAT})
    repeated = [f | {"repeats": of.get(f["finding_id"], []) if (f.get("occurrences") or 1) > 1 else []} for f in findings]
    return [f for f in repeated if f["repeats"] or (f.get("occurrences") or 1) == 1]


def witnesses(case: CaseLike, ids: Iterable[str]) -> dict[str, Row]:
    """Return the lines of event IDs: `event_id, process_id, path, line, byte_offset, ts, text`."""
    wanted, paths = sorted(set(ids)), [str(p) for p in case.table_paths("event_row")]
    found: dict[str, Row] = {}
    if not wanted:
        return found
    columns = ["event_id", "process_id", "path", "line", "byte_offset", "ts", "message"]
    for path in paths:
        table = rows_in(path).to_table(columns=columns, filter=pc.field("event_id").isin(pa.array(wanted)))
        for row in pylist(table):
            row["text"] = row.pop("message")
            found.setdefault(row["event_id"], row)
    return found


def pylist(table: pa.Table) -> list[Row]:
    """Return a table as rows, with times as datetimes in UTC."""
    rows = table.to_pylist(maps_as_pydicts="lossy")
    for row in rows:
        for key, value in row.items():
            if isinstance(value, datetime):
                row[key] = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return rows  # type: ignore[no-any-return]


def rows_of(view: str, path: Path | None) -> list[Row]:
    """Return all rows of a view.

    Raises:
        CaseError: the view is missing, cannot be read, or has the columns of something else.
    """
    if path is None:
        raise CaseError(
            f"The case has no view `{view}`.", why="another version of this program made it", fix="Ingest the logs again, into a new folder."
        )
    fix = "Run `forensics verify` to see what is damaged."
    try:
        table = rows_in(path).to_table()
    except (OSError, pa.ArrowException) as e:
        raise CaseError(f"The view `{view}` cannot be read.", why=str(e).split("\n")[0], where=str(path), fix=fix) from e
    columns = views()[view].columns if view in views() else ()
    # Another version may lack some of them, and have a few others.
    if table.num_rows and columns and 2 * len(set(table.column_names).difference(columns)) > table.num_columns:
        raise CaseError(f"The view `{view}` cannot be read.", why="its file has the columns of something else", where=str(path), fix=fix)
    return pylist(table)


def _case(manifest: Mapping[str, Any], rows: Mapping[str, list[Row]], time: CaseTime | None) -> Row:
    keep = ("tool_version", "catalogue_hash", "command_line", "created")
    return {
        **{key: manifest[key] for key in keep if key in manifest},
        "last_event_ts": time.last if time else None,
        "processes": sorted(rows["process"], key=lambda p: p["process_id"] or ""),
        "source_files": sorted(rows["source_file"], key=lambda f: f["path"] or ""),
    }


def _groups(generations: list[Row], members: list[Row], shares: list[Row], more: Mapping[str, list[Row]]) -> list[Row]:
    groups: dict[tuple[str, str], Row] = {}

    def of(row: Row) -> Row:
        key = (row["kafka_cluster"] or "", row["group_id"] or "")
        names = {"kafka_cluster": row["kafka_cluster"], "group_id": row["group_id"]}
        return groups.setdefault(key, names | {"generations": [], "members": [], "member_generations": []} | {name: [] for name in _PER_GROUP})

    for row in generations:
        of(row)["generations"].append(row)
    for row in members:
        of(row)["members"].append(row)
    shown = {tuple(g[k] for k in _GENERATION_KEY) for g in generations}
    for row in shares:
        if tuple(row[k] for k in _GENERATION_KEY) in shown:
            of(row)["member_generations"].append(row)
    for name, found in more.items():
        for row in found:
            of(row)[name].append(row)
    for group in groups.values():
        group["rebalance_blame"].sort(key=lambda b: (b["incarnation"] or 0, b["generation"] or 0, b["from_ts"] or EARLIEST, b["part"]))
        group["duplicate_ledger"].sort(key=lambda d: (d["resource"] or "", d["restarted_lo"] or EARLIEST))
        group["generations"].sort(key=lambda g: (g["incarnation"] or 0, g["generation"] or 0))
        group["members"].sort(key=lambda m: m["member_id"] or "")
        group["member_generations"].sort(key=lambda m: (m["incarnation"] or 0, m["generation"] or 0, m["member_id"] or ""))
    # A Connect cluster's own group comes before the groups of its sinks.
    return sorted(
        groups.values(), key=lambda g: (all(x["protocol_type"] != "connect" for x in g["generations"]), g["kafka_cluster"] or "", g["group_id"] or "")
    )


def _named(finding: Row) -> tuple[str, str, str, str]:
    """Return a key that orders findings of the same time, because engines return rows in any order."""
    return finding["rule"], finding["group_id"] or "", finding["subject"] or "", finding["finding_id"]


def _in_groups(row: Row, groups: Sequence[str]) -> bool:
    return not groups or row.get("group_id") is None or row["group_id"] in groups


def _place(order: Sequence[str], value: str | None) -> int:
    return order.index(value) if value in order else len(order)

"""Assemble the rows of views to a report: each finding with its lines, each group with its generations and members, the most severe first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from forensics.clocks.reference import Reference
from forensics.examination.examined import Selection, decide
from forensics.report.incidents import by_incident
from forensics.report.model import Report, Row
from forensics.report.selection import GENERATION_KEY, Filters, Selected, hit_in, seen_by
from forensics.report.window import CaseTime
from forensics.wording.formats import SEVERITIES, VERDICTS

#: Views whose rows are added to their group unchanged.
_PER_GROUP = ("rebalance_blame", "duplicate_ledger", "open_rebalance")
#: Columns that a report keeps of each occurrence of a repeated finding.
_REPEAT = ("occurrence_id", "subject", "from_ts", "to_ts", "lasted_ms", "headline", "incident_id")
EARLIEST, _LATEST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


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
    selected = Selected(rows, filters, reference, time)
    window, kept = selected.window, selected.of
    findings = _with_repeats(kept("finding"), kept("occurrence"))
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
    if selected.has_limit and rows.get("incident_gap"):
        incidents = hit_in(incidents, kept("incident_gap"))
    members, generations, owned, coverage = kept("member"), kept("generation"), kept("ownership"), kept("coverage")
    return Report(
        case=_case(manifest, rows, time),
        coverage=sorted(coverage, key=lambda c: (c["process_id"] or "", c["from_ts"] or EARLIEST)),
        clocks=sorted(rows["clock_offset"], key=lambda c: (c["reference_process_id"] or "", c["process_id"] or "")),
        skipped=kept("skip_ledger"),
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
            Selection(owned, splits, coverage, generations, selected.in_time("process"), filters.groups, window.since, window.until),
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


def _incidents(incidents: list[Row], groups: Sequence[str], owned: list[Row], splits: list[Row], findings: list[Row]) -> list[Row]:
    """Return the incidents of the selected groups, the most severe first, and among equally grave ones those that go on, then known causes."""
    selected = [i for i in incidents if not groups or not i["group_ids"] or set(i["group_ids"]) & set(groups)]
    selected = [seen_by(i, owned, splits) if groups and set(i["group_ids"]) - set(groups) else i for i in selected]
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


def _with_repeats(findings: list[Row], occurrences: list[Row]) -> list[Row]:
    """Return findings with `repeats`, their occurrences; without repeated findings that have none in the reader's window."""
    of: dict[str, list[Row]] = {}
    for row in sorted(occurrences, key=lambda o: (o["from_ts"] or EARLIEST, o["occurrence_id"])):
        of.setdefault(row["finding_id"], []).append({key: row[key] for key in _REPEAT})
    repeated = [f | {"repeats": of.get(f["finding_id"], []) if (f.get("occurrences") or 1) > 1 else []} for f in findings]
    return [f for f in repeated if f["repeats"] or (f.get("occurrences") or 1) == 1]


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
    shown = {tuple(g[k] for k in GENERATION_KEY) for g in generations}
    for row in shares:
        if tuple(row[k] for k in GENERATION_KEY) in shown:
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


def _place(order: Sequence[str], value: str | None) -> int:
    return order.index(value) if value in order else len(order)

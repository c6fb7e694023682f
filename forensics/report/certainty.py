"""Say how sure a report is, what is missing, and what else happened beyond the impact of its incidents."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

from forensics.examination.examined import outermost
from forensics.logs import coverage_kinds
from forensics.report import verdict
from forensics.report.examined import assumed_dates, ended_logs, silences, undated
from forensics.report.incidents import by_incident, is_reported
from forensics.report.missing_evidence import at_hosts, end_too_soon, lacks_lines, unread_files, was_loaded
from forensics.report.resources import in_words
from forensics.report.story import RECORDS
from forensics.snapshots.collected import REFUSED
from forensics.wording.formats import SEVERITIES, Clock, and_more, count, span
from forensics.wording.language import upper_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from forensics.report.model import Report, Row
    from forensics.report.story import Story

#: Times that differ by at most this are shown as one.
_CLOSE_MS = 1000
#: Members without anything to work on for longer than this are reported if nothing was certainly unowned.
_IDLE_MS = 10_000
#: An orderly restart that took at least this long is reported.
_AWAY = timedelta(minutes=10)
#: A period without an owner that is shorter than the first limit is a rebalance; longer than the second, the consumers were not running.
_LONG_MS, _NIGHT_MS = 10_000, 3_600_000
#: Reasons for a period without an owner whose start is unknown: there may have been no owner until the next one started.
_LOST = frozenset({"scheduled_delay", "process_gone", "expired"})


def how_sure(report: Report) -> str:
    """Describe what is proved and what is open."""
    graver = [f for f in report.findings if f["severity"] != "note"]
    open_ = [f for f in graver if f["verdict"] == "undecided"]
    of = by_incident(report.findings)
    causes = [i for i in report.incidents if i["severity"] != "note" and is_reported(i, of.get(i["incident_id"], ()))]
    unknown = sum(i["cause"] == "unknown" and not _gives_cause(of.get(i["incident_id"], ())) for i in causes)
    parts = []
    if len(graver) == 1:
        parts.append("The finding is undecided" if open_ else "Log lines prove the finding")
    elif graver:
        proved = len(graver) - len(open_)
        which = f"{proved} of {len(graver)}" if open_ else "both" if proved == 2 else f"all {proved}"
        kinds = [severity for severity in SEVERITIES if severity in {f["severity"] for f in graver}]
        what = "warnings" if kinds == ["warning"] else f"findings ({' and '.join(kinds)})"
        parts.append(f"Log lines prove {which} {what}" if proved else f"No line proves the {what}")
    if parts and (pairs := sum(s["verdict"] == "undecided" for s in report.split_brain)):
        parts.append(f"{count(pairs, 'pair')} of owners {'is' if pairs == 1 else 'are'} undecided")
    if len(causes) == 1:
        # Logs show that a process froze, but seldom why.
        parts.append("Root cause unknown" if unknown else "Root cause found")
    elif causes:
        known = len(causes) - unknown
        parts.append(
            f"{known} of {len(causes)} root causes found" if known < len(causes) else f"{'Both' if known == 2 else f'All {known}'} root causes found"
        )
    if margins := [s["margin_ms"] for s in report.split_brain if s["verdict"] == "proved" and s["kind"] == "work" and s["margin_ms"] is not None]:
        jumped = verdict.clock_jumped(report)
        unless = verdict.unless_jumped(min(margins), jumped=jumped)
        parts.append(f"The overlap is certain {unless}{' (the known jump is taken into account)' * jumped}")
    return f"{'. '.join(parts)}." if parts else ""


def missing(report: Report, clock: Clock) -> str:
    """Describe briefly what is missing; if nothing is known to be missing, what was examined."""
    facts = report.examined
    notes = {f["path"]: f["note"] or "no reason recorded" for f in unread_files(report)}
    # The details of a note are in parentheses.
    short = {path: notes[path].partition(" (")[0] for path in outermost(notes)}
    parts = [f"what {note}" for note in short.values() if note.startswith(REFUSED)]
    damaged = [f"{path} ({note})" for path, note in short.items() if not note.startswith(REFUSED)]
    parts += [f"what could not be read of {and_more(damaged, 3)}"] * bool(damaged)
    if filtered := coverage_kinds.processes(report.coverage, "filtered"):
        looks = "looks" if len(filtered) == 1 else "look"
        parts.append(
            f"most lines of {and_more(filtered, 3)}, which {looks} like grep output (send the whole {'file' if len(filtered) == 1 else 'files'})"
        )
    if unordered := coverage_kinds.processes(report.coverage, "unordered"):
        which = "log as its process" if len(unordered) == 1 else "logs as their processes"
        parts.append(f"the order of the lines of {and_more(unordered, 3)} (send the {which} wrote {'it' if len(unordered) == 1 else 'them'})")
    if missing := facts["members_without_log"]:
        parts.append(f"the logs of {count(missing, 'member')}{at_hosts(report.coverage)}")
    coordinators = [c for c in report.coverage if coverage_kinds.is_missing_coordinator(c)]
    for some, what in ((False, "the coordinator's log"), (True, "lines of the coordinator's log")):
        groups = {
            coverage_kinds.group_of(c) + (f" before {clock.second(c['to_ts'], c['to_ts'])}" if was_loaded(c) else "")
            for c in coordinators
            if lacks_lines(c) is some
        }
        if groups:
            parts.append(f"{what} for {and_more(sorted(groups), 3)}")
    parts += [f"{count(len(logs), one, several)} ({and_more(logs, 3)})" for one, several, logs in coverage_kinds.missing(report.coverage)]
    if shared := coverage_kinds.processes(report.coverage, "several_members"):
        parts.append(f"the content of {and_more(shared, 3)}, because the lines of different members cannot be distinguished")
    if mixed := coverage_kinds.processes(report.coverage, "several_brokers"):
        parts.append(f"lines that distinguish the brokers in {and_more(mixed, 3)}")
    ends = ended_logs(report)
    at_end = {id(c) for c in ends}
    with_gaps = {c["process_id"] for c in report.coverage if c["kind"] == "missing_lines" and id(c) not in at_end}
    until = {c["process_id"]: c["to_ts"] for c in ends}
    ended = {*end_too_soon(report), *until}
    for logs, which in ((with_gaps - ended, ""), (with_gaps & ended, ", the last ones too")):
        parts += [f"lines of {and_more(sorted(logs), 3)}{which}"] * bool(logs)
    if files := undated(report):
        parts.append(f"the dates of {count(len(files), 'log')}")
    if files := assumed_dates(report):
        parts.append(f"the year or date of {and_more(files, 3)} (the last one before the file was changed is assumed)")
    if facts["gaps"]:
        parts.append(silences(facts["gaps"], facts["gap_ms"]))
    undecided = [s for s in report.split_brain if s["verdict"] == "undecided"]
    if later := sorted(ended - with_gaps):
        last = {p["process_id"]: p["last_ts"] for p in report.case["processes"]}
        after = {log: f" after {clock.second(last[log], None)}" if last.get(log) else " after its last line" for log in later}
        after |= {
            log: f"{after[log]} until at least {clock.second(to, None)}"
            for log, to in until.items()
            if to and log in after and last.get(log) and to > last[log]
        }
        parts.append(f"lines of {and_more([log + after[log] for log in later], 3)}")
    if others := facts["groups_not_examined"]:
        unknown = f"ownership in {and_more(others, 3)} is unknown"
        # The reason is unknown: it is not always a missing log.
        return f"{', '.join(parts)}; {unknown}." if parts else f"{unknown}."
    if parts:
        return f"{', '.join(parts)}."
    if any(s["missing"] and (s.get("facts") or {}).get("evidence") != ["nothing"] for s in undecided):
        return "what Collect lists, to settle the undecided pairs of owners."
    if facts["examined"] and facts["from_ts"] and facts["to_ts"]:
        return f"no gaps found from {clock.second(facts['from_ts'], facts['to_ts'])}."
    return ""


def besides(report: Report, shown: Sequence[Story], clock: Clock) -> str:
    """Return what else happened to resources and members, beyond the impact of the incidents that are shown; empty if nothing did."""
    of = by_incident(report.findings)
    told = {i["incident_id"] for i in report.incidents if i["severity"] != "note" and is_reported(i, of.get(i["incident_id"], ()))}
    told |= {s.incident["incident_id"] for s in shown}
    hit = {r for i in report.incidents if i["incident_id"] in told for r in i["resources_hit"]}
    hit |= {g["resource"] for g in report.incident_gaps if g["incident_id"] in told}
    gaps = [g for g in report.incident_gaps if g["unowned_ms"] and g["resource_kind"] != "group" and g["resource"] not in hit]
    idle = max((i["longest_outage_ms"] or 0 for i in report.incidents), default=0)
    parts = [
        _had_none(report, gaps, "unowned_ms"),
        _unowned(report, hit | {g["resource"] for g in gaps}),
        *_had_two(report, {id(p) for s in shown for p in s.pairs}),
        _perhaps(report, hit),
        _idle_members(report, idle),
        _unfinished(
            report, {g for i in report.incidents if i["incident_id"] in told and "rebalance" in (i.get("still") or ()) for g in i["group_ids"]}
        ),
    ]
    parts += _long_restarts(report, told)
    if back := report.commits_back:
        commits = count(sum(back.values()), "commit")
        parts.append(f"dumps of `__consumer_offsets` have {commits} of {and_more(sorted(back), 3)} that went back (`forensics sql offset_commit`)")
    still = {g for i in report.incidents if i["incident_id"] in told and "group_empty" in (i.get("still") or ()) for g in i["group_ids"]}
    # Workers and their tasks log how they end.
    of_connect = {g["group_id"] for g in report.groups for x in g["generations"] if x["protocol_type"] == "connect"}
    of_connect |= {g["group_id"] for g in report.groups for m in g["members"] if m["task"]}
    of_incidents = {g for i in report.incidents if i["incident_id"] in told for g in i["group_ids"]} - still - of_connect
    if left := {group: since for group, since in report.left_empty.items() if group in of_incidents}:
        since = f", since {clock.second(min(left.values()), None)}" if len(left) == 1 else ""
        parts.append(f"no member was left in {and_more(sorted(left), 3)} when the logs end{since}")
    if not any(h.certainty == RECORDS for s in shown for h in s.hits):
        parts.append(_read_twice(report))
    return " ".join(f"{upper_first(part)}." for part in parts if part)


def _long_restarts(report: Report, told: Collection[str]) -> list[str]:
    """Return the brokers and processes that were away for long in an orderly restart, which is no warning, but may explain what else happened."""
    kinds = ("broker_down", "process_restarted")
    quiet = [i for i in report.incidents if i["cause"] in kinds and i["incident_id"] not in told and i["from_hi"] and i["to_lo"]]
    away = sorted((i["to_lo"] - i["from_hi"], i["headline"] or "") for i in quiet)
    long = [f"{headline} ({span(lasted / timedelta(milliseconds=1), up=False)})" for lasted, headline in reversed(away) if lasted >= _AWAY]
    return [and_more(long, 2)] * bool(long)


def _had_none(report: Report, gaps: Sequence[Row], certain: str) -> str:
    """Return resources that certainly had no owner."""
    of = sorted({g["resource"] for g in gaps})
    return f"{in_words(of, gaps)}{_of_groups(report, gaps)} had no owner{_at_least(max(g[certain] for g in gaps), of)}" if of else ""


def _had_two(report: Report, shown: Collection[int]) -> Iterator[str]:
    """Yield resources that certainly had two owners, without the pairs of owners that are shown."""
    both = [s for s in report.split_brain if s["verdict"] == "proved" and s["there_certain_ms"] and id(s) not in shown]
    for kind, had in (("task", "had two live threads"), ("connector", "had two live threads"), ("partition", "")):
        if pairs := [s for s in both if s["resource_kind"] == kind]:
            of = sorted({s["resource"] for s in pairs})
            what = had or f"{'was' if len(of) == 1 else 'were'} held by two owners"
            lasted = _at_least(max(s["there_certain_ms"] for s in pairs), of)
            yield f"{in_words(of, pairs)}{_of_groups(report, pairs)} {what} at the same time{lasted}"


def _unowned(report: Report, already_reported: Collection[str]) -> str:
    """Return partitions that certainly had no owner for long without an incident, because a static member was away. A rule reports such tasks.

    Args:
        report: the report.
        already_reported: the resources that incidents hit.
    """
    gaps = [g for g in report.unowned if g["resource_kind"] == "partition" and g["resource"] not in already_reported and g["next_ownership_id"]]
    gaps = [g for g in gaps if _LONG_MS <= (g["certain_ms"] or 0) <= _NIGHT_MS]
    return _had_none(report, gaps, "certain_ms") if report.examined["examined"] else ""


def _perhaps(report: Report, already_reported: Collection[str]) -> str:
    """Return resources that may have had no owner, and for how long: an owner fell silent, and the logs do not show when it ended.

    Args:
        report: the report.
        already_reported: the resources that incidents hit.
    """
    longest: dict[str, float] = {}
    gaps = []
    # If logs of other members are missing, these members may have owned anything.
    for gap in report.unowned if report.examined["examined"] else ():
        may = gap["why"] in _LOST and gap["to_hi"] is not None and not gap["certain_ms"] and gap["resource"] not in already_reported
        if may and (gap["possible_ms"] or 0) >= _CLOSE_MS:
            longest[gap["resource"]] = max(longest.get(gap["resource"], 0), gap["possible_ms"])
            gaps.append(gap)
    if not longest:
        return ""
    most = f"{' for' if len(longest) == 1 else ', one of them for'} up to {span(max(longest.values()), up=True)}"
    return f"{in_words(sorted(longest), [*report.ownership, *report.unowned])}{_of_groups(report, gaps)} may have had no owner{most}"


def _read_twice(report: Report) -> str:
    """Return the number of records that were certainly read twice."""
    of = {g["group_id"]: sum(row["records_lo"] or 0 for row in g["duplicate_ledger"]) for g in report.groups}
    groups = sorted(group for group, records in of.items() if records)
    return f"at least {count(sum(of.values()), 'record was', 'records were')} read twice in {and_more(groups, 3)}" if groups else ""


def _idle_members(report: Report, idle: float) -> str:
    """Return members that had nothing to work on for longer than anything was certainly unowned; others may have had it."""
    longest: dict[str, float] = {}
    for group in report.groups:
        for share in group["member_generations"]:
            longest[group["group_id"]] = max(longest.get(group["group_id"], 0), share["paused_ms"] or 0)
    limit = idle + _CLOSE_MS if idle else _IDLE_MS
    groups = sorted(g for g, ms in longest.items() if ms > limit)
    return (
        f"members of {and_more(groups, 3)} had no assignment, one of them for at least {span(max(longest[g] for g in groups), up=False)}"
        if groups
        else ""
    )


def _unfinished(report: Report, already_reported: Collection[str]) -> str:
    """Return groups whose last rebalance had not ended long after it began, when the logs end.

    Args:
        report: the report.
        already_reported: the groups of incidents that last because of such a rebalance.
    """
    rows = [(g["group_id"], row["lasted_ms"] or 0) for g in report.groups if g["group_id"] not in already_reported for row in g["open_rebalance"]]
    lasted = {group: ms for group, ms in rows if ms > _IDLE_MS}
    after = f"{', one of them' * (len(lasted) > 1)} {span(max(lasted.values()), up=False)} after it began" if lasted else ""
    return f"{'a rebalance' if len(lasted) == 1 else 'rebalances'} of {and_more(sorted(lasted), 3)} had not ended{after}" if lasted else ""


def _of_groups(report: Report, rows: Iterable[Row]) -> str:
    """Return ` of connect-b` if groups outside these rows also read their partitions; empty if none does."""
    read = {(r["resource"], r["group_id"]) for r in rows if r["resource_kind"] == "partition"}
    mine, partitions = {group for _, group in read}, {resource for resource, _ in read}
    others = {o["group_id"] for o in report.ownership if o["resource_kind"] == "partition" and o["resource"] in partitions}
    return f" of {and_more(sorted(filter(None, mine)), 3)}" if others - mine else ""


def _at_least(longest_ms: float, of: Sequence[str]) -> str:
    """Return `for at least` and the time, which is certain for only one of several."""
    return f"{' for' if len(of) == 1 else ', one of them for'} at least {span(longest_ms, up=False)}"


def _gives_cause(findings: Sequence[Row]) -> bool:
    """Return True if a finding itself names its cause: the exception that it quotes, or a worker that was shut down."""
    return any(
        facts.get("error") or facts.get("is_shut_down")
        for facts in (json.loads(f.get("facts") or "{}") for f in findings if f.get("code") not in ("not_named", "not_stored"))
    )

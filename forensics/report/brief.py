"""Answer in at most six lines: what happened and what followed, who was affected, what to do first, how sure it is, what is missing."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.report import anchors, verdict
from forensics.report.document import Block, Para, Tone
from forensics.report.examined import assumed_dates, basis, ended_logs, filtered_logs, logs_of_several, outermost, silences, undated
from forensics.report.incidents import MERGED_CAUSES, began, by_incident, effects, in_one, is_reported, outcome, walk
from forensics.report.missing_evidence import at_hosts, end_too_soon, lacks_lines, unread_files, was_loaded
from forensics.report.model import GENERATION_BEGAN, GENERATION_BEGUN_BY
from forensics.report.resources import and_more, in_words
from forensics.wording.formats import SEVERITIES, Clock, count, shorten, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.model import Report, Row
    from forensics.report.names import Names

MAX_LINES = 6
_MAX_MATTERS = 2
_LONGEST = 200
#: Times that differ by at most this are shown as one.
_CLOSE_MS = 1000
#: Members without anything to work on for longer than this are reported if nothing was certainly unowned.
_IDLE_MS = 10_000
#: At least this many rebalances, at least one a minute, are reported, for at most this many groups.
_MANY, _OFTEN_S, _GROUPS = 20, 60, 3
#: A time without an owner that is shorter than the first limit is a rebalance; longer than the second, the consumers were not running.
_LONG_MS, _NIGHT_MS = 10_000, 3_600_000
#: Reasons for a time without an owner whose start is unknown: there may have been no owner until the next one started.
_LOST = frozenset({"scheduled_delay", "process_gone", "expired"})
#: The end of a sentence; not the full stop of `e.g. ` or of a number.
_SENTENCE = re.compile(r"(?<=[a-z)`][.!?])\s+(?=[A-Z`])")
_TONES: dict[str, Tone] = {"critical": "bad", "warning": "warn", "note": ""}
#: Words for missing evidence, by the kind of a row of `coverage`.
_MISSING = {
    "truncated": "log without its beginning",
    "cut_lines": "log whose lines are cut",
    "no_client_info": "log without its consumers' joins and assignments",
    "damaged": "log with damaged lines",
    "no_info": "log without Kafka's lines about tasks and assignments",
}
_SEVERAL = {
    "truncated": "logs without their beginnings",
    "cut_lines": "logs whose lines are cut",
    "no_client_info": "logs without their consumers' joins and assignments",
    "damaged": "logs with damaged lines",
    "no_info": "logs without Kafka's lines about tasks and assignments",
}
#: Maximum number of further incidents of a merged cause that are named.
_MAX_MERGED = 3
_COORDINATOR = "coordinator of "
#: Names of findings whose rule ids are unclear.
_CALLED = {"split-brain-task": "split brain of tasks", "split-brain-partition": "split brain of partitions"}


@dataclass(frozen=True)
class BriefLine:
    """A line of the brief; `anchor` leads to its subject."""

    text: str
    label: str = ""
    tone: Tone = ""
    anchor: str = ""


@dataclass(frozen=True)
class _Matter:
    """An incident, or a finding without an incident, as one line."""

    severity: str
    text: str
    anchor: str


def write(report: Report, names: Names, clock: Clock) -> list[BriefLine]:
    """Return the lines, the most severe first."""
    title, tone, _ = verdict.section(report, names, clock, None)
    split = BriefLine(title, tone=tone, anchor="split-brain")
    matters = _matters(report, clock, without_splits=tone in ("bad", "warn") and bool(report.split_brain))
    reported = [BriefLine(f"{m.severity}: {m.text}", tone=_TONES.get(m.severity, ""), anchor=m.anchor) for m in matters[:_MAX_MATTERS]]
    if len(matters) > _MAX_MATTERS:
        reported[1:] = [BriefLine(_others(matters[1:]), tone=_TONES[matters[1].severity], anchor="findings")]
    # What happened comes before what did not, because a group that never settled is no all-clear.
    lines = [*reported, split] if reported and tone != "bad" else [split, *reported]
    sure, lacking = how_sure(report), missing(report, clock)
    if tone == "good" and reported and sure:
        lines.remove(split)
        sure = f"{sure} {title}."
    if hit := _hit(report):
        lines.append(BriefLine(hit, "Affected"))
    advice, anchor = _advised(report)
    if advice:
        lines.append(BriefLine(_opening(advice), "What to do first", anchor=anchor))
    if not reported and report.examined["examined"]:
        sure = basis(report, clock, but=False)
    if len(lines) + bool(sure) + bool(lacking) > MAX_LINES:
        both = f"{sure} Missing: {lacking}" if sure and lacking else sure or lacking
        return [*lines[: MAX_LINES - 1], BriefLine(both, "How sure", tone="dim", anchor="unseen")]
    lines += [BriefLine(sure, "How sure", tone="dim")] if sure else []
    lines += [BriefLine(lacking, "Missing", tone="dim", anchor="unseen")] if lacking else []
    return lines


def section(report: Report, names: Names, clock: Clock) -> list[Block]:
    """Return the lines as blocks."""
    return [Para(line.text, label=line.label, tone=line.tone) for line in write(report, names, clock)]


def _matters(report: Report, clock: Clock, *, without_splits: bool) -> list[_Matter]:
    """Return what the lines may report, the most severe first: incidents, and findings without one. Most notes are left to the findings."""
    found, of = [], by_incident(report.findings)
    by_kind: dict[tuple[str, str], list[Row]] = {}
    for incident in report.incidents:
        mine = of.get(incident["incident_id"], [])
        if not is_reported(incident, mine):
            continue
        if without_splits and incident["code"] == "unexplained" and all(f["rule"] in verdict.SPLIT_BRAIN_RULES for f in mine):
            continue
        kind = incident["cause"] if incident["cause"] in MERGED_CAUSES else incident["incident_id"]
        by_kind.setdefault((kind, incident["severity"]), []).append(incident)
    for (_, severity), (first, *more) in by_kind.items():
        mine = of.get(first["incident_id"], [])
        others = [of[i["incident_id"]][0]["headline"] if i["incident_id"] in of else str(i["headline"]) for i in more]
        text = in_one([_cause_and_effects(report, first, mine, clock), *others], 1 + _MAX_MERGED)
        found.append(_Matter(severity, text, anchors.finding(mine[0]["finding_id"]) if mine else anchors.incident(first["incident_id"])))
    for f in report.findings:
        if f.get("incident_id") or f["severity"] == "note" or (without_splits and f["rule"] in verdict.SPLIT_BRAIN_RULES):
            continue
        found.append(_Matter(f["severity"], f["headline"], anchors.finding(f["finding_id"])))
    return sorted(found, key=lambda m: SEVERITIES.index(m.severity))


def _cause_and_effects(report: Report, incident: Row, findings: Sequence[Row], clock: Clock) -> str:
    """Return the cause with its time, and its effects."""
    if incident["code"] == "unexplained" and findings:
        first = next((f for f in findings if not f.get("caused_by")), findings[0])
        followed = _chain(((depth, f) for depth, f in walk(effects(findings)) if depth), incident["incident_id"])
        known = "; ".join([*["cause unknown"] * (not _gives_cause(findings)), *outcome(incident)])
        return str(first["headline"]) + f" ({known})" * bool(known) + f" → {followed}" * bool(followed)
    # The finding says how wrong the clock is.
    text = str(findings[0]["headline"] if incident["cause"] in MERGED_CAUSES and findings else incident["headline"])
    if known := "; ".join(filter(None, (began(report, incident, clock.second), *outcome(incident)))):
        text += f" ({known})"
    chain = _chain(walk(effects(findings)), incident["incident_id"])
    return f"{text} → {chain}" if chain else text


def _chain(tree: Iterable[tuple[int, Row]], incident_id: str) -> str:
    """Return the effects of one incident in causal order: `session timeout (3 times) → rebalance storm`."""
    levels: dict[int, Counter[str]] = {}
    for depth, f in tree:
        if f.get("caused_how") == "cause" or f["severity"] == "note":
            continue
        name = _CALLED.get(f["rule"], f["rule"].replace("-", " "))
        levels.setdefault(depth, Counter())[name if f["verdict"] == "proved" else f"{name}?"] += _times(f, incident_id)
    parts = ([f"{name} ({n} times)" if n > 1 else name for name, n in rules.items()] for _, rules in sorted(levels.items()))
    return " → ".join(", ".join(names) for names in parts)


def _times(f: Row, incident_id: str) -> int:
    """Return how often a finding occurs in this incident: a repeated finding may belong to many incidents."""
    return sum(o["incident_id"] == incident_id for o in f.get("repeats") or ()) or 1


def _others(matters: Sequence[_Matter]) -> str:
    numbers = Counter(m.severity for m in matters)
    words = ", ".join(f"{n:,} more critical" if severity == "critical" else count(n, f"more {severity}") for severity, n in numbers.items())
    texts = [shorten(matters[0].text, 2 * _LONGEST)]
    for matter in matters[1:]:
        if len("; ".join([*texts, matter.text])) > _LONGEST:
            break
        texts.append(matter.text)
    more = len(matters) - len(texts)
    return f"{words}: {'; '.join(texts)}{f'; and {more} more' if more else ''}"


def _hit(report: Report) -> str:
    """Describe the resources without an owner, or with two, and for how long."""
    resources = sorted({r for i in report.incidents for r in i["resources_hit"]})
    idle = max((i["longest_outage_ms"] or 0 for i in report.incidents), default=0)
    twice = max((i["double_work_ms"] or 0 for i in report.incidents), default=0)
    at_work = sorted({s["resource"] for s in report.split_brain if s["kind"] == "work" and s["verdict"] == "proved" and s["certain_ms"]})
    worked = f"{_was(at_work or resources)} worked on by two owners at the same time{_at_least(twice, at_work or resources)}"
    # A resource with two threads is reported only as such; its time without an owner is not kept separately.
    twofold = {s["resource"] for s in report.split_brain if s["resource_kind"] != "partition" and s["verdict"] == "proved"}
    unowned = [r for r in resources if r not in twofold] or resources
    parts = _unowned(report, unowned, idle) if idle and resources else []
    if twice and len(parts) == 1 and at_work == resources:
        parts = [f"{parts[0]}, and {worked}"]
    elif twice and (hit := at_work or resources):
        parts.append(f"{in_words(hit, report.ownership)} {worked}")
    # Both certainly existed, but did not certainly work at the same moment.
    also_working = set(at_work)
    there = [s for s in report.split_brain if s["verdict"] == "proved" and s["there_certain_ms"] and s["resource"] not in also_working]
    for kind in ("task", "partition"):
        if both := [s for s in there if s["resource_kind"] == kind]:
            of = sorted({s["resource"] for s in both})
            had = "had two live threads" if kind == "task" else f"{_was(of)} held by two owners"
            lasted = _at_least(max(s["there_certain_ms"] for s in both), of)
            parts.append(f"{in_words(of, both)}{_of_groups(report, both)} {had} at the same time{lasted}")
    more = (
        _besides(report, resources),
        _read_twice(report),
        _perhaps(report, resources, idle),
        _idle_members(report, idle),
        _busy(report),
        _unfinished(report),
    )
    parts += [text for text in more if text]
    return f"{'; '.join(parts)}." if parts else ""


def _unowned(report: Report, resources: Sequence[str], idle: float) -> list[str]:
    """Return the resources that certainly had no owner; partitions separately if their longest time says nothing about tasks and connectors.

    Args:
        report: the report.
        resources: their names.
        idle: the longest time without an owner of any resource, in milliseconds.
    """
    of = {i["incident_id"] for i in report.incidents}
    longest: dict[bool, float] = {}
    names: dict[bool, set[str]] = {}
    gaps = [
        g for g in report.incident_gaps if g["unowned_ms"] and g["incident_id"] in of and g["resource"] in resources and g["resource_kind"] != "group"
    ]
    for gap in gaps:
        is_partition = gap["resource_kind"] == "partition"
        longest[is_partition] = max(longest.get(is_partition, 0), gap["unowned_ms"])
        names.setdefault(is_partition, set()).add(gap["resource"])
    whose = _of_groups(report, gaps)
    if len(longest) < 2 or abs(longest[True] - longest[False]) < _CLOSE_MS or names[True] | names[False] != set(resources):
        return [f"{in_words(resources, report.ownership)}{whose} had no owner{_at_least(idle, resources)}"]
    return [
        f"{in_words(sorted(names[kind]), report.ownership)}{whose * kind} had no owner{_at_least(longest[kind], sorted(names[kind]))}"
        for kind in sorted(names, key=lambda kind: -longest[kind])
    ]


def _besides(report: Report, already_reported: Sequence[str]) -> str:
    """Return partitions that certainly had no owner for long without an incident, because a static member was away. A rule reports such tasks.

    Args:
        report: the report.
        already_reported: the resources that incidents hit.
    """
    gaps = [g for g in report.unowned if g["resource_kind"] == "partition" and g["resource"] not in already_reported and g["next_ownership_id"]]
    gaps = [g for g in gaps if _LONG_MS <= (g["certain_ms"] or 0) <= _NIGHT_MS]
    if not gaps or not report.examined["examined"]:
        return ""
    of = sorted({g["resource"] for g in gaps})
    return f"{in_words(of, gaps)}{_of_groups(report, gaps)} had no owner{_at_least(max(g['certain_ms'] for g in gaps), of)}"


def _of_groups(report: Report, rows: Iterable[Row]) -> str:
    """Return ` of connect-b` if groups outside these rows also read their partitions; empty if none does."""
    read = {(r["resource"], r["group_id"]) for r in rows if r["resource_kind"] == "partition"}
    mine, partitions = {group for _, group in read}, {resource for resource, _ in read}
    others = {o["group_id"] for o in report.ownership if o["resource_kind"] == "partition" and o["resource"] in partitions}
    return f" of {and_more(sorted(filter(None, mine)), 3)}" if others - mine else ""


def _perhaps(report: Report, certain: Sequence[str], idle: float) -> str:
    """Return resources that may have had no owner, and for how long: an owner fell silent, and the logs do not show when it ended.

    Args:
        report: the report.
        certain: the resources that certainly had no owner.
        idle: the longest of these times, in milliseconds.
    """
    longest: dict[str, float] = {}
    gaps = []
    # If logs of other members are missing, these members may have owned anything.
    for gap in report.unowned if report.examined["examined"] else ():
        may = gap["why"] in _LOST and gap["to_hi"] is not None and not gap["certain_ms"]
        if may and (gap["possible_ms"] or 0) >= (idle + _CLOSE_MS if gap["resource"] in certain else _CLOSE_MS):
            longest[gap["resource"]] = max(longest.get(gap["resource"], 0), gap["possible_ms"])
            gaps.append(gap)
    if not longest:
        return ""
    most = f"{' for' if len(longest) == 1 else ', one of them for'} up to {span(max(longest.values()), up=True)}"
    return f"{in_words(sorted(longest), [*report.ownership, *report.unowned])}{_of_groups(report, gaps)} may have had no owner{most}"


def _busy(report: Report) -> str:
    """Return groups that rebalanced repeatedly: `orders rebalanced 90 times in 5 min 58 s`."""
    busy = []
    for group in report.groups:
        moments = [at for g in group["generations"] if (at := next((g[c] for c in (*GENERATION_BEGAN, *GENERATION_BEGUN_BY) if g.get(c)), None))]
        if len(moments) >= _MANY and (lasted := (max(moments) - min(moments)).total_seconds()) <= len(moments) * _OFTEN_S:
            busy.append(f"{group['group_id']} rebalanced {len(moments):,} times in {span(1000 * lasted)}")
    return "; ".join(busy[:_GROUPS]) + (f"; and {count(len(busy) - _GROUPS, 'more group')}" if len(busy) > _GROUPS else "")


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


def _unfinished(report: Report) -> str:
    """Return groups whose last rebalance had not ended long after it began, when the logs end."""
    lasted = {g["group_id"]: row["lasted_ms"] for g in report.groups for row in g["open_rebalance"] if (row["lasted_ms"] or 0) > _IDLE_MS}
    after = f"{', one of them' * (len(lasted) > 1)} after {span(max(lasted.values()), up=False)}" if lasted else ""
    return f"{'a rebalance' if len(lasted) == 1 else 'rebalances'} of {and_more(sorted(lasted), 3)} had not ended{after}" if lasted else ""


def _at_least(longest_ms: float, of: Sequence[str]) -> str:
    """Return `for at least` and the time, which is certain for only one of several."""
    return f"{' for' if len(of) == 1 else ', one of them for'} at least {span(longest_ms, up=False)}"


def _was(of: Sequence[str]) -> str:
    return "was" if len(of) == 1 else "were"


def _advised(report: Report) -> tuple[str, str]:
    """Return the most important advice and its place: the action that ends the most severe incident, else its advice, else that of the finding nearest to the cause."""
    if not report.examined["examined"] and (shared := logs_of_several(report)):
        why = f"the lines of {'its' if len(shared) == 1 else 'their'} members cannot be distinguished and are left out"
        return f"Collect the log of each process separately instead of {and_more(shared, 3)}: {why}.", "unseen"
    graver = [f for f in report.findings if f["advice"] and f["severity"] != "note"]
    if not graver and (filtered := filtered_logs(report)):
        return f"Send {and_more(filtered, 3)} complete, not filtered.", "unseen"
    of = by_incident(graver)
    for incident in report.incidents:
        mine = [f for _, f in walk(effects(of.get(incident["incident_id"], ())))]
        advice = incident.get("stop_now") or incident["advice"] or (mine[0]["advice"] if mine else "")
        if incident["severity"] != "note" and advice and (mine or incident["finding_ids"] or is_reported(incident, mine)):
            return advice, anchors.finding(mine[0]["finding_id"]) if mine else anchors.incident(incident["incident_id"])
    return (graver[0]["advice"], anchors.finding(graver[0]["finding_id"])) if graver else ("", "")


def _gives_cause(findings: Sequence[Row]) -> bool:
    """Return True if a finding itself names its cause: the exception that it quotes, or a worker that was shut down."""
    return any(
        facts.get("error") or facts.get("is_shut_down")
        for facts in (json.loads(f.get("facts") or "{}") for f in findings if f.get("code") not in ("not_named", "not_stored"))
    )


def how_sure(report: Report) -> str:
    """Describe what is proved and what is open."""
    graver = [f for f in report.findings if f["severity"] != "note"]
    open_ = [f for f in graver if f["verdict"] == "undecided"]
    of = by_incident(report.findings)
    causes = [i for i in report.incidents if i["severity"] != "note" and is_reported(i, of.get(i["incident_id"], ()))]
    unknown = sum(i["cause"] == "unknown" and not _gives_cause(of.get(i["incident_id"], ())) for i in causes)
    parts = []
    if len(graver) == 1:
        parts.append("the finding is undecided" if open_ else "log lines prove the finding")
    elif graver:
        proved = len(graver) - len(open_)
        which = f"{proved} of {len(graver)}" if open_ else "both" if proved == 2 else f"all {proved}"
        kinds = [severity for severity in SEVERITIES if severity in {f["severity"] for f in graver}]
        what = "warnings" if kinds == ["warning"] else f"{' and '.join(kinds)} findings"
        parts.append(f"log lines prove {which} {what}" if proved else f"no line proves the {what}")
    if parts and (pairs := sum(s["verdict"] == "undecided" for s in report.split_brain)):
        parts.append(f"{count(pairs, 'pair')} of owners {'is' if pairs == 1 else 'are'} undecided")
    if len(causes) == 1:
        # Logs show that a process froze, but seldom why.
        parts.append("root cause unknown" if unknown else "root cause found")
    elif causes:
        known = len(causes) - unknown
        parts.append(f"root causes: {known} of {len(causes)} found")
    if margins := [s["margin_ms"] for s in report.split_brain if s["verdict"] == "proved" and s["kind"] == "work" and s["margin_ms"] is not None]:
        jumped = verdict.clock_jumped(report)
        unless = verdict.unless_jumped(min(margins), jumped=jumped)
        parts.append(f"the overlap is certain {unless}{' (the known jump is taken into account)' * jumped}")
    return f"{'; '.join(parts)}." if parts else ""


def missing(report: Report, clock: Clock) -> str:
    """Describe briefly what is missing; if nothing is known to be missing, what was examined."""
    facts = report.examined
    notes = {f["path"]: f["note"] or "no reason recorded" for f in unread_files(report)}
    # The details of a note are in parentheses.
    damaged = [f"{path} ({notes[path].partition(' (')[0]})" for path in outermost(notes)]
    parts = [f"what could not be read of {and_more(damaged, 3)}"] * bool(damaged)
    if filtered := filtered_logs(report):
        looks = "looks" if len(filtered) == 1 else "look"
        parts.append(
            f"most lines of {and_more(filtered, 3)}, which {looks} like grep output (send the whole {'file' if len(filtered) == 1 else 'files'})"
        )
    if unordered := filtered_logs(report, "unordered"):
        which = "log as its process" if len(unordered) == 1 else "logs as their processes"
        parts.append(f"the order of the lines of {and_more(unordered, 3)} (send the {which} wrote {'it' if len(unordered) == 1 else 'them'})")
    if missing := facts["members_without_log"]:
        parts.append(f"the lines of {count(missing, 'member')}{at_hosts(report.coverage)}")
    coordinators = [c for c in report.coverage if (c["process_id"] or "").startswith(_COORDINATOR)]
    for some, what in ((False, "the coordinator's log"), (True, "lines of the coordinator's log")):
        groups = {
            c["process_id"].removeprefix(_COORDINATOR) + (f" before {clock.second(c['to_ts'], c['to_ts'])}" if was_loaded(c) else "")
            for c in coordinators
            if lacks_lines(c) is some
        }
        if groups:
            parts.append(f"{what} for {and_more(sorted(groups), 3)}")
    kinds = Counter(c.get("code") or c["kind"] for c in report.coverage)
    parts += [count(kinds[kind], word, _SEVERAL.get(kind, "")) for kind, word in _MISSING.items() if kinds[kind]]
    if shared := logs_of_several(report):
        parts.append(f"the content of {and_more(shared, 3)}, because the lines of different members cannot be distinguished")
    if mixed := logs_of_several(report, "brokers"):
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
        return "the evidence named for each undecided pair of owners."
    if facts["examined"] and facts["from_ts"] and facts["to_ts"]:
        return f"no gaps found from {clock.second(facts['from_ts'], facts['to_ts'])}."
    return ""


def _opening(advice: str) -> str:
    """Return as many of an advice's first sentences as fit in a line of the brief, at least one."""
    sentences = _SENTENCE.split(advice)
    text = sentences[0]
    for sentence in sentences[1:]:
        if len(text) + len(sentence) > _LONGEST:
            break
        text += f" {sentence}"
    return shorten(text, 2 * _LONGEST)

"""The answer in at most six lines: what happened and what followed, who was hit, what to do first, how sure it is, what was not seen."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from forensics.report import anchors, verdict
from forensics.report.document import Block, Para, Tone
from forensics.report.examined import filtered_logs, logs_of_several, rests_on, silences, undated
from forensics.report.incidents import began, by_incident, effects, is_worth_telling, outcome, walk
from forensics.report.model import GENERATION_BEGAN, GENERATION_BEGUN_BY
from forensics.report.resources import and_more, in_words
from forensics.report.unseen import at_hosts, end_too_soon, lacks_lines
from forensics.wording.formats import SEVERITIES, Clock, count, shorten, span
from forensics.wording.language import upper_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from forensics.report.model import Report, Row
    from forensics.report.names import Names

MOST = 6
_MOST_TOLD = 2
_LONGEST = 200
#: Times that differ by at most this are shown as one.
_CLOSE_MS = 1000
#: That members had nothing to work on for so long is worth a word where nothing was surely unowned.
_STOOD_MS = 10_000
#: So many rebalances, one a minute or more, are worth a word.
_MANY, _OFTEN_S, _GROUPS = 20, 60, 3
#: Without an owner for less than this is a rebalance; for more, nobody was there.
_LONG_MS, _NIGHT_MS = 10_000, 3_600_000
#: Why something was without an owner whose end no line tells: until its next owner had it, nobody may have had it.
_LOST = frozenset({"scheduled_delay", "process_gone", "expired"})
#: A full stop between sentences; not that of `e.g. ` or of a number.
_SENTENCE = re.compile(r"(?<=[a-z)`][.!?])\s+(?=[A-Z`])")
_TONES: dict[str, Tone] = {"critical": "bad", "warning": "warn", "note": ""}
#: Parts of what is missing, by the kind of a row of `coverage`.
_MISSING = {
    "unreadable": "unreadable file",
    "truncated": "log without its beginning",
    "cut_lines": "log whose lines are cut",
    "no_info": "log without Kafka's lines about tasks and assignments",
}
_SEVERAL = {
    "truncated": "logs without their beginnings",
    "cut_lines": "logs whose lines are cut",
    "no_info": "logs without Kafka's lines about tasks and assignments",
}
#: Lines that are missing behind the last of a log.
_AT_END = ("ends_early", "coordinator_went_on")
#: Causes that affect several processes in the same way: one line has all of them.
_ALIKE = ("clock_wrong",)
#: Maximum number of these that are named.
_MOST_ALIKE = 3
_COORDINATOR = "coordinator of "
#: Names of findings whose rule ids are unclear.
_CALLED = {"split-brain-task": "split brain of tasks", "split-brain-partition": "split brain of partitions"}


@dataclass(frozen=True)
class Said:
    """A line of the brief; `anchor` leads to its subject."""

    text: str
    label: str = ""
    tone: Tone = ""
    anchor: str = ""


@dataclass(frozen=True)
class _Matter:
    """An incident, or a finding that belongs to none, as a line tells it."""

    severity: str
    text: str
    anchor: str


def write(report: Report, names: Names, clock: Clock) -> list[Said]:
    """The lines, what is gravest first."""
    title, tone, _ = verdict.section(report, names, clock, None)
    split = Said(title, tone=tone, anchor="split-brain")
    matters = _matters(report, clock, without_splits=tone in ("bad", "warn") and bool(report.split_brain))
    told = [Said(f"{m.severity}: {m.text}", tone=_TONES.get(m.severity, ""), anchor=m.anchor) for m in matters[:_MOST_TOLD]]
    if len(matters) > _MOST_TOLD:
        told[1:] = [Said(_others(matters[1:]), tone=_TONES[matters[1].severity], anchor="findings")]
    # What happened stands before what did not: a group that never settled is no all-clear.
    lines = [*told, split] if told and tone != "bad" else [split, *told]
    sure, unseen = how_sure(report), missing(report, clock)
    if tone == "good" and told and sure:
        lines.remove(split)
        sure = f"{sure} {title}."
    if hit := _hit(report):
        lines.append(Said(hit, "Affected"))
    advice, anchor = _advised(report)
    if advice:
        lines.append(Said(_opening(advice), "What to do first", anchor=anchor))
    if not told and report.examined["examined"]:
        sure = rests_on(report, clock, but=False)
    if len(lines) + bool(sure) + bool(unseen) > MOST:
        both = f"{sure} Missing: {unseen}" if sure and unseen else sure or unseen
        return [*lines[: MOST - 1], Said(both, "How sure", tone="dim", anchor="unseen")]
    lines += [Said(sure, "How sure", tone="dim")] if sure else []
    lines += [Said(unseen, "Missing", tone="dim", anchor="unseen")] if unseen else []
    return lines


def section(report: Report, names: Names, clock: Clock) -> list[Block]:
    """The lines as blocks."""
    return [Para(said.text, label=said.label, tone=said.tone) for said in write(report, names, clock)]


def _matters(report: Report, clock: Clock, *, without_splits: bool) -> list[_Matter]:
    """What a line may tell, the gravest first: incidents, and findings that belong to none. Most notes are left to the findings."""
    found, of = [], by_incident(report.findings)
    alike: dict[tuple[str, str], list[Row]] = {}
    for incident in report.incidents:
        mine = of.get(incident["incident_id"], [])
        if not is_worth_telling(incident, mine):
            continue
        if without_splits and incident["code"] == "unexplained" and all(f["rule"] in verdict.TOLD_HERE for f in mine):
            continue
        kind = incident["cause"] if incident["cause"] in _ALIKE else incident["incident_id"]
        alike.setdefault((kind, incident["severity"]), []).append(incident)
    for (_, severity), (first, *more) in alike.items():
        first, *more = sorted((first, *more), key=lambda i: -_apart_ms(of.get(i["incident_id"], [])))
        mine = of.get(first["incident_id"], [])
        others = [of[i["incident_id"]][0]["headline"] if i["incident_id"] in of else str(i["headline"]) for i in more]
        text = "; ".join([_told(report, first, mine, clock), *others[:_MOST_ALIKE]])
        text += f"; and {len(others) - _MOST_ALIKE} more" * (len(others) > _MOST_ALIKE)
        found.append(_Matter(severity, text, anchors.finding(mine[0]["finding_id"]) if mine else anchors.incident(first["incident_id"])))
    for f in report.findings:
        if f.get("incident_id") or f["severity"] == "note" or (without_splits and f["rule"] in verdict.TOLD_HERE):
            continue
        found.append(_Matter(f["severity"], f["headline"], anchors.finding(f["finding_id"])))
    return sorted(found, key=lambda m: SEVERITIES.index(m.severity))


def _apart_ms(findings: Sequence[Row]) -> float:
    """How far a clock is off, as its finding says; 0 where none does."""
    return max((abs(json.loads(f.get("facts") or "{}").get("by_ms") or 0) for f in findings), default=0)


def _told(report: Report, incident: Row, findings: Sequence[Row], clock: Clock) -> str:
    """The cause with its time, and what followed from it."""
    if incident["code"] == "unexplained" and findings:
        first = next((f for f in findings if not f.get("caused_by")), findings[0])
        followed = _chain(((depth, f) for depth, f in walk(effects(findings)) if depth), incident["incident_id"])
        known = "; ".join([*["cause unknown"] * (not _tells_cause(findings)), *outcome(incident)])
        return str(first["headline"]) + f" ({known})" * bool(known) + f" → {followed}" * bool(followed)
    # Its finding says how wrong the clock is.
    text = upper_first(findings[0]["headline"]) if incident["cause"] in _ALIKE and findings else str(incident["headline"])
    if known := "; ".join(filter(None, (began(report, incident, clock.second), *outcome(incident)))):
        text += f" ({known})"
    chain = _chain(walk(effects(findings)), incident["incident_id"])
    return f"{text} → {chain}" if chain else text


def _chain(tree: Iterable[tuple[int, Row]], incident_id: str) -> str:
    """Effects of one incident in the order in which they follow from each other: `session timeout (3 times) → rebalance storm`."""
    levels: dict[int, Counter[str]] = {}
    for depth, f in tree:
        if f.get("caused_how") == "cause" or f["severity"] == "note":
            continue
        name = _CALLED.get(f["rule"], f["rule"].replace("-", " "))
        levels.setdefault(depth, Counter())[name if f["verdict"] == "proved" else f"{name}?"] += _times(f, incident_id)
    parts = ([f"{name} ({n} times)" if n > 1 else name for name, n in rules.items()] for _, rules in sorted(levels.items()))
    return " → ".join(", ".join(names) for names in parts)


def _times(f: Row, incident_id: str) -> int:
    """How often a finding belongs to this incident: what repeats may be of many."""
    return sum(o["incident_id"] == incident_id for o in f.get("repeats") or ()) or 1


def _others(matters: Sequence[_Matter]) -> str:
    numbers = Counter(m.severity for m in matters)
    words = ", ".join(f"{n:,} more critical" if severity == "critical" else count(n, f"more {severity}") for severity, n in numbers.items())
    told = [shorten(matters[0].text, 2 * _LONGEST)]
    for matter in matters[1:]:
        if len("; ".join([*told, matter.text])) > _LONGEST:
            break
        told.append(matter.text)
    more = len(matters) - len(told)
    return f"{words}: {'; '.join(told)}{f'; and {more} more' if more else ''}"


def _hit(report: Report) -> str:
    """Describe the resources without an owner, or with two, and for how long."""
    resources = sorted({r for i in report.incidents for r in i["resources_hit"]})
    idle = max((i["longest_outage_ms"] or 0 for i in report.incidents), default=0)
    twice = max((i["double_work_ms"] or 0 for i in report.incidents), default=0)
    at_work = sorted({s["resource"] for s in report.split_brain if s["kind"] == "work" and s["verdict"] == "proved" and s["certain_ms"]})
    worked = f"worked on by two owners at the same time{_at_least(twice, at_work or resources)}"
    # A resource with two threads counts as such: how long it had no owner, if at all, is not kept separately.
    twofold = {s["resource"] for s in report.split_brain if s["resource_kind"] != "partition" and s["verdict"] == "proved"}
    unowned = [r for r in resources if r not in twofold] or resources
    parts = _unowned(report, unowned, idle) if idle and resources else []
    if twice and len(parts) == 1 and at_work == resources:
        parts = [f"{parts[0]}, {worked}"]
    elif twice and (hit := at_work or resources):
        parts.append(f"{in_words(hit, report.ownership)}: {worked}")
    # Both certainly existed, but did not certainly work at the same moment.
    there = [s for s in report.split_brain if s["verdict"] == "proved" and s["there_certain_ms"] and s["resource"] not in at_work]
    for kind, words in (("task", "two live threads at the same time"), ("partition", "held by two owners at the same time")):
        if both := [s for s in there if s["resource_kind"] == kind]:
            of = sorted({s["resource"] for s in both})
            parts.append(f"{in_words(of, both)}{_of_groups(report, both)}: {words}{_at_least(max(s['there_certain_ms'] for s in both), of)}")
    more = _besides(report, resources), _read_twice(report), _perhaps(report, resources, idle), _stood(report, idle), _busy(report), _unended(report)
    parts += [told for told in more if told]
    return f"{'; '.join(parts)}." if parts else ""


def _unowned(report: Report, resources: Sequence[str], idle: float) -> list[str]:
    """What surely had no owner; partitions by themselves where their longest time says nothing of the tasks and connectors.

    Args:
        report: the report.
        resources: their names.
        idle: the longest time of all, milliseconds.
    """
    of = {i["incident_id"] for i in report.incidents}
    longest: dict[bool, float] = {}
    names: dict[bool, set[str]] = {}
    gaps = [g for g in report.incident_gaps if g["unowned_ms"] and g["incident_id"] in of and g["resource"] in resources]
    for gap in gaps:
        is_partition = gap["resource_kind"] == "partition"
        longest[is_partition] = max(longest.get(is_partition, 0), gap["unowned_ms"])
        names.setdefault(is_partition, set()).add(gap["resource"])
    whose = _of_groups(report, gaps)
    if len(longest) < 2 or abs(longest[True] - longest[False]) < _CLOSE_MS or names[True] | names[False] != set(resources):
        return [f"{in_words(resources, report.ownership)}{whose}: unowned{_at_least(idle, resources)}"]
    return [
        f"{in_words(sorted(names[kind]), report.ownership)}{whose * kind}: unowned{_at_least(longest[kind], sorted(names[kind]))}"
        for kind in sorted(names, key=lambda kind: -longest[kind])
    ]


def _besides(report: Report, told: Sequence[str]) -> str:
    """Partitions that surely had no owner for long though no incident explains it: a static member was away. Of tasks a rule tells that.

    Args:
        report: the report.
        told: what incidents hit.
    """
    gaps = [g for g in report.unowned if g["resource_kind"] == "partition" and g["resource"] not in told and g["next_ownership_id"]]
    gaps = [g for g in gaps if _LONG_MS <= (g["certain_ms"] or 0) <= _NIGHT_MS]
    if not gaps or not report.examined["examined"]:
        return ""
    of = sorted({g["resource"] for g in gaps})
    return f"{in_words(of, gaps)}{_of_groups(report, gaps)}: unowned{_at_least(max(g['certain_ms'] for g in gaps), of)}"


def _of_groups(report: Report, rows: Iterable[Row]) -> str:
    """` of connect-b`, where other groups read the partitions of some rows, too, which these rows do not tell of; empty where none does."""
    told = {(r["resource"], r["group_id"]) for r in rows if r["resource_kind"] == "partition"}
    mine, partitions = {group for _, group in told}, {resource for resource, _ in told}
    others = {o["group_id"] for o in report.ownership if o["resource_kind"] == "partition" and o["resource"] in partitions}
    return f" of {and_more(sorted(filter(None, mine)), 3)}" if others - mine else ""


def _perhaps(report: Report, told: Sequence[str], idle: float) -> str:
    """What nobody may have had, and for how long: an owner fell silent, and no line tells when it ended.

    Args:
        report: the report.
        told: what was surely without an owner.
        idle: the longest time of these, milliseconds.
    """
    longest: dict[str, float] = {}
    gaps = []
    # Where the logs of others are missing, these may have had anything.
    for gap in report.unowned if report.examined["examined"] else ():
        may = gap["why"] in _LOST and gap["to_hi"] is not None and not gap["certain_ms"]
        if may and (gap["possible_ms"] or 0) >= (idle + _CLOSE_MS if gap["resource"] in told else _CLOSE_MS):
            longest[gap["resource"]] = max(longest.get(gap["resource"], 0), gap["possible_ms"])
            gaps.append(gap)
    if not longest:
        return ""
    most = f"{' for' if len(longest) == 1 else ', the longest for'} up to {span(max(longest.values()))}"
    return f"{in_words(sorted(longest), [*report.ownership, *report.unowned])}{_of_groups(report, gaps)}: perhaps unowned{most}"


def _busy(report: Report) -> str:
    """Groups that rebalanced again and again: `orders: 90 rebalances in 5 min 58 s`."""
    told = []
    for group in report.groups:
        moments = [at for g in group["generations"] if (at := next((g[c] for c in (*GENERATION_BEGAN, *GENERATION_BEGUN_BY) if g.get(c)), None))]
        if len(moments) >= _MANY and (lasted := (max(moments) - min(moments)).total_seconds()) <= len(moments) * _OFTEN_S:
            told.append(f"{group['group_id']}: {len(moments):,} rebalances in {span(1000 * lasted)}")
    return "; ".join(told[:_GROUPS]) + (f"; and {count(len(told) - _GROUPS, 'more group')}" if len(told) > _GROUPS else "")


def _read_twice(report: Report) -> str:
    """How many records were surely read twice."""
    of = {g["group_id"]: sum(row["records_lo"] or 0 for row in g["duplicate_ledger"]) for g in report.groups}
    groups = sorted(group for group, records in of.items() if records)
    return f"{and_more(groups, 3)}: at least {count(sum(of.values()), 'record')} read twice" if groups else ""


def _stood(report: Report, idle: float) -> str:
    """Members that had nothing to work on for longer than anything was surely without an owner: others may have had it, or nobody tells."""
    longest: dict[str, float] = {}
    for group in report.groups:
        for share in group["member_generations"]:
            longest[group["group_id"]] = max(longest.get(group["group_id"], 0), share["paused_ms"] or 0)
    least = idle + _CLOSE_MS if idle else _STOOD_MS
    groups = sorted(g for g, ms in longest.items() if ms > least)
    return f"members of {and_more(groups, 3)}: nothing to work on, the longest for at least {span(max(longest[g] for g in groups))}" if groups else ""


def _unended(report: Report) -> str:
    """Groups whose last rebalance had not ended long after it began, when the logs end."""
    lasted = {g["group_id"]: row["lasted_ms"] for g in report.groups for row in g["open_rebalance"] if (row["lasted_ms"] or 0) > _STOOD_MS}
    return f"{and_more(sorted(lasted), 3)}: a rebalance that had not ended after {span(max(lasted.values()))}" if lasted else ""


def _at_least(longest_ms: float, of: Sequence[str]) -> str:
    """Return `for at least` and the time, which is certain only for the longest."""
    return f"{' for' if len(of) == 1 else ', the longest for'} at least {span(longest_ms)}"


def _advised(report: Report) -> tuple[str, str]:
    """Return the advice that comes first, and its place: the action that ends the gravest incident, else its own advice, else that of the finding nearest to the cause."""
    if not report.examined["examined"] and (shared := logs_of_several(report)):
        why = f"the lines of {'its' if len(shared) == 1 else 'their'} members cannot be distinguished and are left out"
        return f"Collect the log of each process separately instead of {and_more(shared, 3)}: {why}.", "unseen"
    graver = [f for f in report.findings if f["advice"] and f["severity"] != "note"]
    if not graver and (filtered := filtered_logs(report)):
        return f"Send the whole files instead of {and_more(filtered, 3)}: the missing lines settle most questions.", "unseen"
    of = by_incident(graver)
    for incident in report.incidents:
        mine = [f for _, f in walk(effects(of.get(incident["incident_id"], ())))]
        told = incident.get("stop_now") or incident["advice"] or (mine[0]["advice"] if mine else "")
        if incident["severity"] != "note" and told and (mine or incident["finding_ids"] or is_worth_telling(incident, mine)):
            return told, anchors.finding(mine[0]["finding_id"]) if mine else anchors.incident(incident["incident_id"])
    return (graver[0]["advice"], anchors.finding(graver[0]["finding_id"])) if graver else ("", "")


def _tells_cause(findings: Sequence[Row]) -> bool:
    """Whether a finding tells its cause itself: the exception that it quotes, or a worker that was shut down."""
    return any(facts.get("error") or facts.get("is_shut_down") for facts in (json.loads(f.get("facts") or "{}") for f in findings))


def how_sure(report: Report) -> str:
    """Describe what is proved and what is open."""
    graver = [f for f in report.findings if f["severity"] != "note"]
    open_ = [f for f in graver if f["verdict"] == "undecided"]
    of = by_incident(report.findings)
    causes = [i for i in report.incidents if i["severity"] != "note" and is_worth_telling(i, of.get(i["incident_id"], ()))]
    unknown = sum(i["cause"] == "unknown" and not _tells_cause(of.get(i["incident_id"], ())) for i in causes)
    parts = []
    if len(graver) == 1:
        parts.append("the finding is undecided" if open_ else "the finding is proved by log lines")
    elif graver:
        proved = len(graver) - len(open_)
        told = f"{proved} of {len(graver)}" if open_ else "both" if proved == 2 else f"all {proved}"
        kinds = " and ".join(severity for severity in SEVERITIES if severity in {f["severity"] for f in graver})
        parts.append(f"{told} {kinds} findings {'is' if proved == 1 else 'are'} proved by log lines")
    if len(causes) == 1:
        # They show that a process froze, but seldom why.
        parts.append("the root cause is unknown" if unknown else "the logs show the root cause")
    elif causes:
        known = len(causes) - unknown
        told = f"{known} of the {len(causes)}" if known and unknown else f"all {known}" if known > 2 else "both"
        parts.append(f"the logs show {told} root causes" if known else "no root cause is known")
    if margins := [s["margin_ms"] for s in report.split_brain if s["verdict"] == "proved" and s["kind"] == "work" and s["margin_ms"] is not None]:
        jumped = verdict.clock_jumped(report)
        unless = verdict.unless_jumped(min(margins), jumped=jumped)
        parts.append(f"two owners at the same time are certain {unless}{' (the known jump is taken into account)' * jumped}")
    return f"{'; '.join(parts)}." if parts else ""


def missing(report: Report, clock: Clock) -> str:
    """Describe what is missing, in a few words; if nothing is known to be, what was examined."""
    facts, parts = report.examined, []
    if filtered := filtered_logs(report):
        looks = "looks" if len(filtered) == 1 else "look"
        parts.append(
            f"most lines of {and_more(filtered, 3)}, which {looks} like grep output (send the whole {'file' if len(filtered) == 1 else 'files'})"
        )
    if missing := facts["members_without_log"]:
        parts.append(f"the lines of {count(missing, 'member')}{at_hosts(report.coverage)}")
    coordinators = [c for c in report.coverage if (c["process_id"] or "").startswith(_COORDINATOR)]
    for some, what in ((False, "the coordinator's log"), (True, "lines of the coordinator's log")):
        if groups := sorted({c["process_id"].removeprefix(_COORDINATOR) for c in coordinators if lacks_lines(c) is some}):
            parts.append(f"{what} for {', '.join(groups[:3])}{', …' * (len(groups) > 3)}")
    kinds = Counter(c["kind"] for c in report.coverage)
    parts += [count(kinds[kind], word, _SEVERAL.get(kind, "")) for kind, word in _MISSING.items() if kinds[kind]]
    if shared := logs_of_several(report):
        parts.append(f"the content of {and_more(shared, 3)}, because the lines of different members cannot be distinguished")
    if mixed := logs_of_several(report, "brokers"):
        parts.append(f"lines that distinguish the brokers in {and_more(mixed, 3)}")
    holes = [(c["process_id"], (c.get("facts") or {}).get("why")) for c in report.coverage if c["kind"] == "missing_lines"]
    holed = {process for process, why in holes if why not in _AT_END}
    ended = {*end_too_soon(report), *(process for process, why in holes if why in _AT_END)}
    for logs, which in ((holed - ended, ""), (holed & ended, ", the last ones too")):
        parts += [f"lines of {and_more(sorted(logs), 3)}{which}"] * bool(logs)
    if files := undated(report):
        parts.append(f"the dates of {count(len(files), 'log')}")
    if facts["gaps"]:
        parts.append(silences(facts["gaps"], facts["gap_ms"]))
    undecided = [s for s in report.split_brain if s["verdict"] == "undecided"]
    if later := ended - holed:
        parts.append(f"any later lines of {and_more(sorted(later), 3)}")
    if others := facts["groups_not_examined"]:
        unknown = f"ownership in {and_more(others, 3)} is unknown"
        # The reason is unknown: it is not always a missing log.
        return f"{', '.join(parts)}; {unknown}." if parts else f"{unknown}."
    if parts:
        return f"{', '.join(parts)}."
    if undecided:
        return "the evidence named below for each undecided pair of owners."
    if facts["examined"] and facts["from_ts"] and facts["to_ts"]:
        return f"no gaps found from {clock.second(facts['from_ts'], facts['to_ts'])}."
    return ""


def _opening(advice: str) -> str:
    """The first sentences of an advice, as many as a line of the brief takes, one at least."""
    sentences = _SENTENCE.split(advice)
    told = sentences[0]
    for sentence in sentences[1:]:
        if len(told) + len(sentence) > _LONGEST:
            break
        told += f" {sentence}"
    return shorten(told, 2 * _LONGEST)

"""Describe each incident for an engineer on call: what happened in order, who was affected, and what to do now, next and in the long run."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from forensics.report.incidents import MERGED_CAUSES, STATED_END, by_incident, effects, ended, is_reported, lacks_earliest_begin, walk
from forensics.report.resources import in_words
from forensics.wording.formats import about, count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from forensics.report.model import Report, Row
    from forensics.report.names import Names

ROOT = "root cause"
SPLIT_RULES = ("split-brain-task", "split-brain-partition")
#: Rules whose findings are in the impact, with their times.
_IN_IMPACT = (*SPLIT_RULES, "unassigned-tasks")
#: The rule whose findings let an incident last longer, and whose advice ends that.
_BUG = "known-bug"
_SECOND = timedelta(seconds=1)
_MAX_STEPS, _SAME_RULE, _MAX_LEDGER = 8, 2, 3
_TWICE = "may be processed twice"
_COMMITTED_AGAIN = "committed before and read again; what was read but not committed is unknown"
#: Kinds of damage: two worked, or work is declared twice; two owners or none for a certain time; perhaps; records that were read again.
_WORKED, _CERTAIN, _PERHAPS, RECORDS = range(4)
#: What the second owner did and what the first still did; what both did, if it is unknown which was first.
_DID = {
    "partition": ("was assigned", "still held", "held"),
    "task": ("started", "was still running", "ran"),
    "connector": ("started", "was still running", "ran"),
}
_PROOF = {
    "work": "both worked during the overlap",
    "thread": "no proof that both were working",
    "held": "no proof that both were reading at the same time",
}
_IDLE = {"partition": "not consumed", "group": "nothing consumed"}
#: Times of several resources that differ by less than either are shown as one.
_ALIKE_MS, _ALIKE = 1000, 0.1
#: Separators of a kind and names in a list: `partitions a-0, a-1 and a-2`.
_NAMES = re.compile(r"(?<=^partition) |(?<=^partitions) |, | and ")


#: Roles of the lines that show when two owners began and ceased to have a resource, the best first.
_B_STARTS = ("B starts", "B is asked to start", "B is already active", "B is processing")
_ENDS, _LAST_SIGNS = ("A ends", "B ends"), ("last activity of A", "A is still active")


@dataclass(frozen=True)
class Step:
    """An event of an incident.

    Attributes:
        lo, hi: start and end, or of a root cause the bounds of its beginning (UTC); None: unknown.
        text: what happened.
        where: `path:line` that shows it; empty if no single line does.
        role: `root cause`, or empty.
    """

    lo: datetime | None
    hi: datetime | None
    text: str
    where: str = ""
    role: str = ""


@dataclass(frozen=True)
class Hit:
    """Damage: which resources, who had them, for how long, and the consequence.

    Attributes:
        certainty: how grave it is by kind, the gravest first: `_WORKED`, `_CERTAIN`, `_PERHAPS` or `RECORDS`.
        longest_ms: its longest time, milliseconds; of the same kind, the longest is shown first.
    """

    what: str
    who: str
    lasted: str
    consequence: str = ""
    certainty: int = 0
    longest_ms: float = 0


@dataclass(frozen=True)
class Story:
    """One incident.

    Attributes:
        incident: its row.
        headline: what its root cause did, in one sentence.
        steps: what happened, in time order.
        hits: the impact.
        pairs: the pairs of owners that it caused, without refuted ones.
        now: what stops it; after its end, what to check.
        next: where to look for the reason behind the root cause.
        prevent: what to change.
        left_out: the number of steps that are left out.
        recurred: when the same cause affected the same subject; empty if it happened once, or another incident shows it.
    """

    incident: Row
    headline: str
    steps: tuple[Step, ...]
    hits: tuple[Hit, ...]
    pairs: tuple[Row, ...]
    now: str
    next: str
    prevent: str
    left_out: int = 0
    recurred: str = ""

    @property
    def advice(self) -> tuple[tuple[str, str], ...]:
        """Return what to do after `now`, each with its label."""
        return tuple(row for row in (("Next", self.next), ("Prevent", self.prevent), ("Recurred", self.recurred)) if row[1])

    @property
    def worst(self) -> str:
        """Return the worst damage in short; empty if there is none."""
        return next((f"{hit.what}: {', '.join(filter(None, (hit.who, hit.lasted)))}" for hit in self.hits), "")


def stories(report: Report, names: Names) -> list[Story]:
    """Return the incidents of a report as stories, the most severe first; incidents without consequence are left out."""
    of = by_incident(report.findings)
    reported = [i for i in report.incidents if is_reported(i, of.get(i["incident_id"], []))]
    others = {i["incident_id"]: i for i in report.incidents}
    for incident in reported:
        others.pop(incident["incident_id"], None)
    found = [(i, of.get(i["incident_id"], [])) for i in reported]
    return [_until_last(_story(report, names, i, findings), findings, others) for i, findings in found]


def _until_last(story: Story, findings: Iterable[Row], others: Mapping[str, Row]) -> Story:
    """Return a story that ends when the last incident ends that is shown with it.

    Args:
        story: an incident.
        findings: its findings, of which some may have occurred in other incidents too.
        others: the incidents that are not shown by themselves.
    """
    found = {o["incident_id"] for f in findings for o in f.get("repeats") or ()}
    same = [others[incident_id] for incident_id in sorted(found & others.keys())]
    if story.incident["cause"] != "unknown" or not same:
        return story
    last = max([story.incident, *same], key=lambda i: (i.get("state") == "open", i["to_hi"] is None, _seconds(ended(i))))
    incident = story.incident | {key: last.get(key) for key in STATED_END}
    return replace(story, incident=incident, now=story.now if last is story.incident else last.get("stop_now") or story.now)


def _seconds(at: datetime | None) -> float:
    return at.timestamp() if at else 0.0


def _story(report: Report, names: Names, incident: Row, findings: Sequence[Row]) -> Story:
    tree = [f for _, f in walk(effects(findings))]
    pairs = [s for s in report.pairs_by_incident.get(incident["incident_id"], ()) if s["verdict"] != "refuted"]
    is_unanswered = incident["code"] == "unknown" and len(tree) == 1 and tree[0].get("code") == "no_bootstrap_server"
    says_more = (incident["code"] == "unexplained" or incident["cause"] in MERGED_CAUSES or is_unanswered) and bool(tree)
    headline = tree[0]["headline"] if says_more else incident["headline"]
    only = tree[0]["headline"] if incident["code"] == "members_removed" and len(tree) == 1 else ""
    cause = Step(
        # A removal ends the silence whose bounds the incident has.
        None if lacks_earliest_begin(report, incident) or incident["code"] == "members_removed" else incident["from_lo"],
        incident["from_hi"],
        _first(tree[0], incident) if only or says_more else incident.get("step") or headline,
        _line(incident.get("lines") or (), None if _is_witnessed(incident) else incident["from_hi"]),
        ROOT,
    )
    others = sorted([*_effects(incident, tree, only or headline), *_owners(report, pairs, names)], key=in_time)
    shown = shortened(others)
    graver = [f for f in tree if f["advice"] and f["severity"] != "note"]
    # The impact names the tasks, but not the setting that kept them without an owner.
    now = incident.get("stop_now") or _check(incident, pairs, report.split_brain)
    further = _next(incident, graver)
    delayed = (f["advice"] for f in graver if f["rule"] == "unassigned-tasks")
    return Story(
        incident=incident,
        headline=headline,
        steps=(cause, *shown),
        hits=tuple(_damage(report, incident, tree, pairs, names)),
        pairs=tuple(pairs),
        now=now,
        next=further if further != now else "",
        prevent=incident.get("prevent") or next(delayed, ""),
        left_out=len(others) - len(shown),
    )


def _next(incident: Row, graver: Sequence[Row]) -> str:
    """Return where to look for the reason behind the root cause, and the remedy for each known bug that made it last."""
    first = incident.get("next") or incident["advice"] or next((f["advice"] for f in graver), "")
    bugs = {f["code"]: f["advice"] for f in graver if f["rule"] == _BUG and f["advice"] != first}
    return " ".join([first, *(f"{bug}: {advice}" for bug, advice in bugs.items())]).strip()


def _check(incident: Row, pairs: Sequence[Row], every: Sequence[Row]) -> str:
    """Return what to check after the end, or after the shutdown of its processes; empty if it goes on, or if nothing may have been done twice.

    Args:
        incident: an incident.
        pairs: its pairs of owners.
        every: all pairs of owners.
    """
    worked = sorted({s["resource"] for s in pairs if s["verdict"] == "proved" and s["kind"] == "work" and not _in_transactions(s)})
    if not worked or incident.get("state") != "over" and incident.get("over_how") != "shut_down":
        return ""
    # Owners that were shut down need no stopping, whenever they did.
    end = incident["to_hi"] if incident.get("over_how") != "shut_down" else None
    later = (end is not None and (s["to_hi"] is None or s["to_hi"] > end) for s in every if s["verdict"] == "undecided")
    return f"{'' if any(later) else 'Nothing needs stopping. '}Check the output of {in_words(worked, pairs)} for duplicates."


def _in_transactions(pair: Row) -> bool:
    """Return True if the two owners are a source task that writes in transactions: consumers with `read_committed` read nothing of the fenced one."""
    return bool((pair.get("facts") or {}).get("is_transactional"))


def shortened(steps: Sequence[Step]) -> Sequence[Step]:
    """Return the first steps and the last if there are too many for the first screen."""
    return steps if len(steps) < _MAX_STEPS else [*steps[: _MAX_STEPS - 2], steps[-1]]


def in_time(step: Step) -> tuple[bool, float]:
    """Return a key that sorts steps by time, those without a time last."""
    at = step.lo or step.hi
    return at is None, _seconds(at)


def _effects(incident: Row, tree: Iterable[Row], headline: str) -> Iterator[Step]:
    """Yield what followed, without what the impact lists; of many effects of one rule, the first and the number of others."""
    by_rule: dict[str, list[Row]] = {}
    for f in tree:
        if f["severity"] != "note" and f["rule"] not in _IN_IMPACT and f.get("caused_how") != "cause" and f["headline"] != headline:
            by_rule.setdefault(f["rule"], []).append(f)
    for same in by_rule.values():
        same.sort(key=lambda f: (f["from_ts"] is None, f["from_ts"] and f["from_ts"].timestamp()))
        kept = same if len(same) <= _SAME_RULE else same[:1]
        for f in kept:
            more = len(same) - len(kept)
            mine = _occurrences(f, incident)
            start, end = (mine[0]["from_ts"], mine[-1]["to_ts"]) if mine else (f["from_ts"], f["to_ts"])
            yield Step(
                start,
                same[-1]["to_ts"] if more else end,
                f"{f['headline']} (the first of {len(same)} such events)" if more else _first(f, incident),
                _line(f["witness"], f["from_ts"]),
            )


def _occurrences(finding: Row, incident: Row) -> list[Row]:
    return [o for o in finding.get("repeats") or () if o["incident_id"] == incident["incident_id"]]


def _first(finding: Row, incident: Row) -> str:
    """Return the headline of the first occurrence of a finding in an incident, because a step has the time of the first: the headline of the finding describes the worst."""
    its = _occurrences(finding, incident)
    return f"{its[0]['headline']} (the first of {len(its)} such events)" if len(its) > 1 else str(finding["headline"])


def _owners(report: Report, pairs: Iterable[Row], names: Names) -> Iterator[Step]:
    """Yield when two owners began and ceased to have the same resources, by pair and moment."""
    proved = [s for s in pairs if s["verdict"] == "proved"]
    for same in _same_second(proved, lambda s: s["from_lo"] or s["from_hi"]):
        a, b = names.owners(same[0])
        took, had, shared = _DID[same[0]["resource_kind"]]
        resources = sorted({s["resource"] for s in same})
        what, them = in_words(resources, same), "it" if len(resources) == 1 else "them"
        lo = min((s["from_lo"] for s in same if s["from_lo"]), default=None)
        if a == b:
            did = f"{a} {took} {what} a second time"
        elif all(s["facts"]["b_began_later"] for s in same):
            did = f"{b} {took} {what} while {a} {had} {them}"
        else:
            did = f"{a} and {b} both {shared} {what}"
        yield Step(*_moment(lo, report.owner_starts.get(same[0]["ownership_b"]) or lo), did, _role(same[0], *_B_STARTS))
    for same in _same_second([s for s in proved if s["to_hi"]], lambda s: s["to_hi"]):
        a, b = names.owners(same[0])
        what = in_words(sorted({s["resource"] for s in same}), same)
        ended = max(s["to_hi"] for s in same)
        yield Step(*_moment(min((s["to_lo"] for s in same if s["to_lo"]), default=ended), ended), f"{what} had one owner again", _end(same[0]))


def _moment(lo: datetime | None, hi: datetime | None) -> tuple[datetime | None, datetime | None]:
    """Return start and end of a step that is a moment with these bounds: of wide ones only the latter, because nothing happened before it for certain."""
    is_wide = lo is None or hi is None or hi - lo >= _SECOND
    return (None if is_wide else hi), hi


def _same_second(pairs: Iterable[Row], at: Callable[[Row], datetime | None]) -> list[list[Row]]:
    """Group pairs with the same two owners and kind of resource whose moments are in the same second."""
    of: dict[tuple[str, ...], list[Row]] = {}
    for s in pairs:
        moment = at(s)
        kind = "partition" if s["resource_kind"] == "partition" else ""
        of.setdefault((s["process_a"] or "", s["process_b"] or "", kind, f"{moment:%F %T}" if moment else ""), []).append(s)
    return list(of.values())


def _damage(report: Report, incident: Row, tree: Sequence[Row], pairs: Sequence[Row], names: Names) -> list[Hit]:
    """Return the damage of an incident, the worst first."""
    undecided = [s for s in pairs if s["verdict"] != "proved"]
    gaps = [g for g in report.gaps_by_incident.get(incident["incident_id"], ()) if g["double_work_ms"] is None]
    ledger = _ledger(report, incident)
    in_ledger = {d["resource"] for d in ledger if (d["records_lo"] and d["read_to"] is not None) or not d["records_hi"]}
    hits = [
        *_twice([s for s in pairs if s["verdict"] == "proved"], names),
        *_unowned([g for g in gaps if g["unowned_ms"] or g["resource_kind"] == "group" and g["to_ts"] is None], names),
        *_perhaps(undecided, [g for g in gaps if not g["unowned_ms"] and g["unowned_hi_ms"]], names),
        *(hit for hit in _stated(incident, tree) if not _is_covered(hit, in_ledger)),
        *_skipped_alone(report, incident, ledger, names),
        *_read_again(report, ledger, names),
    ]
    return sorted(hits, key=lambda h: (h.certainty, -h.longest_ms))


def _twice(pairs: Iterable[Row], names: Names) -> Iterator[Hit]:
    """Yield resources that certainly had two owners."""
    # The time for which both certainly worked is reported only for the resources on which they did.
    of: dict[tuple[str, tuple[object, ...], str, str], list[Row]] = {}
    for s in pairs:
        a, b = names.owners(s)
        alike = (not s["work_certain_ms"], not s["records_written"], s["resource_kind"], _in_transactions(s))
        of.setdefault((s["kind"] or "", alike, a, b), []).append(s)
    for (kind, _, a, b), same in of.items():
        who = f"{a} and {b}" if a != b else f"{a}, twice"
        risk = sum(s["records_at_risk"] or 0 for s in same)
        working = max(s["work_certain_ms"] or 0 for s in same)
        proof = f"both working for at least {about(working)}" if working else _PROOF.get(kind, "")
        written = (
            "in transactions: no record is read twice with read_committed" if _in_transactions(same[0]) else "records may have been written twice"
        )
        # A broker's order shows that both wrote, also where no line of the logs shows both at work.
        beside = sum(s["records_written"] or 0 for s in same)
        follows = f"at least {count(risk, 'record')} read by both" if risk else written * (kind == "work")
        if beside:
            proof, follows = proof if working else "both wrote", f"{a} wrote {count(beside, 'record')} after {b} had begun to write"
        times = {s["resource"]: s["there_certain_ms"] or 0 for s in sorted(same, key=lambda s: s["there_certain_ms"] or 0)}
        certainty = _WORKED if kind == "work" else _CERTAIN
        yield Hit(in_words(sorted(times), same), who, _at_least(times), "; ".join(x for x in (proof, follows) if x), certainty, max(times.values()))


def _at_least(times: Mapping[str, float]) -> str:
    """Return the certain times of several resources: `at least 22 s`, `at least 52 s each`, or, if one is much longer, `b-0 at least 53 s; 6 others 1-20 s`."""
    worst = max(times, key=lambda resource: times[resource])
    lo, hi = min(times.values()), times[worst]
    if len(times) == 1:
        return f"at least {about(hi)}"
    if hi - lo <= max(_ALIKE_MS, hi * _ALIKE):
        return f"at least {about(lo)} each" if about(lo) != about(hi) else f"at least {about(hi)}"
    rest = [ms for resource, ms in times.items() if resource != worst]
    others = "the other" if len(rest) == 1 else f"{len(rest)} others"
    return f"{worst} at least {about(hi)}; {others} {_between(min(rest), max(rest))}"


def _between(lo: float, hi: float) -> str:
    """Return certain times from the shortest to the longest: `20 s`, `1-20 s`."""
    shortest, longest = about(lo), about(hi)
    if shortest == longest:
        return longest
    is_short = lo >= 1000 and hi < 60_000 and lo // 1000 != hi // 1000
    return f"{lo // 1000:.0f}-{hi // 1000:.0f} s" if is_short else f"{shortest} to {longest}"


def _unowned(gaps: Iterable[Row], names: Names) -> Iterator[Hit]:
    """Yield resources that certainly had no owner, by group and kind."""
    of: dict[tuple[str | None, str, str], dict[str, float]] = {}
    rows = list(gaps)
    for gap in rows:
        times = of.setdefault((gap["kafka_cluster"], gap["group_id"], gap["resource_kind"]), {})
        times[gap["resource"]] = max(times.get(gap["resource"], 0), gap["unowned_ms"])
    for (cluster, group, kind), times in of.items():
        what = in_words(sorted(times), rows) + f" ({names.group(cluster, group)})" * (kind == "partition")
        what, who = (f"group {names.group(cluster, group)}", "no members") if kind == "group" else (what, "no owner")
        lasted = _at_least(times) if any(times.values()) else "when the logs end"
        yield Hit(what, who, lasted, _IDLE.get(kind, "not running"), _CERTAIN, max(times.values()))


@dataclass
class _Doubt:
    """A resource that may have had no owner, or two.

    Attributes:
        row: a row with its kind, cluster and group.
        idle_ms: the longest time for which it may have had none; 0: it had one.
        owners: the two that may have had it.
        double_ms: the longest time for which both may have had it; None: unknown.
    """

    row: Row
    idle_ms: float = 0
    owners: tuple[str, ...] = ()
    double_ms: float | None = 0

    @property
    def alike(self) -> tuple[object, ...]:
        """Return what resources that are shown together have in common."""
        group = (self.row["kafka_cluster"], self.row["group_id"]) if self.row["resource_kind"] == "partition" else ()
        return group, self.row["resource_kind"], self.owners, self.idle_ms > 0


def _perhaps(pairs: Iterable[Row], gaps: Iterable[Row], names: Names) -> Iterator[Hit]:
    """Yield resources that may have had no owner, or two, or either: the logs do not show when the first owner ended."""
    doubts: dict[tuple[str, str, str], _Doubt] = {}

    def doubt(row: Row) -> _Doubt:
        return doubts.setdefault((row["kafka_cluster"], row["group_id"], row["resource"]), _Doubt(row))

    for gap in gaps:
        it = doubt(gap)
        it.idle_ms = max(it.idle_ms, gap["unowned_hi_ms"])
    for pair in pairs:
        it, ms = doubt(pair), pair["there_possible_ms"]
        it.owners = names.owners(pair)
        it.double_ms = None if ms is None or it.double_ms is None else max(it.double_ms, ms)
    of: dict[tuple[object, ...], list[_Doubt]] = {}
    for it in doubts.values():
        of.setdefault(it.alike, []).append(it)
    for same in of.values():
        yield _possible_hit(same, names)


def _possible_hit(same: Sequence[_Doubt], names: Names) -> Hit:
    """Return the possible damage of resources with the same possible owners: `possibly no owner, or both w2 and w3`, `up to 24 s, or two for up to 14 s`."""
    row, owners = same[0].row, same[0].owners
    what = in_words(sorted({it.row["resource"] for it in same}), [it.row for it in same])
    two = f"both {' and '.join(owners)}" if len(set(owners)) > 1 else f"{owners[0]}, twice" if owners else ""
    double = [it.double_ms for it in same if it.double_ms is not None]
    is_bounded = len(double) == len(same)
    idle_ms, double_ms = max(it.idle_ms for it in same), max(double, default=0)
    most = f"up to {about(double_ms, up=True)}" if is_bounded else "unknown"
    if not idle_ms:
        return Hit(what, f"possibly {two}", most, "undecided", _PERHAPS, double_ms)
    what += f" ({names.group(row['kafka_cluster'], row['group_id'])})" * (row["resource_kind"] == "partition")
    lasted = f"up to {about(idle_ms, up=True)}"
    if not owners:
        return Hit(what, "possibly no owner", lasted, "undecided", _PERHAPS, idle_ms)
    both = most if is_bounded else "an unknown time"
    return Hit(what, f"possibly no owner, or {two}", f"{lasted}, or two for {both}", "undecided", _PERHAPS, max(idle_ms, double_ms))


def _stated(incident: Row, tree: Iterable[Row]) -> Iterator[Hit]:
    """Yield the damage that rules state in their own words: of a finding that repeats, of its occurrences in this incident."""
    for f in tree:
        mine = [o["impact"] for o in f.get("repeats") or () if o["incident_id"] == incident["incident_id"] and o.get("impact")]
        for impact in list({tuple(i.items()): i for i in mine or [f["impact"]] if i}.values())[:_MAX_LEDGER] if f.get("impact") else ():
            certainty = _WORKED if f["severity"] == "critical" else _CERTAIN
            yield Hit(
                impact["what"], impact.get("who", ""), impact.get("lasted", ""), impact.get("consequence", ""), certainty, f.get("worst_ms") or 0
            )


def _is_covered(hit: Hit, in_ledger: Collection[str]) -> bool:
    """Return True if the ledger says more about the partitions of a stated impact, which has no extent."""
    partitions = _NAMES.split(hit.what.partition(" (")[0])[1:]
    return not hit.lasted and bool(partitions) and all(partition in in_ledger for partition in partitions)


def _ledger(report: Report, incident: Row) -> list[Row]:
    """Return the rows of `duplicate_ledger` of partitions that the incident hit, while it lasted."""
    ledger = [
        d
        for n in sorted({n for group_id in incident["group_ids"] for n in report.group_numbers.get(group_id, ())})
        if incident["kafka_cluster"] in (None, report.groups[n]["kafka_cluster"])
        for d in report.groups[n]["duplicate_ledger"]
        if _is_during(incident, d["restarted_lo"], d["restarted_hi"])
    ]  # fmt: skip
    if incident["subject"] in {p["process_id"] for p in report.case["processes"] if p["role"] != "broker"}:
        ledger = [d for d in ledger if d["old_process_id"] == incident["subject"]]
    return ledger


def _skipped_alone(report: Report, incident: Row, ledger: Sequence[Row], names: Names) -> Iterator[Hit]:
    """Yield offsets that were not committed before a start that is not in the ledger."""
    told = {(d["kafka_cluster"], d["group_id"], d["resource"], d.get("event_id")) for d in ledger}
    rows = [
        s
        for key, s in report.skipped_at.items()
        if s["records_lo"] and s["group_id"] in incident["group_ids"] and incident["kafka_cluster"] in (None, s["kafka_cluster"])
        if key not in told and _is_during(incident, s["started_lo"], s["started_hi"])
    ]
    rows.sort(key=lambda s: (-s["records_lo"], s["resource"], s["event_id"]))
    for s in rows[:_MAX_LEDGER]:
        offsets = f"offsets {max(s['committed_to'] or 0, 0)}-{s['started_at'] - 1}"
        yield Hit(
            f"{s['resource']} ({names.group(s['kafka_cluster'], s['group_id'])})", offsets, _number_of([s]), "skipped", RECORDS, s["records_lo"]
        )
    if more := rows[_MAX_LEDGER:]:
        yield Hit(count(len(more), "more partition"), "", _number_of(more), "skipped", RECORDS)


def _number_of(rows: Sequence[Row]) -> str:
    """Return how many records were skipped; if that is not exact, `at least` this many."""
    number = count(sum(s["records_lo"] for s in rows), "record")
    return number if all(s["records_lo"] == s["records_hi"] for s in rows) else f"at least {number}"


def _is_during(incident: Row, lo: datetime | None, hi: datetime | None) -> bool:
    """Return True if a moment with these bounds may be in the time of an incident."""
    begins, ends = incident["from_lo"], incident["to_hi"]
    return bool(begins and hi and hi >= begins and (ends is None or lo is None or lo <= ends))


def _read_again(report: Report, ledger: Sequence[Row], names: Names) -> Iterator[Hit]:
    """Yield offsets that may be processed twice; last the partitions for which the logs do not show them."""
    rows = sorted((d for d in ledger if d["records_lo"] and d["read_to"] is not None), key=lambda d: -_again(d))
    for d in rows[:_MAX_LEDGER]:
        last = max(d["read_to"], d["restarted_at"] + _again(d)) - 1
        offsets = f"offset {last}" if last == d["restarted_at"] else f"offsets {d['restarted_at']}-{last}"
        yield Hit(
            f"{d['resource']} ({names.group(d['kafka_cluster'], d['group_id'])})", offsets, _records([d]), _TWICE + _skipped(report, [d]), RECORDS
        )
    if more := rows[_MAX_LEDGER:]:
        yield Hit(count(len(more), "more partition"), "", _records(more), _TWICE + _skipped(report, more), RECORDS)
    shown = {(d["group_id"], d["resource"]) for d in rows}
    others: dict[tuple[str, str, str | None, str], set[str]] = {}
    for d in ledger:
        if d["records_hi"] is None and (d["group_id"], d["resource"]) not in shown:
            # A dump shows what had been committed; a consumer may have processed more.
            again, known = d.get("committed_again_lo"), d.get("committed_again_lo") == d.get("committed_again_hi")
            number = "unknown" if again is None or not (again or known) else f"{'' if known else 'at least '}{count(again, 'record')}"
            others.setdefault((number, _skipped(report, [d]), d["kafka_cluster"], d["group_id"]), set()).add(d["resource"])
    for (number, skipped, cluster, group), partitions in others.items():
        what = in_words(sorted(partitions), [{"resource": p, "resource_kind": "partition"} for p in partitions])
        is_known = number != "unknown"
        who, lasted = ("", number) if is_known else ("uncommitted records", "number unknown")
        lasted += " each" * (is_known and len(partitions) > 1 and number != "0 records")
        yield Hit(f"{what} ({names.group(cluster, group)})", who, lasted, (_COMMITTED_AGAIN if is_known else _TWICE) + skipped, RECORDS)


def _skipped(report: Report, rows: Sequence[Row]) -> str:
    """Return how many records no member had committed before these starts, if a dump bounds their number."""
    skips = [report.skipped_at.get((d["kafka_cluster"], d["group_id"], d["resource"], d.get("event_id"))) for d in rows]
    most = [s["records_hi"] for s in skips if s is not None and s["records_hi"] is not None]
    if len(most) < len(rows):
        return ""
    least = sum(s["records_lo"] or 0 for s in skips if s is not None)
    if least == sum(most):
        return f"; {count(least, 'record')} skipped"
    return f"; {'at least ' + count(least, 'record') if least else 'up to ' + count(sum(most), 'record')} skipped"


def _again(row: Row) -> int:
    """Return the minimum number of records that were read twice, by the readers' lines or a dump."""
    return max(row["records_lo"] or 0, row.get("committed_again_lo") or 0)


def _records(rows: Sequence[Row]) -> str:
    """Return how many records may be processed twice; if the logs show only a part, `at least` this many."""
    number = count(sum(map(_again, rows)), "record")
    return number if all(d["records_hi"] == _again(d) for d in rows) else f"at least {number}"


def _is_witnessed(incident: Row) -> bool:
    """Return True if a file beside the logs shows the cause: its line comes first in the proof."""
    return ((incident.get("facts") or {}).get("machine") or "not_gc") not in ("not_gc", "thread")


def _line(witness: Sequence[Row], at: datetime | None) -> str:
    """Return `path:line` of the line nearest to a moment; the first line if no moment is given."""
    known = [w for w in witness if w.get("path")]
    if not known:
        return ""
    timed = [w for w in known if w.get("ts")]
    w = min(timed, key=lambda w: abs((w["ts"] - at).total_seconds())) if at and timed else known[0]
    return f"{w['path']}:{w['line']}"


def _role(pair: Row, *roles: str) -> str:
    """Return `path:line` of the first of these roles that the proof of a pair of owners has; one line may have several roles, of which it shows the first."""
    of = {w.get("role"): w for w in reversed(pair.get("witness") or ())}
    return next((_line([of[role]], None) for role in roles if role in of), "")


def _end(pair: Row) -> str:
    """Return `path:line` of the end of the owner that ended first."""
    return _line([w for w in pair.get("witness") or () if w.get("role") in _ENDS], pair["to_hi"]) or _role(pair, *_LAST_SIGNS)

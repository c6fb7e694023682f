"""Answer the first question, whether two owned the same work at the same time: the verdict, its bounds, and the lines that prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from forensics.report.collect import merged
from forensics.report.document import Block, Column, Heading, Para, Table, Tone
from forensics.report.examined import basis, ended_logs, lost_logs, not_examined
from forensics.report.missing_evidence import at_hosts
from forensics.report.resources import in_words
from forensics.wording.formats import Clock, and_more, count, fold, joined, span

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names
    from forensics.report.proof import Proofs

#: Overlaps of one pair of processes that begin within this time of each other are one incident.
_SAME_INCIDENT = timedelta(seconds=60)
#: Rules whose findings this section reports, with their lines.
SPLIT_BRAIN_RULES = ("split-brain-task", "split-brain-partition")
#: Codes of the rule clock-skew for a clock that was set.
_STEPS = ("set_back", "contradicted", "contradict_each_other")
_ROWS_SHOWN = 40
_IN_FULL = 8
_MAX_REQUESTS = 3
_ROWS_EACH = 12
_WHAT = {"work": "worked on", "thread": "had a running thread for", "held": "held"}
_PERHAPS = {"work": "may both have worked on", "thread": "may both have had a running thread for", "held": "may both have held"}
_HOW = {"work": "both working", "thread": "overlap", "held": "both holding"}
_CAUSES = {
    "woke_after_freeze": "{a} resumed after a freeze",
    "learnt_too_late": "{a} learned that it was no longer a member only after {b} had started",
    "kept_running_through_lost_coordinator": "{a} kept running after it had lost its coordinator",
    "left_by_poll_timeout": "{a} had left the group because it exceeded the poll timeout, and still held it when {b} started",
    "graceful_stop_failed": "{a} was asked to stop and did not stop in time",
    "same_generation_assigned_twice": "one generation assigned it to both",
    "restart_of_task_not_owned": "{b} started it without owning it",
    "not_fenced": "nothing stopped {a} before {b} started",
}
_NOUN = {"task": "task", "connector": "connector", "partition": "partition"}


def section(report: Report, names: Names, clock: Clock, proofs: Proofs | None) -> tuple[str, Tone, list[Block]]:
    """Return title, tone and blocks of the verdict on split brain.

    Args:
        report: what was found.
        names: the report's names of processes.
        clock: formats times.
        proofs: formats each proof, which is followed by what to do; None if the findings beside the verdict show both.
    """
    by_verdict = _by_verdict(report)
    limits = limits_of(report)
    # Pairs inside one log, which its own order refutes, say nothing about other members.
    if not report.examined["examined"] and not (by_verdict["proved"] or by_verdict["undecided"]):
        if report.examined["why"] != "one_log":
            return "Split brain: NOT EXAMINED", "warn", not_examined(report, clock)
        others = f" ({limits})" if limits else ""
        return f"Split brain: NOT EXAMINED, because only one member has a log{others}", "warn", not_examined(report, clock)
    title, tone = _title(by_verdict, limits, lost_logs(report), _elsewhere(report))
    blocks: list[Block] = []
    by_proof = {tuple(w["event_id"] for w in f["witness"]): f["finding_id"] for f in report.findings}
    for verdict in ("proved", "undecided"):
        in_full, rest = _chosen(list(_incidents(by_verdict[verdict])))
        for incident in in_full:
            blocks += _incident(
                incident, names, clock, proofs, by_proof, explained=proofs is not None or verdict != "proved", jumped=clock_jumped(report)
            )
        blocks += _more(rest, verdict, names, clock)
    advised = [f for f in report.findings if f["rule"] in SPLIT_BRAIN_RULES and f["severity"] == "critical" and f["advice"]] if proofs else []
    for advice in dict.fromkeys(f["advice"] for f in advised):
        blocks.append(Para(advice, label="What to do"))
    if report.examined["examined"]:
        blocks.append(Para(basis(report, clock), tone="" if any(by_verdict[v] for v in ("proved", "undecided")) else tone))
    blocks.append(Para(_pairs(report, by_verdict), tone="dim"))
    return title, tone, blocks


def title(report: Report) -> tuple[str, Tone]:
    """Return the verdict on split brain in one sentence, and its tone."""
    by_verdict = _by_verdict(report)
    if not report.examined["examined"] and not (by_verdict["proved"] or by_verdict["undecided"]):
        return "Split brain: NOT EXAMINED", "warn"
    return _title(by_verdict, limits_of(report), lost_logs(report), _elsewhere(report))


def _by_verdict(report: Report) -> dict[str, list[Row]]:
    return {v: [s for s in report.split_brain if s["verdict"] == v] for v in ("proved", "undecided", "refuted")}


def clock_jumped(report: Report) -> bool:
    """Return True if a clock is proved to have been set: the bounds of a verdict include that jump, but no jump that no line shows."""
    return any(f["rule"] == "clock-skew" and f.get("code") in _STEPS for f in report.findings)


def unless_jumped(margin_ms: float, *, jumped: bool) -> str:
    """Return the condition under which a verdict based on clocks is wrong: `unless a clock jumped by more than 22.5 s`."""
    return f"unless a clock jumped {'again, undetected, ' * jumped}by more than {span(margin_ms, up=False)}"


def _elsewhere(report: Report) -> str:
    """Return what is outside the selection: ` in the time that was selected; outside it, 3 pairs of owners are proved`; empty if there is no selection or nothing outside it."""
    numbers = report.examined["elsewhere"]
    if not numbers:
        return ""
    filters = report.filters
    selected = ["the time"] * bool(filters["since"] or filters["until"]) + ["the groups"] * bool(filters["groups"])
    first, *_ = numbers
    others = [
        f"{count(number, 'pair') + ' of owners' if verdict == first else number} {'is' if number == 1 else 'are'} {verdict}"
        for verdict, number in numbers.items()
    ]
    was = "was" if selected == ["the time"] else "were"
    return f" in {joined(selected)} that {was} selected; outside {'it' if len(selected) == 1 else 'them'}, {joined(others)}"


def _title(by_verdict: dict[str, list[Row]], limits: str, lost: list[str], elsewhere: str) -> tuple[str, Tone]:
    work = [s for s in by_verdict["proved"] if s["kind"] == "work"]
    if work:
        longest = max(work, key=_length)
        bounds = f"overlapped for at least {span(longest.get('there_certain_ms'), up=False)}"
        if not longest["certain_ms"]:
            # Each worked while both existed, but not certainly at the same moment.
            here = f"{_resources(work)} had {_twofold(work)}, and both worked during that time"
            return f"Split brain: PROVED. {here} ({longest['resource']}: {bounds})", "bad"
        bounds += f", both working for at least {span(longest['certain_ms'], up=False)}"
        simultaneous = {_one(s) for s in work if s["certain_ms"]}
        here = f"{_resources([s for s in work if s['certain_ms']])} worked on by two owners at the same time"
        alive = [s for s in by_verdict["proved"] if s["kind"] in ("work", "thread") and s["resource_kind"] == longest["resource_kind"]]
        here += f" ({longest['resource']}: {bounds})"
        if others := len(set(map(_one, alive)) - simultaneous):
            here += f"; {others:,} more had {_twofold(alive)}"
        return f"Split brain: PROVED. {here}", "bad"
    if by_verdict["proved"]:
        threads, held = ([s for s in by_verdict["proved"] if (s["kind"] == "held") is held] for held in (False, True))
        had = [f"{_resources(threads)} had two running threads"] * bool(threads) + [f"{_resources(held)} held by two owners"] * bool(held)
        return f"Split brain: {' at the same time; '.join(had)} at the same time, without proof that both worked", "warn"
    if by_verdict["undecided"]:
        return f"Split brain: UNDECIDED for {count(len(by_verdict['undecided']), 'pair')} of owners", "warn"
    if lost:
        return f"Split brain: NOT EXCLUDED{elsewhere}: lines of {and_more(lost, 3)} are lost ({limits})", "warn"
    if limits:
        return f"Split brain: NONE FOUND among the members with logs ({limits}){elsewhere}", "warn"
    return f"Split brain: NONE FOUND{elsewhere}", "warn" if elsewhere else "good"


def _twofold(rows: list[Row]) -> str:
    """Return what existed twice: threads, which the lines of a task show; for a partition they only show its owners."""
    return f"two {'owners' if any(s['resource_kind'] == 'partition' for s in rows) else 'live threads'} at the same time"


def _one(row: Row) -> tuple[str, str]:
    return row["group_id"], row["resource"]


def limits_of(report: Report) -> str:
    """Describe the members without a log or without INFO lines in it, logs that end early, truncated and damaged logs, and files that could not be read; return an empty text if there are none."""
    examined = report.examined
    members, unheard, cut, uncounted = (examined[name] for name in ("members_without_log", "members_unheard", "logs_cut", "groups_not_counted"))
    unread, damaged = examined["files_unread"], examined["logs_damaged"]
    none = [f"{members:,} more{at_hosts(report.coverage)} {'has' if members == 1 else 'have'} none"] * bool(members)
    silent = [f"the {'log' if unheard == 1 else 'logs'} of {unheard:,} {'does' if unheard == 1 else 'do'} not show ownership"] * bool(unheard)
    early = sorted(c["process_id"] for c in ended_logs(report))
    ends = [f"{and_more(early, 3)} {'ends' if len(early) == 1 else 'end'} early"] * bool(early)
    ends += [f"{count(cut, 'log')} {'has' if cut == 1 else 'have'} truncated lines"] * bool(cut)
    ends += [f"{count(damaged, 'log')} {'has' if damaged == 1 else 'have'} damaged lines"] * bool(damaged)
    more = [f"the number of members of {and_more(uncounted, 3)} is unknown"] * bool(uncounted and not members)
    partly = [f"{count(unread, 'file')} could not be read completely"] * bool(unread)
    return "; ".join(none + silent + ends + more + partly)


def _resources(rows: list[Row]) -> str:
    """Return counts such as `1 task` or `2 connectors and 1 task`."""
    numbers = Counter(kind for kind, _, _ in {(s["resource_kind"], s["group_id"], s["resource"]) for s in rows})
    return joined([count(number, _NOUN.get(kind, "resource")) for kind, number in sorted(numbers.items())])


def _pairs(report: Report, by_verdict: dict[str, list[Row]]) -> str:
    refuted = len(by_verdict["refuted"])
    text = f"{count(len(report.ownership), 'period')} of ownership reconstructed; {count(len(report.split_brain), 'pair')} of owners compared"
    if report.split_brain:
        text += f": {len(by_verdict['proved'])} proved, {len(by_verdict['undecided'])} undecided, {refuted} refuted"
        text += " (the order of messages makes an overlap impossible)" * bool(refuted)
    return text + ". What the logs cannot show is listed under “What was not seen”."


def _incidents(rows: list[Row]) -> Iterator[list[Row]]:
    """Yield rows of the same group, kind, first and second process whose overlaps begin close to each other."""
    found: list[list[Row]] = []
    for _, same in groupby(sorted(rows, key=lambda r: (_pair(r), _start(r))), key=_pair):
        current: list[Row] = []
        for row in same:
            if current and _start(row) - _start(current[-1]) > _SAME_INCIDENT.total_seconds():
                found.append(current)
                current = []
            current.append(row)
        found.append(current)
    order = {"work": 0, "thread": 1, "held": 2}
    yield from sorted(found, key=lambda i: (order.get(i[0]["kind"], 3), -max(r["certain_ms"] or 0 for r in i)))


def _chosen(incidents: list[list[Row]]) -> tuple[list[list[Row]], list[list[Row]]]:
    """Return the incidents to show in full, and the rest: if there are many, one for each pair of processes, or one for each group if it was only held."""
    if len(incidents) <= _IN_FULL:
        return incidents, []
    first: dict[tuple[str, ...], list[Row]] = {}
    for incident in incidents:
        pair = _pair(incident[0])
        first.setdefault(pair[:2] if pair[1] == "held" else pair, incident)
    in_full = list(first.values())[:_IN_FULL]
    shown = {id(incident) for incident in in_full}
    return in_full, [incident for incident in incidents if id(incident) not in shown]


def _pair(row: Row) -> tuple[str, ...]:
    return (row["group_id"] or "", row["kind"], row["process_a"] or "", row["process_b"] or "")


def _start(row: Row) -> float:
    moment = row["from_lo"] or row["from_hi"]
    return moment.timestamp() if moment else 0.0


def _more(incidents: list[list[Row]], verdict: str, names: Names, clock: Clock) -> Iterator[Block]:
    """Yield the incidents that are not shown in full: a row each, or, if there are too many, a row for each pair of processes."""
    if not incidents:
        return
    yield Para(f"{count(len(incidents), f'more {verdict} incident')}; each pair of owners: `forensics sql split_brain`.", tone="dim")
    if len(incidents) > _ROWS_EACH:
        yield _by_pair(incidents, names, clock)
        return
    names_of = ("what", "first", "second", "how", "began", "at least", "at most")
    columns = tuple(Column(name, right=name.startswith("at ")) for name in names_of)
    rows = []
    for incident in incidents:
        worst = max(incident, key=_length)
        what = fold(sorted({r["resource"] for r in incident}), 6)
        ends = names.owners(worst)
        rows.append(
            (
                what,
                *ends,
                _HOW.get(worst["kind"], ""),
                _moment(clock, worst["from_lo"], worst["from_hi"]),
                span(worst["certain_ms"], up=False),
                span(worst["possible_ms"], "no bound", up=True),
            )
        )
    yield Table(columns, tuple(rows))


def _by_pair(incidents: list[list[Row]], names: Names, clock: Clock) -> Table:
    """Count how often each pair of processes had the same work, with the first and last time and the longest overlap."""
    of: dict[tuple[str, ...], list[list[Row]]] = {}
    for incident in incidents:
        of.setdefault(_pair(incident[0]), []).append(incident)
    right = ("times", "at least", "at most")
    columns = tuple(
        Column(n, right=n in right) for n in ("what", "first", "second", "how", "times", "first time", "last time", "at least", "at most")
    )
    rows = []
    for same in list(of.values())[:_ROWS_SHOWN]:
        flat = sorted((r for incident in same for r in incident), key=_start)
        worst = max(flat, key=_length)
        what, ends = fold(sorted({r["resource"] for r in flat}), 6), names.owners(worst)
        moments = (clock.at(flat[0]["from_lo"] or flat[0]["from_hi"]), clock.at(flat[-1]["from_lo"] or flat[-1]["from_hi"]))
        longest = (span(worst["certain_ms"], up=False), span(worst["possible_ms"], "no bound", up=True))
        rows.append((what, *ends, _HOW.get(worst["kind"], ""), f"{len(same):,}", *moments, *longest))
    return Table(columns, tuple(rows))


def _length(row: Row) -> tuple[float, float]:
    return row["certain_ms"] or 0, row["possible_ms"] or 0


def _incident(
    rows: list[Row], names: Names, clock: Clock, proofs: Proofs | None, findings: Mapping[tuple[str, ...], str], *, explained: bool, jumped: bool
) -> Iterator[Block]:
    strongest = max(rows, key=_length)
    a, b = names.owners(strongest)
    sure = strongest["verdict"] == "proved"
    if sure:
        who, had = f"{a} twice" if a == b else f"{a} and {b} both", _WHAT.get(strongest["kind"], "owned")
    else:
        who, had = f"two threads of {a}" if a == b else f"{a} and {b}", _PERHAPS.get(strongest["kind"], "may both have owned")
    yield Heading(3, f"{strongest['verdict']}: {who} {had} {_what(rows)} (group {strongest['group_id']})", _tone(strongest))
    # For two working owners, two times are certain: how long both existed, and, shorter, how long both worked. Each has its own column.
    at_work, how = strongest["kind"] == "work", _HOW.get(strongest["kind"], "both") if sure else "overlap, if any,"
    columns: tuple[Column, ...] = (
        Column(strongest["resource_kind"] if len({r["resource_kind"] for r in rows}) == 1 else "resource", fixed=True),
        *(Column(name) for name in (("first", "second") if all(_is_ordered(r) for r in rows) else ("one", "other"))),
        Column(f"{how} began"),
        Column("ended"),
        *((Column("overlap at least", right=True),) if at_work else ()),
        *((Column(f"{how} at least", right=True),) if sure else ()),
        Column("at most" if sure else "for at most", right=True, fixed=True),
        Column("read twice, at least", right=True),
    )
    shown = rows[:_ROWS_SHOWN]
    cells: tuple[tuple[str, ...], ...] = tuple(
        (
            r["resource"],
            *names.owners(r),
            _moment(clock, r["from_lo"], r["from_hi"]),
            _moment(clock, r["to_lo"], r["to_hi"]),
            *((span(r.get("there_certain_ms"), up=False),) if at_work else ()),
            *((span(r["certain_ms"], up=False),) if sure else ()),
            span(r["possible_ms"], "no bound", up=True),
            f"{r['records_at_risk']:,}" if r["records_at_risk"] else "unknown",
        )
        for r in shown
    )
    if not any(r["records_at_risk"] for r in shown):
        columns, cells = columns[:-1], tuple(row[:-1] for row in cells)
    yield Table(columns, cells, records=3)
    if len(rows) > len(shown):
        yield Para(f"… and {len(rows) - len(shown)} more: `forensics sql split_brain`.", tone="dim")
    if explained and strongest["explanation"]:
        yield Para(strongest["explanation"], label=f"Why ({strongest['resource']})")
    if strongest["cause"]:
        cause = _CAUSES.get(strongest["cause"], strongest["cause"].replace("_", " ")).format(a=a, b=b)
        yield Para(f"{cause}.", label="Cause")
    if strongest["verdict"] == "proved" and strongest["margin_ms"] is not None:
        known = " The known jump is taken into account." * jumped
        yield Para(
            f"{'both held it' if strongest['resource_kind'] == 'partition' else 'both existed'} at the same time, {unless_jumped(strongest['margin_ms'], jumped=jumped)} between these lines.{known}",
            label="How sure",
        )
    if strongest["missing"]:
        requests = merged([(r["missing"], r) for r in sorted(rows, key=lambda r: r is not strongest) if r["missing"]])
        for n, request in enumerate(requests[:_MAX_REQUESTS]):
            yield Para(request, label="" if n else "To settle it")
        if len(requests) > _MAX_REQUESTS:
            yield Para(f"and {len(requests) - _MAX_REQUESTS:,} more: `forensics sql split_brain --columns resource,missing`", tone="dim")
    if proofs is not None:
        yield from proofs.blocks(strongest["witness"], findings.get(tuple(w["event_id"] for w in strongest["witness"]), ""))


def _what(rows: list[Row]) -> str:
    """Name the resources with two owners, separately those that both worked on, but not provably at one moment."""

    def named(some: Iterable[Row]) -> str:
        return in_words(sorted({r["resource"] for r in some}), rows)

    def is_not_simultaneous(r: Row) -> bool:
        return r["verdict"] == "proved" and r["kind"] == "work" and not r["certain_ms"]

    not_simultaneous = [r for r in rows if is_not_simultaneous(r)]
    others = [r for r in rows if not is_not_simultaneous(r)]
    if not not_simultaneous:
        return named(rows)
    while_there = f"{named(not_simultaneous)} during the overlap"
    return f"{named(others)} at the same time, and on {while_there}" if others else while_there


def _is_ordered(row: Row) -> bool:
    """Return True if the lines show which of the two began first; without a line for the start of one, only if it was certainly there before the other."""
    facts = row.get("facts") or {}
    return bool(facts.get("b_began_later", True))


def _moment(clock: Clock, lo: datetime | None, hi: datetime | None) -> str:
    """Return one moment with its bounds as `between ... and ...`, so that it does not look like a time span."""
    text = clock.between(lo, hi)
    first, to, last = text.partition(" to ")
    return f"between {first} and {last}" if to else text


def _tone(row: Row) -> Tone:
    return "bad" if row["verdict"] == "proved" and row["kind"] == "work" else "warn"

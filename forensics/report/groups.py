"""Show a group as a table of generations: time, duration, reason, leader, assignments. Many generations are shown as runs of similar ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from forensics.report import anchors
from forensics.report.document import Block, Column, Para, Table
from forensics.report.row_times import GENERATION_BEGAN, GENERATION_BEGUN_BY
from forensics.wording.formats import Clock, and_more, count, fold, joined, span, trigger_count

if TYPE_CHECKING:
    from forensics.report.model import Report, Row
    from forensics.report.names import Names

#: Maximum number of generations in separate rows; above it, similar neighbours are one row.
_ONE_BY_ONE = 40
_HEAD, _TAIL = 25, 15
#: Number of members shown if a generation has many; `forensics sql member_generation` has all.
_MEMBERS, _FEW_MORE = 8, 2
_GROUPS_IN_FULL, _GROUPS_IN_OVERVIEW, _GROUPS_NAMED = 8, 60, 3
_LONG_WAIT_MS = 1000
_WORST_PARTS, _WORST_MS = 6, 500
#: Parts of a rebalance's time, in their order, in words.
PARTS = {
    "detection": "detecting a lost member",
    "waiting": "waiting to join",
    "sync": "waiting for the leader's assignment",
    "scheduled_delay": "tasks held for the missing worker's return",
}
_WHY_RESET = {
    "metadata_lost": "the group's metadata was lost",
    "deleted": "the group was deleted",
    "expired_empty": "the empty group expired",
    "ghost": "the coordinator moved, or could not store the generation",
    "converted": "the empty group was converted to another protocol",
    "unknown": "the logs do not show why",
}
#: Words for why a rebalance no longer waits for a member.
_GONE = {
    "expired": ", until it expired",
    "not_rejoined": ", which was removed because it had not rejoined",
    "pending_expired": ", which never joined",
}
#: Protocols in which the broker assigns, and the KIPs that they are known by.
_PROTOCOLS = {"consumer": "KIP-848", "share": "KIP-932", "streams": "KIP-1071"}


#: Assignment of each member; None: unknown.
_Shares = dict[str, list[str] | None]


@dataclass
class _Run:
    """Neighbouring generations in one row."""

    rows: list[Row]

    @property
    def first(self) -> Row:
        return self.rows[0]

    @property
    def last(self) -> Row:
        return self.rows[-1]


def choose(report: Report) -> tuple[list[Row], list[Row]]:
    """Return the groups to show in full, and the others: a broker's log may contain hundreds. A group that the reader selected is always shown.

    Groups with graver findings come first, then those with more generations.
    """
    if len(report.groups) <= _GROUPS_IN_FULL or report.filters.get("groups"):
        return report.groups, []
    grave = Counter((f["kafka_cluster"], f["group_id"]) for f in report.findings if f["severity"] != "note")
    order = sorted(report.groups, key=lambda g: (-grave[g["kafka_cluster"], g["group_id"]], -len(g["generations"])))
    chosen = {id(g) for g in order[:_GROUPS_IN_FULL]}
    return [g for g in report.groups if id(g) in chosen], [g for g in report.groups if id(g) not in chosen]


def overview(groups: list[Row], clock: Clock) -> list[Block]:
    """Return a table with a row for each group."""
    if not groups:
        return []
    rows = []
    for group in groups[:_GROUPS_IN_OVERVIEW]:
        generations = group["generations"]
        triggers = Counter(g["trigger"] for g in generations).most_common(2)
        busy = span(sum(g["duration_ms"] or 0 for g in generations)) if generations else ""
        ends = (_start(generations[0], clock), _start(generations[-1], clock)) if generations else ("", "")
        why = ", ".join(trigger_count(t, n) for t, n in triggers)
        rows.append((group["group_id"] or "?", f"{len(group['members']):,}", f"{len(generations):,}", busy, *ends, why))
    names = ("group", "members", "generations", "rebalancing", "first", "last", "why")
    columns = tuple(Column(n, right=n in ("members", "generations", "rebalancing"), fixed=n in ("first", "last", "rebalancing")) for n in names)
    blocks: list[Block] = [Table(columns, tuple(rows)), Para("`--group ID` shows one of them.", tone="dim")]
    if len(groups) > len(rows):
        blocks.append(Para(f"… and {len(groups) - len(rows):,} more; all: `forensics sql generation`.", tone="dim"))
    return blocks


def title(group: Row) -> str:
    """Return a title such as `Group connect-cluster`, with its protocol and Kafka cluster."""
    kinds = {
        ", ".join(w for w in (g["protocol_type"], _PROTOCOLS[g["group_protocol"]]) if w)
        if g["group_protocol"] in _PROTOCOLS
        else " ".join(w for w in (g["protocol_type"], g["rebalance_mode"]) if w)
        for g in group["generations"]
    } - {""}
    text = f"Group {group['group_id']}"
    if kinds:
        text += f" ({', '.join(sorted(kinds))})"
    if group["kafka_cluster"] not in (None, "", "unknown"):
        text += f" on Kafka cluster {group['kafka_cluster']}"
    return text


def section(group: Row, names: Names, clock: Clock) -> list[Block]:
    """Return the blocks of one group."""
    blocks = generations(group, names, clock, changes=False)
    return blocks + times(group, names) if group["generations"] else blocks


def generations(group: Row, names: Names, clock: Clock, *, changes: bool) -> list[Block]:
    """Return the blocks that show a group's generations.

    Args:
        group: a group of the report.
        names: the report's names of processes and members.
        clock: formats times.
        changes: show for each generation what changed (`w2 +orders-0`), not all assignments.
    """
    found: list[Row] = group["generations"]
    unfinished = [_unfinished(row, group, names, clock) for row in group["open_rebalance"]]
    if not found:
        seen = Para(f"{count(len(group['members']), 'member')} seen; the logs do not show how any of its generations began.", tone="dim")
        return [seen, *([Table(_columns(changes=changes), tuple(unfinished))] if unfinished else [])]
    blocks: list[Block] = [Para(_summary(group, names))]
    shares: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for share in group["member_generations"]:
        shares[share["incarnation"], share["generation"]].append(share)
    highest = _highest_before(found)
    runs = [_Run([g]) for g in found] if len(found) <= _ONE_BY_ONE else list(_runs(found))
    for part in _parts(runs):
        if isinstance(part, str):
            blocks.append(Para(part, tone="dim"))
        else:
            blocks += _table(part, shares, highest, names, clock, changes=changes)
    if unfinished and isinstance(last := blocks[-1], Table):
        blocks[-1] = replace(last, rows=(*last.rows, *unfinished))
    return blocks


def times(group: Row, names: Names) -> list[Block]:
    """Show the time spent in rebalances, the pauses of members, and the records read twice."""
    return [*_longest_parts(group, names), *_paused(group, names), *_read_twice(group, names)]


def rebalances(report: Report, names: Names, clock: Clock) -> list[str]:
    """Return what the logs show about why groups rebalanced, at most a sentence for each of the three with the most generations; none if they show no reason."""
    return [
        "; ".join(parts)
        for g in sorted(report.groups, key=lambda g: -len(g["generations"]))[:_GROUPS_NAMED]
        if (parts := [*_reasons(g, names, clock), *_empty(report, g, clock)])
    ]


def _empty(report: Report, group: Row, clock: Clock) -> Iterator[str]:
    """Yield how long a group had no members: the longest time, and how many more there were."""
    found = [(e["to_ts"] - e["from_ts"], e) for e in report.empty_groups if e["group_id"] == group["group_id"]]
    if found:
        longest, e = max(found, key=lambda one: one[0])
        more = f", the longest of {len(found)} such times" if len(found) > 1 else ""
        least = "at least " if e["is_open"] else ""
        yield f"nobody was in {group['group_id']} for {least}{span(longest / timedelta(milliseconds=1), up=False if e['is_open'] else None)} from {clock.at(e['from_ts'])} on{more}"


def _reasons(group: Row, names: Names, clock: Clock) -> Iterator[str]:
    """Yield the reasons for a group's generations, and for the rebalance that had not ended."""
    generations, named = group["generations"], group["group_id"]
    if any(g["trigger"] not in (None, "unknown") for g in generations):
        by = Counter(names.member(g["trigger_member_id"]) for g in generations if g["trigger_member_id"])
        who = f" (each time {next(iter(by))})" if len(by) == 1 and len(generations) > 1 and by.total() == len(generations) else ""
        yield f"{named} had {count(len(generations), 'generation')}: {_triggers(generations)}{who}"
    for row in group["open_rebalance"]:
        if row["reason"]:
            began = f" at {clock.at(row['began_ts'])}" if row["began_ts"] else ""
            is_brief = row["lasted_ms"] is not None and row["lasted_ms"] < _LONG_WAIT_MS
            ended = "in the last lines of the logs" if is_brief else f"and had not ended when {_until(row)}"
            yield f"the last rebalance of {named} began{began} {ended}, reason: {row['reason']}"


def _triggers(generations: list[Row]) -> str:
    """Return how often each reason triggered a generation: `2 joins, 1 trigger not logged`."""
    triggers = Counter(g["trigger"] or "unknown" for g in generations)
    rest = sum(n for _, n in triggers.most_common()[4:])
    return ", ".join([trigger_count(t, n) for t, n in triggers.most_common(4)] + [f"{rest} more"] * bool(rest))


def _summary(group: Row, names: Names) -> str:
    generations = group["generations"]
    busy = sum(g["duration_ms"] or 0 for g in generations)
    coordinators = sorted({g["coordinator"] for g in generations if g["coordinator"]})
    timed = any(g["duration_ms"] is not None for g in generations)
    at_least = "" if all(_is_duration_complete(g) for g in generations if g["duration_ms"] is not None) else "At least "
    spent = (
        f"{at_least}{span(busy, up=False if at_least else None)} spent in rebalances"
        if timed
        else "These lines do not show how long the rebalances took"
    )
    text = f"{count(len(generations), 'generation')}: {_triggers(generations)}. {spent}"
    if coordinators:
        text += f". {'Coordinator' if len(coordinators) == 1 else 'Coordinators'}: {joined([names.process(c) for c in coordinators])}"
    leaders = Counter(names.member(g["leader_member_id"]) for g in generations if g["leader_member_id"])
    if leaders:
        text += f". {'Leader' if len(leaders) == 1 else 'Leaders'}: {and_more([n for n, _ in leaders.most_common()], 4)}"
    if absent := _absent(generations):
        one = len(absent) == 1 and "-" not in absent[0]
        text += f". {'Generation' if one else 'Generations'} {and_more(absent, 6)} {'does' if one else 'do'} not appear in these logs"
    return text + "."


def _absent(generations: list[Row]) -> list[str]:
    """Return the numbers between those of a classic group's generations: `42`, `44-46`."""
    ordered = sorted((g for g in generations if (g["group_protocol"] or "classic") == "classic"), key=lambda g: (g["incarnation"], g["generation"]))
    between = [(a["generation"] + 1, b["generation"] - 1) for a, b in pairwise(ordered) if a["incarnation"] == b["incarnation"]]
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in between if first <= last]


def _words(trigger: str | None) -> str:
    return (trigger or "unknown").replace("_", " ")


def trigger(generations: list[Row], names: Names) -> str:
    """Return why generations with one trigger began: `member left (w2)`, `leader rejoined (c1): subscription changed`, `not logged`."""
    g = generations[0]
    known, asked = g["trigger"] not in (None, "unknown"), g.get("asked_why")
    text = _words(g["trigger"]) if known else "member asked to rejoin" if asked else "not logged"
    by = {x["trigger_member_id"] if known else x.get("asked_member_id") for x in generations} - {None}
    if len(by) == 1:
        text += f" ({names.member(next(iter(by)))})"
    if g["trigger_inferred"] and known:
        text += ", inferred"
    return f"{text}: {_words(asked)}" if asked else text


def _runs(generations: list[Row]) -> Iterator[_Run]:
    """Yield runs of neighbours with the same cause and number of members."""
    for _, same in groupby(generations, key=lambda g: (g["incarnation"], g["trigger"], g.get("asked_why"), g["member_count"])):
        yield _Run(list(same))


def _parts(runs: list[_Run]) -> Iterator[list[_Run] | str]:
    """Yield all runs, or the first and the last of them with one sentence about the middle."""
    if len(runs) <= _HEAD + _TAIL:
        yield runs
        return
    yield runs[:_HEAD]
    middle = [g for run in runs[_HEAD:-_TAIL] for g in run.rows]
    triggers = Counter(g["trigger"] for g in middle)
    yield (
        f"… {count(len(middle), 'generation')} from {middle[0]['generation']} to {middle[-1]['generation']} left out here: "
        f"{', '.join(trigger_count(t, n) for t, n in triggers.most_common(5))}. All of them: `forensics sql generation` …"
    )
    yield runs[-_TAIL:]


def _highest_before(generations: list[Row]) -> dict[int, int]:
    """Return, for each incarnation except the first, the highest generation before it."""
    incarnations = sorted({g["incarnation"] for g in generations})
    return {i: max(g["generation"] for g in generations if g["incarnation"] < i) for i in incarnations[1:]}


def _table(
    runs: list[_Run], shares: dict[tuple[int, int], list[Row]], highest: dict[int, int], names: Names, clock: Clock, *, changes: bool
) -> Iterator[Block]:
    """Yield one table for each incarnation, so that a restart of the count is visible."""
    columns = _columns(changes=changes)
    before: _Shares = {}
    for incarnation, same in groupby(runs, key=lambda r: r.first["incarnation"]):
        rows = list(same)
        why = rows[0].first["incarnation_why"]
        lowest = min(r.first["generation"] for r in rows)
        # The first incarnation in the logs may have begun before them.
        if why and why != "first" and rows[0].first["generation"] == lowest <= highest.get(incarnation, 0):
            what = "A generation number repeats" if why == "ghost" else "Generations restart"
            yield Para(f"{what} here ({_WHY_RESET.get(why, why)}): incarnation {incarnation} of the group.", tone="warn")
        cells = []
        for run in rows:
            now = _assignment(shares.get((run.last["incarnation"], run.last["generation"]), []), names)
            who = _changed(run, now, before, names) if changes and before and now else _who(run, now, before, names)
            cells.append((_number(run), _began(run, clock), _took(run), _why(run, now, names), who))
            before = now or before
        yield Table(columns, tuple(cells), anchors={n: anchors.generation(run.last) for n, run in enumerate(rows)})


def _columns(*, changes: bool) -> tuple[Column, ...]:
    return (
        Column("gen.", right=True, fixed=True),
        Column("began", fixed=True),
        Column("took", right=True, fixed=True),
        Column("why"),
        Column("changes (* leader)" if changes else "assignments (* leader)"),
    )


def _unfinished(row: Row, group: Row, names: Names, clock: Clock) -> tuple[str, ...]:
    """Return a rebalance that had not ended when the logs end, as a row of the generations; its number is unknown."""
    # Members are shown as process and task, or client, which distinguishes two members of one process without a task.
    of = {f"{m['process_id']} {m['task'] or m['client_id']}": names.member(m["member_id"]) for m in group["members"] if m["process_id"]}
    parts = [
        f"{what}: {', '.join(sorted({of.get(who) or names.member(who) for who in row[column] or ()}))}"
        for what, column in (("asked to join", "asked"), ("not yet", "awaited"))
        if row[column]
    ]
    took = f"≥ {span(row['lasted_ms'], up=False)}" if row["lasted_ms"] is not None else "?"
    why = f"{row['reason']}; not ended when {_until(row)}" if row["reason"] else f"not ended when {_until(row)}"
    return ("next", clock.at(row["began_ts"]) if row["began_ts"] else "?", took, why, "; ".join(parts) or "no request yet")


def _until(row: Row) -> str:
    return "its members were closed" if row["is_given_up"] else "the logs end"


def _number(run: _Run) -> str:
    first, last = run.first["generation"], run.last["generation"]
    return str(first) if len(run.rows) == 1 else f"{first}-{last}"


def _began(run: _Run, clock: Clock) -> str:
    text = _start(run.first, clock)
    return text if len(run.rows) == 1 else f"{text}\nto {_start(run.last, clock)}"


def _start(g: Row, clock: Clock) -> str:
    """Return when a rebalance began; `by` a time if the lines show only a later step of it."""
    began = next((g[c] for c in GENERATION_BEGAN if g.get(c)), None)
    if began:
        return clock.at(began)
    by = next((g[c] for c in GENERATION_BEGUN_BY if g.get(c)), None)
    return f"by {clock.at(by)}" if by else "?"


def _took(run: _Run) -> str:
    known = sorted(g["duration_ms"] for g in run.rows if g["duration_ms"] is not None)
    if not known:
        return "?"
    whole = all(map(_is_duration_complete, run.rows))
    lo, hi = (span(ms, up=None if whole else False) for ms in (known[0], known[-1]))
    return "≥ " * (not whole) + (lo if known[0] == known[-1] else f"{lo}\nto {hi}")


def _is_duration_complete(g: Row) -> bool:
    """Return True if the coordinator's log shows when the rebalance began. It may have begun before the first member asked."""
    return bool(g["seen_by_broker"]) and any(g.get(c) for c in GENERATION_BEGAN)


def _why(run: _Run, now: _Shares, names: Names) -> str:
    g = run.first
    text = trigger(run.rows, names)
    # One member is always the last to join; it is named only if the others waited for it.
    waited = g["waited_why"] in _GONE or (g["join_ms"] or 0) >= _LONG_WAIT_MS
    if len(run.rows) == 1 and g["waited_for_member_id"] and waited:
        how = _GONE.get(g["waited_why"], "")
        who = names.member(g["waited_for_member_id"])
        # A member that expired and is in the generation has joined it with another ID.
        text += f"; waited for {f'an earlier member id of {who}' if how and who in now else who}{how}"
    return text if len(run.rows) == 1 else f"{text}, {len(run.rows):,} times"


def _assignment(shares: list[Row], names: Names) -> _Shares:
    held: _Shares = {}
    for share in shares:
        who = names.share(share)
        # A fenced member has lost its assignment.
        unknown = share["assigned"] is None and share["state"] != "fenced"
        held[who] = held.get(who) if unknown else [*(held.get(who) or ()), *(share["assigned"] or ())]
    return held


def _not_shown(run: _Run, now: _Shares) -> str:
    """Return the number of members not shown: a log may be missing, or lack the lines."""
    missing = (run.last["member_count"] or 0) - len(now)
    return f"and {count(missing, 'member')} whose assignment is not logged" if missing > 0 else ""


def _who(run: _Run, now: _Shares, before: _Shares, names: Names) -> str:
    g = run.last
    leader = names.member(g["leader_member_id"]) if g["leader_member_id"] else ""
    if not now:
        text = count(g["member_count"], "member") if g["member_count"] is not None else "?"
        return text + (f", led by {leader}" if leader else "")
    others = _not_shown(run, now)
    if now == before and None not in now.values() and not others:
        return "as before" + (f" ({leader}*)" if leader else "")
    got = {who: "not known" if share is None else fold(sorted(set(share))) or "nothing" for who, share in sorted(now.items())}
    parts = [f"{who}{'*' if who == leader else ''}: {what}" for who, what in got.items()]
    return "\n".join([*_some(parts), *[others] * bool(others)])


def _some(parts: list[str]) -> list[str]:
    more = len(parts) - _MEMBERS
    return [*parts[:_MEMBERS], f"and {more:,} more members"] if more > _FEW_MORE else parts


def _changed(run: _Run, now: _Shares, before: _Shares, names: Names) -> str:
    """Return which member gained and lost what since the generation before: `w2* +orders-[0,1]`, `w3 gone −orders-2`."""
    leader = names.member(run.last["leader_member_id"]) if run.last["leader_member_id"] else ""
    parts, others = [], _not_shown(run, now)
    for who in sorted({*now, *before}):
        words = [who + ("*" if who == leader else "")]
        if who not in now and others:
            parts.append(f"{words[0]} not shown")
            continue
        words += ["new"] * (who not in before) + ["gone"] * (who not in now)
        share, last = now.get(who, []), before.get(who, [])
        if share is None:
            words.append("not known")
        elif last is None:
            words.append(f"has {fold(sorted(set(share))) or 'nothing'}")
        else:
            more, less = set(share) - set(last), set(last) - set(share)
            words += [f"+{fold(sorted(more))}"] * bool(more) + [f"−{fold(sorted(less))}"] * bool(less)
        parts += [" ".join(words)] if len(words) > 1 else []
    parts = [*_some(parts), *[others] * bool(others)]
    return "\n".join(parts) or "as before" + (f" ({leader}*)" if leader else "")


def _paused(group: Row, names: Names) -> Iterator[Block]:
    """Yield how long each member stopped working, over all generations shown."""
    total: dict[str, list[float]] = defaultdict(list)
    unknown: dict[str, int] = defaultdict(int)
    for share in group["member_generations"]:
        if share["paused_ms"] is not None:
            total[names.share(share)].append(share["paused_ms"])
        elif share.get("is_pause_known") is False:
            unknown[names.share(share)] += 1

    def duration(who: str, ms: float) -> str:
        if not unknown[who]:
            return span(ms)
        return f"≥ {span(ms, up=False)}" if ms else "?"

    longest = sorted((total.keys() | unknown.keys()), key=lambda who: (-sum(total[who]), who))[:20]
    rows = tuple(
        (who, f"{len(total[who]) + unknown[who]:,}", duration(who, sum(total[who])), duration(who, max(total[who], default=0))) for who in longest
    )
    if rows:
        yield Para(
            "Time that each member waited during rebalances for its next assignment, even an empty one (others may have worked meanwhile on what it gave up):",
            tone="dim",
        )
        columns = (
            Column("member"),
            Column("rebalances", right=True),
            Column("total", right=True, fixed=True),
            Column("longest", right=True, fixed=True),
        )
        yield Table(columns, rows)


def _longest_parts(group: Row, names: Names) -> Iterator[Block]:
    """Yield where most of the rebalance time was spent, and the effect of another setting."""
    parts = sorted((b for b in group["rebalance_blame"] if (b["ms"] or 0) >= _WORST_MS), key=lambda b: -b["ms"])
    if not parts:
        return
    rows = []
    for part in parts[:_WORST_PARTS]:
        who = names.member(part["member_id"]) if part["member_id"] else ""
        setting = part["setting"] or ""
        if setting and part["value_ms"] is not None:
            setting += f" = {part['value_ms']}"
            # The member's own value is unknown.
            setting += " (the other members' value)" * (part.get("value_how") == "group" and part["member_id"] is not None)
        what = PARTS.get(part["part"], part["part"]) + (", inferred" if part["inferred"] else "")
        rows.append((str(part["generation"]), what, span(part["ms"]), who, "\n".join(x for x in (setting, part["what_if"]) if x)))
    more = f" ({len(parts) - len(rows):,} more in `rebalance_blame`)" if len(parts) > len(rows) else ""
    yield Para(f"Time spent in rebalances, the longest first{more}:", tone="dim")
    columns = (
        Column("gen.", right=True, fixed=True),
        Column("part"),
        Column("took", right=True, fixed=True),
        Column("who"),
        Column("setting, and the effect of another value"),
    )
    yield Table(columns, tuple(rows))


def _read_twice(group: Row, names: Names) -> Iterator[Block]:
    """Yield the partitions whose records were certainly read twice, those with most records first."""
    twice = sorted((d for d in group["duplicate_ledger"] if d["records_lo"]), key=lambda d: -d["records_lo"])
    if not twice:
        return
    total = sum(d["records_lo"] for d in twice)
    yield Para(f"At least {count(total, 'record was', 'records were')} read twice. The partitions with the most:", tone="dim")
    rows = tuple(
        (
            d["resource"],
            names.process(d["old_process_id"]),
            names.process(d["new_process_id"]),
            f"{d['restarted_at']:,}",
            f"{d['records_lo']:,}" if d["records_hi"] == d["records_lo"] else f"{d['records_lo']:,} or more",
            f"{_words(d['how'])}; fenced by its {d['fenced_by']}" if d["fenced_by"] else _words(d["how"]),
        )
        for d in twice[:10]
    )
    columns = (
        Column("partition"),
        Column("held by"),
        Column("then by"),
        Column("from", right=True),
        Column("records", right=True),
        Column("known by"),
    )
    yield Table(columns, rows)

"""Convert causes of incidents to intervals of time, and evictions, deaths and departures to moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from forensics.clocks.reference import ms
from forensics.report import anchors
from forensics.report.page.scene import Mark, Trouble
from forensics.wording.formats import SEVERITIES, shorten, span

if TYPE_CHECKING:
    from forensics.clocks.reference import Reference
    from forensics.report.model import Report, Row
    from forensics.report.names import Names
    from forensics.report.page.case_rows import CaseRows
    from forensics.report.page.process_style import ProcessStyles

#: Short names of causes.
_SHORT = {
    "process_paused": "{} froze",
    "process_killed": "{} died",
    "process_restarted": "{} restarted",
    "member_cut_off": "{} cut off",
    "poll_too_slow": "{} polled too slowly",
    "broker_down": "{} down",
    "coordinator_moved": "coordinator moved from {}",
    "offsets_topic_impossible": "__consumer_offsets cannot be created",
    "offsets_lost": "offsets lost",
    "connector_churn": "connector {} kept changing",
    "duplicate_declaration": "{} declared twice",
    "group_id_collision": "group.id {} shared",
    "static_id_shared": "group.instance.id {} shared",
    "clock_wrong": "clock of {} wrong",
    "deployment": "rolling restart of {}",
}
#: Words for possible causes, if the logs leave several.
_OR = {
    "process_paused": "frozen", "process_killed": "killed", "process_restarted": "restarted", "member_cut_off": "cut off", "poll_too_slow": "polling too slowly",
    "broker_down": "down", "broker_cut_off": "cut off", "coordinator_moved": "moved", "lines_missing": "lines missing",
}  # fmt: skip
_DEATHS = ("process_killed",)
_LONGEST = 48
_SHORTEST_MS, _MINUTE_MS = 1000, 60_000


def short(incident: Row, names: Names) -> str:
    """Name an incident in a few words: `w2 froze`, `w3 killed or cut off?`, else the beginning of its headline."""
    subject = names.process(incident["subject"]) if incident["subject"] else ""
    if incident["cause"] in _SHORT:
        return shorten(_SHORT[incident["cause"]].format(subject or "member").strip(), _LONGEST)
    could = list(dict.fromkeys(_OR[a] for a in incident["alternatives"] or () if a in _OR))
    if subject and could:
        return shorten(f"{subject} {' or '.join(could)}?", _LONGEST)
    return shorten(incident["headline"] or "cause unknown", _LONGEST)


def find(
    report: Report,
    more: CaseRows,
    names: Names,
    styles: ProcessStyles,
    reference: Reference,
    groups: Sequence[tuple[str, str]],
    first: float,
    last: float,
) -> tuple[tuple[Trouble, ...], tuple[Mark, ...]]:
    """Return the intervals and moments in the time that is shown; the most severe incident's intervals first, moments by time.

    Args:
        report: the report with the incidents.
        more: each recurrence of a cause, and evictions; without them, an incident is one interval.
        names: the report's names of processes.
        styles: numbers of the processes.
        reference: the clocks.
        groups: Kafka cluster and ID of each group, by number.
        first: the start of the time that is shown.
        last: its end, up to which a cause without an end is drawn.
    """
    parts = {c["incident_id"]: c["parts"] or () for c in more.causes}
    found = [t for i in report.incidents for t in _intervals(i, parts.get(i["incident_id"], ()), names, styles, last)]
    troubles = sorted((t for t in found if t.stop_hi >= first and t.start_lo <= last), key=lambda t: (SEVERITIES.index(t.severity), t.start_hi))
    numbers = {group: n for n, group in enumerate(groups)}

    def expired(member: str | None) -> str:
        return f"evicted {names.member(member)}"

    def left(member: str | None) -> str:
        # A client of a process may leave while the process itself goes on.
        return f"{names.member(member) if member else 'a member'} left"

    shown = report, styles, reference, numbers
    marks = [
        # A report without its case has only the generations that evictions triggered.
        *(_evictions(more.removals, names, styles, numbers) if more.removals else _of_generations("member_expired", "evicted", expired, *shown)),
        *_deaths(troubles, styles),
        *_of_generations("member_left", "left", left, *shown),
    ]
    return tuple(troubles), tuple(sorted((m for m in marks if first <= m.at <= last), key=lambda m: (m.at, m.group, m.label)))


def _intervals(incident: Row, parts: Sequence[Row], names: Names, styles: ProcessStyles, last: float) -> Iterator[Trouble]:
    whole = {"process_id": incident["subject"]} | {f"{end}_ms": ms(incident[end]) for end in ("from_lo", "from_hi", "to_lo", "to_hi")}
    name = short(incident, names)
    for part in parts or (whole,):
        lo, hi, stop_lo, stop_hi = (part[f"{end}_ms"] for end in ("from_lo", "from_hi", "to_lo", "to_hi"))
        if lo is None and hi is None:
            continue
        lo, hi = lo if lo is not None else hi, hi if hi is not None else lo
        end = stop_hi if stop_hi is not None else max(last, hi)
        sure = min(end, max(stop_lo if stop_lo is not None else hi, hi))
        is_open = stop_lo is None and stop_hi is None
        yield Trouble(
            anchor=anchors.incident(incident["incident_id"]),
            cause=incident["cause"],
            process=styles.number(part["process_id"]),
            start_lo=lo,
            start_hi=hi,
            stop_lo=end if is_open else sure,
            stop_hi=end,
            open=is_open,
            is_moment=incident["cause"] != "unknown" and (stop_lo, stop_hi) == (lo, hi),
            label=" ".join(x for x in (name, lasted(sure - hi, end - lo) if not is_open else "") if x),
            severity=incident["severity"],
            witness=tuple(incident.get("witness") or ()),
        )


def lasted(lo: float, hi: float) -> str:
    """Return a duration with bounds: `33-44 s`, `2 s`, `1 min 05 s to 2 min 10 s`; empty if it may be less than a second."""
    if lo < _SHORTEST_MS:
        return ""
    if hi < _MINUTE_MS:
        low, high = int(lo // 1000), int(-(-hi // 1000))
        return f"{low} s" if high - low < 2 else f"{low}-{high} s"
    low_words, high_words = span(lo, up=False), span(hi, up=True)
    return low_words if low_words == high_words else f"{low_words} to {high_words}"


def _evictions(removals: Iterable[Row], names: Names, styles: ProcessStyles, numbers: dict[tuple[str, str], int]) -> Iterator[Mark]:
    for r in removals:
        group = numbers.get((r["kafka_cluster"] or "", r["group_id"] or ""))
        if group is None or r["removed_lo_ms"] is None or r["was_closed"]:
            continue
        who = names.process(r["process_id"]) if r["process_id"] else names.member(r["member_id"])
        yield Mark(
            "evicted", (r["removed_lo_ms"] + r["removed_hi_ms"]) / 2, group, styles.number(r["process_id"]), f"evicted {who}", (r["removed_id"],)
        )


def _of_generations(
    trigger: str,
    kind: str,
    label: Callable[[str | None], str],
    report: Report,
    styles: ProcessStyles,
    reference: Reference,
    numbers: dict[tuple[str, str], int],
) -> Iterator[Mark]:
    """Yield what happened to members, as the generations that it triggered show; `label` says what happened to a member id."""
    owner = {m["member_id"]: m["process_id"] for g in report.groups for m in g["members"]}
    for group in report.groups:
        for g in group["generations"]:
            if g["trigger"] != trigger or not (moment := reference.moment(g["coordinator"], g["prepared_ts"])):
                continue
            member = g["trigger_member_id"]
            number = numbers[group["kafka_cluster"] or "", group["group_id"] or ""]
            yield Mark(kind, moment.middle, number, styles.number(owner.get(member)), label(member), tuple(g.get("witness") or ()))


def _deaths(troubles: Iterable[Trouble], styles: ProcessStyles) -> Iterator[Mark]:
    for t in troubles:
        if t.cause in _DEATHS:
            name = styles.all[t.process].name if t.process >= 0 else "?"
            yield Mark("died", t.start_lo, -1, t.process, f"{name} died", t.witness)


def quiet(report: Report, groups: Sequence[tuple[str, str]], marks: Iterable[Mark]) -> tuple[int, ...]:
    """Return the numbers of the groups without an incident above a note, an overlap or an eviction; none if that is true of all."""
    hit = {g for i in report.incidents if i["severity"] != "note" for g in i["group_ids"]}
    hit |= {s["group_id"] for s in report.split_brain if s["verdict"] != "refuted"}
    hit |= {f["group_id"] for f in report.findings if f["severity"] != "note"}
    hit |= {groups[m.group][1] for m in marks if m.group >= 0 and m.kind != "left"}
    found = tuple(n for n, (_, group_id) in enumerate(groups) if group_id not in hit)
    return found if len(found) < len(groups) else ()

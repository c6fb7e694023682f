"""Make the summary that every format of a report begins with: the verdict, and for each incident what happened, who was affected and what to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from forensics.logs import coverage_kinds
from forensics.report import certainty, collect, verdict
from forensics.report.assembly import EARLIEST
from forensics.report.document import Block, Column, Heading, Para, Table, Tone
from forensics.report.examined import (
    EXPECTED,
    basis,
    ended_logs,
    is_without_group,
    is_without_kafka,
    lacks_half,
    lost_logs,
    missing_members,
    why_not_examined,
)
from forensics.report.groups import rebalances
from forensics.report.incidents import MERGED_CAUSES, STATED_END, ended, in_one
from forensics.report.resources import in_words
from forensics.report.story import ROOT, Step, Story, in_time, shortened, stories
from forensics.report.text import as_text
from forensics.wording.files import rule_words
from forensics.wording.formats import Clock, and_more, count, joined, short_member, shorten, zone_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo

    from forensics.report.model import Report, Row
    from forensics.report.names import Names

#: Maximum number of incidents in full, and of the others with two lines each.
_IN_FULL, _LISTED, _MERGED = 3, 12, 3
#: Maximum number of lines, at this width, with more than one incident in full.
_LINES, _WIDTH = 60, 100
#: Maximum number of errors that no finding explains.
_ERRORS = 4
_LONGEST, _LONGEST_TITLE = 220, 440
_TWO_OWNERS = "TWO OWNERS PROVED"
_TONES: dict[str, Tone] = {"critical": "bad", "warning": "warn", "note": ""}
_ROLES = {"broker": "broker", "connect_worker": "worker", "client": "client"}
_LABELLED = (Column("", fixed=True), Column(""))


@dataclass(frozen=True)
class Summary:
    """What every format of a report says first, in the same words.

    Attributes:
        title, tone: the verdict.
        scope: groups, time and processes.
        stories: the incidents above notes, else the first note, the most severe first.
        alone: the finding in the title, if no incident is there; its explanation and advice belong to the title.
        also: the other findings without an incident above notes; then the errors that no finding explains.
        unsettled: what is undecided, what to collect, and what to do until then: sentences, each with its label.
        foot: what else happened, how sure this is, and what is missing: sentences, each with its label.
    """

    title: str
    tone: Tone
    scope: str
    stories: tuple[Story, ...]
    alone: Row | None
    also: tuple[Row, ...]
    unsettled: tuple[tuple[str, str], ...]
    foot: tuple[tuple[str, str], ...]

    @property
    def listed(self) -> list[Row]:
        """Return those of `also` that are named; of the errors, only a few."""
        errors = [f for f in self.also if f["severity"] == "note"]
        return [*[f for f in self.also if f["severity"] != "note"][:_LISTED], *errors[:_ERRORS]]

    @property
    def advice_alone(self) -> tuple[tuple[str, str], ...]:
        """Return why the finding in the title is one, and what to do."""
        rows = (("Why", self.alone["explanation"]), ("Next", self.alone["advice"])) if self.alone else ()
        return tuple(row for row in rows if row[1])


def make(report: Report, names: Names, clock: Clock) -> Summary:
    """Return the summary of a report.

    Args:
        report: what was found, with sentences for the reader's zone and names.
        names: the report's names of processes and members.
        clock: formats times.
    """
    graver = incidents(report, names)
    words, tone = title(report, graver)
    others = without_incident(report)
    alone = others[0] if others and not graver and shorten(others[0]["headline"], _LONGEST_TITLE) in words else None
    errors = unexplained(report, is_grave=bool(graver))
    return Summary(
        title=words,
        tone=tone,
        scope=scope(report, names, graver, words),
        stories=tuple(graver),
        alone=alone,
        also=(*(f for f in others if f is not alone), *errors),
        unsettled=() if is_without_group(report) else tuple(unsettled(report, names, graver, clock)),
        foot=tuple(foot(report, graver, clock)),
    )


def table(rows: Iterable[tuple[str, str]]) -> Table:
    """Return labelled sentences as a table."""
    return Table(_LABELLED, tuple(rows))


def first_screen(report: Report, names: Names, clock: Clock, window: str = "") -> list[Block]:
    """Return the summary for a screen: of several incidents, as many in full as fit on it, at least the most severe; then how to see more.

    Args:
        report: what was found, as for `make`.
        names: its names of processes and members.
        clock: formats times.
        window: the selected time or groups, in a sentence.
    """
    found = make(report, names, clock)
    notes = sum(f["severity"] == "note" for f in report.findings)
    more = (("More", " | ".join(_commands(report))), ("Hidden", f"{count(notes, 'note')}: `--notes`" * bool(notes)))
    found = replace(found, foot=(*found.foot, *(row for row in more if row[1])))
    for in_full in range(min(_IN_FULL, len(found.stories)), 1, -1):
        blocks = compose(report, names, found, window, in_full)
        if as_text(blocks, _WIDTH).strip().count("\n") < _LINES:
            return blocks
    return compose(report, names, found, window, 1)


def compose(report: Report, names: Names, found: Summary, under_title: str, in_full: int = _IN_FULL) -> list[Block]:
    """Return a summary as blocks.

    Args:
        report: what was found.
        names: the report's names of processes and members.
        found: the summary.
        under_title: a sentence below the title and the scope; empty for none.
        in_full: the number of incidents that are shown in full; the others take two lines each.
    """
    graver = found.stories
    dated = days(report, graver)
    blocks: list[Block] = [Heading(1, found.title, found.tone), Para(found.scope)]
    if under_title:
        blocks.append(Para(under_title, tone="dim"))
    for number, story in enumerate(graver[:in_full], 1):
        if len(graver) > 1 or _graver_than(report, graver):
            day = f", {story.incident['from_lo'].astimezone(report.zone):%-d %b}" if dated and story.incident["from_lo"] else ""
            text = shorten(story.headline, _LONGEST_TITLE) + after(story)
            text = f"{number} of {len(graver)}{day}" + f": {text}" * (text not in found.title)  # the title may have it already
            blocks.append(Heading(2, text, _TONES[story.incident["severity"]]))
        alike = next((n for n, s in enumerate(graver[: number - 1], 1) if story.next and _impersonal(s, names) == _impersonal(story, names)), 0)
        blocks += _incident(report, replace(story, next=f"as in {alike} of {len(graver)}") if alike else story, dated)
    if more := graver[in_full:]:
        blocks += [Heading(2, count(len(more), "more incident")), _others(report, more, dated)]
    for rows in (found.unsettled, found.advice_alone):
        blocks += [Heading(3, ""), table(rows)] if rows else []
    if found.also:
        also = [(f["severity"], shorten(f["headline"], _LONGEST), f["finding_id"]) for f in found.listed]
        also += [("", f"and {len(found.also) - len(also)} more: `forensics report --full`", "")] * (len(found.also) > len(also))
        tones = {n: _TONES[severity] for n, (severity, _, _) in enumerate(also) if severity}
        blocks += [Heading(3, "Also"), Table((Column("", fixed=True), Column(""), Column("", fixed=True)), tuple(also), tones=tones)]
    return [*blocks, Heading(3, ""), table(found.foot)]


def _impersonal(story: Story, names: Names) -> str:
    """Return the advice of an incident without the name of its process."""
    subject = story.incident["subject"]
    return story.next.replace(names.process(subject), "") if subject else story.next


def without_incident(report: Report) -> list[Row]:
    """Return the findings above notes that belong to no incident."""
    return [f for f in report.findings if not f.get("incident_id") and f["severity"] != "note"]


def unexplained(report: Report, *, is_grave: bool) -> list[Row]:
    """Return the notes of rules whose lines no other finding explains, such as errors: they may be the reason that the reader looks for."""
    rest = {name for name, words in rule_words().items() if words.links.rest == "always" or words.links.rest and not is_grave}
    return [f for f in report.findings if f["rule"] in rest]


def incidents(report: Report, names: Names) -> list[Story]:
    """Return the incidents of the first screen, the most severe first: those above notes, else the first note."""
    found = _merged(stories(report, names), names)
    graver = [s for s in found if s.incident["severity"] != "note"] or found[:1]
    alike = by_cause(graver)
    return [replace(s, recurred=recurrence(report, names, s, alike)) for s in graver]


def _merged(shown_stories: Iterable[Story], names: Names) -> list[Story]:
    """Merge the steps of similar incidents into the first of them."""
    by_kind: dict[tuple[object, ...], list[Story]] = {}
    for s in shown_stories:
        by_kind.setdefault(_kind(s), []).append(s)
    return [_as_one(same, names) if len(same) > 1 else same[0] for same in by_kind.values()]


def _kind(story: Story) -> tuple[object, ...]:
    """Return the key that incidents shown as one have in common."""
    incident = story.incident
    if incident["cause"] in MERGED_CAUSES:
        return (incident["cause"],)
    # Without a known cause, incidents of one group with the same advice are one problem to the reader.
    if incident["cause"] == "unknown" and story.next and not story.hits:
        return incident["cause"], tuple(incident["group_ids"] or ()), incident["severity"], incident.get("state"), story.next, story.now
    return (incident["incident_id"],)


def _as_one(same: Sequence[Story], names: Names) -> Story:
    first = same[0]
    steps = [step for s in same for step in s.steps]
    if first.incident["cause"] in MERGED_CAUSES:
        # The largest offset is first.
        incident, headline = first.incident, in_one([s.headline for s in same], _MERGED)
    else:
        last = max(same, key=lambda s: (s.incident["to_hi"] is None, ended(s.incident) or EARLIEST))
        incident = first.incident | {key: last.incident.get(key) for key in STATED_END}
        headline = f"{first.headline} (one of {len(same)} such incidents)"
        steps.sort(key=in_time)
    shown = shortened(steps)
    return replace(
        first,
        incident=incident,
        headline=headline,
        steps=tuple(shown),
        now=_now(same, names),
        hits=tuple(hit for s in same for hit in s.hits),
        pairs=tuple(pair for s in same for pair in s.pairs),
        left_out=sum(s.left_out for s in same) + len(steps) - len(shown),
    )


def _now(same: Sequence[Story], names: Names) -> str:
    """Return what to do now about similar incidents: one sentence for all of them if theirs differ only in the subject."""
    texts = list(dict.fromkeys(filter(None, (s.now for s in same))))
    subjects = list(dict.fromkeys(names.process(s.incident["subject"]) for s in same if s.now))
    if 1 < len(texts) == len(subjects) and len({text.replace(subject, "") for text, subject in zip(texts, subjects, strict=True)}) == 1:
        return texts[0].replace(subjects[0], and_more(subjects, _MERGED + 1))
    return " ".join(texts[:_MERGED])


def title(report: Report, shown_stories: Sequence[Story]) -> tuple[str, Tone]:
    """Return the most severe matter, and whether it is over."""
    kinds = {s["kind"] for s in report.split_brain if s["verdict"] == "proved"}
    first = shown_stories[0] if shown_stories else None
    titled, outcome = first, _on_day(report, first, is_dated=_is_longer_than_a_day(report, first)) if first else ""
    both_worked = "work" in kinds
    two_owners = "thread" in kinds and first is not None and first.incident["severity"] != "critical"
    if (both_worked or two_owners) and len(doubled := [s for s in shown_stories if any(p["verdict"] == "proved" for p in s.pairs)]) > 1:
        # The title covers them all: it is over when the last of them is.
        last = max(doubled, key=lambda s: (s.incident.get("state") != "over", s.incident.get("over_since") or EARLIEST))
        titled, outcome = last, _on_day(report, last, is_dated=days(report, doubled))
    if titled and titled.incident.get("state") == "over" and (still := sum(s.incident.get("state") == "open" for s in shown_stories)):
        # Without this, the title would read as an all-clear.
        outcome += f"; {count(still, 'other incident')} {'is' if still == 1 else 'are'} not over"
    if titled and titled.incident.get("state") == "over" and (report.examined["files_unread"] or ended_logs(report) or lacks_half(report)):
        outcome += "; evidence is incomplete"
    if both_worked:
        return f"SPLIT BRAIN PROVED{outcome}", "bad"
    if two_owners:
        return f"{_TWO_OWNERS}, without proof that both worked{outcome}", "warn"
    if alone := _graver_than(report, shown_stories):
        return f"CRITICAL: {shorten(alone[0]['headline'], _LONGEST_TITLE)}", "bad"
    if first:
        return f"{first.incident['severity'].upper()}: {shorten(first.headline, _LONGEST_TITLE)}{outcome}", _TONES[first.incident["severity"]]
    if is_without_kafka(report):
        return "SPLIT BRAIN NOT EXAMINED" if report.errors else "NO KAFKA LOGS FOUND", "warn"
    undecided = sum(s["verdict"] == "undecided" for s in report.split_brain)
    if (graver := _graver(report)) and (_is_not_examined(report) or not undecided):
        return f"{graver[0]['severity'].upper()}: {shorten(graver[0]['headline'], _LONGEST_TITLE)}", _TONES[graver[0]["severity"]]
    if _is_not_examined(report):
        absent = sorted(short_member(coverage_kinds.member_of(c)) for c in missing_members(report))
        return f"SPLIT BRAIN NOT EXAMINED{': no log of ' * bool(absent)}{and_more(absent, 3) if absent else ''}", "warn"
    if undecided:
        return f"SPLIT BRAIN UNDECIDED for {count(undecided, 'pair')} of owners", "warn"
    if lost := lost_logs(report):
        return f"NO INCIDENT SHOWN, and none excluded: lines of {and_more(lost, 3)} are lost", "warn"
    if verdict.limits_of(report):
        return "NO INCIDENT FOUND, but evidence is incomplete", "warn"
    return "NO INCIDENT FOUND", "good"


def _on_day(report: Report, story: Story, *, is_dated: bool) -> str:
    """Return the state of an incident behind its title, with the day on which it was over if the time alone does not show it."""
    over = story.incident.get("over_since")
    by, comma, effects = after(story).partition(" (")
    day = f" on {over.astimezone(report.zone):%-d %b}" if over and is_dated and f"{over.astimezone(report.zone):%F}" not in by else ""
    return by + day + comma + effects


def _is_longer_than_a_day(report: Report, story: Story) -> bool:
    begun, over = story.incident["from_hi"], story.incident.get("over_since")
    return bool(begun and over and begun.astimezone(report.zone).date() != over.astimezone(report.zone).date())


def _graver_than(report: Report, shown_stories: Sequence[Story]) -> list[Row]:
    """Return the critical findings that belong to no incident, if there are incidents and none is critical: the title is the worst of all."""
    is_less = bool(shown_stories) and all(s.incident["severity"] != "critical" for s in shown_stories)
    return [f for f in without_incident(report) if f["severity"] == "critical"] if is_less else []


def _graver(report: Report) -> list[Row]:
    """Return the findings above a note, the most severe first."""
    return [f for f in report.findings if f["severity"] != "note"]


def _is_not_examined(report: Report) -> bool:
    """Return True if no ownership is known, and no finding is about something else."""
    return not report.examined["examined"] and not is_without_group(report)


def after(story: Story) -> str:
    """Return the state of an incident behind its title, such as ` - over by 07:52:25`; empty if it is unknown."""
    outcome = story.incident.get("outcome")
    return f" - {outcome}" if outcome else ""


def scope(report: Report, names: Names, shown_stories: Sequence[Story], titled: str = "") -> str:
    """Return groups, time and processes: `connect-cluster, 21 Nov 2026 07:51:40-07:52:25 UTC (Kafka 3.9.1, 3 workers, 1 broker)`."""
    processes = report.case["processes"]
    roles = Counter(_ROLES.get(p["role"], "other log") for p in processes)
    versions = sorted({p["kafka_version"] for p in processes if p["kafka_version"]})
    groups = list(dict.fromkeys(names.group(s.incident["kafka_cluster"], g) for s in shown_stories for g in s.incident["group_ids"]))
    named = report.groups or [*report.findings, *report.ownership]  # without a generation, a group is known by its name alone
    groups = groups or list(dict.fromkeys(names.group(g["kafka_cluster"], g["group_id"]) for g in named if g["group_id"])) or report.groups_named
    read = [f"Kafka {and_more(versions, 3)}"] * bool(versions) + [count(n, role) for role, n in sorted(roles.items(), reverse=True)]
    # What followed may begin or end outside the cause's own time.
    steps = [at for s in shown_stories for step in s.steps for at in (step.lo, step.hi)]
    pairs = [p["to_hi"] for s in shown_stories for p in s.pairs]
    moments = [m for m in (*(ended(s.incident) for s in shown_stories), *steps, *pairs) if m]
    examined = (report.examined["from_ts"], report.examined["to_ts"]) if report.examined["from_ts"] else report.extent or (None, None)
    lo, hi = (min(moments), max(moments)) if moments else examined
    when = f", {lo.astimezone(report.zone):%-d %b %Y} {between(lo, hi, report.zone)} {zone_names(report)}" if lo else ""
    text = f"{and_more(groups, 3) or 'no Kafka group found'}{when}" + f" ({', '.join(read)})" * bool(read)
    # The title has these already.
    is_in_title = (
        titled.startswith(_TWO_OWNERS)
        or any(s["verdict"] == "proved" and s["kind"] == "work" for s in report.split_brain)
        or not (shown_stories or _graver(report))
        and _is_not_examined(report)
    )
    return text if is_in_title else f"{text}. {verdict.title(report)[0]}"


def zone_names(report: Report) -> str:
    """Return the name of the reader's zone at the time of the logs: two names if the clocks change in between."""
    ends = report.extent or [datetime.now(UTC)]
    return " and ".join(dict.fromkeys(zone_name(report.zone, end) for end in ends))


def between(lo: datetime | None, hi: datetime | None, zone: tzinfo) -> str:
    """Return `07:51:40`, `07:51:40-48` or `07:51:40-07:52:25`; with the day of the end if it differs."""
    if lo is None or hi is None:
        at = lo or hi
        return "?" if at is None else f"{'by ' * (lo is None)}{at.astimezone(zone):%H:%M:%S}"
    a, b = lo.astimezone(zone), hi.astimezone(zone)
    if b - a < timedelta(seconds=1) or f"{a:%F %T}" == f"{b:%F %T}":
        return f"{a:%H:%M:%S}"
    if a.date() != b.date():
        return f"{a:%H:%M:%S} to {b:%-d %b %H:%M:%S}"
    return f"{a:%H:%M:%S}-{b:%S}" if f"{a:%H%M}" == f"{b:%H%M}" else f"{a:%H:%M:%S}-{b:%H:%M:%S}"


def days(report: Report, shown_stories: Iterable[Story]) -> bool:
    """Return True if times need their date."""
    return len({m.astimezone(report.zone).date() for s in shown_stories for step in s.steps for m in (step.lo, step.hi) if m}) > 1


def when(lo: datetime | None, hi: datetime | None, zone: tzinfo, *, dated: bool) -> str:
    """Return a step's time, with its day if requested; empty if it is unknown."""
    if lo is None and hi is None:
        return ""
    day = f"{(lo or hi or datetime.now(UTC)).astimezone(zone):%-d %b} " if dated else ""
    return day + between(lo, hi, zone)


def step_time(step: Step, zone: tzinfo, *, dated: bool) -> str:
    """Return a step's time: a period, or the bounds of the moment at which a root cause began, as `between 07:51:40` and, in a second line, `and 07:51:48`."""
    return _moment(step.lo, step.hi, zone, dated=dated) if step.role == ROOT else when(step.lo, step.hi, zone, dated=dated)


def _moment(lo: datetime | None, hi: datetime | None, zone: tzinfo, *, dated: bool) -> str:
    if lo is not None and hi is not None and hi - lo < timedelta(seconds=1):
        return when(hi, hi, zone, dated=dated)  # the second before would be before the line that shows it
    text = when(lo, hi, zone, dated=dated)
    if lo is None or hi is None or text == when(lo, lo, zone, dated=dated):
        return text
    return f"between {when(lo, lo, zone, dated=dated)}\nand {when(hi, hi, zone, dated=dated and lo.astimezone(zone).date() != hi.astimezone(zone).date())}"


def by_cause(shown_stories: Iterable[Story]) -> dict[tuple[str, str | None], list[Story]]:
    """Return the stories whose time is known, by cause and subject."""
    found: dict[tuple[str, str | None], list[Story]] = {}
    for s in shown_stories:
        if s.incident["from_hi"]:
            found.setdefault((s.incident["cause"], s.incident["subject"]), []).append(s)
    return found


def recurrence(report: Report, names: Names, story: Story, alike: Mapping[tuple[str, str | None], Sequence[Story]]) -> str:
    """Return when the same cause affected the same subject: `21 Nov 07:51, 24 Nov 07:51`; empty if it happened once, or is already reported."""
    cause = story.incident["cause"], story.incident["subject"]
    same = alike.get(cause, ())
    if cause[0] == "unknown" or len(same) < 2 or story is not same[0]:
        return ""
    moments = sorted(s.incident["from_hi"].astimezone(report.zone) for s in same)
    return f"{names.process(story.incident['subject'])}: {count(len(same), 'time')}, {joined([f'{m:%-d %b %H:%M}' for m in moments])}"


def _incident(report: Report, story: Story, dated: bool) -> list[Block]:
    known = story.incident["cause"] != "unknown"
    steps = tuple(
        (step_time(s, report.zone, dated=dated), s.text, "\n".join(filter(None, ("ROOT CAUSE" * (s.role == ROOT and known), s.where))))
        for s in story.steps
    )
    blocks: list[Block] = [Heading(3, "What happened"), Table((Column("", fixed=True), Column(""), Column("")), steps)]
    if story.left_out:
        blocks.append(Para(f"and {count(story.left_out, 'more step')}: `forensics report --full`", tone="dim"))
    if story.hits:
        hits = tuple((h.what, _in_lines(h.who), _in_lines(h.lasted), h.consequence) for h in story.hits)
        blocks += [Heading(3, "Impact"), Table((Column(""), Column("", fixed=True), Column("", fixed=True), Column("")), hits)]
    rows = [("Now", story.now)] * bool(story.now) + [*story.advice]
    return [*blocks, Heading(3, ""), table(rows)] if rows else blocks


def _in_lines(text: str) -> str:
    """Return the alternatives of a narrow cell in lines of their own: `no owner, or` `w1 and w2`."""
    return text.replace("; ", ";\n").replace(", or ", ",\nor ")


def _others(report: Report, shown_stories: Sequence[Story], dated: bool) -> Table:
    rows = [
        (
            _moment(s.incident["from_lo"], s.incident["from_hi"], report.zone, dated=dated),
            "\n".join([shorten(s.headline, 160) + after(s), *_in_short(s)]),
            s.incident["incident_id"],
        )
        for s in shown_stories[:_LISTED]
    ]
    rows += [("", f"and {len(shown_stories) - _LISTED} more: `forensics sql incident`", "")] * (len(shown_stories) > _LISTED)
    return Table((Column("", fixed=True), Column(""), Column("", fixed=True)), tuple(rows))


def _in_short(story: Story) -> Iterator[str]:
    """Yield the worst damage of an incident, and what to do now if it is not over; without either, where to look for its cause."""
    more = f" (and {len(story.hits) - 1} more)" * (len(story.hits) > 1)
    rows = [("Impact", story.worst + more), ("Now", story.now if story.incident.get("state") != "over" else "")]
    for label, text in [row for row in rows if row[1]] or [("Next", story.next)] * bool(story.next):
        yield f"{label}: {shorten(text, _LONGEST)}"


def unsettled(report: Report, names: Names, shown_stories: Sequence[Story], clock: Clock) -> list[tuple[str, str]]:
    """Return what is undecided: what is known, what to collect, and what to do until then, each with its label."""
    shown = {id(p) for s in shown_stories for p in s.pairs}
    undecided = [s for s in report.split_brain if s["verdict"] == "undecided"]
    rows: list[tuple[str, str]] = []
    if is_without_kafka(report):
        return [*_errors(report, clock), ("Read", why_not_examined(report)), ("Expected", f"{EXPECTED}.")]
    missing, ended = report.examined["members_without_log"], ended_logs(report)
    if not shown_stories:
        rows += [("Rebalances" if not n else "", text) for n, text in enumerate(rebalances(report, names, clock))]
    if not report.examined["examined"]:
        if not shown_stories:
            rows += _errors(report, clock)
        rows.append(("Known", why_not_examined(report)))
    elif alone := [s for s in undecided if id(s) not in shown]:
        who: dict[tuple[str, str], list[Row]] = {}
        for s in alone:
            a, b = sorted((names.process(s["process_a"]), names.process(s["process_b"])))
            who.setdefault((a, b), []).append(s)
        most = sorted(who.items(), key=lambda pair: -len(pair[1]))
        whose = [(f"{a} with {b}" if a != b else f"two owners in {a}", in_words(sorted({s["resource"] for s in its}), its)) for (a, b), its in most]
        is_same = len({of for _, of in whose}) == 1
        pairs = and_more([pair if is_same else f"{pair} ({of})" for pair, of in whose], 4)
        what = in_words(sorted({s["resource"] for s in alone}), alone)
        rows.append(("Known", f"{what} may have had two owners: {pairs}"))
    elif missing:
        rows.append(
            (
                "Known",
                f"{count(missing, 'member')} {'has' if missing == 1 else 'have'} no log here, so what {'it' if missing == 1 else 'they'} owned is unknown",
            )
        )
    elif ended:
        why = [
            f"{names.process(c['process_id'])}: {c['note'].partition(': ')[2]}; its work after {clock.second(c['from_ts'], None)} is unknown"
            for c in ended
        ]
        rows += [("Known" if not n else "", text) for n, text in enumerate(why[:_LISTED])]
    elif not undecided:
        return []
    wanted, until = collect.rows(report, undecided), collect.meanwhile(report)
    rows += [("Collect" if not n else "", text) for n, text in enumerate(wanted)]
    if rows and report.examined["why"] != "share_groups" and (wanted or until or not shown_stories):
        what = "what is unknown" if shown_stories else "this"
        rows.append(("Until then", f"treat {what} as unresolved.{' ' * bool(until)}{until}"))
    return rows


def _errors(report: Report, clock: Clock) -> Iterator[tuple[str, str]]:
    """Yield what the most frequent errors of members mean, and what to do about the first."""
    for n, e in enumerate(report.errors[:_MERGED]):
        text = e["text"].splitlines()[0]
        if e["said"] not in text:
            text = f"{text.rstrip(': ')}: {e['said']}"
        at = f"{clock.second(e['ts'], None)}, " if e["ts"] is not None else ""
        where = f"{at}{e['path']}:{e['line']}" + f" and {count(e['times'] - 1, 'more line')}" * (e["times"] > 1)
        yield "Shown" if not n else "", f"{shorten(text, _LONGEST)} ({where})"
        yield "", " ".join(f"{e['known'].proves} {e['known'].disproves}".split())
    yield from [("Next", " ".join(e["known"].advice.split())) for e in report.errors[:1] if e["known"].advice]


def foot(report: Report, shown_stories: Sequence[Story], clock: Clock) -> Iterator[tuple[str, str]]:
    """Yield what else happened, how sure the report is, and what is missing, each with its label."""
    sure = certainty.how_sure(report) or (basis(report, clock, but=False) if report.examined["examined"] else "")
    rows = (("Other", certainty.besides(report, shown_stories, clock)), ("Confidence", sure), ("Missing", certainty.missing(report, clock)))
    yield from (row for row in rows if row[1])


def _commands(report: Report) -> list[str]:
    """Return commands that show more."""
    if is_without_kafka(report):  # there is nothing else to show
        return ["`forensics sql source_file`", *["`forensics explain - < FILE`"] * bool(report.examined["files"])]
    finding = [f"`forensics show {f['finding_id']}`" for f in report.findings[:1]]
    return ["`forensics report --full`", "`forensics timeline`", *finding, "`-o report.html`"]

"""Draw who owned what, and when, in characters: causes and generations at the top, a row for each resource, a lane for each owner, overlaps below them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from forensics.errors import UsageError, did_you_mean
from forensics.report import content
from forensics.report.document import Column, Document, Drawing, Heading, Para, Table, Tone
from forensics.report.names import Names
from forensics.report.page import build
from forensics.report.page.case_rows import CaseRows
from forensics.report.page.process_style import ProcessStyles
from forensics.report.page.spans import parts
from forensics.wording.formats import count

if TYPE_CHECKING:
    from forensics.report.model import Report
    from forensics.report.page.scene import Overlap, Row, Scene, Trouble
    from forensics.wording.formats import Clock

T = TypeVar("T")

#: The characters of cells; if several share a cell, the last of these is drawn. All can be distinguished without colour.
POSSIBLE, CERTAIN = "░", "█"
#: In a lane: its owner was frozen. In the row of a cause: the cause may have lasted, certainly lasted; a member was evicted, a process died.
FROZEN, CAUSE_POSSIBLE, CAUSE, EVICTED, DIED = "-", "~", "=", "E", "D"
BOTH_POSSIBLE, BOTH_THERE, BOTH_AT_WORK = "?", "x", "X"
_REBALANCE = "▒"
_LEGEND = (
    f"{CERTAIN} certainly owned, {POSSIBLE} possibly; two owners: {BOTH_AT_WORK} both certainly working, {BOTH_THERE} both certainly present, "
    f"{BOTH_POSSIBLE} possibly. {_REBALANCE} rebalance; numbers are generations, … is one that had not ended."
)
_CAUSES = f"Cause of an incident: {CAUSE} certain, {CAUSE_POSSIBLE} possible; {EVICTED} a member was evicted, {DIED} a process died; {FROZEN} the owner was frozen."
#: Maximum resources of a group; those with two owners are always drawn.
_RESOURCES = 30
_GENERATIONS = 25
_MIN_CELLS = 20
_TWICE = "overlap"
_MAX_CAUSES = 6


def compose(report: Report, width: int, resources: Sequence[str] = (), more: CaseRows | None = None) -> Document:
    """Return the timelines of a report's groups.

    Args:
        report: what was found in the selected groups and time.
        width: the width of the page, in columns.
        resources: draw only these; empty: all.
        more: each recurrence of a cause, and evictions; without it, an incident is drawn as one interval.

    Raises:
        UsageError: there is no such resource.
    """
    names, clock, reference = Names(report), content.clock(report), report.reference
    scene, styles = _scene(report, names, more)
    for wanted in resources:
        if wanted not in (known := sorted({row.resource for row in scene.rows})):
            fix = did_you_mean(wanted, known, f"The resources: {', '.join(known[:40]) or 'none'}.")
            raise UsageError(f"No resource `{wanted}` had an owner in the selected time and groups.", where="--resource", fix=fix)
    out = Document()
    out.add(Heading(1, "Timeline"), Para(content.case_line(report)))
    if window := content.window_line(report):
        out.add(Para(window, tone="dim"))
    if not scene.rows and not scene.rounds:
        out.add(Para("The logs show neither generations nor owners.", tone="warn"))
        return out
    on = f", all on the clock of {names.process(next(iter(reference.islands)))}" if len(reference.islands) == 1 else ""
    out.add(Para(f"From {clock.at(_moment(scene.first))} to {clock.at(_moment(scene.last))}{on}. {_LEGEND}", tone="dim"))
    if scene.troubles or scene.marks:
        out.add(Para(_CAUSES, tone="dim"))
    if len(reference.islands) > 1:
        out.add(
            Para(
                f"Clocks form {len(reference.islands)} groups that no message connects: do not compare lanes of one with lanes of another.",
                tone="warn",
            )
        )
    drawn = _Drawn(scene, styles, clock, width - 2, resources)
    for number, group_id in enumerate(scene.groups):
        _group(out, drawn, number, group_id)
    for sentence in scene.left_out:
        out.add(Para(f"Not drawn: {sentence}.", tone="warn"))
    return out


def listed(report: Report, process: str = "", more: CaseRows | None = None) -> Document:
    """Return what `compose` draws as a table in time order.

    Args:
        report: what was found in the selected groups and time.
        process: only this process, by its name or ID, and the generations of the groups in which it owned something; empty: all.
        more: as for `compose`.

    Raises:
        UsageError: there is no such process.
    """
    names, clock = Names(report), content.clock(report)
    scene, styles = _scene(report, names, more)
    mine = {s.number for s in styles.all if process in ("", s.name, s.process_id)}
    if process and not mine:
        known = [s.name for s in styles.all]
        raise UsageError(
            f"The case has no process `{process}`.", where="process", fix=did_you_mean(process, known, f"Its processes: {', '.join(known[:40])}.")
        )

    def owner(number: int) -> str:
        return styles.all[number].name if number >= 0 else "an unknown process"

    def between(lo: float, hi: float) -> str:
        return clock.between(_moment(lo), _moment(hi))

    rows: list[tuple[float, tuple[str, ...]]] = []
    for t in scene.troubles:
        if not process or t.process in mine:
            end = "the logs do not show its end" if t.open else between(t.stop_lo, t.stop_hi)
            rows.append((t.start_lo, (between(t.start_lo, t.start_hi), end, "", f"{t.severity} cause: {t.label}", "")))
    for m in scene.marks:
        if not process or m.process in mine:
            rows.append((m.at, (clock.at(_moment(m.at)), "", scene.groups[m.group] if m.group >= 0 else "", m.label, "")))
    groups = {scene.rows[b.row].group for b in scene.bars if b.process in mine}
    for r in scene.rounds:
        if not process or r.group in groups:
            settled = "" if r.settled is None else clock.at(_moment(r.settled))
            rows.append((r.start_lo, (between(r.start_lo, r.start_hi), settled, scene.groups[r.group], f"generation {r.number}: {r.why}", "")))
    for b in scene.bars:
        if not process or b.process in mine:
            row = scene.rows[b.row]
            begin = "before the log" if b.open_start else between(b.start_lo, b.start_hi)
            end = "the logs do not show its end" if b.open_end else between(b.stop_lo, b.stop_hi)
            what = f"{owner(b.process)} owned {row.kind} {row.resource}" + (f", assigned in generation {b.generation}" if b.generation else "")
            rows.append((b.start_lo, (begin, end, scene.groups[row.group], what, b.ownership_id)))
    for o in scene.overlaps:
        if not process or mine.intersection(o.processes):
            row = scene.rows[o.row]
            what = f"TWO OWNERS ({o.verdict}): {' and '.join(map(owner, o.processes))} both had {row.kind} {row.resource}: {o.label}"
            rows.append((o.possible[0], (*(clock.at(_moment(at)) for at in o.possible), scene.groups[row.group], what, "")))
    rows.sort()
    out = Document()
    out.add(Heading(1, "Timeline"), Para(content.case_line(report)))
    if window := content.window_line(report):
        out.add(Para(window, tone="dim"))
    if not rows:
        out.add(Para("The logs show neither generations nor owners here.", tone="warn"))
        return out
    columns = (Column("from", fixed=True), Column("to", fixed=True), Column("group"), Column("what"), Column("id", fixed=True))
    out.add(Table(columns, tuple(row for _, row in rows)))
    for sentence in scene.left_out:
        out.add(Para(f"Not listed: {sentence}.", tone="warn"))
    return out


def _scene(report: Report, names: Names, more: CaseRows | None) -> tuple[Scene, ProcessStyles]:
    styles = ProcessStyles(report, names)
    return build.build(report, more or CaseRows(), names, styles, report.reference), styles


def _moment(ms: float) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _grouped(things: Iterable[T], key: Callable[[T], object]) -> dict[object, list[T]]:
    """Return things by a key, in their order."""
    found: dict[object, list[T]] = {}
    for thing in things:
        found.setdefault(key(thing), []).append(thing)
    return found


class _Drawn:
    """A scene and its columns on the terminal."""

    def __init__(self, scene: Scene, styles: ProcessStyles, clock: Clock, width: int, resources: Sequence[str]) -> None:
        self.scene, self.styles, self.clock, self.resources = scene, styles, clock, resources
        widest = max([len(_TWICE), *(len(self.owner(b.process)) for b in scene.bars)])
        labels = [len(row.resource) + 1 + widest for row in scene.rows]
        labels += [len(t.label) + 1 for t in scene.troubles if t.severity != "note"]
        # Names may take half the width, because truncated names can be ambiguous.
        self.label = max(10, min(width // 2, max(labels, default=10) + 1))
        self.cells = max(_MIN_CELLS, width - self.label)
        self.rows_of = _grouped(enumerate(scene.rows), lambda numbered: numbered[1].group)
        self.rounds_of = _grouped(scene.rounds, lambda r: r.group)
        self.marks_of = _grouped(scene.marks, lambda m: m.group)
        self.states_of = _grouped(scene.states, lambda s: scene.tracks[s.track].group)
        self.bars_of = _grouped(scene.bars, lambda b: b.row)
        self.freezes_of = _grouped((t for t in scene.troubles if t.froze), lambda t: t.process)
        self.overlaps_of = _grouped(scene.overlaps, lambda o: o.row)
        # What every group has in common is drawn once.
        self.causes = tuple(_causes(self, list(_grouped((t for t in scene.troubles if t.severity != "note"), lambda t: t.anchor).values())))
        self.deaths = sorted(self.marks_of.pop(-1, ()), key=lambda m: (m.at, m.label))
        self.died = {m.label for m in self.deaths}
        self.died_at = {self.cell(m.at): m.at for m in self.deaths}

    def owner(self, process: int) -> str:
        """Return a process's name."""
        return self.styles.all[process].name if process >= 0 else "?"

    def cell(self, at: float) -> int:
        """Return the column of a moment."""
        part = (at - self.scene.first) / (self.scene.last - self.scene.first)
        return min(self.cells - 1, max(0, int(part * self.cells)))

    def paint(self, cells: list[str], begin: float, end: float, sign: str) -> None:
        """Put a sign into each cell that an interval overlaps; nothing outside the picture."""
        if end < self.scene.first or begin > self.scene.last or end < begin:
            return
        for n in range(self.cell(begin), self.cell(end) + 1):
            cells[n] = sign

    def blank(self) -> list[str]:
        """Return an empty lane."""
        return [" "] * self.cells

    def line(self, label: str, cells: Iterable[str], tone: Tone = "") -> tuple[str, Tone]:
        """Return a line of the drawing; a label that is too long is shortened in the middle."""
        room = self.label - 1
        shown = label if len(label) <= room else f"{label[: room // 2]}…{label[len(label) - (room - room // 2 - 1) :]}"
        return (f"{shown:<{self.label}}{''.join(cells)}".rstrip(), tone)


def _group(out: Document, drawn: _Drawn, number: int, group_id: str) -> None:
    rows = [(n, row) for n, row in drawn.rows_of.get(number, ()) if not drawn.resources or row.resource in drawn.resources]
    rounds = [r for r in drawn.rounds_of.get(number, ()) if r.end >= drawn.scene.first and r.start_lo <= drawn.scene.last]
    if not rows and (not rounds or drawn.resources):
        return
    out.add(Heading(2, f"Group {group_id}"))
    shown = [r for r in rows if r[1].overlaps] + [r for r in rows if not r[1].overlaps][: max(0, _RESOURCES - sum(r[1].overlaps for r in rows))]
    lines = [*_axis(drawn), *drawn.causes, *_marks(drawn, number), *_rounds(drawn, number)]
    for n, row in shown:
        lines += _lanes(drawn, n, row)
    out.add(Drawing(tuple(lines)))
    if len(shown) < len(rows):
        out.add(Para(f"… and {count(len(rows) - len(shown), 'more resource')} without two owners; `--resource NAME` draws one.", tone="dim"))
    kept = {n for n, _ in shown}
    doubled = sorted(
        (o for n in sorted(kept) for o in drawn.overlaps_of.get(n, ())), key=lambda o: (o.verdict != "proved", o.work is None, o.possible)
    )
    if doubled:
        out.add(_doubled(drawn, doubled))
    if rounds:
        listed = rounds[-_GENERATIONS:]
        if len(listed) < len(rounds):
            out.add(Para(f"The last {len(listed)} of {len(rounds):,} generations; select others with --since and --until:", tone="dim"))
        columns = (Column("gen.", right=True, fixed=True), Column("began", fixed=True), Column("why"))
        out.add(Table(columns, tuple((str(r.number), drawn.clock.between(_moment(r.start_lo), _moment(r.start_hi)), r.why) for r in listed)))


def _axis(drawn: _Drawn) -> Iterator[tuple[str, Tone]]:
    """Yield times above their ticks, to the second, or finer if the picture covers a short time."""
    cells, ticks = drawn.blank(), drawn.blank()
    fine = drawn.scene.last - drawn.scene.first < 1000 * drawn.cells / 10
    step = max(14 if fine else 10, 1) + (11 if drawn.clock.day is None else 0)
    for at in range(0, drawn.cells - step + 2, step + 2):
        moment = drawn.scene.first + (drawn.scene.last - drawn.scene.first) * at / drawn.cells
        text = drawn.clock.at(_moment(moment))
        for n, sign in enumerate(text if fine else text[:-4]):
            if at + n < drawn.cells:
                cells[at + n] = sign
        ticks[at] = "┬"
    yield drawn.line("", cells, "dim")
    yield drawn.line("", [sign if sign != " " else "─" for sign in ticks], "dim")


def _causes(drawn: _Drawn, causes: Sequence[Sequence[Trouble]]) -> Iterator[tuple[str, Tone]]:
    """Yield a row for each cause above a note, with its repeats in the same row."""
    for same in causes[:_MAX_CAUSES]:
        cells = drawn.blank()
        for t in same:
            drawn.paint(cells, t.start_lo, t.stop_hi, CAUSE_POSSIBLE)
        for t in same:
            if t.stop_lo > t.start_hi or t.is_moment:
                drawn.paint(cells, t.start_hi, t.stop_lo, CAUSE)
        yield drawn.line(same[0].label, cells, "bad" if same[0].severity == "critical" else "warn")
    if len(causes) > _MAX_CAUSES:
        yield drawn.line(f"… {count(len(causes) - _MAX_CAUSES, 'more cause')}", drawn.blank(), "dim")


def _marks(drawn: _Drawn, group: int) -> Iterator[tuple[str, Tone]]:
    """Yield a row of the evictions from a group and of all deaths; in a cell, the last of them."""
    evictions = drawn.marks_of.get(group, ())
    if not evictions and not drawn.deaths:
        return
    cells = drawn.blank()
    for cell in drawn.died_at:
        cells[cell] = DIED
    for m in evictions:
        if m.at >= drawn.died_at.get(drawn.cell(m.at), m.at):
            cells[drawn.cell(m.at)] = EVICTED
    who = {m.label for m in (*drawn.deaths[:1], *evictions)}
    is_one = len(who) == 1 and len(drawn.died) < 2
    yield drawn.line(who.pop() if is_one else "evicted, died", cells, "bad")


def _rounds(drawn: _Drawn, group: int) -> Iterator[tuple[str, Tone]]:
    """Yield rebalances as grey intervals, with the number of the generation that each one ended in, if there is space."""
    cells, free = drawn.blank(), 0
    numbers = []
    for r in drawn.rounds_of.get(group, ()):
        if r.end < drawn.scene.first or r.start_lo > drawn.scene.last:
            continue
        drawn.paint(cells, r.start_lo, r.settled if r.settled is not None else r.start_hi, _REBALANCE)
        numbers.append((drawn.cell(r.start_lo), str(r.number)))
    for state in drawn.states_of.get(group, ()):
        is_here = state.end >= drawn.scene.first and state.begin <= drawn.scene.last
        if state.kind == "rebalance" and state.open and is_here:
            drawn.paint(cells, state.begin, state.end, _REBALANCE)
            numbers.append((drawn.cell(state.begin), "…"))
    marks = drawn.blank()
    for at, text in numbers:
        if at >= free and at + len(text) <= drawn.cells:
            marks[at : at + len(text)] = text
            free = at + len(text) + 1
    if numbers:
        yield drawn.line("generation", marks)
        yield drawn.line("rebalance", cells, "dim")


def _lanes(drawn: _Drawn, number: int, row: Row) -> Iterator[tuple[str, Tone]]:
    bars = drawn.bars_of.get(number, [])
    named = False
    for lane in sorted({b.lane for b in bars}):
        mine = sorted((b for b in bars if b.lane == lane), key=lambda b: b.start_lo)
        cells = drawn.blank()
        for b in mine:
            drawn.paint(cells, b.start_lo, b.stop_hi, POSSIBLE)
        for b in mine:
            freezes = drawn.freezes_of.get(b.process, ()) if b.process >= 0 else ()
            for begin, end, frozen in parts(b.start_hi, b.stop_lo, freezes):
                drawn.paint(cells, begin, end, (CERTAIN, CERTAIN, FROZEN)[frozen])
        owners = list(dict.fromkeys(drawn.owner(b.process) for b in mine))
        yield drawn.line(f"{'' if named else row.resource:<{_name_width(drawn, row)}} {owners[0] if len(owners) == 1 else 'several'}", cells)
        named = True
    doubled = drawn.overlaps_of.get(number, [])
    if doubled:
        cells = drawn.blank()
        for sign, spans in (
            (BOTH_POSSIBLE, [o.possible for o in doubled]),
            (BOTH_THERE, [o.there for o in doubled if o.there]),
            (BOTH_AT_WORK, [o.work for o in doubled if o.work]),
        ):
            for begin, end in spans:
                drawn.paint(cells, begin, end, sign)
        yield drawn.line(
            f"{'' if named else row.resource:<{_name_width(drawn, row)}} {_TWICE}", cells, "bad" if any(o.work for o in doubled) else "warn"
        )


def _name_width(drawn: _Drawn, row: Row) -> int:
    """Return the width of the column of resource names, which aligns their owners."""
    longest = max(len(r.resource) for _, r in drawn.rows_of[row.group])
    return min(longest, drawn.label - len(_TWICE) - 2)


def _doubled(drawn: _Drawn, overlaps: Sequence[Overlap]) -> Table:
    columns = (Column("overlap", fixed=True), Column("by"), Column("from", fixed=True), Column("what is proved, and what is possible"))
    rows = []
    for o in overlaps:
        owners = " and ".join(drawn.owner(p) for p in o.processes)
        rows.append((drawn.scene.rows[o.row].resource, owners, drawn.clock.at(_moment(o.possible[0])), o.label))
    return Table(columns, tuple(rows), {n: "bad" if o.work else "warn" for n, o in enumerate(overlaps)})

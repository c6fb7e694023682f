"""Describe coordinator episodes, clocks, and what the logs do not show: without the last, "none found" would mean nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from forensics.examination.examined import unread
from forensics.logs import coverage_kinds
from forensics.report.document import Block, Column, Para, Table, Tone
from forensics.report.examined import UNCUT, undated
from forensics.wording.formats import Clock, and_more, bounded, count, joined, short_member, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from forensics.report.model import Report, Row
    from forensics.report.names import Names

_ROWS = 30
#: A member often receives the address of a failed coordinator and loses it again; within this time, that is not a new outage.
_SOON = timedelta(seconds=10)
#: Who else had no coordinator at that time, by the scope of a loss, the widest first.
_SCOPES = {"broker": "members of other groups", "group": "others of the group", "member": "no other in these logs"}
_MEMBERS_IN_WORDS = 3
_HOSTS_IN_WORDS = 2
#: Evidence that would settle a pair, by the codes of `split_brain.missing`, and the process whose log has it.
ENDS = (("end_of_a", "process_a"), ("end_of_b", "process_b"), ("sign_of_b", "process_b"))
#: Words for skipped files, singular and plural.
_SKIPPED = {
    "binary": ("is binary", "are binary"),
    "empty": ("is empty", "are empty"),
    "no line looks like a log record": ("has no line that looks like a log record", "have no line that looks like a log record"),
}


def episodes(report: Report, names: Names, clock: Clock) -> list[Block]:
    """Return the periods in which processes had no coordinator of a group, the longest first. Losses within seconds of each other are one row."""
    rows = list(_outages(report.coordinator_episodes))
    if not rows:
        return []
    joins: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for share in (share for group in report.groups for share in group["member_generations"]):
        if share.get("joined_ts"):
            joins[share["group_id"], share["process_id"]].append(share["joined_ts"])
    shown = sorted(rows, key=lambda o: -o.lasted)[:_ROWS]
    shown.sort(key=lambda o: (o.first["lost_ts"] is None, o.first["lost_lo"] or o.first["lost_ts"]))
    cells = tuple(
        (
            o.first["group_id"] or "?",
            names.process(o.first["process_id"]),
            # On the reference clock, as far as the clocks compare.
            clock.between(o.first["lost_lo"], o.first["lost_hi"]) if o.first["lost_lo"] and o.first["lost_hi"] else clock.at(o.first["lost_ts"]),
            _lasted(o, joins.get((o.first["group_id"], o.first["process_id"]), ())),
            f"{o.losses:,}",
            o.first["cause"] or "not logged",
            next((who for scope, who in _SCOPES.items() if scope in o.scopes), "?"),
        )
        for o in shown
    )
    columns = tuple(
        Column(name, right=name in ("for", "times"), fixed=name in ("who", "lost at"))
        for name in ("group", "who", "lost at", "for", "times", "cause", "who else")
    )
    blocks: list[Block] = [Table(columns, cells)]
    if len(rows) > _ROWS:
        blocks.append(Para(f"The longest {_ROWS} of {len(rows):,}; each loss: `forensics sql coordinator_episode`.", tone="dim"))
    return blocks


def _lasted(outage: _Outage, joins: Iterable[datetime]) -> str:
    """Return the length of an outage; if its clients were closed, another member of the process that joined had found the coordinator by then."""
    if outage.is_doubted:
        return "?"
    if outage.until is not None:
        return span(outage.lasted)
    lost = outage.first["lost_ts"]
    back = min((at for at in joins if at > lost), default=None)
    return f"≤ {span((back - lost).total_seconds() * 1000, up=True)}" if back else "not found again"


@dataclass
class _Outage:
    """Losses of a group's coordinator in one process, until the last one was over: until any of its clients had found a coordinator again."""

    first: Row
    until: datetime | None
    losses: int
    scopes: set[str | None]
    is_doubted: bool

    @property
    def lasted(self) -> float:
        """Return milliseconds; infinite if no line shows the end."""
        return float("inf") if self.until is None else (self.until - self.first["lost_ts"]).total_seconds() * 1000


def _outages(rows: Iterable[Row]) -> Iterator[_Outage]:
    """Merge rows of `coordinator_episode` of clients of one process that follow each other closely."""
    of: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["lost_ts"]:
            of[row.get("kafka_cluster") or "", row["group_id"] or "", row["process_id"] or ""].append(row)
        else:  # a log without times
            yield _Outage(row, None, row.get("losses") or 1, {row["scope"]}, is_doubted=True)
    for mine in of.values():
        now: _Outage | None = None
        for row in sorted(mine, key=lambda r: r["lost_ts"]):
            if now is None or now.until is not None and row["lost_ts"] - now.until > _SOON:
                if now is not None:
                    yield now
                now = _Outage(row, row["found_ts"], 0, set(), is_doubted=False)
            elif row["found_ts"]:
                now.until = max(now.until or row["found_ts"], row["found_ts"])
            now.losses += row.get("losses") or 1
            now.scopes.add(row["scope"])
            now.is_doubted |= row["found_ts"] is not None and row["duration_ms"] is None
        if now is not None:
            yield now


def clocks(report: Report, names: Names) -> list[Block]:
    """Return how far clocks were apart, according to the causality of messages, and which processes have no common clock."""
    references = {p["process_id"]: p["reference_process_id"] for p in report.case["processes"]}
    rows = [c for c in report.clocks if c["process_id"] != c["reference_process_id"] == references.get(c["process_id"])]
    cells = tuple(
        (
            names.process(c["process_id"]),
            bounded(c["lo_ms"], c["hi_ms"]),
            names.process(c["reference_process_id"]),
            f"{c['constraints']:,}" if c["constraints"] is not None else "?",
            "; ".join(["no steady offset"] * bool(c["stepped"]) + ["a wrong time zone?"] * bool(c["suspect_time_zone"])),
        )
        for c in rows
    )
    blocks: list[Block] = []
    if cells:
        columns = (
            Column("clock of", fixed=True),
            Column("ahead by", right=True, fixed=True),
            Column("of", fixed=True),
            Column("messages", right=True),
            Column(""),
        )
        blocks.append(Table(columns, cells[:_ROWS]))
        if len(cells) > _ROWS:
            blocks.append(Para(f"… and {len(cells) - _ROWS} more: `forensics sql clock_offset`.", tone="dim"))
    islands: dict[str, list[str]] = defaultdict(list)
    for p in report.case["processes"]:
        islands[str(p["clock_island"])].append(names.process(p["process_id"]))
    if len(islands) > 1:
        parts = "; ".join(", ".join(sorted(members)) for members in list(islands.values())[:10])
        blocks.append(
            Para(
                f"The clocks form {len(islands)} groups, and nothing in the logs ties one group to another: {parts}{'; …' if len(islands) > 10 else ''}. "
                "Times in different groups are not compared: across them, verdicts rest on the order of messages and of generations alone.",
                tone="warn",
            )
        )
    return blocks


def section(report: Report, names: Names, clock: Clock) -> list[Block]:
    """Describe what was not seen: missing logs, gaps, unread evidence, unrecognised records, assumed time zones."""
    blocks: list[Block] = []
    blocks += _notes(report, names, "", "bad")
    blocks += _missing([c for c in report.coverage if c["kind"] == "missing_process"], clock)
    if ended := end_too_soon(report):
        logs = [names.process(process) for process in ended[:_ROWS]] + [f"{len(ended) - _ROWS} more"] * (len(ended) > _ROWS)
        whose, end = ("The log", "ends") if len(ended) == 1 else ("The logs", "end")
        blocks.append(Para(f"{whose} of {joined(logs)} {end} too early to settle all pairs of owners.", tone="warn"))
    not_read = unread_files(report)
    for f in not_read[:_ROWS]:
        what = "Not read" if f["status"] == "unreadable" else "Partly read"
        blocks.append(Para(f"{what}: {f['path']}: {f['note'] or 'no reason recorded'}.", tone="bad"))
    for c in [c for c in report.coverage if c["kind"] == "unreadable" and not not_read][:_ROWS]:
        blocks.append(Para(f"Not read: {c['process_id'] or '?'}: {c['note'] or 'no reason recorded'}.", tone="bad"))
    blocks += [*_notes(report, names, "Left out of ", "bad"), *_notes(report, names, "Not distinguished in ", "warn")]
    if cut := [c for c in report.coverage if c["kind"] == "cut_lines"]:
        whose = and_more([names.process(c["process_id"]) for c in cut], _ROWS)
        many = count(sum(c["facts"]["line_count"] for c in cut), "line")
        text = f"The lines of {whose} are truncated: {many} with different messages end at the same length within {'their log' if len(cut) > 1 else 'it'}"
        blocks.append(Para(f"{text} and are not recognised; the text after the cut is lost. {UNCUT}", tone="bad"))
    blocks += _notes(report, names, "", "")
    kinds = coverage_kinds.gaps()
    gaps = [c for c in report.coverage if c["kind"] in kinds]
    if gaps:
        shown = sorted(gaps, key=lambda c: kinds.index(c["kind"]))[:_ROWS]
        cells = tuple(
            (
                names.process(c["process_id"]),
                coverage_kinds.of(c).gap,
                clock.at(c["from_ts"]),
                "" if c["to_ts"] == c["from_ts"] else clock.at(c["to_ts"]),
                _length(c),
                c["note"] or "",
            )
            for c in shown
        )
        columns = tuple(
            Column(name, right=name == "for", fixed=name in ("log of", "from", "to")) for name in ("log of", "", "from", "to", "for", "note")
        )
        blocks.append(Table(columns, cells))
        if len(gaps) > len(shown):
            blocks.append(Para(f"… and {len(gaps) - len(shown)} more; all: `forensics sql coverage`.", tone="dim"))
    blocks += _reading(report)
    return blocks


def _notes(report: Report, names: Names, before: str, severity: Tone) -> Iterator[Block]:
    """Yield the sentences of the rows of `coverage` that have these words before the process, and limit the answer as much."""
    kinds = [(c, coverage_kinds.of(c)) for c in report.coverage]
    rows = [c for c, kind in kinds if kind.note and (kind.before, kind.severity) == (before, severity)]
    for c in rows[:_ROWS]:
        yield Para(f"{before}{names.process(c['process_id'])}: {c['note']}.", tone=severity)


def unread_files(report: Report) -> list[Row]:
    """Return the rows of the files that could not be read, or not completely."""
    return unread(report.case["source_files"])


def end_too_soon(report: Report) -> list[str]:
    """Return the logs whose later lines would settle undecided pairs of owners."""
    undecided = [s for s in report.split_brain if s["verdict"] == "undecided"]
    return sorted({s[process] for s in undecided for what, process in ENDS if what in ((s.get("facts") or {}).get("evidence") or ())})


def lacks_lines(c: Row) -> bool:
    """Return True if the coordinator has a log that lacks only some of the group's generations."""
    facts = c.get("facts") or {}
    return (facts.get("generations") or 0) < (facts.get("all_generations") or 0)


def was_loaded(c: Row) -> bool:
    """Return True if a broker's log shows that it coordinates the group from the end of that time on."""
    return bool(c.get("to_ts") and (c.get("facts") or {}).get("loaded_by"))


def _missing(rows: list[Row], clock: Clock) -> list[Block]:
    """List members and coordinators that others name and whose logs are missing; many members as a table."""
    blocks: list[Block] = []
    members = [c for c in rows if coverage_kinds.is_missing_member(c)]
    for c in [c for c in rows if not coverage_kinds.is_missing_member(c)][:_ROWS]:
        name = c["process_id"] or "a process"
        text = f"No log of {name}: {c['note'] or 'others name it'}."
        if coverage_kinds.is_missing_coordinator(c):
            what, verb = ("Lines of the coordinator's log", "are") if lacks_lines(c) else ("The coordinator's log", "is")
            text = f"{what} for {coverage_kinds.group_of(c)} {verb} missing: {c['note']}."
        blocks.append(Para(text, tone="warn"))
    cells = [(*_who(c), (c.get("facts") or {}).get("group_id") or "", clock.at(c["from_ts"]), clock.at(c["to_ts"])) for c in members]
    if len(cells) <= _MEMBERS_IN_WORDS:
        for (name, host, group, *_), number in zip(cells, map(coverage_kinds.members, members), strict=True):
            where = ", ".join([f"at {host}"] * bool(host) + [f"group {group}"] * bool(group))
            who, ids = ("A member named", "appears only in other processes' lines; no log has a line with its id") if number == 1 else (
                f"{number:,} members named", "appear only in other processes' lines; no log has a line with their ids"
            )  # fmt: skip
            blocks.append(Para(f"{who} {name} {f'({where}) ' if where else ''}{ids}.", tone="warn"))
    else:
        total = sum(map(coverage_kinds.members, members))
        blocks.append(Para(f"{total:,} members appear only in other processes' lines; no log has lines with their ids:", tone="warn"))
        columns = (Column("member"), Column("at"), Column("group"), Column("named from", fixed=True), Column("to", fixed=True))
        blocks.append(Table(columns, tuple(cells[:_ROWS])))
    if (more := len(rows) - len(members) - _ROWS) > 0 or (more := len(members) - _ROWS) > 0:
        blocks.append(Para(f"… and {more:,} more; all: `forensics sql coverage`.", tone="warn"))
    return blocks


def at_hosts(coverage: Iterable[Row]) -> str:
    """Return the hosts of the members without lines, as ` at 10.0.0.1`; empty if there are many, or if they are unknown."""
    hosts = {_who(c)[1] for c in coverage if coverage_kinds.is_missing_member(c)}
    return f" at {joined(sorted(hosts))}" if 0 < len(hosts) <= _HOSTS_IN_WORDS and all(hosts) else ""


def _who(c: Row) -> tuple[str, str]:
    """Return name and host of a member without lines; no host if it is unknown."""
    name, _, host = coverage_kinds.member_of(c).partition(" at ")
    return short_member(name), host.removeprefix("/")


def _length(c: Row) -> str:
    """Return the length of a silence. Missing lines are somewhere between two lines, for at most that long."""
    if c["to_ts"] == c["from_ts"] or not coverage_kinds.is_silence(c):
        return ""
    return span((c["to_ts"] - c["from_ts"]).total_seconds() * 1000) if c["from_ts"] and c["to_ts"] else "?"


def _why_skipped(notes: Counter[str]) -> str:
    """Return a sentence such as `4 files were skipped because they look like JSON.`, or the number for each reason."""
    head = f"{count(notes.total(), 'file')} {'was' if notes.total() == 1 else 'were'} skipped"
    if len(notes) == 1:
        ((note, number),) = notes.items()
        return f"{head} because {'it' if number == 1 else 'they'} {_is(note, number)}."
    why = ", ".join(f"{n:,} {_is(note, n)}" for note, n in notes.most_common(4)) + (", …" if len(notes) > 4 else "")
    return f"{head}: {why}."


def _is(note: str, number: int) -> str:
    if note in _SKIPPED:
        return _SKIPPED[note][number > 1]
    if note.startswith("same content as "):
        return f"{'is' if number == 1 else 'are'} a copy of {note.removeprefix('same content as ')}"
    if note.startswith("the beginning of "):
        return f"{'is an earlier copy' if number == 1 else 'are earlier copies'} of {note.removeprefix('the beginning of ')}"
    if note.startswith("looks like "):
        return note if number == 1 else f"look {note.removeprefix('looks ')}"
    return f"{'is' if number == 1 else 'are'} no log ({note})"


def _some(paths: Sequence[str]) -> str:
    """Return the first of some files."""
    return ", ".join(paths[:5]) + (", …" if len(paths) > 5 else "")


def _reading(report: Report) -> list[Block]:
    files = [f for f in report.case["source_files"] if f.get("status", "read") == "read"]
    records = sum(f["records"] or 0 for f in files)
    unknown = sum(f["unrecognised"] or 0 for f in files)
    events = sum(f["events"] or 0 for f in files)
    blocks: list[Block] = []
    if records:
        share = 100 * unknown / records
        blocks.append(
            Para(
                f"{count(records, 'record')} read, {count(events, 'event')} recognised; "
                + (
                    f"{count(unknown, 'line')} of group-related loggers ({share:.1f} %) {'was' if unknown == 1 else 'were'} not recognised: "
                    "`forensics sql unrecognised`."
                    if unknown
                    else "every line of a group-related logger was recognised."
                    if events
                    else "none is from a logger about groups."
                ),
                tone="warn" if share > 5 else "dim",
            )
        )
    silent = [f["path"] for f in files if f["records"] == 0 and (f["lines"] or 0) > 0]
    if silent:
        blocks.append(Para(f"No layout fits any line of {_some(silent)}: describe it with `--layout`.", tone="bad"))
    skipped = Counter(f["note"] or "no log" for f in report.case["source_files"] if f.get("status") == "skipped")
    if skipped:
        blocks.append(Para(_why_skipped(skipped), tone="dim"))
    if without := undated(report):
        text = f"No line of {_some(without)} has both date and time, so only the order of its lines is known, not when they were written."
        blocks.append(Para(f"{text} Log both, for example with `%d{{ISO8601}}`.", tone="bad"))
    blocks += _collected(Counter(f.get("time_by") for f in files))
    zones = Counter(f["time_zone"] for f in files if f.get("time_zone_how") == "assumed" and f.get("first_ts") is not None)
    for zone, n in zones.items():
        text = f"{count(n, 'file')} {'has' if n == 1 else 'have'} no time zone; assumed {zone}. If that is wrong, ingest again with `--time-zone`."
        blocks.append(Para(text, tone="dim"))
    return blocks


def _collected(by: Counter[str | None]) -> Iterator[Block]:
    """Describe the limits of times that a collector printed."""
    if n := by["collector"] + by["collector_no_year"]:
        text = "have no time of their own: the collector's time is used, assumed to be less than a second late."
        yield Para(f"The lines of {count(n, 'file')} {text}", tone="dim")
    if n := by["collector_no_year"] + by["log_no_year"]:
        text = "have no year, or no date: the last one before the file was changed is assumed. If that is wrong, correct the file's date (`touch -d`) and ingest again."
        yield Para(f"The times of {count(n, 'file')} {text}", tone="dim")

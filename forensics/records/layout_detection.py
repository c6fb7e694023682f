"""Determine the `Profile` of a file from its beginning: its wrappers, colours, JSON and times, and whether it is a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, timedelta
from io import BytesIO
from itertools import islice, pairwise

from forensics.records.exports import layout_of_export
from forensics.records.filtered_lines import common_literal, filtered_by
from forensics.records.json_documents import Document, Path, document_path, last_records
from forensics.records.kafka_words import kafka_words
from forensics.records.layout_inference import Failed, infer, learned_name
from forensics.records.layouts import (
    BrokenJson,
    JsonKeys,
    Layout,
    Layouts,
    Wrapper,
    frame_width,
    has_colours,
    has_entities,
    has_export_times,
    read_entities,
    read_json,
    read_json_as_far,
    strip_colours,
    without_export_time,
    without_frame,
)
from forensics.records.line_reader import (
    KEY_A_ROW,
    Assembler,
    ObjectRows,
    PlacedRecord,
    Profile,
    RecordReader,
    begins_record,
    decode,
    has_joined_records,
    joined_records,
    read_records,
)
from forensics.records.timestamps import COLLECTED_LATE, QUARTER, SECOND, Moment, day_of, offset_beside, offset_name

#: Size of the part at a file's beginning that is examined.
SAMPLE_BYTES = 256 * 1024
_MAX_LINES = 2_000
#: Layouts of a JVM's GC log, whose times have an offset from UTC, also among lines of the program without one.
GC_LAYOUTS = ("gc pause", "gc safepoint", "gc stopped", "gc stopped, jdk 8", "gc pause, jdk 8", "gc beside, jdk 8", "gc collection, jdk 8", "gc")
_HAS_COLLECTIONS = re.compile(rb"\] GC\(\d|\[gc|: \[(?:Full )?GC|: \[Pause |application threads were stopped")
_MAX_LAST = 500
_COMMON = 0.05
_DEPTH = 3
_MOSTLY = 0.6
_FEW = 0.1
#: If there are many lines, this many samples of this many lines are examined first; if these have few unexplained lines, the rest is skipped.
_SAMPLES, _SAMPLE_LINES = 8, 50
_HARDLY = 0.02
_LOOKS_TIMED = re.compile(r"[^ \ta-z]?[^ \t]{0,12} ?[^ \t]{0,12}[0-9]{1,2}:[0-9]{2}:[0-9]{2}")
_HAS_CLOCK = re.compile(r".{0,80}[0-9]{1,2}:[0-9]{2}|.{0,40}1[0-9]{9}")
_DIGIT = re.compile("[0-9]")
#: A line that begins with a time of day, as in a log whose times have no date.
_CLOCK_FIRST = re.compile(r"\[?[0-9]{1,2}:[0-9]{2}:[0-9]{2}\b")
#: A class after a key, among the first keys of a record whose layout has no place for a logger: Java's logging in the form of keys and values.
_KEY_OF_CLASS = re.compile(r"(?:[\w.]{1,30}=[^ =]{1,60} ){0,3}[\w.]{1,30}=[a-z][\w$]{0,60}(?:\.[\w$]{1,60}){2,8}(?::[0-9?]{1,6})?(?= |$)")
_MAX_TIMES = 400
_FEWEST_TIMES = 5
#: A time of day that falls by more is of the next day.
_HALF_A_DAY = 12 * 3600 * SECOND
#: A single file name after other lines may be part of a message.
_FEWEST_FILES = 2
#: No terminal from which a log is copied is narrower; and this many lines of equal length are not a coincidence.
_NARROWEST, _FEWEST_FOLDED = 60, 8
#: So many objects that are whole with the next line are not a coincidence.
_FEWEST_OBJECTS = 2
#: Last characters of a line that was cut off, which differ from those of others.
_END = 12
#: Names before records are few, or few in relation to the number of records.
_FEWEST_NAMES = 6
#: Share of the lines that have the name of their program before them, in the output of several programs; a few are the collector's own.
_NEARLY = 0.8
#: No name of a program: a level, or a class.
_NO_PROGRAM = re.compile(r"(?i:trace|debug|info|notice|warn|warning|error|fatal|critical)|(?:[a-z][\w]*\.)+[A-Z]\w*|(?:org|io|com|kafka)\..*")
#: Pasted messages, some of them in the marks of Markdown.
_MESSAGES = (
    Layout("message only, marked", "[`*>]{1,3}", tails=("[`*]{1,3}",), untimed=True, nameless=True),
    Layout("message only, after a blank", " ", untimed=True),
    Layout("message only", r"[^ \t\r\n]", untimed=True, whole=True),
)
#: One blank is no indentation.
_INDENTED = re.compile(r"\t| [ \t]")
#: In a year with a 29th of February.
_LAST_OF_A_YEAR = date(2000, 12, 31)
#: Maximum distance between two leap years, for most turns of a century.
_LEAP_YEARS = 8
#: Milliseconds since 1970, as responses of brokers print them; a line has few.
_EPOCH_MS = re.compile(r"(?<![0-9.])1[0-9]{12}(?![0-9])")
_MAX_EPOCHS = 10
#: When a client of Kafka started, which it prints immediately.
_STARTED_MS = re.compile(r"\bKafka startTimeMs: (1[0-9]{12})\b")
#: A log without a year in its times hardly lasts longer.
_LONGEST_LOG = timedelta(days=180)
#: Maximum offset of a zone from UTC.
_MAX_MINUTES = 14 * 60


def profile_of(sample: bytes, layouts: Layouts, tail: bytes = b"", changed: date | None = None, fail: Failed | None = None) -> Profile:
    """Return the profile of a file from its beginning and its end, because a program that has just started prints fewer kinds of lines.

    Args:
        sample: the file's first `SAMPLE_BYTES`, UTF-8; the last line may be truncated.
        layouts: layouts to try.
        tail: the last bytes of a larger file; the first line may be truncated.
        changed: date of the file's last modification, because its times may have no year.
        fail: see `infer`.

    Returns:
        The profile; `fitting` is 0 for a file that is not a log.
    """
    path = document_path(sample, layouts.keys)
    if path is not None and not _row_of_json([decode(raw) for raw in sample.split(b"\n")]):
        return replace(profile_of(_as_lines(sample, path, layouts.keys), layouts, fail=fail), document=path)
    raw_lines = sample.split(b"\n")
    if len(sample) >= SAMPLE_BYTES and len(raw_lines) > 1:
        raw_lines.pop()
    examined = [*raw_lines[: _MAX_LINES - _MAX_LAST], *tail.split(b"\n")[1:][-_MAX_LAST:]]
    joined = _are_joined(examined)
    lines = [t for t in map(decode, _records_in(examined) if joined else examined) if t.strip()]
    colours = has_colours(lines)
    if colours:
        lines = [strip_colours(t) for t in lines]
    width = frame_width(lines)
    if width:
        lines = [u for t in lines if (u := without_frame(t))]
    row = _row_of_json(lines) or _key_a_row(lines, layouts.keys)
    if row:
        lines = list(_whole_objects(lines, row))
    entities = has_entities(lines)
    if entities:
        lines = [read_entities(t) for t in lines]
    headings = _headings(lines, layouts)
    if headings:
        lines = [t for t in lines if layouts.heading(t, headings) is None]
    export = layout_of_export(lines, layouts)
    if export is not None:
        reader = RecordReader(layouts, found := Profile(learned=(export,), lines=len(lines), fitting=len(lines)))
        return replace(found, newest_first=_newest_first(_times_of_records(lines, reader)))
    exported, whole = has_export_times(lines), lines
    if exported:
        lines = [without_export_time(t) for t in lines]
    profile = _profile(lines, layouts, untimed=False)
    if profile.fitting == 0:
        profile = _profile(lines, layouts, untimed=True)
    looked = _LayoutScore.of(_sample(lines), layouts, profile)
    profile = _timed_by_collector(profile, looked, lines, layouts, fail) or _with_learned(profile, looked, lines, layouts, fail)
    if profile.wrappers:  # a line of the collector itself may come later than the sample
        headings = tuple(sorted({*headings, *(h.name for h in layouts.headings if h.alone)}))
    profile = replace(
        profile, headings=headings, colours=colours, framed=width > 0, entities=entities, exported=exported, lines=len(lines), joined=joined
    )
    if exported:
        offsets = _offsets(([t.encode() for t in whole[:_MAX_TIMES]],), RecordReader(layouts, profile))
        profile = replace(profile, zones=offsets is not None and len(offsets) > 1)
    most, are_whole = (row, False) if row else _longest(profile, lines, layouts, width)
    profile = replace(profile, cut=most) if are_whole else replace(profile, folded=most)
    filtered = filtered_by(raw_lines, profile.wrappers)
    profile = replace(profile, filtered=filtered, literal=common_literal(lines) if filtered else "")
    profile = replace(profile, collected=_has_no_dates(profile, lines, layouts))
    if changed:
        profile = _dated(profile, lines, layouts, changed)
    return replace(profile, newest_first=_newest_first(_times(lines[:_MAX_TIMES], RecordReader(layouts, profile))))


def _are_joined(lines: Sequence[bytes]) -> bool:
    """Return True if the line breaks between records were lost in many lines."""
    return sum(map(has_joined_records, lines)) > _FEW * sum(map(begins_record, lines))


def _records_in(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the records in lines of several ones, and the other lines."""
    return (part for line in lines for _, part in joined_records(line))


def _headings(lines: Sequence[str], layouts: Layouts) -> tuple[str, ...]:
    """Return the names of the headings in a file.

    Lines that name files count in a file with lines of several files: the first line is one, or several files are named.
    """
    every = [(h[0], h[1], i) for i, text in enumerate(lines) if (h := layouts.heading(text)) is not None]
    found = [h for h in every if not h[0].alone]
    if found and found[0][2] > 0 and len({source for _, source, _ in found if source}) < _FEWEST_FILES:
        found = []
    return tuple(sorted({heading.name for heading, _, _ in every if heading.alone} | {heading.name for heading, _, _ in found}))


def _as_lines(sample: bytes, path: Path, keys: JsonKeys, begin: Path = ()) -> bytes:
    """Return the complete records in a part of a document, which begins at the path `begin`, as lines."""
    elements = Document(BytesIO(sample), path, keys, SAMPLE_BYTES).elements(begin)
    return "\n".join(e.text for e in islice(elements, _MAX_LINES) if not e.cut).encode("utf-8", "replace")


def _with_learned(profile: Profile, looked: _LayoutScore, lines: Sequence[str], layouts: Layouts, fail: Failed | None) -> Profile:
    """Add layouts inferred from the lines if the described ones leave much unexplained; `looked` is their score for some of the lines."""
    programs = _programs(lines, layouts, profile.wrappers) if looked.share > _HARDLY and not profile.untimed else None
    if programs is not None and len(programs[1]) > 1:
        return _with_each_learned(profile, *programs, lines, layouts, fail)
    reader = RecordReader(layouts, profile)
    bare = [reader.unwrap(text).text for text in lines] if profile.untimed else []
    begins = [text for text in bare if text[:1] not in ("", " ", "\t")]
    clocked = sum(map(bool, map(_CLOCK_FIRST.match, begins))) > _MOSTLY * len(begins)
    if not clocked and looked.share <= _HARDLY:
        return profile
    described = looked if len(_sample(lines)) == len(lines) else _LayoutScore.of(lines, layouts, profile)
    if described.share <= _FEW and not clocked:
        return profile
    if profile.fitting and not (clocked or profile.untimed or any(map(_HAS_CLOCK.match, described.unnamed))):
        return profile  # what is not explained is prose between the records
    best = profile, described.points
    tried: set[tuple[Layout, ...]] = set()
    # The collector's text is not part of a layout: with its time before them, settings and stack traces would be records.
    timed = any(w.time for w in layouts.wrappers if w.name in profile.wrappers)
    unwrapped = programs[1] if programs else (*(() if timed else (lines,)), *(_unwrapped(lines, w, layouts) for w in layouts.wrappers))
    others = (bare,) if profile.untimed and bare != lines else unwrapped
    for text in (described.unnamed, *others):
        learned = infer(text, fail=fail) if text else ()
        if not learned or learned in tried:
            continue
        tried.add(learned)
        for first in (True, False):
            more = layouts.with_learned(learned, first=first)
            found = _profile(lines, more, untimed=not any(x.time for x in learned) and (profile.untimed or not profile.fitting))
            found = replace(found, learned=learned, learned_first=first)
            score = _LayoutScore.of(lines, layouts, found).points
            if score > best[1]:
                best = found, score
    return _messages_only(best[0], lines, layouts)


def _programs(lines: Sequence[str], layouts: Layouts, wrappers: Sequence[str]) -> tuple[Wrapper, list[list[str]]] | None:
    """Return the wrapper that names the program of nearly each line, and the lines of each program without it; None if the lines have none.

    A collector's time after the name, one of the `wrappers` of the file, is not part of a program's line either. A layout is learned for each of them: one that is learned from all lines takes the name of a program for a logger.
    """
    times = [
        layouts.compiled(w.head) for w in layouts.wrappers if w.name in wrappers and w.time and not (w.bare or w.weak or "(?P<source>" in w.head)
    ]
    for wrapper in layouts.wrappers:
        if wrapper.bare or wrapper.words or "(?P<source>" not in wrapper.head:
            continue
        by: dict[str, list[str]] = {}
        for text in lines:
            match = layouts.compiled(wrapper.head).match(text)
            if match and match["source"]:
                rest = text[match.end() :]
                beside = next((found for time in times if (found := time.match(rest))), None)
                by.setdefault(match["source"], []).append(rest[beside.end() :] if beside else rest)
        named = sum(map(len, by.values()))
        if named > _NEARLY * len(lines) and len(by) <= max(_FEWEST_NAMES, _FEW * named) and not any(map(_NO_PROGRAM.fullmatch, by)):
            return wrapper, list(by.values())
    return None


def _with_each_learned(
    profile: Profile, wrapper: Wrapper, programs: Sequence[Sequence[str]], lines: Sequence[str], layouts: Layouts, fail: Failed | None
) -> Profile:
    """Add the layouts inferred from the lines of each of several programs; the described ones come first, because the programs do not know each other's."""
    learned: dict[tuple[str, tuple[str, ...]], Layout] = {}
    for text in programs:
        unexplained = [t for t in text if t.strip() and not layouts.find_specific(t, profile.untimed)]
        if len(unexplained) > _FEW * len(text):
            for layout in infer(unexplained, fail=fail):
                learned.setdefault((layout.head, layout.tails), replace(layout, name=learned_name(len(learned))))
    every = tuple(learned.values())
    found = _profile(lines, layouts.with_learned(every, first=False), untimed=profile.untimed)
    wrappers = tuple(w.name for w in layouts.wrappers if w is wrapper or w.name in found.wrappers)
    return replace(found, learned=every, learned_first=False, wrappers=wrappers)


def _timed_by_collector(profile: Profile, looked: _LayoutScore, lines: Sequence[str], layouts: Layouts, fail: Failed | None) -> Profile | None:
    """Return a profile for a program that prints no times, in a collector's wrapper with times; None for other lines.

    If only lines with a time could begin a record, its settings and stack traces would be split, because the collector puts a time before each line.
    """
    if profile.untimed or looked.collected or profile.json != "record" and looked.share <= _HARDLY:
        return None
    found = _profile(lines, layouts, untimed=True)
    if not (found.wrappers or found.json == "wrapper"):
        return None
    found = _with_learned(found, _LayoutScore.of(_sample(lines), layouts, found), lines, layouts, fail)
    score = _LayoutScore.of(lines, layouts, found)
    return found if score.collected and score.share <= _FEW else None


def _row_of_json(lines: Sequence[str]) -> int:
    """Return the length at which longer lines were broken, if that shows because several broken objects are whole together with the next lines."""
    most = max(map(len, lines), default=0)
    if not any(len(text) == most and text.startswith('{"') and read_json(text) is None for text in lines):
        return 0
    mended = sum(len(text) > most and read_json(text) is not None for text in _whole_objects(lines, most))
    return most if mended >= _FEWEST_OBJECTS else 0


def _key_a_row(lines: Sequence[str], keys: JsonKeys) -> int:
    """Return `KEY_A_ROW` if several records are JSON objects with a key a row, among other text; else 0."""
    if sum(text.strip() == "{" for text in lines) < _FEWEST_OBJECTS:
        return 0
    found = (read_json(text) for text in _whole_objects(lines, KEY_A_ROW) if text.lstrip().startswith("{"))
    records = sum(bool(o and keys.get("message", o) and (keys.get("time", o) or keys.get("level", o))) for o in found)
    return KEY_A_ROW if records >= _FEWEST_OBJECTS else 0


def _whole_objects(lines: Iterable[str], row: int) -> Iterator[str]:
    """Yield lines, those of an object that was broken as one."""
    objects = ObjectRows(row)
    yield from (whole for text in lines if (whole := objects.add(text)) is not None)
    if rest := objects.rest():
        yield rest


def _longest(profile: Profile, lines: Sequence[str], layouts: Layouts, width: int) -> tuple[int, bool]:
    """Return the length at which all longer lines were broken or cut off, 0 if they were not, and whether they were cut off.

    Many different lines have that length, and none is longer, or it is the `width` of the box around them. If few of the lines after them begin a record, these are the rests of broken lines;
    if most do, and the lines end in many ways, as whole ones do not, the rests are lost.
    """
    most = width or max(map(len, lines), default=0)
    full = [i for i, text in enumerate(lines[:-1]) if len(text) == most]
    different = {_DIGIT.sub("0", lines[i]) for i in full}  # a repeated long message does not count
    fewest = 1 if width else _FEWEST_FOLDED
    if most < _NARROWEST or len(different) < fewest or profile.wrappers or profile.json:
        return 0, False
    reader = RecordReader(layouts, profile)
    starting = sum(reader.start(reader.unwrap(lines[i + 1])) is not None for i in full)
    if starting <= _FEW * len(full):
        return most, False
    ends = {text[-_END:] for text in different}
    return (most, True) if starting > _MOSTLY * len(full) and len(ends) >= fewest else (0, False)


def _has_no_dates(profile: Profile, lines: Sequence[str], layouts: Layouts) -> bool:
    """Return True if no line contains its date, but a collector may have printed it before them."""
    timed = any(w.time for w in layouts.wrappers if w.name in profile.wrappers)
    return (timed or profile.json in ("wrapper", "both")) and not _times(lines, RecordReader(layouts, profile), most=1)


def _dated(profile: Profile, lines: Sequence[str], layouts: Layouts, changed: date) -> Profile:
    """Return the profile with the date of lines whose times have no year, the last possible one before the modification date, or no date at all."""
    if profile.collected and not any(w.time and w.time.yearless for w in layouts.wrappers if w.name in profile.wrappers):
        return profile
    if not profile.collected and _times(lines, RecordReader(layouts, profile), most=1):
        return profile
    reader = RecordReader(layouts, replace(profile, until=_LAST_OF_A_YEAR))
    times = _times(lines, reader, most=len(lines))
    if not times:
        return profile
    if not profile.collected and not _have_dates(lines, reader):
        midnights = sum((a.wall_us or 0) - (b.wall_us or 0) > _HALF_A_DAY for a, b in pairwise(times))
        days = _started_days(lines, reader)
        first = days[0] if days else changed - timedelta(days=midnights)
        return replace(profile, until=first, dateless=True, year_printed=len(set(days)) == 1)
    if (day := _printed_day(lines, reader)) is not None:
        return replace(profile, until=_last_day(times, min(changed, day + _LONGEST_LOG)), year_printed=True)
    return replace(profile, until=_last_day(times, changed))


def _started_days(lines: Sequence[str], reader: RecordReader) -> list[date]:
    """Return the date of the first line of a log without dates, by each line in which a client of Kafka prints when it started, in any zone."""
    found, midnights, before_us = [], 0, 0
    for text in lines:
        for moment in _times([text], reader, most=1):
            wall_us = moment.wall_us or 0
            midnights += before_us - wall_us > _HALF_A_DAY
            before_us = wall_us
            if start := _STARTED_MS.search(text):
                at_us = int(start[1]) * 1000
                days = [day_of(at_us) + timedelta(days=n) for n in (-1, 0, 1)]
                ahead = {(day - day_of(wall_us)) // timedelta(microseconds=1) + wall_us - at_us: day for day in days}
                if zones := [us for us in ahead if _is_of_a_zone(us)]:
                    found.append(ahead[min(zones, key=abs)] - timedelta(days=midnights))
    return found


def _is_of_a_zone(ahead_us: int) -> bool:
    """Return True if a time that is this much ahead of the same moment in UTC may be of some time zone."""
    late_us = (ahead_us + COLLECTED_LATE) % QUARTER
    return abs(ahead_us) <= _MAX_MINUTES * 60 * SECOND + COLLECTED_LATE and late_us <= 2 * COLLECTED_LATE


def _printed_day(lines: Sequence[str], reader: RecordReader) -> date | None:
    """Return the date of a line without a year whose message prints its own time in milliseconds since 1970, in any zone."""
    for text in lines:
        for epoch in islice(_EPOCH_MS.finditer(text), _MAX_EPOCHS):
            at_us = int(epoch[0]) * 1000
            for moment in _times([text], reader, most=1):
                day = day_of(moment.wall_us or 0)
                for year in (day_of(at_us).year + n for n in (-1, 0, 1)):
                    with suppress(ValueError):  # 29 February
                        ahead_us = (moment.wall_us or 0) + (day.replace(year=year) - day) // timedelta(microseconds=1) - at_us
                        if _is_of_a_zone(ahead_us):
                            return day.replace(year=year)
    return None


def _last_day(times: Sequence[Moment], changed: date) -> date | None:
    """Return the date of the last of some times in a year with a 29th of February: the last possible one before the modification date."""
    last = day_of((times[0] if _newest_first(times) else times[-1]).wall_us or 0)
    latest = changed + timedelta(days=1)  # the two clocks may be in different zones
    for year in range(latest.year, latest.year - _LEAP_YEARS - 1, -1):
        with suppress(ValueError):  # 29 February
            if (day := last.replace(year=year)) <= latest:
                return day
    return None


def _have_dates(lines: Sequence[str], reader: RecordReader) -> bool:
    """Return True if a record has a layout whose times have a date, with or without a year."""
    starts = (reader.start(reader.unwrap(text)) for text in lines)
    return any(isinstance(start, tuple) and start[0].time is not None and start[0].time.dated for start in starts)


def _sample(lines: Sequence[str]) -> list[str]:
    """Return a sample of many lines: parts at equal distances, because records have several lines. Few lines are returned completely."""
    if len(lines) <= 2 * _SAMPLES * _SAMPLE_LINES:
        return list(lines)
    step = len(lines) // _SAMPLES
    return [text for begin in range(0, step * _SAMPLES, step) for text in lines[begin : begin + _SAMPLE_LINES]]


def _messages_only(profile: Profile, lines: Sequence[str], layouts: Layouts) -> Profile:
    """Return a profile for pasted messages, which Kafka's prefixes and clients' words identify. An indented line is one only if all lines are indented."""
    indented = all(text[:1] in (" ", "\t") for text in lines)
    whole = [text for text in lines if indented or not _INDENTED.match(text)]
    begins, words = kafka_words().sign("begins a message"), kafka_words().sign("client's words")
    found = [text for text in whole if begins.match(bare := text.lstrip("`*> \t")) or words.search(bare)]
    reader = RecordReader(layouts, profile)
    explained = not profile.untimed or any(
        reader.start(reader.unwrap(text)) is not None for text in found
    )  # else the layout fits only the prose around them
    if explained and len(found) <= profile.fitting or len(found) <= _COMMON * len(whole):
        return profile
    return Profile(wrappers=("quote",) if indented else (), untimed=True, learned=_MESSAGES, fitting=len(found))


def _unwrapped(lines: Sequence[str], wrapper: Wrapper, layouts: Layouts) -> list[str]:
    """Return the lines without a wrapper if most have it; lines with only an indentation belong to a record."""
    rests = [r for text in lines if (r := _rest(text, wrapper, layouts)) is not None and not (wrapper.bare and r == text.lstrip())]
    return rests if len(rests) > _MOSTLY * len(lines) else []


@dataclass(frozen=True)
class _LayoutScore:
    """The score of a profile for some lines.

    Attributes:
        points: one for each time, date and level, two for each logger of a record, minus one for each line that belongs to no record.
        unnamed: lines that begin a record without a logger, or belong to no record.
        share: share of these among records and lines of none.
        collected: True if most records have their collector's time.
    """

    points: int
    unnamed: list[str]
    share: float
    collected: bool

    @classmethod
    def of(cls, lines: Sequence[str], layouts: Layouts, profile: Profile) -> _LayoutScore:
        reader = RecordReader(layouts, profile, until=_LAST_OF_A_YEAR)
        undated = {x.name for x in reader.layouts.layouts if x.time is not None and not x.time.dated}
        assembler = Assembler(reader)
        records: list[PlacedRecord] = []
        unnamed: list[str] = []
        swallowed: list[str] = []
        for number, text in enumerate(lines):
            done, fits = assembler.feed(number, number, text.encode("utf-8", "replace"))
            records.extend(done)
            if not fits:
                unnamed.append(reader.unwrap(text).text)
            elif not done and _LOOKS_TIMED.match((line := reader.unwrap(text)).text) and reader.start(line) is None:
                swallowed.append(line.text)  # it continues a record, but begins like one
        records.extend(assembler.close())
        unnamed += swallowed
        score, bare = -len(unnamed), {x.name for x in layouts.layouts if x.nameless and x.untimed}
        for placed in records:
            r = placed.record
            dated = r.moment is not None and r.moment.wall_us is not None and r.layout not in undated
            whole = r.layout in bare  # its writers print neither a level nor a logger
            score += (r.moment is not None) + dated + (whole or r.level is not None) + 2 * (whole or r.logger is not None)
            if r.logger is None and (r.layout not in layouts.nameless or _KEY_OF_CLASS.match(r.message)):
                unnamed.append(reader.unwrap(lines[placed.line]).text)
        collected = sum(placed.collector is not None for placed in records) > _MOSTLY * len(records)
        return cls(score, unnamed, len(unnamed) / max(1, len(records) + len(unnamed)), collected)


def _both_as_lines(head: bytes, tail: bytes, layouts: Layouts, profile: Profile) -> tuple[bytes, bytes]:
    """Return the beginning and the end of a file, or of a document's records as lines; the end begins within a line."""
    if profile.document is None:
        return head, tail
    path, keys = profile.document, layouts.keys
    return _as_lines(head, path, keys), b"\n" + _as_lines(last_records(tail, path, keys), path, keys, path)


def ends_of(head: bytes, tail: bytes, layouts: Layouts, profile: Profile) -> tuple[Moment | None, Moment | None]:
    """Return the first time at the beginning of a file and the last at its end; the reverse for a file with its newest lines first."""
    head, tail = _both_as_lines(head, tail, layouts, profile)
    reader = RecordReader(layouts, profile)
    firsts, lasts = head.split(b"\n")[:_MAX_LINES], tail.split(b"\n")[0 if profile.joined else 1 :]
    if profile.joined:
        firsts, lasts = list(_records_in(firsts)), list(_records_in(lasts))
    first = _times(map(decode, firsts), reader, most=1)
    last = _times(map(decode, reversed(lasts)), reader, most=1) or first
    ends = (first[0] if first else None, last[0] if last else None)
    return ends[::-1] if profile.newest_first else ends


def zone_beside(head: bytes, tail: bytes, layouts: Layouts, profile: Profile) -> str | None:
    """Return the offset from UTC of a log's times, by a collector's times next to them; None if these do not show exactly one offset.

    A collector receives a line a moment after it was written, so the two differ by a multiple of a quarter of an hour and a little more.
    """
    if profile.plain or profile.exported:  # the zone of an export is unknown
        return None
    head, tail = _both_as_lines(head, tail, layouts, profile)
    found = _offsets((head.split(b"\n")[:_MAX_TIMES], tail.split(b"\n")[1:][-_MAX_TIMES:]), RecordReader(layouts, profile))
    if found is None or found.total() < _FEWEST_TIMES or len(found) != 1:
        return None
    minutes = next(iter(found)) // (60 * SECOND)
    if abs(minutes) > _MAX_MINUTES:
        return None
    return offset_name(minutes) if minutes else "UTC"


def zone_of_collections(head: bytes, tail: bytes, layouts: Layouts, profile: Profile) -> tuple[str | None, bool]:
    """Return the offset from UTC that a JVM's GC lines among a log's own lines print, and whether there are such lines among lines without an offset.

    The offset is None if the GC lines print several, or if they are not in the order of the lines around them: the program then uses another zone.
    """
    if not _HAS_COLLECTIONS.search(head + tail):
        return None, False
    head, tail = _both_as_lines(head, tail, layouts, profile)
    reader, pairs, offsets, falls = RecordReader(layouts, profile), 0, set[int](), 0
    for part in (head.split(b"\n")[:_MAX_LINES], tail.split(b"\n")[1:][-_MAX_LINES:]):
        before: tuple[int, bool] | None = None
        for placed in read_records(b"\n".join(part), reader):
            own = placed.record.moment
            if own is None or own.wall_us is None:
                continue
            is_gc = placed.record.layout in GC_LAYOUTS
            if is_gc and own.offset_us is not None:
                offsets.add(own.offset_us)
            elif own.offset_us is not None:
                return None, False
            if before is not None and before[1] != is_gc:
                pairs += 1
                falls += own.wall_us < before[0] - SECOND
            before = own.wall_us, is_gc
    if pairs < _FEWEST_TIMES or falls > _HARDLY * pairs or len(offsets) != 1:
        return None, pairs > 0
    minutes = offsets.pop() // (60 * SECOND)
    return offset_name(minutes) if minutes else "UTC", True


def _offsets(parts: Iterable[Sequence[bytes]], reader: RecordReader) -> Counter[int] | None:
    """Return the offsets of records from UTC by the times next to them, and how often each was seen; None if one has another distance or prints its offset."""
    found: Counter[int] = Counter()
    for part in parts:
        for placed in read_records(b"\n".join(part), reader):
            own, beside = placed.record.moment, placed.collector
            if placed.record.layout in GC_LAYOUTS:
                continue
            is_beside = beside is not None and (beside.offset_us is not None or reader.profile.exported)
            if own is None or own.wall_us is None or beside is None or not is_beside:
                continue
            offset_us = offset_beside(own, beside)
            if own.offset_us is not None or offset_us is None:
                return None
            found[offset_us] += 1
    return found


def _profile(lines: Sequence[str], layouts: Layouts, *, untimed: bool) -> Profile:
    wrapped: dict[str, int] = {}
    fitting = objects = holders = timed = nested = 0
    for text in lines:
        names = _chain(text, layouts, untimed, _DEPTH)
        if names is None:
            continue
        fitting += 1
        for name in set(names):
            wrapped[name] = wrapped.get(name, 0) + 1
        objects += "json record" in names
        timed += "json text" in names
        holders += "json wrapper" in names
        nested += "json in json" in names
    kind = "both" if nested > max(objects, holders) else "wrapper" if holders > objects else "record" if objects or timed else ""
    enabled = tuple(w.name for w in layouts.wrappers if wrapped.get(w.name, 0) > (_MOSTLY if w.words else _COMMON) * fitting)
    profile = Profile(wrappers=enabled, json=kind, untimed=untimed, fitting=fitting)
    return replace(profile, words=_words(lines, layouts, profile))


def _words(lines: Sequence[str], layouts: Layouts, profile: Profile) -> frozenset[str]:
    """Return the words before a file's records if they are its wrapper; none if they are not names, but for example numbers of records."""
    if not any(w.words and w.name in profile.wrappers for w in layouts.wrappers):
        return frozenset()
    reader = RecordReader(layouts, profile)
    found = Counter(word for text in lines for word in reader.unwrap(text).words)
    return frozenset(found) if len(found) <= max(_FEWEST_NAMES, _FEW * found.total()) else frozenset()


def _chain(text: str, layouts: Layouts, untimed: bool, depth: int, *, specific: bool = False) -> list[str] | None:
    """Return the names of the wrappers around a line that begins a record, outermost first; None if it begins none.

    Args:
        text: the line.
        layouts: layouts to try.
        untimed: True if these are the ones without a time.
        depth: maximum number of wrappers.
        specific: True if a layout must contain more than a time, because a time may follow any word of a message.
    """
    return layouts.remembered((text, untimed, depth, specific), lambda: _new_chain(text, layouts, untimed, depth, specific))


def _new_chain(text: str, layouts: Layouts, untimed: bool, depth: int, specific: bool) -> list[str] | None:
    if untimed and (names := _collected(text, layouts, depth)) is not None:
        return names
    if layouts.find_specific(text, untimed):
        return []
    if text.startswith("{") and (found := read_json_as_far(text)):
        message = layouts.keys.get("message", found)
        if isinstance(message, str) and not isinstance(found, BrokenJson) and layouts.keys.get("logger", found) is None:
            held = _held(message, layouts, untimed, depth)
            if held is not None:
                return held
        if message is not None and (layouts.keys.get("level", found) or layouts.keys.get("logger", found)):
            return ["json record"]
        if message is not None and layouts.keys.get("time", found):
            return ["json text"]
    for wrapper in layouts.wrappers_at(text) if depth else ():
        rest = None if wrapper.words and untimed else _rest(text, wrapper, layouts)  # without times, words may be a thread or a level
        if rest is None:
            continue
        inner_names = _chain(rest, layouts, untimed, depth - 1, specific=specific or wrapper.words)
        if inner_names is not None and not (wrapper.name == "quote" and rest == text):
            return [wrapper.name, *inner_names]
    return [] if not specific and layouts.find(text, untimed) else None


def _collected(text: str, layouts: Layouts, depth: int) -> list[str] | None:
    """Do the same as `_chain` for a program that prints no times: a collector's text before the line would be taken for its own words."""
    for wrapper in layouts.wrappers_at(text) if depth else ():
        rest = None if wrapper.bare or wrapper.weak or wrapper.words else _rest(text, wrapper, layouts)
        if rest is None:
            continue
        names = _collected(rest, layouts, depth - 1)
        if names is None and wrapper.time:
            names = _chain(rest, layouts, untimed=True, depth=depth - 1)
        if names is not None:
            return [wrapper.name, *names]
    return None


def _held(message: str, layouts: Layouts, untimed: bool, depth: int) -> list[str] | None:
    """Return the names for an object whose message is itself a whole line or object; None if it is only a message."""
    if message.startswith("{"):
        held = read_json(message)
        return ["json in json"] if held and layouts.keys.get("message", held) is not None else None
    if layouts.find_specific(message, untimed):
        return ["json wrapper"]
    inner = _chain(message, layouts, untimed, max(depth - 1, 0))
    return ["json wrapper", *inner] if inner else None


def _rest(text: str, wrapper: Wrapper, layouts: Layouts) -> str | None:
    match = layouts.compiled(wrapper.head).match(text)
    return text[match.end() :] if match and 0 < match.end() < len(text) else None


def _times(lines: Iterable[str], reader: RecordReader, most: int = _MAX_TIMES) -> list[Moment]:
    """Return times of lines that begin a record, in order; at most `most`."""
    times: list[Moment] = []
    for text in lines:
        line = reader.unwrap(text)
        start = reader.start(line)
        moment = reader.moment(start, line.text)[0] if start is not None else None
        if reader.profile.collected and (moment is None or moment.wall_us is None):
            moment = line.collector
        if moment is not None and moment.wall_us is not None:
            times.append(moment)
            if len(times) >= most:
                break
    return times


def _times_of_records(lines: Sequence[str], reader: RecordReader) -> list[Moment]:
    """Return times of whole records, for exports, in which a single line has little content."""
    content = "\n".join(lines).encode("utf-8", "replace")
    moments = [r.record.moment or r.record.collector for r in read_records(content, reader)]
    return [m for m in moments if m is not None and m.wall_us is not None][:_MAX_TIMES]


def _newest_first(times: Sequence[Moment]) -> bool:
    """Return True if times, or whole seconds, fall and hardly ever rise."""
    walls = [t.wall_us or 0 for t in times]
    for unit in (1, SECOND):
        moments = [wall // unit for wall in walls]
        falls = sum(a > b for a, b in pairwise(moments))
        rises = sum(a < b for a, b in pairwise(moments))
        if falls > 1 and rises * 10 <= falls and walls[0] > walls[-1]:
            return True
    return False

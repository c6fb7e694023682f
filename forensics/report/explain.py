"""Explain a pasted log line: which event, which releases print it, what it proves and what not, what to do; or a rule. Needs no case and no Spark."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import Catalogue
from forensics.catalogue.recogniser import Recogniser
from forensics.errors import UsageError
from forensics.records.line_reader import Record
from forensics.records.timestamps import offset_name
from forensics.report.document import Column, Document, Heading, Para, Table
from forensics.report.exceptions import KnownException, find_exceptions
from forensics.report.pasted import Item, begun_event, items_of, near_events
from forensics.wording.files import Words, rule_words
from forensics.wording.formats import count, shorten

_RULE_ID = re.compile(r"[a-z]+(-[a-z]+)+")
_MAX_DIFFERENT = 5
_MAX_UNKNOWN = 5
#: Maximum number of unknown texts that are compared with the beginnings of messages: each takes a few milliseconds.
_MAX_CUT = 200
_MAX_VALUES = 12
#: Captures with the reason of a failure.
_ERRORS = ("error", "cause", "reason")


@dataclass(frozen=True)
class Explained:
    """An explanation of lines.

    Attributes:
        document: the explanation.
        known: True if at least one record is a known event or names a known exception.
    """

    document: Document
    known: bool


def explain(text: str, catalogue: Catalogue) -> Explained:
    """Explain every record of a text, each kind of event once; unknown records are counted and shown with the nearest events. Or explain a rule.

    Args:
        text: one or more log lines, with their layout, part of it, or none; or the ID of a rule.
        catalogue: the known messages.

    Raises:
        UsageError: the text is empty.
    """
    if _RULE_ID.fullmatch(text.strip()) and (words := rule_words().get(text.strip())) is not None:
        return Explained(_of_rule(words), known=True)
    recogniser, out = Recogniser(catalogue), Document()
    groups: dict[object, list[Item]] = {}
    unknown: list[Item] = []
    quoted: dict[KnownException, list[str]] = {}
    for item in items_of(text, recogniser):
        if item.found:
            groups.setdefault(id(item.found.pattern), []).append(item)
        elif not item.exceptions:
            unknown.append(item)
        for known, match in item.exceptions:
            quoted.setdefault(known, []).append(match)
    for items in groups.values():
        _add_event(items, recogniser, out)
    for known, matches in quoted.items():
        _add_exception(known, matches, out)
    lines = {_text(item): item.record.message for item in reversed(unknown)}
    cut = {text: event for text in _texts(unknown)[:_MAX_CUT] if (event := begun_event(lines[text], recogniser)) is not None}
    for text, event in cut.items():
        _add_begun(text, event, recogniser, out)
    if rest := [item for item in unknown if _text(item) not in cut]:
        _add_unknown(rest, recogniser, out)
    if not out.blocks:
        raise UsageError(
            "There is no text to explain.", why="it contains only blanks", where="LINE",
            fix="Give a log line in quotes; or - and lines on standard input: kubectl logs connect-0 | forensics explain -",
        )  # fmt: skip
    return Explained(out, bool(groups or quoted or cut))


def _of_rule(words: Words) -> Document:
    """Return what a rule finds, what it needs, when it does not fire, and when it can be wrong."""
    rows = [("question", words.question), ("why it matters", words.why), ("needs", words.needs), ("does not fire when", words.silent)]
    rows += [("can be wrong", words.wrong), *words.releases.items(), *([("see", ", ".join(words.see))] if words.see else [])]
    out = Document()
    out.add(Heading(3, f"{words.name} (rule)", "good"), Para(f"{words.title}."), Table((Column("", fixed=True), Column("")), tuple(rows)))
    return out


def _add_event(items: list[Item], recogniser: Recogniser, out: Document) -> None:
    """Add one wording of an event, with the captures of all its records."""
    first = items[0]
    record, found = first.record, first.found
    assert found is not None  # noqa: S101  (for the type checker)
    pattern = found.pattern
    times = f", {len(items)} times" if len(items) > 1 else ""
    out.add(Heading(3, f"{found.event} ({found.category}){times}", "good"), Para(shorten(found.message, 200), tone="dim"))
    rows = [
        ("releases", releases(pattern.kafka)),
        *([("level", record.level)] if record.level else []),
        ("logged by", record.logger or " or ".join(pattern.loggers)),
        *([("time", time if len(items) == 1 else f"{time} (the first)")] if (time := _time(record)) else []),
        *([("layout", first.layout)] if first.layout else []),
        *([("fields", "\n".join(fields))] if (fields := _captures(items)) else []),
        ("pattern", pattern.where),
        *([("not readable", found.fault)] if found.fault else []),
    ]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)))
    proves, disproves, advice = _meaning(pattern, recogniser)
    if (error := _only_error(items)) is not None:
        # A message's meaning covers all its errors; more is known about this one.
        proves, disproves, advice = error.proves, error.disproves, error.advice
    _add_meaning(proves, disproves, advice, out)


def _meaning(pattern: EventPattern, recogniser: Recogniser) -> tuple[str, str, str]:
    """Return what a message proves, what it does not prove, and what to do."""
    # Wordings of several releases share one event; its meaning may be given at only one of them. Events of the category "other" share only their name.
    same = [pattern, *(p for p in recogniser.catalogue.events if p.name == pattern.name and pattern.category != "other")]
    proves, disproves, advice = (next(filter(None, texts), "") for texts in zip(*((p.proves, p.disproves, p.advice) for p in same), strict=True))
    return proves, disproves, advice


def _add_begun(text: str, pattern: EventPattern, recogniser: Recogniser, out: Document) -> None:
    """Add the event of a line of which only the beginning is there."""
    out.add(Heading(3, f"{pattern.name} ({pattern.category}), cut off", "good"), Para(text, tone="dim"))
    rows = [("releases", releases(pattern.kafka)), ("logged by", " or ".join(pattern.loggers)), ("pattern", pattern.where)]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)), Para("The end of the line is missing, so `ingest` would not recognise it."))
    _add_meaning(*_meaning(pattern, recogniser), out)


def _only_error(items: list[Item]) -> KnownException | None:
    """Return the only error of the group protocol that all these records give as the reason of a failure; None if there are several, or none."""
    errors: set[KnownException] = set()
    for item in items:
        captures = item.found.captures if item.found else {}
        errors_here = {known for name in _ERRORS for known, _ in find_exceptions(str(captures.get(name) or ""))}
        if len(errors_here) != 1:
            return None
        errors |= errors_here
    return errors.pop() if len(errors) == 1 else None


def _captures(items: list[Item]) -> list[str]:
    """Return `name = value` of all captures, with all values if records differ."""
    values: dict[str, list[str]] = {}
    for item in items:
        for name, value in item.found.captures.items() if item.found else ():
            text = _value(value)
            if text not in values.setdefault(name, []):
                values[name].append(text)
    lines = []
    for name, texts in sorted(values.items()):
        more = f" and {len(texts) - _MAX_DIFFERENT} more" if len(texts) > _MAX_DIFFERENT else ""
        lines.append(f"{name} = {'; '.join(texts[:_MAX_DIFFERENT])}{more}")
    return lines


def _add_exception(known: KnownException, matches: list[str], out: Document) -> None:
    times = f", {len(matches)} times" if len(matches) > 1 else ""
    out.add(Heading(3, f"{known.names[0]} (exception){times}" if known.names else f"{known.says[0]}{times}", "good"))
    others = ", ".join(known.names[1:])
    rows = [("releases", releases(known.kafka)), ("recognised by", f"“{matches[0]}”"), *([("also called", others)] if others else [])]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)))
    _add_meaning(known.proves, known.disproves, known.advice, out)


def _add_meaning(proves: str, disproves: str, advice: str, out: Document) -> None:
    for label, words in (("Proves", proves), ("Caveat", disproves), ("What to do", advice)):
        if words:
            out.add(Para(" ".join(words.split()), label=label))


def _text(item: Item) -> str:
    return shorten(item.record.message.partition("\n")[0], 200)


def _texts(items: list[Item]) -> list[str]:
    return list(dict.fromkeys(map(_text, items)))


def _add_unknown(items: list[Item], recogniser: Recogniser, out: Document) -> None:
    """Add unknown records with the nearest events of the first texts; equal texts are shown once."""
    texts = _texts(items)
    out.add(Heading(3, "No known event" + (f" in {count(len(items), 'record')}" if len(items) > 1 else ""), "warn"))
    for text in texts[:_MAX_UNKNOWN]:
        out.add(Para(text, tone="dim"))
        near = near_events(text, recogniser)
        if near:
            rows = tuple((event.name, shorten(line, 120), releases(event.kafka)) for event, line in near)
            out.add(Table((Column("nearest", fixed=True), Column("example"), Column("releases")), rows))
    if len(texts) > _MAX_UNKNOWN:
        out.add(Para(f"… {count(len(texts) - _MAX_UNKNOWN, 'more text')}.", tone="dim"))
    out.add(Para(_why_unknown(items[0], recogniser)))


def _why_unknown(item: Item, recogniser: Recogniser) -> str:
    record, layout = item.record, item.layout
    if not layout:
        return "No layout fits, and the text itself is not a message in the catalogue. Paste the whole line, with its time and logger."
    if record.logger is None:
        return f"The layout is “{layout}”, without a logger; no message in the catalogue has this text."
    if recogniser.is_interesting(record.logger):
        return (
            f"The layout is “{layout}”. {record.logger} logs messages that the catalogue knows, but this is not one of them. It may come from "
            "another release: `forensics check` tests a pattern of your own, and `--parsers` on ingest adds it."
        )
    return f"The layout is “{layout}”. According to the catalogue, {record.logger} logs nothing about groups."


def releases(kafka: str) -> str:
    """Return `2.6.1..` as `2.6.1 and later`, and `0.9.0.0..2.6.0` as `0.9.0.0 to 2.6.0`."""
    words = []
    for part in kafka.split(","):
        first, _, last = part.strip().partition("..")
        words.append(f"{first} and later" if not last else first if first == last else f"{first} to {last}")
    return ", ".join(words)


def _time(record: Record) -> str:
    """Return a record's time in words; empty if it has none."""
    moment = record.moment
    if moment is None or moment.wall_us is None:
        return "" if moment is None else "without a date"
    wall = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment.wall_us)
    text = f"{wall:%Y-%m-%d %H:%M:%S}.{wall.microsecond // 1000:03d}"
    if moment.offset_us is None:
        return f"{text}, in a time zone that the line does not show"
    return f"{text} {offset_name(moment.offset_us // 60_000_000)}"


def _value(value: Any) -> str:  # noqa: ANN401 (any capture)
    if isinstance(value, dict):
        items = [f"{k}: {_value(v)}" for k, v in list(value.items())[:_MAX_VALUES]]
        return "; ".join(items) + (f"; … {len(value) - _MAX_VALUES} more" if len(value) > _MAX_VALUES else "")
    if isinstance(value, list):
        return ", ".join(map(str, value[:_MAX_VALUES])) + (f", … {len(value) - _MAX_VALUES} more" if len(value) > _MAX_VALUES else "") or "(none)"
    return str(value)

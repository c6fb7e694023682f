"""What a pasted log line is: which event, which releases print it, what it proves and what not, what to do. Needs no case and no Spark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from forensics.catalogue.patterns import Catalogue
from forensics.catalogue.recogniser import Recogniser
from forensics.errors import UsageError
from forensics.records.line_reader import Record
from forensics.records.timestamps import offset_name
from forensics.report.document import Column, Document, Heading, Para, Table
from forensics.report.exceptions import KnownException, find_exceptions
from forensics.report.pasted import Item, items_of, near_events
from forensics.wording.formats import count, shorten

_MOST_DIFFERENT = 5
_MOST_UNKNOWN = 5
_MOST_VALUES = 12
#: Captures that say why something failed.
_ERRORS = ("error", "cause", "reason")


@dataclass(frozen=True)
class Explained:
    """What lines are.

    Attributes:
        document: the words.
        known: whether at least one record is an event or names an exception that is known.
    """

    document: Document
    known: bool


def explain(text: str, catalogue: Catalogue) -> Explained:
    """Explains every record of a text, each kind of event once; what is unknown is counted, with the events that come nearest.

    Args:
        text: one or more log lines, with their layout, part of it, or without.
        catalogue: the messages that are known.

    Raises:
        UsageError: there is nothing in the text.
    """
    recogniser, out = Recogniser(catalogue), Document()
    groups: dict[object, list[Item]] = {}
    unknown: list[Item] = []
    quoted: dict[KnownException, list[str]] = {}
    for item in items_of(text, recogniser):
        if item.found:
            groups.setdefault(id(item.found.pattern), []).append(item)
        elif not item.exceptions:
            unknown.append(item)
        for known, told in item.exceptions:
            quoted.setdefault(known, []).append(told)
    for items in groups.values():
        _say_event(items, recogniser, out)
    for known, told_by in quoted.items():
        _say_exception(known, told_by, out)
    if unknown:
        _say_unknown(unknown, recogniser, out)
    if not out.blocks:
        raise UsageError(
            "There is no text to explain.", why="it contains only blanks", where="LINE",
            fix="Give a log line in quotes; or - and lines on standard input: kubectl logs connect-0 | forensics explain -",
        )  # fmt: skip
    return Explained(out, bool(groups or quoted))


def _say_event(items: list[Item], recogniser: Recogniser, out: Document) -> None:
    """One wording of an event, with what all its records say."""
    first = items[0]
    record, found = first.record, first.found
    assert found is not None  # noqa: S101  (for the type checker)
    pattern = found.pattern
    times = f", {len(items)} times" if len(items) > 1 else ""
    out.add(Heading(3, f"{found.event} ({found.category}){times}", "good"), Para(shorten(found.message, 200), tone="dim"))
    rows = [
        ("releases", releases(pattern.kafka)),
        ("level", record.level or "not in this line"),
        ("printed by", record.logger or " or ".join(pattern.loggers)),
        ("time", _time(record) if len(items) == 1 else f"{_time(record)} (the first)"),
        ("layout", first.layout or "none: a message by itself"),
        ("says", "\n".join(_said(items)) or "nothing more"),
        ("pattern", pattern.where),
        *([("not readable", found.fault)] if found.fault else []),
    ]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)))
    # Wordings of other releases share one event; what it means may be written at one of them only.
    same = [pattern, *(p for p in recogniser.catalogue.events if p.name == pattern.name)]
    proves, disproves, advice = (next(filter(None, texts), "") for texts in zip(*((p.proves, p.disproves, p.advice) for p in same), strict=True))
    if (error := _only_error(items)) is not None:
        # A message's possible meanings cover all its errors; for this one more is known.
        proves, disproves, advice = error.proves, error.disproves, error.advice
    _say_meaning(proves, disproves, advice, out)


def _only_error(items: list[Item]) -> KnownException | None:
    """The one error of the group protocol for which all these records say that something failed; None where they say several, or none."""
    errors: set[KnownException] = set()
    for item in items:
        captures = item.found.captures if item.found else {}
        told = {known for name in _ERRORS for known, _ in find_exceptions(str(captures.get(name) or ""))}
        if len(told) != 1:
            return None
        errors |= told
    return errors.pop() if len(errors) == 1 else None


def _said(items: list[Item]) -> list[str]:
    """`name = value` of all captures; where records differ, their values."""
    values: dict[str, list[str]] = {}
    for item in items:
        for name, value in item.found.captures.items() if item.found else ():
            text = _value(value)
            if text not in values.setdefault(name, []):
                values[name].append(text)
    lines = []
    for name, texts in sorted(values.items()):
        more = f" and {len(texts) - _MOST_DIFFERENT} more" if len(texts) > _MOST_DIFFERENT else ""
        lines.append(f"{name} = {'; '.join(texts[:_MOST_DIFFERENT])}{more}")
    return lines


def _say_exception(known: KnownException, told_by: list[str], out: Document) -> None:
    times = f", {len(told_by)} times" if len(told_by) > 1 else ""
    out.add(Heading(3, f"{known.names[0]} (exception){times}", "good"))
    others = ", ".join(known.names[1:])
    rows = [("releases", releases(known.kafka)), ("told by", f"“{told_by[0]}”"), *([("also called", others)] if others else [])]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)))
    _say_meaning(known.proves, known.disproves, known.advice, out)


def _say_meaning(proves: str, disproves: str, advice: str, out: Document) -> None:
    for label, words in (("Proves", proves), ("But", disproves), ("What to do", advice)):
        if words:
            out.add(Para(" ".join(words.split()), label=label))


def _say_unknown(items: list[Item], recogniser: Recogniser, out: Document) -> None:
    """What is none, and the nearest events of the first texts; the same text is said once."""
    texts = list(dict.fromkeys(shorten(item.record.message.partition("\n")[0], 200) for item in items))
    out.add(Heading(3, "No known event" + (f" in {count(len(items), 'record')}" if len(items) > 1 else ""), "warn"))
    for text in texts[:_MOST_UNKNOWN]:
        out.add(Para(text, tone="dim"))
        near = near_events(text, recogniser)
        if near:
            rows = tuple((event.name, shorten(line, 120), releases(event.kafka)) for event, line in near)
            out.add(Table((Column("nearest", fixed=True), Column("example"), Column("releases")), rows))
    if len(texts) > _MOST_UNKNOWN:
        out.add(Para(f"… {count(len(texts) - _MOST_UNKNOWN, 'more text')}.", tone="dim"))
    out.add(Para(_why_unknown(items[0], recogniser)))


def _why_unknown(item: Item, recogniser: Recogniser) -> str:
    record, layout = item.record, item.layout
    if not layout:
        return "No layout fits, and the text by itself is no message of the catalogue. Paste the whole line, with its time and logger."
    if record.logger is None:
        return f"The layout is “{layout}”, without a logger; no message of the catalogue has this text."
    if recogniser.is_interesting(record.logger):
        return (
            f"The layout is “{layout}”. {record.logger} prints messages that the catalogue knows, but this is none of them. It may be of "
            "another release: `forensics check` tests a pattern of your own, and `--parsers` on ingest adds it."
        )
    return f"The layout is “{layout}”. According to the catalogue, {record.logger} prints nothing about groups."


def releases(kafka: str) -> str:
    """`2.6.1..` as `2.6.1 and later`; `0.9.0.0..2.6.0` as `0.9.0.0 to 2.6.0`."""
    words = []
    for part in kafka.split(","):
        first, _, last = part.strip().partition("..")
        words.append(f"{first} and later" if not last else first if first == last else f"{first} to {last}")
    return ", ".join(words)


def _time(record: Record) -> str:
    moment = record.moment
    if moment is None or moment.wall_us is None:
        return "none" if moment is None else "without a date"
    wall = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=moment.wall_us)
    text = f"{wall:%Y-%m-%d %H:%M:%S}.{wall.microsecond // 1000:03d}"
    if moment.offset_us is None:
        return f"{text}, in a time zone that the line does not show"
    return f"{text} {offset_name(moment.offset_us // 60_000_000)}"


def _value(value: Any) -> str:  # noqa: ANN401 (any capture)
    if isinstance(value, dict):
        items = [f"{k}: {_value(v)}" for k, v in list(value.items())[:_MOST_VALUES]]
        return "; ".join(items) + (f"; … {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else "")
    if isinstance(value, list):
        return ", ".join(map(str, value[:_MOST_VALUES])) + (f", … {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else "") or "(none)"
    return str(value)

"""What a pasted log line is: which event, which releases print it, what it proves and what not, what to do. Needs no case and no Spark."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from forensics import layouts
from forensics.events import Recogniser
from forensics.patterns import Catalogue
from forensics.profiles import profile_of
from forensics.records import Record, RecordReader, read_records
from forensics.report.document import Column, Document, Heading, Para, Table
from forensics.report.words import count, shorten

_MOST_VALUES = 12


def explain(text: str, catalogue: Catalogue) -> Document:
    """Explains every record of a text; records that are no known event are counted when others are.

    Args:
        text: one or more log lines, with or without their layout.
        catalogue: the messages that are known.
    """
    recogniser, out = Recogniser(catalogue), Document()
    unknown: list[tuple[Record, str]] = []
    for record, layout in _records(text):
        if not _known(record, layout, recogniser, out):
            unknown.append((record, layout))
    if out.blocks and unknown:
        out.add(Para(f"{count(len(unknown), 'other record')} that the catalogue does not know.", tone="dim"))
    elif unknown:
        _say_unknown(*unknown[0], len(unknown), recogniser, out)
    elif not out.blocks:
        out.add(Para("There is no text to explain.", tone="warn"))
    return out


def _records(text: str) -> list[tuple[Record, str]]:
    """The text's records and the names of their layouts; text without any layout is one message."""
    content = text.encode("utf-8", "replace")
    known = layouts.packaged()
    profile = profile_of(content, known)
    found = (
        [(r.record, r.record.layout) for r in read_records(content, RecordReader(known, profile))] if profile.fitting and not profile.untimed else []
    )
    return found or [(Record("", message=line.strip()), "") for line in text.splitlines() if line.strip()]


def _known(record: Record, layout: str, recogniser: Recogniser, out: Document) -> bool:
    found = recogniser.recognise(record.logger, record.message, record.thread, record.context)
    if found is None:
        return False
    pattern = found.pattern
    out.add(Heading(3, f"{found.event} ({found.category})", "good"), Para(shorten(found.message, 200), tone="dim"))
    rows = [
        ("releases", releases(pattern.kafka)),
        ("level", record.level or "not in this line"),
        ("printed by", record.logger or " or ".join(pattern.loggers)),
        ("time", _time(record)),
        ("layout", layout or "none: a message by itself"),
        ("says", "\n".join(f"{name} = {_value(value)}" for name, value in sorted(found.captures.items())) or "nothing more"),
        ("pattern", pattern.where),
    ]
    out.add(Table((Column("", fixed=True), Column("")), tuple(rows)))
    # Wordings of other releases share one event; what it means may be written at one of them only.
    same = [pattern, *(p for p in recogniser.catalogue.events if p.name == pattern.name)]
    for label, texts in (
        ("Proves", [p.proves for p in same]),
        ("Does not prove", [p.disproves for p in same]),
        ("What to do", [p.advice for p in same]),
    ):
        if words := next(filter(None, texts), ""):
            out.add(Para(" ".join(words.split()), label=label))
    return True


def _say_unknown(record: Record, layout: str, number: int, recogniser: Recogniser, out: Document) -> None:
    out.add(Heading(3, "No known event" + (f" in {number} records" if number > 1 else ""), "warn"))
    if not layout:
        out.add(Para("No layout fits, and the text by itself is no message of the catalogue. Paste the whole line, with its time and logger."))
    elif record.logger is None:
        out.add(Para(f"The layout is “{layout}”, without a logger; no message of the catalogue has this text."))
    elif recogniser.is_interesting(record.logger):
        out.add(
            Para(
                f"The layout is “{layout}”. {record.logger} prints messages that the catalogue knows, but this is none of them. It may be of "
                "another release: `forensics check` tests a pattern of your own, and `--parsers` on ingest adds it."
            )
        )
    else:
        out.add(Para(f"The layout is “{layout}”. Nothing that {record.logger} prints tells about groups, as far as the catalogue goes."))


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
        return f"{text}, by a clock whose zone the line does not tell"
    minutes = moment.offset_us // 60_000_000
    return f"{text} {'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _value(value: Any) -> str:  # noqa: ANN401 (any capture)
    if isinstance(value, dict):
        items = [f"{k}: {_value(v)}" for k, v in list(value.items())[:_MOST_VALUES]]
        return "; ".join(items) + (f"; … {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else "")
    if isinstance(value, list):
        return ", ".join(map(str, value[:_MOST_VALUES])) + (f", … {len(value) - _MOST_VALUES} more" if len(value) > _MOST_VALUES else "") or "(none)"
    return str(value)

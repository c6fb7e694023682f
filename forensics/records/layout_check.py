"""Check `parsers/layouts.toml` against its own examples: each line must match only its own block, and give exactly the stated values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from forensics.errors import CatalogueError
from forensics.records.layouts import Example, Heading, Layout, Layouts, Wrapper, packaged
from forensics.records.line_reader import Profile, RecordReader, read_records
from forensics.records.timestamps import Moment, Zone

_WHERE = "parsers/layouts.toml"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_READ = ("level", "thread", "logger", "source_line", "context", "message", "source")


def check(layouts: Layouts | None = None) -> Iterator[CatalogueError]:
    """Yield the errors of the given layouts, wrappers and headings; of the packaged ones by default."""
    layouts = layouts or packaged()
    for layout in layouts.layouts:
        yield from _check(layout, [(e, _read_by_layout(layouts, layout, e)) for e in layout.examples])
    for wrapper in layouts.wrappers:
        yield from _check(wrapper, [(e, _read_by_wrapper(layouts, wrapper, e)) for e in wrapper.examples])
    for heading in layouts.headings:
        yield from _check(heading, [(e, _read_by_heading(layouts, heading, e)) for e in heading.examples])


def _check(block: Layout | Wrapper | Heading, read: list[tuple[Example, Mapping[str, Any] | str]]) -> Iterator[CatalogueError]:
    if not read:
        yield CatalogueError(f"`{block.name}` has no example.", where=_WHERE, fix="Add a line that it matches, and the values to read from it.")
    for example, found in read:
        want = dict(example.fields) | ({"ts": _micros(example.fields["ts"])} if "ts" in example.fields else {})
        if isinstance(found, str):
            yield CatalogueError(f"An example of `{block.name}` does not match it.", why=found, where=f"{_WHERE}: {example.line}")
        elif found != want:
            wrong = {k: (found.get(k), want.get(k)) for k in found.keys() | want.keys() if found.get(k) != want.get(k)}
            why = "; ".join(f"{name} is {got!r}, not {wanted!r}" for name, (got, wanted) in sorted(wrong.items()))
            yield CatalogueError(f"An example of `{block.name}` gives other values.", why=why, where=f"{_WHERE}: {example.line}")


def _read_by_layout(layouts: Layouts, layout: Layout, example: Example) -> Mapping[str, Any] | str:
    """Return what the layouts read from an example of one layout; the reason, as a text, if another one matches."""
    placed = read_records(example.line.encode(), RecordReader(layouts, Profile(untimed=layout.untimed)))
    if len(placed) != 1:
        return f"it is {len(placed)} records"
    record = placed[0].record
    if record.layout != layout.name:
        return f"`{record.layout}` matches it"
    return _without_nothing({name: getattr(record, name) for name in _READ} | {"ts": _utc(record.moment)})


def _read_by_wrapper(layouts: Layouts, wrapper: Wrapper, example: Example) -> Mapping[str, Any] | str:
    profile = Profile(wrappers=(wrapper.name,), words=frozenset({""} if wrapper.words else ()), json="record")
    line = RecordReader(layouts, profile).unwrap(example.line)
    return (
        "nothing is removed"
        if line.text == example.line
        else _without_nothing({"source": line.source, "ts": _utc(line.collector), "level": line.level})
    )


def _read_by_heading(layouts: Layouts, heading: Heading, example: Example) -> Mapping[str, Any] | str:
    found = layouts.heading(example.line)
    if found is None or found[0].name != heading.name:
        return f"`{found[0].name}` matches it" if found else "no heading matches it"
    return _without_nothing({"source": found[1]})


def _without_nothing(found: Mapping[str, Any]) -> Mapping[str, Any]:
    return {k: v for k, v in found.items() if v is not None}


def _utc(moment: Moment | None) -> int | None:
    return None if moment is None else Zone("UTC").utc(moment)


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)

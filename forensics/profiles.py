"""The beginning of a file to its `Profile`: which wrappers, colours, JSON, times it has, and whether it is a log at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from forensics.layouts import Layouts, Wrapper, read_json, strip_colours
from forensics.records import Profile, RecordReader, decode
from forensics.timestamps import Moment

#: So much of a file's beginning is looked at.
SAMPLE_BYTES = 256 * 1024
_MOST_LINES = 2_000
_COMMON = 0.05
_DEPTH = 3
_MOST_TIMES = 400


def profile_of(sample: bytes, layouts: Layouts) -> Profile:
    """Looks at the beginning of a file.

    Args:
        sample: the file's first `SAMPLE_BYTES`, UTF-8; the last line may be cut.
        layouts: layouts to try.

    Returns:
        The profile; `fitting` is 0 for what is no log.
    """
    raw_lines = sample.split(b"\n")
    if len(sample) >= SAMPLE_BYTES and len(raw_lines) > 1:
        raw_lines.pop()
    lines = [t for t in (decode(raw) for raw in raw_lines[:_MOST_LINES]) if t.strip()]
    colours = any("\x1b[" in t for t in lines)
    if colours:
        lines = [strip_colours(t) for t in lines]
    profile = _profile(lines, layouts, untimed=False)
    if profile.fitting == 0:
        profile = _profile(lines, layouts, untimed=True)
    profile = replace(profile, colours=colours, lines=len(lines))
    return replace(profile, newest_first=_newest_first(_times(lines[:_MOST_TIMES], RecordReader(layouts, profile))))


def ends_of(head: bytes, tail: bytes, layouts: Layouts, profile: Profile) -> tuple[Moment | None, Moment | None]:
    """The first time in the beginning of a file and the last in its end; for a file that is sorted backwards the other way round."""
    reader = RecordReader(layouts, profile)
    first = _times((decode(raw) for raw in head.split(b"\n")[:_MOST_LINES]), reader, most=1)
    last = _times((decode(raw) for raw in reversed(tail.split(b"\n")[1:])), reader, most=1) or first
    ends = (first[0] if first else None, last[0] if last else None)
    return ends[::-1] if profile.newest_first else ends


def _profile(lines: Sequence[str], layouts: Layouts, *, untimed: bool) -> Profile:
    wrapped: dict[str, int] = {}
    fitting = objects = holders = 0
    for text in lines:
        names = _chain(text, layouts, untimed, _DEPTH)
        if names is None:
            continue
        fitting += 1
        for name in set(names):
            wrapped[name] = wrapped.get(name, 0) + 1
        objects += "json record" in names
        holders += "json wrapper" in names
    kind = "wrapper" if holders > objects else "record" if objects else ""
    enabled = tuple(w.name for w in layouts.wrappers if wrapped.get(w.name, 0) > _COMMON * fitting)
    return Profile(wrappers=enabled, json=kind, untimed=untimed, fitting=fitting)


def _chain(text: str, layouts: Layouts, untimed: bool, depth: int) -> list[str] | None:
    """Names of the wrappers around a line that begins a record, outermost first; None when it begins none."""
    direct = layouts.find(text, untimed)
    if direct and not direct[0].general:
        return []
    if text.startswith("{") and (found := read_json(text)) is not None:
        message = layouts.keys.get("message", found)
        if (
            isinstance(message, str)
            and layouts.keys.get("logger", found) is None
            and (inner := layouts.find(message, untimed))
            and not inner[0].general
        ):
            return ["json wrapper"]
        if message is not None and (layouts.keys.get("level", found) or layouts.keys.get("time", found)):
            return ["json record"]
    for wrapper in layouts.wrappers if depth else ():
        rest = _rest(text, wrapper, layouts)
        if rest is None:
            continue
        inner_names = _chain(rest, layouts, untimed, depth - 1)
        if inner_names is not None and not (wrapper.name == "quote" and rest == text):
            return [wrapper.name, *inner_names]
    return [] if direct else None


def _rest(text: str, wrapper: Wrapper, layouts: Layouts) -> str | None:
    match = layouts.compiled(wrapper.head).match(text)
    return text[match.end() :] if match and 0 < match.end() < len(text) else None


def _times(lines: Iterable[str], reader: RecordReader, most: int = _MOST_TIMES) -> list[Moment]:
    """Times of lines that begin a record, in order; at most `most`."""
    times: list[Moment] = []
    for text in lines:
        line = reader.unwrap(text)
        start = reader.start(line)
        moment = reader.finish(start, [line.text]).moment if start is not None else None
        if moment is not None and moment.wall_us is not None:
            times.append(moment)
            if len(times) >= most:
                break
    return times


def _newest_first(times: Sequence[Moment]) -> bool:
    """Whether times fall and hardly ever rise."""
    walls = [t.wall_us or 0 for t in times]
    falls = sum(a > b for a, b in zip(walls, walls[1:], strict=False))
    rises = sum(a < b for a, b in zip(walls, walls[1:], strict=False))
    return falls > 1 and rises * 10 <= falls and walls[0] > walls[-1]

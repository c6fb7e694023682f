"""Define the template language of word files: sandboxed Jinja2 in which an unknown name is an error, with filters for the types of facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from shlex import quote
from typing import Any

from jinja2 import StrictUndefined, Template, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

from forensics.wording import formats

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: Names beyond this number are only counted.
_LISTED = 10
#: The names of processes among the facts of a sentence; no column has such a name.
_NAMES = " names"


def moment(ms: int | None) -> datetime | None:
    """Return milliseconds since 1970 as a time; None for None and for a value outside the calendar."""
    try:
        return None if ms is None else _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return None


def _zone(context: Context) -> tzinfo | None:
    zone = context.get("zone")
    return zone if isinstance(zone, tzinfo) else None


@pass_context
def clock(context: Context, ms: int | None, date: bool = False) -> str:
    """Return a moment in the reader's zone: `07:51:44.123`; with the date if requested, or if the sentence covers several days."""
    ts = moment(ms)
    if ts is None:
        return "an unknown time"
    local = ts.astimezone(_zone(context) or UTC)
    text = local.strftime("%H:%M:%S.") + f"{local.microsecond // 1000:03d}"
    return f"{local:%Y-%m-%d} {text}" if date or context.get("with_dates") else text


@pass_context
def second(context: Context, ms: int | None, up: bool = False) -> str:
    """Return a moment to the second, `07:51:44`, rounded down, or up where something was over by then; with its date where `clock` has it."""
    ts = moment(None if ms is None else -(-ms // 1000) * 1000 if up else ms)
    if ts is None:
        return "an unknown time"
    local = ts.astimezone(_zone(context) or UTC)
    return f"{local:%Y-%m-%d %H:%M:%S}" if context.get("with_dates") else f"{local:%H:%M:%S}"


@pass_context
def minute(context: Context, ms: int | None) -> str:
    """Return a moment to the minute, with its date: `2026-11-21 07:51`."""
    ts = moment(ms)
    return f"{ts.astimezone(_zone(context) or UTC):%Y-%m-%d %H:%M}" if ts else "an unknown time"


def duration(ms: float | None, up: bool | None = None) -> str:
    """Return a duration: `340 ms`, `22.5 s`, `2 min 05 s`; a bound from below is rounded down (`up=false`), one from above up (`up=true`)."""
    return formats.span(ms, "an unknown time", up=up)


def count(number: int | None, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 task`, `2 tasks`."""
    return formats.count(number or 0, one, many)


def times(number: int | None) -> str:
    """Return a number of times: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number or 0) or formats.count(number or 0, "time")


def seconds(ms: int | None, up: bool = False) -> str:
    """Return a span for a headline: whole seconds above ten, rounded down, or up for an upper bound."""
    return formats.about(ms, up=up) if ms is not None else "?"


def seconds_to(lo_ms: int, hi_ms: int) -> str:
    """Return bounds of a span for a headline: `33-44 s`."""
    return formats.about_between(lo_ms, hi_ms)


def listed(items: Sequence[object] | None, limit: int = _LISTED, last: str = "and") -> str:
    """Join items: `a`, `a and b`, `a, b and c`; items beyond `limit` are only counted."""
    names = [str(i) for i in items or ()]
    if len(names) > limit:
        names = [*names[:limit], f"{len(names) - limit} more"]
    return formats.joined(names, last) if names else "none"


def ahead_of(lo_ms: int | None, hi_ms: int | None) -> str:
    """Return the bounds of the difference of two clocks: `between 3 ms behind and 4 ms ahead of`, `between 3,599,996 and 3,600,003 ms behind`."""
    lo, hi, where = (-(hi_ms or 0), -(lo_ms or 0), "behind") if hi_ms is not None and hi_ms < 0 else (lo_ms, hi_ms, "ahead of")
    if lo is not None and hi is not None and lo < 0:
        return f"between {-lo:,} ms behind and {hi:,} ms ahead of"
    return f"between {lo:,} and {hi:,} ms {where}" if lo is not None and hi is not None else f"an unknown time {where}"


def words_of(code: str | None) -> str:
    """Return a code of the closed vocabularies as words: `woke_after_freeze` is `woke after freeze`."""
    return (code or "unknown").replace("_", " ")


def sentence(text: str | None) -> str:
    """Return a text with exactly one full stop at its end."""
    stripped = (text or "").strip()
    return stripped if stripped.endswith((".", "!", "?")) or not stripped else f"{stripped}."


def upper_first(text: str) -> str:
    """Return the text with a capital first letter, for a name that begins a sentence; file names stay as they are."""
    return text if {"/", "."} & set(text.split(" ", 1)[0]) else text[:1].upper() + text[1:]


def folded(names: str) -> str:
    """Return a list of partitions with the numbers of each topic together: `orders-0, orders-1, orders-2` is `orders-[0-2]`."""
    return formats.fold(names.split(", "))


def of_process(client: str | None, process: str) -> str:
    """Return a process; if it only has the name of its file, with the name of its client before it: `billing-1 of app.log`."""
    is_known = client is not None and client != "-" and "." in process and "/" not in process and process not in client and client not in process
    return f"{client} of {process}" if is_known else process


def shell(text: object) -> str:
    """Return a value of the evidence quoted as one word of a shell command for pasting."""
    return "?" if text is None else quote(str(text))


FILTERS = {
    "clock": clock, "second": second, "minute": minute, "duration": duration, "seconds": seconds, "seconds_to": seconds_to, "count": count, "times": times, "listed": listed, "and_more": formats.and_more, "words": words_of, "sentence": sentence,
    "upper_first": upper_first, "shorten": formats.shorten, "member": formats.short_member, "ahead_of": ahead_of, "triggers": formats.trigger_count,
    "shell": shell, "folded": folded, "of_process": of_process,
}  # fmt: skip


class _Named(Context):
    """The facts of a sentence, with the names of processes in place of their IDs.

    Only the facts that a template uses are looked through: a case of many findings has a hundred times as many.
    """

    def resolve_or_missing(self, key: str) -> Any:  # noqa: ANN401  (facts)
        value, names = super().resolve_or_missing(key), self.parent[_NAMES]
        return _called(value, names) if names and isinstance(value, (str, list, dict)) else value


def _called(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  (facts)
    """Put names in place of process IDs, at any depth, also before a task or client of the process."""
    if isinstance(value, str):
        process, _, client = value.rpartition(" ")
        return names.get(value) or (f"{names[process]} {client}" if process in names else value)
    if isinstance(value, Mapping):
        return {key: _called(item, names) for key, item in value.items()}
    return [_called(item, names) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=1)
def environment() -> SandboxedEnvironment:
    """Return the only environment. It has no autoescape, because the texts are plain and each report format escapes them itself."""
    env = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False, finalize=lambda value: "?" if value is None else value)  # noqa: S701
    env.globals.clear()
    env.context_class = _Named
    env.filters = {
        name: f for name, f in env.filters.items() if name in ("default", "length", "join", "first", "last", "round", "int", "map", "select")
    }
    env.filters |= FILTERS
    return env


@lru_cache(maxsize=1024)
def compiled(text: str) -> Template:
    """Return a template, compiled once.

    Raises:
        jinja2.TemplateSyntaxError: the text is not a template.
    """
    return environment().from_string(text)


def render(text: str, facts: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """Return a template's text for some facts, with line breaks and runs of blanks collapsed to one blank.

    Args:
        text: the template.
        facts: the values of its names.
        names: names of processes, by process_id, put in place of these at any depth of a fact.

    Raises:
        jinja2.UndefinedError: the template has a name that the facts lack.
    """
    template = compiled(text)
    # `Template.render` would copy the facts twice.
    context = template.new_context({**facts, _NAMES: names or {}}, shared=True)
    return " ".join("".join(template.root_render_func(context)).split())

"""Convert the text of a capture to a typed value. `fields.toml` defines the type; the set of types is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any

import regex

from forensics.catalogue.embedded_protocol import decode_assignment
from forensics.catalogue.threads import threads_of
from forensics.redaction import hide

Value = str | int | float | list[str] | dict[str, list[str]] | dict[str, str]

_INT64 = (-(2**63), 2**63 - 1)
_LONGEST_INT = 20
_LONGEST_BLANK = 64
#: The end of a name that was cut off.
_CUT = ("...", "…")
_BLANKED = regex.compile(r"[<\[({]?(?:\.{2,}|…+|\*{2,}|[xX]{3,}|[xX]{2,}(?:-[xX]{2,})+|(?i:redacted|masked|anonymi[sz]ed))[>\])}]?")
#: First characters of texts that may be blanked or missing; most names are ruled out by their first character.
_BEGINS_BLANK = frozenset("<[({.…*xXrRmMaA")
_SINGULAR_NULLS = {"", "null", "None", "Optional.empty", "Optional[null]"}
_PYTHON_PARTITION = regex.compile(r"TopicPartition\(topic=u?'([^']*)',\ partition=(\d+)\)")
_SLASH_PARTITION = regex.compile(r"^([A-Za-z0-9._-]+)/(\d+)$")
_QUOTED_TOPIC = regex.compile(r"`([^`]+)`: ([\d, ]*)")
_GO_PARTITION = regex.compile(r"\{topic:([^\s{}]++) partition:(\d+)\}")
_PARTITION_AT = regex.compile(r"(?<![A-Za-z0-9._-])([A-Za-z0-9._-]++)\[([0-9]+)\]@")  # confluent-kafka-go: partition and offset
#: franz-go: the offset of each partition in braces, as `topic[0{17 e3 ce0} 1{...}]` or JSON.
_OFFSETS_OF_TOPIC = regex.compile(r'(?<![A-Za-z0-9._-])"?([A-Za-z0-9._-]++)"?(?::\{|\[)((?:[ ,]?"?\d++"?:?\{[^{}\[\]]*+\})++)[\]}]')
_OFFSET_OF = regex.compile(r'(?<![^ ,"{\[])(\d++)"?:?\{')
_BROD_TOPIC = regex.compile(r"^[^\S\n]*+([A-Za-z0-9._-]++):[^\S\n]*+$|^[^\S\n]*+partition=(\d++)\b", regex.MULTILINE)
#: A row of the table in which Faust prints a topic and its partitions; the frame is drawn in Unicode, in ASCII, or in the letters of a terminal.
_FAUST_ROW = regex.compile(r"^[^\S\n]*+[x|\u2502][ ]++([A-Za-z0-9._-]++)[ ]++[x|\u2502][ ]++\{([0-9, -]++)\}[ ]++[x|\u2502]", regex.MULTILINE)
_RANGE = regex.compile(r"(\d++)(?:-(\d++))?")
_LONGEST_RANGE = 10_000
_NUMBER = regex.compile(r"\d+")
_TASK_ENDS = regex.compile(r"[-_]\d+$")
_TOPIC_NUMBERS = regex.compile(r'"?([A-Za-z0-9._-]+)"?[:=]?\ ?\[([\d,\ ]*)\]')
_NUMBERS_BY_TOPIC = regex.compile(rf"\{{?(?:{_TOPIC_NUMBERS.pattern}[,\ ]*+)+\}}?", regex.VERSION1)
#: The text after a member ID; the ID is the text before it, back to the last character that no ID contains.
_FLAT_OWNED = regex.compile(r"=(?:\w*+\((?:\w++=)?)?\[([^\]]*+)\]")
_BEFORE_ID = regex.compile(r"[={}\[\]()]")
_FLAT_ID = regex.compile(r"(?<=^|[{ ])[^\s,]")
_IN_BRACES = regex.compile(r"\{([^{}]*+)\}")
_CONNECT_OWNED = regex.compile(r"[ {]connectorIds=(\[(?:(?![ {]connectorIds=\[)[^\]])*+\]), taskIds=(\[[^\]]*+\])")
_OFFSET = regex.compile(r"(?<![^\s{}=,])([^\s{}=,]++)=\w++\{offset=(-?\d++)")
_BYTES_MEMBER = regex.compile(r"memberId='([^']*)', assignment=\[([-\d, ]*)\]")


def to_string(text: str) -> str | None:
    """Return the text; None for Java's missing value, and for a name that was blanked or cut off, because equal blanks or beginnings are not equal names."""
    if text in _SINGULAR_NULLS or is_blanked(text):
        return None
    return None if text.endswith(_CUT) and " " not in text else text


def is_blanked(text: str) -> bool:
    """Return True if a name was replaced by dots, stars or the like before the log was shared."""
    return text[:1] in _BEGINS_BLANK and len(text) < _LONGEST_BLANK and _BLANKED.fullmatch(text) is not None


def to_int(text: str) -> int | None:
    """Return a decimal integer; None if it is not a 64-bit number, because a line may contain anything."""
    if text in _SINGULAR_NULLS or len(text) > _LONGEST_INT:
        return None
    value = int(text)
    return value if _INT64[0] <= value <= _INT64[1] else None


def to_double(text: str) -> float | None:
    """Return a decimal number, which may have a comma."""
    return float(text.replace(",", ".")) if text not in _SINGULAR_NULLS else None


def to_list(text: str) -> list[str] | None:
    """Return the items of `[a, b]`, `Set(a, b)`, `{a, b}` or `a, b`, in order; partitions as Python prints them become `topic-number`."""
    if text == "null" or text.endswith(_CUT):  # the other items are unknown
        return None
    if "TopicPartition(topic=" in text:
        return [f"{found[1]}-{found[2]}" for found in _PYTHON_PARTITION.finditer(text)]
    inner = text.strip()
    if inner in ("set()", "set([])"):
        return []
    if inner[:1] == "[" and inner[-1:] == "]":
        return inner[1:-1].split(", ") if len(inner) > 2 else []
    if inner[-1:] in ("]", ")", "}"):
        start = min((i for i in (inner.find("["), inner.find("("), inner.find("{")) if i >= 0), default=-1)
        if inner[:start].isalpha() or start == 0:
            inner = inner[start + 1 : -1].strip()
    return inner.split(", ") if inner else []


def to_partitions(text: str) -> list[str] | None:
    """Return partitions as `topic-number`, even if a client prints `{topic:t partition:0}`, "`t`: 0, 1", `topic/0`, `topic [0]`, `map[topic:[0 1]]`, `topic[0 1]`, `[topic[0]@17]`, `{topic=[0, 1]}`, `{"topic":[0,1]}` or lines of them."""
    if "\n" in text:
        return _listed(text)
    if text.endswith(_CUT):
        return None
    if quoted := _QUOTED_TOPIC.fullmatch(text):
        return [f"{quoted[1]}-{n}" for n in _NUMBER.findall(quoted[2])]
    if "{topic:" in text:
        return [f"{found[1]}-{found[2]}" for found in _GO_PARTITION.finditer(text)]
    if "]@" in text:
        return [f"{found[1]}-{found[2]}" for found in _PARTITION_AT.finditer(text)]
    if offsets := _OFFSETS_OF_TOPIC.findall(text):
        return [f"{topic}-{n}" for topic, held in offsets for n in _OFFSET_OF.findall(held)]
    bare = text.removeprefix("map[").removesuffix("]") if text.startswith("map[") else text
    if _NUMBERS_BY_TOPIC.fullmatch(bare):
        return [f"{topic}-{n}" for topic, numbers in _TOPIC_NUMBERS.findall(bare) for n in _NUMBER.findall(numbers)]
    return [_SLASH_PARTITION.sub(r"\1-\2", item) for item in found] if (found := to_list(text)) is not None else None


def to_tasks(text: str) -> list[str] | None:
    """Return the tasks of `[b-0, b-1]` (Streams: `[0_0, 0_1]`), in order; each ends in its number, so a comma before it belongs to a name."""
    parts = to_list(text)
    if not parts:
        return parts
    found, partial = [], ""
    for part in parts:
        partial += part
        if _TASK_ENDS.search(part):
            found.append(partial)
            partial = ""
        else:
            partial += ", "
    return [*found, partial.removesuffix(", ")] if partial else found


def _listed(text: str) -> list[str]:
    """Return partitions as brod lists them (a line with the topic, then a line for each partition), or as Faust does: a table of topics and ranges."""
    found = [f"{name}-{n}" for name, ranges in _FAUST_ROW.findall(text) for first, last in _RANGE.findall(ranges) for n in _numbers(first, last)]
    topic = ""
    for name, number in _BROD_TOPIC.findall(text):
        topic = name or topic
        if number and topic:
            found.append(f"{topic}-{number}")
    return found


def _numbers(first: str, last: str) -> range:
    """Return the partitions of a range; only its first if its length is absurd."""
    begin, end = int(first[:9]), int((last or first)[:9])
    return range(begin, (end if end - begin < _LONGEST_RANGE else begin) + 1)


def to_map(text: str) -> dict[str, list[str]] | None:
    """Return resources by member ID: `{m=Assignment(partitions=[t-0]), n=[]}`, `{m={t=[0, 1]}}`, or `memberId='m', assignment=[bytes]`."""
    if "assignment=[" in text and "memberId='" in text:
        return {m[1]: _resources(m[2]) for m in _BYTES_MEMBER.finditer(text)}
    if "=[" in text and text.count("{") <= 1 and "->" not in text:
        return dict(_flat_members(text))
    return {key: _owned(body) for key, body in _entries(text.strip())}


def _flat_members(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each member ID with its resources from `{m=[a, b], n=Assignment(partitions=[c])}`, in one pass for any input."""
    text = text[: text.rfind("]") + 1]
    done = 0
    for found in _FLAT_OWNED.finditer(text):
        begin = max((m.end() for m in _BEFORE_ID.finditer(text, done, found.start())), default=done)
        done = found.end()
        if first := _FLAT_ID.search(text, begin, found.start()):
            yield text[first.start() : found.start()], found[1].split(", ") if found[1] else []


_hidden = lru_cache(maxsize=8_192)(hide)  # every client prints the same hundred defaults


def to_config(text: str) -> dict[str, str]:
    r"""Return keys and values of `\tkey = value` lines (with blanks if a paste lost the tabs), without secrets; an empty value stays empty."""
    found: dict[str, str] = {}
    for line in text.split("\n"):
        if line[:1] == "\t" or line[:2] == "  ":
            key, equals, value = line.lstrip().partition(" =")
            if equals and " " not in key and not value.endswith(_CUT):
                found[key] = _hidden(key, value.strip())
    return found


def to_offsets(text: str) -> dict[str, int]:
    """Return offsets by partition of `{t-0=OffsetAndMetadata{offset=5, ...}}` or `{t-0=FetchPosition{offset=5, ...}}`."""
    return {m[1]: value for m in _OFFSET.finditer(text) if (value := to_int(m[2])) is not None}


def to_address(text: str) -> str | None:
    """Return `host:port`, even from a printed `host='...', port=...`."""
    return to_string(text.replace("', port=", ":"))


@dataclass(frozen=True, slots=True)
class NoValue:
    """A text that is not a value of its capture's type.

    Attributes:
        reason: the type of its converter's exception; never the text, which may contain a secret.
    """

    reason: str


def _guarded(kind: str, convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a converter that never raises: a line may contain anything, and may cost at most its own record."""

    @wraps(convert)
    def guarded(text: str) -> Any:  # noqa: ANN401  (a value, or `NoValue`)
        try:
            return convert(text)
        except Exception as e:
            return NoValue(f"its text is not of type {kind} ({type(e).__name__})")

    return guarded


def expand_assignment(text: str) -> dict[str, Value]:
    """Return the captures in the signed decimal bytes of an assignment (`0, 1, 0, ...`); none if they are not an assignment."""
    return decode_assignment(text) or {}


#: Types whose value is a list of texts; it may be captured one item at a time.
LISTS = ("list", "partitions", "tasks")
#: Converters by type, which return `NoValue` for a text that they cannot convert; types that become several captures are in `EXPANDING`.
CONVERTERS: dict[str, Callable[[str], Any]] = {
    kind: _guarded(kind, convert)
    for kind, convert in {
        "string": to_string,
        "int": to_int,
        "double": to_double,
        "list": to_list,
        "partitions": to_partitions,
        "tasks": to_tasks,
        "map": to_map,
        "config": to_config,
        "offsets": to_offsets,
        "address": to_address,
        "threads": threads_of,
    }.items()
}
EXPANDING: dict[str, Callable[[str], dict[str, Value] | NoValue]] = {"assignment_bytes": _guarded("assignment_bytes", expand_assignment)}


def _resources(numbers: str) -> list[str]:
    found = decode_assignment(numbers) or {}
    both: list[str] = []
    for name in ("assigned_partitions", "assigned_connectors", "assigned_tasks"):
        both.extend(found.get(name, []))
    return both


def _entries(text: str) -> list[tuple[str, str]]:
    """Split `{k=v, k=v}` at its outermost commas."""
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    elif text.startswith("Map(") and text.endswith(")"):
        text = text[4:-1]
    entries = []
    for part in _split(text):
        key, arrow, body = part.partition(" -> ")
        if not arrow:
            key, _, body = part.partition("=")
        entries.append((key.strip(), body.strip()))
    return entries


def _split(text: str) -> list[str]:
    """Return the parts of a printed collection, split at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        if char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _owned(body: str) -> list[str]:
    """Return the partitions or tasks in one value of a map."""
    connect = _CONNECT_OWNED.search(body)
    if connect:
        return [*(to_list(connect[1]) or []), *(to_tasks(connect[2]) or [])]
    opening, closing = body.find("["), body.find("]")
    by_topic = next((m for m in _IN_BRACES.finditer(body) if "=[" in m[1]), None)
    if by_topic:
        return [f"{topic}-{n}" for topic, numbers in _entries(by_topic[1]) for n in to_list(numbers) or []]
    if opening >= 0:
        return to_list(body[opening : closing + 1]) or []
    return [] if body.endswith(("{}", "{})", "()")) else to_list(body) or []

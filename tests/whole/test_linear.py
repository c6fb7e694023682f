# SPDX-License-Identifier: Apache-2.0
"""No line makes the reading slow: the time of every expression that takes lines apart grows as the line does.

A line is pumped: wherever one of its parts may stand, it stands a thousand times. Twice as many must cost about twice as much.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise

import expressions
import pytest
from layout_families import families
from test_layout_families import RECORDS

from forensics import redaction
from forensics.case import needs
from forensics.catalogue import converters, prefixes
from forensics.catalogue.linear import linear_form
from forensics.catalogue.pattern_files import EventPattern
from forensics.catalogue.patterns import compiled, find, load
from forensics.catalogue.prefixes import Prefixes
from forensics.catalogue.recogniser import Recogniser
from forensics.evidence import rotation
from forensics.records import exports, layout_inference
from forensics.records import layouts as layouts_module
from forensics.records.exports import layout_of_export
from forensics.records.json_documents import LIST, Document, document_path
from forensics.records.kafka_words import kafka_words
from forensics.records.layout_detection import profile_of
from forensics.records.layout_inference import guess, infer
from forensics.records.layouts import packaged, read_json_as_far, strip_colours
from forensics.records.line_reader import Profile, RecordReader, decode, read_records
from forensics.records.timestamps import NAMED, TimeFormat
from forensics.redact import text
from forensics.redact.pseudonyms import Pseudonyms
from forensics.redact.vocabulary import vocabulary_of
from forensics.resources import sql_dir
from forensics.snapshots import machine

LAYOUTS = packaged()
SIZE = 1_500
#: A line that costs less than this, in seconds, at four times SIZE grows no worse than it should.
NOTHING = 0.004
MAX_GROWTH = 2.9
LONGEST = 1.0
_TOKEN = re.compile(r"[A-Za-z]+|[0-9]+|\s+|.", re.DOTALL)
_ANYWHERE = (
    "a", "1", " ", "a.", "a ", "a.log", "a.log:", "-1-", "[a] ", "[", "(", "|", " | ", ": ", "- ", 'a="b", ', 'pod="', '"', "<a>", "> ", "\t", "a=b, ", "{", "{}",
    "\\", "a-", "A.B ", "a=b ", '",', "[[a]", "] [", "a/", "..", ";", '"" ', "\x1b[1", "a.B(", " (a.B",
)  # fmt: skip


class TooLongError(Exception):
    """An expression that did not come back in time."""


def _stop(*_: object) -> None:
    raise TooLongError


@pytest.fixture(autouse=True, scope="module")
def _alarm() -> Iterator[None]:
    before = signal.signal(signal.SIGPROF, _stop)
    yield
    signal.signal(signal.SIGPROF, before)


def seconds(take: Callable[[str], object], line: str) -> float:
    """Time of one reading, `LONGEST` at most."""
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    begun = time.process_time()
    try:
        take(line)
    except TooLongError:
        return LONGEST
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begun


def pumps(line: str, until: int) -> Iterator[Callable[[int], str]]:
    """Lines of any size, made of one line by repeating something in its first `until` characters."""
    starts = [*(m.start() for m in _TOKEN.finditer(line)), len(line)]
    for number, at in enumerate(at for at in starts if at <= until):
        own = {line[at : starts[min(number + size, len(starts) - 1)]] for size in (1, 3)} - {""}
        for part in sorted(own | set(_ANYWHERE)):
            for rest in (line[at:], "\x01") if part in own else ("\x01",):
                yield lambda size, at=at, part=part, rest=rest: line[:at] + part * (size // len(part)) + rest


def growing_times(take: Callable[[str], object], pump: Callable[[int], str]) -> list[float]:
    """The times of three sizes, each twice the one before, if they grow faster than the text; empty if not."""
    for sizes in ((1, 2, 4), (4, 8, 16)):  # a coarse clock is right about the larger ones
        times = [min(seconds(take, pump(n * SIZE)) for _ in range(3)) for n in sizes]
        if times[2] < LONGEST and not (times[2] > NOTHING and all(b > MAX_GROWTH * a for a, b in pairwise(times))):
            return []
    return times


def grows_too_fast(take: Callable[[str], object], line: str, until: int | None = None) -> str:
    """The beginning of a pumped line whose time grows faster than it; empty when there is none."""
    for pump in pumps(line, len(line) if until is None else until):
        if seconds(take, pump(4 * SIZE)) < NOTHING:
            continue
        if times := growing_times(take, pump):
            return f"{times}: {pump(60)!r}"
    return ""


def head_grows_too_fast(head: str, line: str) -> str:
    """The same for an expression at the beginning of a line: text that it never reaches costs nothing."""
    pattern = re.compile(head)
    found = pattern.match(line)
    return grows_too_fast(pattern.match, line, found.end() if found else None)


def sample(line: str) -> str:
    return line.split("\n")[0][:120]


# --- all expressions

_HEADS = [*(w.head for w in LAYOUTS.wrappers), *(h for x in LAYOUTS.layouts for h in (x.head, x.second) if h), *(h.head for h in LAYOUTS.headings)]
_FORMATS = {x.time.text for x in (*LAYOUTS.wrappers, *LAYOUTS.layouts) if getattr(x, "time", None)} | {
    *NAMED,
    "ANY",
    "ISO8601",
    "yyyy/MM/dd-HH:mm:ss.SSS",
}
_WORDS = kafka_words()


def _rewriter() -> text.Rewriter:
    names = text.Names()
    for kind, name in (("group", "pay-ments"), ("topic", "orders.eu"), ("host", "db"), ("client", "a1"), ("connector", "sink_b")):
        names.add(kind, name)
    found = text.Rewriter(Pseudonyms(vocabulary_of(load()), key=b"k" * 32), names)
    found.learn()
    return found


_REWRITER = _rewriter()


@dataclass(frozen=True)
class AtEnd:
    """An expression that is searched only in the last characters of a line."""

    compiled: re.Pattern[str]
    characters: int

    @property
    def pattern(self) -> str:
        return self.compiled.pattern

    @property
    def flags(self) -> int:
        return self.compiled.flags

    def search(self, text: str) -> object:
        return self.compiled.search(text[-self.characters :])


def _likes(stored: object) -> set[str]:
    """Return the expressions in the stored conditions of views: forms of LIKE."""
    if isinstance(stored, dict):
        return {x for part in stored.values() for x in _likes(part)}
    if isinstance(stored, list):
        own = {str(stored[3])} if stored[:1] == ["like"] else set()
        return own | {x for part in stored for x in _likes(part)}
    return set()


#: Expressions that are only known in a running program, by the call that compiles them: all of them, or samples.
BY_HAND = {
    "case.needs:hold": [("fullmatch", re.compile(like, re.DOTALL)) for like in sorted(_likes(json.loads((sql_dir() / needs.STORED).read_text())))],
    "case.query_parts:with_values": [],  # for the files of sql/
    "catalogue.client_libraries:captures_of": [
        ("fullmatch", re.compile(value)) for event in load().events for value in event.keys.values() if "(?P<" in value
    ],
    "catalogue.patterns:compiled": [],  # below
    "catalogue.plans:_compiled_quickly": [],  # for at most LONG_MESSAGE characters
    "catalogue.patterns:beginnings": [("finditer", re.compile(r"joined\ group|left\ group"))],
    "catalogue.prefixes:_pairs_of": [("findall", prefixes._pairs_of(("clientId", "groupId")))],
    "engines.sail_sql:_escaped": [("sub", re.compile(r"\\.|''", re.DOTALL))],
    "evidence.rotation:_RULES": [("fullmatch", rule) for _, rule in rotation._RULES],  # by the name of a loop's variable
    "records.exports:layout_of_export": [("fullmatch", re.compile(look)) for look, _ in exports._TIMES],
    "snapshots.machine:parse": [("fullmatch", pattern.pattern) for pattern in machine.all_patterns()],
    "records.kafka_words:_compiled": [
        *(("fullmatch", x.pattern) for x in (*_WORDS.prefixes, *_WORDS.names)),
        *(("search", x.pattern) for x in _WORDS.signs.values()),
    ],
    "records.layout_inference:_layout": [
        ("search", AtEnd(re.compile(tail + r"\Z"), layout_inference.TAIL_WINDOW)) for tail in layout_inference._TAILS
    ],
    "records.layout_inference:_month_first": [],  # below, as all that are inferred
    "records.layout_inference:_bracket": [("match", re.compile(r" *\]"))],
    "records.layouts:compiled": [("match", re.compile(head)) for head in _HEADS],
    "records.layouts:_alternation": [],  # one head after the other, each of which is pumped alone
    "records.nearest_layout:nearest": [],  # for a line's first characters
    "records.timestamps:__init__": [("fullmatch", TimeFormat(name)._regex) for name in sorted(_FORMATS)],
    "redact.text:_TASK_THREAD": [("fullmatch", text._TASK_THREAD)],  # by the name of a loop's variable
    "redact.text:_HEARTBEAT": [("fullmatch", text._HEARTBEAT)],
    "redact.text:_KEYS": [("search", pattern) for _, pattern in text._KEYS],
    "redact.text:learn": [("search", _REWRITER._leak)],
    "redact.text:_compile": [("sub", _REWRITER._tokens), ("sub", _REWRITER._simple_tokens)],
    "redaction:keys": [
        *(
            ("search", x)
            for x in (
                redaction.keys().secret,
                redaction.keys().key_of,
                redaction.keys().about,
                redaction.keys().sifted,
                redaction.keys().short_sifted,
            )
        ),
    ],
    "redaction:_LOOKS_RANDOM": [("match", redaction._LOOKS_RANDOM)],  # called on one of two expressions
    "redaction:shapes": [x for s in redaction.shapes() for x in (("search", re.compile(s.sieve)), ("sub", s.pattern))],
}
#: Expressions over the product's own texts.
OWN = {
    "case.view_files:_DECLARATION": "packaged views, each of which declares one view",
    "case.view_files:thresholds_sql": "the packaged thresholds",
    "redact.records:_prefix": "text before the last closing bracket, where each match ends at the next one",
}
EXPRESSIONS = [*expressions.of_modules(BY_HAND, OWN), *expressions.of_sql()]


def slow_text(take: Callable[[str], object], pattern: object, *, many: bool) -> str:
    """The beginning of a text whose time grows faster than it; empty if there is none."""
    for before, part, after in expressions.texts(pattern, many=many):

        def pump(size: int, before: str = before, part: str = part, after: str = after) -> str:
            return before + part * (size // len(part)) + after

        if seconds(take, pump(2 * SIZE)) < NOTHING:
            continue
        if times := growing_times(take, pump):
            return f"{times}: {before!r}, many {part!r}, {after!r}"
    return ""


def test_the_list_has_all_expressions():
    """A call that is in no list fails in `of_modules`; here, that the search finds calls, attributes and SQL at all."""
    found = {e.where.partition(":")[0] for e in EXPRESSIONS}
    assert {"inventory.file_type", "redaction", "report.pasted", "records.layouts", "wording.formats"} <= found
    assert any(where.endswith(".sql") for where in found)
    assert len(EXPRESSIONS) > 500


@pytest.mark.parametrize(("step", "many"), [pytest.param(150, False, id="some"), pytest.param(1, True, id="all", marks=pytest.mark.slow)])
def test_each_expression(step, many):
    assert [f"{e.where} {e.pattern.pattern[:80]!r} {found}" for e in EXPRESSIONS[::step] if (found := slow_text(e.take, e.pattern, many=many))] == []


@pytest.mark.parametrize("wrapper", LAYOUTS.wrappers, ids=lambda x: x.name)
def test_wrappers(wrapper):
    assert [found for e in wrapper.examples if (found := head_grows_too_fast(wrapper.head, sample(e.line)))] == []


@pytest.mark.parametrize("layout", LAYOUTS.layouts, ids=lambda x: x.name)
def test_layouts(layout):
    line = sample(layout.examples[0].line)
    assert head_grows_too_fast(layout.head, line) == ""
    assert grows_too_fast(lambda text: LAYOUTS.find_tail(layout, text), line) == ""
    if layout.second:
        assert head_grows_too_fast(layout.second, sample(layout.examples[0].line.split("\n")[1])) == ""


def inferred():
    """Return layouts without a description, each with a line of its own."""
    known: dict[str, tuple[object, str]] = {}
    for family in families():
        lines = [t for raw in family.render(RECORDS[:60]).split(b"\n") if (t := decode(raw)).strip()]
        export = layout_of_export(lines, LAYOUTS)
        for layout in (export,) if export else infer(lines):
            head = re.compile(layout.head)
            line = next((t for t in lines if head.match(t)), None)
            if line is not None:
                known.setdefault(layout.head, (layout, line))
    return list(known.values())


@pytest.mark.parametrize("step", [pytest.param(10, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
def test_inferred_layouts_and_exports(step):
    layouts = inferred()[::step]
    assert layouts
    found = []
    for layout, line in layouts:
        found.append(head_grows_too_fast(layout.head, sample(line)))
        if layout.tails:
            found.append(grows_too_fast(lambda text, layout=layout: LAYOUTS.find_tail(layout, text), sample(line)))
    assert [fault for fault in found if fault] == []


WHOLE = "[2026-11-21 07:51:21,404] INFO [Worker clientId=connect-1, groupId=g] Joined (org.apache.kafka.A:12)"
_RECORD = {"level": "INFO", "message": "m"}
_LOKI = {"data": {"result": [{"stream": {"pod": "p"}, "values": [["1767225600000000000", "a"]]}]}}


def _document(path: tuple[str, ...]) -> Callable[[str], object]:
    """Return the readers of a document with records, and of one in which they must be found."""

    def take(text: str) -> None:
        content = text.encode("utf-8", "replace")
        document_path(content, LAYOUTS.keys)
        list(Document(BytesIO(content), path, LAYOUTS.keys, 1 << 20).elements())

    return take


TAKING = {
    "guess": (guess, [WHOLE, "2026-11-21 07:51:21 | INFO | main thread | a.B | joined", "ts=2026-11-21T07:51:21Z level=info logger=a.B msg=x"]),
    "colours": (strip_colours, ["\x1b[32mINFO\x1b[0m m", "[32mINFO[0;39m m"]),
    "broken JSON": (read_json_as_far, ['{"a":"b", "c": "d"e", "f": 1, "g": "h\\"i"}', '{"a": {"b": [1], "c": {"d": "e"f"}}, "g": 1']),
    "prefixes": (Prefixes().split, ["[b|task-1] [Consumer clientId=connector-consumer-b-1, groupId=connect-b] Resetting", "stream-thread [a-1] x"]),
    "array": (_document((LIST,)), [json.dumps([_RECORD, _RECORD])]),
    "Elasticsearch answer": (_document(("hits", "hits", LIST)), [json.dumps({"hits": {"hits": [{"_source": _RECORD}]}})]),
    "Loki answer": (_document(("data", "result", LIST, "values", LIST)), [json.dumps(_LOKI)]),
    "looks timed": (lambda text: layouts_module.has_colours([text]), [WHOLE]),
}


#: One way through a document is as good as another for the quick run.
SLOW = ("Elasticsearch answer", "Loki answer", "array")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in TAKING])
def test_other_takings(name):
    take, lines = TAKING[name]
    for line in lines:
        assert grows_too_fast(take, line) == ""


HARD = [
    "a.log" * 10, 'pod="' * 8, "a.log:" * 6, "[a] " * 8, "2026-11-21T07:51:21Z {" + 'a="b",' * 6, "> " * 10, json.dumps({"message": "a" * 30, "level": "INFO"}), "{" * 20, '{"a":' * 8,
    '{"a":"' + '"   ' * 8, "connect-0" * 5, "a/" * 20, "\x1b[1" * 10, "1" * 40, '"a",' * 10, "a=b " * 10, WHOLE, "(" * 40, " (org.apache.kafka.A" * 4,
]  # fmt: skip


@pytest.mark.parametrize("line", HARD, ids=lambda x: x[:12])
def test_a_whole_file_of_it(line):
    """Run all of it: the detection of a file's layout, and the reading of its records with all wrappers."""

    def take(text: str) -> None:
        content = (text + "\n" + WHOLE + "\n").encode()
        profile_of(content, LAYOUTS)
        everything = Profile(wrappers=tuple(w.name for w in LAYOUTS.wrappers), colours=True, json="both")
        read_records(content, RecordReader(LAYOUTS, everything))

    times = [min(seconds(take, line * (n * 3_000 // len(line))) for _ in range(2)) for n in (1, 2, 4)]
    assert times[2] < LONGEST
    assert times[2] < 0.05 or times[2] < MAX_GROWTH * MAX_GROWTH * times[0]


CATALOGUE = load()
RECOGNISER = Recogniser(CATALOGUE)
EXAMPLES = [(event, example.line[:300]) for event in CATALOGUE.events for example in event.examples]
#: Parts of a line that are repeated: one token, two, and four, as `offset`, `rsa.` and `, t-0`.
PARTS = (1, 2, 4)


def own_pumps(line: str) -> Iterator[Callable[[int], str]]:
    """Yield lines of any size, each made by repeating a part of the line in its place."""
    starts = [*(m.start() for m in _TOKEN.finditer(line)), len(line)]
    for number, at in enumerate(starts[:-1]):
        for part in {line[at : starts[min(number + size, len(starts) - 1)]] for size in PARTS}:
            yield lambda size, at=at, part=part: line[:at] + part * (size // len(part)) + line[at:]


def pumped_too_fast(take: Callable[[str], object], pump: Callable[[int], str]) -> str:
    """The beginning of a pumped line if its time grows faster than it; empty otherwise."""
    if seconds(take, pump(8_000)) < 0.05:
        return ""
    times = [min(seconds(take, pump(n * 8_000)) for _ in range(3)) for n in (1, 2, 4)]
    fast = times[2] >= LONGEST or all(b > MAX_GROWTH * a for a, b in pairwise(times))
    return f"{times}: {pump(60)!r}" if fast else ""


def _every(step: int, share: int) -> list[str]:
    found = []
    for event, line in EXAMPLES[::step]:
        logger = event.loggers[0] if event.loggers else None
        for pump in list(own_pumps(line))[::share]:
            for take in (lambda text, logger=logger: RECOGNISER.recognise(logger, text), redaction.scrub, redaction.hide_line):
                if told := pumped_too_fast(take, pump):
                    found.append(f"{event.name}: {told}")
    return found


def _takers(event: EventPattern) -> Iterator[tuple[Callable[[str], object], str]]:
    """Yield the pattern of an event as the product uses it for whole texts and, if keys and values may follow, for beginnings, with its RE2 form's name."""
    for whole in {True, not event.keys}:
        if linear_form(event.pattern, whole=whole) is None:  # RE2 is linear
            yield lambda text, whole=whole: find(event, text, whole=whole), "whole" if whole else "beginning"


#: Patterns that RE2 does not know, because they need lookaround, possessive repetitions, or several texts of one group.
HARD_PATTERNS = [(event, take) for event in CATALOGUE.events for take, _ in _takers(event)]


@pytest.mark.parametrize(("step", "many"), [pytest.param(48, False, id="some"), pytest.param(1, True, id="all", marks=pytest.mark.slow)])
def test_patterns_that_re2_does_not_know(step, many):
    found = {event.where: slow_text(take, compiled(event.pattern), many=many) for event, take in HARD_PATTERNS[::step]}
    assert {where: told for where, told in found.items() if told} == {}


def test_most_patterns_have_a_form_for_re2():
    assert len({event.where for event, _ in HARD_PATTERNS}) < len(CATALOGUE.events) / 10


@pytest.mark.parametrize(("step", "share"), [pytest.param(200, 10, id="some"), pytest.param(1, 1, id="all", marks=pytest.mark.slow)])
def test_messages_of_the_catalogue(step, share):
    assert _every(step, share) == []


#: What made the square of a line's length, by the function that read it.
PUMPED = [
    (converters.to_offsets, "{", "offset", "=OffsetAndMetadata{offset=1"),
    (converters.to_map, "{m=[], ", "a ", "=x=[]}"),
    (converters.to_map, "{{m={", " connectorIds=[", ""),
    (converters.to_map, "{{m={", "{a=[", ""),
    (converters.to_partitions, "", " \n ", ""),
    (redaction.is_secret_key, "", "rsa.", "x"),
    (redaction.is_secret_key, "", "clientId", "x"),
    (redaction.scrub, "a", "\n", "b"),
]


@pytest.mark.parametrize(("take", "before", "part", "after"), PUMPED, ids=lambda x: getattr(x, "__name__", None))
def test_what_once_took_the_square_of_a_line(take, before, part, after):
    assert pumped_too_fast(take, lambda size: before + part * (size // len(part)) + after) == ""


def test_members_are_read_as_before():
    assert converters.to_map("{m-1=[a-0, a-1], n=Assignment(partitions=[c-0])}") == {"m-1": ["a-0", "a-1"], "n": ["c-0"]}
    assert converters.to_map("{a b=[], c=[d-0]}") == {"a b": [], "c": ["d-0"]}
    assert converters.to_offsets("{t-0=OffsetAndMetadata{offset=5, leaderEpoch=null}, u-1=FetchPosition{offset=7}}") == {"t-0": 5, "u-1": 7}

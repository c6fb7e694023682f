"""Compute what follows from a pattern itself: text that every match contains, and whether all messages that differ only in numbers match alike.

A record is tried only against patterns whose literal text it contains. `facts_of` computes that text, so it need not be written down.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

from forensics.resources import parsers_dir

_PARSER: Any = importlib.import_module("re._parser")
_NAMED_GROUP = re.compile(r"\(\?P<\w+>")
_MAX_ALTERNATIVES = 16
#: A text of this length is rare enough: beyond it, having few alternatives matters more than length.
_SELECTIVE = 12
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")

#: Nodes that contain no other nodes, or none of which anything is kept.
_WITHOUT_GROUPS = ("LITERAL", "NOT_LITERAL", "ANY", "IN", "AT", "CATEGORY", "ASSERT", "ASSERT_NOT", "GROUPREF")

Texts = frozenset[str]
#: File of the facts of the shipped patterns, in `parsers/`.
STORED = "patterns.json"


class PatternFacts(NamedTuple):
    """What follows from a verbose pattern. A pattern with syntax that only `regex` supports has no known facts.

    Attributes:
        prefixes: every match begins with one of these; `("",)` if unknown.
        needle: the longest text that every match contains, or empty.
        anchors: every match contains one of these; empty if unknown.
        captures_once: True if no group can be captured several times.
        ignores_numbers, ignores_ids: True if messages that differ only in their numbers (in IDs such as member IDs) match alike. They do if every number is
            read as a whole by one repeated set of characters that contains all digits. Then each group begins and ends at the same distance from a number in
            all of these messages. The same holds for IDs; other parts of the pattern may read characters of IDs, but not a whole one.
    """

    prefixes: tuple[str, ...] = ("",)
    needle: str = ""
    anchors: tuple[str, ...] = ()
    captures_once: bool = False
    ignores_numbers: bool = False
    ignores_ids: bool = False


@lru_cache(maxsize=4096)
def facts_of(pattern: str) -> PatternFacts:
    """Return the facts of a verbose pattern. Those of shipped patterns are stored, because parsing all of them takes a second or two."""
    stored = _stored().get(_key(pattern))
    if stored is None:
        return computed_facts(pattern)
    prefixes, needle, anchors, *proved = stored
    return PatternFacts(tuple(prefixes), needle, tuple(anchors), *proved)


def computed_facts(pattern: str) -> PatternFacts:
    """Return the facts of a verbose pattern, computed from it."""
    try:
        # `regex` allows two groups with the same name, `re` does not; names do not matter here.
        tree = _PARSER.parse(_NAMED_GROUP.sub("(", pattern), re.VERBOSE)
    except re.error:
        return PatternFacts()
    prefixes, _ = _texts(tree)
    runs = list(_runs(tree))
    needle = max((text for run in runs if len(run) == 1 for text in run), key=len, default="")
    names = _NAMED_GROUP.findall(pattern)
    once = len(set(names)) == len(names) and not _repeats_a_group(tree, repeated=False)
    return PatternFacts(tuple(sorted(prefixes)), needle, tuple(sorted(_strongest(runs))), once, _ignores(tree, _DIGITS), _ignores(tree, _ID))


def to_store(patterns: Iterable[str]) -> str:
    """Return the content of the file of stored facts: one line for each pattern."""
    lines = sorted(f"{json.dumps(_key(pattern))}: {json.dumps(computed_facts(pattern))}" for pattern in set(patterns))
    return "{\n" + ",\n".join(lines) + "\n}\n"


@cache
def _stored() -> Mapping[str, Any]:
    file = parsers_dir() / STORED
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _key(pattern: str) -> str:
    return blake2b(pattern.encode(), digest_size=8).hexdigest()


def _repeats_a_group(items: Any, *, repeated: bool) -> bool:  # noqa: ANN401
    """Return True if a group among nodes of a pattern is inside a part that may be repeated."""
    for op, arg in items:
        name = str(op)
        if name == "SUBPATTERN":
            if (repeated and arg[0] is not None) or _repeats_a_group(arg[3], repeated=repeated):
                return True
        elif name in _REPEATS:
            if _repeats_a_group(arg[2], repeated=repeated or arg[1] > 1):
                return True
        elif name == "ATOMIC_GROUP":
            if _repeats_a_group(arg, repeated=repeated):
                return True
        elif name == "BRANCH":
            if any(_repeats_a_group(branch, repeated=repeated) for branch in arg[1]):
                return True
        elif name not in _WITHOUT_GROUPS:
            return True
    return False


class _Depends(Exception):
    """A part of a pattern depends on the characters of a number or an ID, or on how many digits a number has."""


class _Reads(NamedTuple):
    """How a part of a pattern reads the characters of numbers, or those of IDs.

    Attributes:
        empty: True if it may read nothing.
        first, last: how it may read its first and its last character: `_NO`, as one of `_SOME` characters of numbers (IDs), or of `_ALL` of them.
        some: how it may read any of its characters.
    """

    empty: bool
    first: int = 0
    last: int = 0
    some: int = 0


_NO, _SOME, _ALL = 0, 1, 2
#: Characters of a number; and of an ID such as `0d3c8a1e-7b52-4f60-9a17-5f3e2b1c4d68`.
_DIGITS, _ID = frozenset(b"0123456789"), frozenset(b"0123456789abcdef-")
#: An ID contains this many dashes.
_DASHES = 4


def _ignores(tree: Any, chars: frozenset[int]) -> bool:  # noqa: ANN401
    """Return True if a parsed pattern matches messages alike that differ only in numbers (or in IDs), given their characters."""
    try:
        _Reader(chars).reads(tree)
    except _Depends:
        return False
    return True


class _Reader:
    """A check of how a pattern reads some characters.

    Args:
        chars: the characters of numbers, or those of IDs.
    """

    def __init__(self, chars: frozenset[int]) -> None:
        self._chars = chars
        #: Number of dashes that may have been read since the last other character, and in all.
        self._dashes = self._seen = 0

    def reads(self, items: Any) -> _Reads:  # noqa: ANN401
        """Return how consecutive nodes of a pattern read the characters.

        Raises:
            _Depends: the pattern may depend on them.
        """
        empty, first, last, some = _Reads(empty=True)
        for op, arg in items:
            part = self._node(str(op), arg)
            self._ensure_apart(last, part.first)
            first, last = max(first, part.first) if empty else first, max(part.last, last if part.empty else _NO)
            empty, some = empty and part.empty, max(some, part.some)
        return _Reads(empty, first, last, some)

    def _node(self, op: str, arg: Any) -> _Reads:  # noqa: ANN401
        one = self._character(op, arg)
        if one is not None:
            _ensure(one < _ALL)
            return _Reads(False, one, one, one)  # noqa: FBT003
        if op in _REPEATS:
            return self._repeat(op, *arg)
        if op == "SUBPATTERN":
            return self.reads(arg[3])
        if op == "BRANCH":
            return self._either(*arg[1])
        _ensure(op in ("ASSERT", "ASSERT_NOT", "ATOMIC_GROUP", "AT"))
        if op == "ATOMIC_GROUP":
            part = self.reads(arg)
            _ensure(part.some == _NO)
            return part
        if op != "AT":
            self._condition(*arg)
        return _Reads(empty=True)

    def _condition(self, direction: int, body: Any) -> _Reads:  # noqa: ANN401
        """Return how a condition about the text around a position reads the characters; the position is not inside a number."""
        before = self._dashes, self._seen
        part = self.reads(body)
        self._dashes, self._seen = before
        # If it may end inside a number, it may have read only a part of it.
        _ensure(part.some == _NO or (direction > 0 and part.last == _NO and not part.empty))
        return part

    def _either(self, *branches: Any) -> _Reads:  # noqa: ANN401
        before, after, parts = self._dashes, [], []
        for branch in branches:
            self._dashes = before
            parts.append(self.reads(branch))
            after.append(self._dashes)
        self._dashes = max(after)
        return _Reads(*map(max, zip(*parts, strict=True)))

    def _repeat(self, op: str, least: int, most: int, body: Any) -> _Reads:  # noqa: ANN401
        *conditions, last = _unwrapped(body) or [("AT", None)]
        dashes, seen, one = self._dashes, self._seen, self._character(str(last[0]), last[1])
        # None of the characters fulfils a condition that begins with another character, wherever in a number it is tested.
        if one is not None and all(str(kind) == "ASSERT_NOT" and condition[0] > 0 for kind, condition in conditions):
            parts = [self._condition(*condition) for _, condition in conditions]
            _ensure(all(_NO in (part.first, part.some) for part in parts))
            _ensure(one < _ALL or (least <= 1 and most == _PARSER.MAXREPEAT))
            part = _Reads(least == 0, one, one, one)
        else:
            self._dashes, self._seen = dashes, seen
            part = self.reads(body)
            _ensure(op != "POSSESSIVE_REPEAT" or part.some == _NO)
            if most > 1:
                self._ensure_apart(part.last, part.first)
            part = part._replace(empty=part.empty or least == 0)
        _ensure(self._seen == seen or most == 1)
        self._dashes = max(self._dashes, dashes) if least == 0 else self._dashes
        return part

    @staticmethod
    def _ensure_apart(last: int, first: int) -> None:
        """Ensure that no number can be divided between two parts, given how one reads its last and the other its first character."""
        _ensure(min(last, first) == _NO or max(last, first) < _ALL)

    def _character(self, op: str, arg: Any) -> int | None:  # noqa: ANN401
        """Return how a node reads its only character; None if it does not read exactly one."""
        match op:
            case "LITERAL" | "NOT_LITERAL":
                found = {arg} & self._chars if op == "LITERAL" else self._chars - {arg}
            case "ANY":
                found = self._chars
            case "IN":
                found = frozenset(char for char in self._chars if any(_contains(str(kind), of, char) for kind, of in arg))
                found = self._chars - found if str(arg[0][0]) == "NEGATE" else found
            case _:
                return None
        if found == self._chars:
            return _ALL
        _ensure(not found or self._chars is not _DIGITS)
        dash = ord("-") in found
        self._dashes, self._seen = self._dashes + dash if found else 0, self._seen + dash
        _ensure(self._dashes < _DASHES)
        return _SOME if found else _NO


def _ensure(holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise _Depends


def _unwrapped(items: Any) -> list[Any]:  # noqa: ANN401
    """Return nodes without brackets around them that capture nothing; in some, a dot also matches a line break."""
    nodes = list(items)
    while len(nodes) == 1 and str(nodes[0][0]) == "SUBPATTERN" and nodes[0][1][:3] in ((None, 0, 0), (None, re.DOTALL, 0)):
        nodes = list(nodes[0][1][3])
    return nodes


def _contains(kind: str, of: Any, char: int) -> bool:  # noqa: ANN401
    """Return True if a part of a set of characters contains a character of numbers or IDs."""
    match kind:
        case "LITERAL":
            return bool(of == char)
        case "RANGE":
            return bool(of[0] <= char <= of[1])
        case "CATEGORY":
            return {"CATEGORY_DIGIT": char in _DIGITS, "CATEGORY_WORD": char != ord("-"), "CATEGORY_NOT_SPACE": True, "CATEGORY_NOT_WORD": char == ord("-"),
                    "CATEGORY_NOT_DIGIT": char not in _DIGITS}.get(str(of), False)  # fmt: skip
    return False


def _joined(items: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (nodes of re's own parser)
    """Yield nodes by name; consecutive characters, which are most of a pattern, form one `TEXT`."""
    text = ""
    for op, arg in items:
        if op is _PARSER.LITERAL:
            text += chr(arg)
            continue
        if text:
            yield "TEXT", text
            text = ""
        yield str(op), arg
    if text:
        yield "TEXT", text


def _texts(items: Any) -> tuple[Texts, bool]:  # noqa: ANN401  (nodes of re's own parser)
    """Return texts with one of which `items` begins, and whether they are all of it."""
    found: Texts = frozenset([""])
    for name, arg in _joined(items):
        more, whole = _alternatives(name, arg)
        grown = frozenset(a + b for a in found for b in more)
        if len(grown) > _MAX_ALTERNATIVES:
            return found, False
        found = grown
        if not whole:
            return found, False
    return found, True


def _alternatives(op: str, arg: Any) -> tuple[Texts, bool]:  # noqa: ANN401
    """Return the possible beginnings of one node of a pattern, and whether they are all of it."""
    nothing: Texts = frozenset([""])
    if op == "TEXT":
        return frozenset([arg]), True
    if op == "IN" and all(str(kind) == "LITERAL" for kind, _ in arg):
        return frozenset(chr(char) for _, char in arg), True
    if op == "SUBPATTERN" and not (arg[1] or arg[2]):
        return _texts(arg[3])
    if op == "ATOMIC_GROUP":
        return _texts(arg)
    if op == "BRANCH":
        parts = [_texts(branch) for branch in arg[1]]
        return frozenset().union(*(texts for texts, _ in parts)), all(whole for _, whole in parts)
    if op in _REPEATS and arg[1] == 1:
        texts, whole = _texts(arg[2])
        return (texts if arg[0] else texts | nothing), whole
    return nothing, op in ("AT", "ASSERT_NOT")


def _runs(items: Any) -> Iterator[Texts]:  # noqa: ANN401
    """Yield sets of texts; every match contains one text of each set."""
    run: Texts = frozenset([""])
    for name, arg in _joined(items):
        more, whole = _alternatives(name, arg)
        grown = frozenset(a + b for a in run for b in more)
        fits = len(grown) <= _MAX_ALTERNATIVES
        if fits and whole:
            run = grown
            continue
        yield grown if fits else run
        yield from _inside(name, arg)
        run = more if whole and len(more) <= _MAX_ALTERNATIVES else frozenset([""])
    yield run


def _inside(op: str, arg: Any) -> Iterator[Texts]:  # noqa: ANN401
    """Yield sets of texts that a node contains after its beginning."""
    if op == "SUBPATTERN" and not (arg[1] or arg[2]):
        yield from _runs(arg[3])
    elif op == "ATOMIC_GROUP":
        yield from _runs(arg)
    elif op in _REPEATS and arg[0] > 0:
        yield from _runs(arg[2])
    elif op == "BRANCH":
        branches = [_strongest(_runs(branch)) for branch in arg[1]]
        if all(branches):
            yield frozenset().union(*branches)


def _strongest(runs: Any) -> Texts:  # noqa: ANN401  (any iterable of sets)
    """Return the most selective set: first long texts, then, if they are long enough, few of them; empty if none is selective."""

    def selectivity(run: Texts) -> tuple[int, int, int]:
        shortest = min(map(len, run))
        return min(shortest, _SELECTIVE), -len(run), shortest

    return max((run for run in runs if all(run)), key=selectivity, default=frozenset())

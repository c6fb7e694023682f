"""All regular expressions of the product, and texts made from them that a bad one needs too long for.

Calls of `re` and `regex` are found in the syntax tree of each module, so a new one cannot be forgotten: it is evaluated in its module, and one that cannot be
(it uses a local variable) must have a sample in `BY_HAND`. Those of TOML and SQL files are found by their key or function.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import regex

import forensics
from forensics.resources import sql_dir

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]

FUNCTIONS = {"compile", "match", "fullmatch", "search", "findall", "finditer", "sub", "subn", "split"}
METHODS = FUNCTIONS - {"compile"}
LONG_REPEAT = 50
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.ASCII


@dataclass(frozen=True)
class Expression:
    """One regular expression.

    Attributes:
        where: file and line, or file and name.
        pattern: compiled.
        methods: what is called on it.
    """

    where: str
    pattern: Any
    methods: tuple[str, ...]

    def take(self, text: str) -> None:
        """Do with a text what the product does."""
        given = text.encode("utf-8", "replace") if isinstance(self.pattern.pattern, bytes) else text
        for method in self.methods:
            if method in ("sub", "subn"):
                getattr(self.pattern, method)(b"" if isinstance(given, bytes) else "", given)
            elif method == "finditer":
                for _ in self.pattern.finditer(given):
                    pass
            else:
                getattr(self.pattern, method)(given)


def modules() -> Iterator[ModuleType]:
    """Yield all modules of the product."""
    yield forensics
    for found in pkgutil.walk_packages(forensics.__path__, "forensics."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def of_modules(by_hand: Mapping[str, Sequence[tuple[str, Any]]], unpumped: Mapping[str, str]) -> list[Expression]:
    """Return the expressions of all modules.

    Args:
        by_hand: methods and patterns, or samples, of calls whose pattern is only known in a running program, by `module:function` or `module:name`.
        unpumped: calls whose texts are the product's own, with the reason, by `module:function` or `module`.

    Raises:
        AssertionError: a call is in neither and cannot be evaluated, or an entry is for no call.
    """
    found: list[Expression] = []
    unknown: list[str] = []
    used: set[str] = set()
    everywhere = list(modules())
    uses = _uses(everywhere)
    for module in everywhere:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        for call, function, targets in _calls(tree, module):
            name = module.__name__.removeprefix("forensics.")
            place = f"{name}:{function}" if function else name
            where = f"{name}:{call.lineno}"
            method = call.func.attr  # type: ignore[attr-defined]
            methods = (method,) if method != "compile" else _methods(uses, module.__name__, targets)
            given = {key for key in (place, *(f"{name}:{n}" for n in targets), name) if key in by_hand or key in unpumped}
            used |= given
            if given & unpumped.keys():
                continue
            if given & by_hand.keys():
                found += [Expression(where, pattern, tuple(names.split())) for key in given for names, pattern in by_hand[key]]
                continue
            try:
                pattern = eval(compile(ast.Expression(call.args[0]), "", "eval"), dict(vars(module)))  # noqa: S307
                library = getattr(module, call.func.value.id)  # type: ignore[attr-defined]
                found.append(Expression(where, library.compile(pattern, _flags(call, module)), methods))
            except (NameError, AttributeError, TypeError) as e:
                unknown.append(f"{where} ({place}, {e})")
    assert unknown == [], f"sample patterns are needed in BY_HAND for these expressions: {unknown}"
    assert set(by_hand) | set(unpumped) == used, f"entries without a call: {(set(by_hand) | set(unpumped)) - used}"
    return list({(e.pattern.pattern, e.pattern.flags, e.methods): e for e in reversed(found)}.values())[::-1]


def _flags(call: ast.Call, module: ModuleType) -> int:
    """Return the flags in a call."""
    place = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "sub": 4, "subn": 4, "split": 3}[call.func.attr]  # type: ignore[attr-defined]
    given = call.args[place] if len(call.args) > place else next((k.value for k in call.keywords if k.arg == "flags"), None)
    return int(eval(compile(ast.Expression(given), "", "eval"), dict(vars(module)))) if given is not None else 0  # noqa: S307


def _calls(tree: ast.Module, module: ModuleType) -> Iterator[tuple[ast.Call, str, tuple[str, ...]]]:
    """Yield the calls of `re` and `regex`, each with its function (empty if outside) and the names that its result is assigned to."""

    def walk(node: ast.AST, function: str, names: tuple[str, ...]) -> Iterator[tuple[ast.Call, str, tuple[str, ...]]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            function = getattr(node, "name", function)
            names = ()
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = tuple(
                n.id if isinstance(n, ast.Name) else n.attr for t in targets for n in ast.walk(t) if isinstance(n, ast.Name | ast.Attribute)
            )
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and getattr(module, node.func.value.id, None) in (re, regex)
            and node.func.attr in FUNCTIONS
        ):
            yield node, function, names
        for child in ast.iter_child_nodes(node):
            yield from walk(child, function, names)

    yield from walk(tree, "", ())


def _uses(everywhere: Sequence[ModuleType]) -> dict[tuple[str, str], set[str]]:
    """Return the methods that are called on each name, by module and name."""
    found: dict[tuple[str, str], set[str]] = {}
    for module in everywhere:
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        origin = {a.asname or a.name: (n.module or "", a.name) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name | ast.Attribute):
                name = node.value.id if isinstance(node.value, ast.Name) else node.value.attr
                found.setdefault(origin.get(name, (module.__name__, name)), set()).add(node.attr)
    return found


def _methods(uses: Mapping[tuple[str, str], set[str]], module: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods that are called on an expression; `search`, the slowest, if they are unknown."""
    found = {method for name in names for method in uses.get((module, name), ())}
    return tuple(sorted(found)) or ("search",)


_IN_SQL = re.compile(r"(?:RLIKE|REGEXP_(?:LIKE|EXTRACT|EXTRACT_ALL|REPLACE|COUNT|SUBSTR|INSTR))\b", re.IGNORECASE)
_TEXT = re.compile(r"'((?:[^'\\]|\\.|'')*)'")
_LITERAL = re.compile(rf"\s*(?:{_TEXT.pattern}|concat\((?:\s*{_TEXT.pattern}\s*,?)+\))")
_COMMENT = re.compile(r"--[^\n']*$", re.MULTILINE)


def of_sql() -> list[Expression]:
    """Return the expressions of the views: each literal after RLIKE, or second argument of a function."""
    found = []
    for file in sorted(Path(str(sql_dir())).rglob("*.sql")):
        text = _COMMENT.sub(lambda m: " " * len(m[0]), file.read_text(encoding="utf-8"))
        for call in _IN_SQL.finditer(text):
            at = call.end() if "_" not in call[0] else _second(text, call.end())
            where = f"{file.name}:{text.count(chr(10), 0, call.start()) + 1}"
            literal = _LITERAL.match(text, at)
            assert literal is not None, f"{where}: an expression must be a literal, or a concatenation of literals"
            pattern = "".join(re.sub(r"\\(.)", r"\1", part[1].replace("''", "'")) for part in _TEXT.finditer(literal[0]))
            found.append(Expression(where, re.compile(pattern), ("sub",) if "replace" in call[0].lower() else ("findall",)))
    return found


def _second(text: str, at: int) -> int:
    """Return where the second argument of the call begins whose parenthesis is at a position."""
    depth = 0
    while text[at] != "," or depth != 1:
        if literal := _TEXT.match(text, at):
            at = literal.end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at + 1


# --- texts


def texts(pattern: Any, *, many: bool = True) -> Iterator[tuple[str, str, str]]:
    """Yield beginnings, parts to repeat and ends of texts that an expression may need too long for.

    Wherever the expression repeats something, a text reaches this place and then has many of what may be repeated there, of each character of the expression, or of
    all that came before. It ends so that the expression matches, or does not.
    """
    source, flags = pattern.pattern, pattern.flags & _FLAGS
    if isinstance(source, bytes):
        source = source.decode("latin-1")
    tree = _parser.parse(_plain(source), flags)
    alphabet = list(dict.fromkeys(c for c in _literals(tree)))[: 24 if many else 8]
    alphabet += [c for c in ("a", "A", "1", " ", "\n", "=", ",", '"', "-", ".") if c not in alphabet]
    seen = set()
    for choice in range(3 if many else 1):
        for before, body, after in _repeats(list(tree), choice):
            start = "".join(before)
            own = {_sample(body, n) for n in range(4)}
            tail = re.findall(r"\w+|\W", start)
            parts = {
                *own,
                *alphabet,
                start,
                *("".join(tail[-n:]) for n in (1, 2, 3)),
                *(start + part for part in own),
                *("".join(tail[-1:]) + part for part in own),
            }
            for part in sorted(parts - {""}):
                for end in ("", "\x01", after, after + "\x01"):
                    key = (start, part, end)
                    if key not in seen:
                        seen.add(key)
                        yield key


_NAMED = re.compile(r"\(\?P(?:<(?P<name>\w+)>|=(?P<same>\w+)\))")


def _plain(source: str) -> str:
    """Return an expression of the `regex` module in a form that Python's own parser reads: each group has a name of its own."""
    known: dict[str, int] = {}

    def one(found: re.Match[str]) -> str:
        if found["same"]:
            return f"(?P={found['same']}_{known[found['same']]})"
        known[found["name"]] = known.get(found["name"], 0) + 1
        return f"(?P<{found['name']}_{known[found['name']]}>"

    return _NAMED.sub(one, source)


def _literals(tree: Any) -> Iterator[str]:
    for op, value in tree:
        if op in (_constants.LITERAL, _constants.NOT_LITERAL):
            yield chr(value)
        elif op is _constants.IN:
            yield from _literals([item for item in value if item[0] is _constants.LITERAL])
        else:
            for inner in _inside(op, value):
                yield from _literals(inner)


def _inside(op: Any, value: Any) -> list[Any]:
    """Return the parts of a node."""
    if op is _constants.BRANCH:
        return list(value[1])
    if op is _constants.SUBPATTERN:
        return [value[3]]
    if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
        return [value[2]]
    if op is _constants.ATOMIC_GROUP:
        return [value]
    if op is _constants.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _repeats(tree: Sequence[Any], choice: int) -> Iterator[tuple[list[str], Any, str]]:
    """Yield each long repetition in an expression: texts before it, what it repeats, a text after it."""
    for place, (op, value) in enumerate(tree):
        before, after = _sample(tree[:place], choice), _sample(tree[place + 1 :], choice)
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT) and (
            value[1] is _constants.MAXREPEAT or value[1] >= LONG_REPEAT
        ):
            yield [before], value[2], after
        for inner in _inside(op, value):
            for first, body, then in _repeats(list(inner), choice):
                yield [before, *first], body, then + after


_PLAIN = "a1 =,\"-.:[]{}()'/\\\n\tA_#%&;<>|é\x02"


def _sample(tree: Any, choice: int) -> str:
    """Return a text that part of an expression matches, as far as it has no conditions on what is around it."""
    out = []
    for op, value in tree:
        if op is _constants.LITERAL:
            out.append(chr(value))
        elif op is _constants.NOT_LITERAL:
            out.append("ab"[chr(value) == "a"])
        elif op is _constants.ANY:
            out.append("a ,1"[choice % 4])
        elif op is _constants.IN:
            out.append(_of_set(value, choice))
        elif op is _constants.BRANCH:
            out.append(_sample(value[1][choice % len(value[1])], choice))
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            times = max(value[0], min(1, value[1]) if choice % 2 == 0 else 0)
            out.append(_sample(value[2], choice) * min(times, 100))
        elif op in (_constants.SUBPATTERN, _constants.ATOMIC_GROUP):
            out.append(_sample(_inside(op, value)[0], choice))
    return "".join(out)


def _of_set(items: Any, choice: int) -> str:
    negated = items[0][0] is _constants.NEGATE
    found = [c for c in (*(chr(v) for o, v in items if o is _constants.LITERAL and not negated), *_PLAIN) if _is_in(c, items[negated:]) != negated]
    found += [chr(v[0]) for o, v in items if o is _constants.RANGE and not negated]
    return found[choice % len(found)] if found else "a"


def _is_in(char: str, items: Any) -> bool:
    for op, value in items:
        if op is _constants.LITERAL and chr(value) == char:
            return True
        if op is _constants.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if op is _constants.CATEGORY:
            name = str(value)
            kind = {"DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_"}[name.rsplit("_", 1)[1]]
            if kind != ("NOT" in name):
                return True
    return False

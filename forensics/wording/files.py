"""Load word files: title, question, requirements and sentences of a rule by case; and the sentences in a view's columns.

A rule's file is `sql/7_rules/NAME.toml`, a view's `sql/LAYER/NAME.toml`, each beside the SQL whose facts it expresses. The same file contains examples
(`[[example]]`) for testing the SQL; a view's file with examples only is not a word file.

Sentences that several cases share are written once, in the table `parts`: `{% include "NAME" %}` is a part of the same file,
`{% include "FILE/NAME" %}` one of another. Parts are inserted when the file is read, so that the checked, the documented and the printed text are
the same.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forensics.errors import ForensicsError
from forensics.resources import RULES, sql_dir

_TEXTS = ("title", "question", "needs", "silent", "why", "shown")
_OTHERS = {"releases", "see", "code", "example", "parts"}
_CASE = ("headline", "explanation", "advice")
_INCLUDE = re.compile(r'(?:\s*\{%-|\{%)\s*include\s+"(?:([\w-]+)/)?(\w+)"\s*(?:-%\}\s*|%\})')

#: A part by its file and its name.
Part = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """The texts of one case of a rule: templates over its facts."""

    headline: str
    explanation: str
    advice: str


@dataclass(frozen=True)
class Words:
    """One word file.

    Attributes:
        name: the rule's ID, the file's name.
        title: the kind of finding, without particulars.
        question: the user's question that this rule answers.
        needs: the evidence that it needs.
        silent: when there is no finding although the problem exists.
        why: why it matters.
        shown: recordings and tests that show it.
        releases: differences between releases, by release; may be empty.
        see: KIPs and issues.
        codes: texts by code, with the shared parts inserted.
        parts: the sentences that its cases share, by name, as written.
        used: the parts that its cases consist of, from its own and other files.
    """

    name: str
    title: str
    question: str
    needs: str
    silent: str
    why: str
    shown: str
    releases: Mapping[str, str]
    see: tuple[str, ...]
    codes: Mapping[str, Case]
    parts: Mapping[str, str]
    used: frozenset[Part]


@dataclass(frozen=True)
class ViewWords:
    """The word file of a view: the texts of its text columns.

    Attributes:
        name: the view.
        every: for all rows, templates over the row's columns and the fields of its column `facts`, by the column that each template fills.
        codes: the same for rows with a code, by the row's column `code`.
        parts, used: as for a rule.
    """

    name: str
    every: Mapping[str, str]
    codes: Mapping[str, Mapping[str, str]]
    parts: Mapping[str, str]
    used: frozenset[Part]

    def texts(self, code: str | None) -> Mapping[str, str] | None:
        """Return the templates of a row by the columns that they fill; None if the code has no words."""
        if code is None or not self.codes:
            return self.every
        return {**self.every, **self.codes[code]} if code in self.codes else None

    @property
    def columns(self) -> frozenset[str]:
        """Return the columns that are filled."""
        return frozenset(self.every).union(*self.codes.values())


@cache
def view_words() -> dict[str, ViewWords]:
    """Return the word files of all views that have one, by the view; a file with examples only is not a word file.

    Raises:
        ForensicsError: a file has a wrong form; the error says what is wrong and where.
    """
    layers = (layer for layer in sql_dir().iterdir() if layer.is_dir() and layer.name != RULES)
    files = sorted((f for layer in layers for f in layer.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    texts = {f.name.removesuffix(".toml"): f.read_text(encoding="utf-8") for f in files}
    return {name: parse_view(name, text) for name, text in texts.items() if _table(text, word_file(name)).keys() != {"example"}}


def parse_view(name: str, text: str) -> ViewWords:
    """Parse a view's word file and check its form.

    Args:
        name: the view.
        text: TOML.

    Raises:
        ForensicsError: the form is wrong.
    """
    where = word_file(name)
    found = _table(text, where)
    unknown = found.keys() - {"every", "code", "parts", "example"}
    if unknown or not found.keys() & {"every", "code"}:
        why = f"unknown: {', '.join(sorted(unknown))}" if unknown else "missing: every or code"
        raise ForensicsError("The word file has the wrong keys.", why=why, where=where)
    parts, used = found.get("parts", {}), set[Part]()
    every, *cases = (
        {column: _whole(template, name, parts, used) for column, template in texts.items()}
        for texts in (found.get("every", {}), *found.get("code", {}).values())
    )
    codes = dict(zip(found.get("code", {}), cases, strict=True))
    return ViewWords(name, every, codes, parts, frozenset(used))


@cache
def rule_words() -> dict[str, Words]:
    """Return the word files of all rules that have one, by the rule's ID.

    Raises:
        ForensicsError: a file has a wrong form; the error says what is wrong and where.
    """
    folder = sql_dir() / RULES
    found = (f for f in folder.iterdir() if f.name.endswith(".toml"))
    return {w.name: w for w in (parse(f.name.removesuffix(".toml"), f.read_text(encoding="utf-8")) for f in sorted(found, key=lambda f: f.name))}


def parse(name: str, text: str) -> Words:
    """Parse a rule's word file and check its form.

    Args:
        name: the rule's ID.
        text: TOML.

    Raises:
        ForensicsError: the form is wrong.
    """
    where = f"sql/{RULES}/{name}.toml"
    found = _table(text, where)
    unknown = found.keys() - {*_TEXTS, *_OTHERS}
    lacking = {*_TEXTS, "code"} - {"shown"} - found.keys()
    if unknown or lacking:
        why = "; ".join(f"{what}: {', '.join(sorted(keys))}" for what, keys in (("unknown", unknown), ("missing", lacking)) if keys)
        raise ForensicsError("The word file has the wrong keys.", why=why, where=where)
    codes, parts = {}, found.get("parts", {})
    used: set[Part] = set()
    for code, texts in found["code"].items():
        wrong = texts.keys() ^ set(_CASE)
        if wrong:
            raise ForensicsError(
                f"The words of code `{code}` must be headline, explanation and advice.", why=f"wrong: {', '.join(sorted(wrong))}", where=where
            )
        codes[code] = Case(**{key: _whole(texts[key], name, parts, used) for key in _CASE})
    texts = {key: " ".join(str(found.get(key, "")).split()) for key in _TEXTS}
    return Words(
        name, **texts, releases=found.get("releases", {}), see=tuple(found.get("see", ())), codes=codes,
        parts=parts, used=frozenset(used),
    )  # fmt: skip


def _table(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ForensicsError("The word file is not valid TOML.", why=str(e), where=where) from e


def _whole(text: str, file: str, parts: Mapping[str, str], used: set[Part], within: tuple[Part, ...] = ()) -> str:
    """Return a template with the parts that it includes inserted; they are added to `used`."""

    def put(match: re.Match[str]) -> str:
        part = (match[1] or file, match[2])
        known = parts if part[0] == file else _parts(part[0])
        if part[1] not in known or part in within:
            why = "it includes itself" if part in within else f"{part[0]} has {', '.join(known) or 'no parts'}"
            raise ForensicsError(f"The part `{part[1]}` cannot be included.", why=why, where=word_file(file))
        used.add(part)
        return _whole(known[part[1]], part[0], known, used, (*within, part))

    return _INCLUDE.sub(put, text.strip())


def _parts(file: str) -> Mapping[str, str]:
    """Return the parts of a rule's or a view's word file; none if there is no such file."""
    place = sql_dir() / word_file(file).removeprefix("sql/")
    found: Mapping[str, str] = tomllib.loads(place.read_text(encoding="utf-8")).get("parts", {}) if place.is_file() else {}
    return found


@cache
def word_file(file: str) -> str:
    """Return the path of a word file: beside the SQL file of its name, or outside the layers if there is no such SQL file."""
    layers = (layer.name for layer in sql_dir().iterdir() if layer.is_dir())
    return next((f"sql/{layer}/{file}.toml" for layer in layers if (sql_dir() / layer / f"{file}.sql").is_file()), f"sql/{file}.toml")

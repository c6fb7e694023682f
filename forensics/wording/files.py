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
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any

from forensics.errors import ForensicsError
from forensics.resources import RULES, sql_dir

_TEXTS = ("title", "question", "needs", "silent", "wrong", "why", "shown")
_OTHERS = {"releases", "see", "code", "example", "parts", "level", "cause", "links"}
_CASE = ("headline", "explanation", "advice")
#: What a case of a rule says of the damage that it shows: a row of the impact on the first screen. `what` is required.
IMPACT = ("what", "who", "lasted", "consequence")
_INCLUDE = re.compile(r'(?:(?<!\s)\s*+\{%-|\{%)\s*include\s+"(?:([\w-]+)/)?(\w+)"\s*(?:-%\}\s*|%\})')

#: A part by its file and its name.
Part = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """The texts of one case of a rule: templates over its facts.

    Attributes:
        headline, explanation, advice: the sentences of a finding.
        impact: the damage that it shows, by column (`IMPACT`); empty if other rows show it.
    """

    headline: str
    explanation: str
    advice: str
    impact: Mapping[str, str] = field(default_factory=dict)

    @property
    def texts(self) -> dict[str, str]:
        """Return all templates by name."""
        sentences = {text: getattr(self, text) for text in _CASE}
        return sentences | {f"impact.{column}": text for column, text in self.impact.items()}


#: The facts that link an occurrence to its cause, if the rule does not say otherwise.
FACTS = frozenset({"member", "process", "generation", "broker", "connector", "group"})
#: What may link it besides, if the rule says so.
OTHER_FACTS = frozenset({"owners", "previous_owner", "task", "revocation", "subject"})


@dataclass(frozen=True)
class Links:
    """The table `links` of a rule's file: what connects its occurrences to causes and to occurrences of other rules.

    Attributes:
        facts: the facts that connect an occurrence to its cause.
        also: further ones. `owners`: the two owners that it names; `previous_owner`: the owners of its tasks before, and the generations that assigned them
            again; `task`: its task; `revocation`: the generation that revoked its task; `subject`: its subject, a process.
        cause_by: how the root cause that the rule proves is found: by `subject`, `witness` or `group`.
        cases: the root cause of a case, by code.
        own_clock: True if it begins at the earliest moment that a member's clock allows for a line of that member.
        follows: other rules whose occurrences it may follow late, and the fact that they share: `client` or `process`.
        outlasts: threshold: its cause lasts at least this long after its begin.
        unless: codes to which `outlasts` does not apply.
        effects: the rules whose occurrences may be its effects; None: all of a higher level.
        no_effects_of: root causes with which it has no effects.
        own_cause: codes whose occurrences print their own cause: the end of an earlier run of the process is none.
        repeats: threshold: from this number of occurrences on they are one finding, whatever their subjects are.
        rest: if not empty, an occurrence is left out if lines of other rules' occurrences include all of its lines. The first screen lists the others
            though they are notes: `always`, or `alone`, if there is no graver incident.
        alone_by: what occurrences without a known cause have in common that are one incident: their `finding`, or their `subject`.
    """

    facts: frozenset[str] = FACTS
    also: frozenset[str] = frozenset()
    cause_by: str = "subject"
    cases: Mapping[str, str] = field(default_factory=dict)
    own_clock: bool = False
    follows: Mapping[str, str] = field(default_factory=dict)
    outlasts: str = ""
    unless: frozenset[str] = frozenset()
    effects: frozenset[str] | None = None
    no_effects_of: frozenset[str] = frozenset()
    own_cause: frozenset[str] = frozenset()
    repeats: str = "repeat_times"
    alone_by: str = "finding"
    rest: str = ""

    @property
    def all_facts(self) -> frozenset[str]:
        """Return all facts that connect an occurrence to its cause."""
        return self.facts | self.also


#: The possible values in `links`, by key.
_CHOICES = {
    "facts": FACTS,
    "also": OTHER_FACTS,
    "cause_by": {"subject", "witness", "group"},
    "follows": {"client", "process"},
    "alone_by": {"finding", "subject"},
    "rest": {"always", "alone"},
}


@dataclass(frozen=True)
class Words:
    """One word file.

    Attributes:
        name: the rule's ID, the file's name.
        title: the kind of finding, without particulars.
        question: the user's question that this rule answers.
        needs: the evidence that it needs.
        silent: when there is no finding although the problem exists.
        wrong: when there may be a finding although the problem does not exist.
        why: why it matters.
        shown: recordings and tests that show it.
        releases: differences between releases, by release; may be empty.
        see: KIPs and issues.
        level: place in a chain of causes: an occurrence causes only those of higher levels; None: it causes nothing, and nothing but a root cause causes it.
        cause: the root cause that it proves; may be empty.
        links: what connects its occurrences to others.
        codes: texts by code, with the shared parts inserted.
        parts: the sentences that its cases share, by name, as written.
        used: the parts that its cases consist of, from its own and other files.
    """

    name: str
    title: str
    question: str
    needs: str
    silent: str
    wrong: str
    why: str
    shown: str
    releases: Mapping[str, str]
    see: tuple[str, ...]
    level: int | None
    cause: str
    links: Links
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
        impact = texts.get("impact", {})
        wrong = {*(texts.keys() - {"impact"} ^ set(_CASE)), *(f"impact.{key}" for key in impact.keys() - set(IMPACT))}
        if wrong:
            raise ForensicsError(
                f"The words of code `{code}` must be headline, explanation and advice, and perhaps impact.{{{', '.join(IMPACT)}}}.",
                why=f"wrong: {', '.join(sorted(wrong))}",
                where=where,
            )
        codes[code] = Case(
            **{key: _whole(texts[key], name, parts, used) for key in _CASE},
            impact={key: _whole(text, name, parts, used) for key, text in impact.items()},
        )
    texts = {key: " ".join(str(found.get(key, "")).split()) for key in _TEXTS}
    return Words(
        name, **texts, releases=found.get("releases", {}), see=tuple(found.get("see", ())), level=found.get("level"), cause=found.get("cause", ""),
        links=_links(found.get("links", {}), where), codes=codes, parts=parts, used=frozenset(used),
    )  # fmt: skip


def _links(table: Mapping[str, Any], where: str) -> Links:
    """Return the table `links` of a rule's file."""
    unknown = table.keys() - {f.name for f in fields(Links)}
    for key, allowed in _CHOICES.items():
        given = table.get(key, ())
        unknown |= ({given} if isinstance(given, str) else set(given.values()) if isinstance(given, Mapping) else set(given)) - allowed
    if unknown:
        raise ForensicsError("The table `links` has unknown keys or values.", why=f"unknown: {', '.join(sorted(unknown))}", where=where)
    values: dict[str, Any] = {key: frozenset(value) if isinstance(value, list) else value for key, value in table.items()}
    return Links(**values)


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

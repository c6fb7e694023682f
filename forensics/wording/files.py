"""Word files: what a rule is called, asks, needs, and says in each of its cases."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forensics.errors import ForensicsError
from forensics.resources import sql_dir

_TEXTS = ("title", "question", "needs", "silent", "why", "shown")
_OTHERS = {"releases", "see", "parts", "code", "example"}
_INCLUDE = re.compile(r'\{%-?\s*include\s+"(\w+)"\s*-?%\}')
_CASE = ("headline", "explanation", "advice")


@dataclass(frozen=True)
class Case:
    """What is said in one case of a rule: templates over its facts."""

    headline: str
    explanation: str
    advice: str


@dataclass(frozen=True)
class Words:
    """One word file.

    Attributes:
        name: the rule's id, the file's name.
        title: what the finding is, without its particulars.
        question: what a user asks that this answers.
        needs: the evidence that it needs.
        silent: when it says nothing although something of the kind is there.
        why: why it matters.
        shown: recordings and tests that show it.
        releases: what differs by release, by the releases; may be empty.
        see: KIPs and issues.
        codes: what is said, by code, with the parts that several codes share (`[parts]`, `{% include "NAME" %}`) put in.
        examples: given rows of what the rule reads, and the findings that are expected of them.
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
    examples: tuple[Mapping[str, Any], ...]


@cache
def rule_words() -> dict[str, Words]:
    """The word files of all rules that have one, by the rule's id.

    Raises:
        ForensicsError: a file has a wrong form; says which and where.
    """
    folder = sql_dir() / "rules"
    found = (f for f in folder.iterdir() if f.name.endswith(".toml"))
    return {w.name: w for w in (parse(f.name.removesuffix(".toml"), f.read_text(encoding="utf-8")) for f in sorted(found, key=lambda f: f.name))}


def parse(name: str, text: str) -> Words:
    """A word file's content, its form checked.

    Args:
        name: the rule's id.
        text: TOML.

    Raises:
        ForensicsError: the form is wrong.
    """
    where = f"sql/rules/{name}.toml"
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ForensicsError("The word file is no TOML.", why=str(e), where=where) from e
    unknown = found.keys() - {*_TEXTS, *_OTHERS}
    lacking = {*_TEXTS, "code"} - {"shown"} - found.keys()
    if unknown or lacking:
        why = "; ".join(f"{what}: {', '.join(sorted(keys))}" for what, keys in (("unknown", unknown), ("missing", lacking)) if keys)
        raise ForensicsError("The word file has the wrong keys.", why=why, where=where)
    parts, included = found.get("parts", {}), set()

    def put_in(m: re.Match[str]) -> str:
        if m[1] not in parts:
            raise ForensicsError(f"The words include the part `{m[1]}`, which is not there.", why=f"parts: {', '.join(parts) or 'none'}", where=where)
        included.add(m[1])
        return str(parts[m[1]]).strip()

    codes = {}
    for code, texts in found["code"].items():
        wrong = texts.keys() ^ set(_CASE)
        if wrong:
            raise ForensicsError(
                f"The words of code `{code}` must be headline, explanation and advice.", why=f"wrong: {', '.join(sorted(wrong))}", where=where
            )
        codes[code] = Case(**{key: _INCLUDE.sub(put_in, texts[key].strip()) for key in _CASE})
    if parts.keys() - included:
        raise ForensicsError("The word file has parts that no code includes.", why=", ".join(sorted(parts.keys() - included)), where=where)
    texts = {key: " ".join(str(found.get(key, "")).split()) for key in _TEXTS}
    return Words(
        name, **texts, releases=found.get("releases", {}), see=tuple(found.get("see", ())), codes=codes, examples=tuple(found.get("example", ()))
    )

"""Convert rows of facts to sentences, both when a case is built and when it is reported: findings by their rule, other views by their own words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, tzinfo
from typing import Any

import jinja2
import pyarrow as pa

from forensics.errors import ForensicsError
from forensics.resources import RULES
from forensics.wording.files import ViewWords, Words, rule_words, view_words, word_file
from forensics.wording.language import moment, render

#: Columns of a finding that its templates may use in addition to its facts.
COLUMNS = ("severity", "verdict", "kafka_cluster", "group_id", "subject")
TEXTS = ("headline", "explanation", "advice")


def findings(
    rows: Iterable[Mapping[str, Any]],
    types: Mapping[str, pa.DataType],
    zone: tzinfo | None = None,
    names: Mapping[str, str] | None = None,
    texts: Sequence[str] = TEXTS,
) -> list[dict[str, Any]]:
    """Return the rows with their sentences.

    Args:
        rows: rows of the view `finding`: `rule`, `code`, `facts` (JSON text) and the columns above. A row without a code keeps the sentences that it has.
            The key `impact` of the returned rows has the damage in words, by column (`wording.files.IMPACT`); None if the rule has no words for it.
        types: the Arrow type of each rule's facts, a struct: what is NULL is not in the JSON text, at any depth, and is None here.
        zone: the reader's time zone; UTC when None.
        names: names of processes, by process_id; a process without one is called by its ID.
        texts: the sentences that are needed.

    Raises:
        ForensicsError: a rule has no words for a code, or they use an unknown fact.
    """
    words = rule_words()
    return [{**row, **_sentences(row, words, types, zone, names or {}, texts)} if row.get("code") else dict(row) for row in rows]


def _sentences(
    row: Mapping[str, Any],
    words: Mapping[str, Words],
    types: Mapping[str, pa.DataType],
    zone: tzinfo | None,
    names: Mapping[str, str],
    texts: Sequence[str],
) -> dict[str, Any]:
    rule, code = row["rule"], row["code"]
    if rule not in words or code not in words[rule].codes:
        raise ForensicsError(
            f"The rule {rule} has no words for the code `{code}`.", where=f"sql/{RULES}/{rule}.toml", fix="`forensics check` lists what is missing."
        )
    given = json.loads(row["facts"] or "{}")
    facts = _whole(given, types[rule]) if rule in types else given
    known = facts | {c: row.get(c) for c in COLUMNS} | {"zone": zone, "with_dates": _several_days(row, facts, zone)}
    known |= {"from_at_ms": _millis(row.get("from_ts")), "to_at_ms": _millis(row.get("to_ts"))}
    case = words[rule].codes[code]
    try:
        impact = {column: render(text, known, names) for column, text in case.impact.items()}
        return {text: render(getattr(case, text), known, names) for text in texts} | {"impact": impact if impact.get("what") else None}
    except jinja2.TemplateError as e:
        fix = "If another version of this program built the case's views, build them again: `forensics verify CASE --rebuild`."
        what = f"The words of {rule}, code `{code}`, do not fit its facts."
        raise ForensicsError(what, why=str(e), where=f"sql/{RULES}/{rule}.toml", fix=fix) from e


def _whole(value: Any, type_: pa.DataType) -> Any:  # noqa: ANN401  (JSON)
    """Return a value of JSON text with the fields that are missing because they are NULL."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _whole(value.get(field.name), field.type) for field in type_.fields}
    return [_whole(item, type_.value_type) for item in value] if pa.types.is_list(type_) else value


def of_view(name: str, rows: Iterable[Mapping[str, Any]], zone: tzinfo | None = None, names: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a view that has a word file, with their sentences.

    A template may use the row's columns, the moments of columns that end in `_ts` (`from_ts` is `from_at_ms`), and the fields of the struct `facts`.

    Args:
        name: name of the view.
        rows: rows of the view.
        zone: the reader's time zone; UTC when None.
        names: names of processes, by process_id.

    Raises:
        ForensicsError: the view has no words for a code, or they use a name that the row does not have.
    """
    words = view_words()[name]
    return [{**row, **_texts(words, row, zone, names or {})} for row in rows]


def _texts(words: ViewWords, row: Mapping[str, Any], zone: tzinfo | None, names: Mapping[str, str]) -> dict[str, str | None]:
    where, templates = word_file(words.name), words.texts(row.get("code"))
    if templates is None:
        raise ForensicsError(
            f"The view {words.name} has no words for the code `{row['code']}`.", where=where, fix="`forensics check` lists what is missing."
        )
    facts = row["facts"] if isinstance(row.get("facts"), Mapping) else {}
    moments = {f"{column.removesuffix('_ts')}_at_ms": _millis(ts) for column, ts in row.items() if column.endswith("_ts")}
    known = {**row, **moments, **facts, "zone": zone, "with_dates": _several_days(row, facts, zone)}
    try:
        return {column: render(template, known, names) or None for column, template in templates.items()}
    except jinja2.TemplateError as e:
        raise ForensicsError(f"The words of {words.name}, code `{row.get('code')}`, do not fit its rows.", why=str(e), where=where) from e


def _several_days(row: Mapping[str, Any], facts: Mapping[str, Any], zone: tzinfo | None) -> bool:
    """Return True if the moments that a sentence may print are on more than one day: then each is printed with its date."""
    times = [v for k, found in facts.items() if k.endswith("_at_ms") for v in (found if isinstance(found, list) else [found])]
    moments = [moment(v) for v in times if isinstance(v, int)]
    moments += [v for v in row.values() if isinstance(v, datetime)]
    return len({(m.astimezone(zone) if zone and m.tzinfo else m).date() for m in moments if m}) > 1


def _millis(ts: datetime | None) -> int | None:
    return None if ts is None else round(ts.timestamp() * 1000)

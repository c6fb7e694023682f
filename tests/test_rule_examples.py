# SPDX-License-Identifier: Apache-2.0
"""Rules, and views that are told, by their own examples: given rows of what they read, the findings or rows that are expected of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from forensics.case import view_files
from forensics.case.folder import OPEN_SQL
from forensics.case.materialise import with_words
from forensics.engines.base import Engine
from forensics.report.query import _needed
from forensics.wording import tell
from forensics.wording.files import rule_words, view_words

EXAMPLES = [(rule, number) for rule, words in rule_words().items() for number in range(len(words.examples))]

VIEW_EXAMPLES = [(view, number) for view, words in view_words().items() for number in range(len(words.examples))]


def _value(value: Any, type_: Any) -> Any:  # noqa: ANN401
    """A value of a TOML file as the column's type wants it: moments are milliseconds since 1970, structs and lists are taken apart."""
    kind = type_.typeName()
    if value is None:
        return None
    if kind.startswith("timestamp"):
        moment = datetime.fromtimestamp(value / 1000, UTC) if isinstance(value, int) else datetime.fromisoformat(value)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if kind == "array":
        return [_value(v, type_.elementType) for v in value]
    if kind == "struct":
        assert not value.keys() - set(type_.fieldNames()), f"no such fields: {value.keys() - set(type_.fieldNames())}"
        return tuple(_value(value.get(f.name), f.dataType) for f in type_.fields)
    return value


_SCHEMAS: dict[str, Any] = {}


def _schema(runs: Engine, case: Any, view: str) -> Any:  # noqa: ANN401
    """The columns of a view or table, as a sample's case has them; each may be NULL."""
    if view not in _SCHEMAS:
        _SCHEMAS[view] = _looked_up(runs, case, view)
    return _SCHEMAS[view]


def _looked_up(runs: Engine, case: Any, view: str) -> Any:  # noqa: ANN401
    from pyspark.sql.types import StructField, StructType

    path = case.views().get(view) or (case.table_paths(view) or [None])[0]
    if path:
        fields = runs.session.read.parquet(runs.place(str(path))).schema.fields
    else:  # a view that is computed when it is read
        for statement in _needed(view_files.statements((case.root / OPEN_SQL).read_text()), [f"SELECT * FROM {view}"]):
            runs.sql(statement)
        fields = runs.session.table(view).schema.fields
    return StructType([StructField(f.name, f.dataType, nullable=True) for f in fields])


def _rows(runs: Engine, view: str, schema: Any, given: list[dict[str, Any]]) -> None:  # noqa: ANN401
    unknown = {key for row in given for key in row} - set(schema.fieldNames())
    assert not unknown, f"{view} has no columns {unknown}"
    rows = [tuple(_value(row.get(f.name), f.dataType) for f in schema.fields) for row in given]
    runs.session.createDataFrame(rows, schema).createOrReplaceTempView(view)


def test_every_rule_has_an_example() -> None:
    assert [rule for rule, words in rule_words().items() if not words.examples] == []


@pytest.mark.engine
@pytest.mark.parametrize(("rule", "number"), EXAMPLES)
def test_a_rule_finds_what_its_example_says(rule: str, number: int, any_engine, sample_case) -> None:
    from pyspark.sql.pandas.types import to_arrow_type

    example = rule_words()[rule].examples[number]
    _give(any_engine, sample_case("split-brain-frozen-worker-3.9.1"), view_files.views()["rule_" + rule.replace("-", "_")], example["given"])
    table = any_engine.sql(view_files.rule_queries()[rule]).select(*view_files.RULE_COLUMNS)
    found = [row.asDict(recursive=True) for row in table.collect()]
    expected = example["expect"]
    assert len(found) == len(expected), found
    for row, wanted in zip(sorted(found, key=_place), sorted(expected, key=_place), strict=True):
        for key, value in wanted.items():
            shown = {k: row["facts"][k] for k in value} if key == "facts" else row[key]
            assert shown == value, (key, row)
        sentences = tell.findings([_finding(rule, row)], {rule: to_arrow_type(table.schema["facts"].dataType)})
        assert all(sentences[0][text] for text in tell.TEXTS)


@pytest.mark.engine
@pytest.mark.parametrize(("name", "number"), VIEW_EXAMPLES)
def test_a_view_yields_and_tells_what_its_example_says(name: str, number: int, any_engine, sample_case, tmp_path) -> None:
    example, view = view_words()[name].examples[number], view_files.views()[name]
    _give(any_engine, sample_case("split-brain-frozen-worker-3.9.1"), view, example["given"])
    query, columns = view_files.worded_queries()[name]
    rows = with_words(view, any_engine.sql(query).select(*columns).toArrow(), tmp_path).to_pylist()
    assert len(rows) == len(example["expect"]), rows
    for wanted in example["expect"]:
        same = [row for row in rows if _is(row, wanted)]
        assert same, f"no row is as {wanted} says; there are {rows}"
        rows.remove(same[0])


def _is(row: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a row has the values that an example names; times are milliseconds since 1970."""
    assert not wanted.keys() - row.keys(), f"no such columns: {wanted.keys() - row.keys()}"
    return all(_is(row[key], value) if isinstance(value, dict) else _plain(row[key]) == value for key, value in wanted.items())


def _plain(value: Any) -> Any:  # noqa: ANN401
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def _give(runs: Engine, case: Any, view: Any, given: dict[str, Any]) -> None:  # noqa: ANN401
    """The thresholds, and the given rows under the names of what a view reads."""
    assert set(given) <= set(view.reads), "an example gives rows of what the view reads"
    for statement in view_files.statements(view_files.knobs()):
        runs.sql(statement)
    for read in view.reads:
        _rows(runs, read, _schema(runs, case, read), given.get(read, []))


def _place(row: dict[str, Any]) -> tuple[str, str]:
    return str(row.get("code")), str(row.get("subject"))


def _finding(rule: str, row: dict[str, Any]) -> dict[str, Any]:
    import json

    facts = json.dumps({k: v for k, v in row["facts"].items() if v is not None}, default=str)
    return row | {"rule": rule, "facts": facts, "from_ts": None, "to_ts": None}


def test_fields_of_examples_are_shaped() -> None:
    assert all(set(example) == {"given", "expect"} for words in (*rule_words().values(), *view_words().values()) for example in words.examples)

# SPDX-License-Identifier: Apache-2.0
"""Every view and every rule by its own examples: given rows of what it reads, the rows that are expected of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from conftest import ANY, forget_views
from examples import assert_rows, computed, examples, run

from forensics.case import view_files
from forensics.case.materialise import with_words
from forensics.engines import engine
from forensics.wording import sentences

if TYPE_CHECKING:
    from forensics.engines.base import Engine

VIEWS = view_files.views()
RULES = [(view, number) for view, its in examples().items() for number in range(len(its)) if VIEWS[view].kind == "rule"]
OTHERS = [(view, n) for view, its in examples().items() for n in range(len(its)) if VIEWS[view].kind != "rule" and not VIEWS[view].computed]
COMPUTED = [(view, number) for view, its in examples().items() for number in range(len(its)) if VIEWS[view].computed]
#: Any case that has all views.
CASE = "split-brain-frozen-worker-3.9.1"
#: Views without a file, and where their rows come from.
MADE = {"known_bug": "a pattern file"}


def test_every_public_view_and_every_rule_has_an_example() -> None:
    assert [view.name for view in VIEWS.values() if view.kind != "step" and view.name not in {*examples(), *MADE}] == []


def test_every_layer_has_examples_of_a_step() -> None:
    shown = {view.folder for view in VIEWS.values() if view.kind == "step" and view.name in examples()}
    assert {view.folder for view in VIEWS.values() if view.kind == "step"} == shown


def test_examples_have_what_is_given_and_what_is_expected() -> None:
    assert all(set(example) - {"part"} == {"given", "expect"} for its in examples().values() for example in its)


@pytest.fixture(scope="module")
def runs(sample_case) -> tuple[Engine, set[str]]:
    """The engine, and the tables that are empty in it. What an example leaves there can stay: the next gives all that its view reads, and a view
    reads nothing else (`test_reads_names_exactly_what_is_read`).
    """
    sample_case(CASE)
    found = engine(ANY, jobs=2, little=True)
    forget_views(found.session)
    return found, set()


@pytest.mark.engine
@pytest.mark.parametrize(("name", "number"), RULES)
def test_a_rule_finds_what_its_example_says(name: str, number: int, runs, sample_case) -> None:
    from pyspark.sql.pandas.types import to_arrow_type

    rule, example = view_files.rule_id(name), examples()[name][number]
    table, types = run(runs[0], sample_case(CASE), VIEWS[name], example, runs[1])
    found = table.to_pylist()
    assert_rows(found, example["expect"])
    for row in found:
        worded = sentences.findings([_finding(rule, row)], {rule: to_arrow_type(types["facts"].dataType)})
        assert all(worded[0][text] for text in sentences.TEXTS)


@pytest.mark.engine
@pytest.mark.parametrize(("name", "number"), OTHERS)
def test_a_view_yields_what_its_example_says(name: str, number: int, runs, sample_case, tmp_path) -> None:
    view, example = VIEWS[name], examples()[name][number]
    table, _ = run(runs[0], sample_case(CASE), view, example, runs[1])
    rows = with_words(view, table, tmp_path) if view.words == "by view" and "part" not in example else table
    assert_rows(rows.to_pylist(), example["expect"])


@pytest.mark.parametrize(("name", "number"), COMPUTED)
def test_a_computed_view_has_the_rows_of_its_example(name: str, number: int, tmp_path) -> None:
    view, example = VIEWS[name], examples()[name][number]
    table = computed(view, example)
    rows = with_words(view, table, tmp_path) if view.words == "by view" and "part" not in example else table
    assert_rows(rows.to_pylist(), example["expect"])


def _finding(rule: str, row: dict[str, Any]) -> dict[str, Any]:
    facts = json.dumps({k: v for k, v in row["facts"].items() if v is not None}, default=str)
    return row | {"rule": rule, "facts": facts, "from_ms": None, "to_ms": None}

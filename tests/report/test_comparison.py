"""Two cases compared: which rows only one has, without an engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_case
import pytest
from typer.testing import CliRunner

from forensics.case.folder import Case
from forensics.cli import app
from forensics.errors import UsageError
from forensics.report import comparison

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return made_case.written(tmp_path_factory.mktemp("made") / "case")


@pytest.fixture
def written(unchanged: Case, tmp_path: Path) -> Callable[..., Case]:
    """The made case, or writes one whose rows were changed before."""

    def write(name: str, change: Callable[[Rows], object] | None = None) -> Case:
        if change is None:
            return unchanged
        rows = made_case.rows()
        change(rows)
        return made_case.written(tmp_path / name, rows)

    return write


def compare(a: Case, b: Case, *options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["compare", str(a.root), str(b.root), "--no-pager", *options])
    return done.exit_code, done.output


def test_the_same_rows_in_another_order_are_the_same(written) -> None:
    code, said = compare(written("a"), written("b", lambda rows: [its.reverse() for its in rows.values()]))
    assert code == 0, said
    assert "The cases have the same rows" in said


def test_rows_that_only_one_has_are_counted_and_shown(written) -> None:
    a = written("a", lambda rows: rows["generation"].append(made_case.generation(99, 500)))
    b = written("b", lambda rows: rows["process"][0].update(role="client"))
    found = {d.view: d for d in comparison.compare(a, b, ["generation", "process", "finding"]) if not d.same}
    assert {view: d.only for view, d in found.items()} == {"generation": (1, 0), "process": (1, 1)}
    assert '"generation": 99' in found["generation"].samples[0][0]
    assert '"role": "client"' in found["process"].samples[1][0]
    code, said = compare(a, b)
    assert code == 1
    assert "2 of " in said
    assert "Only in B" in said
    assert compare(a, b, "--view", "finding")[0] == 0
    assert "1 of 1 view differs" in compare(a, b, "--view", "process")[1]
    assert "Only in" not in compare(a, b, "--rows", "0", "--view", "process")[1]


def test_a_row_that_one_has_twice_is_a_difference(written) -> None:
    a, b = written("a"), written("b", lambda rows: rows["process"].append(dict(rows["process"][0])))
    (found,) = [d for d in comparison.compare(a, b, ["process"]) if not d.same]
    assert (found.view, found.only) == ("process", (0, 1))


def test_sentences_may_differ_where_facts_are_compared(written) -> None:
    a, b = written("a"), written("b", lambda rows: rows["finding"][0].update(headline="Told in other words"))
    assert compare(a, b, "--view", "finding")[0] == 1
    assert compare(a, b, "--facts")[0] == 0
    c = written("c", lambda rows: rows["finding"][0].update(severity="note", headline="Told in other words"))
    assert compare(a, c, "--facts", "--view", "finding")[0] == 1


def test_a_column_that_only_one_has_is_named_and_the_others_are_compared(written) -> None:
    a, b = written("a"), written("b", lambda rows: [row.pop("kafka_version") for row in rows["process"]])
    (found,) = [d for d in comparison.compare(a, b, ["process", "generation"]) if not d.same]
    assert (found.view, found.only, found.columns) == ("process", (0, 0), (["kafka_version"], []))
    assert "kafka_version" in compare(a, b, "--view", "process")[1]


def test_what_cannot_be_compared_is_said(written) -> None:
    a = written("a")
    with pytest.raises(UsageError, match="cannot be compared") as raised:
        list(comparison.compare(a, a, ["proces"]))
    assert "`process`" in raised.value.fix
    with pytest.raises(UsageError, match="cannot be compared"):
        list(comparison.compare(a, a, ["event"]))

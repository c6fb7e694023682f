"""Cases with the views alone that a test reads, and with those below them: to plan all takes most of the time of a small case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pyarrow.dataset as ds

from forensics.case import materialise, view_files
from forensics.case.views import build
from forensics.wording import sentences

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.engines.base import Engine


@contextmanager
def only_views(names: Iterable[str], rules: Iterable[str] | None = None) -> Iterator[None]:
    """Here, builds are of the views of these names and of all that they read; findings are those of these rules, by their ids, or of all."""
    every = view_files.views()
    if rules is not None:
        all_rules = {name for name, view in every.items() if view.kind == "rule"}
        left_out = all_rules - {f"rule_{rule.replace('-', '_')}" for rule in rules}
        every |= {
            name: replace(view, reads=tuple(read for read in view.reads if read not in left_out))
            for name, view in every.items()
            if all_rules <= set(view.reads)
        }
    needed, left = set(), list(names)
    while left:
        name = left.pop()
        if name in every and name not in needed:
            needed.add(name)
            left += every[name].reads
    # In the order of all views, in which a view comes after those that it reads.
    some = {name: view for name, view in every.items() if name in needed}
    with patch.object(materialise, "views", lambda: some):
        yield


def with_views(case: Case, runs: Engine, names: Iterable[str], rules: Iterable[str] | None = None) -> Case:
    """The case with the views of these names and with all that they read, of findings those of these rules, or of all."""
    with only_views(names, rules):
        return build(case, runs)


def found_by(case: Case, rule: str) -> list[dict[str, Any]]:
    """Return the findings of a rule, with its sentences, for a case with the rule's view: `finding` needs thirty more views, which combine occurrences."""
    path = case.view_path(f"rule_{rule.replace('-', '_')}")
    table = ds.dataset(str(path), format="parquet").to_table()
    rows = [
        row | {"rule": rule, "facts": json.dumps({k: v for k, v in row["facts"].items() if v is not None}, default=str)} for row in table.to_pylist()
    ]
    return sentences.findings(rows, {rule: table.schema.field("facts").type})

"""How large an engine's plans of all views are: operators, and of these sorts, exchanges and joins.

    python bench/plan_size.py CASE [--engine spark] [--by-view]

CASE is a case with all views, of any size: each view is planned over the stored rows of the views that it reads, and none is run. Spark's adaptive plans
are off, so a plan shows all its exchanges; whole-stage code is off, so it shows nothing else. Plans of two engines do not compare.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
from collections import Counter
from pathlib import Path

import pyarrow.dataset

from forensics.case import view_files
from forensics.case.folder import Case, open_case
from forensics.case.open_sql import missing_columns
from forensics.engines import SPARK, engine
from forensics.engines.base import Engine

PLAIN = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false", "spark.sql.maxPlanStringLength": str(1 << 30)}
OPERATOR = re.compile(r"^[\s:|+-]*([A-Z]\w+?)(?:Exec)?\b")
KINDS = {"sorts": ("Sort",), "exchanges": ("Exchange", "Repartition", "CoalescePartitions", "SortPreservingMerge"), "joins": ("Join",)}


def sizes(runs: Engine, case: Case) -> dict[str, Counter[str]]:
    """Operators of the plan of each view that is kept, by their kind; all others are `other`."""
    if runs.name == SPARK:
        for key, value in PLAIN.items():
            runs.session.conf.set(key, value)
    for statement in view_files.statements(view_files.knobs()):
        runs.sql(statement)
    for table in (case.root / "tables").iterdir():
        if paths := [str(path) for path in case.table_paths(table.name)]:
            columns = {name for path in paths for name in pyarrow.dataset.dataset(path, format="parquet").schema.names}
            runs.table(table.name, paths, missing_columns(table.name, columns))
    found, stored = {}, case.views()
    for view in view_files.views().values():
        if view.kept:
            plan = io.StringIO()
            with contextlib.redirect_stdout(plan):
                runs.sql(view.query).explain()
            found[view.name] = Counter(operators(plan.getvalue()))
            runs.table(view.name, [stored[view.name]], [])
        else:
            for statement in view_files.statements(view.sql):
                runs.sql(statement)
    return found


def operators(plan: str) -> list[str]:
    """The kinds of the operators in a plan's tree, one a line. What is used again is planned once."""
    names = [match[1] for line in plan.splitlines() if (match := OPERATOR.match(line)) and match[1] != "ReusedExchange"]
    return [next((kind for kind, ends in KINDS.items() if name.endswith(ends)), "other") for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", type=Path)
    parser.add_argument("--engine", default="", help="spark or sail; the one that a report would choose, if not given")
    parser.add_argument("--by-view", action="store_true", help="each view, the largest first")
    given = parser.parse_args()
    found = sizes(engine(given.engine), open_case(given.case))
    print("| view | operators | sorts | exchanges | joins |\n|---|---|---|---|---|")
    rows = sorted(found.items(), key=lambda item: -item[1].total()) if given.by_view else []
    for name, counted in [*rows, ("all", sum(found.values(), Counter()))]:
        print(f"| {name} | {counted.total()} | {' | '.join(str(counted[kind]) for kind in KINDS)} |")


if __name__ == "__main__":
    main()

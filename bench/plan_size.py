"""Count the operators in an engine's plans of all views, including sorts, exchanges and joins.

    python bench/plan_size.py CASE [--engine spark] [--by-view]

All views of CASE are built again in a temporary folder, and the operators of each planned query are counted in the engine's EXPLAIN output.
Adaptive plans and whole-stage code are off in Spark, so that plans show all operators. Plans of different engines are not comparable.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from threading import Lock, local
from typing import TYPE_CHECKING
from unittest.mock import patch

from forensics.case import materialise
from forensics.case.folder import Case, open_case
from forensics.case.view_files import View
from forensics.case.views import is_small
from forensics.engines import SPARK, engine
from forensics.engines.base import Engine
from forensics.engines.spark import settings

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

PLAIN = {"spark.sql.adaptive.enabled": "false", "spark.sql.codegen.wholeStage": "false", "spark.sql.maxPlanStringLength": str(1 << 30)}
OPERATOR = re.compile(r"^[\s:|+-]*([A-Z]\w+?)(?:Exec)?\b")
KINDS = {"sorts": ("Sort",), "exchanges": ("Exchange", "Repartition", "CoalescePartitions", "SortPreservingMerge"), "joins": ("Join",)}


def sizes(runs: Engine, case: Case) -> dict[str, Counter[str]]:
    """Return the operators in the plan of each stored view, by kind; all others are `other`."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    compute, collected, keep_rows = materialise._Build._compute, type(runs).collected, type(runs).keep_rows
    now = local()

    def computed(build: materialise._Build, view: View) -> None:
        now.view = view.name
        compute(build, view)

    def count(rows: DataFrame) -> None:
        plan = io.StringIO()
        with lock, contextlib.redirect_stdout(plan):
            rows.explain()
        found[now.view] += Counter(operators(plan.getvalue()))

    def fetched(engine: Engine, rows: DataFrame) -> tuple[pa.Table, StructType]:
        count(rows)
        return collected(engine, rows)

    def kept(engine: Engine, rows: DataFrame, path: Path) -> None:
        count(rows)
        keep_rows(engine, rows, path)

    lock = Lock()  # output is redirected for all threads
    with (
        tempfile.TemporaryDirectory() as folder,
        settings(runs.session, PLAIN if runs.name == SPARK else {}),
        patch.object(materialise._Build, "_compute", computed),
        patch.object(type(runs), "collected", fetched),
        patch.object(type(runs), "keep_rows", kept),
    ):
        materialise.build(runs, case.tables(), Path(folder) / "views", small=is_small(case), overrides=case.thresholds)
    return found


def operators(plan: str) -> list[str]:
    """Return the kinds of the operators in a plan's tree, one per line. A reused part is planned once."""
    names = [match[1] for line in plan.splitlines() if (match := OPERATOR.match(line)) and match[1] != "ReusedExchange"]
    return [next((kind for kind, ends in KINDS.items() if name.endswith(ends)), "other") for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", type=Path)
    parser.add_argument("--engine", default="", help="spark or sail; by default the one that a report would choose")
    parser.add_argument("--by-view", action="store_true", help="print each view, the largest first")
    given = parser.parse_args()
    found = sizes(engine(given.engine), open_case(given.case))
    print("| view | operators | sorts | exchanges | joins |\n|---|---|---|---|---|")
    rows = sorted(found.items(), key=lambda item: -item[1].total()) if given.by_view else []
    for name, counted in [*rows, ("all", sum(found.values(), Counter()))]:
        print(f"| {name} | {counted.total()} | {' | '.join(str(counted[kind]) for kind in KINDS)} |")


if __name__ == "__main__":
    main()

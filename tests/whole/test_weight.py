"""The SQL stays as small as it is recorded to be, and a rise needs a reason."""

from __future__ import annotations

import json

from weight import Weight, operators, recorded, risen, weight


def test_the_sql_is_not_larger_than_recorded() -> None:
    assert not risen(weight(), recorded()[-1]), "make it smaller, or add an entry with the reason to bench/weight.toml"


def test_operators_are_counted_in_the_plans_that_spark_logs() -> None:
    def node(name: str, *children: object) -> dict[str, object]:
        return {"nodeName": name, "children": list(children)}

    plans = [node("Sort", node("SortMergeJoin", node("Scan parquet "), node("ReusedExchange"))), node("Execute CreateViewCommand")]
    events = [json.dumps({"Event": "SparkListenerSQLExecutionStart", "sparkPlanInfo": plan}) for plan in plans]
    assert operators([json.dumps({"Event": "SparkListenerJobStart"}), *events]) == 3


def test_every_rise_that_is_recorded_has_a_reason() -> None:
    entries = recorded()
    for before, after in zip(entries, entries[1:], strict=False):
        now = Weight(**{name: after[name] for name in before if name != "why"})
        assert not risen(now, before) or len(after.get("why", "")) > 20


def test_a_figure_that_rises_by_more_than_a_hundredth_is_named() -> None:
    then = {"tokens": 1000, "joins": 100, "chain": 10, "ctes": 5, "operators": 2000}
    assert risen(Weight(tokens=1010, joins=100, chain=10, ctes=5, operators=None), then) == []
    assert risen(Weight(tokens=1011, joins=99, chain=11, ctes=5, operators=2000), then) == [
        "tokens rose from 1,000 to 1,011",
        "chain rose from 10 to 11",
    ]

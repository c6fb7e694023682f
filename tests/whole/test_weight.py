"""The SQL stays as small as it is recorded to be, and a rise needs a reason."""

from __future__ import annotations

import pytest
from plan_size import sizes
from weight import Weight, recorded, risen, weight

from forensics.engines import SPARK, engine


def test_the_sql_is_not_larger_than_recorded() -> None:
    assert not risen(weight(), recorded()[-1]), "make it smaller, or add an entry with the reason to bench/weight.toml"


@pytest.mark.spark
@pytest.mark.whole
def test_spark_does_not_plan_more_operators_than_recorded(spark, sample_case, capsys: pytest.CaptureFixture[str]) -> None:
    del spark  # the session that the tests share
    case = sample_case("split-brain-frozen-worker-3.9.1")
    operators = sum(counted.total() for counted in sizes(engine(SPARK), case).values())
    with capsys.disabled():
        print(f"\noperators that Spark plans for all views of the sample: {operators:,}")
    assert not risen(weight(operators), recorded()[-1]), "make it smaller, or add an entry with the reason to bench/weight.toml"


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

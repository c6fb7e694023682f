"""One Spark session for the whole run, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forensics.case.folder import Case


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """The session as the product starts it: what holds here holds there."""
    from forensics.engines import engine

    running = engine(jobs=2, little=True)
    yield running.session
    running.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The session, without the temporary views of the tests before."""
    for table in spark_session.catalog.listTables():
        if table.isTemporary:
            spark_session.catalog.dropTempView(table.name)
    yield spark_session


@pytest.fixture(scope="session")
def sample_case(spark_session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Gives the case of a sample incident by its name; each is read once a run."""
    from expect_samples import case_of

    del spark_session  # it only has to be there before the product asks for a session

    @cache
    def of(name: str) -> Case:
        return case_of(name, tmp_path_factory.mktemp(name) / "case")

    return of

"""One Spark session for the whole run, started by the first test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """The session as the product starts it: what holds here holds there."""
    from forensics.session import session

    spark = session(jobs=2)
    yield spark
    spark.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """The session, without the temporary views and the cached rows of the tests before."""
    for table in spark_session.catalog.listTables():
        if table.isTemporary:
            spark_session.catalog.dropTempView(table.name)
    spark_session.catalog.clearCache()
    yield spark_session

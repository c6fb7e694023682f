"""Engines for the tests: one that starts quickly for the contents of views, Spark for tests about Spark; each starts once per run.

The cases of the samples are built once a run too, whichever process of it asks first.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from filelock import FileLock
from hypothesis import settings

from forensics.engines import SAIL, SPARK, VARIABLE, engine
from forensics.extract.reading_processes import collect_seldom

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forensics.case.folder import Case
    from forensics.engines.base import Engine

#: What the user says holds for all tests: `FORENSICS_ENGINE=spark pytest` proves everything on Spark.
GIVEN = os.environ.get(VARIABLE)
ANY = GIVEN or (SAIL if find_spec("pysail") else SPARK)


# Tests share two cores: how long one input takes says nothing.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")

#: Files that take half a minute without an engine.
LONG = {
    "test_page_in_browser.py",
    "test_linear.py",
    "test_layout_families.py",
    "test_odd_evidence.py",
    "test_read_together.py",
    "test_walkthroughs.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that request an engine as tests of the engine. Files with such tests, `whole` ones and long ones come first: a long one at the end would leave a core idle."""
    long = {item.path for item in items if item.path.name in LONG}
    for item in items:
        if "any_engine" in getattr(item, "fixturenames", ()):
            item.add_marker("engine")
        if item.get_closest_marker("engine") or item.get_closest_marker("whole"):
            long.add(item.path)
    items.sort(key=lambda item: item.path not in long)


def pytest_collection_finish() -> None:
    """Thousands of tests that stay are not looked through again whenever Python looks for rubbish, which it does as seldom as in a command."""
    collect_seldom()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give tests that accept any engine the quick one; for all others the product has its normal settings."""
    if GIVEN is None:
        _choose(ANY if item.get_closest_marker("engine") and not item.get_closest_marker("spark") else None)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Spark takes both cores of a machine for itself: only tests that are marked so may start it."""
    before = _spark_runs()
    found = yield
    if GIVEN is None and ANY == SAIL and not item.get_closest_marker("spark") and _spark_runs() and not before:
        pytest.fail("this test starts Spark without the mark `spark`")
    return found


def _spark_runs() -> bool:
    module = sys.modules.get("pyspark.core.context")
    return module is not None and module.SparkContext._gateway is not None


def _choose(name: str | None) -> None:
    if name is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = name


@pytest.fixture
def any_engine() -> Engine:
    """The engine of tests marked `engine`, without the temporary views of the tests before."""
    runs = engine(ANY, jobs=2, little=True)
    forget_views(runs.session)
    return runs


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """Spark's session as the product starts it: what holds here holds there."""
    running = engine(GIVEN or SPARK, jobs=2, little=True)
    yield running.session
    running.stop()


@pytest.fixture
def spark(spark_session: SparkSession) -> Iterator[SparkSession]:
    """Spark's session, without the temporary views of the tests before."""
    forget_views(spark_session)
    yield spark_session


def forget_views(session: SparkSession) -> None:
    """Drop the temporary views of a session."""
    if hasattr(session, "_jsparkSession"):
        # One by one, Spark would look at the files of each view that it lists.
        session._jsparkSession.sessionState().catalog().clearTempTables()
        return
    for table in session.catalog.listTables():
        if table.isTemporary:
            session.catalog.dropTempView(table.name)


@pytest.fixture(scope="session")
def sample_case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Case]:
    """Return the case of a sample incident by its name; each engine builds each case once per run. No test changes it."""
    from expect_samples import SHOWN, case_of

    from forensics.case.folder import open_case

    made = os.environ.get("FORENSICS_REPORT_CASE")
    # Processes that share the tests have folders of their own in that of the run.
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "sample-cases"

    @cache
    def built(name: str, told: str | None) -> Case:
        # `make report` has just had Spark build this one, and says where: to build it takes Spark more than a minute.
        if made and name == SHOWN and (told or SPARK) == SPARK:
            return open_case(Path(made))
        folder = shared / f"{name}-{told}"
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "lock"):
            if not (folder / "built").exists():
                shutil.rmtree(folder / "case", ignore_errors=True)
                case_of(name, folder / "case")
                (folder / "built").touch()
        return open_case(folder / "case")

    return lambda name: built(name, os.environ.get(VARIABLE))

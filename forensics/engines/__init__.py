"""Run queries on Spark, or on an engine that starts immediately. `base` is what they have in common; `spark` and `sail` are the differences.

`spark_session` and `class_archive` make Spark start sooner.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from forensics.errors import UsageError

if TYPE_CHECKING:
    from forensics.engines.base import Engine

SPARK, SAIL = "spark", "sail"
NAMES = (SPARK, SAIL)
VARIABLE = "FORENSICS_ENGINE"


def other(name: str) -> str:
    """Return the engine that can be used instead of another one."""
    return SAIL if name == SPARK else SPARK


def _chosen(name: str) -> str:
    return name or os.environ.get(VARIABLE, "") or SPARK


def quicker(name: str = "", *, master: str = "") -> str:
    """Return the engine that would compute views in less time; empty if that is the chosen one, or if it is not installed. Takes arguments of `engine`."""
    return SAIL if _chosen(name) == SPARK and not master and find_spec("pysail") else ""


def engine(name: str = "", *, master: str = "", jobs: int | None = None, little: bool = False) -> Engine:
    """Return an engine, which starts when it is first needed. Engines of the same name share what a process needs only once.

    Args:
        name: one of `NAMES`; empty for the value of $FORENSICS_ENGINE, else Spark.
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; None for all.
        little: True if there is little to do.

    Raises:
        UsageError: there is no such engine, or only Spark supports the request.
    """
    chosen = _chosen(name)
    where = "--engine" if name else VARIABLE
    if chosen not in NAMES:
        raise UsageError(f"There is no engine `{chosen}`.", where=where, fix=f"Use one of {', '.join(NAMES)}.")
    if chosen == SAIL:
        if master:
            raise UsageError("Only Spark runs on a master.", where="--master", fix="Omit --master, or use --engine spark.")
        from forensics.engines.sail import Sail

        return Sail(jobs)
    from forensics.engines.spark import Spark

    return Spark(master, jobs, little=little)

"""Where queries run: Spark, or an engine that starts at once. `base` is what they have in common; `spark` and `sail` are what differs.

What Spark needs to start soon stands in `spark_session`, and in `class_archive`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from forensics.errors import UsageError

if TYPE_CHECKING:
    from forensics.engines.base import Engine

SPARK, SAIL = "spark", "sail"
NAMES = (SPARK, SAIL)
VARIABLE = "FORENSICS_ENGINE"


def other(name: str) -> str:
    """Return the engine that can be used in the place of another one."""
    return SAIL if name == SPARK else SPARK


def engine(name: str = "", *, master: str = "", jobs: int | None = None, little: bool = False) -> Engine:
    """An engine; it starts when it is first needed. Engines of one name share what a process needs only once.

    Args:
        name: of `NAMES`; empty for what $FORENSICS_ENGINE says, else Spark.
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; all when None.
        little: whether there is little to do.

    Raises:
        UsageError: there is no such engine, or only Spark can do what is asked for.
    """
    told = name or os.environ.get(VARIABLE, "") or SPARK
    where = "--engine" if name else VARIABLE
    if told not in NAMES:
        raise UsageError(f"There is no engine `{told}`.", where=where, fix=f"The engines: {', '.join(NAMES)}.")
    if told == SAIL:
        if master:
            raise UsageError("Only Spark runs on a master.", where="--master", fix="Leave out --master, or say --engine spark.")
        from forensics.engines.sail import Sail

        return Sail(jobs)
    from forensics.engines.spark import Spark

    return Spark(master, jobs, little=little)

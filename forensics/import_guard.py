"""Prevent imports from the working folder: it may contain evidence, and the sender of the evidence may have put a `numpy.py` there.

Python searches the working folder for `python -m`, and for an empty or relative entry of $PYTHONPATH. This module imports only modules that Python
itself has loaded at startup.
"""

import os
import sys

#: The folder of this package, which must stay importable when a checkout is run in place.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  (pathlib would be searched for on the path that is corrected here)
#: Equivalent to the option -P, for Spark's Python workers, which are started with `python -m`.
SAFE = {"PYTHONSAFEPATH": "1"}


def forget_working_folder() -> None:
    """Remove the working folder from this process's search path, and from $PYTHONPATH for its child processes."""
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:
        here = ""  # it has been removed
    sys.path[:] = [entry for entry in sys.path if _is_fixed(entry, here)]
    path = os.environ.get("PYTHONPATH")
    if path is not None:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in path.split(os.pathsep) if _is_fixed(entry, here))


def importable(folder: str) -> str | None:
    """Return the first entry of a folder that Python would import instead of a module or package of the same name elsewhere, or None."""
    from importlib.machinery import all_suffixes

    endings = tuple(all_suffixes())
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        entry = os.path.join(folder, name)  # noqa: PTH118
        if name.endswith(endings) or any(os.path.exists(f"{entry}/__init__{ending}") for ending in endings):  # noqa: PTH110
            return entry
    return None


def _is_fixed(entry: str, here: str) -> bool:
    """Return True if an entry is an absolute path other than the working folder."""
    if entry == _HOME:
        return True
    if not os.path.isabs(entry):  # noqa: PTH117
        return False
    # A working folder that belongs to Python itself (such as site-packages) is as trustworthy as Python.
    return os.path.realpath(entry) != os.path.realpath(here) or entry.startswith((sys.prefix + os.sep, sys.base_prefix + os.sep))

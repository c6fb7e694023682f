"""Nothing is imported from the folder that a command is called in: it may hold the evidence, and whoever wrote that may have put a `numpy.py` there.

Python looks there for `python -m`, and for an empty or relative entry of $PYTHONPATH. This module imports nothing but what Python itself has
loaded when it begins.
"""

import os
import sys

#: The folder that holds this package: a checkout that is run in place stays importable.
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  (pathlib would be looked for on the path that is mended here)
#: For Spark's Python workers, which are started with `python -m`: the same as the option -P.
SAFE = {"PYTHONSAFEPATH": "1"}


def forget_working_folder() -> None:
    """Takes the working folder out of this process's search path, and out of $PYTHONPATH for the processes that it starts."""
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:
        here = ""  # it has been removed
    sys.path[:] = [entry for entry in sys.path if _is_fixed(entry, here)]
    told = os.environ.get("PYTHONPATH")
    if told is not None:
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in told.split(os.pathsep) if _is_fixed(entry, here))


def importable(folder: str) -> str | None:
    """The first thing in a folder that Python would import before a module or package of the same name elsewhere; None when there is none."""
    from importlib.machinery import all_suffixes

    endings = tuple(all_suffixes())
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        entry = os.path.join(folder, name)  # noqa: PTH118
        if name.endswith(endings) or any(os.path.exists(f"{entry}/__init__{ending}") for ending in endings):  # noqa: PTH110
            return entry
    return None


def _is_fixed(entry: str, here: str) -> bool:
    """Whether an entry means the same folder wherever a command is called, and not the present one."""
    if entry == _HOME:
        return True
    if not os.path.isabs(entry):  # noqa: PTH117
        return False
    # Called in a folder of Python itself (site-packages, say), the folder is no less trustworthy than Python.
    return os.path.realpath(entry) != os.path.realpath(here) or entry.startswith((sys.prefix + os.sep, sys.base_prefix + os.sep))

"""Has Arrow do without pandas.

Where pandas is installed, Arrow imports it the first time that it makes an array, if only to see that no value is one of pandas' own; that takes longer than
most commands. Where it cannot be imported, Arrow does without, and asks again when somebody wants a frame.
"""

import sys
from importlib.abc import MetaPathFinder


class _Hidden(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname != "pandas":
            return
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":  # noqa: SLF001  (who asks stands nowhere else)
            show()  # who asks whether it is installed has a use for it
            return
        raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


_HIDDEN = _Hidden()


def hide() -> None:
    """From here on, pandas is not found: in a process of our own, until `show`."""
    if _HIDDEN not in sys.meta_path:
        sys.meta_path.insert(0, _HIDDEN)


def show() -> None:
    """From here on, pandas can be imported, if it is installed."""
    if _HIDDEN in sys.meta_path:
        sys.meta_path.remove(_HIDDEN)

"""Prevent Arrow from importing pandas.

If pandas is installed, Arrow imports it when it creates its first array, only to check for values of pandas types. This takes longer than most commands. If
the import fails, Arrow works without pandas, and tries again when a data frame is requested.
"""

import sys
from importlib.abc import MetaPathFinder


class _Hidden(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname != "pandas":
            return
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":  # noqa: SLF001  (the caller is known only from its frame)
            show()  # a caller that checks whether pandas is installed needs it
            return
        raise ModuleNotFoundError(f"No module named '{fullname}'", name=fullname)


_HIDDEN = _Hidden()


def hide() -> None:
    """Make imports of pandas fail in this process until `show` is called."""
    if _HIDDEN not in sys.meta_path:
        sys.meta_path.insert(0, _HIDDEN)


def show() -> None:
    """Allow imports of pandas again."""
    if _HIDDEN in sys.meta_path:
        sys.meta_path.remove(_HIDDEN)

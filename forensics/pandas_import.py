"""Keeps pandas from being imported where nothing asks for it.

Arrow imports pandas, where it is installed, the first time that it makes an array, if only to see that no value is one of pandas' own; that takes longer than
most commands. Who does ask is served as ever: Arrow tries once more then.
"""

import sys
from importlib.abc import MetaPathFinder


class _Hidden(MetaPathFinder):
    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


_HIDDEN = _Hidden()


def hide() -> None:
    """From here on, there is no pandas."""
    show()
    sys.meta_path.insert(0, _HIDDEN)


def show() -> None:
    """From here on, pandas can be imported, if it is installed."""
    if _HIDDEN in sys.meta_path:
        sys.meta_path.remove(_HIDDEN)

"""Cases with the views alone that a test reads, and with those below them: to plan all takes most of the time of a small case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from forensics.case import materialise, view_files
from forensics.case.views import build

if TYPE_CHECKING:
    from forensics.case.folder import Case
    from forensics.engines.base import Engine


@contextmanager
def only_views(names: Iterable[str]) -> Iterator[None]:
    """Here, builds are of the views of these names and of all that they read."""
    every = view_files.views()
    needed, left = set(), list(names)
    while left:
        name = left.pop()
        if name in every and name not in needed:
            needed.add(name)
            left += every[name].reads
    # In the order of all views, which a view's reads stand before.
    some = {name: view for name, view in every.items() if name in needed}
    with patch.object(materialise, "views", lambda: some):
        yield


def with_views(case: Case, runs: Engine, names: Iterable[str]) -> Case:
    """The case with the views of these names and with all that they read."""
    with only_views(names):
        return build(case, runs)

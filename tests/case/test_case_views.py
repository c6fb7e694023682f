"""Views that another version computed are computed again."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from made_case import written

from forensics import api
from forensics.case import view_files, views


def _folders() -> set[str]:
    """Return the folders of what computes a view or words its rows."""
    modules = {
        Path(spec.origin).parent.name for view in view_files.views().values() if view.computed and (spec := find_spec(view.computed)) and spec.origin
    }
    return modules | {"relations", "wording"} | {view.folder for view in view_files.views().values() if view.words}


@pytest.mark.engine
@pytest.mark.parametrize("part", sorted(_folders()))
def test_other_code_or_other_words_make_views_outdated(case: Callable[[], api.Case], part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert case().outdated is None
    files = views.code()
    changed = next(name for name in files if name.startswith(f"{part}/"))
    monkeypatch.setattr(views, "code", lambda: files | {changed: files[changed] + b"#"})
    views._code.cache_clear()
    assert case().outdated == "older"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = written(tmp_path_factory.mktemp("views") / "case").root
    api.open_case(root).compute_views()
    return root


@pytest.fixture
def case(folder: Path, request: pytest.FixtureRequest) -> Callable[[], api.Case]:
    request.addfinalizer(views._code.cache_clear)
    return lambda: api.open_case(folder)

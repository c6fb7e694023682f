# SPDX-License-Identifier: Apache-2.0
"""Commands leave pandas alone until something asks for it, and then it is there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")


def python(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=cwd, check=False)


def test_arrow_does_without_pandas_and_who_asks_for_it_gets_it(tmp_path: Path) -> None:
    code = """
import sys
from forensics import pandas_import
pandas_import.hide()
import pyarrow as pa, pyarrow.dataset
assert pa.array([1, None]).null_count == 1
assert "pandas" not in sys.modules
import importlib.util
assert importlib.util.find_spec("pandas")
import pandas
assert pa.table({"a": [1]}).to_pandas()["a"].tolist() == [1]
"""
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.engine
def test_a_frame_can_be_had_where_a_command_ran_before(sample_case, tmp_path: Path) -> None:
    code = f"""
from forensics import pandas_import
pandas_import.hide()
import forensics
assert len(forensics.open_case({str(sample_case("split-brain-frozen-worker-3.9.1").root)!r}).view("ownership", "pandas"))
"""
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.engine
def test_the_command_draws_the_page(sample_case, tmp_path: Path) -> None:
    """A user whose library needs pandas, where it is installed."""
    case = sample_case("split-brain-frozen-worker-3.9.1").root
    done = python("-m", "forensics", "report", "--case", str(case), "--output", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bokeh" in (tmp_path / "page.html").read_text(encoding="utf-8")

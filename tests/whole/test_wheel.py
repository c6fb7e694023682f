"""The wheel in an empty environment: everything is in it, and it runs from there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from places import ROOT, SAMPLES

CODE = """
import forensics
from forensics.records import layouts
from forensics.catalogue import patterns
from forensics.case import view_files
from forensics.resources import parsers_dir, sql_dir
assert "site-packages" in forensics.__file__, forensics.__file__
assert len(patterns.load().events) > 100
assert layouts.packaged().layouts
assert {"split_brain", "generation", "finding"} <= set(view_files.views())
print(len(list(parsers_dir().iterdir())), len(list(sql_dir().iterdir())))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(ROOT)], check=True)
    return next(out.glob("*.whl"))


@pytest.mark.slow
def test_everything_is_in_the_wheel(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    places = {"forensics": "forensics", "parsers": "forensics/parsers", "sql": "forensics/sql"}
    for folder, place in places.items():
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                assert f"{place}/{file.relative_to(ROOT / folder).as_posix()}" in packed, file


@pytest.mark.slow
def test_it_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(wheel)], check=True)
    elsewhere = {"cwd": tmp_path, "capture_output": True, "text": True, "check": True}
    assert "Rebuild Kafka" in subprocess.run([str(environment / "bin" / "forensics"), "--help"], **elsewhere).stdout
    subprocess.run([str(python), "-c", CODE], **elsewhere)
    subprocess.run([str(environment / "bin" / "forensics"), "check"], **elsewhere)
    listed = subprocess.run([str(environment / "bin" / "forensics"), "sql", "--list"], **elsewhere).stdout
    assert "split_brain" in listed
    case = tmp_path / "case"
    logs = SAMPLES / "session-timeouts-consumers-3.9.1" / "logs"
    subprocess.run([str(environment / "bin" / "forensics"), "ingest", str(logs), "--case", str(case)], **elsewhere)
    assert "orders-app" in subprocess.run([str(environment / "bin" / "forensics"), "report", "--case", str(case)], **elsewhere).stdout

# SPDX-License-Identifier: Apache-2.0
"""Cases that `forensics report LOGS` makes are found again by what the logs hold."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from forensics.case import cache as case_cache
from forensics.cli import app
from forensics.errors import UsageError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(case_cache.platformdirs, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    return tmp_path


def test_the_same_logs_have_the_same_case_until_they_change(cache):
    logs = cache / "logs"
    (logs / "w1").mkdir(parents=True)
    (logs / "w1" / "connect.log").write_text("one\n")
    first = case_cache.case_folder([logs])
    assert case_cache.case_folder([logs]) == first
    assert case_cache.case_folder([logs], ["Europe/Berlin"]) != first
    (logs / "w1" / "connect.log").write_text("two\n")
    changed = case_cache.case_folder([logs])
    assert changed != first
    (logs / "w1" / "connect.log.1").write_text("")
    assert case_cache.case_folder([logs]) != changed


def test_a_device_is_not_read_to_its_end(cache):
    assert case_cache.case_folder([Path("/dev/zero")]) == case_cache.case_folder([Path("/dev/zero")])


def test_what_is_not_there_is_said(cache):
    with pytest.raises(UsageError, match="There is no file or folder"):
        case_cache.case_folder([cache / "nowhere"])


def test_standard_input_is_kept_once_for_the_user_alone():
    first, again = case_cache.kept_input(io.BytesIO(b"a line\n")), case_cache.kept_input(io.BytesIO(b"a line\n"))
    assert first == again
    assert [f.read_bytes() for f in first.iterdir()] == [b"a line\n"]
    assert first.stat().st_mode & 0o077 == case_cache.cache_folder().stat().st_mode & 0o077 == 0
    assert case_cache.kept_input(io.BytesIO(b"another\n")) != first
    named = case_cache.kept_input(io.BytesIO(b"a line\n"), process="connect-0")
    assert [file.name for file in named.iterdir()] == ["connect-0.log"]
    assert named != first
    for wrong in ("../x", "", "a/b", ".hidden"):
        with pytest.raises(UsageError):
            case_cache.kept_input(io.BytesIO(b"a line\n"), process=wrong)


def test_nothing_on_standard_input_is_an_error_and_leaves_nothing():
    with pytest.raises(UsageError, match="empty"):
        case_cache.kept_input(io.BytesIO(b""))
    assert list(case_cache.cache_folder().iterdir()) == []


def _kept(name: str, size: int, days: float) -> Path:
    folder = case_cache.cache_folder() / name
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "rows").write_bytes(b"x" * size)
    then = time.time() - days * 86_400
    os.utime(folder, (then, then))
    return folder


def test_the_cache_stays_within_its_size_and_age(cache, monkeypatch):
    """118 cases of one day made 763 MB: nothing that was used within a day went."""
    monkeypatch.setattr(case_cache, "MAX_BYTES", 10_000)
    for n in range(118):
        _kept(f"case-{n:03d}", 1_000, days=(n + 1) / 24)
    _kept("old", 1, days=case_cache.MAX_DAYS + 1)
    case_cache.tidy()
    assert [one.path.name for one in case_cache.kept()] == [f"case-{n:03d}" for n in range(10)]
    assert sum(one.size for one in case_cache.kept()) <= case_cache.MAX_BYTES


def test_what_is_in_use_stays(cache, monkeypatch):
    monkeypatch.setattr(case_cache, "MAX_BYTES", 10)
    _kept("just used", 1_000, days=0)
    busy = _kept("busy", 1_000, days=40)
    (busy / ".lock").touch()
    os.utime(busy, (1, 1))
    half = case_cache.cache_folder() / ".input-killed"
    half.write_bytes(b"x" * 100)
    os.utime(half, (1, 1))
    with FileLock(busy / ".lock"):
        case_cache.tidy()
        assert {one.path.name for one in case_cache.kept()} == {"just used", "busy"}
    assert case_cache.tidy(everything=True)[0] == 2
    assert case_cache.kept() == []


def test_the_command_says_where_the_cache_is_and_clears_it(cache):
    _kept("one", 2_000_000, days=1)
    told = CliRunner().invoke(app, ["cache"])
    assert told.exit_code == 0
    assert told.stdout.splitlines()[:2] == [str(case_cache.where()), "1 entry, 2.0 MB"]
    assert CliRunner().invoke(app, ["cache", "--clear"]).stdout.splitlines() == [str(case_cache.where()), "0 entries, 0.0 MB"]
    assert list(case_cache.where().iterdir()) == []


def test_a_pipe_that_a_shell_gives_as_a_path_is_kept_as_standard_input_is(cache):
    """bash: `forensics report <(kubectl logs connect-0)`."""
    read, write = os.pipe()
    os.write(write, b"one\n")
    os.close(write)
    try:
        kept = case_cache.kept_pipe(f"/dev/fd/{read}")
    finally:
        os.close(read)
    assert kept == case_cache.kept_input(io.BytesIO(b"one\n"))
    (cache / "a.log").write_text("one\n")
    assert case_cache.kept_pipe(str(cache / "a.log")) is None

# SPDX-License-Identifier: Apache-2.0
"""Cases that `forensics report LOGS` makes are found again by what the logs hold."""

from __future__ import annotations

import io
import os

import pytest

from forensics.case import shelf
from forensics.errors import UsageError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf.platformdirs, "user_cache_dir", lambda name: str(tmp_path / "cache" / name))
    return tmp_path


def test_the_same_logs_have_the_same_case_until_they_change(cache):
    logs = cache / "logs"
    (logs / "w1").mkdir(parents=True)
    (logs / "w1" / "connect.log").write_text("one\n")
    first = shelf.case_folder([logs])
    assert shelf.case_folder([logs]) == first
    assert shelf.case_folder([logs], ["Europe/Berlin"]) != first
    (logs / "w1" / "connect.log").write_text("two\n")
    changed = shelf.case_folder([logs])
    assert changed != first
    (logs / "w1" / "connect.log.1").write_text("")
    assert shelf.case_folder([logs]) != changed


def test_what_is_not_there_is_said(cache):
    with pytest.raises(UsageError, match="There is no file or folder"):
        shelf.case_folder([cache / "nowhere"])


def test_standard_input_is_kept_once_for_the_user_alone():
    first, again = shelf.kept_input(io.BytesIO(b"a line\n")), shelf.kept_input(io.BytesIO(b"a line\n"))
    assert first == again
    assert [f.read_bytes() for f in first.iterdir()] == [b"a line\n"]
    assert first.stat().st_mode & 0o077 == shelf.shelf().stat().st_mode & 0o077 == 0
    assert shelf.kept_input(io.BytesIO(b"another\n")) != first


def test_nothing_on_standard_input_is_an_error_and_leaves_nothing():
    with pytest.raises(UsageError, match="empty"):
        shelf.kept_input(io.BytesIO(b""))
    assert list(shelf.shelf().iterdir()) == []


def test_cases_that_nobody_used_for_long_make_room(cache):
    for n in range(shelf.KEPT + 3):
        folder = shelf.shelf() / f"{n:02d}"
        folder.mkdir()
        os.utime(folder, (1_000_000 + n, 1_000_000 + n))
    shelf.tidy()
    assert sorted(p.name for p in shelf.shelf().iterdir()) == [f"{n:02d}" for n in range(3, shelf.KEPT + 3)]


def test_a_case_of_today_stays(cache):
    for n in range(shelf.KEPT + 3):
        (shelf.shelf() / f"{n:02d}").mkdir()
    shelf.tidy()
    assert len(list(shelf.shelf().iterdir())) == shelf.KEPT + 3


def test_a_pipe_that_a_shell_gives_as_a_path_is_kept_as_standard_input_is(cache):
    """bash: `forensics report <(kubectl logs connect-0)`."""
    read, write = os.pipe()
    os.write(write, b"one\n")
    os.close(write)
    try:
        kept = shelf.kept_pipe(f"/dev/fd/{read}")
    finally:
        os.close(read)
    assert kept == shelf.kept_input(io.BytesIO(b"one\n"))
    (cache / "a.log").write_text("one\n")
    assert shelf.kept_pipe(str(cache / "a.log")) is None

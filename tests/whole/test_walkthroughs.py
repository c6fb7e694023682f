"""The changes that CONTRIBUTING.md shows (a message, a layout, a rule, a view) are applied to a copy of the tree, and have the described effects.

All four are added to one copy, one after the other: each names files of its own, and a command takes as long to check one as to check all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import assert_rows, examples, run
from places import ROOT

from forensics import resources
from forensics.case import view_files
from forensics.wording import files

pytestmark = pytest.mark.whole

_DIFF = re.compile(r"^### Adding (a \w+)\n.*?^```diff\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
DIFFS = dict(_DIFF.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
MESSAGE = (
    "[2026-11-21 10:43:54,923] INFO [Consumer clientId=c-1, groupId=orders] Node 1 was unable to process the fetch request with "
    "(sessionId=1439082364, epoch=INITIAL): FETCH_SESSION_ID_NOT_FOUND. (org.apache.kafka.clients.FetchSessionHandler)"
)
LINE = (
    "2026/11/21-10:43:54.923 INFO  org.apache.kafka.clients.consumer.internals.ConsumerCoordinator # "
    "[Consumer clientId=c-1, groupId=orders] Successfully joined group with generation 7"
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is installed, in the folders of the source tree, with all changes."""
    tmp_path = tmp_path_factory.mktemp("tree")
    for folder in ("forensics", "parsers", "sql"):
        # With what Python has compiled, but for what a process is writing now.
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    for folder in ("parsers", "sql"):
        (tmp_path / "forensics" / folder).symlink_to(tmp_path / folder)
    # What is known already is no example of adding it.
    assert "fetch_session_refused" not in (tmp_path / "parsers" / "client.toml").read_text(encoding="utf-8")
    assert "2026-11-21 10:43:54.923" not in forensics(tmp_path, "explain", LINE)
    named = {what: change(tmp_path, what) for what in DIFFS}
    assert named == {
        "a message": ["parsers/client.toml"],
        "a layout": ["parsers/layouts.toml"],
        "a rule": ["sql/7_rules/assignor-changed.sql", "sql/7_rules/assignor-changed.toml"],
        "a view": ["sql/4_groups/static_member.sql", "sql/4_groups/static_member.toml"],
    }
    return tmp_path


def change(tree: Path, what: str) -> list[str]:
    """Applies a diff to the tree; the files that it names."""
    diff = DIFFS[what]
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], input=diff.encode(), cwd=tree, check=True)
    return re.findall(r"^\+\+\+ b/(\S+)", diff, re.MULTILINE)


def forensics(tree: Path, *args: str) -> str:
    """Return the output of a command of the tree."""
    done = subprocess.run(
        [sys.executable, "-m", "forensics", *args], cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counted(said: str) -> list[int]:
    """Layouts, patterns and rules of which `forensics check` says that they are sound."""
    assert "all sound" in said
    return [int(n) for n in re.findall(r"\d+", said)]


def test_each_change_is_sound_and_counted(tree: Path) -> None:
    layouts, patterns, rules = counted(forensics(ROOT, "check"))
    assert counted(forensics(tree, "check")) == [layouts + 1, patterns + 1, rules + 1]
    listed = forensics(tree, "sql", "--list")
    assert "assignor-changed" in listed
    assert "static_member" in listed


def test_a_message(tree: Path) -> None:
    said = forensics(tree, "explain", MESSAGE)
    assert "fetch_session_refused (network)" in said
    assert "error = FETCH_SESSION_ID_NOT_FOUND" in said
    assert "1.1.0 and later" in said


def test_a_layout(tree: Path) -> None:
    said = forensics(tree, "explain", LINE)
    assert "slashes" in said
    assert "2026-11-21 10:43:54.923" in said


@pytest.fixture
def case(sample_case):
    """Made with the views as they are: asked for before the changed tree is."""
    return sample_case("split-brain-frozen-worker-3.9.1")


@pytest.fixture
def changed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Use the views and rules of the changed tree in this process."""
    caches = (files.rule_words, files.view_words, examples)
    with monkeypatch.context() as patched:
        patched.setattr(resources, "_package", lambda name: tree / name.removeprefix("forensics."))
        for cached in caches:
            cached.cache_clear()
        yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.engine
def test_a_rule(case, changed, any_engine) -> None:
    view = view_files.views()["rule_assignor_changed"]
    assert view.name in view_files.views()["occurrence"].reads
    its = examples()[view.name]
    assert [len(example["expect"]) for example in its] == [1, 0]
    for example in its:
        assert_rows(run(any_engine, case, view, example)[0].to_pylist(), example["expect"])


@pytest.mark.engine
def test_a_view(case, changed, any_engine) -> None:
    (example,) = examples()["static_member"]
    assert_rows(run(any_engine, case, view_files.views()["static_member"], example)[0].to_pylist(), example["expect"])

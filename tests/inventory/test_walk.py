"""Files below some paths: which links are followed, and what is said of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from forensics.inventory.evidence import SKIPPED, UNREADABLE
from forensics.inventory.walk import walk


@pytest.mark.parametrize(
    ("links", "status", "note"),
    [
        ({"a": "a"}, SKIPPED, "leads back to itself"),
        ({"a": "b", "b": "a"}, SKIPPED, "leads back to itself"),
        ({"a": "../other/b", "../other/b": "../in/a"}, SKIPPED, "leads back to itself"),
        ({"a": "../other"}, SKIPPED, "leads out of the evidence"),
        ({"a": "../other/gone"}, SKIPPED, "leads out of the evidence"),
        ({"a": "gone"}, UNREADABLE, "to a file that is not there"),
    ],
    ids=["itself", "two", "by another folder", "out", "out to nothing", "to nothing"],
)
def test_a_link_that_is_not_followed_is_said_to_be_what_it_is(links: dict[str, str], status: str, note: str, tmp_path: Path) -> None:
    for folder in ("in", "other"):
        (tmp_path / folder).mkdir()
    for link, target in links.items():
        (tmp_path / "in" / link).symlink_to(target)
    found = {f.path: f for f in walk([tmp_path / "in"], set())}
    assert found.keys() == {link for link in links if "/" not in link}
    assert all(f.status == status and note in f.note for f in found.values())


def test_a_link_inside_the_evidence_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "log").write_text("x")
    (tmp_path / "in" / "same").symlink_to("log")
    (tmp_path / "in" / "up").symlink_to(".")
    assert [(f.path, f.note) for f in walk([tmp_path / "in"], set())] == [("log", "")]

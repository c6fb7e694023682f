"""Pages that are made are current; pages that are written name what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer
from make_docs import DOCS, pages

from forensics import queries
from forensics.cli import app

ROOT = DOCS.parent
WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", DOCS / "report.md", *sorted((ROOT / "sample_logs").glob("*/README.md"))]


@pytest.mark.parametrize("name", sorted(pages()))
def test_made_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


def test_every_command_and_option_is_documented() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "README.md", DOCS / "report.md"))
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        assert f"forensics {name}" in text, name
        for parameter in command.params:
            option = next((o for o in parameter.opts if o.startswith("--")), None)
            assert option in (None, "--help") or option in text, f"{name} {option}"


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_that_pages_name_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    assert set(re.findall(r"`forensics ([a-z]+)", text)) <= known
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", text)) <= targets


def test_the_view_pages_name_columns_that_views_have() -> None:
    text = (DOCS / "views.md").read_text(encoding="utf-8")
    for view in queries.views().values():
        if view.folder == "":
            section = text.split(f"\n## {view.name}\n")[1].split("\n## ")[0]
            assert section.count("\n| `") >= 3, view.name

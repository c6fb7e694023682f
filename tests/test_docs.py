"""Pages that are made are current; pages that are written name what there is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import make_notebook
import pyarrow.dataset as ds
import pytest
import typer
from make_docs import DOCS, pages
from typer.testing import CliRunner

from forensics.case import view_files
from forensics.cli import app

ROOT = DOCS.parent
WRITTEN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    DOCS / "report.md",
    DOCS / "questions.md",
    DOCS / "witnesses.md",
    *sorted((ROOT / "sample_logs").glob("*/README.md")),
]


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
    assert set(re.findall(r"`forensics ([a-z][a-z-]*)", text)) <= known
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z]+)", text)) <= targets


def test_the_view_pages_name_columns_that_views_have() -> None:
    text = (DOCS / "views.md").read_text(encoding="utf-8")
    for view in view_files.views().values():
        if view.folder == "":
            section = text.split(f"\n## {view.name}\n")[1].split("\n## ")[0]
            assert section.count("\n| `") >= 3, view.name


def commands(page: Path) -> list[list[str]]:
    """Commands of a page's shell blocks that begin with `forensics`."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [shlex.split(line)[1:] for block in blocks for line in block.splitlines() if line.startswith("forensics ")]


@pytest.mark.engine
def test_the_commands_of_the_questions_page_answer(sample_case, tmp_path, monkeypatch) -> None:
    """Every command gives something; the cases that the page makes first are those of the samples."""
    found = commands(DOCS / "questions.md")
    cases = {c[2]: str(sample_case(c[3].split("/")[1]).root) for c in found if c[0] == "ingest"}
    assert len(cases) == 3
    monkeypatch.chdir(tmp_path)
    for command in found:
        if command[0] == "ingest":
            continue
        told = [cases.get(word, str(ROOT / word) if word.startswith("sample_logs/") else word) for word in command]
        result = CliRunner().invoke(app, told)
        assert result.exit_code == 0, (command, result.output)
        assert len(result.output.splitlines()) >= 2, (command, result.output)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("split-brain-partitioned-worker-2.3.0", "coordinator-unavailable"),
        ("split-brain-frozen-worker-3.9.1", "split-brain-task"),
        ("split-brain-frozen-worker-3.9.1", "heartbeat-rebalancing"),
        ("split-brain-frozen-worker-3.9.1", "offsets-topic-single-replica"),
        ("session-timeouts-consumers-3.9.1", "stale-commit"),
    ],
)
def test_the_samples_show_what_the_questions_page_asks_them(name: str, rule: str, sample_case) -> None:
    rows = ds.dataset(sample_case(name).view_path("finding"), format="parquet").to_table(columns=["rule"]).to_pylist()
    assert rule in {r["rule"] for r in rows}


@pytest.mark.engine
def test_the_notebook_runs_and_its_outputs_are_current() -> None:
    pytest.importorskip("pandas")
    given = json.loads(make_notebook.NOTEBOOK.read_text(encoding="utf-8"))
    assert make_notebook.executed(given) == given, "run `make notebook`"

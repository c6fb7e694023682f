"""Pages that are made are current; pages that are written name what there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import make_answers
import make_notebook
import pyarrow.dataset as ds
import pytest
import typer
from make_docs import DOCS, beyond, in_general, pages
from places import ROOT, SAMPLES

from forensics import errors
from forensics.case import materialise, view_files
from forensics.cli import app

WRITTEN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted((SAMPLES).glob("*/README.md")),
]


def test_made_pages_are_current() -> None:
    made = pages()
    assert made
    assert [name for name, text in made.items() if (DOCS / name).read_text(encoding="utf-8") != text] == [], "run `make docs`"


def test_every_command_and_option_is_documented() -> None:
    text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "README.md", DOCS / "report.md", DOCS / "commands.md"))
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
        if view.kind == "public":
            section = text.split(f"\n## {view.name}\n")[1].split("\n## ")[0]
            assert section.count("\n| `") >= 3, view.name


@pytest.fixture
def cases(sample_case) -> dict[str, Path]:
    """The cases of the samples, as pages call them."""
    return {short: sample_case(name).root for short, name in make_answers.CASES.items()}


@pytest.fixture(scope="module", autouse=True)
def each_command_runs_once() -> Iterator[None]:
    """One test checks that a command answers, another checks the answer: commands read cases that are never changed."""
    run, known = make_answers.run, {}

    def once(arguments: list[str], cases: dict[str, Path]) -> tuple[int, str]:
        key = (*arguments, *map(str, cases.values()))
        if key not in known:
            known[key] = run(arguments, cases)
        return known[key]

    with patch.object(make_answers, "run", once):
        yield


def blocks(page: Path) -> list[list[str]]:
    """The commands of a page's shell blocks that begin with `forensics`."""
    found = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [command for block in found for command in make_answers.commands(block)]


@pytest.mark.engine
@pytest.mark.parametrize("name", make_answers.PAGES)
def test_the_commands_of_a_page_answer(name: str, cases) -> None:
    """Every command prints something; the cases that a page builds are those of the samples."""
    found = blocks(DOCS / name)
    assert found
    for command in found:
        if command[0] == "ingest":
            assert command[1:] == ["--case", command[2], f"sample_logs/{make_answers.CASES[command[2]]}/logs"]
            continue
        code, text = make_answers.run(command, cases)
        assert code == 0, (command, text)
        assert "--output" in command or len(text.splitlines()) >= 2, (command, text)


@pytest.mark.engine
@pytest.mark.parametrize("name", make_answers.PAGES)
def test_the_answers_that_a_page_shows_are_current(name: str, cases) -> None:
    text = (DOCS / name).read_text(encoding="utf-8")
    assert make_answers.answered(text, cases) == text, "run `make samples`"


def test_every_answer_is_found_by_what_makes_it() -> None:
    """A marker at the wrong place would never be filled again."""
    for name in make_answers.PAGES:
        text = (DOCS / name).read_text(encoding="utf-8")
        assert text.count("<!-- answer") == len(make_answers._ANSWER.findall(text)), name  # noqa: SLF001


def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path) -> None:
    pytest.importorskip("material")
    made = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr[-2000:]
    pages = {page.relative_to(tmp_path / "site").as_posix(): page.read_text(encoding="utf-8") for page in (tmp_path / "site").rglob("*.html")}
    assert {"index.html", "tutorial.html", "commands.html", "python.html", "samples/split-brain-frozen-worker-3.9.1.html"} <= pages.keys()
    for name, text in pages.items():
        fetched = re.findall(r"<(?:script|img|iframe|source)[^>]*\ssrc=[\"']?(?:https?:)?//[^\s>]*", text)
        fetched += re.findall(r"<link[^>]*\shref=[\"']?(?:https?:)?//[^\s>]*", text)
        assert fetched == [], name


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


@pytest.mark.whole
@pytest.mark.engine
def test_the_notebook_runs_and_its_outputs_are_current(monkeypatch: pytest.MonkeyPatch, sample_case) -> None:
    """Its case gets the views of the same logs that another test has built."""
    pytest.importorskip("pandas")
    known = sample_case(make_answers.CASES["frozen"]).views()

    def build(engine: object, tables: object, target: Path, *_: object, **__: object) -> dict[str, str]:
        return {name: str(shutil.copytree(path, target / name)) for name, path in known.items()}

    monkeypatch.setattr(materialise, "build", build)
    monkeypatch.setattr(errors.SHELL, "reads", False)  # an earlier command in this process has set it
    given = json.loads(make_notebook.NOTEBOOK.read_text(encoding="utf-8"))
    assert make_notebook.executed(given) == given, "run `make notebook`"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("set it to {{ session_ms // wanted }} or {{ beat_ms * wanted }}", "set it to *session* ÷ *wanted* or *beat* × *wanted*"),
        ('{{ tasks | length | count("task") }} {{ "was" if tasks | length == 1 else "were" }} lost', "*N* tasks were lost"),
        ("lost{% if a %} x{% elif b %} y{% else %} z{% endif %} there", "lost [x / y / z] there"),
        ("lost {% if a %}{% if b %}x{% else %}y{% endif %}{% else %}z{% endif %} there", "lost [x / y / z] there"),
        ("for {% if hi %}at least {{ lo_ms | duration }}{% else %}{{ lo_ms | duration }}{% endif %}", "for [at least] *duration*"),
        ('{% for t in topics %}{{ t.name }} ({{ t.count }}){{ ", " if not loop.last }}{% endfor %}', "*name* (*count*), ..."),
        ("`POST /connectors/{{ connector }}/restart`, `{{ subject }}`", "`POST /connectors/CONNECTOR/restart`, *subject*"),
    ],
)
def test_on_the_page_of_rules_a_template_reads_as_text(template: str, text: str) -> None:
    assert in_general(template) == text


def test_on_the_page_of_rules_words_of_the_row_above_are_not_repeated() -> None:
    above = "[one member / all members] had no coordinator for a time that these logs show: the broker was down"
    assert beyond(above, above) == "as above"
    assert beyond(above.replace("broker was down", "topic is missing"), above) == "… the topic is missing"
    assert beyond("another text", above) == "another text"

# SPDX-License-Identifier: Apache-2.0
"""The toolset file for HolmesGPT: each of its commands runs, with and without its optional parameters, and a parameter cannot become an option."""

from __future__ import annotations

import shlex
from pathlib import Path

import made_case
import pytest
import yaml
from jinja2 import Template
from make_docs import DOCS
from typer.testing import CliRunner

from forensics.cli import app

(TOOLSET,) = yaml.safe_load((DOCS / "holmesgpt-toolset.yaml").read_text(encoding="utf-8"))["toolsets"].values()
TOOLS = {tool["name"]: tool for tool in TOOLSET["tools"]}
VALUES = {
    "group": "connect-cluster", "since": "10:00", "until": "10:02", "id": "f-split-brain-task", "at": "10:00:30", "view": "finding",
    "columns": "finding_id,headline", "line": "Successfully joined group with generation 7",
}  # fmt: skip


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> Path:
    return made_case.written(tmp_path_factory.mktemp("made") / "case").root


def rendered(tool: str, values: dict[str, str]) -> list[str]:
    """The words of a command, as HolmesGPT makes them: parameters are quoted for the shell, then inserted by Jinja."""
    quoted = {name: shlex.quote(value) for name, value in values.items()}
    return shlex.split(Template(TOOLS[tool]["command"]).render(quoted))


def answer(words: list[str], case: Path) -> tuple[int, str]:
    assert words[0] == "forensics"
    found = CliRunner().invoke(app, words[1:], env={"FORENSICS_CASE": str(case)})
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        return 4, str(found.exception)
    return found.exit_code, found.output


def test_the_file_has_the_keys_that_holmesgpt_knows() -> None:
    assert set(TOOLSET) <= {"description", "tags", "prerequisites", "llm_instructions", "tools"}
    for tool in TOOLS.values():
        assert {"name", "description", "command"} <= set(tool) <= {"name", "description", "command", "parameters"}
        for name, parameter in tool.get("parameters", {}).items():
            assert "{{ " + name + " }}" in tool["command"]
            assert set(parameter) == {"type", "description", "required"}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("every", [True, False], ids=["all parameters", "required ones"])
def test_each_command_answers(tool: str, every: bool, case: Path) -> None:
    known = TOOLS[tool].get("parameters", {})
    code, text = answer(rendered(tool, {name: VALUES[name] for name, p in known.items() if every or p["required"]}), case)
    if tool == "kafka_forensics_lines":  # this case has no lines: the command has understood the question
        assert "no line" in text, text
    else:
        assert (code, text.count("\n") > 1) == (0, True), text


@pytest.mark.parametrize("tool", TOOLS)
def test_a_parameter_cannot_become_an_option(tool: str, case: Path) -> None:
    """`-f FILE` of `sql` would read a file, and `-e` would run any statement."""
    for name in TOOLS[tool].get("parameters", {}):
        for value in ("--help", "-f/etc/passwd"):
            if name == "line":
                continue  # any text is a line
            code, text = answer(rendered(tool, VALUES | {name: value}), case)
            assert code, (name, value, text)
            assert "Usage" not in text

"""The shapes of secrets in `secrets/hidden.txt` reach no table, view, export or redacted copy, and the lines of `secrets/kept.txt` stay as they are."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import TESTS
from typer.testing import CliRunner

from forensics.cli import app
from forensics.redact.copying import redact
from forensics.redaction import scrub, scrubbed
from forensics.schema import load_fields

HERE = TESTS
RELIABILITY = HERE.parent / "docs" / "reliability.md"
_MARKED = re.compile("«(.*?)»", re.DOTALL)
_SHORTEST = 3


def lines(name: str) -> list[str]:
    said = (HERE / "secrets" / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in said if line.strip() and not re.match(r"#+ ", line)]


@dataclass(frozen=True)
class Shape:
    """A line with marked secrets."""

    marked: str

    @property
    def text(self) -> str:
        return re.sub("[«»]", "", self.marked)

    @cached_property
    def around(self) -> str:
        return _MARKED.sub(" ", self.marked)

    @cached_property
    def parts(self) -> set[str]:
        """The secrets, and their words that are nowhere else in the line."""
        secrets = _MARKED.findall(self.marked)
        words = (word for secret in secrets for word in re.findall(rf"[^\W_]{{{_SHORTEST},}}", secret))
        return {*secrets, *(word for word in words if word not in self.around)}


HIDDEN, KEPT = [Shape(line) for line in lines("hidden.txt")], lines("kept.txt")


def shown(text: str) -> str:
    """Return the part of a text that a table keeps."""
    (column,) = scrubbed([pa.array([text])])
    return str(column.to_pylist()[0])


def test_no_part_of_a_secret_stays_and_nothing_else_is_hidden(record_property: Callable[[str, object], None]):
    leaked = {s.marked: shown(s.text) for s in HIDDEN if any(part in shown(s.text) for part in s.parts)}
    over = {line: shown(line) for line in KEPT if shown(line) != line}
    figures = f"hidden {len(HIDDEN) - len(leaked)} of {len(HIDDEN)}, kept {len(KEPT) - len(over)} of {len(KEPT)}"
    record_property("inputs", len(HIDDEN) + len(KEPT))
    record_property("found", figures)
    assert not leaked, figures
    assert not over, figures
    assert figures in RELIABILITY.read_text(encoding="utf-8")
    assert len(HIDDEN) >= 450 and len(KEPT) >= 190


def test_the_marks_of_the_lists_are_sound():
    for shape in HIDDEN:
        assert shape.parts, shape.marked
        assert "«" not in shape.around and "»" not in shape.around
    assert not any("«" in line for line in KEPT)
    assert len({s.marked for s in HIDDEN}) == len(HIDDEN) and len(set(KEPT)) == len(KEPT)


@pytest.mark.parametrize("shape", HIDDEN, ids=range(len(HIDDEN)))
def test_what_is_around_a_secret_stays_and_the_result_is_final(shape: Shape):
    kept = shown(shape.text)
    assert kept == scrub(shape.text)
    assert scrub(kept) == kept
    first = re.match(r"\W*\w+", shape.marked.partition("«")[0])
    assert first is None or kept.startswith(first[0])


#: Other forms of a text, in which its secrets are hidden too.
FORMS: dict[str, Callable[[str], str]] = {
    "HTML": html.escape,
    "HTML twice": lambda text: html.escape(html.escape(text)),
    "JSON": lambda text: json.dumps({"m": text}),
    "JSON twice": lambda text: json.dumps(json.dumps({"m": text})),
    "codes of JSON": lambda text: text.replace("=", "\\u003d").replace("&", "\\u0026").replace("<", "\\u003c"),
    "URL": quote,
    "URL, all of it": lambda text: quote(text, safe=""),
    "no-break blanks": lambda text: text.replace(" ", "\u00a0"),
    "wide signs": lambda text: text.replace("=", "\uff1d").replace(":", "\uff1a"),
    "soft hyphens": lambda text: re.sub("(?i)(pass|tok|sec)(w|en|ret)", "\\1\u00ad\\2", text),
    "joined trace": lambda text: f"java.lang.IllegalStateException: {text}\\n\\tat io.x.Y.z(Y.java:12)\\n\\tat a.b@12",
    "joined by syslog": lambda text: text.replace("\n", "#012").replace("\t", "#011") + "#012#011at io.x.Y.z(Y.java:12)",
}


@pytest.mark.parametrize("step", [pytest.param(4, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_in_another_form_is_hidden(form: str, step: int, record_property: Callable[[str, object], None]):
    """Words of the secret that the form leaves as they are do not appear."""
    leaked = []
    # Another part of the shapes in each form, so that each is tried in some.
    tried = HIDDEN[list(FORMS).index(form) % step :: step]
    record_property("inputs", len(tried))
    for shape in tried:
        text = FORMS[form](shape.text)
        words = {
            word for part in shape.parts for word in re.findall(r"[A-Za-z0-9]{5,}", part) if word in text and word not in FORMS[form](shape.around)
        }
        kept = shown(text)
        leaked += [(shape.marked, kept) for word in words if word in kept]
    assert leaked == []


HEAD = "[2026-11-21 07:51:{:02},{:03}] {} "


def log(folder: Path) -> Path:
    """A worker's log: each shape as a message of its own, and as the reason why a task failed."""
    said = []
    for n, shape in enumerate(HIDDEN):
        at = (n // 20 % 60, n % 20 * 50)
        said.append(HEAD.format(*at, "INFO") + f"{shape.text} (io.example.App:17)")
        said.append(
            HEAD.format(*at, "ERROR") + "[sink|task-0] WorkerSinkTask{id=sink-0} Task threw an uncaught and unrecoverable exception. Task is being "
            "killed and will not recover until manually restarted (org.apache.kafka.connect.runtime.WorkerTask:212)\n"
            f"org.apache.kafka.connect.errors.ConnectException: {shape.text}\n\tat io.example.Sink.put(Sink.java:12)"
        )
        said.append(
            HEAD.format(*at, "WARN")
            + f"[AdminClient clientId=a] Connection to node 1 could not be established: {shape.text} (org.apache.kafka.clients.NetworkClient)"
        )
    folder.mkdir()
    (folder / "connect.log").write_text("\n".join(said) + "\n", encoding="utf-8")
    objects = [json.dumps({"timestamp": "2026-11-21T07:51:24.897Z", "level": "INFO", "logger": "io.example.App", "message": s.text}) for s in HIDDEN]
    (folder / "app.json.log").write_text("\n".join(objects) + "\n", encoding="utf-8")
    return folder


def found_in(texts: Iterator[str]) -> list[tuple[str, str]]:
    """Parts of secrets in texts; short numbers, and words that are around a secret in some line or in the name of a column, are not searched."""
    everything = "\n".join(texts)
    around = "\n".join([*(s.around for s in HIDDEN), *load_fields()])
    parts = {part for s in HIDDEN for part in s.parts if len(part) > _SHORTEST + 2 * part.isdigit() and part not in around}
    return [(part, everything[max(0, at - 80) : at + 40]) for part in parts if (at := everything.find(part)) >= 0]


def test_a_redacted_copy_has_no_secret(tmp_path: Path):
    redact(log(tmp_path / "in"), tmp_path / "out", keep_unrecognised=True)
    copies = [f for f in (tmp_path / "out").rglob("*") if f.is_file()]
    assert sum(len(f.read_text(encoding="utf-8").splitlines()) for f in copies) > 2 * len(HIDDEN)
    assert found_in(f.read_text(encoding="utf-8") for f in copies) == []


@pytest.mark.engine
@pytest.mark.whole
def test_no_table_no_view_and_no_export_has_a_secret(tmp_path: Path):
    case, export = tmp_path / "case", tmp_path / "events.jsonl"
    for command in (["ingest", str(log(tmp_path / "in"))], ["export", "--to", "timesketch", "-o", str(export)]):
        done = CliRunner().invoke(app, [*command, "--case", str(case), "--engine", "sail"])
        assert done.exit_code == 0, done.output
    tables = sorted(case.rglob("*.parquet"))
    assert {"event_row", "unrecognised_row"} <= {f.relative_to(case).parts[1] for f in tables}
    rows = [(f, repr(pq.read_table(f).to_pylist())) for f in tables]
    assert sum("Task threw an uncaught" in text or "task_failed" in text for _, text in rows) > 0
    assert found_in(text for _, text in rows) == []
    assert export.read_text(encoding="utf-8").count("task_failed") >= len(HIDDEN)
    assert found_in(iter([export.read_text(encoding="utf-8")])) == []

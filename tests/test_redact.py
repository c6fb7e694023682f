# SPDX-License-Identifier: Apache-2.0
"""A copy without names: none is left, what is told is the same, and what cannot be told without names is withheld."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from reading import read

from forensics.catalogue.patterns import load
from forensics.offsets_topic.replica_placement import group_partition
from forensics.redact.copying import redact

SAMPLES = Path(__file__).parent.parent / "sample_logs"
RECORDINGS = os.environ.get("FORENSICS_RECORDINGS")
SOME = (
    "1.1.1-rolling_bounce-0",
    "2.3.0-debug_levels-0",
    "3.6.2-consumers_eager_debug-0",
    "3.9.1-consumers_static_fenced-0",
    "4.3.1-consumers_kip848-0",
)
EVIDENCE = [*sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()), *(SOME if RECORDINGS else ())]
#: Columns that tell where a line stands, or what it says word by word.
PLACES = {"event_id", "file_id", "byte_offset", "stream_pos", "process_id", "path", "message", "text", "thread"}
#: Captures of free text: names in them are replaced, and words that not everybody has.
FREE = {"reason", "client_reason", "cause", "error", "text", "config", "columns", "class_name", "directory", "component", "operation"}


def folder(name: str) -> Path:
    return SAMPLES / name if (SAMPLES / name).is_dir() else Path(RECORDINGS or "") / name


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Any:
    known: dict[str, tuple[Path, Path]] = {}

    def made(name: str) -> tuple[Path, Path]:
        if name not in known:
            root = tmp_path_factory.mktemp("redacted")
            redact(folder(name), root / "copy", mapping=root / "names.json")
            known[name] = root / "copy", root / "names.json"
        return known[name]

    return made


@pytest.mark.parametrize("name", EVIDENCE)
def test_every_event_of_a_copy_is_the_one_it_was(name: str, copies) -> None:
    copy, file = copies(name)
    files = json.loads(file.read_text())["files"]
    before = [r for r in read([folder(name)]).events if r["path"] in files]
    after = read([copy]).events
    assert len(before) == len(after) > 0
    at = {(r["path"], r["line"], r["event"], n): r for n, r in numbered(after)}
    pairs: dict[str, dict[str, str]] = {}
    for n, old in numbered(before):
        new = at[files[old["path"]], old["line"], old["event"], n]
        assert old.keys() - PLACES == new.keys() - PLACES
        for column in old.keys() - PLACES - FREE:
            for a, b in zip(leaves(old[column]), leaves(new[column]), strict=True):
                assert isinstance(a, str) or a == b, column
                if isinstance(a, str):
                    assert pairs.setdefault(column, {}).setdefault(a, b) == b, f"{column}: {a} has two pseudonyms"
    for column, names in pairs.items():
        assert len(set(names.values())) == len(names), f"{column}: two names have one pseudonym"


def numbered(rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Rows with the number that tells several of one line apart."""
    seen: dict[tuple[Any, ...], int] = {}
    result = []
    for row in rows:
        key = row["path"], row["line"], row["event"]
        seen[key] = seen.get(key, 0) + 1
        result.append((seen[key], row))
    return result


def leaves(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return [x for v in value for x in leaves(v)]
    return [x for v in sorted(value.items()) for x in leaves(v)] if isinstance(value, dict) else [value]


@pytest.mark.parametrize("name", EVIDENCE)
def test_no_name_is_left_in_a_copy(name: str, copies) -> None:
    copy, file = copies(name)
    names = {n for kind in json.loads(file.read_text())["names"].values() for n in kind}
    told = {n for n in names if len(n) > 3 and not re.fullmatch(r"[a-z]+", n)}
    assert told
    whole = "\n".join(
        [*(str(f.relative_to(copy)) for f in copy.rglob("*")), *(f.read_text(errors="replace") for f in copy.rglob("*") if f.is_file())]
    )
    # Whole words: `1-a` is no name in the middle of a uuid.
    left = [n for n in told if n in whole and re.search(rf"(?<![A-Za-z0-9]){re.escape(n)}(?![A-Za-z0-9])", whole)]
    assert left == []
    assert not re.search(r"(?<![\d.])(?:10\.77|192\.168|172\.1[6-9])\.\d+\.\d+", whole)


@pytest.mark.parametrize("name", EVIDENCE)
def test_lines_keep_their_numbers_and_groups_their_partitions(name: str, copies) -> None:
    copy, file = copies(name)
    mapping = json.loads(file.read_text())
    for old, new in mapping["files"].items():
        if (folder(name) / old).is_file() and not old.endswith(".gz"):
            assert (folder(name) / old).read_bytes().count(b"\n") in (n := (copy / new).read_bytes().count(b"\n"), n - 1), old
    for group, about in mapping["groups"].items():
        assert about["partition"] == {n: group_partition(about["pseudonym"], int(n)) for n in about["partition"]}, group


def test_every_example_of_the_catalogue_is_the_same_event_without_its_names(tmp_path: Path) -> None:
    lines = []
    for event in load().events:
        for example in event.examples:
            logger = event.loggers[0] if event.loggers else "client"
            lines.append(f"[2026-11-21 07:51:{len(lines) % 60:02},000] INFO {example.line} ({logger})")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text("\n".join(lines) + "\n")
    summary = redact(tmp_path / "in", tmp_path / "out")
    assert summary.counts.damaged <= len(lines) // 50
    assert summary.counts.rewritten > len(lines) * 0.9

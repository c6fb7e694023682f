# SPDX-License-Identifier: Apache-2.0
"""Lines that nearly are messages of the catalogue: none raises, each costs itself at most, and all ways of reading agree on it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from reading import read_evidence, recogniser
from typer.testing import CliRunner

from forensics import cli
from forensics.catalogue import converters, patterns
from forensics.catalogue.recogniser import Recogniser
from forensics.extract.reading import RangeRow, Tools, read_splits
from forensics.extract.row_builder import EVENTS, UNRECOGNISED, Schemas
from forensics.extract.splits import plan
from forensics.inventory.inventory import find_evidence
from forensics.records.line_reader import Profile
from forensics.report.explain import explain

MARKS = "!;:,.={}[]()'\"|/\\\t%*-_<>&\u2028\x1b\u00e9"
NUMBERS = ("9" * 25, "9" * 19, "1" * 5_000, "-1", "0", "\u0663", "1_0")
#: A message whose capture is a number by `fields.toml`, and any word by its pattern.
OWN = """
[[event]]
name     = "own_epoch"
category = "membership"
logger   = "org.apache.kafka.clients.consumer.internals.OwnManager"
kafka    = "2.4.0.."
pattern  = '''Own\\ member\\ (?P<member_id>\\S+)\\ has\\ epoch\\ (?P<member_epoch>\\S+)'''

[[event.example]]
line   = "Own member m has epoch 7"
fields = { member_id = "m", member_epoch = 7 }
"""


def mutated(line: str, rng: random.Random) -> str:
    """Change a line: cut it, double or drop a word, insert a mark, replace digits by letters or numbers by absurd ones, join parts of it."""
    words, at = line.split(" "), rng.randrange(len(line) + 1)
    word = rng.randrange(len(words))
    match rng.randrange(9):
        case 0:
            return line[:at]
        case 1:
            return " ".join((*words[:word], words[word], *words[word:]))
        case 2:
            return line[:at] + rng.choice(MARKS) + line[at:]
        case 3:
            return "".join(rng.choice("abXYZ") if c.isdigit() and rng.random() < 0.5 else c for c in line)
        case 4:
            return re.sub(r"\d+", lambda m: rng.choice((*NUMBERS, m[0])), line)
        case 5:
            return " ".join((*words[:word], *words[word + 1 :]))
        case 6:
            return line[at:]
        case 7:
            return line[:at] + line[rng.randrange(len(line) + 1) :]
        case _:
            return line.replace(rng.choice("=:,[]{}; "), rng.choice("=:,[]{}; "))


def lines(seed: int, times: int) -> Iterator[tuple[str | None, str]]:
    """Yield all examples of the catalogue that have a logger, changed."""
    rng = random.Random(seed)
    for event in recogniser().catalogue.events:
        for example in event.examples:
            for _ in range(times):
                line = mutated(example.line, rng)
                yield (event.loggers[0] if event.loggers else None), mutated(line, rng) if rng.random() < 0.3 and line else line


def test_no_changed_example_raises(record_property: Callable[[str, object], None]) -> None:
    known = recogniser()
    tried = list(lines(1, 5))
    record_property("inputs", len(tried))
    for logger, line in tried:
        known.recognise(logger, line)
        known.recognise(None, line)


def test_changed_examples_are_explained(record_property: Callable[[str, object], None]) -> None:
    every = [line for _, line in lines(2, 1)]
    record_property("inputs", len(every))
    for begin in range(0, len(every), 40):
        explain("\n".join(every[begin : begin + 40]), recogniser().catalogue)


def test_changed_examples_are_read_by_columns_as_they_are_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    texts = []
    for number, (logger, line) in enumerate(sorted(lines(3, 16), key=lambda x: x[0] or "")):
        clean = re.sub(r"[\n\r\u2028\x1b]", " ", line)  # nor colours: other lines are not read by columns
        texts.append(f"[2026-11-21 {8 + number // 3600 % 12:02}:{number // 60 % 60:02}:{number % 60:02},000] INFO {clean} ({logger or 'client'}:1)\n")
    record_property("inputs", len(texts))
    (tmp_path / "a.log").write_text("".join(texts), encoding="utf-8", newline="")
    evidence = find_evidence([tmp_path])
    assert evidence[0].format.profile.plain
    quick = read_evidence(evidence, broken=True)
    monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    slow = read_evidence(evidence, broken=True)
    assert len(slow.events) > 5_000
    assert (quick.events, quick.counted, quick.unrecognised) == (slow.events, slow.counted, slow.unrecognised)
    assert quick.faults == slow.faults


def test_a_sentence_behind_clients_words_is_none_of_their_pairs() -> None:
    assert recogniser().recognise(None, "joining group; nothing here") is None
    assert recogniser().recognise(None, "joining group; group: g, member_id: m").event == "joining"
    shown = CliRunner().invoke(cli.app, ["explain", "INFO joining group; nothing here"])
    assert (shown.exit_code, "No known event" in shown.output) == (1, True)


def test_an_epoch_that_is_no_number_is_no_commit_that_failed() -> None:
    text = "OffsetCommit failed for member m with stale member epoch error. Last epoch sent: "
    found = recogniser().recognise(None, f"{text}4!")
    assert found is None or found.event != "commit_failed"
    assert recogniser().recognise(None, f"{text}Optional[4]").captures["member_epoch"] == 4
    assert "member_epoch" not in recogniser().recognise(None, f"{text}Optional.empty").captures


@pytest.mark.parametrize("plain", [True, False], ids=["by columns", "line by line"])
def test_a_capture_that_cannot_be_converted_costs_its_record_alone(plain: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "logs").mkdir()
    epochs = [str(n) if n % 10 else f"{n}!" for n in range(1, 101)]
    (tmp_path / "logs" / "a.log").write_text(
        "".join(
            f"[2026-11-21 08:{n // 60:02}:{n % 60:02},000] INFO Own member m has epoch {epoch} (org.apache.kafka.clients.consumer.internals.OwnManager)\n"
            for n, epoch in enumerate(epochs)
        )
    )
    if not plain:
        monkeypatch.setattr(Profile, "plain", property(lambda self: False))
    catalogue = patterns.load([tmp_path / "own.toml"])
    evidence = find_evidence([tmp_path / "logs"])
    events, others, said = [], [], []
    for splits in plan(evidence):
        for part in read_splits(splits, Tools(Recogniser(catalogue), Schemas.of(catalogue.fields.values()))):
            if isinstance(part, RangeRow):
                said.append(part.error)
            else:
                {EVENTS: events, UNRECOGNISED: others}[part.table].extend(part.batch.to_pylist())
    assert [e["member_epoch"] for e in events] == [int(e) for e in epochs if e.isdigit()]
    assert [o["line"] for o in others] == list(range(10, 101, 10))
    assert "member_epoch" in said[0]
    assert "10 records" in said[0]
    assert "line 10" in said[0]
    explained = Recogniser(catalogue).recognise(None, "Own member m has epoch 7!")
    assert explained.captures == {"member_id": "m"}
    assert "not of type int" in explained.fault


@pytest.mark.parametrize("kind", sorted(converters.CONVERTERS) + sorted(converters.EXPANDING))
def test_no_converter_raises(kind: str) -> None:
    convert = {**converters.CONVERTERS, **converters.EXPANDING}[kind]
    rng = random.Random(kind)
    for _ in range(5_000):
        text = "".join(rng.choice("aB0-9,= {}[]()'\"_\n\t./\u0663") for _ in range(rng.randrange(40)))
        convert(text)
    assert convert("1" * 10_000) is None or kind != "int"

"""The page about speed says what bench/figures.json holds; the logs that are measured are what the page says of them."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import growth
import many_processes
import pictures
import pytest
import reliability
import run

FIGURES = json.loads(run.FIGURES.read_text(encoding="utf-8"))
JOINED = (
    "[2026-11-21 10:00:00,000] INFO [Worker clientId=c-12, groupId=g] Successfully joined group with generation {} at 10.0.0.12:9092 (a.b.C:604)\n"
)


def test_the_page_is_made_from_the_figures() -> None:
    assert (run.DOCS / "speed.md").read_text(encoding="utf-8") == run.page(FIGURES), "run `python bench/run.py --page`"


def test_goals_of_a_gigabyte_are_not_judged_on_small_logs() -> None:
    def goals(figures: dict[str, Any]) -> dict[str, str]:
        rows = re.findall(r"^\| (.+?) \| at (?:most|least) [\d.]+ \| [\d.]+ \| (.+) \|$", run.page(figures), re.MULTILINE)
        return {re.sub(r"[\d,]+ MB", "N MB", name): judged for name, judged in rows}

    small = json.loads(json.dumps(FIGURES))
    for part in ("reading", "peers", "large", *({"ordered"} & small.keys())):
        for log in (*small[part]["logs"], *filter(None, [small[part].get("packed")])):
            log["bytes"] //= 50
    whole, little = goals(FIGURES), goals(small)
    assert set(whole.values()) == {"met", "**missed**"}
    assert whole.keys() == little.keys()
    of_logs = {name for name in whole if re.match(r"a (record|line|gzip)|the same|ingest|memory", name)}
    assert {name for name, judged in little.items() if judged == "not judged: the log is too small"} == of_logs
    assert {name: judged for name, judged in little.items() if name not in of_logs} == {n: j for n, j in whole.items() if n not in of_logs}
    assert "A goal is judged only on logs of at least 900 MB" in run.page(small)
    assert "is judged on" not in run.page(FIGURES)


@pytest.mark.parametrize("part", pictures.texts(FIGURES))
def test_a_picture_shows_the_figures(part: str) -> None:
    drawn = (run.DOCS / "pictures" / f"speed-{part}.svg").read_text(encoding="utf-8")
    told = re.findall(r" (\d+(?:\.\d+)?)(?: s)?(?=[;,] |\.$)", pictures.texts(FIGURES)[part])
    assert told
    assert [value for value in told if f">{value} {'µs' if part == 'reading' else 's'}<" not in drawn] == []


def test_new_messages_change_in_nothing_but_their_numbers() -> None:
    printed = ["[2026-11-21 10:00:00,001] INFO ConsumerConfig values: \n", "\tfetch.max.bytes = 52428800\n", "\t (a.b.Config:370)\n"]
    joining = "[2026-11-21 10:00:00,002] INFO [Worker clientId=c-12, groupId=g] (Re-)joining group (a.b.C:555)\n"
    lines = [JOINED.format(7), JOINED.format(7), *printed, joining, joining]
    found = list(run.new_messages(random.Random(1), lines))
    assert found[1:5] == [JOINED.format(7), *printed]
    assert found[6] == joining
    assert found[5].startswith("[2026-11-21 10:00:00,002] INFO [Worker clientId=c-12, groupId=g] Successfully joined")
    for changed in (found[0], found[5]):
        generation = re.search(r"generation (\d+)", changed)
        assert generation
        assert generation[1] != "7"
        assert changed[26:] == JOINED.format(generation[1])[26:]


def test_a_log_in_many_files_has_the_same_lines(tmp_path: Path) -> None:
    log = tmp_path / "some.log"
    log.write_text("".join(f"{n} {'x' * (n % 50)}\n" for n in range(1000)), encoding="utf-8")
    files = sorted(run.in_files(log, 30).iterdir())
    assert len(files) == 30
    assert b"".join(path.read_bytes() for path in files) == log.read_bytes()
    assert all(path.read_bytes().endswith(b"\n") for path in files)


def test_many_processes_are_clusters_of_their_own(tmp_path: Path) -> None:
    many_processes.make(tmp_path, 34)
    logs = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.log")}
    assert len(logs) == 34
    assert all(40 <= text.count("\n") <= many_processes.MOST for text in logs.values())
    first, again = (logs[Path(f"cluster-{number:04d}/w1/connect.log")] for number in (0, 4))
    assert "groupId=connect-cluster-0000]" in first
    assert "groupId=connect-cluster-0004]" in again
    names = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b10\.\d+\.\d+\.\d+\b|[Cc]luster ID: [\w-]+")
    assert not set(names.findall(first)) & set(names.findall(again))


def test_growth_is_measured_without_the_start() -> None:
    def taking(cpu: float) -> dict[str, Any]:
        return {"n": cpu, **{step: {"cpu": 20 + cpu, "peak": 5e8 + 1e7 * cpu} for step in growth.STEPS}}

    start, linear = taking(0), [taking(cpu) for cpu in (10, 20, 40)]
    quadratic = [{**taking(cpu), "n": n} for n, cpu in ((1, 10), (2, 40), (4, 160))]
    assert growth.factors(start, linear)["build_cpu"] == [2, 2, 4]
    assert growth.factors(start, quadratic)["build_cpu"] == [4, 4, 16]
    assert growth.factors(start, [taking(0.1), taking(0.2), taking(0.3)])["page_cpu"] == [None, None, None]
    wrong = growth.too_large([{"kind": "owners", "sizes": quadratic, "factors": growth.factors(start, quadratic)}])
    assert any(line.startswith("owners, build cpu: 4.0") for line in wrong)


def test_logs_of_each_kind_grow_in_proportion(tmp_path: Path) -> None:
    for name, (_, lines) in growth.KINDS.items():
        few, many = (growth.write(tmp_path / f"{name}-{n}", lines(n)) for n in (200, 400))
        assert 1.8 < many / few < 2.2, name


def test_the_figures_of_a_run_that_was_stopped_are_kept(tmp_path: Path) -> None:
    known = growth.Kept(tmp_path / "growth.json")
    known.begun = {"owners, 2, sail": {"n": 2}, "a few lines, 2, sail": {"n": 2}}
    known.write()
    assert growth.Kept(known.file).begun == known.begun
    known.end({"kind": "owners", "sizes": []})
    assert [*growth.Kept(known.file).begun] == ["a few lines, 2, sail"]
    assert growth.Kept(known.file).kinds == [{"kind": "owners", "sizes": []}]


def test_recorded_growth_is_in_proportion() -> None:
    kinds = growth.Kept(growth.FIGURES).kinds
    assert {kind["kind"] for kind in kinds} <= growth.KINDS.keys()
    assert growth.too_large(kinds) == []


def test_the_page_on_reliability_has_the_recorded_figures() -> None:
    text = reliability.PAGE.read_text(encoding="utf-8")
    assert text == reliability.page(text, reliability.rendered(*reliability.recorded()))
    assert text.count(reliability.BEGIN) == text.count(reliability.END) == 1


def test_what_did_not_hold_is_named_on_the_page() -> None:
    part = {"what": "kills", "tests": 2, "skipped": 1, "failed": ["test_kills::a"], "inputs": 1_200, "found": ["x"], "date": "2026-11-28"}
    sizes = [{"n": n, "bytes": n * 1_000, **{step: {"cpu": n / 100, "peak": n * 1e6} for step in growth.STEPS}} for n in (600, 1_200, 2_400)]
    kind = {"kind": "owners", "sizes": sizes, "factors": {"build_cpu": [2.1, 1.9, 4.2], "page_peak": [None, None, None]}, "date": "2026-11-27"}
    section = reliability.rendered({"kills": part}, [kind])
    assert "| kills | 1,200 | 2 (1 skipped) | all but 1: test_kills::a | x | 2026-11-28 |" in section
    figures = " | 6, 12, 24 | 600, 1,200, 2,400" * 3
    assert f"| owners | 600, 1,200, 2,400 | 0.6, 1.2, 2.4{figures} | 4.2 | 2026-11-27 |" in section
    assert reliability.page(reliability.page("by hand\n", section), "other\n").startswith("by hand\n")
    assert "kills" not in reliability.page(reliability.page("by hand\n", section), "other\n")

"""Run the tests that attack the product, and write what they tried and found, and how time and memory grow, into docs/reliability.md.

    python bench/reliability.py [--parts archives kills ...] [--render]

A part is a few tests. Each test tries one input, unless it records how many (`record_property("inputs", n)`). If FORENSICS_ATTACKS names a folder, each of
its files and folders is also read, reported and redacted, each by a command of its own. Figures of other parts stay as they are, each with its date. Growth is measured by
bench/growth.py; only its figures are read here. The exit code is 1 if something did not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from growth import STEPS, Kept

ROOT = Path(__file__).resolve().parent.parent
FIGURES, GROWTH, PAGE = Path(__file__).with_name("reliability.json"), Path(__file__).with_name("growth.json"), ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- Made by `make reliability`; do not edit up to the end mark. -->\n", "<!-- End of what `make reliability` made. -->\n"
ATTACKS = "FORENSICS_ATTACKS"
#: A command that reads an input of others takes at most this many seconds of processor time more than it takes for a log of one line.
MOST_SECONDS = 20
_LINE = "[2026-11-21 07:51:21,404] INFO [Consumer clientId=a, groupId=g] (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
_REFUSED = 3
#: What is no input by itself: scripts that make inputs, and lists that tests read.
_SCRIPTS = (".sh", ".py", ".txt")


@dataclass(frozen=True)
class Part:
    """Tests that try one kind of attack.

    Attributes:
        what: the kind, in words.
        tests: files, or tests of a file.
        marks: the marks of the tests to run.
    """

    what: str
    tests: Sequence[str]
    marks: str = "not slow and not whole and not spark"


PARTS = {
    "archives": Part("changed and lying archives", ["tests/evidence/test_hostile_archives.py"]),
    "files": Part("damaged and odd files", ["tests/inventory/test_odd_evidence.py"]),
    "lines": Part("changed lines of every message of the catalogue", ["tests/extract/test_odd_lines.py"]),
    "names": Part("names and addresses in redacted copies", ["tests/redact/test_redact_names.py"]),
    "secrets": Part("secrets", ["tests/redact/test_secret_shapes.py"]),
    "cases": Part("cases from others: links, manifests, sizes", ["tests/case/test_strangers_case.py", "tests/case/test_case.py"]),
    "forged": Part("cases changed with new hashes", ["tests/case/test_seals.py", "tests/report/test_derivation.py"]),
    "sql": Part("injection into SQL, and SQL of others", ["tests/report/test_read_only.py", "tests/agents/test_one_select.py"]),
    "outputs": Part(
        "injection into outputs: terminal, tables, CSV, HTML, agents",
        ["tests/whole/test_invisible.py", "tests/report/test_terminal.py", *(
            f"tests/{test}" for test in (
                "whole/test_hostile.py::test_cells_steer_no_terminal_and_no_spreadsheet",
                "agents/test_server.py::test_no_text_can_end_the_frame", "agents/test_server.py::test_an_attack_in_a_log_stays_in_the_frame_of_every_tool",
            )
        )],
    ),
    "stages": Part("stages of queries that break off on Sail", ["tests/engines/test_sail_answers.py"]),
    "publication": Part("kills at each step of a publication", ["tests/case/test_kills.py"]),
    "kills": Part(
        "kills of an ingest into a case", ["tests/engines/test_ending.py::test_a_killed_ingest_leaves_the_old_case_or_the_new_one"], "slow",
    ),
    "interrupts": Part("Ctrl-C, and `timeout -s INT` where it is ignored", ["tests/engines/test_ending.py"]),
    "leftovers": Part("temporary files of killed commands", ["tests/whole/test_hostile.py"]),
    "ports": Part("connections to ports of engines", ["tests/engines/test_engine_ports.py"], "not slow"),
}  # fmt: skip


def measured(part: Part) -> dict[str, Any]:
    """Run the tests of a part; return how many there are, how many inputs they tried, and which failed."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-m", part.marks, f"--junitxml={results}", *part.tests]
        began = time.monotonic()
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
        if not results.exists():
            sys.exit(f"{part.what}: the tests did not run: {said}")
        cases = list(ElementTree.parse(results).iter("testcase"))  # noqa: S314 (pytest wrote it)
    ran = [case for case in cases if case.find("skipped") is None]
    wrong = [f"{c.get('classname')}::{c.get('name')}" for c in ran if c.find("failure") is not None or c.find("error") is not None]
    if not ran:
        sys.exit(f"{part.what}: no test ran: {said}")
    return {
        "what": part.what, "tests": len(ran), "skipped": len(cases) - len(ran), "failed": wrong, "inputs": sum(_inputs(case) for case in ran),
        "found": [p.get("value") for case in ran for p in case.iter("property") if p.get("name") == "found"],
        "seconds": round(time.monotonic() - began, 1), "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }  # fmt: skip


def _inputs(case: ElementTree.Element) -> int:
    return next((int(p.get("value", 0)) for p in case.iter("property") if p.get("name") == "inputs"), 1)


def attacked(folder: Path) -> dict[str, Any]:
    """Let commands of their own read, report and redact each input of a folder; return how each ended."""
    wrong, slowest, refused, inputs = [], 0.0, 0, sorted(p for p in folder.iterdir() if p.suffix not in _SCRIPTS)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as made:
        ordinary = Path(made, "consumer.log")
        ordinary.write_text(_LINE, encoding="utf-8")
        usual = {command: run.seconds for command, run in _commands(ordinary)}
    for path in inputs:
        for command, run in _commands(path):
            took = run.seconds - usual[command]
            slowest, refused = max(slowest, took), refused + (run.code == _REFUSED)
            if run.code not in (0, _REFUSED) or not run.said.strip() or "Traceback" in run.said or took > MOST_SECONDS:
                wrong.append(f"{path.name}, {command}: exit code {run.code}, {took:.0f} s")
    return {
        "what": "inputs of earlier attacks: `ingest`, `report` and `redact`, each a command of its own", "tests": 3 * len(inputs), "skipped": 0, "failed": wrong,
        "inputs": len(inputs), "found": [
            f"{refused} commands refused something, the others read all", f"at most {slowest:.0f} s of processor time more than a log of one line takes",
        ],
        "seconds": round(time.monotonic() - began, 1), "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }  # fmt: skip


@dataclass(frozen=True)
class Run:
    """How a command ended: its exit code (None if it had to be stopped), all that it said, and its processor time in seconds."""

    code: int | None
    said: str
    seconds: float


def _commands(path: Path) -> Iterator[tuple[str, Run]]:
    """Run each command that reads evidence on an input, in a folder of its own."""
    with tempfile.TemporaryDirectory() as made:
        for command in (
            ["ingest", str(path), "--case", f"{made}/case"], ["report", "--case", f"{made}/case", "-o", f"{made}/page.html"], ["redact", str(path), f"{made}/copy"],
        ):  # fmt: skip
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            whole = [sys.executable, "-m", "forensics", *command]
            try:
                done = subprocess.run(whole, capture_output=True, text=True, check=False, timeout=20 * MOST_SECONDS)
            except subprocess.TimeoutExpired:
                yield command[0], Run(None, "", 0)
                continue
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            yield command[0], Run(done.returncode, done.stdout + done.stderr, took)


def rendered(figures: dict[str, Any], growth: Sequence[dict[str, Any]]) -> str:
    """Return the section of the page that has the figures."""
    lines = [
        "## Measured", "", "`make reliability` ran these tests. A test tries one input, unless it records how many.", "",
        "| tried | inputs | tests | held | found | date |", "|---|---|---|---|---|---|",
    ]  # fmt: skip
    for name in (*PARTS, "attacks"):
        if part := figures.get(name):
            held = "all" if not part["failed"] else f"all but {len(part['failed'])}: {', '.join(part['failed'])}"
            skipped = f" ({part['skipped']} skipped)" if part["skipped"] else ""
            lines.append(
                f"| {part['what']} | {part['inputs']:,} | {part['tests']:,}{skipped} | {held} | {'; '.join(part['found'])} | {part['date']} |"
            )
    if growth:
        lines += [
            "", "Growth: processor time, in seconds, and memory at its peak, in MB, for n, 2n and 4n of a kind, each with the start of its command. Times: how many times as much",
            "4n takes as n, without the start (4 is in proportion, 16 is quadratic; the largest of the six columns). `python bench/growth.py` measures it.", "",
            f"| kind | numbers | logs, MB | {' | '.join(f'{step}: s | MB' for step in STEPS.values())} | times | date |", f"|{'---|' * (5 + 2 * len(STEPS))}",
        ]  # fmt: skip
        for kind in growth:
            cells = [", ".join(f"{size['n']:,}" for size in kind["sizes"]), ", ".join(f"{size['bytes'] / 1e6:.1f}" for size in kind["sizes"])]
            for step in STEPS:
                cells += [
                    ", ".join(f"{size[step]['cpu']:.0f}" for size in kind["sizes"]),
                    ", ".join(f"{size[step]['peak'] / 1e6:,.0f}" for size in kind["sizes"]),
                ]
            known = [found[-1] for found in kind["factors"].values() if found[-1] is not None]
            lines.append(f"| {kind['kind']} | {' | '.join(cells)} | {f'{max(known):.1f}' if known else '–'} | {kind['date']} |")
    return "\n".join(lines) + "\n"


def page(text: str, section: str) -> str:
    """Return the page with a new section of figures; the rest is written by hand."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before.rstrip()}\n\n{BEGIN}\n{section}\n{END}{after}"


def recorded() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the figures of all parts, and those of growth; empty where nothing was measured."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    return figures, Kept(GROWTH).kinds


def main() -> None:
    """Measure the requested parts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=[*PARTS, "attacks"], default=[*PARTS, "attacks"], metavar="PART")
    parser.add_argument("--render", action="store_true", help="only write the page again, from the recorded figures")
    options = parser.parse_args()
    figures, growth = recorded()
    wanted = [] if options.render else options.parts
    for name in wanted:
        if name == "attacks" and ATTACKS not in os.environ:
            continue
        figures[name] = attacked(Path(os.environ[ATTACKS])) if name == "attacks" else measured(PARTS[name])
        found = figures[name]
        print(
            f"{found['what']}: {found['inputs']:,} inputs, {found['tests']} tests, {found['seconds']} s; failed: {found['failed'] or 'none'}",
            flush=True,
        )
        FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), rendered(figures, growth)), encoding="utf-8")
    if wrong := [failed for name in wanted for failed in figures.get(name, {}).get("failed", [])]:
        sys.exit("did not hold: " + "; ".join(wrong))


if __name__ == "__main__":
    main()

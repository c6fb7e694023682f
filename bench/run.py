"""All benchmarks as one command: figures go to bench/figures.json, and docs/speed.md is made from them.

    python bench/run.py WORKFOLDER [--parts reading peers large small growth] [--megabytes 64] [--large 8000] [--rounds 3]
    python bench/run.py --page

Parts that are not asked for keep the figures of an earlier run; each part has its own date and machine. `--page` only makes the page again. WORKFOLDER needs room
for the logs that are made (a few times `--megabytes`, and `--large`). Programs that are compared run in turn, round after
round, and each figure is the median of its rounds. Peers that are not installed are left out: DuckDB, polars and pysail are Python packages, ripgrep is `rg` on PATH.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

import jinja2
from ingest_vs_duckdb import DUCKDB
from ingest_vs_spark import INGEST, SPARK, Cost, measure
from reading_cost import round_of
from views_cost import grown

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures.json"
PAGE = HERE.parent / "docs" / "speed.md"
SAMPLES = HERE.parent / "sample_logs"
SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
#: Shares of lines whose loggers matter. 5 % is a Connect worker with busy connectors, 100 % a broker's group coordinator.
SHARES = (0.01, 0.05, 0.7, 1.0)
PARTS = ("reading", "peers", "large", "small", "growth")
#: Events of the cases of `growth`, by engine.
GROWTH = {"spark": (250_000, 500_000, 1_000_000), "sail": (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)}
FILES = 500
_NUMBER = re.compile(r"\b[0-9]{2,}\b")
#: What the user's cache holds: built cases, and the JVM's class archive.
CASES, CLASSES = "kafka-forensics/cases", "kafka-forensics/classes"
PACKAGES = ("pyspark", "pyarrow", "regex", "pysail", "duckdb", "polars")

POLARS = r"""
import sys
import polars as pl
head, tail = r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) ", r" \(([\w.$]+)(?::(\d+))?\)$"
line = pl.col("line")
rows = pl.scan_csv(sys.argv[1], separator="\x01", quote_char=None, has_header=False, new_columns=["line"], truncate_ragged_lines=True)
rows.select(
    line.str.extract(head, 1).str.to_datetime("%Y-%m-%d %H:%M:%S,%3f", strict=False).alias("ts"), line.str.extract(head, 2).alias("level"),
    line.str.extract(tail, 1).alias("logger"), line.str.extract(tail, 2).alias("source_line"),
    line.str.extract(r"generationId=(\d+)", 1).alias("generation"), line.alias("message")).sink_parquet(sys.argv[2])
"""
BARE = """
from pyspark.sql import SparkSession
print(SparkSession.builder.master("local[2]").getOrCreate().sql("SELECT count(*) FROM range(10)").collect())
"""
COMMAND = """
import os, sys
engine, cache, *arguments = sys.argv[1:]
os.environ.update(FORENSICS_ENGINE=engine, XDG_CACHE_HOME=cache, COLUMNS="100")
sys.argv = ["forensics", *arguments]
from forensics.__main__ import main
main()
"""


def machine() -> dict[str, Any]:
    """What was measured on, and when."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    model = next((line.split(":")[1].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = next((int(line.split()[1]) // 1_000_000 for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"), "cpu": model, "cores": os.cpu_count(), "memory_gb": memory,
        "python": platform.python_version(), "load": round(os.getloadavg()[0], 1), "versions": found,
    }  # fmt: skip


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def made_log(work: Path, megabytes: float, share: float) -> Path:
    """A log of so many megabytes in which this share of lines is of loggers that matter; made once."""
    log = work / f"{megabytes:g}mb-{share * 100:g}.log"
    if not log.exists():
        source = [sys.executable, str(HERE / "make_log.py"), str(SAMPLES), str(log)]
        subprocess.run([*source, "--gigabytes", str(megabytes / 1000), "--relevant", str(share)], check=True, capture_output=True)
    return log


def packed(log: Path) -> Path:
    """The same log as gzip packs it."""
    found = log.with_suffix(".log.gz")
    if not found.exists():
        with log.open("rb") as source, gzip.open(found, "wb", compresslevel=6) as out:
            shutil.copyfileobj(source, out)
    return found


def rewritten(log: Path, name: str, text: Callable[[random.Random, str], str]) -> Path:
    """Another log of the same number of lines, each made from the one before by chance; made once."""
    found = log.with_name(name)
    if not found.exists():
        rng = random.Random(1)
        with log.open(encoding="utf-8") as source, found.open("w", encoding="utf-8") as out:
            out.writelines(text(rng, line) for line in source)
    return found


def new_numbers(rng: random.Random, line: str) -> str:
    """Every other line with other numbers, so that no message stood before as it is: offsets, sizes and times of a real stream do that."""
    return line if rng.random() < 0.5 else line[:26] + _NUMBER.sub(lambda _: str(rng.randrange(100_000)), line[26:])


def request(rng: random.Random, line: str) -> str:
    """A REST request that only reads, as a Connect worker's log has it, at the line's time: a line that is counted."""
    if not line.startswith("["):
        return ""
    path = f"/connectors/{rng.choice(('orders', 'users', 'clicks'))}-{rng.randrange(100_000)}/status"
    who, sizes = f"10.0.0.{rng.randrange(256)}", f'{rng.randrange(10_000)} "-" "curl/8.5.0" {rng.randrange(1000)}'
    return f'{line[:26]}INFO {who} - - [21/Nov/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 {sizes} (org.apache.kafka.connect.runtime.rest.RestServer:62)\n'


def in_files(log: Path, count: int) -> Path:
    """The same lines in a folder of so many files; made once."""
    found = log.with_name(f"{log.stem}-in-{count}-files")
    if not found.exists():
        lines = log.read_bytes().splitlines(keepends=True)
        found.mkdir()
        for n in range(count):
            (found / f"connect.{n:04d}.log").write_bytes(b"".join(lines[n * len(lines) // count : (n + 1) * len(lines) // count]))
    return found


def in_turn(programs: dict[str, Callable[[int], Cost]], rounds: int) -> dict[str, dict[str, float]]:
    """Runs each program in each round; medians of wall time, processor time (seconds) and peak memory (bytes)."""
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for n in range(rounds):
        for name, run in programs.items():
            costs[name].append(run(n))
    return {
        name: {"wall": median(c.wall for c in found), "cpu": median(c.cpu for c in found), "peak": median(c.peak for c in found)}
        for name, found in costs.items()
    }


def reading(work: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Processor time of the stages of reading, by the share of lines that matter; and packed."""
    duckdb = sys.executable if find_spec("duckdb") else None
    logs = {f"{share:.0%} relevant": made_log(work, megabytes, share) for share in SHARES}
    few, all_of = made_log(work, megabytes, 0.05), made_log(work, megabytes, 1.0)
    logs["5% relevant, gzip"] = packed(few)
    logs[f"5% relevant, in {FILES} files"] = in_files(few, FILES)
    logs["100% relevant, every other message new"] = rewritten(all_of, "new.log", new_numbers)
    logs["REST requests, each different"] = rewritten(few, "requests.log", request)
    results = []
    for name, log in logs.items():
        found = [round_of(log, duckdb if log.suffix == ".log" else None) for _ in range(rounds)]
        size = sum(p.stat().st_size for p in (log.iterdir() if log.is_dir() else [log]))
        results.append({"log": name, "bytes": size, **{key: median(r[key] for r in found) for key in found[0]}})
    return {"logs": results, "rounds": rounds}


def peers(work: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """A whole ingest on two cores beside programs that take only header and one message's fields out of the same log."""
    programs = {"ingest": INGEST, "spark": SPARK}
    programs |= {name: text for name, text in (("duckdb", DUCKDB), ("polars", POLARS)) if find_spec(name)}
    results = []
    for share in (0.05, 0.7):
        log = made_log(work, megabytes, share)

        def runs(program: str, log: Path = log) -> Callable[[int], Cost]:
            def run(_: int) -> Cost:
                with scratch(work) as out:
                    return measure(program, [str(log), str(out / "out"), "2"])

            return run

        found = in_turn({name: runs(program) for name, program in programs.items()}, rounds)
        results.append({"share": share, "bytes": log.stat().st_size, "programs": found})
    return {"logs": results, "rounds": rounds}


def large(work: Path, megabytes: float) -> dict[str, Any]:
    """One whole ingest of a large log on two cores: does memory stay where it is?"""
    log = made_log(work, megabytes, 0.05)
    with scratch(work) as out:
        cost = measure(INGEST, [str(log), str(out / "out"), "2"])
    return {"bytes": log.stat().st_size, "wall": cost.wall, "cpu": cost.cpu, "peak": cost.peak}


def small(work: Path, rounds: int) -> dict[str, Any]:
    """From a command to its answer, for a sample: the first report, that of other logs, the same again, and a stored view; beside a bare Spark session."""
    engines = [name for name in GROWTH if name == "spark" or find_spec("pysail")]
    caches = {name: work / f"cache-{name}" for name in engines}

    def command(engine: str, *arguments: str, without: str | None = None) -> Callable[[int], Cost]:
        def run(_: int) -> Cost:
            if without is not None:
                shutil.rmtree(caches[engine] / without, ignore_errors=True)
            return measure(COMMAND, [engine, str(caches[engine]), *arguments])

        return run

    programs: dict[str, Callable[[int], Cost]] = {"bare": lambda _: measure(BARE, [])}
    report = "report", str(SAMPLE), "--no-pager"
    for name in engines:
        programs[f"first_{name}"] = command(name, *report, without="")
    next_spark = command("spark", *report, without=CASES)

    def with_archive(n: int) -> Cost:
        _wait_for_archive(caches["spark"] / CLASSES)
        return next_spark(n)

    programs["next_spark"] = with_archive
    programs["again"] = command(engines[-1], *report)
    found = in_turn(programs, rounds)
    case = next((caches[engines[-1]]).rglob("case.json")).parent
    found |= in_turn({"stored": command(engines[-1], "sql", "split_brain", "--case", str(case))}, rounds)
    return {"lines": sum(len(p.read_bytes().splitlines()) for p in SAMPLE.rglob("*") if p.is_file()), "programs": found, "rounds": rounds}


def _wait_for_archive(folder: Path) -> None:
    """Until the JVM of the run before has written its class archive, which it does when the command has long answered; at most two minutes."""
    size = -1
    for _ in range(24):
        found = sum(path.stat().st_size for path in folder.glob("*.jsa"))
        if found and found == size:
            return
        size = found
        time.sleep(5)


def growth(work: Path, events: Sequence[int]) -> dict[str, Any]:
    """All views of ever larger cases, on each engine: seconds and peak memory, one run each."""
    engines = [name for name in GROWTH if name == "spark" or find_spec("pysail")]
    return {"cases": [{"engine": name, **grown(work / "growth", size, name)} for name in engines for size in events or GROWTH[name]]}


class scratch:  # noqa: N801 (used like a function)
    """A folder that is gone afterwards."""

    def __init__(self, below: Path) -> None:
        self._path = below / "scratch"

    def __enter__(self) -> Path:
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir(parents=True)
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


def page(figures: dict[str, Any]) -> str:
    """docs/speed.md for these figures."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 (Markdown)
    )
    return environment.get_template("speed.md.j2").render(**figures)


def main() -> None:
    """Measures the parts that are asked for, and makes the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--megabytes", type=float, default=64)
    parser.add_argument("--large", type=float, default=8000, help="megabytes of the large log")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, nargs="+", help="sizes of growth, instead of each engine's own")
    parser.add_argument("--page", action="store_true", help="only make docs/speed.md again")
    told = parser.parse_args()
    figures = json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}
    if not told.page:
        if told.work is None:
            parser.error("WORKFOLDER is missing")
        told.work.mkdir(parents=True, exist_ok=True)
        measured: dict[str, Callable[[], dict[str, Any]]] = {
            "reading": lambda: reading(told.work, told.megabytes, told.rounds),
            "peers": lambda: peers(told.work, told.megabytes, told.rounds),
            "large": lambda: large(told.work, told.large),
            "small": lambda: small(told.work, told.rounds),
            "growth": lambda: growth(told.work, told.events),
        }
        for part in told.parts:
            print(f"{part} ...", file=sys.stderr, flush=True)
            figures[part] = {"machine": machine(), **measured[part]()}
            FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main()

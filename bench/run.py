"""Run all benchmarks with one command: figures go to bench/figures.json, and docs/speed.md and its pictures are generated from them.

    python bench/run.py WORKFOLDER [--parts ordered reading peers large small growth processes daily] [--megabytes 64] [--large 64 1000 8000] [--rounds 3]
    python bench/run.py WORKFOLDER --trial --parts reading --megabytes 16 --rounds 1
    python bench/run.py --page

Parts that are not requested keep the figures of an earlier run; each part has its own date and machine. `--page` only regenerates the page and its
pictures; `--trial` leaves the project's figures and page alone and writes to WORKFOLDER/trial. WORKFOLDER needs space for the generated logs (a few
times `--megabytes`, and `--large`). Compared programs run alternately, round after round; each figure is the median of its rounds, and a ratio of two
programs is the median of the rounds' ratios. Pictures need matplotlib: `pip install -e '.[bench]'` installs it with the compared Python packages
(DuckDB, polars; pysail comes with `[sail]`). ripgrep and lnav are `rg` and `lnav` in PATH. Programs that are not installed are skipped.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import chain, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import jinja2
import pictures
from growing_case import growing
from growth import dump_of_commits
from ingest_vs_duckdb import DUCKDB, DUCKDB_AS_SPARK
from ingest_vs_spark import INGEST, SPARK, Cost, measure
from make_log import START
from many_processes import many
from reading_cost import WORDS, round_of
from views_cost import grown

HERE = Path(__file__).resolve().parent
FIGURES = HERE / "figures.json"
DOCS = HERE.parent / "docs"
SAMPLES = HERE.parent / "sample_logs"
SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
#: Shares of relevant lines. 5 % is a Connect worker with busy connectors, 100 % a broker's group coordinator.
SHARES = (0.01, 0.05, 0.7, 1.0)
PARTS = ("ordered", "reading", "peers", "large", "small", "growth", "processes", "daily", "commits")
#: Logs of workers in the order in which these print, and the options of ordered_log.py that make them.
ORDERED = {
    "one worker that restarts": ("--one",),
    "workers one after the other, new IDs": (),
    "workers one after the other, the same IDs": ("--keep-ids",),
}
#: Numbers of events in the cases of `growth`, by engine.
GROWTH = {"spark": (250_000, 500_000, 1_000_000), "sail": (250_000, 500_000, 1_000_000, 2_000_000, 4_000_000)}
FILES = 500
#: Megabytes of a generated log that are written record by record; a larger one repeats them day by day.
A_DAY = 1000
#: A number that is a value by itself: not part of an address, an ID, a date, or the name of a partition or task; not zero, and not an HTTP status.
_NUMBER = re.compile(r'(?<![\w.:/-])(?<!" )[1-9][0-9]*(?!\w|[.:/-]\w)')
#: Header, and context (client, group, or task).
_HEADER = re.compile(r"\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8},[0-9]{3}\] [A-Z]+ +(?:\[[^\]]*\]:? )*")
_LOGGED_BY = re.compile(r" \([\w.$]+(?::[0-9]+)?\)\n?$")
#: Contents of the user's cache: built cases, and the JVM's class archive.
CASES, CLASSES = "kafka-forensics/cases", "kafka-forensics/classes"
PACKAGES = ("pyspark", "pyarrow", "regex", "pysail", "duckdb", "polars")
#: Programs other than Python's, and the commands that print their versions; Java as Spark finds it.
PROGRAMS = {
    "ripgrep": ("rg", "--version"),
    "lnav": ("lnav", "-V"),
    "Java": (str(Path(os.environ["JAVA_HOME"], "bin", "java")) if os.environ.get("JAVA_HOME") else "java", "-version"),
}

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
RIPGREP = f"""
import os, sys
os.dup2(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT), 1)
os.execvp("rg", ["rg", "-j", sys.argv[3], {WORDS!r}, sys.argv[1]])
"""
GUNZIP = """
import os, sys
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.execvp("gzip", ["gzip", "-dkc", sys.argv[1]])
"""
#: lnav reads its formats from a given folder; its home is new, so that the user's settings have no effect.
LNAV = r"""
import json, os, pathlib, sys
log, out, _ = sys.argv[1:]
home = pathlib.Path(out + "-home")
layout = r"^\[(?<timestamp>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] (?<level>[A-Z]+) (?<body>.*?)(?: \((?<logger>[\w.$]+)(?::(?<source_line>\d+))?\))?$"
kafka = {"title": "Kafka", "description": "Kafka's default layout", "regex": {"default": {"pattern": layout}}, "level-field": "level", "body-field": "body",
    "timestamp-format": ["%Y-%m-%d %H:%M:%S,%L"], "value": {"logger": {"kind": "string"}, "source_line": {"kind": "integer"}},
    "sample": [{"line": "[2026-11-21 08:15:41,476] INFO Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser:125)"}]}
formats = home / "formats" / "kafka"
formats.mkdir(parents=True)
(formats / "kafka.json").write_text(json.dumps({"$schema": "https://lnav.org/schemas/format-v1.schema.json", "kafka_text": kafka}))
os.environ["HOME"] = str(home)
query = r"SELECT log_time, log_level, logger, source_line, regexp_match('generationId=(\d+)', log_body) AS generation, log_body FROM kafka_text"
os.execvp("lnav", ["lnav", "-n", "-q", "-I", str(home), "-c", ";" + query, "-c", ":write-csv-to " + out, log])
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
    """Return the machine of the measurement, and the date."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    for name, command in PROGRAMS.items():
        if shutil.which(command[0]):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            said = re.search(r"\d+(?:\.\d+)+", done.stdout + done.stderr)  # Java prints it to standard error
            found |= {name: said[0]} if said else {}
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
    """Return a log of this many megabytes with this share of relevant lines; generate it once."""
    log = work / f"{megabytes:g}mb-{share * 100:g}.log"
    if not log.exists() and megabytes > A_DAY:
        return of_days(made_log(work, A_DAY, share), log, round(megabytes / A_DAY))
    if not log.exists():
        source = [sys.executable, str(HERE / "make_log.py"), str(SAMPLES), str(log)]
        subprocess.run([*source, "--gigabytes", str(megabytes / 1000), "--relevant", str(share)], check=True, capture_output=True)
    return log


def ordered_log(work: Path, megabytes: float, options: Sequence[str]) -> Path:
    """Return a log of workers of this many megabytes in the order in which they print; generate it once."""
    log = work / f"{megabytes:g}mb-ordered{''.join(options)}.log"
    if not log.exists():
        source = SAMPLE / "w1" / "connect.log" if "--one" in options else SAMPLES
        made = [sys.executable, str(HERE / "ordered_log.py"), str(source), str(log), "--megabytes", str(megabytes), *options]
        subprocess.run(made, check=True, capture_output=True)
    return log


def of_days(day: Path, log: Path, count: int) -> Path:
    """Return a log that repeats that of its first day with the dates of `count` days."""
    with log.open("wb") as out:
        for n in range(count):
            date = f"[{START + timedelta(days=n):%Y-%m-%d} ".encode()
            with day.open("rb") as lines:
                out.writelines(line.replace(f"[{START:%Y-%m-%d} ".encode(), date, 1) for line in lines)
    return log


def packed(log: Path) -> Path:
    """Return the same log compressed by gzip."""
    found = log.with_suffix(".log.gz")
    if not found.exists():
        with log.open("rb") as source, gzip.open(found, "wb", compresslevel=6) as out:
            shutil.copyfileobj(source, out)
    return found


def rewritten(log: Path, name: str, texts: Callable[[random.Random, Iterable[str]], Iterator[str]]) -> Path:
    """Return another log, generated at random from the lines of this one; generate it once."""
    found = log.with_name(name)
    if not found.exists():
        with log.open(encoding="utf-8") as source, found.open("w", encoding="utf-8") as out:
            out.writelines(texts(random.Random(1), source))
    return found


def new_messages(rng: random.Random, lines: Iterable[str]) -> Iterator[str]:
    """Yield the records, every second single-line one with other numbers in its message, as offsets, sizes and times differ in a real stream.

    A record whose message has no number is replaced by the last one that has. What a real stream repeats stays the same: the context before the
    message, the logger (class and source line) after it, and records of several lines, such as printed configurations.
    """
    place, numbered = 0, ""
    for line, following in pairwise(chain(lines, ("",))):
        head, tail = _HEADER.match(line), _LOGGED_BY.search(line)
        if head and tail and following[:1] in ("", "["):
            place += 1
            if _NUMBER.search(line, head.end(), tail.start()):
                numbered = line
            if numbered and place % 2:
                yield line[:26] + _renumbered(rng, numbered)[26:]
                continue
        yield line


def _renumbered(rng: random.Random, line: str) -> str:
    head, tail = _HEADER.match(line), _LOGGED_BY.search(line)
    assert head
    assert tail
    message = _NUMBER.sub(lambda _: str(rng.randrange(1, 1_000_000_000)), line[head.end() : tail.start()])
    return line[: head.end()] + message + line[tail.start() :]


def requests(rng: random.Random, lines: Iterable[str]) -> Iterator[str]:
    """Yield read-only REST requests, as in a Connect worker's log, at the records' times: lines that are only counted."""
    for line in lines:
        if line.startswith("["):
            path = f"/connectors/{rng.choice(('orders', 'users', 'clicks'))}-{rng.randrange(100_000)}/status"
            who, sizes = f"10.0.0.{rng.randrange(256)}", f'{rng.randrange(10_000)} "-" "curl/8.5.0" {rng.randrange(1000)}'
            asked = f'{who} - - [21/Nov/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 {sizes}'
            yield f"{line[:26]}INFO {asked} (org.apache.kafka.connect.runtime.rest.RestServer:62)\n"


def in_files(log: Path, count: int) -> Path:
    """Return the same lines in a folder of this many files; generate it once."""
    found = log.with_name(f"{log.stem}-in-{count}-files")
    if not found.exists():
        found.mkdir()
        size = log.stat().st_size
        with log.open("rb") as source:
            for n in range(count):
                lines = source.readlines(max(size * (n + 1) // count - source.tell(), 1))
                (found / f"connect.{n:04d}.log").write_bytes(b"".join(lines))
    return found


def in_turn(programs: dict[str, Callable[[int], Cost]], rounds: int) -> dict[str, dict[str, float]]:
    """Run each program in each round.

    Returns:
        Medians by program: `wall` and `cpu` time (seconds), `peak` memory (bytes), and `times`, the wall time as a multiple of the
        first program's in the same round.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for n in range(rounds):
        for name, run in programs.items():
            costs[name].append(run(n))
    first = costs[next(iter(programs))]
    return {
        name: {
            "wall": median(c.wall for c in found),
            "cpu": median(c.cpu for c in found),
            "peak": median(c.peak for c in found),
            "times": median(c.wall / by.wall for c, by in zip(found, first, strict=True)),
        }
        for name, found in costs.items()
    }


def reading(work: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Measure the processor time of the stages of reading, by the share of relevant lines; also for compressed logs."""
    duckdb = sys.executable if find_spec("duckdb") else None
    logs = {f"{share:.0%} relevant": made_log(work, megabytes, share) for share in SHARES}
    few, all_of = made_log(work, megabytes, 0.05), made_log(work, megabytes, 1.0)
    logs["5% relevant, gzip"] = packed(few)
    logs[f"5% relevant, in {FILES} files"] = in_files(few, FILES)
    logs["100% relevant, every second message new"] = rewritten(all_of, f"{all_of.stem}-new-messages.log", new_messages)
    logs["REST requests, each different"] = rewritten(few, f"{few.stem}-requests.log", requests)
    results = []
    for name, log in logs.items():
        found = [round_of(log, duckdb if log.suffix == ".log" else None) for _ in range(rounds)]
        size = sum(p.stat().st_size for p in (log.iterdir() if log.is_dir() else [log]))
        results.append({"log": name, "bytes": size, **{key: median(r[key] for r in found) for key in found[0]}})
    return {"logs": results, "rounds": rounds, "messages": "numbers of messages alone"}


def runs(work: Path, program: str, log: Path) -> Callable[[int], Cost]:
    """Return a function that runs a program on a log with two cores."""

    def run(_: int) -> Cost:
        with scratch(work) as out:
            return measure(program, [str(log), str(out / "out"), "2"])

    return run


def ordered(work: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Measure a whole ingest of logs in real order, compared with Spark and DuckDB, which keep the same lines and columns."""
    programs = {"ingest": INGEST, "spark": SPARK, **({"duckdb": DUCKDB_AS_SPARK} if find_spec("duckdb") else {})}
    results = []
    for name, options in ORDERED.items():
        log = ordered_log(work, megabytes, options)
        result = in_turn({program: runs(work, text, log) for program, text in programs.items()}, rounds)
        results.append({"log": name, "bytes": log.stat().st_size, "programs": result})
    return {"logs": results, "rounds": rounds}


def peers(work: Path, megabytes: float, rounds: int) -> dict[str, Any]:
    """Measure a whole ingest on two cores, and programs that only extract the header and one message's fields from the same log."""
    programs = {"ingest": INGEST, "spark": SPARK}
    programs |= {name: text for name, text in (("duckdb", DUCKDB), ("polars", POLARS)) if find_spec(name)}
    programs |= {name: text for name, text in (("lnav", LNAV), ("ripgrep", RIPGREP)) if shutil.which(PROGRAMS[name][0])}
    results = []
    for share in (0.05, 0.7):
        log = made_log(work, megabytes, share)
        result = in_turn({name: runs(work, program, log) for name, program in programs.items()}, rounds)
        results.append({"share": share, "bytes": log.stat().st_size, "programs": result})
    found: dict[str, Any] = {"logs": results, "rounds": rounds}
    if shutil.which("gzip"):
        few = made_log(work, megabytes, 0.05)
        programs = {"ingest": runs(work, INGEST, packed(few)), "gzip": runs(work, GUNZIP, packed(few))}
        found["packed"] = {"bytes": few.stat().st_size, "programs": in_turn(programs, rounds)}
    return found


def large(work: Path, sizes: Sequence[float]) -> dict[str, Any]:
    """Measure one whole ingest of increasingly large logs on two cores, to see whether memory stays constant."""
    results = []
    for megabytes in sizes:
        log = made_log(work, megabytes, 0.05)
        with scratch(work) as out:
            cost = measure(INGEST, [str(log), str(out / "out"), "2"])
        results.append({"bytes": log.stat().st_size, "wall": cost.wall, "cpu": cost.cpu, "peak": cost.peak})
    return {"logs": results}


def small(work: Path, rounds: int) -> dict[str, Any]:
    """Measure the time from a command to its answer for a sample: first report, other logs, the same again, a stored view; and bare Spark."""
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
    found["stored"]["times"] = found["stored"]["wall"] / found["bare"]["wall"]  # it did not alternate with the others
    return {"lines": sum(len(p.read_bytes().splitlines()) for p in SAMPLE.rglob("*") if p.is_file()), "programs": found, "rounds": rounds}


def _wait_for_archive(folder: Path) -> None:
    """Wait until the previous run's JVM has written its class archive, which happens long after the answer; at most two minutes."""
    size = -1
    for _ in range(24):
        found = sum(path.stat().st_size for path in folder.glob("*.jsa"))
        if found and found == size:
            return
        size = found
        time.sleep(5)


def growth(work: Path, events: Sequence[int], asked: Sequence[str]) -> dict[str, Any]:
    """Measure all views of increasingly large cases on each engine: seconds and peak memory, one run each."""
    engines = [name for name in asked if name == "spark" or find_spec("pysail")]
    return {"cases": [{"engine": name, **grown(work / "growth", size, name)} for name in engines for size in events or GROWTH[name]]}


def processes(work: Path, counts: Sequence[int], asked: Sequence[str]) -> dict[str, Any]:
    """Measure ingest and all views of many processes with small logs: seconds and peak memory, one run each."""
    return {"cases": [many(work / "processes", count, name) for name in asked if name == "spark" or find_spec("pysail") for count in counts]}


class scratch:  # noqa: N801 (used like a function)
    """A temporary folder."""

    def __init__(self, below: Path) -> None:
        self._path = below / "scratch"

    def __enter__(self) -> Path:
        shutil.rmtree(self._path, ignore_errors=True)
        self._path.mkdir(parents=True)
        return self._path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path, ignore_errors=True)


def page(figures: dict[str, Any]) -> str:
    """Return docs/speed.md for these figures."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701 (Markdown)
    )
    environment.filters |= {"mb": lambda size: f"{size / 1e6:,.0f} MB", "n": lambda count: f"{count:,.0f}", "median": median}
    return environment.get_template("speed.md.j2").render(**figures, pictures=pictures.texts(figures))


def make_page(figures: dict[str, Any], docs: Path) -> None:
    """Write the page and its pictures into a documentation folder."""
    docs.mkdir(parents=True, exist_ok=True)
    (docs / "speed.md").write_text(page(figures), encoding="utf-8")
    if find_spec("matplotlib"):
        pictures.draw(figures, docs / "pictures")
    else:
        print("matplotlib is missing: the pictures stay as they were", file=sys.stderr)


def main() -> None:
    """Measure the requested parts, and make the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("work", type=Path, nargs="?")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--megabytes", type=float, default=64)
    parser.add_argument("--large", type=float, nargs="+", default=[64, 1000, 8000], help="megabytes of the logs of `large`")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--events", type=int, nargs="+", help="sizes of growth, instead of each engine's own")
    parser.add_argument("--processes", type=int, nargs="+", default=[1900], help="numbers of processes in the cases of `processes`")
    parser.add_argument("--commits", type=int, nargs="+", default=[10_000_000], help="numbers of commits in the dumps of `commits`")
    parser.add_argument("--engines", nargs="+", choices=GROWTH, help="engines of growth (default: both) and of processes (default: Sail only)")
    parser.add_argument("--page", action="store_true", help="only regenerate docs/speed.md and its pictures")
    parser.add_argument("--trial", action="store_true", help="figures, page and pictures go to WORKFOLDER/trial, not to the project")
    options = parser.parse_args()
    if not options.page and not find_spec("matplotlib"):  # checked before hours of measuring
        parser.error("the pictures of the page need matplotlib: pip install -e '.[bench]'")
    if options.work is None and (options.trial or not options.page):
        parser.error("WORKFOLDER is missing")
    docs, file = (options.work / "trial", options.work / "trial" / FIGURES.name) if options.trial else (DOCS, FIGURES)
    figures = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not options.page:
        options.work.mkdir(parents=True, exist_ok=True)
        docs.mkdir(parents=True, exist_ok=True)
        # An installed package has its bytecode; otherwise each process would compile hundreds of modules.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        subprocess.run([sys.executable, "-c", "import forensics.cli, forensics.case.ingestion, forensics.extract.local_reading"], check=True)
        measured: dict[str, Callable[[], dict[str, Any]]] = {
            "ordered": lambda: ordered(options.work, options.megabytes, options.rounds),
            "reading": lambda: reading(options.work, options.megabytes, options.rounds),
            "peers": lambda: peers(options.work, options.megabytes, options.rounds),
            "large": lambda: large(options.work, options.large),
            "small": lambda: small(options.work, options.rounds),
            "growth": lambda: growth(options.work, options.events, options.engines or tuple(GROWTH)),
            "processes": lambda: processes(options.work, options.processes, options.engines or ("sail",)),
            "daily": lambda: growing(made_log(options.work, 20, 0.7), 30),
            "commits": lambda: {"dumps": [dump_of_commits(options.work, number, "sail") for number in options.commits]},
        }
        for part in options.parts:
            print(f"{part} ...", file=sys.stderr, flush=True)
            figures[part] = {"machine": machine(), **measured[part]()}
            file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    make_page(figures, docs)


if __name__ == "__main__":
    main()

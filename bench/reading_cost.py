"""Measure the cost of reading logs, stage by stage, compared with DuckDB and ripgrep on the same file.

    python bench/make_log.py LOGS OUT --gigabytes 0.3 --relevant 0.05
    python bench/reading_cost.py OUT... [--rounds 3] [--json FILE] [--duckdb PYTHON] [--keep-all]

Evidence is read to Parquet as in one process of `ingest`, without an engine. The stages are the start (imports, the catalogue), the examination of
the file, rows, and writing. DuckDB does the same as in `ingest_vs_duckdb.py`, with one thread; ripgrep counts the lines that contain a dozen words.
All figures are processor time (user and system), the median of several alternating rounds, because other programs on the machine influence it less
than wall time. Markdown is printed to standard output. Missing programs are skipped; `--duckdb` names a Python that has DuckDB.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from ingest_vs_duckdb import DUCKDB

WORDS = (
    "joining group|Successfully (joined|synced) group|Discovered group coordinator|(Starting|Creating|Stopping) task|Stabilized group|"
    "Preparing to rebalance|has left|Kafka version|Cluster ID|Resetting generation|heartbeat"
)
READING = """
import json, sys, time
begun = time.process_time()
from pathlib import Path
import pyarrow
from forensics.catalogue.patterns import load
from forensics.catalogue.recogniser import Recogniser
from forensics.extract.parquet_parts import PartWriter
from forensics.extract.reading import RangeRow, Tools, read_splits
from forensics.extract.reading_processes import collect_seldom, keep_memory
from forensics.extract.row_builder import Schemas
from forensics.extract.splits import plan
from forensics.inventory.evidence import READ
from forensics.inventory.inventory import find_evidence
pyarrow.set_cpu_count(1)
keep_memory()
collect_seldom()
recogniser = Recogniser(load(keep_all="--keep-all" in sys.argv))
tools = Tools(recogniser, Schemas.of(recogniser.catalogue.fields.values()))
started = time.process_time()
partitions = plan([e for e in find_evidence([Path(sys.argv[1])]) if e.status == READ])
looked = time.process_time()
writing = 0.0
counts = dict.fromkeys(("lines", "records", "events", "counted", "unrecognised"), 0)
with PartWriter(Path(sys.argv[2]), tools.schemas) as writer:
    for part in (part for splits in partitions for part in read_splits(splits, tools)):
        if isinstance(part, RangeRow):
            counts = {name: counts[name] + part.row[name] for name in counts}
        before = time.process_time()
        writer.write(part)
        writing += time.process_time() - before
    ended = time.process_time()
writing += time.process_time() - ended
# Not ru_maxrss: that is the parent process's if it was larger.
peak = next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(json.dumps({**counts, "start": started - begun, "look": looked - started, "rows": ended - looked - writing + (time.process_time() - ended),
    "write": writing, "cpu": time.process_time(), "peak": peak}))
"""


def cpu_of(command: list[str]) -> tuple[float, str]:
    """Return the processor seconds of a command, and its output."""
    before = os.times()
    said = subprocess.run(command, check=command[0] != "rg", capture_output=True).stdout  # rg exits with 1 if nothing is found
    after = os.times()
    # The resolution is a hundredth of a second, so a short command may seem to need none.
    return max(after.children_user + after.children_system - before.children_user - before.children_system, 0.0), said[:1000].decode(errors="replace")


def round_of(log: Path, duckdb: str | None, *, keep_all: bool = False) -> dict[str, Any]:
    """Run each program once."""
    folder = Path(tempfile.mkdtemp(prefix="forensics-bench-"))
    try:
        found = json.loads(cpu_of([sys.executable, "-c", READING, str(log), str(folder / "rows"), *["--keep-all"] * keep_all])[1])
        if duckdb:
            found["duckdb"] = cpu_of([duckdb, "-c", DUCKDB, str(log), str(folder / "duckdb.parquet"), "1"])[0]
        if log.suffix == ".gz":
            found["gunzip"] = cpu_of(["gzip", "-dkc", str(log)])[0]
        elif shutil.which("rg"):
            found["ripgrep"] = cpu_of(["rg", "-c", WORDS, str(log)])[0]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return dict(found)


def python_with_duckdb(named: str | None) -> str | None:
    """Return a Python that can import DuckDB."""
    python = named or sys.executable
    return python if subprocess.run([python, "-c", "import duckdb"], capture_output=True, check=False).returncode == 0 else None


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("logs", type=Path, nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--duckdb", help="a Python that has DuckDB")
    parser.add_argument("--keep-all", action="store_true", help="as for ingest: lines without a fact are rows")
    args = parser.parse_args()
    duckdb = python_with_duckdb(args.duckdb)
    results = []
    for log in args.logs:
        rounds = [round_of(log, duckdb, keep_all=args.keep_all) for _ in range(args.rounds)]
        results.append({"log": log.name, "bytes": log.stat().st_size, **{name: median(r[name] for r in rounds) for name in rounds[0]}})
        results[-1].update((name, int(results[-1][name])) for name in ("lines", "records", "events", "counted", "unrecognised", "peak"))
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(), "pyarrow": version("pyarrow")}
    print(", ".join(f"{name} {value}" for name, value in machine.items()), end="\n\n")
    peers = [name for name in ("duckdb", "ripgrep") if name in results[0]]
    heads = ["log", "MB", "records", "events", "counted", "start", "look", "rows", "write", "µs an event", "peak MB", *peers]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for r in results:
        row = [r["log"], f"{r['bytes'] / 1e6:.0f}", f"{r['records']:,}", f"{r['events']:,}", f"{r['counted']:,}"]
        row += [f"{r[name]:.2f} s" for name in ("start", "look", "rows", "write")]
        row += [f"{1e6 * (r['rows'] + r['write']) / max(r['events'], 1):.1f}", f"{r['peak'] / 1e6:.0f}", *(f"{r[name]:.2f} s" for name in peers)]
        print("| " + " | ".join(row) + " |")
    if args.json:
        args.json.write_text(json.dumps({**machine, "rounds": args.rounds, "logs": results}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

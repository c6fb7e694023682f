"""Compare ingest with plain Spark on the same log, whole process against whole process.

    python bench/ingest_vs_spark.py LOG [--jobs 2] [--rounds 1]

Spark reads the text source, keeps lines that match a dozen literals (`rlike`), extracts time, level, logger, source line and generation
(`regexp_extract`), and writes Parquet. Both run as separate processes, alternately, on the same number of cores. Wall time, CPU time and peak
resident memory are of the whole process tree: Python, the JVM and Spark's Python workers.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

INGEST = """
import sys
log, case, cores = sys.argv[1:]
sys.argv = ["forensics", "ingest", log, "--case", case, "--jobs", cores, "--no-views"]
from forensics.__main__ import main
main()
"""
#: Words of messages about groups and tasks: programs that keep only lines about these look for them.
KEPT = (
    r"\(Re-\)joining group|Successfully (?:joined|synced) group|Joined group at generation|Discovered group coordinator|Request joining group|"
    r"(?:Starting|Creating|Stopping) task|Stabilized group|Preparing to rebalance|has left|App info kafka|Kafka version|Cluster ID|Resetting generation|heartbeat"
)
SPARK = r"""
import sys
from pyspark.sql import SparkSession, functions as f
spark = (SparkSession.builder.master(f"local[{sys.argv[3]}]").config("spark.ui.enabled", "false").config("spark.log.level", "ERROR")
    .config("spark.driver.memory", "2g").config("spark.sql.session.timeZone", "UTC").getOrCreate())
head = r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3})\] ([A-Z]+) "
tail = r" \(([\w.$]+)(?::(\d+))?\)$"
line = f.col("value")
rows = spark.read.text(sys.argv[1]).where(line.rlike(KEPT)).select(
    f.try_to_timestamp(f.regexp_extract(line, head, 1), f.lit("yyyy-MM-dd HH:mm:ss,SSS")).alias("ts"), f.regexp_extract(line, head, 2).alias("level"),
    f.regexp_extract(line, tail, 1).alias("logger"), f.regexp_extract(line, tail, 2).alias("source_line"),
    f.regexp_extract(line, r"generation(?:Id=| )(\d+)", 1).alias("generation"), line.alias("message"))
rows.write.parquet(sys.argv[2])
print(spark.read.parquet(sys.argv[2]).count(), "rows")
""".replace("KEPT", f"r'{KEPT}'")
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """Resources that a process tree used: seconds of wall time, seconds of CPU time, peak resident memory in bytes."""

    wall: float
    cpu: float
    peak: int
    said: str


def measure(program: str, arguments: Sequence[str]) -> Cost:
    """Run a Python program and monitor its process tree."""
    begun, before = time.perf_counter(), os.times()
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    cpu: dict[int, float] = {}
    names: dict[int, str] = {}
    peak = 0
    while process.poll() is None:
        resident = 0
        for pid in _tree(process.pid):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                name = names.get(pid) or f"{pid} " + Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[-40:]
            except OSError:
                continue  # it ended in the meantime
            cpu[pid], names[pid] = (int(fields[11]) + int(fields[12])) / _TICK, name
            resident += int(fields[21]) * _PAGE
        peak = max(peak, resident)
        time.sleep(0.1 if time.perf_counter() - begun > 3 else 0.01)  # some programs end within a tenth of a second
    wall, after = time.perf_counter() - begun, os.times()
    # Only the system knows the costs of processes that ended between two samples; only samples know those of processes without a waiting parent.
    waited = after.children_user + after.children_system - before.children_user - before.children_system
    if os.environ.get("BENCH_VERBOSE"):
        print({names[pid]: round(seconds, 1) for pid, seconds in sorted(cpu.items(), key=lambda x: -x[1])[:8]})
    said = process.stdout.read().strip() if process.stdout else ""
    if process.returncode:
        raise SystemExit(f"the program ended with {process.returncode}: {said}")
    return Cost(wall, max(sum(cpu.values()), waited), peak, said)


def _children(pid: int) -> list[Path]:
    """Return the files in which the threads of a process list their children; none if it has ended."""
    try:
        return [Path(task.path, "children") for task in os.scandir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    found, open_ = [], [root]
    while open_:
        pid = open_.pop()
        found.append(pid)
        for children in _children(pid):
            try:
                open_.extend(map(int, children.read_text().split()))
            except OSError:
                continue  # its thread ended in the meantime
    return found


def compare(log: Path, jobs: int, rounds: int, programs: Mapping[str, str]) -> dict[str, Cost]:
    """Run programs alternately, print the costs of each run, and return the fastest run of each."""
    size = sum(p.stat().st_size for p in ([log] if log.is_file() else log.rglob("*")) if p.is_file())
    best: dict[str, Cost] = {}
    for _ in range(rounds):
        for name, program in programs.items():
            folder = Path(tempfile.mkdtemp(prefix="forensics-bench-"))
            try:
                cost = measure(program, [str(log), str(folder / "out"), str(jobs)])
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print(
                f"{name:7} {cost.wall:7.1f} s  {cost.cpu:7.1f} s CPU  {size / 1e6 / cost.wall:6.0f} MB/s  peak {cost.peak / 1e6:6.0f} MB  "
                f"load {os.getloadavg()[0]:.1f}  {cost.said}"
            )
            if name not in best or cost.wall < best[name].wall:
                best[name] = cost
    return best


def main() -> None:
    """Run both alternately and print the ratio."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", choices=("ingest", "spark"))
    args = parser.parse_args()
    best = compare(args.log, args.jobs, args.rounds, {n: p for n, p in (("ingest", INGEST), ("spark", SPARK)) if args.only in (None, n)})
    if len(best) == 2:
        ours, theirs = best["ingest"], best["spark"]
        print(f"ratio of wall times {theirs.wall / ours.wall:.1f}, of CPU times {theirs.cpu / ours.cpu:.1f}")


if __name__ == "__main__":
    main()

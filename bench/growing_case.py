"""Measure a case that grows every day and is kept as Parquet or as a Delta Lake table: the cost of a day's append, and of a query.

    python bench/growing_case.py FOLDER [--days 30] [--megabytes 20]

Each day's log is ingested into the same case. Spark then appends its events to a plain Parquet folder and to a Delta Lake table, in a session for
each. Spark downloads Delta Lake's packages the first time. Iceberg is not included, because it has no runtime for the Spark releases that this
program uses.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.dataset as ds
import pyarrow.parquet as pq
from ingest_vs_spark import measure
from make_log import START

from forensics.case.ingestion import ingest

#: Each release of Delta Lake's packages is for one minor release of Spark.
DELTA = f"io.delta:delta-spark_{'.'.join(version('pyspark').split('.')[:2])}_2.13:4.4.0"
SETTINGS = {
    "parquet": {},
    "delta": {
        "spark.jars.packages": DELTA,
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
}
APPENDS = """
import json, sys, time
begun = time.perf_counter()
from pathlib import Path
from pyspark.sql import SparkSession
form, target, settings, *days = sys.argv[1:]
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "2g")
for name, value in json.loads(settings).items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
spark.sql("SELECT 1").collect()
found = {"session": time.perf_counter() - begun, "append": [], "query": []}
for day in days:
    begun = time.perf_counter()
    spark.read.parquet(day).write.format(form).mode("append").save(target)
    found["append"].append(time.perf_counter() - begun)
for _ in range(4 if days else 0):
    begun = time.perf_counter()
    spark.read.format(form).load(target).groupBy("process_id", "event").count().collect()
    found["query"].append(time.perf_counter() - begun)
print(json.dumps(found))
"""


def growing(day: Path, days: int) -> dict[str, Any]:
    """Ingest a day's log repeatedly with other dates, and append its events to a table of each kind.

    Args:
        day: a generated log of one day.
        days: number of days.

    Returns:
        `delta` (Delta Lake's package), `bytes` of a day's log, `days`, and total `events`; `ingest` with the seconds of each day's ingest. For each
        kind of table: `session` (seconds until Spark answers), `append` (seconds, each day) and `query` (seconds, median without the first).
    """
    text = day.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=day.parent) as folder:
        work = Path(folder)
        took = []
        for n in range(days):
            log = work / "logs" / f"connect.log.{START + timedelta(days=n):%Y-%m-%d}"
            log.parent.mkdir(exist_ok=True)
            log.write_text(text.replace(f"[{START:%Y-%m-%d} ", f"[{START + timedelta(days=n):%Y-%m-%d} "), encoding="utf-8")
            begun = time.perf_counter()
            case = ingest([log], work / "case", jobs=2).case
            took.append(time.perf_counter() - begun)
        parts = []
        for n, path in enumerate(case.table_paths("event_row")):
            parts.append(work / f"{n}.parquet")
            pq.write_table(ds.dataset(path, format="parquet").to_table(), parts[-1])
        tables = {form: _appended(form, work / form, parts) for form in SETTINGS}
        events = sum(pq.read_metadata(path).num_rows for path in parts)
    return {"delta": DELTA, "bytes": len(text.encode()), "days": days, "events": events, "ingest": took, "tables": tables}


def _appended(form: str, target: Path, parts: list[Path]) -> dict[str, Any]:
    settings = json.dumps(SETTINGS[form])
    measure(APPENDS, [form, str(target), settings])  # a first run, so that downloads do not count
    shutil.rmtree(target, ignore_errors=True)
    found: dict[str, Any] = json.loads(measure(APPENDS, [form, str(target), settings, *map(str, parts)]).said.splitlines()[-1])
    return {**found, "query": median(found["query"][1:])}


def main() -> None:
    """Measure, and print a line."""
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--megabytes", type=float, default=20)
    options = parser.parse_args()
    print(json.dumps(growing(run.made_log(options.folder, options.megabytes, 0.7), options.days)))


if __name__ == "__main__":
    main()

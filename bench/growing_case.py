"""A case that grows every day, kept as Parquet or as a table of Delta Lake: what does a day's append cost, and what does a query?

    python bench/growing_case.py FOLDER [--days 30] [--megabytes 20]

Each day's log is ingested into the same case, and its events are then appended by Spark to a plain folder of Parquet and to a table of Delta Lake, a session each.
Spark fetches Delta Lake's packages the first time. Iceberg is not here: it has no runtime for the Spark releases that this program runs on.
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

#: Delta Lake's packages are made for one minor release of Spark each.
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
told = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "2g")
for name, value in json.loads(settings).items():
    told = told.config(name, value)
spark = told.getOrCreate()
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
    """Ingests a day's log again and again with other dates, and appends its events to a table of each kind.

    Args:
        day: a made log of one day.
        days: how many.

    Returns:
        `delta` (Delta Lake's package), `bytes` of a day's log, `days`, `events` of all; `ingest` with the seconds of each day's ingest; by kind of table `session`
        (seconds until Spark answers), `append` (seconds, each day) and `query` (seconds, median of those after the first).
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
    measure(APPENDS, [form, str(target), settings])  # once before, so that no download counts
    shutil.rmtree(target, ignore_errors=True)
    found: dict[str, Any] = json.loads(measure(APPENDS, [form, str(target), settings, *map(str, parts)]).said.splitlines()[-1])
    return {**found, "query": median(found["query"][1:])}


def main() -> None:
    """Measures, and prints a line."""
    import run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--megabytes", type=float, default=20)
    told = parser.parse_args()
    print(json.dumps(growing(run.made_log(told.folder, told.megabytes, 0.7), told.days)))


if __name__ == "__main__":
    main()

"""One way to start Spark: quiet, in UTC, small on one machine; and a clear word where Java is missing."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.errors import ForensicsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17


def session(master: str = "", jobs: int | None = None) -> SparkSession:
    """Starts Spark, or gives the session that runs already.

    Args:
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; all when None.

    Raises:
        ForensicsError: there is no Java, it is too old, or Spark does not start.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    check_java()
    if not master:
        # Spark's own guess is the `python3` of PATH, which may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kafka-forensics").master(master or f"local[{jobs or '*'}]")
    for key, value in (_COMMON | ({} if master else _local(jobs or os.cpu_count() or 1))).items():
        builder = builder.config(key, value)
    try:
        with _quiet_start():
            spark = builder.getOrCreate()
    except (PySparkException, OSError) as e:
        raise ForensicsError("Spark does not start.", why=str(e).splitlines()[0], fix="Run `spark-submit --version` to see what it says.") from e
    spark.sparkContext.setLogLevel("ERROR")
    # PySpark prints each failed query once more, as JSON with its stack, beside the exception that it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    return spark


def expect_little() -> None:
    """Tells the JVM, before it starts, that there is little to do: only the quick one of its two compilers is worth its time.

    The views of a few megabytes of logs take half as long then. A user's own $SPARK_SUBMIT_OPTS stay as they are.
    """
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC")


_COMMON = {
    "spark.sql.session.timeZone": "UTC",
    # Other readers of the case take Spark's default, INT96, for nanoseconds without a zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def _local(jobs: int) -> dict[str, str]:
    """Settings for one machine: no network name is needed, no folder is left behind, no shuffle is cut in 200 pieces."""
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "kafka-forensics-warehouse"),
        "spark.sql.shuffle.partitions": str(max(2, jobs)),
        "spark.default.parallelism": str(max(2, jobs)),
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
    }


class _quiet_start:  # noqa: N801 (used like a function)
    """Sends what the starting JVM says (about modules, native libraries, its log profile) nowhere; an error is raised, not printed."""

    def __enter__(self) -> None:
        self._kept = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, 2)
        os.close(self._kept)


def check_java() -> None:
    """Makes sure that Spark will find a Java that it can run on.

    Raises:
        ForensicsError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    fix = f"Install a Java {OLDEST_JAVA} or 21 runtime (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one."
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise ForensicsError("There is no Java, which Spark needs.", why="no `java` was found", where=where, fix=fix)
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ForensicsError("Java does not run.", why=str(e), where=java, fix=fix) from e
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found and int(found[1]) < OLDEST_JAVA:
        raise ForensicsError(f"Java {found[1]} is too old for Spark.", why=f"Spark needs Java {OLDEST_JAVA} or newer", where=java, fix=fix)

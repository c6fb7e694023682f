"""Start Spark: quietly, in UTC, and small on one machine, with a clear error if Java is missing."""

from __future__ import annotations

import atexit
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from forensics.engines import class_archive
from forensics.engines.base import is_far
from forensics.errors import ForensicsError
from forensics.evidence.objects import endpoint, region
from forensics.extract.reading_processes import cores
from forensics.import_guard import SAFE, forget_working_folder, importable
from forensics.resources import parsers_dir
from forensics.scratch import PREFIX, scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17


def session(master: str = "", jobs: int | None = None, *, little: bool = False) -> SparkSession:
    """Start Spark, or return the running session.

    Args:
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; None for all.
        little: True if there is little to do.

    Raises:
        ForensicsError: there is no Java, it is too old, or Spark does not start.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None:
        running.sparkContext.environment.update(SAFE)
        return running
    java = check_java()
    _keep_imports_safe()
    if not master:
        if little:
            _expect_little(java)
        else:
            _expect_much()
        # Spark's default is the `python3` in PATH, which may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kafka-forensics").master(master or f"local[{jobs or cores()}]")
    for key, value in (_COMMON | (_s3a() if master else {}) | ({} if is_far(master) else _local(jobs or cores()))).items():
        builder = builder.config(key, value)
    _silence_py4j()
    try:
        with _quiet_start(), _own_interrupt():
            spark = builder.getOrCreate()
        spark.sparkContext.environment.update(SAFE)
        if is_far(master):
            _ship(spark)
    except (PySparkException, OSError) as e:
        raise ForensicsError("Spark does not start.", why=str(e).splitlines()[0], fix="Run `spark-submit --version` to see its error.") from e
    spark.sparkContext.setLogLevel("ERROR")
    # PySpark prints each failed query again, as JSON with its stack, in addition to the exception that it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    atexit.register(_let_go_of_output, spark)
    return spark


def _silence_py4j() -> None:
    """Drop what py4j logs: each socket when the JVM has ended, and a traceback, through the root logger, when Ctrl-C ends a command."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_from_py4j)


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _let_go_of_output(spark: SparkSession) -> None:
    """Make the JVM close its output. It ends after this process, after writing its class archive, and a pipe's reader waits for all its writers."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        system = spark._jvm.java.lang.System  # type: ignore[union-attr]
        system.out.close()
        system.err.close()


def _ship(spark: SparkSession) -> None:
    """Send this package to the executors, so that they need only its dependencies and use the driver's version."""
    package = Path(__file__).resolve().parent.parent
    archive = scratch(Path(tempfile.gettempdir())) / "forensics.zip"  # the executors fetch it from there, even late ones
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for module in sorted(package.rglob("*.py")):
            packed.write(module, module.relative_to(package.parent))
        packed.writestr("forensics/parsers/__init__.py", "")  # files in a zip are found only below a package
        for words in parsers_dir().iterdir():
            if words.is_file():
                packed.writestr(f"forensics/parsers/{words.name}", words.read_bytes())
    spark.sparkContext.addPyFile(str(archive))


def _keep_imports_safe() -> None:
    """Prevent every Python process that Spark starts from importing from the working folder, which may be the evidence.

    Raises:
        ForensicsError: `spark-submit` has already started the JVM without this protection, and the folder contains something to import.
    """
    forget_working_folder()
    if "PYSPARK_GATEWAY_PORT" in os.environ and "PYTHONSAFEPATH" not in os.environ and (found := importable(str(Path.cwd()))):
        raise ForensicsError(
            "Spark's Python workers would run code from the working folder.",
            why="spark-submit was started there, and Python searches it first",
            where=found,
            fix="Set PYTHONSAFEPATH=1 before spark-submit, or start it in another folder.",
        )
    os.environ.update(SAFE)


def _expect_little(java: str) -> None:
    """Tune the JVM, before it starts, for little work, where starting and warming up take most of the time.

    Only the faster of its two compilers pays off: the views of a few megabytes of logs take half as long then. Classes come from an archive. The
    young generation is large from the beginning. The user's own $SPARK_SUBMIT_OPTS stay as they are.

    Args:
        java: output of `java -version`.
    """
    if "SPARK_SUBMIT_OPTS" in os.environ:
        return
    # The JVM logs each class that cannot be archived.
    options = ["-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:MetaspaceSize=256m -Xlog:disable"]
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        options.append("-Xms896m -Xmn512m")
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join([*options, class_archive.option(java)])


def _expect_much() -> None:
    """Tune the JVM, before it starts, for millions of rows and hundreds of plans that run once each.

    The slower of its two compilers, which processing rows needs, would compile the planner too, and never be idle. Here it compiles only what runs
    ten times as often as usual. A stop-the-world collector costs half of a concurrent one. The user's own $SPARK_SUBMIT_OPTS stay as they are.
    """
    if "SPARK_SUBMIT_OPTS" not in os.environ:
        limits = {"Invocation": 50_000, "MinInvocation": 6_000, "Compile": 150_000, "BackEdge": 400_000}
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join(["-XX:+UseParallelGC", *(f"-XX:Tier4{name}Threshold={times}" for name, times in limits.items())])


_COMMON = {
    "spark.sql.session.timeZone": "UTC",
    # Other readers of the case interpret Spark's default, INT96, as nanoseconds without a zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Otherwise a second parser reads each statement to replace its parameters, which it does not have.
    "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
    # For Python workers of executors on other machines; those on this one get it from the context.
    **{f"spark.executorEnv.{name}": value for name, value in SAFE.items()},
}


def _local(jobs: int) -> dict[str, str]:
    """Return settings for one machine: no network name is needed, no folder is left behind, and shuffles do not have 200 partitions."""
    temporary = _temporary()
    return {
        "spark.local.dir": str(temporary),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Other users of this machine can connect to the ports of the driver and of its block manager: Spark generates a secret that they do not have.
        "spark.authenticate": "true",
        "spark.sql.warehouse.dir": str(temporary / "warehouse"),
        "spark.sql.shuffle.partitions": str(max(2, jobs)),
        "spark.default.parallelism": str(max(2, jobs)),
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
    }


def _s3a() -> dict[str, str]:
    """Return settings that direct Spark to the same object store as this program; credentials come from the same variables."""
    options = {"spark.hadoop.fs.s3a.endpoint.region": region()} if region() else {}
    if where := endpoint():
        options |= {"spark.hadoop.fs.s3a.endpoint": where, "spark.hadoop.fs.s3a.path.style.access": "true"}
    return options


def check_s3a(spark: SparkSession) -> None:
    """Verify that Spark can read and write `s3a://`.

    Raises:
        ForensicsError: the jars are missing.
    """
    from py4j.protocol import Py4JJavaError

    jvm = spark._jvm
    assert jvm is not None  # noqa: S101  (for the type checker)
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("org.apache.hadoop.fs.s3a.S3AFileSystem")
    except Py4JJavaError as e:
        jars = f"org.apache.hadoop:hadoop-aws:{jvm.org.apache.hadoop.util.VersionInfo.getVersion()}"
        fix = f"Set `spark.jars.packages {jars}` in spark-defaults.conf, in the folder named by SPARK_CONF_DIR, or install the jars on the cluster."
        raise ForensicsError("Spark cannot read a case in S3.", why="it has no hadoop-aws", where="--master", fix=fix) from e


def _temporary() -> Path:
    """Return a folder for files of Spark and its JVM on this machine, private to the user and removed when this process ends.

    Raises:
        ForensicsError: it cannot be created.
    """
    below = Path((os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()).split(",")[0])
    if below.name.startswith(PREFIX):
        return below  # of an earlier session of this process
    try:
        folder = scratch(below)
    except OSError as e:
        why = e.strerror or str(e)
        raise ForensicsError("Cannot create a folder for temporary files.", why=why, where=str(below), fix="Set TMPDIR to another folder.") from e
    os.environ["SPARK_LOCAL_DIRS"] = str(folder)  # takes precedence over spark.local.dir
    # A JVM always writes its performance counters to /tmp.
    _add_option("SPARK_LAUNCHER_OPTS", "-XX:-UsePerfData")
    _add_option("SPARK_SUBMIT_OPTS", "-XX:-UsePerfData")
    if "-Djava.io.tmpdir" not in os.environ["SPARK_SUBMIT_OPTS"]:
        _add_option("SPARK_SUBMIT_OPTS", f'"-Djava.io.tmpdir={folder}"')
    return folder


def _add_option(variable: str, option: str) -> None:
    os.environ[variable] = f"{os.environ.get(variable, '')} {option}".strip()


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep this process's handling of Ctrl-C: PySpark would first ask the JVM to cancel its jobs, which may take long."""
    mine = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and mine is not None:
            signal.signal(signal.SIGINT, mine)


class _quiet_start:  # noqa: N801 (used like a function)
    """A context in which the messages of the starting JVM (about modules, native libraries, its log profile) are discarded; errors are raised, not printed."""

    def __enter__(self) -> None:
        self._kept = os.dup(2)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)

    def __exit__(self, *_: object) -> None:
        os.dup2(self._kept, 2)
        os.close(self._kept)


def check_java() -> str:
    """Verify that Spark will find a suitable Java; return the output of `java -version`.

    Raises:
        ForensicsError: there is no Java, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    fix = f"Install a Java {OLDEST_JAVA} or 21 runtime (Debian, Ubuntu: apt-get install openjdk-17-jre-headless), or set JAVA_HOME to one."
    if java is None:
        where = f"JAVA_HOME={home}" if home else "PATH"
        raise ForensicsError("Spark needs Java, which was not found.", why="no `java` was found", where=where, fix=fix)
    try:
        output = subprocess.run([java, "-XX:-UsePerfData", "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ForensicsError("Java does not run.", why=str(e), where=java, fix=fix) from e
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    if found and int(found[1]) < OLDEST_JAVA:
        raise ForensicsError(f"Java {found[1]} is too old for Spark.", why=f"Spark needs Java {OLDEST_JAVA} or newer", where=java, fix=fix)
    return output

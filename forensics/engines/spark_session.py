"""One way to start Spark: quiet, in UTC, small on one machine; and a clear word where Java is missing."""

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
    """Starts Spark, or gives the session that runs already.

    Args:
        master: URL of a Spark master; empty for this machine.
        jobs: cores to use on this machine; all when None.
        little: whether there is little to do.

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
        # Spark's own guess is the `python3` of PATH, which may lack this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kafka-forensics").master(master or f"local[{jobs or cores()}]")
    for key, value in (_COMMON | (_s3a() if master else {}) | ({} if is_far(master) else _local(jobs or cores()))).items():
        builder = builder.config(key, value)
    try:
        with _quiet_start(), _own_interrupt():
            spark = builder.getOrCreate()
        spark.sparkContext.environment.update(SAFE)
        if is_far(master):
            _ship(spark)
    except (PySparkException, OSError) as e:
        raise ForensicsError("Spark does not start.", why=str(e).splitlines()[0], fix="Run `spark-submit --version` to see what it says.") from e
    spark.sparkContext.setLogLevel("ERROR")
    # PySpark prints each failed query once more, as JSON with its stack, beside the exception that it raises.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    # And py4j, when the JVM has gone, each of its sockets.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    atexit.register(_let_go_of_output, spark)
    return spark


def _let_go_of_output(spark: SparkSession) -> None:
    """Has the JVM close what it prints to: it ends after this process, when it has written its class archive, and who reads from a pipe waits for all that hold it."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        system = spark._jvm.java.lang.System  # type: ignore[union-attr]
        system.out.close()
        system.err.close()


def _ship(spark: SparkSession) -> None:
    """Sends this package to the executors, so that they need only the libraries that it imports; and at the version that the driver has."""
    package = Path(__file__).resolve().parent.parent
    archive = scratch(Path(tempfile.gettempdir())) / "forensics.zip"  # the executors fetch it from there, late ones too
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for module in sorted(package.rglob("*.py")):
            packed.write(module, module.relative_to(package.parent))
        packed.writestr("forensics/parsers/__init__.py", "")  # what lies in a zip is found only below a package
        for words in parsers_dir().iterdir():
            if words.is_file():
                packed.writestr(f"forensics/parsers/{words.name}", words.read_bytes())
    spark.sparkContext.addPyFile(str(archive))


def _keep_imports_safe() -> None:
    """Lets no Python that Spark starts import from the working folder, which may be the evidence.

    Raises:
        ForensicsError: `spark-submit` has started the JVM already, without the word that keeps its Pythons from it, and there is something to import.
    """
    forget_working_folder()
    if "PYSPARK_GATEWAY_PORT" in os.environ and "PYTHONSAFEPATH" not in os.environ and (found := importable(str(Path.cwd()))):
        raise ForensicsError(
            "Spark's Python workers would run code from the working folder.",
            why="spark-submit was started there, and Python looks there first",
            where=found,
            fix="Say PYTHONSAFEPATH=1 before spark-submit, or start it in another folder.",
        )
    os.environ.update(SAFE)


def _expect_little(java: str) -> None:
    """Tells the JVM, before it starts, that there is little to do, so that starting and warming up are what its time goes to.

    Only the quick one of its two compilers is worth its time: the views of a few megabytes of logs take half as long then. Classes come from an archive. Memory
    for what is thrown away soon is large from the beginning. A user's own $SPARK_SUBMIT_OPTS stay as they are.

    Args:
        java: what `java -version` says.
    """
    if "SPARK_SUBMIT_OPTS" in os.environ:
        return
    # The JVM tells each class that cannot be archived.
    options = ["-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC -XX:MetaspaceSize=256m -Xlog:disable"]
    if "SPARK_DRIVER_MEMORY" not in os.environ:
        options.append("-Xms896m -Xmn512m")
    os.environ["SPARK_SUBMIT_OPTS"] = " ".join([*options, class_archive.option(java)])


def _expect_much() -> None:
    """Tells the JVM, before it starts, that rows come by the million, over which plans by the hundred run once each.

    The slower of its two compilers, which rows need, would compile the planner too, and never be idle: only what runs ten times as often as usual is its. The
    collector that stops all threads costs half of the one that works beside them. A user's own $SPARK_SUBMIT_OPTS stay as they are.
    """
    if "SPARK_SUBMIT_OPTS" not in os.environ:
        limits = {"Invocation": 50_000, "MinInvocation": 6_000, "Compile": 150_000, "BackEdge": 400_000}
        os.environ["SPARK_SUBMIT_OPTS"] = " ".join(["-XX:+UseParallelGC", *(f"-XX:Tier4{name}Threshold={times}" for name, times in limits.items())])


_COMMON = {
    "spark.sql.session.timeZone": "UTC",
    # Other readers of the case take Spark's default, INT96, for nanoseconds without a zone.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Python workers of executors on other machines; those of this one get it from the context.
    **{f"spark.executorEnv.{name}": value for name, value in SAFE.items()},
}


def _local(jobs: int) -> dict[str, str]:
    """Settings for one machine: no network name is needed, no folder is left behind, no shuffle is cut in 200 pieces."""
    temporary = _temporary()
    return {
        "spark.local.dir": str(temporary),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Other users of this machine can connect to the ports of the driver and of its blocks, too: Spark makes up a secret that they do not have.
        "spark.authenticate": "true",
        "spark.sql.warehouse.dir": str(temporary / "warehouse"),
        "spark.sql.shuffle.partitions": str(max(2, jobs)),
        "spark.default.parallelism": str(max(2, jobs)),
        "spark.driver.memory": os.environ.get("SPARK_DRIVER_MEMORY", "2g"),
    }


def _s3a() -> dict[str, str]:
    """Settings by which Spark itself finds the store that this program asks; who asks it reads from the same variables."""
    told = {"spark.hadoop.fs.s3a.endpoint.region": region()} if region() else {}
    if where := endpoint():
        told |= {"spark.hadoop.fs.s3a.endpoint": where, "spark.hadoop.fs.s3a.path.style.access": "true"}
    return told


def check_s3a(spark: SparkSession) -> None:
    """Makes sure that Spark can read and write `s3a://`.

    Raises:
        ForensicsError: it lacks the jars.
    """
    from py4j.protocol import Py4JJavaError

    jvm = spark._jvm
    assert jvm is not None  # noqa: S101  (for the type checker)
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("org.apache.hadoop.fs.s3a.S3AFileSystem")
    except Py4JJavaError as e:
        jars = f"org.apache.hadoop:hadoop-aws:{jvm.org.apache.hadoop.util.VersionInfo.getVersion()}"
        fix = f"`spark.jars.packages {jars}` in spark-defaults.conf, in the folder that SPARK_CONF_DIR names, has it fetched; or have it on the cluster."
        raise ForensicsError("Spark cannot read a case in S3.", why="it has no hadoop-aws", where="--master", fix=fix) from e


def _temporary() -> Path:
    """A folder for what Spark and its JVM write on this machine: of this user alone, and gone when this process is.

    Raises:
        ForensicsError: it cannot be made.
    """
    below = Path((os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()).split(",")[0])
    if below.name.startswith(PREFIX):
        return below  # of an earlier session of this process
    try:
        folder = scratch(below)
    except OSError as e:
        why = e.strerror or str(e)
        raise ForensicsError("There is no place for temporary files.", why=why, where=str(below), fix="TMPDIR names another folder.") from e
    os.environ["SPARK_LOCAL_DIRS"] = str(folder)  # it wins over spark.local.dir
    # The counters that a JVM publishes lie in /tmp whatever it is told.
    _add_option("SPARK_LAUNCHER_OPTS", "-XX:-UsePerfData")
    _add_option("SPARK_SUBMIT_OPTS", "-XX:-UsePerfData")
    if "-Djava.io.tmpdir" not in os.environ["SPARK_SUBMIT_OPTS"]:
        _add_option("SPARK_SUBMIT_OPTS", f'"-Djava.io.tmpdir={folder}"')
    return folder


def _add_option(variable: str, option: str) -> None:
    os.environ[variable] = f"{os.environ.get(variable, '')} {option}".strip()


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep what this process does at Ctrl-C: PySpark would first ask the JVM to cancel its jobs, which may take long."""
    mine = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and mine is not None:
            signal.signal(signal.SIGINT, mine)


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


def check_java() -> str:
    """Makes sure that Spark will find a Java that it can run on; gives what it says of its version.

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
        said = subprocess.run([java, "-XX:-UsePerfData", "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as e:
        raise ForensicsError("Java does not run.", why=str(e), where=java, fix=fix) from e
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found and int(found[1]) < OLDEST_JAVA:
        raise ForensicsError(f"Java {found[1]} is too old for Spark.", why=f"Spark needs Java {OLDEST_JAVA} or newer", where=java, fix=fix)
    return said

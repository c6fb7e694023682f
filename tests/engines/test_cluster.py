"""A real standalone cluster on this machine: a master, two workers, executors whose Python has the libraries, and of this package
what the job ships.

Evidence and cases lie in folders that all of them see, as on a cluster with shared storage; evidence also in S3.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import site
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from places import ROOT, SAMPLES
from stores import BUCKET, running
from typer.testing import CliRunner

import forensics
from forensics.case.folder import open_case
from forensics.cli import app

pytestmark = [pytest.mark.slow, pytest.mark.spark]
SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
#: The driver in a process of its own, which reports each task that is done; arguments: master, logs, case, whether with views.
DRIVER = """
import os, sys, forensics
from forensics.case import views as case_views
case_views.SMALL_EVENTS = int(os.environ.get("SMALL_EVENTS", case_views.SMALL_EVENTS))
master, logs, case, views = sys.argv[1:]
told = lambda step, done, of: print(step, done, of, flush=True)
print("records", forensics.ingest(logs, case, master=master, views=views == "views", progress=told).summary.counts["records"])
"""
START_SECONDS = 60
JARS = os.environ.get("FORENSICS_HADOOP_AWS", "")


@dataclass
class Cluster:
    """A running cluster.

    Attributes:
        url: its master.
        workers: their processes, each the head of a process group with its executors.
        environment: of a driver that uses it.
    """

    url: str
    workers: list[subprocess.Popen[bytes]]
    environment: dict[str, str]

    def driver(self, logs: Path | str, case: Path | str, *, views: bool, told: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", DRIVER, self.url, str(logs), str(case), "views" if views else "none"],
            env=self.environment | dict(told or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def kill_worker(self) -> None:
        """Take away a worker and its executors, as a machine that loses power does."""
        os.killpg(self.workers.pop().pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with the libraries of this one, and without this package."""
    home = tmp_path_factory.mktemp("executor") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    own = Path(
        subprocess.run(
            [str(python), "-c", "import site; print(site.getsitepackages()[0])"], check=True, capture_output=True, text=True
        ).stdout.strip()
    )
    libraries = [p for p in (*site.getsitepackages(), *_paths_of_pth()) if Path(p).is_dir() and not (Path(p) / "forensics").is_dir()]
    (own / "libraries.pth").write_text("\n".join(libraries))
    lacks = subprocess.run([str(python), "-P", "-c", "import pyspark, pyarrow, regex; import forensics"], capture_output=True, text=True, check=False)
    assert "No module named 'forensics'" in lacks.stderr, lacks.stderr
    return python


def _paths_of_pth() -> Iterator[str]:
    """Folders that this Python takes libraries from besides its own."""
    for folder in site.getsitepackages():
        for pth in Path(folder).glob("*.pth"):
            yield from (line.strip() for line in pth.read_text().splitlines() if line.startswith("/"))


@pytest.fixture
def cluster(tmp_path: Path, bare_python: Path) -> Iterator[Cluster]:
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(tmp_path / "work"), "SPARK_NO_DAEMONIZE": "1"}
    own = ("SPARK_LOCAL_DIRS", "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "FORENSICS_ENGINE")
    for name in [name for name in environment if name in own or name.startswith("AWS_")]:
        del environment[name]

    def started(*arguments: str) -> subprocess.Popen[bytes]:
        log = (tmp_path / f"{arguments[0].rsplit('.', 1)[1]}-{len(running)}.log").open("wb")
        return subprocess.Popen([_spark_class(), *arguments], env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)

    running: list[subprocess.Popen[bytes]] = []
    try:
        running.append(started("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"))
        _wait_for(port)
        for _ in range(2):
            running.append(started("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g", "--webui-port", "0", url))
        ships = environment | {"PYSPARK_PYTHON": str(bare_python), "PYSPARK_DRIVER_PYTHON": sys.executable}
        yield Cluster(url, running[1:], ships)
    finally:
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _spark_class() -> str:
    import pyspark

    return str(Path(pyspark.__file__).parent / "bin" / "spark-class")


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(START_SECONDS * 10):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail(f"no master after {START_SECONDS} s")


def assert_same(a: Path, b: Path | str) -> None:
    done = CliRunner().invoke(app, ["compare", str(a), str(b), "--no-pager"])
    assert done.exit_code == 0, done.output


def test_a_cluster_gives_the_rows_of_one_machine(cluster: Cluster, tmp_path: Path) -> None:
    forensics.ingest(SAMPLE, tmp_path / "here")
    driver = cluster.driver(SAMPLE, tmp_path / "there", views=True)
    said, _ = driver.communicate(timeout=900)
    assert driver.returncode == 0, said
    assert "reading on executors" in said
    assert_same(tmp_path / "here", tmp_path / "there")


def test_executors_read_what_lies_in_s3_as_the_driver_may(cluster: Cluster, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE, logs)
    make_log(logs / "w4" / "connect.log", gigabytes=0.03)
    forensics.ingest(logs, tmp_path / "here", views=False)
    with running() as store:
        store.put_below(logs, "logs")
        driver = cluster.driver(f"s3a://{BUCKET}/logs", tmp_path / "there", views=False, told=store.variables)
        said, _ = driver.communicate(timeout=900)
    assert driver.returncode == 0, said
    assert "reading on executors" in said
    splits = ds.dataset(open_case(tmp_path / "there").table_paths("range_row")[0]).to_table().column("path").to_pylist()
    assert splits.count("w4/connect.log") > 1
    assert_same_tables(tmp_path / "here", tmp_path / "there", "event_row", "counted_row", "unrecognised_row")
    assert {e.place.location for e in open_case(tmp_path / "there").evidence()} >= {f"s3://{BUCKET}/logs/w4/connect.log"}


@pytest.mark.skipif(not JARS, reason="FORENSICS_HADOOP_AWS names a folder with hadoop-aws for Spark's Hadoop, and the jars that it needs")
def test_a_case_in_s3_has_the_rows_of_one_machine(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors write its rows and the rows of its views, as those of a large case, and read them there."""
    forensics.ingest(SAMPLE, tmp_path / "here")
    jars = ":".join(str(jar) for jar in sorted(Path(JARS).glob("*.jar")))
    settings = {"spark.driver.extraClassPath": jars, "spark.executor.extraClassPath": jars, "spark.sql.shuffle.partitions": "4"}
    submit = " ".join(f"--conf {name}={value}" for name, value in settings.items())
    with running() as store:
        store.put_below(SAMPLE, "logs")
        there = f"s3a://{BUCKET}/cases/one"
        told = store.variables | {"PYSPARK_SUBMIT_ARGS": f"{submit} pyspark-shell", "SMALL_EVENTS": "0", "XDG_CACHE_HOME": str(tmp_path / "cache")}
        driver = cluster.driver(f"s3a://{BUCKET}/logs", there, views=True, told=told)
        said, _ = driver.communicate(timeout=1800)
        assert driver.returncode == 0, said
        assert "reading on executors" in said
        for name, value in store.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another-machine"))
        assert_same(tmp_path / "here", there)


def test_a_worker_that_is_killed_changes_no_row(cluster: Cluster, tmp_path: Path) -> None:
    logs = tmp_path / "logs" / "w1"
    make_log(logs / "connect.log", gigabytes=0.15)
    forensics.ingest(logs.parent, tmp_path / "here", views=False)
    driver = cluster.driver(logs.parent, tmp_path / "there", views=False)
    killed = False
    said = []
    assert driver.stdout is not None
    for line in driver.stdout:
        said.append(line)
        step = re.match(r"reading on executors ([0-9]+) ([0-9]+)", line)
        if step and not killed and 0 < int(step[1]) < int(step[2]) - 2:
            cluster.kill_worker()
            killed = True
    assert driver.wait() == 0, "".join(said)
    assert killed, "".join(said)
    assert_same_tables(tmp_path / "here", tmp_path / "there", "event_row", "counted_row", "unrecognised_row")


def make_log(file: Path, *, gigabytes: float) -> None:
    """A large log of a worker, made of a small one."""
    file.parent.mkdir(parents=True)
    made = [sys.executable, str(ROOT / "bench" / "make_log.py"), str(SAMPLE), str(file), "--gigabytes", str(gigabytes), "--relevant", "0.7"]
    subprocess.run(made, check=True, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)})


def assert_same_tables(a: Path, b: Path, *tables: str) -> None:
    for table in tables:
        here, there = rows_of(a, table), rows_of(b, table)
        assert here.equals(there), table
        assert here.num_rows > 0 or table != "event_row"


def rows_of(case: Path, table: str) -> pa.Table:
    """Rows of a table of a case, in the order of their lines."""
    found = ds.dataset(open_case(case).table_paths(table)[0]).to_table()
    return found.sort_by([("path", "ascending"), ("line", "ascending")])

"""Evidence is read by this machine's own processes, or by Spark's executors: the same rows, with progress, and never fewer without a word."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from places import SAMPLES

from forensics.case.folder import TABLES, Case
from forensics.case.ingestion import Options, ingest
from forensics.catalogue.patterns import load
from forensics.errors import ForensicsError
from forensics.extract import reading_processes as reading
from forensics.extract.splits import plan
from forensics.inventory.inventory import find_evidence

SAMPLE = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs"
RANGE = 40_000


def all_rows(case: Case) -> dict[str, list[str]]:
    """Return every row of every table, in an order that does not depend on the reader."""
    found = {}
    for name in TABLES:
        table = ds.dataset([ds.dataset(path, format="parquet") for path in case.table_paths(name)]).to_table()
        found[name] = sorted(map(str, table.select(sorted(table.column_names)).to_pylist()))
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, list[str]]:
    return all_rows(ingest([SAMPLE], tmp_path_factory.mktemp("alone") / "case", Options(range_bytes=RANGE), jobs=1).case)


def test_several_processes_give_the_rows_of_one(alone, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("forensics.extract.splits._MIN_BYTES", RANGE)
    told: list[tuple[int, int]] = []
    case = ingest(
        [SAMPLE],
        tmp_path / "case",
        Options(range_bytes=RANGE),
        jobs=2,
        progress=lambda step, done, of: told.append((done, of)) if step == "reading" else None,
    ).case
    assert all_rows(case) == alone
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert told[-1][0] == told[-1][1] == sum(file.stat().st_size for file in SAMPLE.rglob("*.log"))
    assert len(told) > 4


def test_processes_examine_many_files_as_this_one_does(tmp_path: Path, monkeypatch) -> None:
    """Logs, an archive, a snapshot, a broken and an empty file; then the same processes read them."""
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLE, logs)
    subprocess.run(["tar", "-czf", logs / "more.tar.gz", "-C", SAMPLE.parent, "logs"], check=True)
    (logs / "connect.properties").write_text("group.id=connect-cluster\nbootstrap.servers=b1:9092\n")
    (logs / "broken.log.gz").write_bytes(b"\x1f\x8b\x08\0xx")
    (logs / "empty.log").write_bytes(b"")
    here = ingest([logs], tmp_path / "here", jobs=2)
    monkeypatch.setattr(reading, "_MANY_FILES", 1)
    done: list[str] = []
    in_processes = reading.Readers._done
    monkeypatch.setattr(reading.Readers, "_done", lambda self, what, *of: done.append(what) or in_processes(self, what, *of))
    there = ingest([logs], tmp_path / "there", jobs=2)
    assert done == ["examine", "read"]
    assert [e.as_record() for e in there.evidence] == [e.as_record() for e in here.evidence]
    assert all_rows(there.case) == all_rows(here.case)


@pytest.mark.parametrize("whom", ["reader", "parent"])
def test_a_reading_process_that_is_killed_is_an_error(whom: str, tmp_path: Path, monkeypatch) -> None:
    """The system kills processes when memory is short: one that reads, or all of them and their parent."""
    monkeypatch.setattr("forensics.extract.splits._MIN_BYTES", RANGE)
    send = reading.Readers._send

    def killed(self: reading.Readers, what: object) -> None:
        send(self, what)
        if self._parent and isinstance(what, tuple) and what[0] == "read":
            if whom == "parent":
                os.killpg(self._parent.pid, signal.SIGKILL)
            else:
                os.kill(children_of(self._parent.pid)[0], signal.SIGKILL)

    monkeypatch.setattr(reading.Readers, "_send", killed)
    with pytest.raises(ForensicsError) as e:
        ingest([SAMPLE], tmp_path / "case", Options(range_bytes=RANGE), jobs=2)
    assert "SIGKILL" in e.value.why
    assert not (tmp_path / "case" / "case.json").exists()


def children_of(pid: int) -> list[int]:
    """Processes that a process has started, as soon as there are any."""
    for _ in range(600):
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False).stdout.split()
        if found:
            return sorted(map(int, found))
        time.sleep(0.05)
    raise AssertionError(f"{pid} has no children")


def test_what_goes_wrong_in_a_reading_process_is_said(tmp_path: Path) -> None:
    """The folder to write to is a file."""
    (tmp_path / "file").write_text("")
    catalogue = load(())
    partitions = plan(find_evidence([SAMPLE]))
    with reading.Readers(2) as readers, pytest.raises(OSError, match="File exists|Not a directory"):
        readers.send_catalogue(catalogue, tmp_path / "file")
        readers.read([partitions[0], partitions[0]])


def test_processes_that_started_for_nothing_end_by_themselves(tmp_path: Path) -> None:
    with reading.Readers(2) as readers:
        readers.begin(2)
    assert readers._parent is not None
    assert readers._parent.returncode == 0


@pytest.mark.whole
@pytest.mark.spark
def test_spark_executors_give_the_rows_of_this_machine(alone, tmp_path: Path, spark_session) -> None:
    from forensics.engines.spark import Spark

    del spark_session  # what runs is taken for the master
    case = ingest([SAMPLE], tmp_path / "case", Options(range_bytes=RANGE), engine=Spark("local[2]")).case
    assert all_rows(case) == alone

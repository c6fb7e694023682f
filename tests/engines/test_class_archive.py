"""The JVM's class archive: made by the first that starts, used by the next, and never of another Java."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from forensics.engines import class_archive, spark_session


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(class_archive.platformdirs, "user_cache_dir", lambda name: str(tmp_path / name))
    return tmp_path


def made(option: str) -> Path:
    """Let the JVM with an option write its archive."""
    kind, path = option.strip('"').split("=")
    assert kind == "-XX:ArchiveClassesAtExit"
    Path(path).write_text("classes")
    return Path(path)


def test_the_first_makes_it_and_the_next_uses_it() -> None:
    archive = made(class_archive.option("17.0.1"))
    assert class_archive.option("17.0.1") == f'"-XX:SharedArchiveFile={archive}"'
    assert archive.parent.stat().st_mode & 0o077 == 0


def test_another_java_has_its_own_and_old_ones_go() -> None:
    first = made(class_archive.option("17.0.1"))
    second = made(class_archive.option("17.0.2"))
    assert first != second
    os.utime(first, (0, 0))
    made(class_archive.option("21"))
    assert not first.exists()
    assert second.exists()


def test_where_nothing_can_be_written_spark_starts_without(cache: Path) -> None:
    (cache / "kafka-forensics").write_text("not a folder")
    assert class_archive.option("17.0.1") == ""


def test_a_users_own_options_stay(monkeypatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Dmine=1")
    spark_session._expect_little("17.0.1")
    spark_session._expect_much()
    assert os.environ["SPARK_SUBMIT_OPTS"] == "-Dmine=1"


@pytest.mark.spark
def test_a_large_case_has_a_jvm_that_compiles_less(monkeypatch) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    spark_session._expect_much()
    options = os.environ.pop("SPARK_SUBMIT_OPTS").split()
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    # A JVM that does not know an option does not start.
    subprocess.run([java, *options, "-version"], capture_output=True, check=True)


def test_a_users_own_memory_stays(monkeypatch) -> None:
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "512m")
    spark_session._expect_little("17.0.1")
    assert "-Xm" not in os.environ.pop("SPARK_SUBMIT_OPTS")


@pytest.mark.slow
@pytest.mark.spark
def test_who_reads_from_a_pipe_does_not_wait_for_the_archive(cache: Path) -> None:
    code = "from forensics.engines import engine; print(engine('spark', jobs=1, little=True).sql('SELECT 1').collect())"
    environment = {k: v for k, v in os.environ.items() if k != "SPARK_SUBMIT_OPTS"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True).stdout
    assert b"Row(1=1)" in said
    assert not list(cache.rglob("*.jsa"))  # the JVM is still at it

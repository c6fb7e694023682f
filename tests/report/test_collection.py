# SPDX-License-Identifier: Apache-2.0
"""Scripts that collect evidence: they are portable, stop at no refusal, and leave a manifest that `ingest` reads."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from forensics.cli import Platform
from forensics.report.collection import PLATFORMS, script
from forensics.snapshots.detection import COLLECTED, READERS, kind_of, sample_lines
from forensics.snapshots.observation import Broken, Observation

#: A cluster with one pod, in which events are forbidden and there is no earlier run of the container.
KUBECTL = """#!/bin/sh
case "$*" in
  *"get pods -o yaml"*) printf 'apiVersion: v1\\nkind: List\\n' ;;
  *"get events"*) echo 'Error from server (Forbidden): events is forbidden' >&2; exit 1 ;;
  *"get pods -o name"*) echo pod/my-connect-0 ;;
  *jsonpath*) printf connect ;;
  *--previous*) echo 'previous terminated container "connect" not found' >&2; exit 1 ;;
  *logs*) echo '[2026-11-21 07:51:48,000] INFO x (org.apache.kafka.a.B:1)' ;;
esac
"""


def read(text: str) -> list[Observation]:
    return [item for item in READERS[COLLECTED](sample_lines(text.encode())) if isinstance(item, Observation)]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_each_script_is_one_for_a_posix_shell(platform: str, tmp_path: Path) -> None:
    file = tmp_path / "collect.sh"
    file.write_text(script(platform))
    assert subprocess.run(["/bin/sh", "-n", str(file)], capture_output=True, check=False).returncode == 0
    assert not [line for line in file.read_text().splitlines() if line.split(" ")[0] in ("kubectl", "docker", "aws") or "delete" in line]


def test_the_command_knows_all_platforms() -> None:
    assert tuple(Platform) == PLATFORMS


def test_a_refusal_stops_nothing_and_is_in_the_manifest(tmp_path: Path) -> None:
    kubectl = tmp_path / "bin" / "kubectl"
    kubectl.parent.mkdir()
    kubectl.write_text(KUBECTL)
    kubectl.chmod(0o755)
    environment = {"PATH": f"{kubectl.parent}:{os.environ['PATH']}", "OUT": "evidence"}
    done = subprocess.run(["/bin/sh", "-c", script("kubernetes")], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("evidence.tar.gz\n"), done.stderr
    with tarfile.open(tmp_path / "evidence.tar.gz") as archive:
        files = {m.name: (archive.extractfile(m) or pytest.fail(m.name)).read() for m in archive.getmembers() if m.isfile()}
    assert sorted(files) == ["evidence/logs/my-connect-0-connect.log", "evidence/manifest.tsv", "evidence/pods.yaml"]
    manifest = files["evidence/manifest.tsv"].decode()
    assert kind_of(manifest.encode(), fitting=0, lines=5) == COLLECTED
    rows = read(manifest)
    assert [row.captures["columns"]["state"] for row in rows] == ["got", "refused", "got", "refused"]
    assert all(row.ts is not None for row in rows)
    (broken,) = (item for item in READERS[COLLECTED](sample_lines(manifest.encode())) if isinstance(item, Broken))
    assert "events.json (Error from server (Forbidden)" in broken.reason


def test_a_damaged_manifest_is_read_as_far_as_possible() -> None:
    text = "kafka-forensics collection 1\ttaken yesterday\ngot\tpods.yaml\tkubectl\t\nrefu\nrefused\ta\n\n"
    assert [(row.message, row.ts) for row in read(text)] == [("pods.yaml: got", None)]

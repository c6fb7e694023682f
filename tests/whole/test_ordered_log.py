# SPDX-License-Identifier: Apache-2.0
"""The log of the benchmarks in real order: its times rise from restart to restart, and its identities are new unless they are kept."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT, SAMPLES

MEMBER = re.compile(r"memberId='([^']+)'")


@pytest.mark.parametrize("options", [(), ("--keep-ids",), ("--one",)])
def test_a_log_in_real_order(options: tuple[str, ...], tmp_path: Path) -> None:
    logs, out = SAMPLES / "split-brain-frozen-worker-3.9.1" / "logs", tmp_path / "connect.log"
    source = logs / "w1" / "connect.log" if "--one" in options else logs
    made = [sys.executable, str(ROOT / "bench" / "ordered_log.py"), str(source), str(out), "--megabytes", "2", *options]
    subprocess.run(made, check=True, timeout=100)
    text = out.read_text(encoding="utf-8")
    assert 2e6 <= len(text) < 2.1e6
    starts = re.findall(r"^\[([^]]+)\] INFO Kafka Connect worker initializing", text, re.MULTILINE)
    assert len(starts) > 3
    assert starts == sorted(set(starts))
    members = set(MEMBER.findall(text))
    original = set(MEMBER.findall("".join(f.read_text(encoding="utf-8") for f in logs.rglob("connect*.log"))))
    assert (members <= original) == ("--keep-ids" in options)

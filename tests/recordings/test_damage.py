# SPDX-License-Identifier: Apache-2.0
"""Damaged logs: nothing that is said of them contradicts the whole logs."""

from __future__ import annotations

from pathlib import Path

import pytest
from damage import Damage, compare, damages

SAMPLES = Path(__file__).parents[2] / "sample_logs"
#: A sample, and damages of it: one for every run, many of all kinds for slow ones.
FEW = [("split-brain-frozen-worker-3.9.1", Damage("zeroed", "w3/connect.log", 64_724, 84_724))]
MANY = [
    ("session-timeouts-consumers-3.9.1", Damage("garbled", "broker-1/server.log", 90_000, 110_000)),
    *((sample.name, damage) for sample in sorted(SAMPLES.iterdir()) if (sample / "logs").is_dir() for damage in damages(sample / "logs", 30, 1)),
]
GIVEN = [*(pytest.param(*x, id=f"{x[0]} {x[1]}") for x in FEW), *(pytest.param(*x, id=f"{x[0]} {x[1]}", marks=pytest.mark.slow) for x in MANY)]

pytestmark = [pytest.mark.whole, pytest.mark.engine]


@pytest.mark.parametrize(("sample", "damage"), GIVEN)
def test_no_statement_about_damaged_logs_contradicts_the_whole_ones(sample: str, damage: Damage, sample_case, tmp_path: Path) -> None:
    assert compare(SAMPLES / sample / "logs", sample_case(sample).root, damage, tmp_path) == []

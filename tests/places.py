# SPDX-License-Identifier: Apache-2.0
"""Folders that tests read."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
SAMPLES = ROOT / "sample_logs"
FIELD = TESTS / "field"

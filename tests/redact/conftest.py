# SPDX-License-Identifier: Apache-2.0
"""Keys of redactions that are the same in every run: a random pseudonym can contain four digits of an address by chance."""

from __future__ import annotations

import random
import secrets

import pytest


@pytest.fixture(autouse=True)
def repeatable_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the keys of a test's redactions differ from each other, but not from run to run."""
    monkeypatch.setattr(secrets, "token_bytes", random.Random(1).randbytes)

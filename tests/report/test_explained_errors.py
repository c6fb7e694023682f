# SPDX-License-Identifier: Apache-2.0
"""The output of `explain` for a message with a known error: the meaning of that error, and not of other errors that the message can have."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from forensics.cli import app

HEAD = "[2026-11-21 07:51:21,404] INFO [Consumer clientId=c, groupId=g] "
COORDINATOR = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
LINES = {
    "JoinGroup failed: This is not the correct coordinator. Marking coordinator unknown. "
    "Sent generation was Generation{generationId=-1, memberId='', protocol='null'}": "look for a broker that restarts",
    "Attempt to heartbeat failed since coordinator kafka:9092 (id: 2147483646 rack: null) is either not started or not valid": "coordinator-unavailable",
}


@pytest.mark.parametrize("line", LINES)
def test_the_advice_is_about_the_error(line):
    told = " ".join(CliRunner().invoke(app, ["explain", f"{HEAD}{line} {COORDINATOR}"]).output.split())
    assert LINES[line] in told
    assert "Ignore `group is rebalancing`" not in told
    assert "loading takes as long" not in told

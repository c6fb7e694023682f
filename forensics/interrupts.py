"""Decide whether an interrupt (SIGINT) is meant for this command.

A shell without job control starts a background job with SIGINT ignored, because Ctrl-C for the script reaches it too; `nohup` in a script keeps that.
Such a command does not end with the script, but `kill -INT` and `timeout -s INT`, which have no other way to say it, end it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

#: Whether this process was started so. Imported before any other module changes it.
_STARTED_IGNORING = signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def is_meant() -> bool:
    """Return True unless this process was started with SIGINT ignored and Ctrl-C on its terminal reaches it."""
    return not (_STARTED_IGNORING and _is_in_front())


def _is_in_front() -> bool:
    """Return True if this process is in the foreground group of its terminal. `timeout` puts its command into a group of its own."""
    try:
        with Path("/dev/tty").open("rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except (OSError, AttributeError):  # there is none
        return False

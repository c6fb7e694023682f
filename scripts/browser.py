"""Provide a real browser: the system's Chromium, controlled by Playwright, for the tests of the page and for its pictures."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def found() -> str | None:
    """Return the path of a Chromium: $CHROMIUM, or the first in PATH; None if there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """Yield a running browser; end it afterwards.

    Raises:
        FileNotFoundError: there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    path = found()
    if path is None:
        raise FileNotFoundError("no Chromium on PATH, and $CHROMIUM names none (Debian, Ubuntu: apt-get install chromium)")
    with sync_playwright() as playwright:
        # As root, as in containers, Chromium only runs without its own sandbox.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()

"""A real browser for pages: the system's Chromium, driven by Playwright. Used by the tests of the page and by the command that makes its pictures."""

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
    """The path of a Chromium: $CHROMIUM, or the first that PATH has; None when there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser, started and ended.

    Raises:
        FileNotFoundError: there is none.
    """
    from playwright.sync_api import sync_playwright

    path = found()
    if path is None:
        raise FileNotFoundError("no Chromium on PATH, and $CHROMIUM names none (Debian, Ubuntu: apt-get install chromium)")
    with sync_playwright() as playwright:
        # As root, which containers are, Chromium runs without its own sandbox only.
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        yield started
        started.close()

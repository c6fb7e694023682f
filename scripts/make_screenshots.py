"""Make the pictures in docs/pictures: each sample's page on a desktop, a phone, in dark mode and printed; and its report in terminals of two widths.

Look at every picture before you commit it. This needs a Chromium (scripts/browser.py).

python scripts/make_screenshots.py [--cases FOLDER] [NAME...]        # or: make pictures

With --cases, the samples' cases are FOLDER/NAME; missing ones are created there.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import browser
from expect_samples import case_of, names
from PIL import Image
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
#: Browser settings for each kind of picture.
KINDS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 1500}},
    "phone": {"viewport": {"width": 390, "height": 1700}, "is_mobile": True, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 1500}, "color_scheme": "dark"},
    "print": {"viewport": {"width": 1000, "height": 1414}},
}
_COLOURS = 256
#: Widths of the terminals in columns, and the number of lines shown.
WIDTHS = (80, 160)
LINES = 48
_TERMINAL = """<!doctype html><style>
body {{ margin: 0; background: {background}; }} pre {{ display: inline-block; margin: 0; padding: 12px 14px; color: {foreground}; background: {background};
  font: 13px/1.35 "DejaVu Sans Mono", monospace; }}
</style><pre>{code}</pre>"""


def page_of(name: str, cases: Path, to: Path) -> Path:
    """Return the page of a sample, as `forensics report --format html` writes it."""
    folder = cases / name
    if not (folder / "case.json").exists():
        case_of(name, folder)
    file = to / f"{name}.html"
    subprocess.run([sys.executable, "-m", "forensics", "report", "--case", str(folder), "-o", str(file)], check=True, capture_output=True)
    return file


def take(started: Browser, page: Path, kind: str, to: Path) -> None:
    """Take one picture."""
    context = started.new_context(reduced_motion="reduce", **KINDS[kind])
    shown = context.new_page()
    shown.goto(page.as_uri())
    shown.wait_for_selector("html.ready", state="attached", timeout=60_000)
    if kind == "print":
        shown.emulate_media(media="print")
    if kind == "dark":
        _read_first_proof(shown)
    shown.wait_for_timeout(1_000)
    shown.screenshot(path=to)
    context.close()
    with Image.open(to) as picture:
        _few_colours(picture.convert("RGB")).save(to, optimize=True)


def printed(case: Path, width: int) -> str:
    """Return what `forensics report` prints on a terminal of this width, with its colours."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, width, 0, 0))
    command = [sys.executable, "-m", "forensics", "report", "--no-pager"]
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")} | {"TERM": "xterm-256color"}
    env["FORENSICS_CASE"] = str(case)  # the printed commands then name no folder of this machine
    output = bytearray()
    with subprocess.Popen(command, stdout=its, stderr=subprocess.DEVNULL, env=env):
        os.close(its)
        with contextlib.suppress(OSError):  # the end of a terminal's output on Linux
            while part := os.read(ours, 1 << 16):
                output += part
    os.close(ours)
    return output.decode().replace("\r\n", "\n")


def take_terminal(started: Browser, text: str, width: int, to: Path) -> None:
    """Take a picture of the first lines of a terminal."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi("\n".join(["$ forensics report", *text.split("\n")[:LINES]])), overflow="crop", no_wrap=True)
    shown = started.new_page(viewport={"width": 1400, "height": 400})
    shown.set_content(console.export_html(theme=MONOKAI, inline_styles=True, code_format=_TERMINAL))
    shown.locator("pre").screenshot(path=to)
    shown.close()
    with Image.open(to) as picture:
        _few_colours(picture.convert("RGB")).save(to, optimize=True)


def _few_colours(picture: Image.Image) -> Image.Image:
    """Return the picture with fewer colours: half are its most frequent ones, so that flat areas are exact. The file is a third as large."""
    counted = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)[: _COLOURS // 2]
    frequent = [part for _, colour in counted for part in colour]
    others = picture.quantize(_COLOURS // 2, Image.Quantize.FASTOCTREE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*frequent, *others])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def _read_first_proof(shown: Page) -> None:
    """Open what a reader opens first: the lines of the gravest finding, and its proof in space and time."""
    proved = shown.locator("article.card:has(svg.spacetime)")
    card = proved.first if proved.count() else shown.locator("article.card").first
    card.evaluate("(card) => { for (const fold of card.querySelectorAll('details')) fold.open = true; }")
    card.locator("[data-lines]").first.click()
    card.evaluate("(card) => { card.scrollIntoView(); scrollBy(0, -60); }")


def main() -> None:
    """Make the pictures of all samples, or of the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names())
    parser.add_argument("--cases", type=Path)
    asked = parser.parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser() as started:
        for name in asked.names:
            page = page_of(name, asked.cases or Path(folder), Path(folder))
            for kind in KINDS:
                take(started, page, kind, PICTURES / f"{name}-{kind}.png")
            for width in WIDTHS:
                text = printed((asked.cases or Path(folder)) / name, width)
                take_terminal(started, text, width, PICTURES / f"{name}-terminal-{width}.png")


if __name__ == "__main__":
    main()

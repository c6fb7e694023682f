"""Makes the pictures of the report's page in docs/pictures: each sample on a desktop, on a phone, in the dark, and printed.

Look at every one of them before you commit it. It needs a Chromium (scripts/browser.py).

python scripts/make_screenshots.py [--cases FOLDER] [NAME...]        # or: make pictures

With --cases the samples' cases are taken from FOLDER/NAME where they are there already, and made there where they are not.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import browser
from expect_samples import case_of, names
from PIL import Image

from forensics.case.folder import open_case
from forensics.report import model
from forensics.report.page import render, sight

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
#: How each picture is taken: what the browser is like.
KINDS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 1500}},
    "phone": {"viewport": {"width": 390, "height": 1700}, "is_mobile": True, "has_touch": True},
    "dark": {"viewport": {"width": 1280, "height": 1500}, "color_scheme": "dark"},
    "print": {"viewport": {"width": 1000, "height": 1414}},
}
_COLOURS = 256


def page_of(name: str, cases: Path, to: Path) -> Path:
    """The page of a sample, as `forensics report --format html` writes it."""
    folder = cases / name
    case = open_case(folder) if (folder / "case.json").exists() else case_of(name, folder)
    report = model.read(case, model.Filters())
    file = to / f"{name}.html"
    file.write_text(render.render(report, sight.read(case, report)), encoding="utf-8")
    return file


def take(started: Browser, page: Path, kind: str, to: Path) -> None:
    """Takes one picture."""
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


def _few_colours(picture: Image.Image) -> Image.Image:
    """The picture in half of its most frequent colours, which flat areas keep exactly, and as many that stand for the others: a third as large."""
    counted = sorted(picture.getcolors(picture.width * picture.height) or [], reverse=True)[: _COLOURS // 2]
    frequent = [part for _, colour in counted for part in colour]
    others = picture.quantize(_COLOURS // 2, Image.Quantize.FASTOCTREE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*frequent, *others])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def _read_first_proof(shown: Page) -> None:
    """Opens what a reader opens first: the lines of the gravest finding, and its proof in space and time."""
    proved = shown.locator("article.card:has(svg.spacetime)")
    card = proved.first if proved.count() else shown.locator("article.card").first
    card.evaluate("(card) => { for (const fold of card.querySelectorAll('details')) fold.open = true; }")
    card.locator("[data-lines]").first.click()
    card.evaluate("(card) => { card.scrollIntoView(); scrollBy(0, -60); }")


def main() -> None:
    """Makes the pictures of all samples, or of those named."""
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


if __name__ == "__main__":
    main()

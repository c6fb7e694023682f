"""Blocks to one HTML file that needs nothing else: no script, no font, no picture from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forensics.wording.formats import printable

if TYPE_CHECKING:
    from forensics.report.document import Document


def render(document: Document, title: str) -> str:
    """The blocks as a page; all text is escaped by the template engine."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("forensics.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["lines"] = lambda text: [printable(part) for part in text.split("\n")]
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("report.html.j2").render(blocks=list(document), title=printable(title))

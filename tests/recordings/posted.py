# SPDX-License-Identifier: Apache-2.0
"""The section of `docs/accuracy.md` on logs that people posted; `python tests/recordings/posted.py docs/accuracy.md` writes it into the page."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

REPORTS = Path(__file__).resolve().parents[1] / "field" / "reports.toml"
_TITLE, _NEXT = "## On logs that people posted", "## How to reproduce it"


def posted_lines() -> list[str]:
    """Return the section."""
    reports = tomllib.loads(REPORTS.read_text(encoding="utf-8"))["report"]
    facts = [fact for report in reports for fact in report["facts"]]
    before, wrong = sum(f["right_before"] for f in facts), [f["wrong"] for f in facts if "wrong" in f]
    return [
        _TITLE,
        "",
        f"`tests/field/` has {len(reports)} excerpts of logs that people posted in public, and {len(facts)} facts: what their lines prove, and what no report may say of them.",
        "The facts were written before this program read the excerpts. The first screen and the views of a case are compared with them, "
        f"for {sum(r.get('alone', True) for r in reports)} excerpts in a case of each alone, for the others in an earlier state in one case of many.",
        f"{before} of {len(facts)} facts were right at the first comparison, {len(facts) - len(wrong)} are now; {wrong.count('missing')} are missing, and",
        f"{wrong.count('false')} are contradicted. `PYTHONPATH=. python tests/field/posted_facts.py` compares them again.",
        "",
    ]


def section_in(page: str, title: str, lines: list[str]) -> str:
    """Return a page with these lines as the section of that title, which is the last but one if it is new."""
    before, _, rest = page.partition(title if title in page else _NEXT)
    after = rest.partition("\n## ")[2] if title in page else _NEXT.removeprefix("## ") + rest
    return before + "\n".join(lines) + "\n## " + after


def write_section(page: Path, title: str, lines: list[str]) -> None:
    """Write these lines into a page as the section of that title."""
    page.write_text(section_in(page.read_text(encoding="utf-8"), title, lines), encoding="utf-8")


def with_section(page: str) -> str:
    """Return the page with the section of today."""
    return section_in(page, _TITLE, posted_lines())


if __name__ == "__main__":
    write_section(Path(sys.argv[1]), _TITLE, posted_lines())

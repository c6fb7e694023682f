# SPDX-License-Identifier: Apache-2.0
"""What the lines of logs that people posted in public prove, compared with what the first screen and the views say of them.

`PYTHONPATH=. python tests/field/posted_facts.py [FILE...] [--mark] [--cases DIR]` prints each fact and whether the program says so. `--mark` sets `wrong` in
`reports.toml` accordingly; `--cases` keeps the cases and the first screens.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import forensics
from forensics.engines import SAIL
from forensics.errors import ForensicsError

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "reports"
LIST = HERE / "reports.toml"


@dataclass(frozen=True)
class Compared:
    """A fact of an excerpt, and whether the program says so.

    Attributes:
        said: what a query gave, if the check is a query.
    """

    fact: dict[str, Any]
    holds: bool
    said: object = None


def reports() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = tomllib.loads(LIST.read_text(encoding="utf-8"))["report"]
    return found


def compare(report: dict[str, Any], folder: Path) -> tuple[str, list[Compared]]:
    """Make a case of an excerpt in a folder; return its first screen and its facts."""
    forensics.ingest([FOLDER / report["file"]], folder / "case", engine=SAIL)
    case = forensics.open_case(folder / "case", engine=SAIL)
    text = case.report().text()
    screen = " ".join(text.split())
    return text, [_compared(case, screen, fact) for fact in report["facts"]]


def _compared(case: forensics.Case, screen: str, fact: dict[str, Any]) -> Compared:
    if "screen" in fact:
        return Compared(fact, re.search(fact["screen"], screen) is not None)
    if "never" in fact:
        found = re.search(fact["never"], screen)
        return Compared(fact, found is None, found and found[0])
    rows = [list(row.values()) for row in case.sql(fact["rows"])]
    return Compared(fact, rows == fact["gives"], rows)


def mark(text: str, compared: Sequence[tuple[str, Compared]]) -> str:
    """Return the list of facts with `wrong` where a check fails now, and without it where it holds; facts to be compared by eye stay."""
    lines = text.split("\n")
    for file, found in compared:
        if found.fact.get("by_eye") or found.holds == ("wrong" not in found.fact):
            continue
        begin = lines.index(f'file = "{file}"')
        at = next(i for i in range(begin, len(lines)) if _says(lines[i]) == found.fact["says"])
        if found.holds:
            lines[at] = re.sub(r', wrong = "\w+"', "", lines[at])
        else:
            lines[at] = re.sub(r" \},?$", f', wrong = "{"false" if "never" in found.fact else "missing"}" }},', lines[at])
    return "\n".join(lines)


def _says(line: str) -> object:
    return tomllib.loads(f"fact = {line.strip().rstrip(',')}")["fact"]["says"] if line.startswith("  {") else None


def main(args: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="excerpts; all if none is named")
    parser.add_argument("--mark", action="store_true", help="set `wrong` in reports.toml")
    parser.add_argument("--cases", type=Path, help="keep the cases and first screens in this folder")
    given = parser.parse_args(args)
    done: list[tuple[str, Compared]] = []
    for report in reports():
        if given.files and report["file"] not in given.files:
            continue
        done += [(report["file"], c) for c in _printed(report, given.cases)]
    shown = [c for _, c in done if not c.fact.get("by_eye")]
    print(f"{sum(c.holds for c in shown)} of {len(shown)} facts hold, {len(done) - len(shown)} more are compared by eye")
    if given.mark:
        LIST.write_text(mark(LIST.read_text(encoding="utf-8"), done), encoding="utf-8")
    return int(any(c.holds == ("wrong" in c.fact) for c in shown))


def _printed(report: dict[str, Any], kept: Path | None) -> Iterator[Compared]:
    print(f"== {report['file']}", flush=True)
    with TemporaryDirectory() as folder:
        where = kept / report["file"] if kept else Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        try:
            text, found = compare(report, where)
        except ForensicsError as e:
            text, found = str(e), [Compared(f, holds=False, said=str(e)) for f in report["facts"]]
        (where / "screen.txt").write_text(text, encoding="utf-8")
    for c in found:
        state = "eye  " if c.fact.get("by_eye") else "right" if c.holds else "WRONG"
        stale = "" if c.fact.get("by_eye") or c.holds == ("wrong" not in c.fact) else " (changed)"
        print(f"{state}{stale} {c.fact['says']}" + ("" if c.holds or c.said is None else f"\n      said: {c.said}"), flush=True)
    yield from found


if __name__ == "__main__":
    sys.exit(main())
